//! Logs inside of other files are imported as any other, and once.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::collections::HashMap;
use std::path::PathBuf;

use crate::trial::{NOW, Trial, id, prompt};
use crate::upkeep::{Forget, ForgetPlaces};
use crate::{
    Error, EventRange, ImportOptions, ImportReport, Memory, MessageRecord, ProvidedLog,
    SessionFilter, SessionId, SessionRow, Sources, StreamId, read_logs,
};

/// A store, and a file that contains logs; what is in that file is written where its reader would unpack it.
struct Container {
    trial: Trial,
    folder: tempfile::TempDir,
}

impl Container {
    fn new() -> Self {
        let container = Container {
            trial: Trial::new(),
            folder: tempfile::tempdir().unwrap(),
        };
        std::fs::write(container.path(), "a file of another format").unwrap();
        container
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("all.h5")
    }

    /// Path of the log of a session where its agent keeps it.
    fn own_path(&self, session: u32) -> String {
        let log = self.trial.log(&id(session));
        log.to_str().unwrap().to_string()
    }

    fn provide(&self, session: u32, lines: &[String]) -> ProvidedLog {
        // Another name each time, as in a temporary folder.
        let number = std::fs::read_dir(self.folder.path()).unwrap().count();
        let file = self.folder.path().join(format!("{number}"));
        std::fs::write(&file, lines.concat()).unwrap();
        ProvidedLog {
            agent: "claude-code".to_string(),
            container: self.path(),
            path: self.own_path(session),
            file,
        }
    }

    fn import(&mut self, provided: Vec<ProvidedLog>) -> ImportReport {
        let options = ImportOptions::new(Sources {
            provided,
            ..Sources::default()
        });
        let report = self.trial.memory.import(&options, &mut |_| {}).unwrap();
        assert_eq!(self.trial.memory.upkeep().health().unwrap().orphans, []);
        assert_eq!(
            self.trial
                .memory
                .upkeep()
                .verify_store(true)
                .unwrap()
                .damage,
            []
        );
        report
    }
}

fn prompts(session: u32, count: u32) -> Vec<String> {
    let text = |number| format!("prompt number {number}");
    (0..count)
        .map(|number| prompt(session, number, 1, &text(number)))
        .collect()
}

#[test]
fn a_provided_log_is_imported_once() {
    let mut container = Container::new();
    let log = container.provide(1, &prompts(1, 2));
    let stored_path = log.stored_path();
    let report = container.import(vec![log]);
    assert_eq!((report.ingested, report.events), (1, 2), "{report:?}");
    let session = container.trial.memory.sessions().find(&id(1)).unwrap();
    let logs = session.logs().unwrap();
    assert_eq!(logs[0].path, stored_path);
    assert!(stored_path.starts_with(container.path().to_str().unwrap()));
    assert!(stored_path.ends_with(&format!("!{}", container.own_path(1))));
    let stored = container.trial.stored();
    // Again, and from a copy of the container.
    let again = container.provide(1, &prompts(1, 2));
    let mut copied = again.clone();
    copied.container = container.folder.path().join("copy.h5");
    let report = container.import(vec![again, copied]);
    assert_eq!((report.events, report.replayed), (0, 0), "{report:?}");
    assert_eq!((report.ingested, report.skipped_unchanged), (0, 2));
    assert_eq!(container.trial.stored(), stored);
    assert_eq!(container.trial.texts(1).len(), 2);
}

#[test]
fn what_the_own_log_or_the_container_has_more_completes_the_session() {
    let mut container = Container::new();
    container.trial.append(&id(1), &prompts(1, 3));
    container.trial.sweep();
    let stored = container.trial.stored();
    // The beginning of it is nothing new.
    for count in [2, 3] {
        let log = container.provide(1, &prompts(1, count));
        let report = container.import(vec![log]);
        assert_eq!((report.ingested, report.events), (0, 0), "{report:?}");
        assert_eq!(container.trial.stored(), stored);
    }
    let log = container.provide(1, &prompts(1, 5));
    assert_eq!(container.import(vec![log]).events, 2);
    container.trial.append(&id(1), &prompts(1, 7)[3..]);
    assert_eq!(container.trial.sweep().events, 2);
    let expected: Vec<String> = (0..7).map(|n| format!("prompt number {n}")).collect();
    assert_eq!(container.trial.texts(1), expected);
    let log = container.provide(1, &prompts(1, 7));
    assert_eq!(container.import(vec![log]).events, 0);
}

#[test]
fn forgetting_names_the_container_and_nothing_comes_back() {
    let mut container = Container::new();
    let log = container.provide(1, &prompts(1, 2));
    container.import(vec![log.clone()]);
    let memory = &mut container.trial.memory;
    let sessions = memory.upkeep().to_forget(Forget::Session(&id(1))).unwrap();
    let places = ForgetPlaces::default();
    let plan = memory.upkeep().plan_forget(&sessions, &places).unwrap();
    let report = memory.upkeep().forget(&sessions, &places, &[]).unwrap();
    assert_eq!(plan.agent_logs, report.agent_logs);
    assert_eq!(report.agent_logs, [container.path()]);
    assert_eq!(container.import(vec![log.clone()]).events, 0);
    let mut copied = log;
    copied.container = container.folder.path().join("copy.h5");
    copied.path = "/elsewhere/log.jsonl".to_string();
    assert_eq!(container.import(vec![copied]).events, 0);
    let session = container.trial.memory.sessions().row(&id(1));
    assert!(matches!(session, Err(Error::NoSession(_))));
}

#[test]
fn an_evicted_session_is_restored_from_its_container() {
    let mut container = Container::new();
    let log = container.provide(1, &prompts(1, 2));
    container.import(vec![log.clone()]);
    let row = container.trial.session(1).id;
    let mut evictor = container.trial.memory.store.evictor().unwrap();
    evictor.evict(row, NOW, &[]).unwrap();
    container.import(vec![log.clone()]);
    assert!(container.trial.evicted(1));
    let (_, files) = container.trial.memory.upkeep().restore(&id(1)).unwrap();
    assert_eq!(files, [log.stored_path()]);
    container.import(vec![log]);
    assert!(!container.trial.evicted(1));
    assert_eq!(container.trial.texts(1).len(), 2);

    let mut evictor = container.trial.memory.store.evictor().unwrap();
    evictor.evict(row, NOW, &[]).unwrap();
    std::fs::remove_file(container.path()).unwrap();
    let gone = container.trial.memory.upkeep().restore(&id(1));
    assert!(matches!(gone, Err(Error::SourceGone { .. })));
}

#[test]
fn a_container_that_lies_is_a_problem_and_no_more() {
    let mut container = Container::new();
    let log = container.provide(1, &prompts(1, 1));
    let with = |change: &dyn Fn(&mut ProvidedLog)| {
        let mut log = log.clone();
        change(&mut log);
        log
    };
    let lies = vec![
        with(&|log| log.agent = "nobody".to_string()),
        with(&|log| log.path = "/a/b\u{0}.jsonl".to_string()),
        with(&|log| log.path = "x".repeat(9_000) + ".jsonl"),
        with(&|log| log.path = "/etc/passwd".to_string()),
        with(&|log| log.file.push("missing")),
    ];
    let count = lies.len();
    let report = container.import(lies);
    assert_eq!((report.ingested, report.events), (0, 0));
    assert_eq!(report.problems.len(), count, "{:?}", report.problems);
    // The container itself, and two logs in it; other sweeps do not forget them as long as it is there.
    for _ in 0..2 {
        assert_eq!(
            container.trial.memory.upkeep().unread_logs().unwrap().len(),
            3
        );
        container.trial.sweep();
    }
}

#[test]
fn logs_of_every_agent_come_back_from_a_container() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("logs");
    for file in backstory_agents::sample::logs(3, 3_000_000) {
        let path = logs.join(file.path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, file.bytes).unwrap();
    }
    let read = |sources: Sources| {
        let options = ImportOptions::new(sources);
        read_logs(folder.path(), None, &options, &mut |_| {}).unwrap()
    };
    let memory = read(Sources::paths([&logs]));
    let mut provided: HashMap<StreamId, ProvidedLog> = HashMap::new();
    for row in memory.sessions().list(&SessionFilter::default()).unwrap() {
        let session = memory.sessions().open(row);
        for log in session.logs().unwrap() {
            let file = folder.path().join(format!("{}", provided.len()));
            let mut out = std::fs::File::create(&file).unwrap();
            session.copy_log(&log, &mut out).unwrap();
            let log_of_agent = ProvidedLog {
                agent: log.agent,
                container: folder.path().join("all.h5"),
                path: log.path,
                file,
            };
            provided.entry(log.id).or_insert(log_of_agent);
        }
    }
    std::fs::remove_dir_all(&logs).unwrap();
    let again = read(Sources {
        provided: provided.into_values().collect(),
        ..Sources::default()
    });
    assert_eq!(again.report().problems, []);
    let described = |memory: &Memory| {
        let mut sessions = memory.sessions().list(&SessionFilter::default()).unwrap();
        sessions.sort_by(|one, other| one.session.cmp(&other.session));
        let describe = |row: SessionRow| {
            let session = memory.sessions().open(row);
            let messages = session.messages(EventRange::All).unwrap();
            let messages = messages.map(|message| {
                let mut message = message.unwrap();
                message.log = None;
                for event in &mut message.events {
                    event.source_path = None;
                }
                message
            });
            let messages: Vec<MessageRecord> = messages.collect();
            let (meta, usage) = (session.meta().unwrap(), session.usage().unwrap());
            let mut row = session.row().clone();
            row.id = SessionId::default();
            (row, meta, usage, messages)
        };
        sessions.into_iter().map(describe).collect::<Vec<_>>()
    };
    assert_eq!(described(&again), described(&memory));
}

//! In whatever order things happen, what is derived is what a fresh import derives.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod dump;
mod story;

use std::collections::{BTreeMap, BTreeSet};

use backstory_event::{Seq, TurnNo};
use backstory_store::{ConsumerInfo, LagOrder};
use serde_json::{Value, json};

use self::dump::{MODEL, dump_derived, found};
use self::story::{Lines, SESSIONS, tell_story};
use super::{
    CodeHistory, Consumer, Consumers, FullText, NOTES, NoteTaker, TraceReader, vectors_consumer,
};
use crate::code::tests::bench::Bench;
use crate::trial::{Dice, NOW, id};
use crate::{Forget, ForgetPlaces};

/// Variable that names the seeds of a long run: `first-last`, or one.
const SEEDS_VARIABLE: &str = "DERIVE_SEEDS";

/// Number of threads that run courses.
const THREADS: usize = 4;

/// The contents of all logs.
type Logs = BTreeMap<String, Vec<u8>>;

/// Something that no import does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loss {
    Evict(u32),
    Forget(u32),
    /// An evicted session is read anew.
    Restore(u32),
}

/// A memory to which things happen.
struct Course {
    bench: Bench,
    dice: Dice,
    /// Whether sessions depend on each other's texts.
    shares: bool,
    lines: Lines,
    /// Number of lines that are written.
    written: usize,
    /// The rest of a line of which a part is written.
    logs: Logs,
    imported: Logs,
    /// What got lost, and the logs as they were imported then.
    losses: Vec<(Logs, Loss)>,
    forgotten: BTreeSet<u32>,
    /// Turns of which at least the beginning was evicted.
    cut_turns: Vec<(u32, TurnNo)>,
    trace: Vec<String>,
}

impl Course {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        dice.roll(2);
        let (length, shares) = (12 + dice.roll(30), dice.roll(2) == 0);
        let lines = tell_story(&mut dice, length, shares);
        let mut bench = Bench::new();
        bench.trial.checks = false;
        bench.trial.add_model(MODEL);
        Course {
            bench,
            dice,
            shares,
            lines,
            written: 0,
            logs: Logs::new(),
            imported: Logs::new(),
            losses: Vec::new(),
            forgotten: BTreeSet::new(),
            cut_turns: Vec::new(),
            trace: Vec::new(),
        }
    }

    fn note(&mut self, what: impl std::fmt::Debug) {
        self.trace.push(format!("{}: {what:?}", self.written));
    }

    /// Agents write some lines.
    fn append(&mut self, count: usize) {
        let end = (self.written + count).min(self.lines.len());
        for (name, line) in &self.lines[self.written..end] {
            self.logs
                .entry(name.clone())
                .or_default()
                .extend(line.as_bytes());
        }
        self.written = end;
        write_logs(&self.bench, &self.logs);
    }

    /// An agent writes its log anew, with another beginning.
    fn rewrite(&mut self) {
        let names: Vec<String> = self.logs.keys().cloned().collect();
        // A log of Codex begins with what its session is.
        let name = match self.dice.roll(2) {
            0 => "1",
            _ => "2",
        };
        let Some(log) = names.contains(&name.to_string()).then(|| &self.logs[name]) else {
            return;
        };
        self.trace.push(format!("rewrite {name}"));
        let beginning = format!("{{\"type\":\"mode\",\"n\":{}}}\n", self.dice.roll(1000));
        let log = [beginning.as_bytes(), log].concat();
        self.logs.insert(name.to_string(), log);
        write_logs(&self.bench, &self.logs);
    }

    fn sweep(&mut self) {
        self.bench.sweep();
        self.imported = self.logs.clone();
    }

    /// Imports, and derives some of what a sweep derives before it is killed.
    fn sweep_partly(&mut self) {
        let options = self.bench.trial.sweep_options();
        let memory = &mut self.bench.trial.memory;
        if !memory.sweep_little(&options, u64::MAX).unwrap() {
            return;
        }
        self.imported = self.logs.clone();
        let parts = self.dice.roll(16);
        self.trace
            .push(format!("{}: partly {parts:04b}", self.written));
        let redactor = memory.store_redactor().unwrap();
        let store = &mut memory.store;
        if parts == 0 {
            return;
        }
        let bulk = parts & 8 > 0;
        let mut consumers = Consumers::open(&memory.home, store, Some(&redactor), bulk).unwrap();
        if parts & 1 > 0 {
            store.settle_titles().unwrap();
            consumers.finish_notes(store).unwrap();
        }
        if parts & 2 > 0 {
            let code = &mut consumers.code;
            code.catch_up(store, LagOrder::Begun, &mut |_| {}).unwrap();
        }
        if parts & 4 > 0 {
            let traces = &mut consumers.traces;
            traces
                .catch_up(store, LagOrder::Begun, &mut |_| {})
                .unwrap();
        }
        if let Some(index) = consumers.fulltext {
            index.finish(store, true, &mut |_| {}).unwrap();
        }
    }

    /// Makes it look as if an older version of a consumer had derived what there is.
    fn raise_version(&mut self) {
        let home = self.bench.trial.store();
        let infos = [
            NoteTaker::default().info(),
            CodeHistory::new(home.clone(), None).info(),
            TraceReader::new(None).info(),
            ConsumerInfo {
                name: vectors_consumer(MODEL).into(),
                version: 1,
                before_eviction: false,
                follows_titles: false,
            },
            FullText::open(&home, &self.bench.trial.memory.store)
                .unwrap()
                .info(),
        ];
        let mut info = infos[self.dice.roll(5) as usize].clone();
        // See `lose`: what is gone cannot be told anew.
        let is_lost = !self.forgotten.is_empty() || (self.shares && !self.losses.is_empty());
        if info.name == "code" && is_lost {
            return;
        }
        self.note(&info.name);
        info.version = 0;
        let store = &self.bench.trial.memory.store;
        store.lag().register(&info).unwrap();
    }

    fn lose(&mut self, loss: Loss) {
        let (Loss::Evict(session) | Loss::Forget(session) | Loss::Restore(session)) = loss;
        if self.bench.trial.memory.session(&id(session)).is_err() {
            return;
        }
        // A file's history loses what came after a session that is forgotten, and no text is found that is evicted.
        if self.shares || !matches!(loss, Loss::Evict(_)) {
            self.sweep();
        }
        let row = self.bench.trial.session(session);
        let evictable = self.bench.trial.memory.store.evictable().unwrap();
        let is_ready =
            |other: &backstory_store::Evictable| other.session == row.id && other.analysed;
        if matches!(loss, Loss::Evict(_)) && !evictable.iter().any(is_ready) {
            return;
        }
        if matches!(loss, Loss::Restore(_)) && row.evicted_at.is_none() {
            return;
        }
        self.note(loss);
        self.losses.push((self.imported.clone(), loss));
        match loss {
            Loss::Forget(session) => drop(self.forgotten.insert(session)),
            Loss::Restore(_) => {}
            Loss::Evict(session) => {
                let turn = TurnNo::new(row.turns as u32);
                self.cut_turns.push((session, turn));
            }
        }
        carry_out(&mut self.bench, loss);
    }

    fn step(&mut self) {
        let session = SESSIONS[self.dice.roll(4) as usize];
        match self.dice.roll(20) {
            0..=5 => {
                let count = 1 + self.dice.roll(6) as usize;
                self.append(count);
            }
            6..=8 => {
                self.note("sweep");
                self.sweep();
            }
            9..=11 => self.sweep_partly(),
            12 | 13 => self.raise_version(),
            14 | 15 => self.lose(Loss::Evict(session)),
            16 if self.dice.roll(2) == 0 => self.lose(Loss::Restore(session)),
            16 if self.forgotten.is_empty() && self.dice.roll(2) == 0 => {
                self.lose(Loss::Forget(session));
            }
            17 | 18 => match self.dice.roll(3) {
                0 => self.rewrite(),
                1 => remove_folder(&self.bench, "index"),
                _ => remove_folder(&self.bench, "vectors"),
            },
            _ => {
                self.note("embed");
                embed(&mut self.bench);
            }
        }
    }

    /// Removes what is known of files that were changed in a turn whose beginning is evicted: what such a turn did later is added to what
    /// it did before, once for each sweep that sees more of it.
    fn remove_cut_files(&self, got: &mut Vec<String>, expected: &mut Vec<String>) {
        let mut files = BTreeSet::new();
        for (session, turn) in &self.cut_turns {
            let change = format!("change {:?} {turn} ", id(*session));
            let changes = got.iter().chain(expected.iter());
            let names = changes.filter_map(|line| line.strip_prefix(&change));
            files.extend(names.filter_map(|line| Some(line.split('"').nth(1)?.to_string())));
        }
        let is_cut = |line: &String| {
            let kinds = ["change ", "snapshot ", "symbol ", "call "];
            kinds.iter().any(|kind| line.starts_with(kind))
                && files.iter().any(|file| line.contains(file))
        };
        got.retain(|line| !is_cut(line));
        expected.retain(|line| !is_cut(line));
    }

    /// The same logs, imported by a memory to which nothing but the same losses happen.
    fn fresh(&self) -> Bench {
        let mut bench = Bench::new();
        bench.trial.checks = false;
        bench.trial.add_model(MODEL);
        for (logs, loss) in &self.losses {
            write_logs(&bench, logs);
            bench.sweep();
            carry_out(&mut bench, *loss);
        }
        write_logs(&bench, &self.logs);
        bench
    }
}

fn write_logs(bench: &Bench, logs: &Logs) {
    for (name, log) in logs {
        let path = bench.trial.log(name);
        if std::fs::read(&path).is_ok_and(|known| known == *log) {
            continue;
        }
        std::fs::write(path, log).unwrap();
    }
}

fn remove_folder(bench: &Bench, name: &str) {
    let _ = std::fs::remove_dir_all(bench.trial.store().join(name));
}

fn embed(bench: &mut Bench) {
    bench.trial.memory.embed(MODEL, &mut |_| {}).unwrap();
}

fn carry_out(bench: &mut Bench, loss: Loss) {
    let memory = &mut bench.trial.memory;
    match loss {
        Loss::Evict(session) => {
            let row = memory.session(&id(session)).unwrap().id;
            let mut evictor = memory.store.evictor().unwrap();
            evictor.evict(row, NOW, b"[]").unwrap();
        }
        Loss::Restore(session) => drop(memory.restore(&id(session)).unwrap()),
        Loss::Forget(session) => {
            let heads = memory.to_forget(Forget::Session(&id(session))).unwrap();
            let report = memory.forget(&heads, &ForgetPlaces::default(), &[]);
            assert_eq!(report.unwrap().proof.remains, [""; 0]);
        }
    }
}

/// Brings everything up to date and returns what there is.
fn finish(bench: &mut Bench) -> Vec<String> {
    bench.trial.checks = true;
    bench.sweep();
    let memory = &mut bench.trial.memory;
    memory.refresh_index(true, &mut |_, _| {}).unwrap();
    embed(bench);
    bench.trial.memory.verify_vectors(MODEL).unwrap();
    let derived = dump_derived(bench);
    let indexed = found(bench);
    remove_folder(bench, "index");
    assert_eq!(found(bench), indexed, "found without the index");
    derived
}

fn run(seed: u64) -> Result<(), String> {
    let mut course = Course::new(seed);
    for _ in 0..10 + course.dice.roll(30) {
        course.step();
    }
    if course.dice.roll(2) == 0 {
        course.append(usize::MAX / 2);
    }
    let mut got = finish(&mut course.bench);
    let mut expected = finish(&mut course.fresh());
    course.remove_cut_files(&mut got, &mut expected);
    if got == expected {
        return Ok(());
    }
    let mut told = format!("seed {seed}: {:?}\n", course.trace);
    for line in expected.iter().filter(|line| !got.contains(line)) {
        told.push_str(&format!("- {line}\n"));
    }
    for line in got.iter().filter(|line| !expected.contains(line)) {
        told.push_str(&format!("+ {line}\n"));
    }
    if std::env::var(SEEDS_VARIABLE).is_ok_and(|seeds| !seeds.contains('-')) {
        told.push_str(&format!(
            "{}\nderived:\n{}\n",
            course
                .lines
                .iter()
                .map(|(_, line)| line.as_str())
                .collect::<String>(),
            got.join("\n")
        ));
    }
    Err(told)
}

/// Notes of a session, before and after those from an event on are taken anew.
fn notes_twice(bench: &mut Bench, from: Seq) -> [String; 2] {
    let notes = |bench: &mut Bench| {
        bench.sweep();
        let row = bench.trial.session(1).id;
        let digest = bench.trial.memory.store.digest(row).unwrap().unwrap();
        String::from_utf8(digest.notes).unwrap()
    };
    let before = notes(bench);
    let row = bench.trial.session(1).id;
    let lag = bench.trial.memory.store.lag();
    let notes_id = lag.find(NOTES).unwrap().unwrap();
    lag.mark(notes_id, row, from).unwrap();
    [before, notes(bench)]
}

#[test]
fn a_call_of_an_earlier_turn_may_fail_again() {
    let mut bench = Bench::new();
    bench.ask(1, "look for it");
    let call = json!({"type": "tool_use", "id": "t1", "name": "Grep", "input": {"pattern": "it"}});
    let message = json!({"role": "assistant", "model": "claude-test", "content": [call]});
    bench.claude(1, "assistant", &message, &Value::Null);
    bench.ask(1, "and quickly");
    let result = json!({"type": "tool_result", "tool_use_id": "t1", "content": "no such folder", "is_error": true});
    let message = json!({"role": "user", "content": [result]});
    bench.claude(1, "user", &message, &Value::Null);
    let [before, after] = notes_twice(&mut bench, Seq::new(4));
    assert!(before.contains("no such folder"), "{before}");
    assert_eq!(after, before);
}

#[test]
fn the_last_word_stays_the_last() {
    let mut bench = Bench::new();
    bench.ask(1, "are you there?");
    let say = |bench: &mut Bench, content: Value| {
        let message = json!({"role": "assistant", "model": "claude-test", "content": [content]});
        bench.claude(1, "assistant", &message, &Value::Null);
    };
    say(&mut bench, json!({"type": "text", "text": "I am"}));
    bench.sweep();
    carry_out(&mut bench, Loss::Evict(1));
    let thought = json!({"type": "thinking", "thinking": "am I?", "signature": ""});
    say(&mut bench, thought);
    let [before, after] = notes_twice(&mut bench, Seq::new(3));
    assert!(before.contains("\"last\":\"Reply\""), "{before}");
    assert_eq!(after, before);
}

#[test]
fn any_course_of_things_equals_a_fresh_import() {
    let seeds = match std::env::var(SEEDS_VARIABLE) {
        Ok(seeds) => {
            let (first, last) = seeds.split_once('-').unwrap_or((&seeds, &seeds));
            first.parse().unwrap()..=last.parse().unwrap()
        }
        Err(_) => 1..=24,
    };
    let seeds: Vec<u64> = seeds.collect();
    let run_some = |part: usize| {
        let seeds = seeds.iter().skip(part).step_by(THREADS);
        let failures = seeds.filter_map(|seed| match std::panic::catch_unwind(|| run(*seed)) {
            Ok(outcome) => outcome.err(),
            Err(_) => Some(format!("seed {seed} panicked\n")),
        });
        failures.collect::<String>()
    };
    let failures: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|part| scope.spawn(move || run_some(part)))
            .collect();
        let results = threads.into_iter().map(|thread| thread.join().unwrap());
        results.filter(|failures| !failures.is_empty()).collect()
    });
    assert!(failures.is_empty(), "{}", failures.concat());
}

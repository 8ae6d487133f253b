//! A memory to which things happen.

use std::collections::{BTreeMap, BTreeSet};

use backstory_event::TurnNo;
use backstory_store::{ConsumerInfo, Evictable, LagOrder};

use super::super::consumer::Consumer;
use super::super::{CodeHistory, Consumers, FullText, NoteTaker, TraceReader, vectors_consumer};
use super::dump::MODEL;
use super::story::{Lines, SESSIONS, tell_story};
use crate::code::tests::bench::Bench;
use crate::trial::{Dice, NOW, id};
use crate::upkeep::{Forget, ForgetPlaces};

/// The contents of all logs.
type Logs = BTreeMap<String, Vec<u8>>;

/// Something that no import does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    Evict(u32),
    Forget(u32),
    /// An evicted session is read anew.
    Restore(u32),
}

/// A memory to which things happen.
pub(super) struct Course {
    pub(super) bench: Bench,
    pub(super) dice: Dice,
    /// Whether sessions depend on each other's texts.
    shares: bool,
    pub(super) lines: Lines,
    /// Number of lines that are written.
    written: usize,
    logs: Logs,
    imported: Logs,
    /// What got lost, and the logs as they were imported then.
    losses: Vec<(Logs, Loss)>,
    forgotten: BTreeSet<u32>,
    /// Turns of which at least the beginning was evicted.
    cut_turns: Vec<(u32, TurnNo)>,
    pub(super) trace: Vec<String>,
}

impl Course {
    pub(super) fn new(seed: u64) -> Self {
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
    pub(super) fn append(&mut self, count: usize) {
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
        if !memory.import_little(&options, u64::MAX).unwrap() {
            return;
        }
        self.imported = self.logs.clone();
        let parts = self.dice.roll(16);
        self.trace
            .push(format!("{}: partly {parts:04b}", self.written));
        let redactor = memory.store_redactor().unwrap();
        let store = &memory.store;
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
        if self
            .bench
            .trial
            .memory
            .sessions()
            .row(&id(session))
            .is_err()
        {
            return;
        }
        // A file's history loses what came after a session that is forgotten, and no text is found that is evicted.
        if self.shares || !matches!(loss, Loss::Evict(_)) {
            self.sweep();
        }
        let row = self.bench.trial.session(session);
        let evictable = self.bench.trial.memory.store.evictable().unwrap();
        let is_ready = |other: &Evictable| other.session == row.id && other.analysed;
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

    pub(super) fn step(&mut self) {
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
    pub(super) fn remove_cut_files(&self, got: &mut Vec<String>, expected: &mut Vec<String>) {
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
    pub(super) fn fresh(&self) -> Bench {
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

pub(super) fn remove_folder(bench: &Bench, name: &str) {
    let _ = std::fs::remove_dir_all(bench.trial.store().join(name));
}

pub(super) fn embed(bench: &mut Bench) {
    bench
        .trial
        .memory
        .models()
        .embed(MODEL, &mut |_| {})
        .unwrap();
}

pub(super) fn carry_out(bench: &mut Bench, loss: Loss) {
    let memory = &mut bench.trial.memory;
    match loss {
        Loss::Evict(session) => {
            let row = memory.sessions().row(&id(session)).unwrap().id;
            let mut evictor = memory.store.evictor().unwrap();
            evictor.evict(row, NOW, b"[]").unwrap();
        }
        Loss::Restore(session) => drop(memory.upkeep().restore(&id(session)).unwrap()),
        Loss::Forget(session) => {
            let heads = memory
                .upkeep()
                .to_forget(Forget::Session(&id(session)))
                .unwrap();
            let report = memory
                .upkeep()
                .forget(&heads, &ForgetPlaces::default(), &[]);
            assert_eq!(report.unwrap().proof.remains, [""; 0]);
        }
    }
}

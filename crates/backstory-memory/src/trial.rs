//! For tests: a memory in a folder of its own, and logs to sweep into it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;

use backstory_event::{Seq, SessionId, TimeMs};

use serde_json::{Value, json};

use crate::derive::NOTES;
use crate::{
    Caps, ImportOptions, ImportReport, Memory, RetainOptions, SessionFilter, SessionRow, Sources,
};

/// 2026-06-01.
pub(crate) const NOW: TimeMs = TimeMs::new(1_780_272_000_000);

pub(crate) const DAY: i64 = 24 * 3600 * 1000;

pub(crate) struct Trial {
    folder: tempfile::TempDir,
    pub(crate) memory: Memory,
    pub(crate) caps: Caps,
    /// Whether sweeps get to make digests.
    pub(crate) digests: bool,
    /// Whether every sweep is followed by a check of the whole store, which takes longer than the sweep.
    pub(crate) checks: bool,
}

impl Trial {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let memory = Memory::open(&folder.path().join("store")).unwrap();
        std::fs::create_dir_all(folder.path().join("logs")).unwrap();
        Trial {
            folder,
            memory,
            caps: Caps::default(),
            digests: true,
            checks: true,
        }
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.folder
            .path()
            .join("logs")
            .join(format!("{name}.jsonl"))
    }

    pub(crate) fn append(&self, name: &str, lines: &[String]) {
        let mut options = std::fs::OpenOptions::new();
        let mut file = options
            .append(true)
            .create(true)
            .open(self.log(name))
            .unwrap();
        file.write_all(lines.concat().as_bytes()).unwrap();
    }

    /// Takes all in; retention runs behind the digests, as in the program.
    pub(crate) fn sweep(&mut self) -> ImportReport {
        let options = self.sweep_options();
        let before = self.noted();
        let mut report = self.memory.import(&options, &mut |_| {}).unwrap();
        if !self.digests {
            self.remove_notes(&before);
        }
        report.retention = self.memory.upkeep().retain(&self.retain_options()).unwrap();
        if self.checks {
            assert_eq!(self.memory.upkeep().health().unwrap().orphans, []);
            // Nothing that is done to a store may look like damage.
            assert_eq!(self.memory.upkeep().verify_store(true).unwrap().damage, []);
        }
        report
    }

    pub(crate) fn sweep_options(&self) -> ImportOptions {
        let mut options = ImportOptions::new(Sources::paths([self.folder.path().join("logs")]));
        options.workers = 1;
        options
    }

    pub(crate) fn retain_options(&self) -> RetainOptions {
        RetainOptions {
            caps: self.caps,
            now: NOW,
        }
    }

    /// Up to which event each session has been noted.
    fn noted(&self) -> HashMap<SessionId, Seq> {
        let store = &self.memory.store;
        let consumer = store.lag().find(NOTES).unwrap().unwrap();
        let sessions = store.sessions(&SessionFilter::default()).unwrap();
        let noted = |id| (id, store.lag().seen_to(consumer, id).unwrap());
        sessions.iter().map(|session| noted(session.id)).collect()
    }

    /// As if a sweep had been stopped before it took notes.
    fn remove_notes(&mut self, before: &HashMap<SessionId, Seq>) {
        let lag = self.memory.store.lag();
        let consumer = lag.find(NOTES).unwrap().unwrap();
        for (session, noted) in self.noted() {
            let before = before.get(&session).copied().unwrap_or_default();
            if before < noted {
                lag.mark(consumer, session, before.next()).unwrap();
            }
        }
    }

    pub(crate) fn session(&self, number: u32) -> SessionRow {
        self.memory.sessions().row(&id(number)).unwrap()
    }

    pub(crate) fn evicted(&self, number: u32) -> bool {
        self.session(number).evicted > Seq::ZERO
    }

    /// The texts of a session's events that are there.
    pub(crate) fn texts(&self, number: u32) -> Vec<String> {
        let session = self.session(number);
        let events = self
            .memory
            .sessions()
            .open(session)
            .event_views(crate::EventRange::All)
            .unwrap();
        events
            .into_iter()
            .map(|event| event.text().to_string())
            .collect()
    }

    /// A model of three words, each with a direction of its own.
    pub(crate) fn add_model(&mut self, name: &str) {
        let folder = self.folder.path().join("model");
        std::fs::create_dir_all(&folder).unwrap();
        let words = json!({"[UNK]": 0, "car": 1, "sea": 2, "hut": 3});
        let tokenizer = json!({
            "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
            "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
            "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": null, "decoder": null,
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": words},
        });
        let rows: [[f32; 4]; 4] = [
            [0.0; 4],
            [1.0, 0.0, 0.0, 0.0],
            [0.0, 1.0, 0.0, 0.0],
            [0.0, 0.0, 1.0, 0.0],
        ];
        let data: Vec<u8> = rows
            .iter()
            .flatten()
            .flat_map(|number| number.to_le_bytes())
            .collect();
        let header = json!({"embeddings": {"dtype": "F32", "shape": [4, 4], "data_offsets": [0, data.len()]}});
        let header = header.to_string();
        let length = (header.len() as u64).to_le_bytes();
        let weights = [&length[..], header.as_bytes(), &data].concat();
        std::fs::write(folder.join("model.safetensors"), weights).unwrap();
        std::fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
        self.memory.models().add(&folder, Some(name)).unwrap();
    }

    /// Bytes in all blocks, compressed.
    pub(crate) fn stored(&self) -> u64 {
        self.memory
            .store
            .evictable()
            .unwrap()
            .iter()
            .map(|session| session.bytes)
            .sum()
    }
}

/// Cheap numbers that differ from run to run of the loop, and are the same in every run of the test.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

pub(crate) fn id(session: u32) -> String {
    format!("{session:08x}-0000-4000-8000-000000000000")
}

/// A prompt of a session on a day before now.
pub(crate) fn prompt(session: u32, number: u32, days_ago: i64, text: &str) -> String {
    let message = json!({"role": "user", "content": text});
    record(
        session,
        &format!("{session}-{number}"),
        Some(NOW.plus_ms(i64::from(number) * 1000 - days_ago * DAY)),
        "user",
        &message,
    )
}

pub(crate) fn record(
    session: u32,
    uuid: &str,
    at: Option<TimeMs>,
    kind: &str,
    message: &Value,
) -> String {
    let at = at.map(|at| {
        jiff::Timestamp::from_millisecond(at.get())
            .unwrap()
            .to_string()
    });
    let line = json!({
        "type": kind, "uuid": uuid, "sessionId": id(session), "timestamp": at, "cwd": "/home/ada/shop", "message": message,
    });
    format!("{line}\n")
}

/// Text that does not compress.
pub(crate) fn noise(seed: u32, bytes: usize) -> String {
    let mut reader = blake3::Hasher::new()
        .update(&seed.to_le_bytes())
        .finalize_xof();
    let mut noise = vec![0; bytes / 2];
    reader.fill(&mut noise);
    noise.iter().map(|byte| format!("{byte:02x}")).collect()
}

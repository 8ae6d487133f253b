//! `doctor`.

mod capture;

use std::io::Write;

use backstory_memory::{
    Cleanup, Damage, DamagedPiece, EmbeddingState, Health, IndexHealth, Memory, Retention,
    SkippedRow, Sources, UnreadLog, Verification, retention,
};
use serde_json::{Value, json};

use self::capture::Capturing;
use super::sweep::options;
use crate::cli::DoctorArgs;
use crate::error::{Error, ErrorKind, RENEW_KEYS};
use crate::output::{
    BOLD, DIM, GREEN, RED, YELLOW, counted, grouped, local_time, one_line, print_json, rfc3339,
    short_bytes, stdout,
};
use crate::setting::{Setting, now};

/// When so few days are left before a log that is not kept is deleted, something is wrong.
const URGENT_DAYS: i64 = 3;

/// The remedy for damage that no log can repair.
const RESTORE: &str = "restore backstory.db from a backup";

pub(super) fn run(setting: &Setting, arguments: &DoctorArgs) -> Result<(), Error> {
    let examination = Examination::make(setting, arguments);
    if arguments.json {
        print_json(&examination.json())?;
    } else {
        examination.print()?;
    }
    if examination.wrong.is_empty() {
        Ok(())
    } else {
        Err(Error::new(ErrorKind::Silent, ""))
    }
}

struct Examination<'a> {
    setting: &'a Setting,
    sources: Sources,
    retention: Retention,
    cleanup: Cleanup,
    days_left: Option<i64>,
    health: Option<Health>,
    index: Option<IndexHealth>,
    model: Option<(String, EmbeddingState)>,
    disk_bytes: u64,
    skipped: Vec<SkippedRow>,
    unread: Vec<UnreadLog>,
    capturing: Capturing,
    verification: Option<Verification>,
    wrong: Vec<String>,
}

impl<'a> Examination<'a> {
    fn make(setting: &'a Setting, arguments: &DoctorArgs) -> Self {
        let sources = options(setting, &[], None).sources;
        let cleanup = Cleanup::from_settings(setting.claude_settings().as_deref());
        let mut found = Examination {
            setting,
            sources,
            retention: Retention::default(),
            cleanup,
            days_left: None,
            health: None,
            index: None,
            model: None,
            disk_bytes: 0,
            skipped: Vec::new(),
            unread: Vec::new(),
            capturing: Capturing::default(),
            verification: None,
            wrong: Vec::new(),
        };
        if let Err(error) = found.examine(arguments) {
            found.wrong.push(error.with_hints());
        }
        found
    }

    fn examine(&mut self, arguments: &DoctorArgs) -> Result<(), Error> {
        let memory = Memory::open_existing(&self.setting.store)?;
        if let Some(memory) = &memory {
            let health = if arguments.deep {
                memory.thorough_health()?
            } else {
                memory.health()?
            };
            self.verify(memory, arguments.deep)?;
            self.wrong.extend(
                health
                    .damage
                    .iter()
                    .map(|damage| format!("the database is damaged: {damage}; {RESTORE}")),
            );
            self.wrong.extend(
                health
                    .orphans
                    .iter()
                    .map(|(kind, count)| format!("{count} {kind}; {RESTORE}")),
            );
            self.health = Some(health);
            let index = memory.index_health()?;
            if let Some(damage) = &index.damage {
                self.wrong
                    .push(format!("{damage}; the next sweep makes it anew"));
            }
            self.index = Some(index);
            if let Some(model) = &self.setting.config.model {
                if !memory.models().iter().any(|(name, _)| name == model) {
                    self.wrong
                        .push(format!("the model {model} is in use but not here"));
                }
                self.model = Some((model.clone(), memory.embedding_state(model)?));
            }
            self.disk_bytes = memory.disk_bytes();
            self.skipped = memory.skipped(arguments.limit)?;
            self.unread = memory.unread_logs()?;
        }
        self.capturing = Capturing::look(self.setting, memory.as_ref(), &mut self.wrong)?;
        self.retention = retention(memory.as_ref(), &self.setting.store, &self.sources)?;
        for log in &self.unread {
            self.wrong.push(unread_line(log));
        }
        for problem in &self.retention.problems {
            if self.unread.iter().any(|log| log.path == problem.path) {
                continue;
            }
            self.wrong.push(format!(
                "cannot look at {}: {}",
                problem.path.display(),
                problem.reason
            ));
        }
        self.days_left = self
            .retention
            .oldest_unkept_claude_at
            .map(|at| self.cleanup.days_left(at, now()));
        if let Some(days) = self.days_left.filter(|days| *days <= URGENT_DAYS) {
            self.wrong.push(format!(
                "Claude Code deletes a log that is not kept yet in {} days: sweep now",
                days.max(0)
            ));
        }
        Ok(())
    }

    /// Verifies checksums; damage is noted for the next sweep.
    fn verify(&mut self, memory: &Memory, deep: bool) -> Result<(), Error> {
        let verification = memory.verify_store(deep)?;
        memory.note_damage(&verification.damage);
        for damage in &verification.damage {
            let remedy = if memory.can_be_read_again(damage) {
                "the next `backstory sweep` reads it again from the agent's log"
            } else if damage.is_of_forgetting() {
                RENEW_KEYS
            } else if matches!(damage.piece, DamagedPiece::Setting(_)) {
                "the next `backstory sweep` makes it anew"
            } else {
                RESTORE
            };
            self.wrong.push(format!("{damage}; {remedy}"));
        }
        if deep
            && let Some(model) = &self.setting.config.model
            && let Err(error) = memory.verify_vectors(model)
        {
            self.wrong
                .push(format!("{error}; `backstory embed` makes them anew"));
        }
        self.verification = Some(verification);
        Ok(())
    }

    fn json(&self) -> Value {
        let roots =
            self.sources.roots.iter().map(
                |(agent, root)| json!({"agent": agent, "path": root, "exists": root.exists()}),
            );
        let agents = self.retention.agents.iter().map(|found| {
            json!({"agent": found.agent, "files": found.files, "bytes": found.bytes, "kept": found.kept})
        });
        let skipped = self.skipped.iter().map(|row| {
            json!({"path": row.path, "line": row.line, "offset": row.offset, "length": row.length, "reason": row.reason})
        });
        let unread = self.unread.iter().map(
            |log| json!({"path": log.path, "reason": log.reason, "since": rfc3339(Some(log.since))}),
        );
        let health = self.health.as_ref().map(|health| {
            json!({
                "sound": health.is_sound(),
                "damage": health.damage,
                "orphans": health.orphans.iter().map(|(kind, count)| json!({"kind": kind, "count": count})).collect::<Vec<_>>(),
                "sessions": health.sessions,
                "events": health.events,
                "source_files": health.source_files,
                "skipped_records": health.skipped_records,
                "stored_bytes": health.stored_bytes,
                "disk_bytes": self.disk_bytes,
                "attachments": health.attachments,
            })
        });
        json!({
            "ok": self.wrong.is_empty(),
            "wrong": self.wrong,
            "config": self.setting.config_path,
            "store": { "path": self.setting.store, "health": health },
            "checksums": self.verification.as_ref().map(|found| {
                json!({
                    "verified": found.verified,
                    "unchecked": found.unchecked,
                    "damage": found.damage.iter().map(damage_json).collect::<Vec<_>>(),
                })
            }),
            "index": self.index.as_ref().map(|index| {
                json!({"damage": index.damage, "fresh_events": index.fresh, "bytes": index.bytes})
            }),
            "model": self.model.as_ref().map(|(name, state)| {
                json!({"name": name, "embedded": state.embedded, "pending": state.pending()})
            }),
            "roots": roots.collect::<Vec<_>>(),
            "agents": agents.collect::<Vec<_>>(),
            "unkept": self.retention.unkept,
            "claude_cleanup_days": self.cleanup.days,
            "days_left": self.days_left,
            "skipped": skipped.collect::<Vec<_>>(),
            "unread": unread.collect::<Vec<_>>(),
            "capture": self.capturing.json(),
        })
    }

    fn print(&self) -> Result<(), Error> {
        let mut out = stdout();
        writeln!(out, "{BOLD}Logs{BOLD:#}")?;
        for (agent, root) in &self.sources.roots {
            let there = if root.exists() { "" } else { " (not there)" };
            writeln!(out, "  {agent:<12} {}{DIM}{there}{DIM:#}", root.display())?;
        }
        for found in &self.retention.agents {
            let (files, bytes, kept) = (
                grouped(found.files),
                short_bytes(found.bytes),
                grouped(found.kept),
            );
            writeln!(
                out,
                "  {:<12} {files} files, {bytes}; {kept} of them kept as they are now",
                found.agent
            )?;
        }
        if let Some(days) = self.days_left {
            let unkept = grouped(self.retention.unkept.len() as u64);
            writeln!(
                out,
                "  {YELLOW}{unkept} files have something that is not kept yet{YELLOW:#}; `backstory sweep` takes it in"
            )?;
            writeln!(
                out,
                "  Claude Code deletes logs after {} days: {days} days are left for the oldest one",
                self.cleanup.days
            )?;
        }
        writeln!(
            out,
            "{BOLD}Store{BOLD:#}\n  {}",
            self.setting.store.display()
        )?;
        match &self.health {
            None => writeln!(out, "  not there yet; `backstory sweep` makes it")?,
            Some(health) => {
                writeln!(
                    out,
                    "  {} sessions, {} events from {} files; {} of logs kept in {}",
                    grouped(health.sessions),
                    grouped(health.events),
                    grouped(health.source_files),
                    short_bytes(health.stored_bytes),
                    short_bytes(self.disk_bytes),
                )?;
                let unread = match self.unread.len() {
                    0 => String::new(),
                    1 => ", and 1 log was not read, or only in part".to_string(),
                    many => format!(", and {many} logs were not read, or only in part"),
                };
                writeln!(
                    out,
                    "  {} records could not be read{unread}",
                    grouped(health.skipped_records)
                )?;
            }
        }
        if let Some(found) = &self.verification {
            writeln!(out, "  {} checksums verified", grouped(found.verified))?;
        }
        if let Some(index) = &self.index {
            writeln!(
                out,
                "  index of {}, {} events searched beside it",
                short_bytes(index.bytes),
                grouped(index.fresh)
            )?;
        }
        if let Some((name, state)) = &self.model {
            let pending = grouped(state.pending());
            writeln!(out, "  model {name}, {pending} events without vectors")?;
        }
        for row in &self.skipped {
            writeln!(
                out,
                "    {}:{}: {}",
                row.path,
                row.line,
                one_line(&row.reason)
            )?;
        }
        self.capturing.print(&mut out)?;
        writeln!(
            out,
            "{BOLD}Configuration{BOLD:#}\n  {}",
            self.setting.config_path.display()
        )?;
        let unchecked = self
            .verification
            .as_ref()
            .map_or(0, |found| found.unchecked);
        if unchecked > 0 {
            let rows = counted(unchecked, "row");
            writeln!(
                out,
                "{YELLOW}{rows} not yet covered by checksums{YELLOW:#}; `backstory sweep` adds them"
            )?;
        } else if self.wrong.is_empty() {
            writeln!(out, "{GREEN}all is well{GREEN:#}")?;
        }
        for wrong in &self.wrong {
            writeln!(out, "{RED}wrong:{RED:#} {wrong}")?;
        }
        out.flush()?;
        Ok(())
    }
}

fn unread_line(log: &UnreadLog) -> String {
    let path = log.path.display().to_string();
    format!(
        "not read, or only in part, since {}: {}: {}",
        local_time(Some(log.since)),
        one_line(&path),
        one_line(&log.reason)
    )
}

fn damage_json(damage: &Damage) -> Value {
    let text = damage.to_string();
    let path = &damage.path;
    match &damage.piece {
        DamagedPiece::Bytes { start, length, .. } => {
            json!({"piece": "bytes", "path": path, "start": start, "length": length, "text": text})
        }
        DamagedPiece::Session { session, what, .. } => {
            json!({"piece": what, "session": session, "text": text})
        }
        DamagedPiece::Journal(start) => {
            json!({"piece": "journal", "path": path, "start": start, "text": text})
        }
        DamagedPiece::Attachment(id) => json!({"piece": "attachment", "id": id, "text": text}),
        DamagedPiece::Capture { item, session } => {
            json!({"piece": "capture", "id": item, "session": session, "text": text})
        }
        DamagedPiece::Setting(name) => json!({"piece": "setting", "name": name, "text": text}),
        DamagedPiece::Rows { what, .. } => json!({"piece": what, "path": path, "text": text}),
    }
}

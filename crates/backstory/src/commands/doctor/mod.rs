//! `doctor`.

mod capture;
mod finding;

use std::io::Write;

use backstory_memory::examine::{Examination, ExamineOptions};
use backstory_memory::models::EmbeddingState;
use backstory_memory::upkeep::LogDeletion;
use backstory_memory::upkeep::SkippedRow;
use backstory_memory::{Sources, file_of_log};
use serde_json::{Value, json};

use self::capture::{WorkerProcess, capture_json, print_capture};
use self::finding::sentence;
use crate::cli::DoctorArgs;
use crate::error::{Error, ErrorKind};
use crate::output::{
    BOLD, DIM, GREEN, RED, YELLOW, counted, grouped, one_line, print_json, rfc3339, short_bytes,
    stdout,
};
use crate::setting::{Setting, now};
use crate::shell;

pub(super) fn run(setting: &Setting, arguments: &DoctorArgs) -> Result<(), Error> {
    let report = DoctorReport::new(setting, arguments);
    if arguments.json {
        print_json(&report.json())?;
    } else {
        report.print()?;
    }
    if report.wrong.is_empty() {
        Ok(())
    } else {
        Err(Error::new(ErrorKind::Silent, ""))
    }
}

/// The examination in words.
struct DoctorReport<'a> {
    setting: &'a Setting,
    sources: Sources,
    found: Examination,
    /// Agents that delete logs which are not kept yet, and the days that are left for the first.
    pending_deletions: Vec<(LogDeletion, i64)>,
    worker: Option<WorkerProcess>,
    /// Why the store cannot be read.
    store_problem: Option<String>,
    wrong: Vec<String>,
}

impl<'a> DoctorReport<'a> {
    fn new(setting: &'a Setting, arguments: &DoctorArgs) -> Self {
        let sources = setting.import_options(&[], None).sources;
        let program = shell::own_path().map(|program| shell::quoted(&program));
        let mut found = Examination::of_store(
            &setting.store,
            &ExamineOptions {
                sources: &sources,
                places: &setting.places(),
                program: program.as_deref().ok(),
                spool: &setting.spool(),
                catalogue: &setting.catalogue(),
                model: setting.config.model.as_deref(),
                deep: arguments.deep,
                limit: arguments.limit,
                now: now(),
            },
        );
        let pending_deletions = found.pending_deletions().collect();
        let mut store_problem = None;
        let mut wrong = Vec::new();
        for finding in std::mem::take(&mut found.findings) {
            let is_of_store = finding.is_of_store();
            wrong.push(sentence(setting, finding));
            if is_of_store {
                store_problem = wrong.last().cloned();
            }
        }
        let worker = capture::worker(setting).unwrap_or_else(|error| {
            wrong.push(error.with_hints());
            None
        });
        wrong.extend(program.err().map(|error| error.with_hints()));
        DoctorReport {
            setting,
            sources,
            found,
            pending_deletions,
            worker,
            store_problem,
            wrong,
        }
    }

    /// The model in use and the state of its vectors.
    fn model(&self) -> Option<(&str, EmbeddingState)> {
        Some((self.setting.config.model.as_deref()?, self.found.vectors?))
    }

    fn json(&self) -> Value {
        let roots =
            self.sources.roots.iter().map(
                |(agent, root)| json!({"agent": agent, "path": root, "exists": root.exists()}),
            );
        let deletions = self.found.deletions.iter().map(|(deletion, days_left)| {
            json!({"agent": deletion.agent.name, "days": deletion.days, "days_left": days_left})
        });
        let skipped = self.found.skipped.iter().map(|row| {
            let reason = without_position(&row.reason).to_string();
            SkippedRow {
                reason,
                ..row.clone()
            }
        });
        let unread = self.found.unread.iter().map(
            |log| json!({"path": log.path, "reason": log.reason, "since": rfc3339(Some(log.since))}),
        );
        let health = self.found.health.as_ref().map(|health| {
            let mut health = json!(health);
            health["disk_bytes"] = self.found.disk_bytes.into();
            health
        });
        let mut answer = json!({
            "ok": self.wrong.is_empty(),
            "wrong": self.wrong,
            "config": self.setting.config_path,
            "store": { "path": self.setting.store, "health": health, "problem": self.store_problem },
            "checksums": self.found.verification,
            "index": self.found.index,
            "model": self.model().map(|(name, state)| {
                json!({"name": name, "embedded": state.embedded, "pending": state.pending()})
            }),
            "roots": roots.collect::<Vec<_>>(),
            "agents": self.found.kept_logs.agents,
            "unkept": self.found.kept_logs.unkept,
            "days_left": self.pending_deletions.iter().map(|(_, days)| days).min(),
            "deletions": deletions.collect::<Vec<_>>(),
            "skipped": skipped.collect::<Vec<_>>(),
            "unread": unread.collect::<Vec<_>>(),
            "capture": capture_json(&self.found, self.worker.as_ref()),
        });
        // Older versions knew of one agent that deletes logs, and called its days so.
        for (deletion, _) in &self.found.deletions {
            let agent = deletion.agent;
            let short = agent.aliases.first().unwrap_or(&agent.name);
            answer[format!("{short}_cleanup_days")] = json!(deletion.days);
        }
        answer
    }

    /// Lists records that could not be read; those of logs that are gone are counted, as nobody can look at them any more.
    fn print_skipped(&self, out: &mut impl Write) -> Result<(), Error> {
        let is_there = |row: &&SkippedRow| file_of_log(&row.path).is_some();
        let (there, gone): (Vec<&SkippedRow>, Vec<&SkippedRow>) =
            self.found.skipped.iter().partition(is_there);
        for row in there {
            let reason = one_line(without_position(&row.reason));
            writeln!(out, "    {}:{}: {reason}", one_line(&row.path), row.line)?;
        }
        match gone.len() {
            0 => {}
            1 => writeln!(out, "    1 of them in a log that is gone")?,
            count => writeln!(out, "    {count} of them in logs that are gone")?,
        }
        Ok(())
    }

    fn print(&self) -> Result<(), Error> {
        let mut out = stdout();
        writeln!(out, "{BOLD}Logs{BOLD:#}")?;
        for (agent, root) in &self.sources.roots {
            let there = if root.exists() { "" } else { " (not there)" };
            writeln!(out, "  {agent:<12} {}{DIM}{there}{DIM:#}", root.display())?;
        }
        for found in &self.found.kept_logs.agents {
            let files = counted(found.files, "file");
            let mut line = format!("{files}, {}", short_bytes(found.bytes));
            if self.store_problem.is_none() {
                let state = match found.kept {
                    1 => "stored as it is now",
                    _ => "stored as they are now",
                };
                line.push_str(&format!("; {} {state}", grouped(found.kept)));
            }
            for (count, state) in [
                (
                    found.evicted,
                    "evicted, so that only the log has all of the text",
                ),
                (found.forgotten, "forgotten and not read again"),
            ] {
                if count > 0 {
                    line.push_str(&format!("; {} {state}", grouped(count)));
                }
            }
            writeln!(out, "  {:<12} {line}", found.agent)?;
        }
        if !self.pending_deletions.is_empty() {
            let count = self.found.kept_logs.unkept.len() as u64;
            let verb = if count == 1 { "has" } else { "have" };
            let unkept = counted(count, "file");
            writeln!(
                out,
                "  {YELLOW}{unkept} {verb} something that is not stored yet{YELLOW:#}; `backstory sweep` imports it"
            )?;
        }
        for (deletion, days) in &self.pending_deletions {
            let verb = if *days == 1 { "is" } else { "are" };
            writeln!(
                out,
                "  {} deletes logs after {}: {} {verb} left for the oldest one",
                deletion.agent.title,
                counted(deletion.days, "day"),
                counted((*days).max(0).unsigned_abs(), "day"),
            )?;
        }
        writeln!(
            out,
            "{BOLD}Store{BOLD:#}\n  {}",
            self.setting.store.display()
        )?;
        match (&self.found.health, &self.store_problem) {
            (_, Some(_)) => writeln!(out, "  {RED}cannot be read{RED:#}; see below")?,
            (None, None) => writeln!(out, "  not there yet; `backstory sweep` makes it")?,
            (Some(health), None) => {
                writeln!(
                    out,
                    "  {}, {} from {}; {} of logs kept in {}",
                    counted(health.sessions, "session"),
                    counted(health.events, "event"),
                    counted(health.source_files, "file"),
                    short_bytes(health.stored_bytes),
                    short_bytes(self.found.disk_bytes),
                )?;
                let unread = match self.found.unread.len() {
                    0 => String::new(),
                    1 => ", and 1 log was not read, or only in part".to_string(),
                    many => format!(", and {many} logs were not read, or only in part"),
                };
                let records = counted(health.skipped_records, "record");
                writeln!(out, "  {records} could not be read{unread}")?;
                self.print_skipped(&mut out)?;
            }
        }
        if let Some(found) = &self.found.verification {
            let verified = counted(found.verified, "checksum");
            writeln!(out, "  {verified} verified")?;
        }
        if let Some(index) = &self.found.index {
            writeln!(
                out,
                "  index of {}, {} searched beside it",
                short_bytes(index.bytes),
                counted(index.fresh, "event")
            )?;
        }
        if let Some((name, state)) = self.model() {
            let pending = counted(state.pending(), "event");
            writeln!(out, "  model {name}, {pending} without vectors")?;
        }
        print_capture(&mut out, &self.found, self.worker.as_ref())?;
        writeln!(
            out,
            "{BOLD}Configuration{BOLD:#}\n  {}",
            self.setting.config_path.display()
        )?;
        let unchecked = self
            .found
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

/// Returns the reason of a record that could not be read without the position within the record, which looks like one in the file.
fn without_position(reason: &str) -> &str {
    let is_position = |text: &str| {
        let mut parts = text.split(" column ");
        let is_number = |part: Option<&str>| {
            part.is_some_and(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
        };
        is_number(parts.next()) && is_number(parts.next()) && parts.next().is_none()
    };
    match reason.rsplit_once(" at line ") {
        Some((before, position)) if is_position(position) => before,
        _ => reason,
    }
}

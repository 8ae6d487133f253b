//! `doctor`.

mod capture;

use std::io::Write;

use backstory_memory::trusted::check_store_folder;
use backstory_memory::{
    Catalogue, DamagedPiece, EmbeddingState, Health, IndexHealth, LogDeletion, Memory, Retention,
    SessionFilter, SkippedRow, Sources, UnreadLog, Verification, file_of_log, log_deletions,
    retention,
};
use serde_json::{Value, json};

use self::capture::Capturing;
use crate::cli::DoctorArgs;
use crate::error::{Error, ErrorKind, RENEW_KEYS};
use crate::output::{
    BOLD, DIM, GREEN, RED, YELLOW, counted, grouped, local_time, one_line, print_json, rfc3339,
    short_bytes, stdout,
};
use crate::setting::{Setting, now};
use crate::shell;

/// When so few days are left before a log that is not kept is deleted, something is wrong.
const URGENT_DAYS: i64 = 3;

/// The remedy for damage that no log can repair.
const RESTORE: &str = "restore backstory.db from a backup";

/// What to do about a database that is not one any more.
const REBUILD: &str = "copy the folder of the store first, then restore backstory.db from a backup, or move it away and run \
     `backstory sweep`, which imports the logs that agents still have; sessions whose logs the agent deleted exist only here";

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
    /// Agents that delete their logs.
    deletions: Vec<LogDeletion>,
    health: Option<Health>,
    /// Why the store cannot be read.
    store_problem: Option<String>,
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
        let sources = setting.import_options(&[], None).sources;
        let mut found = Examination {
            setting,
            sources,
            retention: Retention::default(),
            deletions: log_deletions(&setting.places()),
            health: None,
            store_problem: None,
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
        let memory = match Memory::open_existing(&self.setting.store) {
            Ok(memory) => {
                if memory.is_none() && has_lost_tables(self.setting) {
                    let database = self.setting.store.join("backstory.db");
                    self.report_store_problem(format!(
                        "{} has no tables, but the index was made from it: its journal backstory.db-wal was removed or emptied; {REBUILD}",
                        database.display()
                    ));
                }
                memory
            }
            Err(error) => {
                let read = "nothing of it can be read";
                self.report_store_problem(store_problem(self.setting, error, read));
                None
            }
        };
        if let Some(memory) = &memory
            && let Err(error) = self.examine_store(memory, arguments)
        {
            let read = match memory.sessions().list(&SessionFilter::default()) {
                Ok(sessions) => format!(
                    "{} can still be listed with `backstory sessions`",
                    counted(sessions.len() as u64, "session")
                ),
                Err(_) => "nothing of it can be read".to_string(),
            };
            self.report_store_problem(store_problem(self.setting, error, &read));
        }
        let store = self.setting.store.display();
        if let Err(reason) = check_store_folder(&self.setting.store)
            && self.store_problem.is_none()
        {
            self.wrong.push(format!(
                "{store} is not private, so that nothing can be written to it: {reason}"
            ));
        }
        self.examine_catalogue();
        self.capturing = Capturing::look(
            self.setting,
            memory.as_ref().filter(|_| self.store_problem.is_none()),
            &mut self.wrong,
        )?;
        let memory = memory.as_ref().filter(|_| self.store_problem.is_none());
        self.retention = retention(memory, &self.setting.store, &self.sources)?;
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
        let deletions = self.urgent_deletions();
        let urgent = deletions.filter(|(_, days)| *days <= URGENT_DAYS);
        let urgent: Vec<String> = urgent
            .map(|(deletion, days)| {
                let (title, days) = (deletion.agent.title, days.max(0).unsigned_abs());
                let days = counted(days, "day");
                format!("{title} deletes a log that is not kept yet in {days}: sweep now")
            })
            .collect();
        self.wrong.extend(urgent);
        Ok(())
    }

    /// Agents that delete logs which are not kept yet, and in how many days the first.
    fn urgent_deletions(&self) -> impl Iterator<Item = (&LogDeletion, i64)> {
        let deletions = self.deletions.iter();
        let deletions = deletions.filter(|_| self.store_problem.is_none());
        deletions.filter_map(|deletion| Some((deletion, self.days_left(deletion)?)))
    }

    /// Number of days before the oldest log that is not kept is deleted.
    fn days_left(&self, deletion: &LogDeletion) -> Option<i64> {
        let mut agents = self.retention.agents.iter();
        let of_agent = agents.find(|found| found.agent == deletion.agent.name)?;
        let oldest = of_agent.oldest_unkept_at?;
        Some(deletion.days_left(oldest, now()))
    }

    fn report_store_problem(&mut self, problem: String) {
        self.wrong.push(problem.clone());
        self.store_problem = Some(problem);
    }

    /// Looks at what is in the store.
    fn examine_store(
        &mut self,
        memory: &Memory,
        arguments: &DoctorArgs,
    ) -> Result<(), backstory_memory::Error> {
        let health = if arguments.deep {
            memory.upkeep().thorough_health()?
        } else {
            memory.upkeep().health()?
        };
        self.verify(memory, arguments.deep)?;
        self.wrong.extend(
            health
                .damage
                .iter()
                .map(|damage| format!("the database is damaged: {damage}")),
        );
        if !health.damage.is_empty() {
            let database = self.setting.store.join("backstory.db");
            let sessions = counted(health.sessions, "session");
            self.wrong.push(format!(
                "{} is damaged as said above; {sessions} can still be listed; {REBUILD}",
                database.display()
            ));
        }
        self.wrong.extend(
            health
                .orphans
                .iter()
                .map(|(kind, count)| format!("{kind}: {}; {RESTORE}", grouped(*count))),
        );
        self.health = Some(health);
        let index = memory.search().index_health()?;
        if let Some(damage) = &index.damage {
            self.wrong
                .push(format!("{damage}; the next sweep makes it anew"));
        }
        self.index = Some(index);
        if let Some(model) = &self.setting.config.model {
            if !memory.models().list().iter().any(|(name, _)| name == model) {
                self.wrong
                    .push(format!("the model {model} is in use but not here"));
            }
            self.model = Some((model.clone(), memory.models().embedding_state(model)?));
        }
        self.disk_bytes = memory.upkeep().disk_bytes();
        self.unread = memory.upkeep().unread_logs()?;
        self.skipped = memory.upkeep().skipped(arguments.limit)?;
        Ok(())
    }

    /// Names files of the pattern catalogue that other commands refuse.
    fn examine_catalogue(&mut self) {
        let folder = self.setting.catalogue();
        let problems = match Catalogue::load(&folder) {
            Ok(catalogue) => catalogue.problems().to_vec(),
            Err(error) => return self.wrong.push(error.to_string()),
        };
        for problem in problems {
            let path = problem.path.display().to_string();
            let remedy = file_remedy(&problem.reason, &path, "mend or remove the file");
            self.wrong.push(format!(
                "{path} of the pattern catalogue is not read: {}; {remedy}",
                problem.reason
            ));
        }
    }

    /// Verifies checksums; damage is noted for the next sweep.
    fn verify(&mut self, memory: &Memory, deep: bool) -> Result<(), backstory_memory::Error> {
        let verification = memory.upkeep().verify_store(deep)?;
        memory.upkeep().note_damage(&verification.damage);
        for damage in &verification.damage {
            let remedy = if memory.upkeep().can_be_read_again(damage) {
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
            && let Err(error) = memory.models().verify_vectors(model)
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
        let deletions = self.deletions.iter().map(|deletion| {
            json!({"agent": deletion.agent.name, "days": deletion.days, "days_left": self.days_left(deletion)})
        });
        let skipped = self.skipped.iter().map(|row| {
            let reason = without_position(&row.reason).to_string();
            SkippedRow {
                reason,
                ..row.clone()
            }
        });
        let unread = self.unread.iter().map(
            |log| json!({"path": log.path, "reason": log.reason, "since": rfc3339(Some(log.since))}),
        );
        let health = self.health.as_ref().map(|health| {
            let mut health = json!(health);
            health["disk_bytes"] = self.disk_bytes.into();
            health
        });
        let mut answer = json!({
            "ok": self.wrong.is_empty(),
            "wrong": self.wrong,
            "config": self.setting.config_path,
            "store": { "path": self.setting.store, "health": health, "problem": self.store_problem },
            "checksums": self.verification,
            "index": self.index,
            "model": self.model.as_ref().map(|(name, state)| {
                json!({"name": name, "embedded": state.embedded, "pending": state.pending()})
            }),
            "roots": roots.collect::<Vec<_>>(),
            "agents": self.retention.agents,
            "unkept": self.retention.unkept,
            "days_left": self.urgent_deletions().map(|(_, days)| days).min(),
            "deletions": deletions.collect::<Vec<_>>(),
            "skipped": skipped.collect::<Vec<_>>(),
            "unread": unread.collect::<Vec<_>>(),
            "capture": self.capturing.json(),
        });
        // Older versions knew of one agent that deletes logs, and called its days so.
        for deletion in &self.deletions {
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
            self.skipped.iter().partition(is_there);
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
        for found in &self.retention.agents {
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
        let mut deletions = self.urgent_deletions().peekable();
        if deletions.peek().is_some() {
            let count = self.retention.unkept.len() as u64;
            let verb = if count == 1 { "has" } else { "have" };
            let unkept = counted(count, "file");
            writeln!(
                out,
                "  {YELLOW}{unkept} {verb} something that is not stored yet{YELLOW:#}; `backstory sweep` imports it"
            )?;
        }
        for (deletion, days) in deletions {
            let verb = if days == 1 { "is" } else { "are" };
            writeln!(
                out,
                "  {} deletes logs after {}: {} {verb} left for the oldest one",
                deletion.agent.title,
                counted(deletion.days, "day"),
                counted(days.max(0).unsigned_abs(), "day"),
            )?;
        }
        writeln!(
            out,
            "{BOLD}Store{BOLD:#}\n  {}",
            self.setting.store.display()
        )?;
        match (&self.health, &self.store_problem) {
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
                    short_bytes(self.disk_bytes),
                )?;
                let unread = match self.unread.len() {
                    0 => String::new(),
                    1 => ", and 1 log was not read, or only in part".to_string(),
                    many => format!(", and {many} logs were not read, or only in part"),
                };
                let records = counted(health.skipped_records, "record");
                writeln!(out, "  {records} could not be read{unread}")?;
                self.print_skipped(&mut out)?;
            }
        }
        if let Some(found) = &self.verification {
            let verified = counted(found.verified, "checksum");
            writeln!(out, "  {verified} verified")?;
        }
        if let Some(index) = &self.index {
            writeln!(
                out,
                "  index of {}, {} searched beside it",
                short_bytes(index.bytes),
                counted(index.fresh, "event")
            )?;
        }
        if let Some((name, state)) = &self.model {
            let pending = counted(state.pending(), "event");
            writeln!(out, "  model {name}, {pending} without vectors")?;
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

/// Returns what is wrong with a store that cannot be read, what of it can be, and what to do.
fn store_problem(setting: &Setting, error: backstory_memory::Error, read: &str) -> String {
    use backstory_memory::StoreError;
    let database = setting.store.join("backstory.db");
    let backstory_memory::Error::Store(refused) = &error else {
        return Error::from(error).with_hints();
    };
    match refused {
        StoreError::Damaged(reason) => {
            format!(
                "{} is damaged: {reason}; {read}; {REBUILD}",
                database.display()
            )
        }
        StoreError::Database(reason) => format!(
            "{} cannot be read: {reason}; stop other processes that use it and run this again; copy the folder of the store \
             before you change anything in it",
            database.display()
        ),
        StoreError::Lost { .. } => format!("{error}; {read}; {REBUILD}"),
        StoreError::WrongType { path, .. } if *path == database => {
            format!("{error}; {read}; {REBUILD}")
        }
        StoreError::NotPrivate { .. }
        | StoreError::TooNew { .. }
        | StoreError::Full
        | StoreError::WrongType { .. } => Error::from(error).with_hints(),
        // Their hint is to run this command.
        _ => error.to_string(),
    }
}

/// Returns whether a database that was never laid out lies beside an index that was made from it. Until the journal is moved, all
/// that was stored lies in there.
fn has_lost_tables(setting: &Setting) -> bool {
    let database = std::fs::metadata(setting.store.join("backstory.db"));
    let index = std::fs::read_dir(setting.store.join("index"));
    database.is_ok_and(|database| database.len() > 0)
        && index.is_ok_and(|mut entries| entries.next().is_some())
}

/// Returns what to do about a file that was refused.
fn file_remedy(reason: &str, path: &str, otherwise: &str) -> String {
    match reason.contains("others can write it") {
        true => format!("chmod go-w {}", shell::quoted(path)),
        false => otherwise.to_string(),
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

//! Examination of everything that the memory depends on: the store, the agents' logs, their hooks, the pattern catalogue. Findings say
//! what is wrong; the rest of it is examined all the same.

mod hooks;

use std::path::{Path, PathBuf};

use backstory_agents::Places;
use backstory_event::TimeMs;
use backstory_store::{
    Damage, DamagedPiece, Health, ItemState, SessionFilter, SkippedRow, Verification,
};

use crate::Memory;
use crate::capture::Spool;
use crate::error::{Error, Result};
use crate::import::discover::{Problem, Sources};
use crate::import::unread::UnreadLog;
use crate::models::EmbeddingState;
use crate::patterns::Catalogue;
use crate::search::IndexHealth;
use crate::setup::SetupOptions;
use crate::trusted::check_store_folder;
use crate::upkeep::agent_logs::{KeptLogs, LogDeletion};

pub use self::hooks::{AgentHooks, HookStatus};

/// Number of days before the deletion of a log that is not kept from which on something is wrong.
const URGENT_DAYS: i64 = 3;

/// Options of an examination.
pub struct ExamineOptions<'a> {
    /// Sources of logs.
    pub sources: &'a Sources,
    /// The agents' own folders.
    pub places: &'a Places<'a>,
    /// The program that hooks are to call, as a shell reads it; hooks are only examined if it is known.
    pub program: Option<&'a str>,
    /// Where captures wait that could not be stored.
    pub spool: &'a Spool,
    /// The folder with decisions about patterns.
    pub catalogue: &'a Path,
    /// The embedding model that searches use.
    pub model: Option<&'a str>,
    /// True to verify everything that is stored, not a sample.
    pub deep: bool,
    /// Maximum number of records that could not be read; 0 is no limit.
    pub limit: usize,
    /// Current time.
    pub now: TimeMs,
}

/// Something that is wrong.
#[derive(Debug)]
pub enum Finding {
    /// The database has no tables any more, but the index was made from some.
    LostTables,
    /// The store cannot be opened or read. The number is that of the sessions that can still be listed, if any can.
    UnreadableStore(Error, Option<usize>),
    /// Something stored does not fit its checksum.
    Damage(Damage, Repair),
    /// The vectors of the model are damaged.
    DamagedVectors(Error),
    /// A complaint of SQLite's own check.
    DamagedDatabase(String),
    /// SQLite's own check complains; the number is that of the sessions that can still be listed.
    PartlyReadable(u64),
    /// Rows that point nowhere, by kind.
    Orphans(String, u64),
    /// The full-text index is damaged.
    DamagedIndex(String),
    /// The model that searches use is not installed.
    MissingModel(String),
    /// Others can enter the store's folder.
    NotPrivate(String),
    /// The pattern catalogue cannot be read.
    UnreadableCatalogue(Error),
    /// A file of the pattern catalogue is not read.
    RefusedPattern(Problem),
    /// The file with an agent's hooks cannot be read.
    UnreadableHooks {
        /// The agent.
        agent: &'static str,
        /// The file.
        file: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A spool, a capture or a log that is not trusted or cannot be read.
    RefusedCapture(Problem),
    /// Number of queue items that failed.
    FailedItems(u64),
    /// A log that was not read, or only in part.
    UnreadLog(UnreadLog),
    /// A file or folder of logs that cannot be looked at.
    UnreadableSource(Problem),
    /// An agent deletes a log that is not kept in so many days.
    UrgentDeletion(LogDeletion, i64),
    /// The examination could not go on.
    Failed(Error),
}

impl Finding {
    /// Returns whether the store cannot be read because of this.
    pub fn is_of_store(&self) -> bool {
        matches!(self, Finding::LostTables | Finding::UnreadableStore(..))
    }
}

/// Repair of a damaged piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repair {
    /// The next sweep reads it again from the agent's log.
    NextSweep,
    /// New keys; what was forgotten can come back then.
    NewKeys,
    /// The next sweep makes it anew.
    Recreated,
    /// Only a backup.
    Backup,
}

/// Result of an examination; parts that could not be examined are empty.
#[derive(Debug, Default)]
pub struct Examination {
    /// Everything wrong.
    pub findings: Vec<Finding>,
    /// State of the database.
    pub health: Option<Health>,
    /// Checksums that were verified.
    pub verification: Option<Verification>,
    /// State of the full-text index.
    pub index: Option<IndexHealth>,
    /// State of the model's vectors.
    pub vectors: Option<EmbeddingState>,
    /// Bytes that the store takes on disk.
    pub disk_bytes: u64,
    /// Records that could not be read.
    pub skipped: Vec<SkippedRow>,
    /// Logs that were not read, or only in part.
    pub unread: Vec<UnreadLog>,
    /// The logs in the agents' folders compared with what is stored.
    pub kept_logs: KeptLogs,
    /// Agents that delete their logs, with the days that are left for the oldest log that is not kept.
    pub deletions: Vec<(LogDeletion, Option<i64>)>,
    /// Hooks of each agent.
    pub hooks: Vec<AgentHooks>,
    /// Queue items in each state, in the order of [`ItemState::ALL`](crate::capture::ItemState::ALL).
    pub items: Option<[u64; 5]>,
    /// Number of captures that wait in the spool.
    pub spooled: usize,
    /// Spools, captures and logs that are not trusted, and captures that could not be written or read.
    pub refused: Vec<Problem>,
}

impl Examination {
    /// Examines the store in a folder and everything around it. Damage is noted for the next sweep.
    pub fn of_store(home: &Path, options: &ExamineOptions<'_>) -> Self {
        let deletions = LogDeletion::all(options.places).into_iter();
        let mut found = Examination {
            deletions: deletions.map(|deletion| (deletion, None)).collect(),
            ..Examination::default()
        };
        found.examine(home, options);
        found
    }

    /// Returns why the store cannot be read, if it cannot.
    pub fn store_problem(&self) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.is_of_store())
    }

    /// Returns agents that delete logs which are not kept yet, and the days that are left for the first.
    pub fn pending_deletions(&self) -> impl Iterator<Item = (LogDeletion, i64)> {
        let deletions = self.deletions.iter();
        let deletions = deletions.filter(|_| self.store_problem().is_none());
        deletions.filter_map(|(deletion, days)| Some((*deletion, (*days)?)))
    }

    fn examine(&mut self, home: &Path, options: &ExamineOptions<'_>) {
        let memory = self.open(home);
        if let Some(memory) = &memory
            && let Err(error) = self.examine_store(memory, options)
        {
            let sessions = memory.sessions().list(&SessionFilter::default());
            let count = sessions.ok().map(|sessions| sessions.len());
            self.findings.push(Finding::UnreadableStore(error, count));
        }
        let memory = memory.filter(|_| self.store_problem().is_none());
        if let Err(reason) = check_store_folder(home)
            && self.store_problem().is_none()
        {
            self.findings.push(Finding::NotPrivate(reason));
        }
        self.examine_catalogue(options.catalogue);
        self.examine_capture(memory.as_ref(), options);
        let kept_logs = KeptLogs::compare(memory.as_ref(), home, options.sources);
        self.kept_logs = self.or_failed(kept_logs).unwrap_or_default();
        for (deletion, days_left) in &mut self.deletions {
            let mut agents = self.kept_logs.agents.iter();
            let of_agent = agents.find(|found| found.agent == deletion.agent.name);
            let oldest = of_agent.and_then(|found| found.oldest_unkept_at);
            *days_left = oldest.map(|oldest| deletion.days_left(oldest, options.now));
        }
        let unread = self.unread.iter().cloned().map(Finding::UnreadLog);
        self.findings.extend(unread);
        let problems = self.kept_logs.problems.iter();
        let is_new = |problem: &&Problem| self.unread.iter().all(|log| log.path != problem.path);
        let problems = problems.filter(is_new).cloned();
        self.findings
            .extend(problems.map(Finding::UnreadableSource));
        let urgent = self.pending_deletions();
        let urgent: Vec<Finding> = urgent
            .filter(|(_, days)| *days <= URGENT_DAYS)
            .map(|(deletion, days)| Finding::UrgentDeletion(deletion, days))
            .collect();
        self.findings.extend(urgent);
    }

    /// Returns what was examined; a failure is a finding.
    fn or_failed<T>(&mut self, examined: Result<T>) -> Option<T> {
        let failed = |error| self.findings.push(Finding::Failed(error));
        examined.map_err(failed).ok()
    }

    fn open(&mut self, home: &Path) -> Option<Memory> {
        match Memory::open_existing(home) {
            Ok(None) if has_lost_tables(home) => self.findings.push(Finding::LostTables),
            Ok(memory) => return memory,
            Err(error) => self.findings.push(Finding::UnreadableStore(error, None)),
        }
        None
    }

    /// Examines what is in the store.
    fn examine_store(&mut self, memory: &Memory, options: &ExamineOptions<'_>) -> Result<()> {
        let health = match options.deep {
            true => memory.upkeep().thorough_health()?,
            false => memory.upkeep().health()?,
        };
        self.verify(memory, options)?;
        let damage = health.damage.iter().cloned();
        self.findings.extend(damage.map(Finding::DamagedDatabase));
        if !health.damage.is_empty() {
            let finding = Finding::PartlyReadable(health.sessions);
            self.findings.push(finding);
        }
        let orphans = health.orphans.iter().cloned();
        let orphans = orphans.map(|(kind, count)| Finding::Orphans(kind, count));
        self.findings.extend(orphans);
        self.health = Some(health);
        let index = memory.search().index_health()?;
        let damage = index.damage.clone();
        self.findings.extend(damage.map(Finding::DamagedIndex));
        self.index = Some(index);
        if let Some(model) = options.model {
            if !memory.models().list().iter().any(|(name, _)| name == model) {
                self.findings.push(Finding::MissingModel(model.to_string()));
            }
            self.vectors = Some(memory.models().embedding_state(model)?);
        }
        self.disk_bytes = memory.upkeep().disk_bytes();
        self.unread = memory.upkeep().unread_logs()?;
        self.skipped = memory.upkeep().skipped(options.limit)?;
        Ok(())
    }

    /// Verifies checksums.
    fn verify(&mut self, memory: &Memory, options: &ExamineOptions<'_>) -> Result<()> {
        let verification = memory.upkeep().verify_store(options.deep)?;
        memory.upkeep().note_damage(&verification.damage);
        for damage in &verification.damage {
            let repair = if memory.upkeep().can_be_read_again(damage) {
                Repair::NextSweep
            } else if damage.is_of_forgetting() {
                Repair::NewKeys
            } else if matches!(damage.piece, DamagedPiece::Setting(_)) {
                Repair::Recreated
            } else {
                Repair::Backup
            };
            self.findings.push(Finding::Damage(damage.clone(), repair));
        }
        if options.deep
            && let Some(model) = options.model
            && let Err(error) = memory.models().verify_vectors(model)
        {
            self.findings.push(Finding::DamagedVectors(error));
        }
        self.verification = Some(verification);
        Ok(())
    }

    /// Names files of the pattern catalogue that other commands refuse.
    fn examine_catalogue(&mut self, folder: &Path) {
        match Catalogue::load(folder) {
            Ok(catalogue) => {
                let problems = catalogue.problems().iter().cloned();
                self.findings.extend(problems.map(Finding::RefusedPattern));
            }
            Err(error) => self.findings.push(Finding::UnreadableCatalogue(error)),
        }
    }

    /// Examines hooks and what they captured.
    fn examine_capture(&mut self, memory: Option<&Memory>, options: &ExamineOptions<'_>) {
        if let Some(program) = options.program {
            self.hooks = hooks::agent_hooks(&SetupOptions {
                places: options.places,
                project: None,
                program,
                dry_run: true,
            });
        }
        self.spooled = options.spool.len();
        if let Some(memory) = memory {
            let runs = self.or_failed(memory.upkeep().logged_runs());
            hooks::add_runs(&mut self.hooks, runs.unwrap_or_default());
            self.items = self.or_failed(memory.captures().item_counts());
            let refused = self.or_failed(memory.captures().refused_logs());
            self.refused = refused.unwrap_or_default();
        }
        let unreadable = self.hooks.iter().filter_map(AgentHooks::finding);
        self.findings.extend(unreadable);
        self.refused.extend(options.spool.problems());
        let refused = self.refused.iter().cloned();
        self.findings.extend(refused.map(Finding::RefusedCapture));
        let failed = self
            .items
            .map_or(0, |items| items[ItemState::Failed as usize]);
        if failed > 0 {
            self.findings.push(Finding::FailedItems(failed));
        }
    }
}

/// Returns whether a database that was never laid out lies beside an index that was made from it. Until the journal is moved, all
/// that was stored lies in there.
fn has_lost_tables(home: &Path) -> bool {
    let database = std::fs::metadata(home.join("backstory.db"));
    let index = std::fs::read_dir(home.join("index"));
    database.is_ok_and(|database| database.len() > 0)
        && index.is_ok_and(|mut entries| entries.next().is_some())
}

//! What Backstory can do, as a library.
//!
//! Open a [`Memory`] in a folder, [`sweep`](Memory::sweep) the logs of coding agents into it, and read sessions back, byte for
//! byte if need be, long after the agents have deleted them:
//!
//! ```no_run
//! use backstory_memory::{Memory, SessionFilter, Sources, SweepOptions};
//!
//! # fn main() -> backstory_memory::Result<()> {
//! let mut memory = Memory::open("/tmp/my-memory".as_ref())?;
//! let options = SweepOptions::new(Sources::paths(["/home/ada/.claude/projects"]));
//! let report = memory.sweep(&options, &mut |_| {})?;
//! assert_eq!(memory.sweep(&options, &mut |_| {})?.ingested, 0);
//! println!("{} files, {} events", report.ingested, report.events);
//!
//! let sessions = memory.sessions(&SessionFilter { limit: 10, ..SessionFilter::default() })?;
//! if let Some(session) = sessions.first() {
//!     for event in memory.tail(session, 20)? {
//!         println!("{} {}", event.event.kind.name(), event.text());
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Nothing here prints, reads the environment or looks at the clock.

mod blame;
mod capture;
mod code;
mod compress;
mod context;
mod derive;
mod digest;
mod discover;
mod error;
mod event_log;
mod forget;
mod git;
mod hidden;
mod import;
mod log_memory;
mod models;
mod observe;
mod path_text;
mod patterns;
mod pipeline;
mod place;
mod project;
mod random;
mod read;
mod redaction;
mod repair;
mod replay;
mod retain;
mod retention;
mod search;
mod setup;
mod sweep;
mod sweep_log;
mod temporary;
mod text;
mod tokens;
#[cfg(test)]
mod trial;
pub mod trusted;
mod unread;
mod usage;
mod whole;

use std::path::{Path, PathBuf};

use backstory_store::Store;

pub use backstory_agents::hook;
pub use backstory_agents::{AGENTS, Agent, ContextLimits, HookAgent, LogAgent, Places};
pub use backstory_code::{
    Call, LANGUAGES, Language, Outline, Resolution, Skipped, Symbol, SymbolChangeKind, SymbolKind,
    UnresolvedReason,
};
pub use backstory_embed::{Description, Family, Imported, hub};
pub use backstory_event::{
    AgentName, Event, EventBody, EventView, FileId, Identity, Image, Kind, Marks, Origin,
    ProjectId, Seq, SessionId, SessionName, StreamId, TimeMs, ToolClass, TurnContext, TurnNo,
    Usage,
};
pub use backstory_store::{
    AnswerRows, CallRow, Captured, Damage, DamagedPiece, Error as StoreError, EventRange,
    FunctionRow, Health, Item, ItemFilter, ItemKind, ItemState, LoggedRun, MetCap, MetaEquals,
    ResponseUsage, SessionFilter, SessionHead, SessionRow, SkippedRow, Spending, SpendingCaps,
    StreamRow, Tier, Verification, View, try_lock_file,
};
pub use blame::{Blame, BlamedLine, BlamedTurn};
pub use capture::{Capture, DrainLimits, DrainReport, Spool, WorkReport, omitted_bytes};
pub use code::{
    CallEdge, CallGraph, ChangeFilter, ChangedSymbol, CodeRowFilter, FileScan, FileState,
    FileSymbols, LifeEvent, MissingFile, RunCall, SeenFile, SnapshotSource, SourceFolder,
    SourceOutline, StoredFiles, SymbolLife, SymbolPlace, TurnChanges, call_graph, last_name,
    repository_around, scan_file, scan_folder,
};
pub use compress::{
    Better, CompressOptions, CompressProgress, CompressReport, CompressScope, CompressState,
    DryCompress, Evaluation, ModelScores, TierScores,
};
pub use context::{
    Context, ContextOptions, ContextTrial, Layer, LayerTokens, Occasion, Shares, Surroundings,
};
pub use digest::{Digest, FileChange, Outcome, Statement};
pub use discover::{Found, Problem, ProvidedLog, Sources};
pub use error::{Error, Result};
pub use event_log::{
    EventType, LogEvent, MAX_REMEMBERED_HITS, OpenedHit, log_event, log_events, opened_hit,
};
pub use forget::{
    Forget, ForgetPlace, ForgetPlaces, ForgetPlan, ForgetReport, Leftover, Proof, ResumedForget,
    RewrittenFile,
};
pub use git::{find_program, worktree_root};
pub use hidden::{escape_json, harmless, is_hidden, one_line};
pub use log_memory::{LogMemory, read_logs};
pub use observe::{
    ChangedFunction, Endpoint, FunctionChange, Observation, ObservationKind, ObservationScore,
    Price, Retry, SessionSummary, Sizes, ToolUse,
};
pub use path_text::{container_of_log, file_of_log};
pub use patterns::{
    Catalogue, Change, Entry, Evidence, MeasuredSession, Measurement, Pattern, PatternFilter,
    PatternKind, Publication, Published, Seen, Share, Status, Unpublished, Verdict, find_pattern,
    measure, publish, unpublish,
};
pub use project::project_root;
pub use random::random_key;
pub use read::{
    Artifact, EventRecord, Events, LogPlace, MessageRecord, Messages, ServerTools, Session,
    SessionStatus, StoredLog, Turn, TurnAction, TurnInputs, TurnReplies, TurnTelemetry,
    UsageRecord,
};
pub use redaction::redact_name;
pub use retain::{Caps, Eviction, Pass, RetainOptions, RetainReport};
pub use retention::{AgentFiles, LogDeletion, Retention, log_deletions, retention};
pub use search::{
    Answer, Atom, CONFIDENT, Clause, EmbeddingState, FIELDS, Hit, IndexHealth, IndexReport, Mode,
    Query, RetrievalScore, RetrievalSummary, ScoredQuery, SearchFilter, SearchOptions, Snippet,
    TextEmbedder, TextVectors,
};
pub use setup::{
    PluginInstall, PluginOutcome, PluginRefused, SetupOptions, SetupOutcome, SetupStatus,
    make_plugin, set_up, tear_down,
};
pub use sweep::{Progress, SweepOptions, SweepReport, dry_sweep};
pub use sweep_log::SweepPass;
pub use temporary::TemporaryFolder;
pub use text::rfc3339;
pub use tokens::count_tokens;
pub use unread::UnreadLog;
pub use usage::{UsageBy, UsageEntry, UsageTable};
pub use whole::{write_private, write_whole};

/// The memory in one folder.
pub struct Memory {
    home: PathBuf,
    store: Store,
    /// Whether rows that were changed get checksums when this is dropped.
    sums_changes: bool,
    open_index: Option<search::OpenIndex>,
    open_model: Option<search::OpenModel>,
}

impl Memory {
    /// Opens the memory in a folder, making it if there is none.
    pub fn open(home: &Path) -> Result<Self> {
        let mut memory = Memory::of(home, Store::open(home)?);
        memory.sums_changes = true;
        Ok(memory)
    }

    /// Opens the memory in a folder only to read; `None` when there is none. Writes nothing at all.
    pub fn open_existing(home: &Path) -> Result<Option<Self>> {
        Ok(Store::open_existing(home)?.map(|store| Memory::of(home, store)))
    }

    /// Like [`Memory::open_existing`], for a short look that leaves even the files alone that readers share.
    pub fn open_untouched(home: &Path) -> Result<Option<Self>> {
        Ok(Store::open_untouched(home)?.map(|store| Memory::of(home, store)))
    }

    fn of(home: &Path, store: Store) -> Self {
        Memory {
            home: home.to_path_buf(),
            store,
            sums_changes: false,
            open_index: None,
            open_model: None,
        }
    }

    /// The folder.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Checks whether the store is sound.
    pub fn health(&self) -> Result<Health> {
        Ok(self.store.health()?)
    }

    /// Like [`Memory::health`], and compares every index of the database with its table.
    pub fn thorough_health(&self) -> Result<Health> {
        Ok(self.store.thorough_health()?)
    }

    /// Records that could not be read, those of the newest files first; 0 gives all.
    pub fn skipped(&self, limit: usize) -> Result<Vec<SkippedRow>> {
        Ok(self.store.skipped(limit)?)
    }

    /// Whether the user of this memory has been told something.
    pub fn was_told(&self, what: &str) -> Result<bool> {
        Ok(self.store.kept(&format!("told-{what}"))?.is_some())
    }

    /// Remembers that the user has been told something, so that it is said once.
    pub fn remember_told(&self, what: &str) -> Result<()> {
        Ok(self.store.keep(&format!("told-{what}"), b"yes")?)
    }

    /// What the store takes on disk.
    pub fn disk_bytes(&self) -> u64 {
        disk_bytes(&self.home)
    }
}

/// Whatever a command changed is covered by checksums when it ends, so that damage of it is noticed from then on. Not what hooks change:
/// they have no time.
impl Drop for Memory {
    fn drop(&mut self) {
        if self.sums_changes {
            // What is not summed now will be by the next sweep; `doctor` counts it.
            let _ = self.store.sum_own_changes();
        }
    }
}

/// What a store's files take on disk: the database, the full-text index and the vectors. Models are the user's choice and count apart.
fn disk_bytes(home: &Path) -> u64 {
    let database = ["backstory.db", "backstory.db-wal", "backstory.db-shm"];
    let database = database
        .iter()
        .filter_map(|name| std::fs::metadata(home.join(name)).ok());
    database.map(|metadata| metadata.len()).sum::<u64>()
        + search::index_bytes(home)
        + search::vector_bytes(home)
}

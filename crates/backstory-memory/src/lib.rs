//! The memory of coding agents, as a library.
//!
//! A [`Memory`] is a folder. It imports the logs that agents leave on disk and answers questions about them, long after the agents have
//! deleted the logs:
//!
//! ```no_run
//! use backstory_memory::{ImportOptions, Memory, Query, SearchOptions, SessionFilter, Sources};
//!
//! # fn main() -> backstory_memory::Result<()> {
//! let memory = Memory::open("/tmp/my-memory".as_ref())?;
//! let options = ImportOptions::new(Sources::paths(["/home/ada/.claude/projects"]));
//! let report = memory.import(&options, &mut |_progress| {})?;
//! println!("{} files, {} events", report.ingested, report.events);
//!
//! // Importing again reads only what is new.
//! assert_eq!(memory.import(&options, &mut |_| {})?.ingested, 0);
//!
//! let answer = memory.search().run(&Query::parse("flaky test"), &SearchOptions::default())?;
//! for hit in answer.hits {
//!     println!("{}#{}", hit.session.session, hit.turn);
//! }
//! for row in memory.sessions().list(&SessionFilter::default())? {
//!     let session = memory.sessions().open(row);
//!     for event in session.tail(5)? {
//!         println!("{} {}", event.event.kind.name(), event.text());
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Getting data in
//!
//! [`Memory::import`] reads logs and derives everything from them: full text, digests, code history, calls in stack traces.
//! [`Captures`] stores what hooks receive while a session runs; [`Memory::catch_up`] works off what they left, and completes vectors.
//! [`read_logs`] reads logs without a memory that lasts.
//!
//! # Getting answers
//!
//! A handle of the memory answers each kind of question:
//!
//! | handle | answers |
//! |---|---|
//! | [`Memory::sessions`] | lists of sessions; a [`Session`] has events, turns, digest, observations, and its logs as they are stored |
//! | [`Memory::search`] | turns by words, regular expressions, meaning, or a vector |
//! | [`Memory::code`] | who wrote a line; when a function changed; symbols and calls |
//! | [`Memory::usage`] | tokens by day, model, session, project |
//! | [`Memory::recall`] | what fixed an error, and commands that worked |
//! | [`Memory::patterns`] | problems and successes that recur |
//! | [`Memory::context`] | facts for the next session, within a budget of tokens |
//! | [`Memory::models`] | embedding models, their vectors |
//! | [`Memory::summaries`] | observations and summaries by a language model |
//! | [`Memory::captures`] | captured events, and the queue of work that they cause |
//! | [`Memory::digest_verdicts`] | people's verdicts about digests, and how well digests do by them |
//! | [`Memory::upkeep`] | checks, retention, forgetting |
//!
//! What a handle is asked and what it answers are types of the module where it is: [`search`] has the requests and hits of searches,
//! [`code`] the changes of functions. [`examine`] checks everything around a memory, also one that cannot be opened.
//!
//! Damaged rows are left out of an answer. [`WithDamage`](upkeep::WithDamage) names them: handles return it, or
//! [`Upkeep::with_damage`] adds it, to lists of sessions and events say.
//!
//! # Following it
//!
//! [`Memory::follow`] gives an [`EventSink`] all events that it lacks, so that files and copies elsewhere stay in step.
//!
//! A `Memory` can be sent to another thread; for several threads, open it in each ([`Memory::open_reader`]). Nothing here prints,
//! reads the environment or looks at the clock.

pub mod capture;
mod catch_up;
pub mod code;
pub mod context;
mod conventions;
mod derive;
pub mod digest;
mod error;
mod event_log;
pub mod examine;
mod git;
mod hidden;
mod import;
mod interval;
mod log_memory;
pub mod models;
pub mod observe;
mod path_text;
pub mod patterns;
mod place;
mod random;
pub mod read;
pub mod recall;
mod redaction;
pub mod search;
mod searchable_text;
mod serde_text;
pub mod setup;
pub mod summarize;
mod temporary;
mod text;
mod time_text;
#[cfg(test)]
mod trial;
pub mod trusted;
pub mod upkeep;
pub mod usage;
mod whole;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use backstory_store::Store;

pub use backstory_agents::hook;
pub use backstory_agents::{
    AGENTS, Agent, ContextLimits, HookAgent, LogAgent, LoggedResponse, Places, WrittenRecord,
};
pub use backstory_analysis::count_tokens;
pub use backstory_event::{
    AgentName, Event, EventBody, EventView, FileId, Identity, Image, Kind, Marks, Origin,
    ProjectId, Seq, SessionId, SessionName, StreamId, TimeMs, ToolClass, TurnContext, TurnNo,
    Usage,
};
pub use backstory_redact::Redactor;
pub use backstory_store::{
    Damage, Error as StoreError, EventRange, MetaEquals, ResponseUsage, SessionFilter, SessionHead,
    SessionRow, StreamRow, View, try_lock_file,
};
pub use capture::Captures;
pub use catch_up::{CatchUp, CatchUpReport};
pub use code::Code;
pub use context::ContextBuilder;
pub use derive::{EventSink, FollowReport};
pub use digest::DigestVerdicts;
pub use error::{Error, Result};
pub use event_log::{EventLog, EventType, LogEvent};
pub use git::{find_program, worktree_root};
pub use hidden::{escape_json, harmless, is_hidden, one_line};
pub use import::discover::{Found, Problem, ProvidedLog, Sources};
pub use import::project::project_root;
pub use import::sweep::{ImportOptions, ImportReport, Progress, dry_import};
pub use import::sweep_log::ImportPass;
pub use import::unread::UnreadLog;
pub use log_memory::{LogMemory, read_logs};
pub use models::{Models, TextEmbedder};
pub use path_text::{container_of_log, file_of_log};
pub use patterns::Patterns;
pub use random::random_key;
pub use read::{
    EventRecord, MessageRecord, Session, SessionStatus, Sessions, StoredLog, UsageRecord,
};
pub use recall::Recall;
pub use redaction::redact_name;
pub use search::{Mode, Query, Search, SearchOptions};
pub use summarize::Summaries;
pub use temporary::TemporaryFolder;
pub use text::rfc3339;
pub use time_text::parse_time;
pub use upkeep::{Caps, RetainOptions, Upkeep};
pub use usage::{UsageBy, UsageTables};
pub use whole::{write_private, write_whole};

/// The memory in one folder: imports logs, and gives out a handle for each kind of question.
pub struct Memory {
    home: PathBuf,
    store: Store,
    /// True if rows that were changed get checksums when this is dropped.
    sums_changes: bool,
    /// The full-text index as the last search opened it.
    open_index: RefCell<Option<search::OpenIndex>>,
    /// The embedding model as the last search opened it.
    open_model: RefCell<Option<search::OpenModel>>,
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

    /// Opens the memory in a folder, for those who cannot wait longer than this for other processes.
    pub fn open_within(home: &Path, wait: Duration) -> Result<Self> {
        Ok(Memory::of(home, Store::open_within(home, wait)?))
    }

    /// Opens the memory once more, to read it in another thread.
    pub fn open_reader(&self) -> Result<Option<Memory>> {
        let open_store = self.store.reader_opener();
        Ok(open_store(&self.home)?.map(|store| Memory::of(&self.home, store)))
    }

    /// Returns a redactor with the key of the store, so that the same secret has the same marker everywhere.
    pub fn store_redactor(&self) -> Result<Redactor> {
        Ok(Redactor::new(self.redaction_key()?))
    }

    fn of(home: &Path, store: Store) -> Self {
        Memory {
            home: home.to_path_buf(),
            store,
            sums_changes: false,
            open_index: RefCell::default(),
            open_model: RefCell::default(),
        }
    }

    /// The folder.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Returns the sessions.
    pub fn sessions(&self) -> Sessions<'_> {
        Sessions { memory: self }
    }

    /// Returns the search of turns.
    pub fn search(&self) -> Search<'_> {
        Search { memory: self }
    }

    /// Returns the history of source files.
    pub fn code(&self) -> Code<'_> {
        Code { memory: self }
    }

    /// Returns the tables of tokens.
    pub fn usage(&self) -> UsageTables<'_> {
        UsageTables { memory: self }
    }

    /// Returns what earlier sessions know of errors and commands.
    pub fn recall(&self) -> Recall<'_> {
        Recall { memory: self }
    }

    /// Returns what recurs across sessions.
    pub fn patterns(&self) -> Patterns<'_> {
        Patterns { memory: self }
    }

    /// Returns the builder of context for new sessions.
    pub fn context(&self) -> ContextBuilder<'_> {
        ContextBuilder { memory: self }
    }

    /// Returns what hooks captured.
    pub fn captures(&self) -> Captures<'_> {
        Captures { memory: self }
    }

    /// Returns the embedding models and their vectors.
    pub fn models(&self) -> Models<'_> {
        Models { memory: self }
    }

    /// Returns what language models write about sessions.
    pub fn summaries(&self) -> Summaries<'_> {
        Summaries { memory: self }
    }

    /// Returns the verdicts of people about digests.
    pub fn digest_verdicts(&self) -> DigestVerdicts<'_> {
        DigestVerdicts { memory: self }
    }

    /// Returns checks, retention and forgetting.
    pub fn upkeep(&self) -> Upkeep<'_> {
        Upkeep { memory: self }
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

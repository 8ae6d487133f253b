//! Source files that were parsed, for the event log.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use backstory_code::{Call, Outline, Resolution, SymbolChange, SymbolChangeKind};
use backstory_event::{SessionId, TimeMs};
use backstory_store::Store;

use super::files::SourceFile;
use super::teller::Fact;
use crate::error::Result;
use crate::event_log::{EventType, LogEvent};

/// Number of scans that one sweep logs, the last ones: a first sweep makes tens of thousands.
const MAX_LOGGED_SCANS: usize = 100;

/// What a session did to a source file, and what was found in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileScan {
    /// The session's row.
    pub(super) session: SessionId,
    /// The agent's own id of the session.
    pub session_id: Option<String>,
    /// Root of the project.
    pub project: String,
    /// Path in the project.
    pub file: String,
    /// Functions that it has.
    pub functions_found: u64,
    /// Functions that are new.
    pub new: u64,
    /// Functions that do something else, or have another name.
    pub modified: u64,
    /// Functions that are gone.
    pub deleted: u64,
    /// Calls in it, and how many of them are unresolved.
    pub calls: Option<(u64, u64)>,
    /// Whether it has errors that were not there before.
    pub is_broken: bool,
    /// How long it took, if it was looked at alone.
    pub duration: Option<Duration>,
}

impl FileScan {
    fn new(file: &SourceFile, session: SessionId) -> Self {
        FileScan {
            session,
            project: file.project.root.clone(),
            file: file.name.clone(),
            ..FileScan::default()
        }
    }

    fn see(&mut self, outline: &Outline) {
        let functions = outline.symbols.iter();
        let functions = functions.filter(|symbol| symbol.kind.is_function());
        self.functions_found = functions.count() as u64;
        self.calls = Some(count_calls(&outline.calls));
        self.is_broken = false;
    }

    fn count_changes(&mut self, symbols: &[SymbolChange]) {
        for symbol in symbols.iter().filter(|symbol| symbol.kind.is_function()) {
            match symbol.change {
                SymbolChangeKind::New => self.new += 1,
                SymbolChangeKind::Modified | SymbolChangeKind::Renamed => self.modified += 1,
                SymbolChangeKind::Deleted => self.deleted += 1,
            }
        }
    }

    /// The events of the log: the scan, and the call graph if it was made.
    pub fn events(&self, at: TimeMs) -> Vec<LogEvent> {
        let (edges, unresolved) = self.calls.unzip();
        let begin = |event_type| {
            let mut event = LogEvent::new(event_type, at)
                .in_session(self.session_id.as_deref())
                .with("project", self.project.as_str())
                .with("file", self.file.as_str());
            event.duration = self.duration;
            event
        };
        let broken = self.is_broken.then_some("it does not parse");
        let scan = begin(EventType::AstScan)
            .with("functions_found", self.functions_found)
            .with("new", self.new)
            .with("modified", self.modified)
            .with("deleted", self.deleted)
            .with("call_edges", edges)
            .with("unresolved_calls", unresolved)
            .failed(broken);
        let graph = edges.filter(|_| !self.is_broken).map(|edges| {
            begin(EventType::AstCallGraph)
                .with("edges", edges)
                .with("unresolved", unresolved)
        });
        std::iter::once(scan).chain(graph).collect()
    }
}

/// Returns the number of calls, and of those that are unresolved.
pub(super) fn count_calls(calls: &[Call]) -> (u64, u64) {
    let is_unresolved = |call: &&Call| call.resolution == Resolution::Unresolved;
    let unresolved = calls.iter().filter(is_unresolved).count();
    (calls.len() as u64, unresolved as u64)
}

/// Returns the files that were parsed, each once, in the order in which they were first changed.
pub(super) fn scans_of(session: SessionId, facts: &[Fact]) -> Vec<FileScan> {
    let mut places: HashMap<&SourceFile, usize> = HashMap::new();
    let mut scans: Vec<FileScan> = Vec::new();
    for fact in facts {
        let is_parsed = matches!(fact, Fact::Seen { .. } | Fact::Broken { .. });
        let place = match places.get(fact.file()) {
            Some(place) => *place,
            None if is_parsed => {
                places.insert(fact.file(), scans.len());
                scans.push(FileScan::new(fact.file(), session));
                scans.len() - 1
            }
            None => continue,
        };
        match fact {
            Fact::Seen { outline, .. } => scans[place].see(outline),
            Fact::Broken { .. } => scans[place].is_broken = true,
            Fact::Changed { symbols, .. } => scans[place].count_changes(symbols),
            Fact::Gone { .. } | Fact::Moved { .. } => {}
        }
    }
    scans
}

/// The last scans of a sweep, and how many there were.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScanLog {
    scans: VecDeque<FileScan>,
    total: u64,
}

impl ScanLog {
    pub(super) fn add(&mut self, session: SessionId, facts: &[Fact]) {
        let scans = scans_of(session, facts);
        self.total += scans.len() as u64;
        self.scans.extend(scans);
        let surplus = self.scans.len().saturating_sub(MAX_LOGGED_SCANS);
        self.scans.drain(..surplus);
    }

    /// Number of files that were parsed.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Returns the scans, with the ids of their sessions.
    pub(crate) fn named_scans(self, store: &Store) -> Result<Vec<FileScan>> {
        let rows: Vec<SessionId> = self.scans.iter().map(|scan| scan.session).collect();
        let heads = store.session_heads(rows)?;
        let named = self.scans.into_iter().map(|mut scan| {
            let head = heads.get(&scan.session);
            scan.session_id = head.map(|head| head.session.clone());
            scan
        });
        Ok(named.collect())
    }
}

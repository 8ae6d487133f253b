//! Edits of events that were just stored, kept until code history is made of them: reading them again would mean to decompress and parse.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use backstory_code::Language;
use backstory_event::{Change, FileEdit, HunkLine, Seq, SessionId};

use super::spill::{Place, SpillFile};

/// Maximum number of bytes of edits that are kept, all but the last in a temporary file. Those beyond are read from the store.
const MAX_FRESH_BYTES: u64 = 4 << 30;

/// Edits of source files, by event.
pub(crate) struct FreshEdits {
    sessions: HashMap<SessionId, SessionEdits>,
    packed: SpillFile,
    found: AtomicU64,
    read_back: AtomicU64,
}

/// Edits of a session's events from one on.
struct SessionEdits {
    from: Seq,
    to: Seq,
    edits: HashMap<Seq, Place>,
    /// Events whose edits there was no room for.
    left_out: HashSet<Seq>,
}

/// What is known of the edits of an event.
pub(super) enum KnownEdits {
    /// Those of source files. Other files may have been edited, too.
    Edits(Vec<FileEdit>),
    /// It edited nothing.
    Nothing,
    /// It must be read.
    Unknown,
}

/// Edits of one event as JSON.
pub(crate) struct PackedEdits(Vec<u8>);

impl PackedEdits {
    /// Packs those of an event's edits that are of source files; `None` when it edited nothing.
    pub(crate) fn of_source_files(edits: &[FileEdit]) -> Option<Self> {
        if edits.is_empty() {
            return None;
        }
        let is_source = |path: &str| Language::of_path(path.as_ref()).is_some();
        let of_source = edits.iter().filter(|edit| {
            is_source(&edit.path) || edit.moved_to.as_deref().is_some_and(is_source)
        });
        // Strings and numbers can always be written; without bytes the edits are read from the store.
        let packed = serde_json::to_vec(&of_source.collect::<Vec<_>>());
        Some(PackedEdits(packed.unwrap_or_default()))
    }
}

impl FreshEdits {
    /// Keeps edits for a store in this folder.
    pub(crate) fn new(home: PathBuf) -> Self {
        FreshEdits {
            sessions: HashMap::new(),
            packed: SpillFile::new(home, MAX_FRESH_BYTES),
            found: AtomicU64::new(0),
            read_back: AtomicU64::new(0),
        }
    }

    pub(crate) fn begin_session(&mut self, session: SessionId, from: Seq) {
        let edits = SessionEdits {
            from,
            to: from.previous(),
            edits: HashMap::new(),
            left_out: HashSet::new(),
        };
        self.sessions.insert(session, edits);
    }

    pub(crate) fn add_event(&mut self, session: SessionId, seq: Seq, edits: Option<PackedEdits>) {
        let Some(known) = self.sessions.get_mut(&session) else {
            return;
        };
        known.to = seq;
        let Some(PackedEdits(bytes)) = edits else {
            return;
        };
        // On a full disk there is no room either.
        match self.packed.append(&bytes) {
            Ok(Some(place)) => {
                known.edits.insert(seq, place);
            }
            Ok(None) | Err(_) => {
                known.left_out.insert(seq);
            }
        }
    }

    pub(crate) fn remove_session(&mut self, session: SessionId) {
        self.sessions.remove(&session);
    }

    /// Returns what is known of the edits of an event.
    pub(super) fn of_event(&self, session: SessionId, seq: Seq) -> KnownEdits {
        let known = self.known_edits(session, seq);
        let counter = match known {
            KnownEdits::Unknown => &self.read_back,
            KnownEdits::Edits(_) | KnownEdits::Nothing => &self.found,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        known
    }

    fn known_edits(&self, session: SessionId, seq: Seq) -> KnownEdits {
        let known = self.sessions.get(&session);
        let known = known.filter(|known| known.from <= seq && seq <= known.to);
        let Some(known) = known.filter(|known| !known.left_out.contains(&seq)) else {
            return KnownEdits::Unknown;
        };
        let Some(place) = known.edits.get(&seq) else {
            return KnownEdits::Nothing;
        };
        let bytes = self.packed.read(*place).ok();
        let edits = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        edits.map_or(KnownEdits::Unknown, KnownEdits::Edits)
    }

    /// Returns how many events were found here, and how many had to be read back.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (count(&self.found), count(&self.read_back))
    }
}

/// Returns the bytes of text that an edit names.
pub(crate) fn edited_bytes(edit: &FileEdit) -> usize {
    let change = match &edit.change {
        Change::Written(text) => text.len(),
        Change::Deleted => 0,
        Change::Hunks(hunks) => hunks
            .iter()
            .flat_map(|hunk| &hunk.lines)
            .map(|line| match line {
                HunkLine::Kept(line) | HunkLine::Removed(line) | HunkLine::Added(line) => {
                    line.len() + 1
                }
            })
            .sum(),
        Change::Strings(strings) => strings
            .iter()
            .map(|string| string.old.len() + string.new.len())
            .sum(),
    };
    change + edit.before.as_ref().map_or(0, String::len)
}

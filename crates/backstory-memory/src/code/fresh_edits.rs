//! Edits of events that were just stored, kept until code history is made of them: reading them again would mean to decompress and parse.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};

use backstory_code::Language;
use backstory_event::{Change, FileEdit, HunkLine, Seq, SessionId};

/// Bytes of edits that are kept. Those beyond are read from the store.
const MAX_FRESH_BYTES: usize = 32 << 20;

/// Edits of source files, by event.
#[derive(Default)]
pub(crate) struct FreshEdits {
    sessions: HashMap<SessionId, SessionEdits>,
    bytes: usize,
    found: AtomicU64,
    read_back: AtomicU64,
}

/// Edits of a session's events from one on.
struct SessionEdits {
    from: Seq,
    to: Seq,
    edits: HashMap<Seq, Vec<FileEdit>>,
    /// Events whose edits there was no room for.
    left_out: HashSet<Seq>,
}

/// What is known of the edits of an event.
pub(super) enum KnownEdits<'e> {
    /// Those of source files. Other files may have been edited, too.
    Edits(&'e [FileEdit]),
    /// It edited nothing.
    Nothing,
    /// It must be read.
    Unknown,
}

/// Returns those of an event's edits that are of source files; `None` when it edited nothing.
pub(crate) fn source_edits(edits: &[FileEdit]) -> Option<Vec<FileEdit>> {
    if edits.is_empty() {
        return None;
    }
    let is_source = |path: &str| Language::of_path(path.as_ref()).is_some();
    let of_source = edits
        .iter()
        .filter(|edit| is_source(&edit.path) || edit.moved_to.as_deref().is_some_and(is_source));
    Some(of_source.cloned().collect())
}

impl FreshEdits {
    pub(crate) fn begin_session(&mut self, session: SessionId, from: Seq) {
        self.remove_session(session);
        let edits = SessionEdits {
            from,
            to: from.previous(),
            edits: HashMap::new(),
            left_out: HashSet::new(),
        };
        self.sessions.insert(session, edits);
    }

    pub(crate) fn add_event(&mut self, session: SessionId, seq: Seq, edits: Option<Vec<FileEdit>>) {
        let Some(known) = self.sessions.get_mut(&session) else {
            return;
        };
        known.to = seq;
        let Some(edits) = edits else { return };
        let bytes: usize = edits.iter().map(edited_bytes).sum();
        if self.bytes + bytes > MAX_FRESH_BYTES {
            known.left_out.insert(seq);
            return;
        }
        self.bytes += bytes;
        known.edits.insert(seq, edits);
    }

    pub(crate) fn remove_session(&mut self, session: SessionId) {
        if let Some(removed) = self.sessions.remove(&session) {
            let edits = removed.edits.values().flatten();
            self.bytes -= edits.map(edited_bytes).sum::<usize>();
        }
    }

    /// Returns what is known of the edits of an event.
    pub(super) fn of_event(&self, session: SessionId, seq: Seq) -> KnownEdits<'_> {
        let known = self.sessions.get(&session);
        let known = known.filter(|known| known.from <= seq && seq <= known.to);
        let Some(known) = known.filter(|known| !known.left_out.contains(&seq)) else {
            self.read_back.fetch_add(1, Ordering::Relaxed);
            return KnownEdits::Unknown;
        };
        self.found.fetch_add(1, Ordering::Relaxed);
        match known.edits.get(&seq) {
            Some(edits) => KnownEdits::Edits(edits),
            None => KnownEdits::Nothing,
        }
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

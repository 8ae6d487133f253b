//! What goes into a batch, and what is told of it afterwards.

use std::collections::{BTreeSet, HashMap};

use backstory_event::{Event, Output, Seq, SessionId, StreamId, TurnNo};

use super::rewrite::Rewrite;
use crate::blocks::Packed;
use crate::sources::Cursor;

/// A piece of a source file, read and packed, with the cursor behind it.
#[derive(Debug)]
pub struct Chunk<'a> {
    /// The agent that wrote the file.
    pub agent: &'static str,
    /// The file.
    pub path: &'a str,
    /// Whether this is the first piece of a file or of a new generation of it: a stream begins.
    pub begins: bool,
    /// Whether the file is one document that its agent writes anew each time.
    pub rewritten: bool,
    /// Where reading goes on; `source` and `stream` are filled in here when the chunk begins a stream.
    pub cursor: Cursor,
    /// Number of newlines of the file before this piece.
    pub first_line: u64,
    /// The stored bytes; `None` when only the cursor moves.
    pub packed: Option<Packed>,
    /// What the reader understood.
    pub output: Output,
    /// The project of each folder that the output's facts name.
    pub projects: HashMap<String, Project>,
    /// How many secrets were redacted.
    pub redactions: usize,
    /// Bytes of earlier pieces that this one showed to be part of a secret.
    pub rewrites: Vec<Rewrite>,
}

/// What identifies a project.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Project {
    /// The repository root, or the folder itself.
    pub root: String,
    /// The repository's remote, normalised.
    pub remote: Option<String>,
}

/// What a batch took in.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Counts {
    /// Events stored for the first time.
    pub events: u64,
    /// Events known already: replayed history.
    pub replayed: u64,
    /// Records that could not be read.
    pub skipped: u64,
}

/// What a batch took in, for those who would else have to read it again.
#[derive(Debug, Default)]
pub struct Taken {
    /// Counts of it.
    pub counts: Counts,
    /// The events that were stored, in their order within each session.
    pub events: Vec<Stored>,
    /// Sessions of which a stored event was lengthened.
    pub extended: BTreeSet<SessionId>,
}

/// An event and where it was stored.
#[derive(Debug)]
pub struct Stored {
    /// The session's row.
    pub session: SessionId,
    /// Its number within the session.
    pub seq: Seq,
    /// Its turn.
    pub turn: TurnNo,
    /// For a tool result, the seq of its call.
    pub call: Option<Seq>,
    /// The stream that it lies in.
    pub stream: StreamId,
    /// The event.
    pub event: Event,
}

//! Texts that go on from record to record, and from chunk to chunk: a secret may begin in one and end in another.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use backstory_agents::{SourceName, read_lines};
use backstory_event::{Fragment, Output};
use backstory_redact::Redactor;
use backstory_store::{Cursor, Rewrite, Store};

use crate::import::discover::Found;

/// Bytes of a text that are kept to be searched together with what follows. Tokens have at most 8 KiB, the largest private keys in use
/// less than that.
const MAX_OPEN_BYTES: usize = 16 << 10;

/// Bytes of a stream that are read again to know the texts that were open when it was last read: at most so many of one, and of all
/// files so many, but never fewer than the last figure.
const MAX_REREAD_BYTES: u64 = 2 << 20;
const MAX_REREAD_BYTES_OF_ALL: u64 = 64 << 20;
const MIN_REREAD_BYTES: u64 = 64 << 10;

/// The texts that are open, by channel.
#[derive(Default)]
pub(super) struct OpenTexts(BTreeMap<u8, OpenText>);

/// The end of a text: the insides of JSON strings, one behind the other.
#[derive(Default)]
struct OpenText {
    bytes: Vec<u8>,
    pieces: Vec<Piece>,
    /// Number of the bytes that were searched.
    searched: usize,
}

/// Where the inside of a string begins in the text, and where in the stored bytes.
struct Piece {
    at: usize,
    offset: u64,
}

/// Secrets that were overwritten.
#[derive(Default)]
pub(super) struct Overwritten {
    /// Number of secrets.
    pub(super) count: usize,
    /// The parts of the chunk that changed.
    pub(super) in_chunk: Vec<Range<u64>>,
    /// Bytes to be overwritten in earlier chunks.
    pub(super) earlier: Vec<Rewrite>,
}

/// The stored bytes at the end of a stream that hold all texts that are open there, and their place; `None` when none is open. The
/// bytes are kept until it is the file's turn among `files`.
pub(crate) fn stored_end(
    store: &Store,
    found: &Found,
    cursor: &Cursor,
    files: usize,
) -> Option<(u64, Vec<u8>)> {
    let since = found.reader.open_since(&cursor.state)?;
    let share = MAX_REREAD_BYTES_OF_ALL / files.max(1) as u64;
    let most = share.clamp(MIN_REREAD_BYTES, MAX_REREAD_BYTES);
    let from = since.max(cursor.stored.saturating_sub(most));
    let length = cursor.stored.checked_sub(from)?;
    // Without them a secret that goes on is not noticed, which is no reason not to read what is new.
    let bytes = store.bytes().read(cursor.stream, from, length).ok()?;
    Some((from, bytes))
}

impl OpenTexts {
    /// The texts that are open at the end of a stream.
    pub(super) fn at_end(found: &Found, (offset, bytes): &(u64, Vec<u8>)) -> Self {
        let source = SourceName {
            path: Path::new(&found.key),
        };
        let mut reading = found.reader.begin(&source, None);
        let mut output = Output::default();
        // Where the beginning was left out, half a record comes first and is skipped.
        read_lines(&mut *reading, bytes, *offset, 1, &mut output);
        let mut texts = OpenTexts::default();
        for fragment in &output.fragments {
            let text = texts.0.entry(fragment.channel).or_default();
            if fragment.begins {
                *text = OpenText::default();
            }
            text.add(fragment, *offset, bytes);
        }
        texts.close_chunk();
        texts
    }

    /// Overwrites what secrets go from fragment to fragment. `kept` are the bytes of the chunk, which begins at `start`.
    pub(super) fn redact(
        &mut self,
        redactor: &Redactor,
        fragments: &[Fragment],
        start: u64,
        kept: &mut Cow<'_, [u8]>,
    ) -> Overwritten {
        let mut overwritten = Overwritten::default();
        for fragment in fragments {
            let text = self.0.entry(fragment.channel).or_default();
            if fragment.begins {
                text.search(redactor, start, kept, &mut overwritten);
                *text = OpenText::default();
            }
            text.add(fragment, start, kept);
        }
        for text in self.0.values_mut() {
            text.search(redactor, start, kept, &mut overwritten);
        }
        self.close_chunk();
        overwritten.in_chunk.sort_by_key(|range| range.start);
        overwritten
    }

    fn close_chunk(&mut self) {
        for text in self.0.values_mut() {
            text.shorten();
        }
    }
}

impl OpenText {
    fn add(&mut self, fragment: &Fragment, start: u64, chunk: &[u8]) {
        let place = |at: u64| {
            at.checked_sub(start)
                .and_then(|at| usize::try_from(at).ok())
        };
        let (from, to) = (
            place(fragment.offset),
            place(fragment.offset + fragment.length),
        );
        let inside = from
            .zip(to)
            .and_then(|(from, to)| chunk.get(from..to))
            .filter(|inside| !inside.is_empty());
        if let Some(inside) = inside {
            self.pieces.push(Piece {
                at: self.bytes.len(),
                offset: fragment.offset,
            });
            self.bytes.extend_from_slice(inside);
        }
    }

    /// Searches the text if it goes over more than one string and something is new in it.
    fn search(
        &mut self,
        redactor: &Redactor,
        start: u64,
        kept: &mut Cow<'_, [u8]>,
        overwritten: &mut Overwritten,
    ) {
        if self.pieces.len() < 2 || self.searched == self.bytes.len() {
            return;
        }
        self.searched = self.bytes.len();
        let borders: Vec<usize> = self.pieces.iter().skip(1).map(|piece| piece.at).collect();
        let found = redactor.redact_joined(&mut self.bytes, &borders);
        overwritten.count += found.count;
        for range in found.ranges {
            self.spread(&range, start, kept, overwritten);
        }
    }

    /// Brings a part of the text that was overwritten to the places where it is stored.
    fn spread(
        &self,
        range: &Range<usize>,
        start: u64,
        kept: &mut Cow<'_, [u8]>,
        overwritten: &mut Overwritten,
    ) {
        let first = self
            .pieces
            .partition_point(|piece| piece.at <= range.start)
            .saturating_sub(1);
        let pieces = self.pieces.get(first..).unwrap_or_default();
        for (index, piece) in pieces.iter().enumerate() {
            if piece.at >= range.end {
                break;
            }
            let end = pieces
                .get(index + 1)
                .map_or(self.bytes.len(), |next| next.at);
            let part = range.start.max(piece.at)..range.end.min(end);
            let Some(bytes) = self.bytes.get(part.clone()) else {
                continue;
            };
            let offset = piece.offset + (part.start - piece.at) as u64;
            match offset.checked_sub(start) {
                Some(at) => {
                    let at = at as usize;
                    if let Some(place) = kept.to_mut().get_mut(at..at + bytes.len()) {
                        place.copy_from_slice(bytes);
                    }
                    overwritten
                        .in_chunk
                        .push(offset..offset + bytes.len() as u64);
                }
                None => overwritten.earlier.push(Rewrite {
                    offset,
                    bytes: bytes.to_vec(),
                }),
            }
        }
    }

    /// Leaves away what is too far from the end to matter.
    fn shorten(&mut self) {
        let from = self.bytes.len().saturating_sub(MAX_OPEN_BYTES);
        let reaching = self.pieces.partition_point(|piece| piece.at <= from);
        let first = reaching.saturating_sub(1);
        // Of the piece that reaches into the end, the end is kept: a secret may begin there.
        if let Some(piece) = self.pieces.get_mut(first)
            && piece.at < from
        {
            piece.offset += (from - piece.at) as u64;
            piece.at = from;
        }
        self.pieces.drain(..first);
        self.bytes.drain(..from);
        for piece in &mut self.pieces {
            piece.at -= from;
        }
        self.searched = self.bytes.len();
    }
}

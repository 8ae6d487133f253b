//! Finding the streams that may repeat something of forgotten sessions, without reading what every line says.
//!
//! Readers recognise a copy by ids: those of records and responses, which it keeps, and those of sessions, which stand in the file or
//! in its name. A stream that has none of a forgotten session's ids repeats nothing of it. Where that is not certain (an
//! evicted session, a reader that goes by something else, an id that JSON may write in several ways), all streams of the agent are suspects.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use backstory_agents::Reader;
use backstory_event::{EventKey, Output, Seq, StreamId};
use backstory_store::{BlockSpan, RemainingStream, SessionHead, Store};
use memchr::memmem;

use super::sieve::{Names, read_block};
use crate::error::Result;
use crate::read::on_all_cores;

/// Longer ids may be stored otherwise than logs have them.
const MAX_ID_BYTES: usize = 64;

/// Search for copies of forgotten sessions in other streams, by their ids.
pub(super) struct CopySearch<'a> {
    names: &'a Names,
    /// Ids of their records and responses.
    ids: HashSet<Vec<u8>>,
    streams: Vec<RemainingStream>,
    /// Agents whose streams are all suspects.
    unclear: HashSet<String>,
}

impl<'a> CopySearch<'a> {
    /// Takes the ids of the sessions' records, before they are gone.
    pub(super) fn new(store: &Store, sessions: &[SessionHead], names: &'a Names) -> Result<Self> {
        let mut search = CopySearch {
            names,
            ids: HashSet::new(),
            streams: store.streams()?,
            unclear: HashSet::new(),
        };
        let agents: BTreeSet<&String> = sessions.iter().map(|session| &session.agent).collect();
        for agent in agents {
            let of_agent = sessions.iter().filter(|session| session.agent == *agent);
            let of_agent: Vec<&SessionHead> = of_agent.collect();
            if !search.take_ids(store, agent, &of_agent)? {
                search.unclear.insert(agent.clone());
            }
        }
        Ok(search)
    }

    /// Takes the ids of an agent's sessions; false when they may not be all by which copies are recognised.
    fn take_ids(&mut self, store: &Store, agent: &str, sessions: &[&SessionHead]) -> Result<bool> {
        let Some(reader) = backstory_agents::reader(agent) else {
            return Ok(false);
        };
        let is_told = |session: &&SessionHead| {
            session.evicted == Seq::ZERO && self.names.is_searched(&session.session)
        };
        if !sessions.iter().all(is_told) {
            return Ok(false);
        }
        let rows: Vec<_> = sessions.iter().map(|session| session.id).collect();
        let mut unexplained = store.keys_of_sessions(&rows)?;
        let keys = unexplained.clone();
        let own = store.streams_of_sessions(&rows)?;
        let spans = store.block_spans()?;
        let mut blocks = store.bytes();
        let mut is_clear = true;
        for stream in self
            .streams
            .iter()
            .filter(|stream| own.contains(&stream.id))
        {
            let mut reading = None;
            for span in spans.iter().filter(|span| span.stream == stream.id) {
                let bytes = match blocks.read(span.stream, span.start, span.length) {
                    Err(backstory_store::Error::DamagedPiece(_)) => return Ok(false),
                    bytes => bytes?,
                };
                let path = Path::new(&stream.path);
                for (range, output) in read_block(reader, &mut reading, path, span.start, &bytes) {
                    if !keys_of(&output).any(|key| keys.contains(&key)) {
                        continue;
                    }
                    for key in keys_of(&output) {
                        unexplained.remove(&key);
                    }
                    let line = &bytes[range];
                    for line in [Cow::Borrowed(line), without_escapes(line)] {
                        let mut are_plain = true;
                        let is_told = reader.each_copied_id(&line, &mut |id| {
                            are_plain &= id.iter().all(|byte| is_plain(*byte));
                            self.ids.insert(id.to_vec());
                        });
                        is_clear &= is_told && are_plain;
                    }
                }
            }
        }
        Ok(is_clear && unexplained.is_empty())
    }

    /// Returns the streams that have an id of the sessions, and those that may repeat them otherwise.
    pub(super) fn find_suspects(self, home: &Path, store: &Store) -> Result<HashSet<StreamId>> {
        let is_suspect = |stream: &&RemainingStream| {
            self.unclear.contains(&stream.agent)
                || self.names.masked(stream.path.as_bytes()).is_some()
        };
        let certain = self.streams.iter().filter(is_suspect);
        let certain: HashSet<StreamId> = certain.map(|stream| stream.id).collect();
        let readers = self.streams.iter().filter_map(|stream| {
            let reader = backstory_agents::reader(&stream.agent)?;
            Some((stream.id, reader))
        });
        let readers: HashMap<StreamId, &'static dyn Reader> = readers.collect();
        let mut spans = store.block_spans()?;
        spans.retain(|span| !certain.contains(&span.stream));
        let suspects = Mutex::new(certain);
        let failure = Mutex::new(None);
        let next = AtomicUsize::new(0);
        on_all_cores(home, store, |store| {
            let mut blocks = store.bytes();
            while let Some(span) = spans.get(next.fetch_add(1, Ordering::Relaxed)) {
                let BlockSpan {
                    stream,
                    start,
                    length,
                } = *span;
                let bytes = match blocks.read(stream, start, length) {
                    // It is not rewritten either: nobody can read it.
                    Err(backstory_store::Error::DamagedPiece(_)) => continue,
                    Err(error) => {
                        failure
                            .lock()
                            .map(|mut failure| *failure = Some(error))
                            .ok();
                        return;
                    }
                    Ok(bytes) => bytes,
                };
                if self.has_id(readers.get(&stream).copied(), &bytes) {
                    suspects
                        .lock()
                        .map(|mut suspects| suspects.insert(stream))
                        .ok();
                }
            }
        });
        if let Some(error) = failure.into_inner().unwrap_or_default() {
            return Err(error.into());
        }
        Ok(suspects
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Returns whether the bytes of a stream have one of the ids, however JSON writes it.
    fn has_id(&self, reader: Option<&'static dyn Reader>, bytes: &[u8]) -> bool {
        if self.has_plain_id(reader, bytes) {
            return true;
        }
        let mut searched = 0;
        for at in escapes(bytes) {
            if at < searched {
                continue;
            }
            let from = memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |newline| newline + 1);
            let line = &bytes[from..];
            let line = &line[..memchr::memchr(b'\n', line).unwrap_or(line.len())];
            searched = from + line.len();
            if self.has_plain_id(reader, &without_escapes(line)) {
                return true;
            }
        }
        false
    }

    fn has_plain_id(&self, reader: Option<&'static dyn Reader>, bytes: &[u8]) -> bool {
        let mut has_id = self.names.is_in(bytes);
        if let Some(reader) = reader.filter(|_| !has_id && !self.ids.is_empty()) {
            reader.each_copied_id(bytes, &mut |id| has_id |= self.ids.contains(id));
        }
        has_id
    }
}

/// Returns whether JSON has only one way to write a character, escapes by number apart.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\' | b'/')
}

/// Returns whether an id is one that logs have as it is.
pub(super) fn is_plain_id(id: &str) -> bool {
    id.len() <= MAX_ID_BYTES && id.bytes().all(is_plain)
}

/// Returns the keys by which the events and responses of a line are known.
fn keys_of(output: &Output) -> impl Iterator<Item = EventKey> {
    let events = output.events.iter().map(|event| event.key);
    let responses = output.responses.iter().map(|response| response.key);
    events.chain(responses)
}

/// Returns where ASCII characters may be escaped by number, `\u0041`.
fn escapes(bytes: &[u8]) -> impl Iterator<Item = usize> {
    memmem::find_iter(bytes, br"\u00").filter(|at| matches!(bytes.get(at + 4), Some(b'2'..=b'7')))
}

/// Returns a line with plain characters in place of escapes. It may be JSON no more; ids in it are readable.
fn without_escapes(line: &[u8]) -> Cow<'_, [u8]> {
    let mut plain = Vec::new();
    let mut copied = 0;
    for at in escapes(line) {
        let digits = line
            .get(at + 4..at + 6)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let Some(byte) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) else {
            continue;
        };
        if at < copied || !is_plain(byte) {
            continue;
        }
        plain.extend_from_slice(&line[copied..at]);
        plain.push(byte);
        copied = at + 6;
    }
    if copied == 0 {
        return Cow::Borrowed(line);
    }
    plain.extend_from_slice(&line[copied..]);
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_ids_are_read() {
        let check = |line: &str, expect: &str| {
            let plain = without_escapes(line.as_bytes());
            assert_eq!(String::from_utf8_lossy(&plain), expect);
        };
        check(r#"{"uuid":"a\u002db"}"#, r#"{"uuid":"a-b"}"#);
        check(r#"{"\u0075u\u0069d":"a"}"#, r#"{"uuid":"a"}"#);
        check(
            r#"{"a":"\u0022\u001b\u00zz\u00"}"#,
            r#"{"a":"\u0022\u001b\u00zz\u00"}"#,
        );
        check(r#"{"a":"\u004A\u004b"#, r#"{"a":"JK"#);
    }
}

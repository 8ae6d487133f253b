//! Messages: the records of a session's log, each with its events, its content and the files in it.

use std::collections::HashMap;
use std::vec::IntoIter;

use backstory_agents::Reader;
use backstory_event::StreamId;
use backstory_store::{EventRange, SessionRow};

use super::artifact::{Artifact, ArtifactFinder, PlacedArtifact};
use super::content::{blocks_of_events, kind_of_event, without_payloads};
use super::record::EventRecord;
use super::records::{RecordPieces, WalkedRecord};
use crate::Memory;
use crate::error::Result;

/// A record of a session's log.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageRecord {
    /// Its events, at least one.
    pub events: Vec<EventRecord>,
    /// Its type: as the log has it where records are messages, else `user`, `assistant`, `summary` or `system`.
    pub kind: String,
    /// Its content as JSON: as the log has it where records are messages, else blocks in the same form. `artifact:NAME` stands for the
    /// base64 text of every artifact.
    pub content: String,
    /// The images, documents and other files in it.
    pub artifacts: Vec<Artifact>,
    /// Place in the stored logs; `None` when it is known from a hook only.
    pub log: Option<LogPlace>,
}

/// A place in the stored logs of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogPlace {
    /// Index in [`Session::logs`](super::Session::logs).
    pub log: usize,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
}

/// Messages of a session in their order. Only a piece of them is in memory at a time.
pub struct Messages<'m> {
    pieces: RecordPieces<'m>,
    extractor: MessageExtractor,
    ready: IntoIter<MessageRecord>,
    has_ended: bool,
}

impl<'m> Messages<'m> {
    pub(super) fn new(
        memory: &'m Memory,
        session: &'m SessionRow,
        range: EventRange,
    ) -> Result<Self> {
        let streams = memory.store.log_streams(session.id)?.into_iter();
        let logs = streams.enumerate().map(|(log, (row, _))| (row.id, log));
        Ok(Messages {
            pieces: RecordPieces::new(memory, session, range)?,
            extractor: MessageExtractor {
                reader: backstory_agents::reader(&session.agent),
                logs: logs.collect(),
                finder: ArtifactFinder::default(),
            },
            ready: IntoIter::default(),
            has_ended: false,
        })
    }

    fn next_piece(&mut self) -> Result<Vec<MessageRecord>> {
        let extractor = &mut self.extractor;
        let piece = self.pieces.next_piece(|record| extractor.extract(record))?;
        let with_events =
            |(events, message): (_, MessageRecord)| MessageRecord { events, ..message };
        Ok(piece.into_iter().map(with_events).collect())
    }
}

impl Iterator for Messages<'_> {
    type Item = Result<MessageRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(message) = self.ready.next() {
                return Some(Ok(message));
            }
            if self.has_ended {
                return None;
            }
            let piece = self.next_piece();
            self.has_ended = !piece.as_ref().is_ok_and(|piece| !piece.is_empty());
            match piece {
                Ok(piece) => self.ready = piece.into_iter(),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// Makes messages of records.
struct MessageExtractor {
    reader: Option<&'static dyn Reader>,
    logs: HashMap<StreamId, usize>,
    finder: ArtifactFinder,
}

impl MessageExtractor {
    /// Makes a message of a record; its events are added later.
    fn extract(&mut self, record: &WalkedRecord) -> MessageRecord {
        let mut message = MessageRecord {
            events: Vec::new(),
            kind: String::new(),
            content: String::new(),
            artifacts: Vec::new(),
            log: None,
        };
        let Some(first) = record.views.first() else {
            return message;
        };
        let verbatim = self.reader.filter(|_| !record.span.is_empty());
        let verbatim = verbatim.and_then(|reader| reader.content(&record.span));
        let artifacts: Vec<PlacedArtifact>;
        if let Some(verbatim) = verbatim {
            artifacts = self.finder.find(verbatim.json.as_bytes(), first);
            message.kind = verbatim.kind;
            message.content = without_payloads(verbatim.json, &artifacts);
        } else {
            artifacts = self.finder.find_once(&record.span, first);
            message.kind = kind_of_event(first).to_string();
            message.content = blocks_of_events(&record.views, &artifacts);
        }
        message.artifacts = artifacts.into_iter().map(|found| found.artifact).collect();
        message.log = self.logs.get(&first.stream).map(|log| LogPlace {
            log: *log,
            offset: first.event.span.offset,
            length: first.event.span.length,
        });
        message
    }
}

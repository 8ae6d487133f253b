//! A session to read from.

use std::io::Write;

use backstory_event::{StreamId, TurnNo};
use backstory_store::{Damage, DamagedPiece, EventRange, SessionRow, StreamRow};

use super::messages::Messages;
use super::records::Events;
use crate::Memory;
use crate::Sessions;
use crate::error::{Error, Result};

/// Bytes of a log that are in memory at once when it is copied.
const COPY_BYTES: u64 = 1 << 20;

/// A session of a memory.
///
/// ```no_run
/// # fn main() -> backstory_memory::Result<()> {
/// use backstory_memory::{EventRange, Memory};
///
/// let memory = Memory::open("/tmp/my-memory".as_ref())?;
/// let session = memory.sessions().find("0d1f")?;
/// for message in session.messages(EventRange::All)? {
///     let message = message?;
///     println!("{} {}", message.kind, message.content);
/// }
/// # Ok(())
/// # }
/// ```
pub struct Session<'m> {
    pub(crate) memory: &'m Memory,
    pub(crate) row: SessionRow,
}

/// A log of a session, as it is stored: without secrets that were redacted.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredLog {
    /// Its number in the store: sessions that share a log have the same one.
    pub id: StreamId,
    /// Path of the log.
    pub path: String,
    /// Name of the agent that wrote it.
    pub agent: String,
    /// Number of bytes.
    pub length: u64,
    /// Number of times that the file had been replaced when this was read.
    pub generation: u64,
    /// True if all its bytes are there: those of evicted sessions are not.
    pub is_whole: bool,
}

impl<'m> Sessions<'m> {
    /// Returns the session whose id begins with this text; an error when there is none or more than one.
    pub fn find(&self, prefix: &str) -> Result<Session<'m>> {
        Ok(self.open(self.row(prefix)?))
    }

    /// Returns the session, and the turn of it, that SESSION or SESSION#TURN names. Ids may have `#` in them: a whole id is no turn of
    /// another.
    pub fn find_turn(&self, text: &str) -> Result<(Session<'m>, Option<TurnNo>)> {
        let whole = self.find(text);
        let Some((id, turn)) = text.rsplit_once('#') else {
            return Ok((whole?, None));
        };
        match (whole, turn.parse().map(TurnNo::last_of)) {
            (Ok(session), _) if session.row.session == text => Ok((session, None)),
            (_, Ok(turn)) => Ok((self.find(id)?, Some(turn))),
            // The beginning of an id.
            (Ok(session), Err(_)) => Ok((session, None)),
            (Err(Error::NoSession(_)), Err(_)) => Err(Error::InvalidTurn(turn.to_string())),
            (Err(error), Err(_)) => Err(error),
        }
    }

    /// Returns the session of a row of [`Sessions::list`].
    pub fn open(&self, row: SessionRow) -> Session<'m> {
        Session {
            memory: self.memory,
            row,
        }
    }
}

impl Session<'_> {
    /// Returns the row of the session.
    pub fn row(&self) -> &SessionRow {
        &self.row
    }

    /// Returns events in their order, with everything that is known of them. Only a piece of them is in memory at a time.
    pub fn events(&self, range: EventRange) -> Result<Events<'_>> {
        Events::new(self.memory, &self.row, range)
    }

    /// Returns the records of the log that these events lie in, in their order. Only a piece of them is in memory at a time.
    pub fn messages(&self, range: EventRange) -> Result<Messages<'_>> {
        Messages::new(self.memory, &self.row, range)
    }

    /// Returns the logs that say something of the session, in the order they were first read. Several sessions may share one.
    pub fn logs(&self) -> Result<Vec<StoredLog>> {
        let streams = self.memory.store.log_streams(self.row.id)?.into_iter();
        let log = |(stream, stored): (StreamRow, u64)| StoredLog {
            id: stream.id,
            path: stream.path,
            agent: self.row.agent.clone(),
            length: stream.length,
            generation: stream.generation,
            is_whole: stored >= stream.length,
        };
        Ok(streams.map(log).collect())
    }

    /// Returns the logs that the session was read from, as they are now: those of [`Session::logs`] that hold its events, without older
    /// generations.
    pub fn own_logs(&self) -> Result<Vec<StoredLog>> {
        let own = self.memory.store.session_streams(self.row.id)?;
        let mut logs = self.logs()?;
        logs.retain(|log| own.iter().any(|stream| stream.id == log.id));
        Ok(logs)
    }

    /// Writes the bytes of a log: those of the file, without redacted secrets. An error when it is not whole.
    pub fn copy_log(&self, log: &StoredLog, out: &mut dyn Write) -> Result<()> {
        let mut bytes = self.memory.store.bytes();
        let mut at = 0;
        while at < log.length {
            let piece = bytes.read(log.id, at, COPY_BYTES.min(log.length - at))?;
            if piece.is_empty() {
                let damage = Damage {
                    piece: DamagedPiece::Bytes {
                        stream: log.id,
                        start: at,
                        length: log.length - at,
                    },
                    path: Some(log.path.clone()),
                };
                return Err(backstory_store::Error::from(damage).into());
            }
            out.write_all(&piece)?;
            at += piece.len() as u64;
        }
        Ok(())
    }
}

//! Reading sessions on several threads while others are written, in order.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Condvar, Mutex};

use backstory_memory::{Memory, Session};

use crate::columns::{NamedSession, read_columns};
use crate::error::Result;
use crate::export::ExportOptions;
use crate::rows::SessionColumns;

/// Sessions with more bytes of logs are read one after the other, to bound memory.
const LARGE_LOG_BYTES: u64 = 16 << 20;

/// Held while a large session is in memory.
#[derive(Default)]
pub(crate) struct LargeSession(Mutex<()>);

impl LargeSession {
    /// Reads the columns of a session and passes them on; no other large session is read meanwhile.
    pub(crate) fn read<T>(
        &self,
        session: &Session<'_>,
        name: &str,
        options: &ExportOptions<'_>,
        pass_on: impl FnOnce(Result<SessionColumns>) -> T,
    ) -> Result<T> {
        let bytes: u64 = session.logs()?.iter().map(|log| log.length).sum();
        let _alone = (bytes > LARGE_LOG_BYTES).then(|| self.0.lock());
        Ok(pass_on(read_columns(session, name, options)))
    }
}

/// Sessions that are read, each by one of several threads, and sent in their order.
pub(crate) struct ReadAhead<'a> {
    rows: &'a [NamedSession],
    options: &'a ExportOptions<'a>,
    next: AtomicUsize,
    /// The session whose turn it is to be sent.
    turn: Mutex<usize>,
    turn_changed: Condvar,
    large: LargeSession,
}

impl<'a> ReadAhead<'a> {
    pub(crate) fn new(rows: &'a [NamedSession], options: &'a ExportOptions<'a>) -> Self {
        ReadAhead {
            rows,
            options,
            next: AtomicUsize::new(0),
            turn: Mutex::new(0),
            turn_changed: Condvar::new(),
            large: LargeSession::default(),
        }
    }

    /// Reads sessions that no other thread reads, until there are no more or nobody wants them.
    pub(crate) fn read_sessions(
        &self,
        memory: &Memory,
        sender: &SyncSender<Result<SessionColumns>>,
    ) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(row) = self.rows.get(number) else {
                return;
            };
            let session = memory.session_from_row(row.row.clone());
            let send = |columns| self.send_in_turn(number, columns, sender);
            let sent = match self.large.read(&session, &row.name, self.options, send) {
                Ok(sent) => sent,
                Err(error) => self.send_in_turn(number, Err(error), sender),
            };
            if !sent {
                return;
            }
        }
    }

    /// Sends a session when those before it are sent. Returns whether anybody receives.
    fn send_in_turn(
        &self,
        number: usize,
        columns: Result<SessionColumns>,
        sender: &SyncSender<Result<SessionColumns>>,
    ) -> bool {
        let Ok(turn) = self.turn.lock() else {
            return false;
        };
        let waited = self.turn_changed.wait_while(turn, |turn| *turn != number);
        let Ok(mut turn) = waited else {
            return false;
        };
        let is_received = sender.send(columns).is_ok();
        *turn += 1;
        self.turn_changed.notify_all();
        is_received
    }
}

//! The time inside a generated session.

use backstory_event::TimeMs;
use jiff::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;

use super::random::Random;

const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(3));

/// A clock that moves only when told to.
#[derive(Clone)]
pub(crate) struct Clock {
    pub(crate) now: TimeMs,
}

impl Clock {
    /// Moves on by a random part of `low..high` milliseconds.
    pub(crate) fn wait(&mut self, random: &mut Random, low: u64, high: u64) {
        self.now = self.now.plus_ms(random.between(low, high) as i64);
    }

    /// The time as agents write it: `2026-10-02T09:15:03.120Z`.
    pub(crate) fn stamp(&self) -> String {
        PRINTER.timestamp_to_string(&timestamp(self.now))
    }

    /// The time in the pattern of `strftime`, in UTC.
    pub(crate) fn pattern(&self, pattern: &str) -> String {
        timestamp(self.now).strftime(pattern).to_string()
    }
}

fn timestamp(time: TimeMs) -> Timestamp {
    Timestamp::from_millisecond(time.get()).unwrap_or(Timestamp::UNIX_EPOCH)
}

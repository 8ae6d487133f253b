//! Cutting texts between characters, and times as text.

use backstory_event::TimeMs;

pub(crate) use backstory_analysis::text::{beginning, ending};

/// Formats a time as RFC 3339 in UTC, always with milliseconds: such texts sort like the times.
pub fn rfc3339(at: Option<TimeMs>) -> Option<String> {
    let time = jiff::Timestamp::from_millisecond(at?.get()).ok()?;
    Some(format!("{time:.3}"))
}

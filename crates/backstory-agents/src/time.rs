//! Times as logs write them, to unix milliseconds.

use backstory_event::TimeMs;

/// Parses an RFC 3339 time.
pub(crate) fn milliseconds(text: &str) -> Option<TimeMs> {
    text.parse::<jiff::Timestamp>()
        .ok()
        .map(|time| TimeMs::new(time.as_millisecond()))
}

/// Reads a unix time in seconds, as agents that use numbers write it; values too large for seconds are milliseconds already.
pub(crate) fn from_unix(number: f64) -> Option<TimeMs> {
    // Seconds pass 1e11 in the year 5138, milliseconds passed it in 1973.
    let milliseconds = if number.abs() < 1e11 {
        number * 1000.0
    } else {
        number
    };
    (milliseconds.is_finite() && milliseconds.abs() < 1e15)
        .then_some(TimeMs::new(milliseconds as i64))
}

//! Times as people type them.

use backstory_event::TimeMs;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::Sessions;
use crate::error::{Error, Result};

/// Parses a time that a person typed: `2w` ago, a date in their zone, or a whole RFC 3339 time.
pub fn parse_time(text: &str, now: TimeMs, zone: &TimeZone) -> Result<TimeMs> {
    let wrong = || Error::InvalidTime(text.to_string());
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(TimeMs::new(time.as_millisecond()));
    }
    if let Ok(date) = text.parse::<Date>() {
        let midnight = date.to_zoned(zone.clone()).map_err(|_| wrong())?;
        return Ok(TimeMs::new(midnight.timestamp().as_millisecond()));
    }
    let (number, unit) = text.split_at(
        text.find(|character: char| !character.is_ascii_digit())
            .ok_or_else(wrong)?,
    );
    let hours: i64 = match unit {
        "h" => 1,
        "d" => 24,
        "w" => 24 * 7,
        "m" => 24 * 30,
        "y" => 24 * 365,
        _ => return Err(wrong()),
    };
    let number: i64 = number.parse().map_err(|_| wrong())?;
    number
        .checked_mul(hours * 3_600_000)
        .map(|age| now.minus_ms(age))
        .ok_or_else(wrong)
}

impl Sessions<'_> {
    /// Returns a time that a person typed, or the beginning of the session that they named.
    pub fn time_named(&self, typed: &str, now: TimeMs, zone: &TimeZone) -> Result<TimeMs> {
        parse_time(typed, now, zone).or_else(|wrong| match self.row(typed) {
            Ok(session) => Ok(session.started_at.unwrap_or_default()),
            Err(Error::NoSession(_)) => Err(wrong),
            Err(error) => Err(error),
        })
    }

    /// Returns the time of a state that a person asked for: the end of a date, or the beginning of a session.
    pub fn state_time_named(&self, typed: &str, now: TimeMs, zone: &TimeZone) -> Result<TimeMs> {
        let is_time = typed.parse::<Timestamp>().is_ok();
        let date = typed.parse::<Date>().ok().filter(|_| !is_time);
        let next_day = date.and_then(|date| date.tomorrow().ok()?.to_zoned(zone.clone()).ok());
        match next_day {
            Some(next_day) => Ok(TimeMs::new(next_day.timestamp().as_millisecond() - 1)),
            None => self.time_named(typed, now, zone),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_people_type() {
        let now = TimeMs::new(1_800_000_000_000);
        assert_eq!(
            parse_time("2d", now, &TimeZone::UTC).unwrap(),
            now.minus_ms(2 * 86_400_000)
        );
        assert_eq!(
            parse_time("2026-01-31T10:00:00Z", now, &TimeZone::UTC).unwrap(),
            TimeMs::new(1_769_853_600_000)
        );
        for wrong in ["", "d", "soon", "3x", "99999999999999999999d"] {
            assert!(parse_time(wrong, now, &TimeZone::UTC).is_err(), "{wrong}");
        }
    }
}

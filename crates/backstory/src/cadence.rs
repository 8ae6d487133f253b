//! How often something runs: `15m`, `2h`, `1d`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

const HOUR: u64 = 60;
const DAY: u64 = 24 * HOUR;
/// Below this a schedule would do little but start the program.
const SHORTEST: u64 = 5;

/// How often something runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Cadence {
    minutes: u64,
}

impl Cadence {
    pub(crate) fn from_minutes(minutes: u64) -> Self {
        Cadence { minutes }
    }

    pub(crate) fn minutes(self) -> u64 {
        self.minutes
    }
}

impl Default for Cadence {
    fn default() -> Self {
        Cadence::from_minutes(HOUR)
    }
}

impl FromStr for Cadence {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no cadence: write 15m, 2h or 1d, at least {SHORTEST}m");
        let (number, length) = [("m", 1), ("h", HOUR), ("d", DAY)]
            .into_iter()
            .find_map(|(unit, length)| Some((text.strip_suffix(unit)?, length)))
            .ok_or_else(wrong)?;
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
        let minutes = number.parse::<u64>().ok().filter(|_| is_number);
        minutes
            .and_then(|number| number.checked_mul(length))
            // A year; beyond it schedulers begin to overflow.
            .filter(|minutes| (SHORTEST..=365 * DAY).contains(minutes))
            .map(Cadence::from_minutes)
            .ok_or_else(wrong)
    }
}

impl fmt::Display for Cadence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.minutes {
            minutes if minutes % DAY == 0 => write!(formatter, "{}d", minutes / DAY),
            minutes if minutes % HOUR == 0 => write!(formatter, "{}h", minutes / HOUR),
            minutes => write!(formatter, "{minutes}m"),
        }
    }
}

impl TryFrom<String> for Cadence {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Cadence> for String {
    fn from(cadence: Cadence) -> Self {
        cadence.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cadences_that_people_type() {
        for (text, minutes, shown) in [
            ("5m", 5, "5m"),
            ("90m", 90, "90m"),
            ("60m", 60, "1h"),
            ("2h", 120, "2h"),
            ("24h", 1440, "1d"),
            ("7d", 10_080, "7d"),
        ] {
            let cadence: Cadence = text.parse().unwrap();
            assert_eq!(
                (cadence.minutes(), cadence.to_string().as_str()),
                (minutes, shown)
            );
        }
        for wrong in [
            "",
            "m",
            "4m",
            "0h",
            "1",
            "1w",
            "-5m",
            "+5m",
            "5mm",
            "1.5h",
            "1h30m",
            "366d",
            "99999999999999999999d",
            "9999999999999999999h",
        ] {
            assert!(wrong.parse::<Cadence>().is_err(), "{wrong}");
        }
    }
}

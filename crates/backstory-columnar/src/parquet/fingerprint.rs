//! Fingerprints of sessions: whether one changed since it was written.

use backstory_memory::{Memory, SessionId, SessionRow, SessionStatus, TimeMs};

use super::footer::LAYOUT;
use crate::error::Result;
use crate::redaction::unkeyed_markers;

/// Number of hexadecimal digits.
const FINGERPRINT_DIGITS: usize = 16;

/// Suffix of fingerprints of damaged sessions.
pub(super) const DAMAGED_MARK: &str = " damaged";

/// Returns a fingerprint of everything that is known of a session without reading its events: its row, its status, and the lengths of its
/// logs. Events that only a new version of Backstory reads otherwise do not change it. Its outcome follows it, if that is known.
pub(super) fn session_fingerprint(
    memory: &Memory,
    session: &SessionRow,
    now: TimeMs,
) -> Result<String> {
    // The number of its row differs between stores.
    let row = SessionRow {
        id: SessionId::default(),
        outcome: None,
        ..session.clone()
    };
    let status = SessionStatus::at(session, now).name();
    let mut known = format!("{row:?} {status}");
    for log in memory.sessions().open(session.clone()).streams()? {
        known.push_str(&format!(
            " {:?} {} {} {}",
            log.path, log.generation, log.length, log.redactions
        ));
    }
    let fingerprint = text_fingerprint(&unkeyed_markers(&known));
    Ok(match &session.outcome {
        Some(outcome) => format!("{fingerprint} {outcome}"),
        None => fingerprint,
    })
}

/// Returns whether a session that has this fingerprint now need not be written again. A memory without digests, as `convert` has it, knows
/// no outcome: one that is written stays.
pub(super) fn is_same_state(written: &str, now: &str) -> bool {
    let outcome = written.strip_prefix(now);
    let is_outcome = |rest: &str| rest.starts_with(' ') && !rest.ends_with(DAMAGED_MARK);
    outcome.is_some_and(|rest| rest.is_empty() || is_outcome(rest))
}

/// Returns the fingerprint of a text.
pub(super) fn text_fingerprint(known: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(LAYOUT.as_bytes()).update(known.as_bytes());
    hasher
        .finalize()
        .to_hex()
        .chars()
        .take(FINGERPRINT_DIGITS)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::is_same_state;

    #[test]
    fn a_known_outcome_is_not_replaced_by_an_unknown_one() {
        for (written, now, is_same) in [
            ("12ab done", "12ab done", true),
            ("12ab done", "12ab", true),
            ("12ab", "12ab", true),
            ("12ab", "12ab done", false),
            ("12ab done", "12ab stopped", false),
            ("12ab done", "34cd", false),
            ("12ab done damaged", "12ab done", false),
            ("12ab damaged", "12ab", false),
        ] {
            assert_eq!(is_same_state(written, now), is_same, "{written}, {now}");
        }
    }
}

//! Fingerprints of sessions: whether one changed since it was written.

use backstory_memory::{Memory, SessionId, SessionRow, SessionStatus, TimeMs};

use super::footer::LAYOUT;
use crate::error::Result;
use crate::redaction::unkeyed_markers;

/// Number of hexadecimal digits.
const FINGERPRINT_DIGITS: usize = 16;

/// Returns a fingerprint of everything that is known of a session without reading its events: its row, its status, and the lengths of its
/// logs. Events that only a new version of Backstory reads otherwise do not change it.
pub(super) fn session_fingerprint(
    memory: &Memory,
    session: &SessionRow,
    now: TimeMs,
) -> Result<String> {
    // The number of its row differs between stores.
    let row = SessionRow {
        id: SessionId::default(),
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
    Ok(text_fingerprint(&unkeyed_markers(&known)))
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

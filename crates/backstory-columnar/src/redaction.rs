//! Redacted sessions in files: whether they are, and markers of secrets in what rows are known by.

use std::borrow::Cow;

use crate::rows::{AttributeValue, SessionAttributes};

/// Attribute of a session: `on` if secrets were redacted when it was written, else `off`.
pub(crate) const REDACTION_ATTRIBUTE: &str = "redaction";

/// Beginning of the marker `[REDACTED:<rule>:<hash>]` that stands for a secret.
const MARKER_START: &str = "[REDACTED:";

/// Returns whether one of two versions of a session was redacted and the other one was not.
pub(crate) fn has_other_redaction(new: &SessionAttributes, old: &SessionAttributes) -> bool {
    let redaction = |attributes: &SessionAttributes| {
        let mut others = attributes.other.iter();
        others.find_map(|(name, value)| match value {
            AttributeValue::Text(text) if name == REDACTION_ATTRIBUTE => Some(text.clone()),
            _ => None,
        })
    };
    match (redaction(new), redaction(old)) {
        (Some(new), Some(old)) => new != old,
        // Others do not redact, and nothing of theirs is replaced.
        _ => false,
    }
}

/// Returns a text without the hashes of markers: they differ between runs that have no store, and thus no key, in common.
pub(crate) fn unkeyed_markers(text: &str) -> Cow<'_, str> {
    if !text.contains(MARKER_START) {
        return Cow::Borrowed(text);
    }
    let mut parts = text.split(MARKER_START);
    let mut unkeyed = parts.next().unwrap_or_default().to_string();
    for part in parts {
        unkeyed.push_str(MARKER_START);
        let marker = part.split_once(']').and_then(|(marker, rest)| {
            let (rule, _) = marker.split_once(':')?;
            Some((rule, rest))
        });
        match marker {
            Some((rule, rest)) => unkeyed.extend([rule, "]", rest]),
            None => unkeyed.push_str(part),
        }
    }
    Cow::Owned(unkeyed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_lose_their_hashes() {
        for (text, unkeyed) in [
            ("plain", "plain"),
            (
                "a [REDACTED:github:1f2e] b [REDACTED:aws:00]",
                "a [REDACTED:github] b [REDACTED:aws]",
            ),
            ("[REDACTED:cut", "[REDACTED:cut"),
            ("[REDACTED:none]", "[REDACTED:none]"),
        ] {
            assert_eq!(unkeyed_markers(text), unkeyed);
        }
    }
}

//! Redacted sessions in files: whether they are, and markers of secrets in what sessions and rows are known by.

use std::borrow::Cow;

use backstory_memory::redact_name;

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

/// Returns an id without secrets: the same for an id that was redacted, with any key, and for one that was not.
pub(crate) fn redacted_id(id: &str) -> String {
    unkeyed_markers(&redact_name(id)).into_owned()
}

/// Returns whether a secret was replaced in a text.
pub(crate) fn has_marker(text: &str) -> bool {
    text.contains(MARKER_START)
}

/// Identity of a session whose id has a secret: its name in a file depends on redaction and on the key.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct RedactedIdentity {
    agent: String,
    id: String,
    created_at: u64,
}

impl RedactedIdentity {
    /// Returns the identity of a session; `None` for one whose id has no secret.
    pub(crate) fn new(agent: &str, id: &str, created_at: f64) -> Option<Self> {
        let id = redacted_id(id);
        has_marker(&id).then(|| RedactedIdentity {
            agent: agent.to_string(),
            id,
            created_at: created_at.to_bits(),
        })
    }

    /// Returns the identity of the session in a group of this name.
    pub(crate) fn of_group(name: &str, attributes: &SessionAttributes) -> Option<Self> {
        let id = attributes.session_id_original.as_deref();
        Self::new(&attributes.agent, id.unwrap_or(name), attributes.created_at)
    }
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

    #[test]
    fn an_id_is_the_same_with_and_without_redaction() {
        let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
        let plain = format!("shop-{secret}");
        let redacted = redacted_id(&plain);
        assert!(!redacted.contains(&secret), "{redacted}");
        assert_eq!(redacted_id(&redact_name(&plain)), redacted);
        let identity = |id: &str, at| RedactedIdentity::new("toy", id, at);
        assert_eq!(identity(&plain, 1.5), identity(&redact_name(&plain), 1.5));
        assert_ne!(identity(&plain, 1.5), identity(&plain, 2.5));
        assert_eq!(identity("shop-1", 1.5), None);
    }
}

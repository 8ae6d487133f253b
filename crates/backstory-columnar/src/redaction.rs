//! Redacted sessions in files: whether they are, and markers of secrets in what sessions and rows are known by.

use std::borrow::Cow;

use backstory_memory::{Redactor, redact_name};

use crate::rows::SessionAttributes;

/// Attribute of a session: `on` if secrets were redacted when it was written, else `off`.
pub(crate) const REDACTION_ATTRIBUTE: &str = "redaction";

/// Beginning of the marker `[REDACTED:<rule>:<hash>]` that stands for a secret.
const MARKER_START: &str = "[REDACTED:";

/// Makes of an id what all versions of a row have in common.
pub(crate) type ComparableId = fn(&str) -> String;

/// Returns how ids of two versions of a session are compared. Those of one that was redacted may have markers in place of secrets.
pub(crate) fn comparable_ids(new: &SessionAttributes, old: &SessionAttributes) -> ComparableId {
    match is_unredacted(new) != is_unredacted(old) {
        true => redacted_id,
        false => |id| unkeyed_markers(id).into_owned(),
    }
}

/// Returns whether the secrets of a session that we wrote were left in it. Others do not redact, but do not say so.
pub(crate) fn is_unredacted(attributes: &SessionAttributes) -> bool {
    attributes.other_text(REDACTION_ATTRIBUTE) == Some("off")
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

/// Replaces the secrets of a text; returns whether it had any.
pub(crate) fn redact_text(redactor: &Redactor, text: &mut String) -> bool {
    match redactor.redact(text.as_bytes(), &[]).bytes {
        Cow::Borrowed(_) => false,
        Cow::Owned(redacted) => {
            *text = String::from_utf8_lossy(&redacted).into_owned();
            true
        }
    }
}

/// Replaces the secrets of an id or a path, as an import does.
pub(crate) fn redact_id(redactor: &Redactor, id: &mut String) {
    if let Cow::Owned(redacted) = redactor.redact_path(id) {
        *id = redacted;
    }
    redact_text(redactor, id);
}

/// Returns whether a secret was replaced in a text.
pub(crate) fn has_marker(text: &str) -> bool {
    text.contains(MARKER_START)
}

/// Identity of a session whose id has a secret: its name in a file depends on redaction and on the key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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

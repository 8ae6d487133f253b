//! Forms that values have in JSON where those of their types are others, for serde's `with` and `serialize_with`.

use std::path::Path;

use backstory_store::SessionHead;
use serde::{Serialize, Serializer};

/// Times as RFC 3339 text.
pub(crate) mod rfc3339_time {
    use backstory_event::TimeMs;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

    pub(crate) fn serialize<S: Serializer>(
        at: &Option<TimeMs>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        crate::rfc3339(*at).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<TimeMs>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| {
            let time: jiff::Timestamp = text.parse().map_err(|_| {
                de::Error::custom(format!("{text:?} is no time like 2026-01-31T10:00:00Z"))
            })?;
            Ok(TimeMs::new(time.as_millisecond()))
        })
        .transpose()
    }
}

/// A time that is always there, as RFC 3339 text; null when no calendar has it.
pub(crate) fn always_rfc3339<S: Serializer>(
    at: &backstory_event::TimeMs,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    crate::rfc3339(Some(*at)).serialize(serializer)
}

/// A session as its id and its agent, to be flattened.
pub(crate) fn session_and_agent<S: Serializer>(
    head: &SessionHead,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Named<'a> {
        session: &'a str,
        agent: &'a str,
    }
    Named {
        session: &head.session,
        agent: &head.agent,
    }
    .serialize(serializer)
}

/// Writes a path as text: bytes that are no UTF-8 cannot stand in JSON.
pub(crate) fn serialize_path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

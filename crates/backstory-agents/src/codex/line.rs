//! A line of a rollout, parsed once for everything that is read from it.

use std::borrow::Cow;

use crate::object::Object;
use crate::{json, time};
use backstory_event::TimeMs;

/// Where items of the model's conversation name their turn.
const METADATA: &str = "internal_chat_message_metadata_passthrough";

/// A record of a rollout: an envelope with a payload, or in old logs an item without one.
pub(super) struct RolloutLine<'a> {
    /// Fields of the envelope, or of the item itself.
    pub(super) fields: Object<'a>,
    /// Type of the envelope, or of the item itself.
    pub(super) kind: Option<Cow<'a, str>>,
    pub(super) payload: Option<Object<'a>>,
    pub(super) payload_kind: Option<Cow<'a, str>>,
    /// Id of the turn that the record names as its own.
    pub(super) turn_id: Option<String>,
    /// Time of the record in unix milliseconds.
    pub(super) at: Option<TimeMs>,
}

impl<'a> RolloutLine<'a> {
    /// Parses a record. Fails when the JSON is damaged or no object.
    pub(super) fn parse(json: &'a str) -> serde_json::Result<Self> {
        let fields = Object::parse(json)?;
        let kind = fields.word("type");
        let payload = fields.object("payload");
        let payload_kind = payload.as_ref().and_then(|payload| payload.word("type"));
        let turn_id = payload.as_ref().and_then(|payload| match kind.as_deref() {
            Some("response_item" | "inter_agent_communication") => {
                payload.object(METADATA)?.name("turn_id")
            }
            _ => payload.name("turn_id"),
        });
        let time = fields.word("timestamp");
        let at = time.and_then(|time| time::milliseconds(&time));
        Ok(RolloutLine {
            fields,
            kind,
            payload,
            payload_kind,
            turn_id,
            at,
        })
    }

    /// Returns the types of envelope and payload.
    pub(super) fn kinds(&self) -> (Option<&str>, Option<&str>) {
        (self.kind.as_deref(), self.payload_kind.as_deref())
    }
}

/// Parses the stored bytes of a span and calls `read` with the record there; damaged bytes give the default.
pub(super) fn read_span<T: Default>(span: &[u8], read: impl FnOnce(&RolloutLine<'_>) -> T) -> T {
    let json = String::from_utf8_lossy(span);
    if let Ok(line) = RolloutLine::parse(&json) {
        return read(&line);
    }
    // Repaired only if it was repaired when it was first read: else raw JSON in a text would differ.
    let repaired = json::repair_surrogates(&json);
    let line = repaired.as_deref().map(RolloutLine::parse);
    line.and_then(Result::ok)
        .map(|line| read(&line))
        .unwrap_or_default()
}

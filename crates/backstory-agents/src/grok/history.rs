//! `chat_history.jsonl`: the model's messages, in the format of today and the one before. There are no times in it.

use serde_json::value::RawValue;

use super::content::Content;
use super::message::{Message, TEXT_PART, says_failure};
use super::open_text::place_fragments;
use super::{Line, Session, span_of};
use crate::record::Record;
use crate::shared::string;
use backstory_event::{Event, EventBody, EventKey, Kind, Output};

/// The channel of texts that one message has in several blocks; those of speakers come before it.
const BLOCKS_CHANNEL: u8 = 8;

/// Whether the first line of a file is like one of a cache of messages and of no other agent's log. `old` also takes the old format, which is
/// everyone's, so the name must vouch for it.
pub(super) fn begins(first: &str, old: bool) -> bool {
    const TYPES: [&str; 6] = [
        "system",
        "user",
        "reasoning",
        "assistant",
        "tool_result",
        "backend_tool_call",
    ];
    const ROLES: [&str; 4] = ["system", "user", "assistant", "tool"];
    // What a message quotes has its quotation marks escaped, so this finds keys only.
    const OTHERS: [&str; 4] = ["\"uuid\":", "\"sessionId\":", "\"payload\":", "\"parts\":"];
    if OTHERS.iter().any(|mark| first.contains(mark)) {
        return false;
    }
    match Line::read(first) {
        Ok(line) => match (string(line.kind), string(line.role)) {
            (Some(kind), None) => TYPES.contains(&kind.as_ref()),
            (None, Some(role)) => old && ROLES.contains(&role.as_ref()),
            _ => false,
        },
        // The system prompt may be longer than what is looked at. Grok writes the kind first and no spaces.
        Err(_) => {
            TYPES
                .iter()
                .any(|kind| first.starts_with(&format!("{{\"type\":\"{kind}\"")))
                || old
                    && ROLES
                        .iter()
                        .any(|role| first.starts_with(&format!("{{\"role\":\"{role}\"")))
        }
    }
}

/// Returns the bodies of the events of a message.
pub(super) fn bodies(json: &str) -> serde_json::Result<Vec<(u16, EventBody)>> {
    let found = Message::read(json)?.map(|message| message.parts());
    let bodies = found
        .into_iter()
        .flatten()
        .map(|part| (part.part, part.body));
    Ok(bodies.collect())
}

impl Session {
    pub(super) fn message(
        &mut self,
        record: Record<'_>,
        out: &mut Output,
    ) -> serde_json::Result<()> {
        let Some(message) = Message::read(record.json)? else {
            return Ok(());
        };
        let parts = message.parts();
        if parts.is_empty() {
            return Ok(());
        }
        self.place_blocks(&message, record, out);
        let session = self.session(None);
        let model = string(message.model_id).filter(|model| !model.is_empty());
        let model = model.map(|model| self.models.share(&model));
        let place = self.place_key(&session, record.json);
        for part in parts {
            let id = part.body.identity.tool_use_id.as_deref();
            let key = match (part.kind, id) {
                (Kind::ToolCall, Some(id)) => {
                    EventKey::of(&[b"grok", session.as_bytes(), b"call", id.as_bytes()])
                }
                (Kind::ToolResult, Some(id)) => {
                    EventKey::of(&[b"grok", session.as_bytes(), b"result", id.as_bytes()])
                }
                _ if part.part == TEXT_PART => place,
                _ => EventKey::of(&[&place.0.to_le_bytes(), &part.part.to_le_bytes()]),
            };
            if id.is_some() && !self.first_time(key) {
                continue;
            }
            let mut event = Event::new(&session, key, part.kind, None, span_of(record, part.part));
            match part.kind {
                Kind::ToolCall => {
                    if let Some(id) = id {
                        self.state.calls.open(id, &part.call.tool, None);
                    }
                    event.tool = Some(part.call.tool);
                }
                Kind::ToolResult => {
                    event.tool = id
                        .and_then(|id| self.state.calls.close(id))
                        .map(|call| call.tool);
                    event.error = says_failure(&part.body.text);
                }
                _ => {}
            }
            event.model = model.clone().filter(|_| part.kind.is_from_model());
            event.touches = part.call.touches;
            event.body = part.body;
            self.put(event, out);
        }
        Ok(())
    }

    /// Puts out where the blocks of a message lie that are read as one text.
    fn place_blocks(&self, message: &Message<'_>, record: Record<'_>, out: &mut Output) {
        let is_list = |content: &&RawValue| content.get().starts_with('[');
        for content in [message.content, message.reasoning_content] {
            let content = Content::read(content.filter(is_list));
            if content.strings.len() > 1 {
                place_fragments(BLOCKS_CHANNEL, true, &content.strings, record, out);
            }
        }
    }
}

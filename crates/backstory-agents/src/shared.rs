//! What several readers need.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::bounds::{MAX_CALL_ID_BYTES, MAX_NAME_BYTES, bound_name};
use crate::injected::{has_context, without_context};
use crate::json;
use backstory_event::{Action, TimeMs, Touch};

/// How much of a command is kept as a column; the whole of it is in the event's text.
const COMMAND_BYTES: usize = 400;

/// A text as it may be kept: without our own context, trimmed; `None` when nothing is left.
pub(crate) fn kept(text: &str) -> Option<String> {
    let text = without_context(text);
    let trimmed = text.trim();
    (!trimmed.is_empty()).then(|| trimmed.to_string())
}

/// Like [`kept`]; copies nothing when nothing is taken out.
pub(crate) fn kept_text(text: String) -> Option<String> {
    match has_context(&text) || text.trim().len() != text.len() {
        true => kept(&text),
        false => (!text.is_empty()).then_some(text),
    }
}

/// A command as a column.
pub(crate) fn command_column(command: &str) -> Option<String> {
    let command = command.trim();
    (!command.is_empty()).then(|| cut(command, COMMAND_BYTES).to_string())
}

/// The beginning of a text, at most so many bytes, never within a character.
pub(crate) fn cut(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The files that an `apply_patch` text changes.
pub(crate) fn patch_touches(patch: &str) -> Vec<Touch> {
    let mut touches = Vec::new();
    for line in patch.lines() {
        let named = [
            ("*** Update File: ", Action::Write),
            ("*** Add File: ", Action::Write),
            ("*** Move to: ", Action::Write),
            ("*** Delete File: ", Action::Delete),
        ];
        if let Some((path, action)) = named
            .iter()
            .find_map(|(prefix, action)| Some((line.strip_prefix(prefix)?, *action)))
        {
            touches.push(Touch {
                path: path.trim().to_string(),
                action,
            });
        }
    }
    touches
}

/// Gives the same allocation for the same name as long as names do not alternate: models and sessions come in long runs.
#[derive(Debug, Default)]
pub(crate) struct LastName(Option<Arc<str>>);

impl LastName {
    /// The shared form of `name`.
    pub(crate) fn share(&mut self, name: &str) -> Arc<str> {
        match &self.0 {
            Some(last) if **last == *name => last.clone(),
            _ => {
                let shared: Arc<str> = Arc::from(name);
                self.0 = Some(shared.clone());
                shared
            }
        }
    }
}

/// The string that a raw value is; `None` for any other type. Borrowed when nothing in it is escaped.
pub(crate) fn string<'a>(raw: Option<&'a RawValue>) -> Option<Cow<'a, str>> {
    let inner = raw?.get().strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_some() {
        json::decode_string(raw?.get()).map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}

/// Whether a raw value is `true`.
pub(crate) fn is_true(raw: Option<&RawValue>) -> bool {
    raw.is_some_and(|raw| raw.get() == "true")
}

/// The items of a raw array; none for any other type.
pub(crate) fn items(raw: &RawValue) -> Vec<&RawValue> {
    if raw.get().starts_with('[') {
        serde_json::from_str(raw.get()).unwrap_or_default()
    } else {
        Vec::new()
    }
}

/// Tool calls that still wait for their result, the newest ones: by them a result learns its tool and how long it took.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct OpenCalls(VecDeque<OpenCall>);

/// One of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct OpenCall {
    /// The agent's id of the call.
    pub(crate) id: String,
    /// The tool.
    pub(crate) tool: String,
    /// When it was called.
    pub(crate) at: Option<TimeMs>,
}

impl OpenCalls {
    /// More calls than this are never open at once; those forgotten only lose their join.
    const MOST: usize = 256;

    /// Remembers a call.
    pub(crate) fn open(&mut self, id: &str, tool: &str, at: Option<TimeMs>) {
        if self.0.len() == Self::MOST {
            self.0.pop_front();
        }
        self.0.push_back(OpenCall {
            id: bound_name(id, MAX_CALL_ID_BYTES).into_owned(),
            tool: bound_name(tool, MAX_NAME_BYTES).into_owned(),
            at,
        });
    }

    /// Takes a call out when its result comes.
    pub(crate) fn close(&mut self, id: &str) -> Option<OpenCall> {
        let id = bound_name(id, MAX_CALL_ID_BYTES);
        let position = self.0.iter().rposition(|call| call.id == id)?;
        self.0.remove(position)
    }
}

/// Returns whether a call of a tool that the provider runs succeeded; `None` while it runs. Without a status it is logged when it
/// ended.
pub(crate) fn success_of_status(status: Option<&str>) -> Option<bool> {
    match status {
        None | Some("completed") => Some(true),
        Some("failed" | "incomplete" | "cancelled") => Some(false),
        Some(_) => None,
    }
}

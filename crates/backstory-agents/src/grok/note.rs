//! One notification of `updates.jsonl`: the standard ones of the Agent Client Protocol, and Grok's own.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Line;
use super::fields::{Fields, integer, moment};
use crate::repeated_keys::is_repeated_key;
use crate::shared::{items, kept, string};
use backstory_event::{Kind, TimeMs};

/// Whether the first line of a file is one of this log.
pub(super) fn begins(first: &str) -> bool {
    match Line::read(first) {
        Ok(line) => match line.note() {
            Ok(note) => note.is_some_and(|note| !note.kind().is_empty()),
            // Only a notification is read further than its outermost fields.
            Err(_) => true,
        },
        // The line is longer than what is looked at. What it quotes has its quotation marks escaped, so these are keys.
        Err(_) => [
            "\"method\":\"session/update\"",
            "\"method\":\"_x.ai/session/update\"",
            "\"sessionUpdate\":",
        ]
        .iter()
        .any(|mark| first.contains(mark)),
    }
}

/// One notification.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Note<'a> {
    #[serde(borrow, rename = "sessionId")]
    pub(super) session: Option<&'a RawValue>,
    #[serde(borrow, rename = "update")]
    pub(super) raw: Option<&'a RawValue>,
    #[serde(borrow, rename = "_meta")]
    pub(super) raw_meta: Option<&'a RawValue>,
    #[serde(skip)]
    pub(super) update: Update<'a>,
    #[serde(skip)]
    pub(super) meta: Meta<'a>,
    #[serde(skip)]
    pub(super) at: Option<TimeMs>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Update<'a> {
    #[serde(borrow)]
    pub(super) session_update: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_call_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) title: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) kind: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) status: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) raw_input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) raw_output: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) locations: Option<&'a RawValue>,
    #[serde(borrow, rename = "_meta")]
    pub(super) meta: Option<&'a RawValue>,
}

/// What is noted beside a notification or its update.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Meta<'a> {
    #[serde(borrow)]
    pub(super) event_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) agent_timestamp_ms: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) turn_start_ms: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) total_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) prompt_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) model_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) prompt_index: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) hide_from_scrollback: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) host_turn: Option<&'a RawValue>,
    #[serde(borrow, rename = "x.ai/tool")]
    pub(super) tool: Option<&'a RawValue>,
    #[serde(borrow, rename = "x.ai/titleIsManual")]
    pub(super) title_is_manual: Option<&'a RawValue>,
}

impl<'a> Meta<'a> {
    pub(super) fn read(raw: Option<&'a RawValue>) -> Self {
        raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default()
    }
}

impl<'a> Note<'a> {
    /// Reads the parameters of a notification; `None` when there is no update in them.
    /// Fails when a field is named twice.
    pub(super) fn read(
        json: &'a str,
        timestamp: Option<&RawValue>,
    ) -> serde_json::Result<Option<Self>> {
        let Some(mut note) = unless_repeated::<Self>(json)? else {
            return Ok(None);
        };
        let Some(raw) = note.raw else {
            return Ok(None);
        };
        let Some(update) = unless_repeated(raw.get())? else {
            return Ok(None);
        };
        note.update = update;
        let meta = note.raw_meta.map(|meta| unless_repeated(meta.get()));
        note.meta = meta.transpose()?.flatten().unwrap_or_default();
        note.at = moment(note.meta.agent_timestamp_ms).or_else(|| moment(timestamp));
        Ok(Some(note))
    }

    pub(super) fn kind(&self) -> Cow<'a, str> {
        string(self.update.session_update).unwrap_or_default()
    }

    pub(super) fn fields(&self) -> Fields<'a> {
        Fields::of(self.raw)
    }

    /// The session in which this was first logged.
    pub(super) fn origin(&self) -> Option<Cow<'a, str>> {
        let id = string(self.meta.event_id)?;
        let length = id.rfind('-')?;
        let numbered =
            length + 1 < id.len() && id[length + 1..].bytes().all(|byte| byte.is_ascii_digit());
        (length > 0 && numbered).then(|| match id {
            Cow::Borrowed(id) => Cow::Borrowed(&id[..length]),
            Cow::Owned(id) => Cow::Owned(id[..length].to_string()),
        })
    }

    /// Why the turn ended that the notification says to be over.
    pub(super) fn stop_reason(&self) -> Option<String> {
        let is_end = self.kind() == "turn_completed";
        is_end.then(|| self.fields().owned(&["stop_reason"]))?
    }

    pub(super) fn is_final(&self) -> bool {
        matches!(
            string(self.update.status).as_deref(),
            Some("completed" | "failed" | "cancelled")
        )
    }

    pub(super) fn input(&self) -> &'a str {
        self.update.raw_input.map(RawValue::get).unwrap_or_default()
    }

    /// Whether the call says what it does.
    pub(super) fn tells_input(&self) -> bool {
        let filled = |raw: Option<&RawValue>| raw.is_some_and(|raw| !items(raw).is_empty());
        !matches!(self.input(), "" | "{}" | "\"\"")
            || filled(self.update.locations)
            || filled(self.update.content)
    }

    /// The tool's name and kind. The stamp is sure. Without one the title of a call is the name that the model used, unless it
    /// is already made for people: then it is the command, or a sentence that begins with a verb (``Read `src/main.rs` ``).
    /// `input` is what [`Note::input`] holds.
    pub(super) fn tool(&self, input: &Fields<'_>) -> (String, Cow<'a, str>) {
        let update = &self.update;
        let stamp = Fields::of(Meta::read(update.meta).tool);
        let kind = stamp
            .text(&["kind"])
            .or_else(|| string(update.kind))
            .filter(|kind| kind != "other");
        let kind = kind.unwrap_or_default();
        if let Some(name) = stamp.text(&["name"]) {
            return (name.into_owned(), kind);
        }
        let title = string(update.title).unwrap_or_default();
        let is_command = || {
            input
                .text(&["command"])
                .is_some_and(|command| command.starts_with(&*title))
        };
        let tool = if is_name(&title) && !is_command() {
            title.into_owned()
        } else if let Some(variant) = input.text(&["variant"]) {
            snake_case(&variant)
        } else if !kind.is_empty() {
            kind.to_string()
        } else {
            let verb = title.split_whitespace().next().filter(|verb| is_name(verb));
            verb.map_or_else(|| "tool".to_string(), str::to_ascii_lowercase)
        };
        (tool, kind)
    }

    /// What the program says in its own name, and as what it counts.
    pub(super) fn notice(&self) -> Option<(Kind, String)> {
        let fields = self.fields();
        let summary = |names: &[&str]| Some((Kind::Summary, kept(&fields.text(names)?)?));
        match self.kind().as_ref() {
            "rewind_marker" => {
                let target = integer(fields.get(&["target_prompt_index"])).unwrap_or_default();
                Some((
                    Kind::System,
                    format!("Rewound to before prompt {}", target.saturating_add(1)),
                ))
            }
            // What was compacted lies in a file of its own; the log has at most the beginning of the summary.
            "compaction_checkpoint" => summary(&["summary", "text", "content"]),
            "auto_compact_completed" => summary(&["summary", "summary_preview"]),
            "session_recap" => summary(&["summary"]),
            _ => None,
        }
    }
}

/// Reads a value; `None` when it is of another shape. Fails when a field is named twice.
pub(super) fn unless_repeated<'a, T: Deserialize<'a>>(
    json: &'a str,
) -> serde_json::Result<Option<T>> {
    match serde_json::from_str(json) {
        Ok(value) => Ok(Some(value)),
        Err(error) if is_repeated_key(&error) => Err(error),
        Err(_) => Ok(None),
    }
}

/// Whether this can be the name of a tool, as the model writes it.
fn is_name(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    !text.is_empty() && text.bytes().all(letter)
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

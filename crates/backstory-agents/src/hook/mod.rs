//! What agents tell hooks on standard input, whichever agent it is.
//!
//! Agents say the same things in as many dialects; [`read`] understands them all and gives one [`HookInput`]. What agents leave
//! out, misspell or give in a wrong type is missing in it, never an error: an agent that waits for its hook must not suffer
//! from a version that we have not seen. Sessions, commands, touched files and prompts are what the readers of logs make of
//! the same things, so that what was heard and what was read later can be recognised as one.
//!
//! Not done here: joining relative paths with the working directory, redaction, and deciding what to answer.
//!
//! Checked in November 2026 against the documentation of the agents and the sources of Codex and Grok Build (August 2026). Cursor's
//! hooks are known from its documentation only.

pub(crate) mod dialect;
pub(crate) mod event;
pub(crate) mod fields;
pub(crate) mod output;
pub(crate) mod registration;
mod shorten;
#[cfg(test)]
mod tests;
pub(crate) mod tool;

use std::borrow::Cow;
use std::fmt;

use backstory_event::TimeMs;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use self::dialect::{ContextMoment, HookDialect};
pub use self::registration::{
    ForeignHooks, HookLayout, HookRegistration, InstallPlace, PluginFacts, PluginLayout,
    TimeoutUnit,
};
pub use self::tool::ToolUse;

use self::dialect::recognize_agent;
use self::event::EventMeaning;
use self::fields::{COMMON_FIELDS, name, text, time};
use crate::agents::Agent;
use crate::json::repair_surrogates;
use crate::object::Object;
use crate::shared::{kept, string};

/// What an agent told a hook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HookInput {
    /// Who speaks; written down by name.
    #[serde(serialize_with = "write_agent", deserialize_with = "read_agent")]
    pub agent: &'static Agent,
    /// What the event is called in Claude Code's words, or the agent's own name of an event that we do not know.
    pub event: Cow<'static, str>,
    /// The session, named as the reader of its log names it.
    pub session: Option<String>,
    /// Where the log lies; when a subagent stops, the subagent's.
    pub transcript: Option<String>,
    /// The folder that the agent works in.
    pub cwd: Option<String>,
    /// When, in unix milliseconds, where the agent tells.
    pub at: Option<TimeMs>,
    /// What happened.
    pub happening: Happening,
}

fn write_agent<S: Serializer>(agent: &&'static Agent, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(agent.name)
}

fn read_agent<'de, D: Deserializer<'de>>(deserializer: D) -> Result<&'static Agent, D::Error> {
    let name = Cow::<'de, str>::deserialize(deserializer)?;
    Agent::find(&name).ok_or_else(|| serde::de::Error::custom(format!("unknown agent {name:?}")))
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Happening {
    /// A session began or went on.
    Started {
        /// Why: `startup`, `resume`, `clear`, `compact`.
        source: Option<String>,
    },
    /// A person asked something.
    Prompted {
        /// What they asked, as the log will have it: without our own context, without what editors and agents put before it.
        text: String,
        /// The agent's id of the prompt or of the turn that it begins.
        id: Option<String>,
    },
    /// A tool ran, failed, or was not allowed to run.
    ToolUsed(ToolUse),
    /// The model said something, and may go on.
    Replied {
        /// What it said.
        text: String,
    },
    /// The conversation is about to be summarised.
    Compacting {
        /// Who wanted it: `manual` or `auto`.
        trigger: Option<String>,
    },
    /// The model has finished.
    Stopped {
        /// The last thing it said.
        reply: Option<String>,
        /// Whether it is a subagent that finished.
        subagent: bool,
    },
    /// The session is over.
    Ended {
        /// Why.
        reason: Option<String>,
    },
    /// Something that could not be redacted or written in time. The agent's log has it.
    Omitted {
        /// Number of bytes that the agent gave.
        bytes: u64,
        /// The agent's id of the prompt or of the call.
        id: Option<String>,
    },
    /// Nothing that is worth keeping.
    Other,
}

/// Kind of content that a hook event brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventContent {
    /// What a person asked.
    Prompt,
    /// What a tool did.
    ToolUse,
    /// What the model said.
    Reply,
    /// Nothing of its own: the session is to be summarized.
    Nothing,
}

impl HookInput {
    /// Returns the kind of content that the event brings, by its name alone; `None` for one that is not kept.
    pub fn content_by_name(&self) -> Option<EventContent> {
        match event::meaning_of(&self.event) {
            EventMeaning::Prompted => Some(EventContent::Prompt),
            EventMeaning::ToolUsed(_) | EventMeaning::ToolFailed | EventMeaning::ToolDenied => {
                Some(EventContent::ToolUse)
            }
            EventMeaning::Stopped | EventMeaning::SubagentStopped | EventMeaning::Replied => {
                Some(EventContent::Reply)
            }
            EventMeaning::Compacting | EventMeaning::Ended => Some(EventContent::Nothing),
            EventMeaning::Started | EventMeaning::Nothing => None,
        }
    }

    /// Returns whether the model has finished for now, by the name of the event alone.
    pub fn is_stop_by_name(&self) -> bool {
        let meaning = event::meaning_of(&self.event);
        matches!(
            meaning,
            EventMeaning::Stopped | EventMeaning::SubagentStopped
        )
    }

    /// Returns whether the session is over, by the name of the event alone.
    pub fn is_session_end(&self) -> bool {
        event::meaning_of(&self.event) == EventMeaning::Ended
    }
}

/// Input that is no JSON object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "not a JSON object: {}", self.reason)
    }
}

impl std::error::Error for Unreadable {}

/// Reads what an agent told a hook. `agent` and `event` are what the hook was registered for, if that is known.
///
/// The input has the last word on who speaks where it is certain, for some agents run the hooks of others too.
pub fn read(
    agent: Option<&str>,
    event: Option<&str>,
    input: &[u8],
) -> Result<HookInput, Unreadable> {
    read_with_head(agent, event, input, &mut |_| {})
}

/// Like [`read`], and calls `on_head` with who speaks of what as soon as that is known. To understand what happened takes longer, and
/// may take very long.
pub fn read_with_head(
    agent: Option<&str>,
    event: Option<&str>,
    input: &[u8],
    on_head: &mut dyn FnMut(&HookInput),
) -> Result<HookInput, Unreadable> {
    let input = input.strip_prefix(b"\xef\xbb\xbf").unwrap_or(input);
    let text = String::from_utf8_lossy(input);
    first_object(&text)
        .map(|object| understand(agent, event, &object, on_head))
        .or_else(|error| {
            // Half a character in the name of a field.
            let repaired = repair_surrogates(&text).ok_or(error)?;
            first_object(&repaired).map(|object| understand(agent, event, &object, on_head))
        })
}

/// The object that a text begins with. What follows is not looked at: nothing could change what the object says.
fn first_object(text: &str) -> Result<Object<'_>, Unreadable> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter();
    match values.next() {
        Some(Ok(object)) => Ok(object),
        // What it is instead would be quoted, and whoever logs this must not log what was said.
        Some(Err(error)) if error.is_data() => Err(Unreadable {
            reason: "it is something else".to_string(),
        }),
        Some(Err(error)) => Err(Unreadable {
            reason: error.to_string(),
        }),
        None => Err(Unreadable {
            reason: "there is nothing".to_string(),
        }),
    }
}

fn understand(
    registered: Option<&str>,
    event: Option<&str>,
    input: &Object<'_>,
    on_head: &mut dyn FnMut(&HookInput),
) -> HookInput {
    let agent = recognize_agent(registered, event, input);
    let dialect = agent.hooks;
    let fields = dialect.map_or(&COMMON_FIELDS, HookDialect::fields);
    let said = name(input, fields.event);
    let (meaning, event) = match dialect.is_some_and(HookDialect::names_events_itself) {
        true => event::read_event([said.as_deref(), event]),
        false => event::read_event([event, said.as_deref()]),
    };
    let subagent_log = || name(input, fields.subagent_transcript);
    let transcript = || name(input, fields.transcript);
    let transcript = if meaning == EventMeaning::SubagentStopped {
        subagent_log().or_else(transcript)
    } else {
        transcript()
    };
    let first_folder = || {
        let folders = fields.folders.iter().flat_map(|name| input.list(name));
        let mut folders = folders.filter_map(|raw| string(Some(raw)));
        let first = folders.find(|folder| !folder.is_empty());
        first.map(Cow::into_owned)
    };
    let session = dialect.map(|dialect| dialect.session_id(input, transcript.as_deref()));
    let mut understood = HookInput {
        agent,
        event,
        session: session.flatten(),
        cwd: name(input, fields.cwd).or_else(first_folder),
        at: time(input, fields.time),
        happening: Happening::Other,
        transcript,
    };
    on_head(&understood);
    if let Some(dialect) = dialect {
        understood.happening = read_happening(dialect, meaning, input);
    }
    understood
}

fn read_happening(
    dialect: &dyn HookDialect,
    meaning: EventMeaning,
    input: &Object<'_>,
) -> Happening {
    let fields = dialect.fields();
    let said = |names: &[&str]| text(input, names).and_then(|said| kept(&said));
    match meaning {
        EventMeaning::Started => Happening::Started {
            source: name(input, fields.source),
        },
        EventMeaning::Prompted => {
            let asked = text(input, fields.prompt).and_then(|raw| dialect.prompt_text(&raw));
            match asked {
                Some(text) if !text.is_empty() => Happening::Prompted {
                    text,
                    id: name(input, fields.prompt_id),
                },
                // What programs say in a person's name is no prompt in the log either.
                _ => Happening::Other,
            }
        }
        EventMeaning::ToolUsed(_) | EventMeaning::ToolFailed | EventMeaning::ToolDenied => {
            Happening::ToolUsed(tool::read_tool(dialect, meaning, input))
        }
        EventMeaning::Replied => {
            said(fields.message).map_or(Happening::Other, |text| Happening::Replied { text })
        }
        EventMeaning::Compacting => Happening::Compacting {
            trigger: name(input, fields.trigger),
        },
        EventMeaning::Stopped | EventMeaning::SubagentStopped => Happening::Stopped {
            reply: said(fields.reply),
            subagent: meaning == EventMeaning::SubagentStopped,
        },
        EventMeaning::Ended => Happening::Ended {
            reason: name(input, fields.reason),
        },
        EventMeaning::Nothing => Happening::Other,
    }
}

//! What agents call the events that hooks hear of.

use std::borrow::Cow;

use super::dialect::dialects;
use crate::shared::cut;

/// Maximum length of the name of an event; a longer one is no name.
const MAX_NAME_BYTES: usize = 64;

/// What an event means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventMeaning {
    /// A session began or goes on.
    Started,
    /// A person asked something.
    Prompted,
    /// A tool ran. Where the input does not name it, which one.
    ToolUsed(Option<ImpliedTool>),
    /// A tool ran and failed.
    ToolFailed,
    /// A call was not allowed.
    ToolDenied,
    /// The model said something.
    Replied,
    /// The conversation is about to be summarized.
    Compacting,
    /// The model has finished.
    Stopped,
    /// A subagent has finished.
    SubagentStopped,
    /// The session is over.
    Ended,
    /// Nothing that is kept: it comes again in other events, or is nothing to remember.
    Nothing,
}

/// The tool that an event is about by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImpliedTool {
    /// Name of the tool.
    pub name: &'static str,
    /// Fields of the event that are the tool's input.
    pub fields: &'static [&'static str],
}

/// The name of an event.
#[derive(Debug, Clone, Copy)]
pub struct EventName {
    /// As the agent spells it, in lower case, without underscores and hyphens.
    pub spelled: &'static str,
    /// What it means.
    pub meaning: EventMeaning,
    /// What we call it.
    pub name: &'static str,
}

impl EventName {
    /// An event that is spelled and called so.
    pub(crate) const fn new(
        spelled: &'static str,
        meaning: EventMeaning,
        name: &'static str,
    ) -> Self {
        EventName {
            spelled,
            meaning,
            name,
        }
    }
}

/// Names that several agents use. These are what we call events, too.
const COMMON_EVENTS: &[EventName] = &[
    EventName::new("posttooluse", EventMeaning::ToolUsed(None), "PostToolUse"),
    EventName::new(
        "posttoolusefailure",
        EventMeaning::ToolFailed,
        "PostToolUseFailure",
    ),
    EventName::new(
        "permissiondenied",
        EventMeaning::ToolDenied,
        "PermissionDenied",
    ),
    EventName::new(
        "userpromptsubmit",
        EventMeaning::Prompted,
        "UserPromptSubmit",
    ),
    EventName::new("sessionstart", EventMeaning::Started, "SessionStart"),
    EventName::new("sessionend", EventMeaning::Ended, "SessionEnd"),
    EventName::new("stop", EventMeaning::Stopped, "Stop"),
    EventName::new(
        "subagentstop",
        EventMeaning::SubagentStopped,
        "SubagentStop",
    ),
    EventName::new("precompact", EventMeaning::Compacting, "PreCompact"),
    EventName::new("pretooluse", EventMeaning::Nothing, "PreToolUse"),
    EventName::new(
        "permissionrequest",
        EventMeaning::Nothing,
        "PermissionRequest",
    ),
    EventName::new("notification", EventMeaning::Nothing, "Notification"),
    EventName::new("subagentstart", EventMeaning::Nothing, "SubagentStart"),
    EventName::new("postcompact", EventMeaning::Nothing, "PostCompact"),
    EventName::new("stopfailure", EventMeaning::Nothing, "StopFailure"),
];

/// What an event means and what we call it: by the first of these names that is known.
pub(super) fn read_event(names: [Option<&str>; 2]) -> (EventMeaning, Cow<'static, str>) {
    match names.into_iter().flatten().find_map(find_event) {
        Some(event) => (event.meaning, Cow::Borrowed(event.name)),
        None => {
            let name = names[0].or(names[1]).filter(|name| is_name(name));
            let name = cut(name.unwrap_or_default(), MAX_NAME_BYTES);
            (EventMeaning::Nothing, Cow::Owned(name.to_string()))
        }
    }
}

/// Returns what an event of this name means.
pub(crate) fn meaning_of(name: &str) -> EventMeaning {
    find_event(name).map_or(EventMeaning::Nothing, |event| event.meaning)
}

/// Whether an event could be called so. Names are logged, and whatever else stands in their place is nobody's business.
fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-');
    text.bytes().all(is_part)
}

/// The event of this name, of whichever agent: agents run hooks that were registered by others.
fn find_event(name: &str) -> Option<&'static EventName> {
    let letters = || name.bytes().filter(|byte| !matches!(byte, b'_' | b'-'));
    let is_spelled = |event: &&EventName| {
        let letters = letters().map(|byte| byte.to_ascii_lowercase());
        letters.eq(event.spelled.bytes())
    };
    let of_agents = dialects().flat_map(|(_, dialect)| dialect.events());
    COMMON_EVENTS.iter().chain(of_agents).find(is_spelled)
}

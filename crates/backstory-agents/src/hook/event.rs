//! What agents call the events that hooks hear of.

use std::borrow::Cow;

use crate::shared::cut;

/// No event has a longer name; a longer one is no name.
const MOST_BYTES: usize = 64;

/// What an event tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    Started,
    Prompted,
    ToolUsed,
    ToolFailed,
    /// Cursor tells of edits and commands by themselves.
    FileEdited,
    ShellRan,
    Replied,
    Compacting,
    Stopped,
    SubagentStopped,
    Ended,
    Nothing,
}

/// Events as agents spell them, without regard to case and underscores; what they tell; and what we call them.
const EVENTS: &[(&str, Told, &str)] = &[
    ("posttooluse", Told::ToolUsed, "PostToolUse"),
    ("aftertool", Told::ToolUsed, "PostToolUse"),
    ("aftermcpexecution", Told::ToolUsed, "PostToolUse"),
    ("afterfileedit", Told::FileEdited, "PostToolUse"),
    ("aftershellexecution", Told::ShellRan, "PostToolUse"),
    ("posttoolusefailure", Told::ToolFailed, "PostToolUseFailure"),
    ("userpromptsubmit", Told::Prompted, "UserPromptSubmit"),
    ("beforeagent", Told::Prompted, "UserPromptSubmit"),
    ("beforesubmitprompt", Told::Prompted, "UserPromptSubmit"),
    ("sessionstart", Told::Started, "SessionStart"),
    ("sessionend", Told::Ended, "SessionEnd"),
    ("stop", Told::Stopped, "Stop"),
    ("afteragent", Told::Stopped, "Stop"),
    ("stopcancelled", Told::Stopped, "StopCancelled"),
    ("subagentstop", Told::SubagentStopped, "SubagentStop"),
    ("subagentend", Told::SubagentStopped, "SubagentStop"),
    ("precompact", Told::Compacting, "PreCompact"),
    ("precompress", Told::Compacting, "PreCompact"),
    ("afteragentresponse", Told::Replied, "AfterAgentResponse"),
    // What these tell comes again in others, or is nothing to remember.
    ("pretooluse", Told::Nothing, "PreToolUse"),
    ("beforetool", Told::Nothing, "PreToolUse"),
    ("beforeshellexecution", Told::Nothing, "PreToolUse"),
    ("beforemcpexecution", Told::Nothing, "PreToolUse"),
    ("beforereadfile", Told::Nothing, "PreToolUse"),
    ("permissionrequest", Told::Nothing, "PermissionRequest"),
    ("permissiondenied", Told::Nothing, "PermissionDenied"),
    ("notification", Told::Nothing, "Notification"),
    ("subagentstart", Told::Nothing, "SubagentStart"),
    ("postcompact", Told::Nothing, "PostCompact"),
    ("beforemodel", Told::Nothing, "BeforeModel"),
    ("aftermodel", Told::Nothing, "AfterModel"),
    ("beforetoolselection", Told::Nothing, "BeforeToolSelection"),
    ("afteragentthought", Told::Nothing, "AfterAgentThought"),
    ("stopfailure", Told::Nothing, "StopFailure"),
];

/// What an event tells and what we call it: by the first of these names that is known.
pub(super) fn of(names: [Option<&str>; 2]) -> (Told, Cow<'static, str>) {
    match names.into_iter().flatten().find_map(known) {
        Some((told, name)) => (told, Cow::Borrowed(name)),
        None => {
            let name = names[0].or(names[1]).filter(|name| is_name(name));
            let name = cut(name.unwrap_or_default(), MOST_BYTES);
            (Told::Nothing, Cow::Owned(name.to_string()))
        }
    }
}

/// Returns what an event of this name tells.
pub(super) fn told_by(name: &str) -> Told {
    known(name).map_or(Told::Nothing, |(told, _)| told)
}

/// Whether only Gemini calls an event so.
pub(super) fn is_gemini(event: &str) -> bool {
    matches!(
        event,
        "BeforeAgent"
            | "AfterAgent"
            | "BeforeTool"
            | "AfterTool"
            | "BeforeModel"
            | "AfterModel"
            | "BeforeToolSelection"
            | "PreCompress"
    )
}

/// Whether an event could be called so. Names are logged, and whatever else stands in their place is nobody's business.
fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-');
    text.bytes().all(is_part)
}

fn known(event: &str) -> Option<(Told, &'static str)> {
    let letters = || event.bytes().filter(|byte| !matches!(byte, b'_' | b'-'));
    let found = EVENTS.iter().find(|(spelled, ..)| {
        letters()
            .map(|byte| byte.to_ascii_lowercase())
            .eq(spelled.bytes())
    });
    found.map(|(_, told, name)| (*told, *name))
}

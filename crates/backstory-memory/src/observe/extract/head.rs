//! What a tool did, by what it was asked alone: nothing that it answered is in here.

use backstory_event::Action;
use serde_json::Value;

use super::lines::{Order, cut};
use crate::digest::{is_go_on, is_of_a_person};
use crate::observe::{ObservationSource, ToolUse};

/// Tools that keep an agent's own books, or wait.
const BOOKKEEPING: &[&str] = &[
    "todowrite",
    "todo_write",
    "update_plan",
    "taskcreate",
    "taskupdate",
    "tasklist",
    "taskget",
    "taskstop",
    "toolsearch",
    "skill",
    "killbash",
    "killshell",
    "wait",
    "wait_agent",
    "list_agents",
    "listagents",
    "interrupt_agent",
    "close_agent",
    "exitplanmode",
    "enterplanmode",
    "sleep",
];

/// What says most of what a tool was asked, by the names that agents have for it; the first that is there counts.
const ASKED: [&str; 16] = [
    "pattern",
    "query",
    "url",
    "description",
    "question",
    "title",
    "subject",
    "path",
    "target_directory",
    "name",
    "task_name",
    "id",
    "prompt",
    "message",
    "text",
    "input",
];

/// What was done.
pub(crate) struct Head {
    verb: String,
    /// To what, shortly and at length.
    short: String,
    long: String,
    quoted: bool,
    /// Whether it changed files.
    pub(super) writes: bool,
    /// Which lines of the output tell most.
    pub(super) order: Order,
}

impl Head {
    pub(crate) fn of(tool_use: &ToolUse, input: &Value) -> Self {
        if tool_use.writes() {
            return Head::touching(tool_use, |action| action != Action::Read);
        }
        if let Some(command) = &tool_use.command {
            let line = command.trim();
            let line = line.lines().next().unwrap_or_default();
            return Head {
                verb: "ran".to_string(),
                short: line.to_string(),
                long: line.to_string(),
                quoted: true,
                writes: false,
                order: Order::Last,
            };
        }
        let tool = bare(&tool_use.tool);
        let asked = asked(input);
        let is_search = input.get("pattern").is_some() || tool.contains("search") || tool == "grep";
        if !is_search && !tool_use.touches.is_empty() {
            return Head::touching(tool_use, |_| true);
        }
        let verb = if input.get("url").is_some() {
            "fetched".to_string()
        } else if is_search && !tool_use.tool.contains("__") {
            "searched".to_string()
        } else if input.get("subagent_type").is_some() {
            "asked an agent:".to_string()
        } else if asked.is_empty() {
            "called".to_string()
        } else {
            format!("called {}:", tool_use.tool)
        };
        let quoted = verb == "searched";
        let asked = match asked.is_empty() {
            true => tool_use.tool.clone(),
            false => asked,
        };
        Head {
            verb,
            short: asked.clone(),
            long: asked,
            quoted,
            writes: false,
            order: Order::First,
        }
    }

    fn touching(tool_use: &ToolUse, is_meant: impl Fn(Action) -> bool) -> Self {
        let mut touches: Vec<_> = tool_use
            .touches
            .iter()
            .filter(|touch| is_meant(touch.action))
            .collect();
        touches.dedup_by(|a, b| a.path == b.path);
        let verb = match touches.first().map(|touch| touch.action) {
            Some(Action::Delete) => "deleted",
            Some(Action::Write) if bare(&tool_use.tool) == "write" => "wrote",
            Some(Action::Write) => "edited",
            _ => "read",
        };
        let names = |parts: usize| {
            let names: Vec<&str> = touches
                .iter()
                .map(|touch| last_parts(&touch.path, parts))
                .collect();
            names.join(", ")
        };
        Head {
            verb: verb.to_string(),
            short: names(1),
            long: names(3),
            quoted: false,
            writes: verb != "read",
            order: Order::First,
        }
    }

    /// About ten tokens.
    pub(crate) fn title(&self, failed: bool, most: usize) -> String {
        self.told(&self.short, failed, most)
    }

    /// With whole paths.
    pub(crate) fn line(&self, failed: bool, most: usize) -> String {
        self.told(&self.long, failed, most)
    }

    fn told(&self, what: &str, failed: bool, most: usize) -> String {
        // Of a command, what it is comes before that it failed; of all else, that it failed comes first.
        let (before, after) = match (failed, self.quoted) {
            (true, true) => (String::new(), " failed"),
            (true, false) => (format!("failed: {} ", self.verb), ""),
            (false, _) => (format!("{} ", self.verb), ""),
        };
        let quote = if self.quoted { "`" } else { "" };
        let room = most.saturating_sub(before.len() + after.len() + 2 * quote.len());
        let what = cut(what, room);
        format!("{before}{quote}{what}{quote}{after}")
            .trim_end()
            .to_string()
    }
}

/// Whether something is worth an observation: a prompt that a person wrote, a tool use that changed or showed something.
pub(crate) fn is_telling(source: &ObservationSource) -> bool {
    match source {
        ObservationSource::ToolUse(tool_use) => is_telling_use(tool_use),
        ObservationSource::Prompt(prompt) => {
            !prompt.is_headless && is_of_a_person(&prompt.text) && !is_go_on(&prompt.text)
        }
    }
}

fn is_telling_use(tool_use: &ToolUse) -> bool {
    let tool = bare(&tool_use.tool);
    if BOOKKEEPING.contains(&tool.as_str()) || is_own(tool_use) {
        return false;
    }
    tool_use.command.is_some() || tool_use.writes() || !tool_use.output.trim().is_empty()
}

/// Whether Backstory itself was asked: what it answers is memory already.
fn is_own(tool_use: &ToolUse) -> bool {
    let command = tool_use.command.as_deref().unwrap_or_default();
    let program = crate::digest::program(command);
    let is_ours = |word: &str| word.rsplit('/').next() == Some("backstory");
    program.split(' ').next().is_some_and(is_ours) || tool_use.tool.contains("__backstory__")
}

/// The name of a tool without the server or group that it is of.
fn bare(tool: &str) -> String {
    let bare = tool.rsplit("__").next().unwrap_or(tool);
    bare.rsplit('.').next().unwrap_or(bare).to_ascii_lowercase()
}

fn asked(input: &Value) -> String {
    let Some(fields) = input.as_object() else {
        return String::new();
    };
    let text = |value: &Value| match value {
        Value::String(text) => text
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .map(str::to_string),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let named = ASKED.iter().filter_map(|name| fields.get(*name));
    named
        .chain(fields.values())
        .find_map(text)
        .unwrap_or_default()
}

/// The last parts of a path.
fn last_parts(path: &str, parts: usize) -> &str {
    let is_end = |letter: char| letter == '/' || letter == '\\';
    let trimmed = path.trim_end_matches(is_end);
    let ends = trimmed
        .char_indices()
        .rev()
        .filter(|(_, letter)| is_end(*letter));
    match ends.map(|(at, _)| at).nth(parts.saturating_sub(1)) {
        Some(at) => &trimmed[at + 1..],
        None => trimmed,
    }
}

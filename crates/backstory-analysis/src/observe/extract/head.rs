//! Description of a tool use by its request alone: nothing of its output is in here.

use backstory_event::{Action, ToolDeed};

use super::lines::{Order, cut};
use crate::AgentConventions;
use crate::digest::{is_go_on, is_of_a_person};
use crate::observe::{ObservationSource, ToolUse};

/// Description of a tool use, from which titles and summaries are made.
pub(crate) struct Head {
    verb: String,
    /// To what, shortly and at length.
    short: String,
    long: String,
    quoted: bool,
    /// True if it changed files.
    pub(super) writes: bool,
    /// Order of lines of the output with the same score.
    pub(super) order: Order,
}

impl Head {
    pub(crate) fn of(tool_use: &ToolUse, agents: &AgentConventions) -> Self {
        if tool_use.writes() {
            return Head::touching(tool_use, agents, |action| action != Action::Read);
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
        let tool = &tool_use.tool;
        let request = (agents.tool_request)(tool, &tool_use.input);
        if !request.is_search && !tool_use.touches.is_empty() {
            return Head::touching(tool_use, agents, |_| true);
        }
        let asked = request.asked_line;
        let verb = match request.deed {
            ToolDeed::Fetched => "fetched".to_string(),
            ToolDeed::Searched => "searched".to_string(),
            ToolDeed::Delegated => "asked an agent:".to_string(),
            ToolDeed::Called if asked.is_empty() => "called".to_string(),
            ToolDeed::Called => format!("called {tool}:"),
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

    fn touching(
        tool_use: &ToolUse,
        agents: &AgentConventions,
        is_meant: impl Fn(Action) -> bool,
    ) -> Self {
        let mut touches: Vec<_> = tool_use
            .touches
            .iter()
            .filter(|touch| is_meant(touch.action))
            .collect();
        touches.dedup_by(|a, b| a.path == b.path);
        let verb = match touches.first().map(|touch| touch.action) {
            Some(Action::Delete) => "deleted",
            Some(Action::Write) if (agents.is_whole_writer)(&tool_use.tool) => "wrote",
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

/// Returns whether something is worth an observation: a prompt that a person wrote, a tool use that changed or showed something.
pub fn is_telling(source: &ObservationSource, agents: &AgentConventions) -> bool {
    match source {
        ObservationSource::ToolUse(tool_use) => is_telling_use(tool_use, agents),
        ObservationSource::Prompt(prompt) => {
            !prompt.is_headless && is_of_a_person(&prompt.text, agents) && !is_go_on(&prompt.text)
        }
    }
}

fn is_telling_use(tool_use: &ToolUse, agents: &AgentConventions) -> bool {
    if (agents.is_bookkeeping_tool)(&tool_use.tool) || is_own(tool_use) {
        return false;
    }
    tool_use.command.is_some() || tool_use.writes() || !tool_use.output.trim().is_empty()
}

/// Returns whether the call asks Backstory itself, whose answers are memory already.
fn is_own(tool_use: &ToolUse) -> bool {
    let command = tool_use.command.as_deref().unwrap_or_default();
    let program = crate::digest::program(command);
    let is_ours = |word: &str| word.rsplit('/').next() == Some("backstory");
    program.split(' ').next().is_some_and(is_ours) || tool_use.tool.contains("__backstory__")
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

//! Notes of one event, whatever the session: everything that has to be parsed or matched.

use backstory_event::{Action, Event, Kind, UserAnswer};

use super::command::{self, CommandKind};
use super::notes::shortened;
use super::output;
use super::trouble;
use crate::AgentConventions;

/// Characters that are kept of a prompt, reply or command, of its beginning and of its end.
const PROMPT: (usize, usize) = (500, 200);
const REPLY: (usize, usize) = (500, 900);
const COMMAND: (usize, usize) = (160, 40);

/// Note of one event, before it is joined with others.
pub enum PreparedNote {
    /// A prompt, shortened.
    Prompt(String),
    /// A reply, shortened.
    Reply(String),
    /// A tool call.
    Call(PreparedCall),
    /// A tool's result.
    Result(PreparedResult),
    /// The user stopped the agent.
    Interrupted,
    /// The agent's history was replaced by a summary of it.
    Compacted,
    /// The event is not noted.
    Nothing,
}

/// A tool call.
pub struct PreparedCall {
    pub(super) tool: String,
    /// Files that it writes.
    pub(super) paths: Vec<String>,
    pub(super) command: Option<CommandKind>,
    /// The command, or the first file.
    pub(super) target: String,
    /// Title of the plan that it presents to the user.
    pub(super) plan: Option<String>,
}

/// A tool's result.
pub struct PreparedResult {
    pub(super) tool: String,
    pub(super) failed: bool,
    pub(super) denied: bool,
    /// The user's words in it.
    pub(super) answers: Vec<UserAnswer>,
    pub(super) interrupted: bool,
    pub(super) in_background: bool,
    pub(super) duration_ms: Option<i64>,
    /// Tests that passed and that failed, if the call may have run any.
    pub(super) tests: Option<(u64, u64)>,
    /// True if a build or test run says that it failed.
    pub(super) looks_broken: bool,
    /// The line that tells most of what went wrong, if anything may have.
    pub(super) trouble: Option<String>,
    pub(super) commit: Option<String>,
    pub(super) address: Option<String>,
}

impl PreparedNote {
    /// Prepares an event. Of a result whose call is not at hand, everything is prepared that any call may need.
    pub fn new(event: &Event, call: Option<&Event>, agents: &AgentConventions) -> Self {
        let text = event.body.text.as_str();
        match event.kind {
            Kind::Prompt => PreparedNote::Prompt(shortened(text, PROMPT)),
            Kind::Reply if !text.trim().is_empty() => PreparedNote::Reply(shortened(text, REPLY)),
            Kind::ToolCall => PreparedNote::Call(PreparedCall::new(event)),
            Kind::ToolResult => PreparedNote::Result(PreparedResult::new(event, call, agents)),
            Kind::Summary if event.body.marks.compacted => PreparedNote::Compacted,
            Kind::System if event.body.marks.interrupted => PreparedNote::Interrupted,
            _ => PreparedNote::Nothing,
        }
    }
}

impl PreparedCall {
    fn new(event: &Event) -> Self {
        let written = event.touches.iter();
        let mut paths: Vec<String> = written
            .filter(|touch| touch.action != Action::Read)
            .map(|touch| touch.path.clone())
            .collect();
        paths.sort_unstable();
        paths.dedup();
        let command = event.body.command.as_deref();
        let first_path = event.touches.first().map(|touch| touch.path.as_str());
        PreparedCall {
            tool: event.tool.clone().unwrap_or_default(),
            paths,
            command: command.map(command::kind),
            target: shortened(command.or(first_path).unwrap_or_default(), COMMAND),
            plan: event.body.plan.clone(),
        }
    }
}

impl PreparedResult {
    fn new(event: &Event, call: Option<&Event>, agents: &AgentConventions) -> Self {
        let text = event.body.text.as_str();
        let kind = call.and_then(|call| call.body.command.as_deref().map(command::kind));
        let may_be = |wanted: CommandKind| call.is_none() || kind == Some(wanted);
        let failed = event.error || event.exit_code.is_some_and(|code| code != 0);
        let tests = may_be(CommandKind::Test)
            .then(|| output::tests(text))
            .flatten();
        let looks_broken =
            (may_be(CommandKind::Test) || may_be(CommandKind::Build)) && output::looks_broken(text);
        let is_trouble = failed || looks_broken || tests.is_some_and(|(_, failed)| failed > 0);
        PreparedResult {
            tool: event.tool.clone().unwrap_or_default(),
            failed,
            denied: event.body.marks.denied,
            answers: event.body.user_answers.clone(),
            interrupted: event.body.marks.interrupted,
            in_background: event.body.in_background,
            duration_ms: event.duration_ms,
            tests,
            looks_broken,
            trouble: is_trouble.then(|| trouble::telling(text, agents)),
            commit: may_be(CommandKind::Commit)
                .then(|| output::commit(text))
                .flatten(),
            address: may_be(CommandKind::PullRequest)
                .then(|| output::address(text))
                .flatten(),
        }
    }
}

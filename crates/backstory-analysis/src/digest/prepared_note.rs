//! Notes of one event, whatever the session: everything that has to be parsed or matched.

use backstory_event::{Action, Event, Kind, UserAnswer};

use super::command::{self, CommandKind};
use super::notes::shortened;
use super::run_parts::{RunPart, judged_parts};
use super::trouble;
use crate::AgentConventions;
use crate::commands::LineResult;

/// Characters that are kept of a prompt, reply or command, of its beginning and of its end.
const PROMPT: (usize, usize) = (500, 200);
const REPLY: (usize, usize) = (500, 900);
const COMMAND: (usize, usize) = (160, 40);

/// Note of one event, before it is joined with others.
pub enum PreparedNote {
    /// A prompt, shortened.
    Prompt {
        /// Its text, shortened.
        text: String,
        /// Git branch on which its turn begins, if it says.
        branch: Option<String>,
    },
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
    /// The whole command line, if there may be a check or a delivery in it.
    pub(super) line: Option<String>,
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
    /// The line that tells most of what went wrong, if anything did.
    pub(super) trouble: Option<String>,
    /// Checks and deliveries of the command, if it is at hand.
    pub(super) parts: Option<Vec<RunPart>>,
    /// What they are judged by, if it is not.
    pub(super) output: CommandOutput,
}

/// Output of a command whose call is not at hand.
#[derive(Default)]
pub(super) struct CommandOutput {
    text: String,
    exit_code: Option<i32>,
    has_failed: bool,
}

impl CommandOutput {
    pub(super) fn as_line_result(&self) -> LineResult<'_> {
        LineResult {
            output: &self.text,
            exit_code: self.exit_code,
            has_failed: self.has_failed,
        }
    }
}

impl PreparedNote {
    /// Prepares an event. Of a result whose call is not at hand, everything is prepared that any call may need.
    pub fn new(event: &Event, call: Option<&Event>, agents: &AgentConventions) -> Self {
        let text = event.body.text.as_str();
        match event.kind {
            Kind::Prompt => PreparedNote::Prompt {
                text: shortened(text, PROMPT),
                branch: (event.body.context.as_ref()).and_then(|context| context.branch.clone()),
            },
            Kind::Reply if !text.trim().is_empty() => {
                // What it quotes goes first: of a shortened block nobody knows that it is one.
                let prose: Vec<&str> = crate::text::prose_lines(text).collect();
                PreparedNote::Reply(shortened(&prose.join("\n"), REPLY))
            }
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
            line: command
                .filter(|line| may_have_parts(line))
                .map(str::to_string),
        }
    }
}

impl PreparedResult {
    fn new(event: &Event, call: Option<&Event>, agents: &AgentConventions) -> Self {
        let failed = event.error || event.exit_code.is_some_and(|code| code != 0);
        let output = (agents.unframed_output)(&event.body.text);
        let exit_code = event.exit_code.and_then(|code| i32::try_from(code).ok());
        let line = call.and_then(|call| call.body.command.as_deref());
        let parts = line.map(|line| {
            let result = LineResult {
                output,
                exit_code,
                has_failed: event.error,
            };
            match may_have_parts(line) {
                true => judged_parts(line, result),
                false => Vec::new(),
            }
        });
        let output = match call {
            Some(_) => CommandOutput::default(),
            None => CommandOutput {
                text: output.to_string(),
                exit_code,
                has_failed: event.error,
            },
        };
        PreparedResult {
            tool: event.tool.clone().unwrap_or_default(),
            failed,
            denied: event.body.marks.denied,
            answers: event.body.user_answers.clone(),
            interrupted: event.body.marks.interrupted,
            in_background: event.body.in_background,
            duration_ms: event.duration_ms,
            trouble: failed.then(|| trouble::telling(&event.body.text, agents)),
            parts,
            output,
        }
    }
}

/// Words, one of which every check or delivery has.
#[rustfmt::skip]
const PART_WORDS: &[&str] = &[
    "test", "check", "lint", "build", "fmt", "format", "clippy", "cargo", "go ", "npm", "pnpm", "yarn", "bun", "deno", "tsc", "eslint", "biome",
    "prettier", "ruff", "black", "mypy", "pyright", "flake8", "gradle", "mvn", "make", "just", "task", "mise", "jest", "mocha", "playwright",
    "cypress", "tox", "nox", "rspec", "rubocop", "rake", "phpunit", "phpstan", "composer", "dotnet", "swift", "xcodebuild", "mix", "sbt", "bazel",
    "zig", "docker", "podman", "pre-commit", "hadolint", "terraform", "tofu", "ninja", "commit", "push", "merge", "tag", "release", "publish", "git",
    "gh ", "glab", "hub ", "jj ", "hg ", "vue", "webpack", "vite", "next", "hugo", "uv ", "poetry",
];

/// Returns whether a line may have a check or a delivery: most have none, and need not be parsed.
fn may_have_parts(line: &str) -> bool {
    PART_WORDS
        .iter()
        .any(|word| memchr::memmem::find(line.as_bytes(), word.as_bytes()).is_some())
}

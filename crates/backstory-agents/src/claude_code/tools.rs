//! What tool calls ask for and how they end.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::twin::Twin;
use crate::shared::{command_column, cut, string};
use backstory_event::{Action, ToolClass, Touch};

/// Tools that keep the agent's own books, or wait.
pub(crate) const BOOKKEEPING_TOOLS: &[&str] = &[
    "todowrite",
    "taskcreate",
    "taskupdate",
    "tasklist",
    "taskget",
    "taskstop",
    "toolsearch",
    "skill",
    "killbash",
    "killshell",
    "listagents",
    "exitplanmode",
    "enterplanmode",
    "sleep",
];

/// What a tool was asked, as far as it names commands and files.
#[derive(Debug, Default)]
pub(crate) struct Input {
    pub(crate) command: Option<String>,
    pub(crate) touches: Vec<Touch>,
}

/// Reads the input of a tool call.
pub(crate) fn input(tool: &str, raw: Option<&RawValue>) -> Input {
    let input = raw.map(ToolInput::parse).unwrap_or_default();
    Input {
        command: input.command_column(),
        touches: input.touches(tool),
    }
}

/// The fields of a tool's input that are needed, still raw.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ToolInput<'a> {
    #[serde(borrow, rename = "command")]
    raw_command: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) file_path: Option<&'a RawValue>,
    #[serde(borrow)]
    notebook_path: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) old_string: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) new_string: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) replace_all: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) edits: Option<&'a RawValue>,
    #[serde(borrow)]
    plan: Option<&'a RawValue>,
    /// The input as it is written.
    #[serde(skip)]
    raw: Option<&'a RawValue>,
    /// The shell command, decoded.
    #[serde(skip)]
    pub(super) command: Option<Cow<'a, str>>,
}

/// Tool that presents a plan to the user, in newer and older logs.
const PLAN_TOOLS: [&str; 2] = ["ExitPlanMode", "exit_plan_mode"];

/// Maximum length of a plan's title.
const MAX_TITLE_BYTES: usize = 200;

impl<'a> ToolInput<'a> {
    /// Returns the title of the plan that a tool presents to the user; empty where the call does not have the plan.
    pub(super) fn plan_title(&self, tool: &str) -> Option<String> {
        PLAN_TOOLS.contains(&tool).then(|| {
            let plan = string(self.plan).unwrap_or_default();
            let line = plan.lines().map(str::trim).find(|line| !line.is_empty());
            let title = line.unwrap_or_default().trim_start_matches(['#', ' ']);
            cut(title, MAX_TITLE_BYTES).to_string()
        })
    }

    pub(super) fn parse(raw: &'a RawValue) -> Self {
        let fields = match raw.get().starts_with('{') {
            true => serde_json::from_str(raw.get()).unwrap_or_default(),
            false => ToolInput::default(),
        };
        ToolInput {
            raw: Some(raw),
            command: string(fields.raw_command),
            ..fields
        }
    }

    /// What is said of the call: its command, else all of its input.
    pub(super) fn text(&self) -> String {
        match (&self.command, self.raw) {
            (Some(command), _) => command.to_string(),
            (None, Some(raw)) => raw.get().to_string(),
            (None, None) => String::new(),
        }
    }

    /// The whole input, where the text is only its command.
    pub(super) fn arguments(&self) -> Option<String> {
        let raw = self.raw.filter(|_| self.command.is_some());
        raw.map(|raw| raw.get().to_string())
    }

    pub(super) fn command_column(&self) -> Option<String> {
        self.command.as_deref().and_then(command_column)
    }

    pub(super) fn touches(&self, tool: &str) -> Vec<Touch> {
        let action = match tool_class(tool) {
            ToolClass::Write => Action::Write,
            _ => Action::Read,
        };
        let path = string(self.file_path).or_else(|| string(self.notebook_path));
        let touch = path.map(|path| Touch {
            path: path.into_owned(),
            action,
        });
        touch.into_iter().collect()
    }
}

/// How a tool call ended.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) error: bool,
    pub(super) exit_code: Option<i64>,
    pub(super) duration_ms: Option<i64>,
}

/// Reads the end of a tool call from the text that the model saw and from its structured twin.
pub(super) fn outcome(text: &str, error: bool, twin: Option<&Twin<'_>>) -> Outcome {
    // A failed command says its code first; one that succeeded has a twin and no remark about its code.
    let text = text.trim_start();
    let said = text
        .strip_prefix("Exit code ")
        .or_else(|| text.strip_prefix("Error: Exit code "))
        .filter(|_| error);
    let exit_code = said
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|code| code.parse().ok());
    let ran_well = !error && twin.is_some_and(Twin::is_of_finished_command);
    Outcome {
        error,
        exit_code: exit_code.or(ran_well.then_some(0)),
        duration_ms: twin.and_then(Twin::duration_ms),
    }
}

/// Returns the class of a tool of Claude Code, or of one that Anthropic's servers run.
pub(super) fn tool_class(tool: &str) -> ToolClass {
    match tool {
        "Read" | "NotebookRead" | "LS" => ToolClass::Read,
        "Edit" | "MultiEdit" | "NotebookEdit" | "Write" => ToolClass::Write,
        "Glob" | "Grep" | "LSP" => ToolClass::Search,
        "Bash"
        | "BashOutput"
        | "KillBash"
        | "KillShell"
        | "Monitor"
        | "PowerShell"
        | "bash_code_execution"
        | "code_execution" => ToolClass::Run,
        "WebFetch" | "WebSearch" | "web_fetch" | "web_search" => ToolClass::Web,
        "Agent" | "AgentOutputTool" | "ListAgents" | "SendMessage" | "Task" | "TaskOutput"
        | "TaskStop" | "TeamCreate" | "TeamDelete" | "Workflow" | "advisor" => ToolClass::Agent,
        "EnterPlanMode" | "ExitPlanMode" | "TaskCreate" | "TaskGet" | "TaskList" | "TaskUpdate"
        | "TodoRead" | "TodoWrite" | "exit_plan_mode" => ToolClass::Plan,
        "ListMcpResourcesTool" | "ReadMcpResourceDirTool" | "ReadMcpResourceTool" => ToolClass::Mcp,
        _ if tool.starts_with("mcp__") => ToolClass::Mcp,
        _ => ToolClass::Other,
    }
}

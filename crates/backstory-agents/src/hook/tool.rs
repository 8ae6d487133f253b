//! What a tool was asked and what it did, by the tables of the readers where there is a reader.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::event::Told;
use super::fields::{name, number, text, value};
use super::output::outcome;
use super::shorten::compact;
use super::{Agent, Happening, HookInput};
use crate::object::{Object, string};
use crate::shared::{command_column, kept};
use crate::{claude_code, codex, grok};
use backstory_event::{Action, Touch};

/// A tool that ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolUse {
    /// What the agent calls the tool; empty when it does not say.
    pub name: String,
    /// The agent's id of the call, by which logs join call and result.
    pub id: Option<String>,
    /// What it was asked, as JSON without white space.
    pub input: String,
    /// What it answered, as text.
    pub output: Option<String>,
    /// The shell command that it ran, cut as the readers cut it; the whole of it is in the input.
    pub command: Option<String>,
    /// The files that it names. Relative paths are below the working directory.
    pub touches: Vec<Touch>,
    /// The text of the touched file before, where the agent tells; empty for a file that was not there.
    pub before: Option<String>,
    /// Whether it failed.
    pub error: bool,
    /// How long it took.
    pub duration_ms: Option<i64>,
}

impl HookInput {
    /// Takes the command of a tool again from what it was asked, for those who took secrets out of that: of one that the command
    /// was cut in, only half was there to be recognised.
    pub fn renew_command(&mut self) {
        if let Happening::ToolUsed(tool) = &mut self.happening
            && tool.command.is_some()
        {
            tool.command = effects(self.agent, &tool.name, &tool.input).command;
        }
    }
}

/// Reads what was told of a tool.
pub(super) fn of(agent: Agent, told: Told, input: &Object<'_>) -> ToolUse {
    const RESPONSES: [&str; 8] = [
        "tool_response",
        "toolResponse",
        "tool_result",
        "toolResult",
        "tool_output",
        "toolOutput",
        "result_json",
        "output",
    ];
    const ERRORS: [&str; 3] = ["error", "error_message", "errorMessage"];
    let tool = name(input, &["tool_name", "toolName"]).unwrap_or_else(|| {
        // As Cursor calls these when it tells of all tools alike.
        let tool = match told {
            Told::FileEdited => "Write",
            Told::ShellRan => "Shell",
            _ => "",
        };
        tool.to_string()
    });
    let asked = asked(told, input);
    let outcome = outcome(agent, value(input, &RESPONSES));
    let failed = told == Told::ToolFailed;
    let effects = effects(agent, &tool, &asked);
    let duration = number(input, &["duration_ms", "durationMs", "duration"]);
    ToolUse {
        name: effects.name.unwrap_or(tool),
        id: name(input, &["tool_use_id", "toolUseId"]),
        output: outcome.text.or_else(|| {
            let error = text(input, &ERRORS).filter(|_| failed)?;
            kept(&error)
        }),
        command: effects.command,
        touches: effects.touches,
        before: outcome.before,
        error: failed || outcome.error,
        duration_ms: duration
            .map(|duration| duration as i64)
            .or(outcome.duration_ms),
        input: asked,
    }
}

/// What the tool was asked, as JSON.
fn asked(told: Told, input: &Object<'_>) -> String {
    if let Some(given) = value(input, &["tool_input", "toolInput"]) {
        // Some give JSON within a string.
        let within = string(given).filter(|text| Object::parse(text).is_ok());
        return compact(within.as_deref().unwrap_or(given.get()));
    }
    // Cursor has these beside everything else.
    let names: &[&str] = match told {
        Told::FileEdited => &["file_path", "edits"],
        Told::ShellRan => &["command"],
        _ => &[],
    };
    let fields = names.iter().filter_map(|name| {
        let raw = input.get(name)?;
        Some(format!("\"{name}\":{}", compact(raw.get())))
    });
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

/// What can be told of a call by its tool and input.
#[derive(Default)]
struct Effects {
    /// The tool's name, where the input tells it better.
    name: Option<String>,
    command: Option<String>,
    touches: Vec<Touch>,
}

fn effects(agent: Agent, tool: &str, input: &str) -> Effects {
    match agent {
        Agent::ClaudeCode => {
            let raw: Option<&RawValue> = serde_json::from_str(input).ok();
            let asked = claude_code::tools::input(tool, raw);
            Effects {
                name: None,
                command: asked.command,
                touches: asked.touches,
            }
        }
        Agent::Codex => of_codex(tool, input),
        Agent::Grok => {
            let call = grok::tools::call(tool, "", input, &[]);
            Effects {
                name: Some(call.tool),
                command: call.command,
                touches: call.touches,
            }
        }
        Agent::Gemini | Agent::Cursor => of_table(tool, input),
    }
}

/// Hooks of Codex know its shells as `Bash` and get patches as a command.
fn of_codex(tool: &str, input: &str) -> Effects {
    let fields = Object::parse(input).ok();
    let command = fields.as_ref().and_then(|fields| fields.get("command"));
    let effects = match (tool, command) {
        ("Bash", Some(command)) => codex::call::of_command(command),
        ("apply_patch", Some(patch)) => codex::call::Effects {
            command: None,
            touches: codex::call::of_command(patch).touches,
        },
        _ => match serde_json::from_str::<String>(input) {
            Ok(text) => codex::call::of_input(tool, &text),
            Err(_) => codex::call::of_arguments(tool, input),
        },
    };
    Effects {
        name: None,
        command: effects.command,
        touches: effects.touches,
    }
}

/// The tools of agents whose logs are not read: what they do to the file that they name.
const ACTIONS: &[(&str, Action)] = &[
    // Gemini
    ("read_file", Action::Read),
    ("write_file", Action::Write),
    ("replace", Action::Write),
    ("edit", Action::Write),
    // Cursor
    ("Read", Action::Read),
    ("Write", Action::Write),
    ("Edit", Action::Write),
    ("StrReplace", Action::Write),
    ("EditNotebook", Action::Write),
    ("Delete", Action::Delete),
];

fn of_table(tool: &str, input: &str) -> Effects {
    const PATHS: [&str; 6] = [
        "file_path",
        "absolute_path",
        "path",
        "target_file",
        "target_notebook",
        "notebook_path",
    ];
    let Ok(fields) = Object::parse(input) else {
        return Effects::default();
    };
    let action = ACTIONS.iter().find(|(known, _)| *known == tool);
    let touch = action.and_then(|(_, action)| {
        Some(Touch {
            path: name(&fields, &PATHS)?,
            action: *action,
        })
    });
    let command = matches!(tool, "run_shell_command" | "Shell" | "Bash")
        .then(|| name(&fields, &["command"]))
        .flatten();
    Effects {
        name: None,
        command: command.as_deref().and_then(command_column),
        touches: touch.into_iter().collect(),
    }
}

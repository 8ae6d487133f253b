//! What a tool was asked and what it did.

use serde::{Deserialize, Serialize};

use super::dialect::{HookDialect, ToolEffects};
use super::event::EventMeaning;
use super::fields::{name, number, text, value};
use super::shorten::compact;
use super::{Happening, HookInput};
use crate::object::{Object, string};
use crate::shared::{command_column, kept};
use backstory_event::{Action, Touch};

/// A tool that ran, or was to run.
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
    /// Whether it failed, or was not allowed to run.
    pub error: bool,
    /// Whether it was not allowed to run.
    #[serde(default, skip_serializing_if = "is_false")]
    pub denied: bool,
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
            let dialect = self.agent.hooks;
            let effects = dialect.map(|dialect| dialect.tool_effects(&tool.name, &tool.input));
            tool.command = effects.and_then(|effects| effects.command);
        }
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Reads what an input says of a tool.
pub(super) fn read_tool(
    dialect: &dyn HookDialect,
    meaning: EventMeaning,
    input: &Object<'_>,
) -> ToolUse {
    let fields = dialect.fields();
    let tool = name(input, fields.tool).unwrap_or_else(|| match meaning {
        EventMeaning::ToolUsed(Some(implied)) => implied.name.to_string(),
        _ => String::new(),
    });
    let asked = read_asked(dialect, meaning, input);
    let outcome = value(input, fields.tool_response)
        .map(|response| dialect.tool_outcome(response))
        .unwrap_or_default();
    let denied = meaning == EventMeaning::ToolDenied
        || meaning == EventMeaning::ToolFailed && dialect.is_denied(input);
    let failed = denied || meaning == EventMeaning::ToolFailed;
    let why = || {
        let error = text(input, fields.tool_error).filter(|_| failed);
        let why = error.or_else(|| text(input, fields.reason).filter(|_| denied));
        kept(&why?)
    };
    let effects = dialect.tool_effects(&tool, &asked);
    let duration = number(input, fields.duration);
    ToolUse {
        name: effects.name.unwrap_or(tool),
        id: name(input, fields.tool_id),
        output: outcome.text.or_else(why),
        command: effects.command,
        touches: effects.touches,
        before: outcome.before,
        error: failed || outcome.error,
        denied,
        duration_ms: duration
            .map(|duration| duration as i64)
            .or(outcome.duration_ms),
        input: asked,
    }
}

/// What the tool was asked, as JSON.
fn read_asked(dialect: &dyn HookDialect, meaning: EventMeaning, input: &Object<'_>) -> String {
    if let Some(given) = value(input, dialect.fields().tool_input) {
        // Some give JSON within a string.
        let within = string(given).filter(|text| Object::parse(text).is_ok());
        return compact(within.as_deref().unwrap_or(given.get()));
    }
    let names = match meaning {
        EventMeaning::ToolUsed(Some(implied)) => implied.fields,
        _ => &[],
    };
    let fields = names.iter().filter_map(|name| {
        let raw = input.get(name)?;
        Some(format!("\"{name}\":{}", compact(raw.get())))
    });
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

/// What a call does by a table of tools: what each does to the file that it names, and which of them run commands.
pub(crate) fn effects_by_table(
    tool: &str,
    input: &str,
    actions: &[(&str, Action)],
    shells: &[&str],
) -> ToolEffects {
    const PATHS: [&str; 6] = [
        "file_path",
        "absolute_path",
        "path",
        "target_file",
        "target_notebook",
        "notebook_path",
    ];
    let Ok(fields) = Object::parse(input) else {
        return ToolEffects::default();
    };
    let action = actions.iter().find(|(known, _)| *known == tool);
    let touch = action.and_then(|(_, action)| {
        Some(Touch {
            path: name(&fields, &PATHS)?,
            action: *action,
        })
    });
    let command = shells
        .contains(&tool)
        .then(|| name(&fields, &["command"]))
        .flatten();
    ToolEffects {
        name: None,
        command: command.as_deref().and_then(command_column),
        touches: touch.into_iter().collect(),
    }
}

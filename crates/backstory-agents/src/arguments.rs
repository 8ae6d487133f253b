//! Arguments of tool calls, as far as their names tell what they are for. Agents and MCP servers name them alike.

use backstory_event::{Event, Kind};
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

/// What an argument is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentUse {
    /// It names or selects something.
    Names,
    /// It is a sentence to a person or to another agent.
    Says,
    /// It is text to write into files.
    Writes,
}

/// Arguments that name or select something.
const NAMING: [&str; 12] = [
    "pattern",
    "path",
    "glob",
    "url",
    "query",
    "description",
    "skill",
    "args",
    "todos",
    "plan",
    "uri",
    "name",
];

/// Arguments that hold text to write into files.
const WRITING: [&str; 6] = [
    "new_string",
    "content",
    "patch",
    "input",
    "new_str",
    "file_text",
];

/// Arguments that tell nothing, or tell again.
const SILENT: [&str; 9] = [
    "file_path",
    "status",
    "activeForm",
    "subagent_type",
    "output_mode",
    "task_id",
    "old_string",
    "old_str",
    "id",
];

/// Calls `each` with every text among the arguments of a call; false when they are no JSON object.
pub fn each_argument(arguments: &str, each: &mut dyn FnMut(ArgumentUse, &str)) -> bool {
    match serde_json::from_str::<Value>(arguments) {
        Ok(arguments @ Value::Object(_)) => {
            visit_argument("", &arguments, each);
            true
        }
        _ => false,
    }
}

fn visit_argument(name: &str, value: &Value, each: &mut dyn FnMut(ArgumentUse, &str)) {
    match value {
        Value::String(_) if SILENT.contains(&name) => {}
        Value::String(text) if NAMING.contains(&name) => each(ArgumentUse::Names, text),
        Value::String(text) if WRITING.contains(&name) => each(ArgumentUse::Writes, text),
        Value::String(text) => each(ArgumentUse::Says, text),
        Value::Array(values) => {
            for value in values {
                visit_argument(name, value, each);
            }
        }
        Value::Object(values) => {
            for (inner, value) in values {
                // What a list of tasks holds is the list's, whatever its parts are called.
                let name = if NAMING.contains(&name) && !SILENT.contains(&inner.as_str()) {
                    name
                } else {
                    inner
                };
                visit_argument(name, value, each);
            }
        }
        _ => {}
    }
}

/// Returns the arguments of a tool call as JSON: those that stand apart, or its text where it is these; `None` for free text.
pub fn call_arguments(event: &Event) -> Option<&str> {
    let body = &event.body;
    if event.kind != Kind::ToolCall || body.arguments.is_some() {
        return body.arguments.as_deref();
    }
    let text = body.text.as_str();
    let is_json = text.starts_with(['{', '[']) && serde_json::from_str::<IgnoredAny>(text).is_ok();
    is_json.then_some(text)
}

/// Returns the arguments of a tool call as a JSON value to be written elsewhere; `None` for free text.
pub fn raw_arguments(event: &Event) -> Option<&RawValue> {
    serde_json::from_str(call_arguments(event)?).ok()
}

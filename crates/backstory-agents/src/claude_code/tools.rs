//! What tool calls ask for and how they end.

use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::shared::{command_column, is_true, string};
use backstory_event::{Action, Touch};

/// What a tool was asked.
#[derive(Debug, Default)]
pub(crate) struct Input {
    pub(super) text: String,
    pub(crate) command: Option<String>,
    pub(crate) touches: Vec<Touch>,
}

/// Reads the input of a tool call.
pub(crate) fn input(tool: &str, raw: Option<&RawValue>) -> Input {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Fields<'a> {
        #[serde(borrow)]
        command: Option<&'a RawValue>,
        #[serde(borrow)]
        file_path: Option<&'a RawValue>,
        #[serde(borrow)]
        notebook_path: Option<&'a RawValue>,
    }
    let Some(raw) = raw else {
        return Input::default();
    };
    let fields: Fields<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
    let command = string(fields.command);
    let action = match tool {
        "Edit" | "MultiEdit" | "Write" | "NotebookEdit" => Action::Write,
        _ => Action::Read,
    };
    let path = string(fields.file_path).or_else(|| string(fields.notebook_path));
    Input {
        text: command
            .as_deref()
            .map_or_else(|| raw.get().to_string(), str::to_string),
        command: command.and_then(|command| command_column(&command)),
        touches: path
            .map(|path| Touch {
                path: path.into_owned(),
                action,
            })
            .into_iter()
            .collect(),
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
pub(super) fn outcome(text: &str, error: bool, twin: Option<&RawValue>) -> Outcome {
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Twin<'a> {
        #[serde(borrow)]
        stdout: Option<&'a RawValue>,
        #[serde(borrow)]
        interrupted: Option<&'a RawValue>,
        #[serde(borrow)]
        return_code_interpretation: Option<&'a RawValue>,
        #[serde(borrow)]
        background_task_id: Option<&'a RawValue>,
        #[serde(borrow)]
        duration_ms: Option<&'a RawValue>,
        #[serde(borrow)]
        total_duration_ms: Option<&'a RawValue>,
        #[serde(borrow)]
        duration_seconds: Option<&'a RawValue>,
    }
    // The twins of edits hold whole files and nothing of this: a quick look saves reading them.
    let tells = |twin: &&RawValue| {
        ["\"stdout\"", "uration"]
            .iter()
            .any(|mark| memmem::find(twin.get().as_bytes(), mark.as_bytes()).is_some())
    };
    let twin: Twin<'_> = twin
        .filter(tells)
        .and_then(|twin| serde_json::from_str(twin.get()).ok())
        .unwrap_or_default();
    let number = |raw: Option<&RawValue>| raw.and_then(|raw| raw.get().parse::<f64>().ok());
    let milliseconds = number(twin.duration_ms)
        .or(number(twin.total_duration_ms))
        .or(number(twin.duration_seconds).map(|seconds| seconds * 1000.0));
    // A failed command says its code first; one that succeeded has a twin and no remark about its code.
    let text = text.trim_start();
    let said = text
        .strip_prefix("Exit code ")
        .or_else(|| text.strip_prefix("Error: Exit code "))
        .filter(|_| error);
    let exit_code = said
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|code| code.parse().ok());
    let ran_well = !error
        && twin.stdout.is_some()
        && twin.return_code_interpretation.is_none()
        && twin.background_task_id.is_none()
        && !is_true(twin.interrupted);
    Outcome {
        error,
        exit_code: exit_code.or(ran_well.then_some(0)),
        duration_ms: milliseconds.map(|milliseconds| milliseconds as i64),
    }
}

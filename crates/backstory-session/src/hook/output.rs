//! What a tool answered, as text.

use serde_json::value::RawValue;

use super::Agent;
use super::fields::{number, text};
use super::shorten::compact;
use crate::readers::claude_code::content::result_text;
use crate::readers::codex::object::{Object, string};
use crate::readers::grok;
use crate::readers::shared::kept;

/// How a tool ended.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) text: Option<String>,
    pub(super) error: bool,
    pub(super) duration_ms: Option<i64>,
}

/// Reads the answer of a tool.
pub(super) fn readable(agent: Agent, response: Option<&RawValue>) -> Outcome {
    let Some(response) = response else {
        return Outcome::default();
    };
    if agent == Agent::Grok {
        let outcome = grok::tools::outcome(Some(response), false);
        return Outcome {
            text: kept(&grok::tools::result_text(Some(response), None)),
            error: outcome.error,
            duration_ms: outcome.duration_ms,
        };
    }
    if let Some(said) = string(response) {
        // Cursor gives JSON within a string.
        return match Object::parse(&said) {
            Ok(object) if agent == Agent::Cursor => of_object(&object, &said),
            _ => said_text(&said),
        };
    }
    match Object::of(response) {
        Some(object) => of_object(&object, response.get()),
        None => said_text(&result_text(response)),
    }
}

fn said_text(text: &str) -> Outcome {
    Outcome {
        text: kept(text),
        ..Outcome::default()
    }
}

fn of_object(object: &Object<'_>, json: &str) -> Outcome {
    let exit_code = number(object, &["exit_code", "exitCode"]);
    Outcome {
        text: text_of(object, json).and_then(|text| kept(&text)),
        error: object.says("is_error", true)
            || object.says("isError", true)
            || object.says("success", false)
            || object.get("error").is_some_and(says_something)
            || exit_code.is_some_and(|code| code != 0.0),
        duration_ms: number(object, &["duration_ms", "durationMs", "totalDurationMs"])
            .map(|duration| duration as i64),
    }
}

fn says_something(error: &RawValue) -> bool {
    !matches!(error.get(), "false" | "\"\"" | "0" | "{}" | "[]")
}

fn text_of(object: &Object<'_>, json: &str) -> Option<String> {
    let streams: Vec<String> = ["stdout", "stderr"]
        .iter()
        .filter_map(|name| kept(&object.text(name)?))
        .collect();
    if object.has("stdout") || object.has("stderr") {
        return Some(streams.join("\n"));
    }
    // An edit repeats the whole file, of which the patch is what is new.
    if object.has("structuredPatch") {
        return Some(patch(object));
    }
    for name in [
        "llmContent",
        "returnDisplay",
        "content",
        "output",
        "text",
        "result",
    ] {
        let found = object.get(name).filter(|raw| !raw.get().starts_with('{'));
        if let Some(text) = found.map(result_text).filter(|text| !text.is_empty()) {
            return Some(text);
        }
    }
    let file = object.object("file").and_then(|file| file.text("content"));
    file.or_else(|| {
        let error = object.object("error");
        error.and_then(|error| text(&error, &["message"]))
    })
    .or_else(|| Some(compact(json)))
}

fn patch(response: &Object<'_>) -> String {
    let hunks = response.list("structuredPatch");
    let hunks = hunks.into_iter().filter_map(Object::of);
    let lines = hunks.flat_map(|hunk| hunk.list("lines"));
    lines.filter_map(string).collect::<Vec<_>>().join("\n")
}

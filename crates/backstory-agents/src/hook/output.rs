//! What a tool answered, as text.

use serde_json::value::RawValue;

use super::dialect::ToolOutcome;
use super::fields::{number, text};
use super::shorten::compact;
use crate::object::{Object, string};
use crate::shared::{items, kept};

/// Reads the answer of a tool, in the forms that agents have for it.
pub(crate) fn read_outcome(response: &RawValue) -> ToolOutcome {
    // Answers of edits repeat whole files, so they are taken apart only once.
    let Some(object) = Object::of(response) else {
        return ToolOutcome {
            text: readable(response, 0).and_then(|text| kept(&text)),
            ..ToolOutcome::default()
        };
    };
    let duration = number(&object, &["duration_ms", "durationMs", "totalDurationMs"]);
    ToolOutcome {
        text: of_object(&object, response, 0).and_then(|text| kept(&text)),
        error: is_failure(&object),
        duration_ms: duration.map(|duration| duration as i64),
        before: before(object),
    }
}

/// The text of the file before an edit.
fn before(response: Object<'_>) -> Option<String> {
    const BEFORE: [&str; 4] = [
        "originalFile",
        "originalFileContents",
        "original_file",
        "originalContent",
    ];
    let response = response.object("returnDisplay").unwrap_or(response);
    text(&response, &BEFORE).or_else(|| {
        let created = response.text("type").as_deref() == Some("create");
        (created || response.says("isNewFile", true)).then(String::new)
    })
}

fn is_failure(response: &Object<'_>) -> bool {
    let exit_code = number(response, &["exit_code", "exitCode"]);
    let error = response.get("error").map(RawValue::get);
    response.says("is_error", true)
        || response.says("isError", true)
        || response.says("success", false)
        || exit_code.is_some_and(|code| code != 0.0)
        || error.is_some_and(|error| !matches!(error, "false" | "\"\"" | "0" | "{}" | "[]"))
}

/// How deep answers nest: a block in a list in a field of the answer.
const MOST_DEEP: usize = 4;

/// The text of an answer or a part of it; `None` when the call tells all of it already.
fn readable(answer: &RawValue, depth: usize) -> Option<String> {
    if let Some(text) = string(answer) {
        return Some(text);
    }
    if depth < MOST_DEEP {
        if let Some(object) = Object::of(answer) {
            return of_object(&object, answer, depth);
        }
        let parts = items(answer);
        if !parts.is_empty() {
            let texts = parts
                .into_iter()
                .filter_map(|part| readable(part, depth + 1));
            return Some(texts.collect::<Vec<_>>().join("\n"));
        }
    }
    Some(compact(answer.get()))
}

/// Where answers keep their text.
const TEXTS: [&str; 7] = [
    "llmContent",
    "returnDisplay",
    "content",
    "output",
    "text",
    "result",
    "file",
];

fn of_object(object: &Object<'_>, whole: &RawValue, depth: usize) -> Option<String> {
    if let Some(placeholder) = placeholder(object) {
        return Some(placeholder.to_string());
    }
    if object.has("stdout") || object.has("stderr") {
        let streams = ["stdout", "stderr"].map(|name| object.text(name).unwrap_or_default());
        let said = streams.iter().map(|stream| stream.trim_end());
        let said = said.filter(|stream| !stream.is_empty());
        return Some(said.collect::<Vec<_>>().join("\n"));
    }
    // An edit repeats whole files, of which the patch is what is new, and nothing for a new file.
    if object.has("structuredPatch") || object.has("updated_file") {
        return patch(object);
    }
    for name in TEXTS {
        let text = object.get(name).and_then(|raw| readable(raw, depth + 1));
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            return Some(text);
        }
    }
    let error = object.object("error");
    error
        .and_then(|error| text(&error, &["message"]))
        .or_else(|| Some(compact(whole.get())))
}

/// What stands for something that is no text, by the names that the readers give it.
fn placeholder(object: &Object<'_>) -> Option<&'static str> {
    let kind = object.text("type").unwrap_or_default();
    let inline = object.has("inlineData") || object.has("image_url");
    if inline || kind.contains("image") || object.says("isImage", true) {
        Some("[image]")
    } else if kind == "pdf" || kind == "document" {
        Some("[document]")
    } else {
        kind.contains("audio").then_some("[audio]")
    }
}

/// The patch that an edit was, in the form of a unified diff.
fn patch(response: &Object<'_>) -> Option<String> {
    let mut lines = Vec::new();
    for hunk in response
        .list("structuredPatch")
        .into_iter()
        .filter_map(Object::of)
    {
        let place = |name| number(&hunk, &[name]).unwrap_or_default();
        lines.push(format!(
            "@@ -{},{} +{},{} @@",
            place("oldStart"),
            place("oldLines"),
            place("newStart"),
            place("newLines")
        ));
        lines.extend(hunk.list("lines").into_iter().filter_map(string));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

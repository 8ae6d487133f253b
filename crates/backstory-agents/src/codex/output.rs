//! What tools gave back, in the five forms that Codex wrote over time.

use serde_json::value::RawValue;

use super::message;
use crate::object::{Object, string};
use crate::shared::{cut, kept_text};

/// How Codex begins an answer when a tool could not do its work; such answers have no other structure.
const FAILURES: &[&str] = &[
    "aborted by user",
    "apply_patch verification failed",
    "collab spawn failed",
    "collab tool failed",
    "err: ",
    "error: ",
    "exec_command failed",
    "execution error: ",
    "failed in sandbox ",
    "failed to parse function arguments",
    "unsupported call: ",
    "unsupported custom tool call: ",
    "write_stdin failed",
];

/// A header has at most six lines; the search for its end stops soon after.
const HEADER_LINES: usize = 10;

/// How a command that still runs is told of.
const RUNNING: &str = "Process running with session ID";

/// Length of the beginning of an output in which a frame around it begins.
const MAX_FRAME_BYTES: usize = 200;

/// What a tool gave back.
#[derive(Default)]
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) exit_code: Option<i64>,
    pub(super) duration_ms: Option<i64>,
    pub(super) error: bool,
    /// Whether the command still runs.
    pub(super) in_background: bool,
}

impl Answer {
    /// Reads the `output` of a call.
    pub(super) fn of(output: &RawValue) -> Self {
        let mut answer = match (string(output), Object::of(output)) {
            (Some(text), _) => Answer::of_text(text),
            // Releases of a few weeks in 2025 wrote the payload as an object.
            (None, Some(fields)) if fields.has("content") => {
                let content = fields
                    .get("content")
                    .and_then(|content| message::joined(message::parts(content)));
                Answer {
                    error: fields.says("success", false),
                    ..Answer::of_text(content.unwrap_or_default())
                }
            }
            (None, Some(_)) => Answer::of_text(output.get().to_string()),
            (None, None) => {
                Answer::of_text(message::joined(message::parts(output)).unwrap_or_default())
            }
        };
        answer.text = kept_text(answer.text).unwrap_or_default();
        answer.in_background |= cut(&answer.text, MAX_FRAME_BYTES).contains(RUNNING);
        answer.error |= answer.exit_code.is_some_and(|code| code != 0);
        answer
    }

    fn of_text(text: String) -> Self {
        if text.starts_with('{')
            && let Some(answer) = Answer::of_json(&text)
        {
            return answer;
        }
        if let Some(answer) = Answer::of_header(&text) {
            return answer;
        }
        let error = FAILURES.iter().any(|failure| text.starts_with(failure));
        let exit_code = text
            .strip_prefix("failed in sandbox ")
            .and_then(|rest| rest.split_once("exit code: "))
            .and_then(|(_, code)| leading_number(code))
            .map(|code| code as i64);
        Answer {
            text,
            exit_code,
            error,
            ..Answer::default()
        }
    }

    /// `{"output":"…","metadata":{"exit_code":0,"duration_seconds":0.1}}`, and objects of other tools.
    fn of_json(text: &str) -> Option<Self> {
        let fields = Object::parse(text).ok()?;
        if let (Some(output), Some(metadata)) = (fields.text("output"), fields.object("metadata")) {
            return Some(Answer {
                text: output,
                exit_code: metadata.integer("exit_code"),
                duration_ms: metadata.number("duration_seconds").and_then(milliseconds),
                ..Answer::default()
            });
        }
        let error = fields.says("success", false)
            || fields.says("isError", true)
            || fields.says("is_error", true)
            || fields
                .text("status")
                .is_some_and(|status| matches!(status.as_str(), "failed" | "error"));
        Some(Answer {
            text: text.to_string(),
            exit_code: fields.integer("exit_code"),
            error,
            ..Answer::default()
        })
    }

    /// A few lines of facts, `Output:`, and what the command wrote.
    fn of_header(text: &str) -> Option<Self> {
        let mut answer = Answer::default();
        let mut rest = text;
        for number in 0..HEADER_LINES {
            let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
            let line = line.trim_end();
            rest = after;
            if let Some(code) = line
                .strip_prefix("Exit code: ")
                .or_else(|| line.strip_prefix("Process exited with code "))
            {
                answer.exit_code = code.trim().parse().ok();
            } else if let Some(time) = line.strip_prefix("Wall time") {
                answer.duration_ms =
                    leading_number(time.trim_start_matches([':', ' '])).and_then(milliseconds);
            } else if line == "Script failed" {
                answer.error = true;
            } else if line == "Output:" && number > 0 {
                answer.text = rest.to_string();
                return Some(answer);
            } else if ![
                "Chunk ID: ",
                "Original token count: ",
                "Process running with ",
                "Script ",
                "Total output lines: ",
            ]
            .iter()
            .any(|known| line.starts_with(known))
            {
                return None;
            }
        }
        None
    }
}

/// Returns what a command printed that the sandbox stopped: its errors, else its output.
pub(super) fn framed_output(output: &str) -> Option<&str> {
    let frame = cut(output, MAX_FRAME_BYTES);
    if !frame.contains("execution error: sandbox denied") {
        return None;
    }
    let errors = output
        .rfind("stderr: ")
        .map(|at| &output[at + "stderr: ".len()..]);
    let printed = output
        .find("stdout: ")
        .map(|at| &output[at + "stdout: ".len()..]);
    errors
        .filter(|errors| !errors.trim().is_empty())
        .or(printed)
}

/// Seconds as milliseconds.
pub(super) fn milliseconds(seconds: f64) -> Option<i64> {
    // More than a century is a mistake of the writer.
    (0.0..4e9)
        .contains(&seconds)
        .then_some((seconds * 1000.0).round() as i64)
}

fn leading_number(text: &str) -> Option<f64> {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '-'))
        .unwrap_or(text.len());
    text[..end].trim_end_matches('.').parse().ok()
}

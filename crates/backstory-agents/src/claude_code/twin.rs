//! The structured twin of a tool result (`toolUseResult`): how the call ended and what it did.

use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::shared::is_true;

/// The fields of a twin that are needed, still raw.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Twin<'a> {
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
    #[serde(borrow)]
    pub(super) status: Option<&'a RawValue>,
    /// The to-do list after the call.
    #[serde(borrow)]
    pub(super) new_todos: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) file_path: Option<&'a RawValue>,
    #[serde(borrow, rename = "notebook_path")]
    pub(super) notebook_path: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) original_file: Option<&'a RawValue>,
    #[serde(borrow, rename = "original_file")]
    pub(super) original_notebook: Option<&'a RawValue>,
    #[serde(borrow, rename = "updated_file")]
    pub(super) updated_notebook: Option<&'a RawValue>,
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<&'a RawValue>,
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
    pub(super) user_modified: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) structured_patch: Option<&'a RawValue>,
    /// Questions that the agent asked, and the user's answers by question.
    #[serde(borrow)]
    pub(super) questions: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) answers: Option<&'a RawValue>,
}

impl<'a> Twin<'a> {
    /// The twin of an MCP tool, which is a list of blocks. A short one counts as the output of a command that ended well when it
    /// speaks of durations or output: the first versions read it so, and events must stay what they are in stores.
    pub(super) fn of_list(blocks: &[Option<&'a RawValue>]) -> Self {
        let speaks = |block: &RawValue| {
            let finds = |word: &str| memmem::find(block.get().as_bytes(), word.as_bytes());
            finds("\"stdout\"").or_else(|| finds("uration")).is_some()
        };
        let is_output = blocks.len() < 3 && blocks.iter().copied().flatten().any(speaks);
        Twin {
            stdout: blocks.first().copied().flatten().filter(|_| is_output),
            ..Twin::default()
        }
    }

    /// Duration of the call in milliseconds, where the twin has it.
    pub(super) fn duration_ms(&self) -> Option<i64> {
        let number = |raw: Option<&RawValue>| raw?.get().parse::<f64>().ok();
        let duration = number(self.duration_ms)
            .or(number(self.total_duration_ms))
            .or(number(self.duration_seconds).map(|seconds| seconds * 1000.0));
        duration.map(|milliseconds| milliseconds as i64)
    }

    /// Returns whether it is the twin of a command that came to its end without a remark about its exit code.
    pub(super) fn is_of_finished_command(&self) -> bool {
        self.stdout.is_some()
            && self.return_code_interpretation.is_none()
            && self.background_task_id.is_none()
            && !is_true(self.interrupted)
    }
}

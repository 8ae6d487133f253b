//! The structured twin of a tool result (`toolUseResult`): how the call ended and what it did.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::shared::{is_true, items};

/// Names of fields, or their ends, for which a twin is read.
static NEEDED_NAMES: LazyLock<[Finder<'static>; 6]> = LazyLock::new(|| {
    [
        "\"stdout\"",
        "urationMs\"",
        "\"durationSeconds\"",
        "\"status\"",
        "\"newTodos\"",
        "\"notebook_path\"",
    ]
    .map(Finder::new)
});

/// Words for which a twin is read that is a list.
static LIST_WORDS: LazyLock<[Finder<'static>; 2]> =
    LazyLock::new(|| ["\"stdout\"", "uration"].map(Finder::new));

static FILE_PATH: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"filePath\""));

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
}

impl<'a> Twin<'a> {
    /// Parses a twin. Those of reads and searches hold whole files and nothing that is needed: a quick look saves reading them.
    pub(super) fn parse(raw: &'a RawValue) -> Self {
        let text = raw.get();
        let has = |name: &Finder<'_>| name.find(text.as_bytes()).is_some();
        let is_needed = match text.as_bytes().first() {
            Some(b'{') => match FILE_PATH.find(text.as_bytes()) {
                // Changes name their file themselves, reads within `file`, first of all.
                Some(at) => !text[..at].trim_end().ends_with("\"file\":{"),
                None => NEEDED_NAMES.iter().any(has),
            },
            Some(b'[') if LIST_WORDS.iter().any(has) => return Twin::of_list(raw),
            _ => false,
        };
        match is_needed {
            true => serde_json::from_str(text).unwrap_or_default(),
            false => Twin::default(),
        }
    }

    /// The twin of an MCP tool, which is a list of blocks. A short one counts as the output of a command that ended well when it
    /// speaks of durations or output: the first versions read it so, and events must stay what they are in stores.
    fn of_list(raw: &'a RawValue) -> Self {
        match items(raw)[..] {
            [block] | [block, _] => Twin {
                stdout: Some(block),
                ..Twin::default()
            },
            _ => Twin::default(),
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

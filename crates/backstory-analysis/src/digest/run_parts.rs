//! Checks and deliveries among the commands of a session, each with its own result.

use std::borrow::Cow;

use backstory_event::Seq;
use serde::{Deserialize, Serialize};

use super::command::{CommandKind, program};
use super::notes::{Notes, Run, Step, What};
use crate::commands::{
    CheckFamily, DeliveryKind, LinePart, LineResult, PartVerdict, judge_line, parse_shell_line,
};
use crate::text;

/// Maximum length of the name of a part.
const MAX_NAME_BYTES: usize = 200;

/// Maximum number of parts of a command line that are noted.
const MAX_PARTS: usize = 12;

/// Check or delivery that a command line made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunPart {
    /// Purpose of it.
    #[serde(rename = "p")]
    pub purpose: Purpose,
    /// Name by which two runs are of the same check; subject or branch of a delivery.
    #[serde(rename = "n")]
    pub name: String,
    /// True if it worked, false if not, once that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    /// Tests that passed and that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<(u64, u64)>,
    /// The error; the commit or the address of a delivery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// True if only some tests or files were selected.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub narrow: bool,
}

/// Purpose of a check or delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Purpose {
    /// Runs tests.
    Test,
    /// Runs a linter.
    Lint,
    /// Builds.
    Build,
    /// Formats, or checks the format.
    Format,
    /// Checks types.
    Types,
    /// Commits.
    Commit,
    /// Pushes.
    Push,
    /// Opens a pull request.
    PullRequest,
    /// Merges a branch or a pull request.
    Merge,
    /// Makes a tag.
    Tag,
    /// Publishes a release or a package.
    Release,
}

impl Purpose {
    /// Returns whether it leaves something beyond the session.
    pub fn is_delivery(self) -> bool {
        self >= Purpose::Commit
    }
}

/// Judges the checks and deliveries of a command line by its output.
pub(super) fn judged_parts(line: &str, result: LineResult<'_>) -> Vec<RunPart> {
    let commands = parse_shell_line(line);
    let verdicts = judge_line(&commands, result).into_iter();
    verdicts.map(RunPart::from).take(MAX_PARTS).collect()
}

impl From<PartVerdict> for RunPart {
    fn from(verdict: PartVerdict) -> Self {
        let (purpose, name, narrow) = match verdict.part {
            LinePart::Check(check) => {
                let purpose = match check.family {
                    CheckFamily::Test => Purpose::Test,
                    CheckFamily::Lint => Purpose::Lint,
                    CheckFamily::Build => Purpose::Build,
                    CheckFamily::Format => Purpose::Format,
                    CheckFamily::Types => Purpose::Types,
                };
                (purpose, check.tool, check.is_narrow)
            }
            LinePart::Delivery(delivery) => {
                let purpose = match delivery.kind {
                    DeliveryKind::Commit => Purpose::Commit,
                    DeliveryKind::Push => Purpose::Push,
                    DeliveryKind::PullRequest => Purpose::PullRequest,
                    DeliveryKind::Merge => Purpose::Merge,
                    DeliveryKind::Tag => Purpose::Tag,
                    DeliveryKind::Release => Purpose::Release,
                };
                (purpose, delivery.subject.unwrap_or_default(), false)
            }
        };
        RunPart {
            purpose,
            name: text::beginning(&name, MAX_NAME_BYTES).to_string(),
            ok: verdict.ok,
            tests: verdict.tests,
            said: verdict.said,
            narrow,
        }
    }
}

/// Check or delivery with the event of its command.
pub(super) type PlacedPart<'n> = (Seq, Cow<'n, RunPart>);

/// Returns the checks and deliveries that ran, in their order. Of commands that were noted before their parts were, the whole is one part.
pub(super) fn parts(notes: &Notes) -> Vec<PlacedPart<'_>> {
    let runs = notes.steps.iter().filter_map(|step| match &step.what {
        What::Run(run) if !run.denied => Some((step.seq, run)),
        _ => None,
    });
    runs.flat_map(|(seq, run)| parts_of_run(seq, run)).collect()
}

/// Returns the checks and deliveries of a step. Denied ones did not run, but are named.
pub(crate) fn step_parts(step: &Step) -> Vec<Cow<'_, RunPart>> {
    match &step.what {
        What::Run(run) => {
            let parts = parts_of_run(step.seq, run).into_iter();
            parts.map(|(_, part)| part).collect()
        }
        _ => Vec::new(),
    }
}

fn parts_of_run(seq: Seq, run: &Run) -> Vec<PlacedPart<'_>> {
    match (&run.parts, whole_run(run)) {
        (Some(parts), _) => (parts.iter())
            .map(|part| (seq, Cow::Borrowed(part)))
            .collect(),
        (None, Some(part)) => vec![(seq, Cow::Owned(part))],
        (None, None) => Vec::new(),
    }
}

fn whole_run(run: &Run) -> Option<RunPart> {
    let purpose = match run.kind {
        CommandKind::Test => Purpose::Test,
        CommandKind::Build => Purpose::Build,
        CommandKind::Check => Purpose::Lint,
        CommandKind::Commit => Purpose::Commit,
        CommandKind::Push => Purpose::Push,
        CommandKind::PullRequest => Purpose::PullRequest,
        CommandKind::Other => return None,
    };
    Some(RunPart {
        purpose,
        name: if purpose.is_delivery() {
            String::new()
        } else {
            program(&run.command)
        },
        ok: run.ok,
        tests: run.tests,
        said: run.said.clone(),
        narrow: false,
    })
}

/// Returns the deliveries that worked.
pub(super) fn deliveries(notes: &Notes) -> impl DoubleEndedIterator<Item = PlacedPart<'_>> {
    let parts = parts(notes).into_iter();
    parts.filter(|(_, part)| part.purpose.is_delivery() && part.ok == Some(true))
}

//! Tool calls that users deny.

use super::{Detector, PatternKind, Signal};
use crate::AgentConventions;
use crate::digest::{Notes, What, program};
use crate::text;

pub(super) const DETECTOR: Detector = Detector {
    name: "denials",
    kind: PatternKind::Problem,
    weight: 2.0,
    alike: None,
    detect,
};

/// Maximum length of a reason that is quoted, in bytes.
const MAX_REASON_BYTES: usize = 120;

fn detect(notes: &Notes, _: &AgentConventions, found: &mut Vec<Signal>) {
    for (at, step) in notes.steps.iter().enumerate() {
        let What::Denied(tool) = &step.what else {
            continue;
        };
        // What was denied stands just before, if it was noted; the user's reason just behind.
        let before = at.checked_sub(1).and_then(|before| notes.steps.get(before));
        let run = before.and_then(|before| match &before.what {
            What::Run(run) if run.denied || run.ok.is_none() => Some(run),
            _ => None,
        });
        let reason = notes.steps.get(at + 1).and_then(|next| match &next.what {
            What::Answer {
                question: None,
                said,
            } => Some(text::beginning(said, MAX_REASON_BYTES)),
            _ => None,
        });
        let edited = before.and_then(|before| match &before.what {
            What::Edit { paths, .. } => paths.first().map(String::as_str),
            _ => None,
        });
        let (what, said) = match (run, edited) {
            (Some(run), _) => {
                let name = program(&run.command);
                (format!("`{name}`"), run.command.as_str())
            }
            (None, Some(path)) => ("an edit".to_string(), path),
            (None, None) => (tool.clone(), ""),
        };
        let title = match reason {
            Some(reason) => format!("users reject {what}: \"{}\"", reason.replace('\n', " ")),
            None => format!("users do not allow {what}"),
        };
        let advice = format!("Ask before {what} is tried.");
        let signal = Signal::at(step, what, title, said).advising(advice);
        // Without a reason it may have been a slip of a finger, and edits differ.
        let tells = reason.is_some() && run.is_some();
        found.push(if tells { signal } else { signal.minor() });
    }
}

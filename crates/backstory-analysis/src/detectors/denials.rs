//! Tool calls that users deny.

use super::{Detector, PatternKind, Signal};
use crate::AgentConventions;
use crate::digest::{Notes, What, program};

pub(super) const DETECTOR: Detector = Detector {
    name: "denials",
    kind: PatternKind::Problem,
    weight: 2.0,
    alike: None,
    detect,
};

fn detect(notes: &Notes, _: &AgentConventions, found: &mut Vec<Signal>) {
    for (at, step) in notes.steps.iter().enumerate() {
        let What::Denied(tool) = &step.what else {
            continue;
        };
        // What was denied stands just before, if it was noted.
        let before = notes.steps[..at].last().map(|step| &step.what);
        let (what, said) = match before {
            Some(What::Run(run)) if run.denied || run.ok.is_none() => {
                (format!("`{}`", program(&run.command)), run.command.as_str())
            }
            Some(What::Edit { paths, .. }) => (
                "an edit".to_string(),
                paths.first().map_or("", String::as_str),
            ),
            _ => (tool.clone(), ""),
        };
        let title = format!("users do not allow {what}");
        let advice = format!("Ask before {what} is tried.");
        found.push(Signal::at(step, what, title, said).advising(advice));
    }
}

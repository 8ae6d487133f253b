//! Tool calls that users interrupt.

use super::{Detector, PatternKind, Signal};
use crate::AgentConventions;
use crate::digest::{Notes, What, program};

pub(super) const DETECTOR: Detector = Detector {
    name: "interruptions",
    kind: PatternKind::Problem,
    weight: 1.0,
    alike: None,
    detect,
};

fn detect(notes: &Notes, _: &AgentConventions, found: &mut Vec<Signal>) {
    for pair in notes.steps.windows(2) {
        let [before, step] = pair else { continue };
        if step.what != What::Interrupted || before.what == What::Interrupted {
            continue;
        }
        let (what, said) = match &before.what {
            What::Run(run) => (format!("`{}`", program(&run.command)), run.command.as_str()),
            What::Edit { paths, .. } => (
                "edits".to_string(),
                paths.first().map_or("", String::as_str),
            ),
            What::Prompt(said) | What::Reply(said) => (
                "the agent's thinking and talking".to_string(),
                said.as_str(),
            ),
            _ => continue,
        };
        let title = format!("users interrupt {what}");
        found.push(Signal::at(step, what, title, said).minor());
    }
}

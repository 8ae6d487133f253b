//! Sessions that outgrow the agent's memory.

use super::{Detector, PatternKind, Signal};
use crate::AgentConventions;
use crate::digest::{Notes, What};

pub(super) const DETECTOR: Detector = Detector {
    name: "compactions",
    kind: PatternKind::Problem,
    weight: 0.5,
    alike: None,
    detect,
};

fn detect(notes: &Notes, _: &AgentConventions, found: &mut Vec<Signal>) {
    for step in notes
        .steps
        .iter()
        .filter(|step| step.what == What::Compacted)
    {
        let title = "sessions grow until their history is compacted".to_string();
        let advice = "Begin a new session for a new task.".to_string();
        let signal = Signal::at(step, "compaction".to_string(), title, "");
        found.push(signal.advising(advice).minor());
    }
}

//! Commands that take long.

use super::{Detector, PatternKind, Signal};
use crate::AgentConventions;
use crate::digest::{Notes, What, program, step_parts};

pub(super) const DETECTOR: Detector = Detector {
    name: "slow_commands",
    kind: PatternKind::Problem,
    weight: 1.0,
    alike: None,
    detect,
};

/// From here on a command is slow, in milliseconds.
const SLOW: i64 = 60_000;

fn detect(notes: &Notes, _: &AgentConventions, found: &mut Vec<Signal>) {
    for step in &notes.steps {
        let What::Run(run) = &step.what else { continue };
        // The time of others is mostly that of a person who has to allow them, or of a server.
        let slow = run.ms.filter(|ms| *ms >= SLOW && run.kind.is_proof());
        if let Some(ms) = slow {
            let parts = step_parts(step);
            // Of several commands the time of each is not known.
            let program = match parts.as_slice() {
                [] => program(&run.command),
                [part] => part.name.clone(),
                _ => continue,
            };
            let title = format!("`{program}` takes more than a minute");
            let said = format!("{} s: {}", ms / 1_000, run.command);
            let advice = "Give it more time than that, or run it in the background.".to_string();
            found.push(Signal::at(step, program, title, &said).advising(advice));
        }
    }
}

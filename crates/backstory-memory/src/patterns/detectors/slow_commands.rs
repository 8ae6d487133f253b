//! Commands that take long.

use super::super::PatternKind;
use super::{Detector, Signal};
use crate::digest::{Notes, What, program};

pub(super) const DETECTOR: Detector = Detector {
    name: "slow_commands",
    kind: PatternKind::Problem,
    weight: 1.0,
    alike: None,
    detect,
};

/// From here on a command is slow, in milliseconds.
const SLOW: i64 = 60_000;

fn detect(notes: &Notes, found: &mut Vec<Signal>) {
    for step in &notes.steps {
        let What::Run(run) = &step.what else { continue };
        if let Some(ms) = run.ms.filter(|ms| *ms >= SLOW) {
            let program = program(&run.command);
            // Whoever sleeps wants to wait.
            if run.command.contains("sleep ") || program.is_empty() {
                continue;
            }
            let title = format!("`{program}` takes more than a minute");
            let said = format!("{} s: {}", ms / 1_000, run.command);
            found.push(Signal::at(step, program, title, &said));
        }
    }
}

//! Edit, test, fail, and again.

use super::{Detector, PatternKind, Signal};
use crate::AgentConventions;
use crate::digest::{Notes, What, program};

pub(super) const DETECTOR: Detector = Detector {
    name: "test_loops",
    kind: PatternKind::Problem,
    weight: 1.5,
    alike: None,
    detect,
};

/// Rounds without success that make a loop.
const ROUNDS: usize = 3;

fn detect(notes: &Notes, _: &AgentConventions, found: &mut Vec<Signal>) {
    let (mut rounds, mut edited) = (0, false);
    for step in &notes.steps {
        match &step.what {
            What::Edit { failed: false, .. } => edited = true,
            What::Run(run) if run.kind.is_proof() => match run.ok {
                Some(false) if edited || rounds == 0 => {
                    (rounds, edited) = (rounds + 1, false);
                    if rounds == ROUNDS {
                        let program = program(&run.command);
                        let title =
                            format!("`{program}` keeps failing after one edit and the next");
                        let advice =
                            format!("Before the next edit, find out why `{program}` fails.");
                        let said = run.said.as_deref().unwrap_or(&run.command);
                        let signal = Signal::at(step, program, title, said);
                        found.push(signal.advising(advice).minor());
                    }
                }
                Some(true) => (rounds, edited) = (0, false),
                _ => {}
            },
            _ => {}
        }
    }
}

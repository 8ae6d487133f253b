//! The same command again, although it failed.

use std::collections::HashMap;

use super::{Detector, PatternKind, Signal};
use crate::AgentConventions;
use crate::digest::{Notes, What, program};

pub(super) const DETECTOR: Detector = Detector {
    name: "retries",
    kind: PatternKind::Problem,
    weight: 1.5,
    alike: None,
    detect,
};

/// Number of failures of a command in a row that make a signal.
const TOO_OFTEN: usize = 3;

fn detect(notes: &Notes, _: &AgentConventions, found: &mut Vec<Signal>) {
    let mut failed: HashMap<&str, usize> = HashMap::new();
    for step in &notes.steps {
        match &step.what {
            What::Run(run) => match run.ok {
                Some(false) => {
                    let times = failed.entry(&run.command).or_default();
                    *times += 1;
                    if *times == TOO_OFTEN {
                        let program = program(&run.command);
                        let title = format!("`{program}` is run again and again although it fails");
                        found.push(Signal::at(step, program, title, &run.command).minor());
                    }
                }
                _ => {
                    failed.remove(run.command.as_str());
                }
            },
            // What was changed in between is a reason to try again.
            What::Edit { failed: false, .. } | What::Prompt(_) => failed.clear(),
            _ => {}
        }
    }
}

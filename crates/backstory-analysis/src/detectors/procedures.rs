//! Checks that run one after the other before a commit, session after session.

use super::{Detector, PatternKind, Signal};
use crate::AgentConventions;
use crate::digest::{Notes, Purpose, Step, What, step_parts};

pub(super) const DETECTOR: Detector = Detector {
    name: "procedures",
    kind: PatternKind::Success,
    weight: 2.0,
    alike: None,
    detect,
};

/// Minimum number of checks that make a procedure: two in a row are obvious.
const MIN_CHECKS: usize = 2;

/// Maximum number of checks; more than that were a search.
const MAX_CHECKS: usize = 6;

/// Maximum number of checks that are remembered: longer procedures are none.
const MAX_PASSED: usize = 50;

fn detect(notes: &Notes, _: &AgentConventions, found: &mut Vec<Signal>) {
    // Checks that passed since the last edit, in the order of their first runs.
    let mut passed: Vec<String> = Vec::new();
    for step in &notes.steps {
        match &step.what {
            What::Edit { failed: false, .. } => passed.clear(),
            What::Run(_) => {
                for part in step_parts(step) {
                    match (part.purpose, part.ok) {
                        (Purpose::Commit, Some(true)) => {
                            found.extend(signal(step, &passed, found));
                            passed.clear();
                        }
                        (purpose, Some(true))
                            if !purpose.is_delivery()
                                && passed.len() < MAX_PASSED
                                && !passed.contains(&part.name) =>
                        {
                            passed.push(part.name.clone());
                        }
                        // A check that fails ends what was sure before it.
                        (purpose, Some(false)) if !purpose.is_delivery() => {
                            passed.retain(|name| *name != part.name);
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
}

fn signal(step: &Step, passed: &[String], found: &[Signal]) -> Option<Signal> {
    let names: Vec<String> = passed.iter().map(|name| format!("`{name}`")).collect();
    let signature = passed.join(" → ");
    let is_new = found.iter().all(|signal| signal.signature != signature);
    (is_new && (MIN_CHECKS..=MAX_CHECKS).contains(&names.len())).then(|| {
        let steps = names.join(", then ");
        let title = format!("before a commit: {steps}");
        let advice = format!("Before a commit, run {steps}.");
        Signal::at(step, signature, title, "").advising(advice)
    })
}

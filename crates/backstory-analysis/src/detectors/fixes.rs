//! The edit after which tests, a build or a check passed again.

use super::{Detector, PatternKind, Signal};
use crate::AgentConventions;
use crate::digest::{Notes, What, program, signature};

pub(super) const DETECTOR: Detector = Detector {
    name: "fixes",
    kind: PatternKind::Success,
    weight: 2.0,
    alike: None,
    detect,
};

fn detect(notes: &Notes, _: &AgentConventions, found: &mut Vec<Signal>) {
    // The last failure of each kind of proof, and what was edited since.
    let mut broken: Vec<(String, String, Vec<&str>)> = Vec::new();
    for step in &notes.steps {
        match &step.what {
            What::Edit {
                paths,
                failed: false,
                ..
            } => {
                for (.., edited) in &mut broken {
                    edited.extend(paths.iter().map(String::as_str));
                }
            }
            What::Run(run) if run.kind.is_proof() => {
                let name = program(&run.command);
                let known = broken.iter().position(|(program, ..)| *program == name);
                let known = known.map(|at| broken.swap_remove(at));
                match (run.ok, known) {
                    (Some(false), _) => {
                        let said = run.said.clone().unwrap_or_default();
                        broken.push((name, said, Vec::new()));
                    }
                    (Some(true), Some((name, said, edited)))
                        if !edited.is_empty() && !said.is_empty() =>
                    {
                        let file = edited
                            .last()
                            .and_then(|path| path.rsplit(['/', '\\']).next())
                            .unwrap_or_default();
                        // That an error is gone after an edit where it was is no news.
                        if said.contains(file) {
                            continue;
                        }
                        let title =
                            format!("«{said}» of `{name}` was gone after an edit of {file}");
                        let advice = format!("When `{name}` says «{said}», look at {file} first.");
                        // Only where the same edit helps again is there something to learn.
                        let signature = format!("{name}: {} {file}", signature(&said));
                        found.push(
                            Signal::at(step, signature, title, edited.last().unwrap_or(&""))
                                .advising(advice),
                        );
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

//! The command that worked after others like it had failed.

use super::{Detector, PatternKind, Signal};
use crate::AgentConventions;
use crate::digest::{Notes, What, only_looks, program, signature};

pub(super) const DETECTOR: Detector = Detector {
    name: "worked_at_last",
    kind: PatternKind::Success,
    weight: 2.0,
    alike: Some(0.7),
    detect,
};

/// A command that works so many steps later may have nothing to do with the failure.
const NEAR: usize = 8;

fn detect(notes: &Notes, _: &AgentConventions, found: &mut Vec<Signal>) {
    for (at, step) in notes.steps.iter().enumerate() {
        let What::Run(failed) = &step.what else {
            continue;
        };
        let (Some(false), Some(said)) = (failed.ok, &failed.said) else {
            continue;
        };
        let name = program(&failed.command);
        let next = notes.steps[at + 1..]
            .iter()
            .take(NEAR)
            .take_while(|step| !matches!(step.what, What::Edit { .. }));
        let mut next = next.filter_map(|later| match &later.what {
            What::Run(run) if program(&run.command) == name => Some((later, run)),
            _ => None,
        });
        let Some((later, run)) = next.next() else {
            continue;
        };
        let looks = name.is_empty() || only_looks(&name);
        if run.ok != Some(true) || run.command == failed.command || looks {
            continue;
        }
        let title = format!("`{name}`: after «{said}» `{}` worked", run.command);
        let advice = format!("When `{name}` says «{said}», try `{}`.", run.command);
        found.push(
            Signal::at(
                later,
                format!("{name}: {}", signature(said)),
                title,
                &run.command,
            )
            .advising(advice),
        );
    }
}

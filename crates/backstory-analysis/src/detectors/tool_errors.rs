//! The same error of the same tool.

use super::{Detector, PatternKind, Signal, common_errors, missing_commands, missing_paths};
use crate::AgentConventions;
use crate::digest::{Notes, Step, What, only_looks, program, signature, step_parts};

pub(super) const DETECTOR: Detector = Detector {
    name: "tool_errors",
    kind: PatternKind::Problem,
    weight: 3.0,
    alike: Some(0.7),
    detect,
};

fn detect(notes: &Notes, agents: &AgentConventions, found: &mut Vec<Signal>) {
    for (step, tool, said) in errors(notes, agents) {
        let is_check = || {
            step_parts(step)
                .iter()
                .any(|part| !part.purpose.is_delivery())
        };
        if is_check()
            || missing_commands::command(said).is_some()
            || missing_paths::is(said)
            || common_errors::is(said)
        {
            continue;
        }
        let signature = signature(said);
        // Without words of its own an error cannot be told from others.
        let is_word =
            |word: &&str| word.chars().filter(|letter| letter.is_alphabetic()).count() > 2;
        if signature.split(' ').filter(is_word).count() >= 2 {
            let title = format!("`{tool}` fails: {said}");
            let signal = Signal::at(step, format!("{tool}: {signature}"), title, said);
            let is_own_tool = !matches!(step.what, What::Run(_)) || only_looks(&tool);
            found.push(if is_own_tool { signal.minor() } else { signal });
        }
    }
}

/// Every error of a tool, with what it is an error of: the program of a command, or the kind of tool.
pub(super) fn errors<'n>(
    notes: &'n Notes,
    agents: &AgentConventions,
) -> impl Iterator<Item = (&'n Step, String, &'n str)> {
    notes.steps.iter().filter_map(|step| {
        let (tool, said) = match &step.what {
            What::Run(run) if run.ok == Some(false) => {
                (program(&run.command), run.said.as_deref()?)
            }
            What::Edit {
                failed: true, said, ..
            } => ("edit".to_string(), said.as_deref()?),
            What::Failed { tool, said, .. } => ((agents.tool_family)(tool), said.as_str()),
            _ => return None,
        };
        (!said.is_empty()).then_some((step, tool, said))
    })
}

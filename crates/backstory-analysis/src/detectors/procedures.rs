//! Commands that follow each other, session after session.

use super::{Detector, PatternKind, Signal};
use crate::AgentConventions;
use crate::digest::{Notes, Step, What, program};

pub(super) const DETECTOR: Detector = Detector {
    name: "procedures",
    kind: PatternKind::Success,
    weight: 0.5,
    alike: None,
    detect,
};

/// Number of commands that make a procedure.
const LENGTH: usize = 3;

/// Programs that only look around.
pub(super) const LOOKING: &[&str] = &[
    "ls",
    "cat",
    "sed",
    "head",
    "tail",
    "rg",
    "grep",
    "find",
    "pwd",
    "echo",
    "cd",
    "wc",
    "nl",
    "tree",
    "git status",
    "git diff",
    "git log",
    "git show",
    "which",
    "sleep",
    "jq",
    "awk",
    "for",
    "while",
    "true",
    "test",
    "mkdir",
    "cp",
    "mv",
    "rm",
];

fn detect(notes: &Notes, _: &AgentConventions, found: &mut Vec<Signal>) {
    let mut done: Vec<(&Step, String)> = Vec::new();
    for step in &notes.steps {
        match &step.what {
            What::Run(run) if run.ok == Some(true) => {
                let name = program(&run.command);
                let again = done.last().is_some_and(|(_, last)| *last == name);
                if !name.is_empty() && !again && !LOOKING.contains(&name.as_str()) {
                    done.push((step, name));
                }
            }
            What::Run(_) | What::Prompt(_) => done.clear(),
            _ => {}
        }
        if done.len() >= LENGTH {
            let last: Vec<&str> = done[done.len() - LENGTH..]
                .iter()
                .map(|(_, name)| name.as_str())
                .collect();
            let signature = last.join(" → ");
            let is_new = found.iter().all(|signal| signal.signature != signature);
            if is_new && matches!(step.what, What::Run(_)) {
                let title = format!(
                    "procedure: {}",
                    last.iter()
                        .map(|name| format!("`{name}`"))
                        .collect::<Vec<_>>()
                        .join(", then ")
                );
                found.push(Signal::at(step, signature, title, ""));
            }
        }
    }
}

//! The command after which a failed check passed, with no edit in between: a formatter, a generator, an installation.

use super::{Detector, PatternKind, Signal};
use crate::AgentConventions;
use crate::digest::{Notes, Purpose, Step, What, program, step_parts};

pub(super) const DETECTOR: Detector = Detector {
    name: "remedies",
    kind: PatternKind::Success,
    weight: 4.0,
    alike: None,
    detect,
};

/// A check that failed, and the commands that worked since.
struct Failure {
    check: String,
    reason: &'static str,
    commands: Vec<String>,
}

fn detect(notes: &Notes, _: &AgentConventions, found: &mut Vec<Signal>) {
    let mut failures: Vec<Failure> = Vec::new();
    for step in &notes.steps {
        match &step.what {
            What::Edit { failed: false, .. } | What::Prompt(_) => failures.clear(),
            What::Run(run) => {
                let checks = step_parts(step).into_iter();
                let checks = checks.filter(|part| !part.purpose.is_delivery());
                for part in checks.clone() {
                    let known = failures.iter().position(|known| known.check == part.name);
                    let known = known.map(|place| failures.swap_remove(place));
                    match (part.ok, known) {
                        (Some(true), Some(failure)) => found.extend(signal(step, failure)),
                        (Some(false), _) => failures.push(Failure {
                            check: part.name.clone(),
                            reason: match part.purpose {
                                Purpose::Format => "unformatted files fail it",
                                _ => "it fails without",
                            },
                            commands: Vec::new(),
                        }),
                        _ => {}
                    }
                }
                let names: Vec<String> = checks.map(|part| part.name.clone()).collect();
                let done = if names.is_empty() {
                    vec![program(&run.command)]
                } else {
                    names
                };
                if run.ok == Some(true) {
                    for failure in &mut failures {
                        failure.commands.extend(done.iter().cloned());
                    }
                }
            }
            _ => {}
        }
    }
}

/// Returns the signal, if one command alone can have put it right.
fn signal(step: &Step, failure: Failure) -> Option<Signal> {
    let Failure {
        check,
        reason,
        mut commands,
    } = failure;
    commands.retain(|name| !name.is_empty() && *name != check && changes_something(name));
    commands.dedup();
    let [command] = commands.as_slice() else {
        return None;
    };
    let title = format!("`{check}` passes after `{command}`");
    let signature = format!("{command} → {check}");
    let advice = format!("Run `{command}` before `{check}`: {reason}.");
    Some(Signal::at(step, signature, title, "").advising(advice))
}

/// Returns whether a command may change what a check sees: it formats, fixes, generates or installs.
fn changes_something(name: &str) -> bool {
    let words = [
        "fmt", "format", "fix", "generate", "gen", "codegen", "install", "sync", "tidy", "vendor",
        "update", "build", "ci", "restore", "prettier", "black", "migrate", "compile",
    ];
    name.split(|letter: char| !letter.is_alphanumeric())
        .any(|word| words.contains(&word))
}

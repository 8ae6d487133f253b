//! Programs and tools that are not there.

use super::tool_errors::errors;
use super::{Detector, PatternKind, Signal};
use crate::AgentConventions;
use crate::digest::Notes;

pub(super) const DETECTOR: Detector = Detector {
    name: "missing_commands",
    kind: PatternKind::Problem,
    weight: 3.0,
    alike: None,
    detect,
};

fn detect(notes: &Notes, agents: &AgentConventions, found: &mut Vec<Signal>) {
    for (step, _, said) in errors(notes, agents) {
        if let Some(command) = command(said) {
            let title = format!("`{command}` is tried, but is not there");
            let advice = format!("Do not use `{command}` here, or install it first.");
            found.push(Signal::at(step, command, title, said).advising(advice));
        }
    }
}

/// The command or tool that an error says is missing.
pub(super) fn command(said: &str) -> Option<String> {
    let lower = said.to_lowercase();
    let found = if let Some(at) = lower.find("command not found: ") {
        // `zsh:1: command not found: rg`
        said.get(at + "command not found: ".len()..)?
            .split_whitespace()
            .next()
    } else if let Some(at) = lower.find(": command not found") {
        // `bash: line 1: rg: command not found`
        said.get(..at)?.rsplit([' ', ':']).next()
    } else if let Some(at) = lower.find("no such tool available: ") {
        said.get(at + "no such tool available: ".len()..)?
            .split_whitespace()
            .next()
    } else if let Some(at) = lower.find(" is not recognized as") {
        said.get(..at)?.trim().rsplit(' ').next()
    } else if let Some(at) = lower.find("no module named ") {
        said.get(at + "no module named ".len()..)?
            .split_whitespace()
            .next()
    } else {
        None
    };
    let name = found?
        .trim_matches(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '-');
    (!name.is_empty() && name.len() <= 60).then(|| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::command;

    #[test]
    fn the_missing_command_is_named() {
        let check = |said: &str, expect: Option<&str>| {
            assert_eq!(command(said).as_deref(), expect, "{said}");
        };
        check("bash: line 1: rg: command not found", Some("rg"));
        check("/bin/sh: python: command not found", Some("python"));
        check("zsh:1: command not found: pytest", Some("pytest"));
        check("ModuleNotFoundError: No module named 'yaml'", Some("yaml"));
        check("Error: No such tool available: Foo", Some("Foo"));
        check("error: test failed", None);
    }
}

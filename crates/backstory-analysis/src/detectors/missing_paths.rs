//! Files and folders that are not where the agent looks for them.

use super::tool_errors::errors;
use super::{Detector, PatternKind, Signal};
use crate::AgentConventions;
use crate::digest::{Notes, What};

pub(super) const DETECTOR: Detector = Detector {
    name: "missing_paths",
    kind: PatternKind::Problem,
    weight: 1.0,
    alike: None,
    detect,
};

fn detect(notes: &Notes, agents: &AgentConventions, found: &mut Vec<Signal>) {
    for (step, _, said) in errors(notes, agents) {
        if !is(said) {
            continue;
        }
        let named = match &step.what {
            What::Failed { target, .. } => name(target),
            // `bash: line 1: cd: src/x: No such file or directory`: what stands last before it.
            _ => {
                let end = said.find("No such file").unwrap_or(said.len());
                said[..end].split_whitespace().rev().find_map(name)
            }
        };
        let title = "paths are tried that do not exist".to_string();
        let advice = "List the folder, or search for the file, before opening it.".to_string();
        let signal = Signal::at(step, title.clone(), title, said);
        found.push(signal.advising(advice).minor());
        if let Some(name) = named {
            let title = format!("`{name}` is looked for where it is not");
            found.push(Signal::at(step, name, title, said).minor());
        }
    }
}

/// Returns whether an error says that a path does not exist.
pub(super) fn is(said: &str) -> bool {
    let lower = said.to_lowercase();
    [
        "no such file or directory",
        "file does not exist",
        "does not exist.",
        "path does not exist",
        "cannot find the path",
        "enoent",
    ]
    .iter()
    .any(|words| lower.contains(words))
}

/// The last two parts of a path, by which the same one is known in other folders.
fn name(word: &str) -> Option<String> {
    let path = word.trim_matches(|letter: char| "'\"`:,;()‘’".contains(letter));
    if !path.contains(['/', '\\', '.']) || path.len() < 3 {
        return None;
    }
    let mut parts: Vec<&str> = path
        .rsplit(['/', '\\'])
        .filter(|part| !part.is_empty())
        .take(2)
        .collect();
    parts.reverse();
    let name = parts.join("/");
    name.chars().any(char::is_alphabetic).then_some(name)
}

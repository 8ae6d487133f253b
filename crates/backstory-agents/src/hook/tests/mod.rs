//! What agents tell, and what is understood of it. The inputs lie in `tests/hooks/`, a file an event and case, written by us.

mod damage;
mod names;
mod recorded;
mod sizes;

use std::path::{Path, PathBuf};

use super::*;
use crate::agents::AGENTS;

/// One recorded input.
struct Recorded {
    agent: &'static str,
    /// As the agent calls it.
    event: String,
    /// `<agent>/<event>` or `<agent>/<event>-<case>`.
    name: String,
    bytes: Vec<u8>,
}

impl Recorded {
    fn read(&self) -> HookInput {
        read(Some(self.agent), Some(&self.event), &self.bytes).unwrap()
    }
}

/// Agents that call hooks.
fn hook_agents() -> impl Iterator<Item = &'static Agent> {
    AGENTS.iter().filter(|agent| agent.hooks.is_some())
}

/// All recorded inputs, in the order of their names.
fn recorded() -> Vec<Recorded> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hooks");
    let mut found = Vec::new();
    for agent in hook_agents() {
        let agent = agent.name;
        let files = std::fs::read_dir(folder.join(agent)).unwrap();
        let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
        files.sort();
        for file in files {
            if file.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let stem = file.file_stem().unwrap().to_str().unwrap();
            found.push(Recorded {
                agent,
                event: stem.split('-').next().unwrap().to_string(),
                name: format!("{agent}/{stem}"),
                bytes: std::fs::read(&file).unwrap(),
            });
        }
    }
    found
}

fn named(name: &str) -> Recorded {
    recorded()
        .into_iter()
        .find(|recorded| recorded.name == name)
        .unwrap_or_else(|| panic!("no recorded input {name}"))
}

fn tool(input: HookInput) -> ToolUse {
    match input.happening {
        Happening::ToolUsed(tool) => tool,
        other => panic!("no tool use: {other:?}"),
    }
}

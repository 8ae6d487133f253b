//! What must hold of what hooks are told.

use std::collections::BTreeMap;
use std::path::Path;

use backstory_agents::AGENTS;
use backstory_agents::hook::{Happening, HookInput, read};
use serde::de::IgnoredAny;

/// An event of each kind, in the spellings of several agents.
const EVENTS: [Option<&str>; 10] = [
    None,
    Some("PostToolUse"),
    Some("UserPromptSubmit"),
    Some("AfterAgent"),
    Some("afterFileEdit"),
    Some("afterShellExecution"),
    Some("subagentStop"),
    Some("post_tool_use_failure"),
    Some("sessionStart"),
    Some("afterAgentResponse"),
];

/// Checks what is understood of these bytes.
///
/// Every object is understood, whoever is said to have written it; what is understood survives being written down; and what a
/// tool was asked is JSON, also after it was shortened.
pub(crate) fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data));
    let is_object = serde_json::from_str::<BTreeMap<String, IgnoredAny>>(&text).is_ok();
    // Each event costs another run; over many inputs all have their turn.
    let event = EVENTS[data.len() % EVENTS.len()];
    let agents = AGENTS.iter().filter(|agent| agent.hooks.is_some());
    let names = agents.map(|agent| Some(agent.name));
    for agent in names.chain([None]) {
        match read(agent, event, data) {
            Ok(understood) => check_understood(understood),
            Err(error) => assert!(!is_object, "{error}: {text:?}"),
        }
    }
}

fn check_understood(mut understood: HookInput) {
    let written = serde_json::to_string(&understood).unwrap_or_default();
    let again: Option<HookInput> = serde_json::from_str(&written).ok();
    assert_eq!(again.as_ref(), Some(&understood), "written as {written}");
    for most in [usize::MAX, 64, 3, 0] {
        understood.shorten(most);
        if let Happening::ToolUsed(tool) = &understood.happening {
            let is_json = serde_json::from_str::<IgnoredAny>(&tool.input).is_ok();
            assert!(is_json, "no JSON: {}", tool.input);
        }
    }
}

/// The recorded inputs.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    // From the crate with the tests, or from the one with the targets.
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["tests/hooks", "../crates/backstory-agents/tests/hooks"];
    let folders = folders.iter().flat_map(|folder| below(&here.join(folder)));
    let files = folders.flat_map(|folder| below(&folder));
    let files = files.filter(|file| {
        file.extension()
            .is_some_and(|extension| extension == "json")
    });
    files.filter_map(|file| std::fs::read(file).ok()).collect()
}

fn below(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

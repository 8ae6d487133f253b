//! What agents write is known to `backstory-agents` alone: no other crate names an agent, a tool or an argument, knows a marker of a
//! log, or parses what a tool was asked.

use std::path::{Path, PathBuf};

use crate::environment::files_below;

/// Names of agents, tools, arguments and fields, each as a whole string in the source.
const NAMES: [&str; 54] = [
    "claude-code",
    "codex",
    "grok",
    "gemini",
    "Bash",
    "BashOutput",
    "Edit",
    "Glob",
    "Grep",
    "KillShell",
    "MultiEdit",
    "NotebookEdit",
    "TodoWrite",
    "ExitPlanMode",
    "WebFetch",
    "WebSearch",
    "todowrite",
    "apply_patch",
    "exec_command",
    "local_shell",
    "shell_command",
    "spawn_agent",
    "unified_exec",
    "update_plan",
    "view_image",
    "write_stdin",
    "run_terminal_cmd",
    "search_replace",
    "todo_write",
    "file_path",
    "notebook_path",
    "old_string",
    "new_string",
    "old_str",
    "new_str",
    "subagent_type",
    "todos",
    "toolUseResult",
    "tool_use_result",
    "parentUuid",
    "isSidechain",
    "sidechain",
    "gitBranch",
    "requestId",
    "call_id",
    "event_msg",
    "response_item",
    "turn_context",
    "session_update",
    "sessionUpdate",
    "toolCallId",
    "rawInput",
    "rawOutput",
    "agent_message_chunk",
];

/// Beginnings and parts of texts that agents put into logs.
const MARKERS: [&str; 24] = [
    "<command-",
    "<local-command",
    "<system-reminder",
    "<teammate-message",
    "<task-notification",
    "<tool_use_error",
    "<bash-",
    "<environment_context",
    "<user_instructions",
    "<turn_aborted",
    "<user_query",
    "<proposed_plan",
    "[Request interrupted",
    "Caveat:",
    "This session is being continued",
    "*** Begin Patch",
    "*** Update File",
    "running in background",
    "Process running with",
    "Process exited with",
    "Wall time",
    "rejected by user",
    "doesn't want to proceed",
    "hook additional",
];

/// Files that write the sessions of others' files down as logs of the only agent that these can be of. Its log should come from its
/// sample writer in `backstory-agents`; no file may be added.
const OFFENDERS: [&str; 2] = [
    "backstory-columnar/src/import.rs",
    "backstory-columnar/src/session_file/open.rs",
];

/// The sources of a crate that are built into the program, each with the part of it that is.
pub(crate) fn program_sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let sources: Vec<(PathBuf, String)> = files_below(folder)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .map(|path| (path.clone(), std::fs::read_to_string(&path).unwrap()))
        .collect();
    let mut test_modules = Vec::new();
    for (path, source) in &sources {
        let mut lines = source.lines();
        while let Some(line) = lines.next() {
            // Helpers of other crates' tests have a feature.
            let marks = ["#[cfg(test)]", "#[cfg(any(test, feature"];
            if !marks.iter().any(|mark| line.trim().starts_with(mark)) {
                continue;
            }
            let declared = lines.next().unwrap_or_default().trim();
            let declared = declared.trim_start_matches("pub(crate) ");
            let name = declared.strip_prefix("mod ");
            if let Some(name) = name.and_then(|name| name.strip_suffix(';')) {
                test_modules.push((path.parent().unwrap().to_path_buf(), name.to_string()));
                test_modules.push((path.with_extension(""), name.to_string()));
            }
        }
    }
    let is_test = |path: &Path| {
        test_modules.iter().any(|(folder, name)| {
            path == folder.join(format!("{name}.rs")) || path.starts_with(folder.join(name))
        })
    };
    let built = sources.into_iter().filter(|(path, _)| !is_test(path));
    built
        .map(|(path, source)| (path, without_tests(&source).to_string()))
        .collect()
}

/// A source up to the tests at its end.
fn without_tests(source: &str) -> &str {
    let mut ends = source.match_indices("#[cfg(test)]\n");
    let end = ends.find(|(at, mark)| {
        let mut lines = source[at + mark.len()..].lines();
        let next = lines.find(|line| line.contains("mod ") || line.contains("fn "));
        next.is_some_and(|line| line.contains("mod ") && line.ends_with('{'))
    });
    end.map_or(source, |(at, _)| &source[..at])
}

/// What a line of source knows of the formats of agents.
fn knowledge(line: &str) -> Option<String> {
    let code = line.trim_start();
    if code.starts_with("//") {
        return None;
    }
    let name = NAMES.iter().map(|name| format!("\"{name}\""));
    let name = name.into_iter().find(|name| code.contains(name));
    let marker = MARKERS.iter().find(|marker| code.contains(*marker));
    let parses = code.contains("serde_json::from_str")
        && ["input", "arguments", "body.text", ".text()"]
            .iter()
            .any(|source| code.contains(source));
    name.or_else(|| marker.map(ToString::to_string))
        .or_else(|| parses.then(|| "from_str".to_string()))
}

#[test]
fn only_the_crate_of_agents_knows_their_formats() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    for name in [
        "backstory",
        "backstory-analysis",
        "backstory-code",
        "backstory-columnar",
        "backstory-embed",
        "backstory-event",
        "backstory-memory",
        "backstory-redact",
        "backstory-store",
    ] {
        let sources = program_sources(&crates.join(name).join("src"));
        assert!(!sources.is_empty(), "{name}");
        for (path, source) in sources {
            if OFFENDERS.iter().any(|known| path.ends_with(known)) {
                continue;
            }
            for (line, number) in source.lines().zip(1..) {
                if let Some(known) = knowledge(line) {
                    found.push(format!("{}:{number}: {known}", path.display()));
                }
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

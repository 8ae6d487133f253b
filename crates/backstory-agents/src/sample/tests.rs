use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use backstory_event::TimeMs;
use serde_json::Value;

use super::{SampleFile, SampleLogs, logs, story};
use crate::agents::AGENTS;

const MEGABYTE: u64 = 1_000_000;
const STORY_END: TimeMs = TimeMs::new(1_790_000_000_000);

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let hash = |seed| {
        let mut hasher = DefaultHasher::new();
        for file in logs(seed, 2 * MEGABYTE) {
            (file.path, file.bytes).hash(&mut hasher);
        }
        hasher.finish()
    };
    assert_eq!(hash(1), hash(1));
    assert_ne!(hash(1), hash(2));
    assert_eq!(story(STORY_END), story(STORY_END));
}

#[test]
fn sizes_and_shares_are_as_asked() {
    for (seed, wanted) in [(1, 2 * MEGABYTE), (2, 4 * MEGABYTE), (3, 6 * MEGABYTE)] {
        let sums = logs(seed, wanted).fold(HashMap::new(), |mut sums, file| {
            *sums.entry(agent(&file)).or_insert(0) += file.bytes.len() as u64;
            sums
        });
        let total: u64 = sums.values().sum();
        assert!(total.abs_diff(wanted) <= wanted / 20, "{total} of {wanted}");
        let shares: u64 = samples().map(|(_, sample)| sample.share()).sum();
        for (name, sample) in samples() {
            let percent = sums.get(name).unwrap_or(&0) * 100 / total;
            let expected = sample.share() * 100 / shares;
            assert!(percent.abs_diff(expected) <= 10, "{name}: {percent} %");
        }
    }
}

#[test]
fn every_line_is_json_and_every_path_its_own() {
    let mut paths = HashSet::new();
    for file in logs(4, 3 * MEGABYTE).chain(story(STORY_END)) {
        assert!(paths.insert(file.path.clone()), "twice: {}", file.path);
        assert!(!values(&file).is_empty(), "empty: {}", file.path);
    }
}

#[test]
fn small_logs_already_have_every_peculiarity() {
    let files: Vec<SampleFile> = logs(2, 4 * MEGABYTE).collect();
    for (name, paths, text) in PECULIARITIES {
        let found = files.iter().any(|file| {
            file.path.contains(paths)
                && memchr::memmem::find(&file.bytes, text.as_bytes()).is_some()
        });
        assert!(found, "no {name}");
    }
    assert!(
        files
            .iter()
            .any(|file| file.path.contains("/agent-") && !file.path.contains("/subagents/")),
        "no subagent beside the session"
    );
    assert!(
        files
            .iter()
            .any(|file| file.path.ends_with(".jsonl") && values(file).len() == 2),
        "no file of two lines"
    );
}

/// A name, a part of the path, a part of the text.
const PECULIARITIES: &[(&str, &str, &str)] = &[
    (
        "thinking with signature",
        ".claude/",
        r#""type":"thinking","thinking":"","signature":""#,
    ),
    ("Bash result", ".claude/", r#""toolUseResult":{"stdout":"#),
    (
        "Read result",
        ".claude/",
        r#""toolUseResult":{"type":"text","file":"#,
    ),
    ("Edit result", ".claude/", r#""originalFile":""#),
    (
        "patch of an edit",
        ".claude/",
        r#""structuredPatch":[{"oldStart":"#,
    ),
    (
        "Write result",
        ".claude/",
        r#""toolUseResult":{"type":"create""#,
    ),
    (
        "Grep result",
        ".claude/",
        r#""toolUseResult":{"mode":"content""#,
    ),
    (
        "Glob result",
        ".claude/",
        r#""toolUseResult":{"filenames":"#,
    ),
    ("TodoWrite result", ".claude/", r#""newTodos":[{"content":"#),
    (
        "Task result",
        ".claude/",
        r#""toolUseResult":{"status":"completed""#,
    ),
    ("failed tool", ".claude/", r#""is_error":true"#),
    ("hook", ".claude/", r#""type":"hook_success""#),
    ("queued prompt", ".claude/", r#""type":"queued_command""#),
    ("queue operation", ".claude/", r#""type":"queue-operation""#),
    ("interruption", ".claude/", "[Request interrupted by user]"),
    ("turn duration", ".claude/", r#""subtype":"turn_duration""#),
    ("compaction", ".claude/", r#""subtype":"compact_boundary""#),
    (
        "summary of a compaction",
        ".claude/",
        r#""isCompactSummary":true"#,
    ),
    ("snapshot", ".claude/", r#""type":"file-history-snapshot""#),
    ("title", ".claude/", r#""type":"ai-title""#),
    ("summary", ".claude/", r#""type":"summary""#),
    ("last prompt", ".claude/", r#""type":"last-prompt""#),
    ("permission mode", ".claude/", r#""type":"permission-mode""#),
    ("progress", ".claude/", r#""type":"progress""#),
    ("background session", ".claude/", r#""sessionKind":"bg""#),
    ("picture", ".claude/", r#""media_type":"image/png""#),
    ("inline subagent", ".claude/", r#""version":"1.0.98""#),
    (
        "subagent of the session",
        "/subagents/agent-",
        r#""isSidechain":true"#,
    ),
    ("description of a subagent", ".meta.json", r#""agentType":"#),
    ("instructions", ".codex/", r#""base_instructions":{"text":"#),
    ("turn context", ".codex/", r#""type":"turn_context""#),
    ("sealed reasoning", ".codex/", r#""encrypted_content":""#),
    ("readable reasoning", ".codex/", r#""type":"summary_text""#),
    ("function call", ".codex/", r#""type":"function_call""#),
    (
        "function output",
        ".codex/",
        r#""type":"function_call_output""#,
    ),
    ("patch", ".codex/", r#""name":"apply_patch""#),
    ("end of a patch", ".codex/", r#""type":"patch_apply_end""#),
    ("user message", ".codex/", r#""type":"user_message""#),
    ("agent message", ".codex/", r#""type":"agent_message""#),
    ("token count", ".codex/", r#""total_token_usage":"#),
    (
        "token count without numbers",
        ".codex/",
        r#""type":"token_count","info":null"#,
    ),
    ("start of a task", ".codex/", r#""type":"task_started""#),
    ("end of a task", ".codex/", r#""type":"task_complete""#),
    ("fork of a thread", ".codex/", r#""forked_from_id":""#),
    ("compacted thread", ".codex/", r#""type":"compacted""#),
    ("bare items", ".codex/", r#"{"record_type":"state"}"#),
    ("session in one object", ".json", r#"{"session":{"id":"#),
    (
        "chunk",
        "/updates.jsonl",
        r#""sessionUpdate":"agent_message_chunk""#,
    ),
    (
        "tool of Grok",
        "/updates.jsonl",
        r#""sessionUpdate":"tool_call""#,
    ),
    (
        "result of Grok",
        "/updates.jsonl",
        r#""sessionUpdate":"tool_call_update""#,
    ),
    (
        "usage of Grok",
        "/updates.jsonl",
        r#""sessionUpdate":"turn_completed""#,
    ),
    ("summary of Grok", "/summary.json", r#""generated_title":"#),
];

#[test]
fn responses_repeat_their_usage_until_it_is_final() {
    let mut lines = 0;
    let mut responses = HashSet::new();
    let mut growing = 0;
    let mut apart = 0;
    for file in logs(1, 6 * MEGABYTE).filter(|file| agent(file) == "claude-code") {
        let mut previous = (String::new(), 0);
        let mut between = false;
        for value in values(&file) {
            let Some(id) = value["message"]["id"].as_str() else {
                between |= value["type"] == "user";
                continue;
            };
            lines += 1;
            responses.insert(id.to_owned());
            let output = value["message"]["usage"]["output_tokens"].as_u64().unwrap();
            if previous.0 == id {
                assert!(output >= previous.1 || value["message"]["stop_reason"].is_null());
                growing += u64::from(output > previous.1);
                apart += u64::from(between);
            }
            previous = (id.to_owned(), output);
            between = false;
        }
    }
    assert!(
        lines > responses.len() * 5 / 4,
        "{lines} lines of {} responses",
        responses.len()
    );
    assert!(growing > 0 && apart > 0);
}

#[test]
fn history_is_replayed_in_other_files() {
    let mut seen = HashSet::new();
    let (mut replayed, mut repeated_images, mut repeated_totals) = (0, 0, 0);
    for file in logs(1, 6 * MEGABYTE) {
        let mut total = Value::Null;
        for value in values(&file) {
            if let Some(uuid) = value["uuid"].as_str() {
                replayed += u64::from(!seen.insert(uuid.to_owned()));
            }
            let image = &value["message"]["content"][1]["source"]["data"];
            if let Some(data) = image.as_str().filter(|_| !value["uuid"].is_null()) {
                repeated_images += u64::from(!seen.insert(data.to_owned()));
            }
            let now = &value["payload"]["info"]["total_token_usage"];
            if !now.is_null() {
                repeated_totals += u64::from(*now == total);
                total = now.clone();
            }
        }
    }
    assert!(replayed > 0 && repeated_images > 0 && repeated_totals > 0);
}

#[test]
fn the_story_has_all_agents_and_ends_in_time() {
    let files = story(STORY_END);
    let agents: HashSet<&str> = files.iter().map(agent).collect();
    assert_eq!(agents, samples().map(|(name, _)| name).collect());
    let text = files
        .iter()
        .map(|file| String::from_utf8_lossy(&file.bytes))
        .collect::<String>();
    for part in [
        "queued_command",
        "turn_aborted",
        "libssl-dev",
        "\"isSidechain\":true",
    ] {
        assert!(text.contains(part), "no {part}");
    }
    let times: Vec<TimeMs> = files
        .iter()
        .flat_map(values)
        .filter_map(|value| time(&value))
        .collect();
    assert_eq!(times.iter().max(), Some(&STORY_END));
    let week = 7 * 24 * 3_600_000;
    assert!(
        times
            .iter()
            .all(|time| (STORY_END.minus_ms(week)..=STORY_END).contains(time))
    );
}

/// Agents that have samples.
fn samples() -> impl Iterator<Item = (&'static str, &'static dyn SampleLogs)> {
    AGENTS
        .iter()
        .filter_map(|agent| Some((agent.name, agent.sample?)))
}

/// Name of the agent that a file is of: its first folder is the agent's own.
fn agent(file: &SampleFile) -> &'static str {
    let folder = |path: &str| path.split('/').next().unwrap().to_owned();
    let mut samples = samples();
    let (name, _) = samples
        .find(|(_, sample)| folder(sample.paths()[0]) == folder(&file.path))
        .unwrap();
    name
}

fn values(file: &SampleFile) -> Vec<Value> {
    if file.path.ends_with(".txt") {
        return vec![Value::Null];
    }
    let parse = |text: &[u8]| serde_json::from_slice(text).unwrap();
    if file.path.ends_with(".json") {
        return vec![parse(&file.bytes)];
    }
    let lines = file.bytes.strip_suffix(b"\n").unwrap();
    lines.split(|byte| *byte == b'\n').map(parse).collect()
}

fn time(value: &Value) -> Option<TimeMs> {
    match &value["timestamp"] {
        Value::Number(seconds) => Some(TimeMs::new(seconds.as_i64()? * 1_000)),
        Value::String(stamp) => crate::time::milliseconds(stamp),
        _ => None,
    }
}

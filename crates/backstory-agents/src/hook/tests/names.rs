//! Who speaks, of what, and what things are called: as the readers of logs call them.

use serde_json::{Value, json};

use super::*;
use crate::sample::ScriptedSession;
use crate::sample::step::Step;
use crate::{SourceName, read_lines, reader};
use backstory_event::{Event, Kind, Output};

#[test]
fn events_are_known_in_every_spelling() {
    let check = |registered: Option<&str>, said: &str, expect: &str| {
        let input = format!(r#"{{"hook_event_name":"{said}"}}"#);
        let read = read(Some("claude-code"), registered, input.as_bytes()).unwrap();
        assert_eq!(read.event, expect, "{registered:?} {said}");
    };
    check(None, "SessionStart", "SessionStart");
    check(None, "sessionStart", "SessionStart");
    check(None, "session_start", "SessionStart");
    check(None, "session-start", "SessionStart");
    check(None, "beforeSubmitPrompt", "UserPromptSubmit");
    check(None, "BeforeAgent", "UserPromptSubmit");
    check(None, "afterMCPExecution", "PostToolUse");
    check(None, "PreCompress", "PreCompact");
    check(None, "AfterAgent", "Stop");
    check(None, "WorktreeCreate", "WorktreeCreate");
    check(None, "", "");
    // The argument counts unless it is unknown.
    check(Some("PreToolUse"), "PostToolUse", "PreToolUse");
    check(Some("Whatever"), "PostToolUse", "PostToolUse");
    check(Some("Whatever"), "Else", "Whatever");
    check(Some("Stop"), "Else", "Stop");
    check(None, &"e".repeat(1000), &"e".repeat(64));
    // No names, but what nobody wants to read in a log.
    check(None, "token 7", "");
    check(None, "é", "");
}

#[test]
fn the_agent_shows_in_the_input() {
    let check = |registered: Option<&str>, input: Value, expect: &str| {
        let read = read(registered, None, input.to_string().as_bytes()).unwrap();
        assert_eq!(read.agent.name, expect, "{registered:?} {input}");
    };
    check(None, json!({}), "claude-code");
    check(Some("aider"), json!({}), "claude-code");
    check(Some("gemini"), json!({}), "gemini");
    check(Some("claude"), json!({"turn_id": "t"}), "claude-code");
    check(Some("claude-code"), json!({"sessionId": "s"}), "grok");
    check(Some("cursor"), json!({"hookEventName": "stop"}), "grok");
    check(
        Some("claude-code"),
        json!({"cursor_version": "2.6"}),
        "cursor",
    );
    check(None, json!({"conversation_id": "c"}), "cursor");
    check(None, json!({"turn_id": "t"}), "codex");
    check(
        None,
        json!({"transcript_path": "/x/.codex/a.jsonl"}),
        "codex",
    );
    check(
        None,
        json!({"transcript_path": "/x/rollout-2026-1.jsonl"}),
        "codex",
    );
    check(
        None,
        json!({"transcript_path": "/x/.gemini/a.json"}),
        "gemini",
    );
    check(None, json!({"hook_event_name": "AfterTool"}), "gemini");
}

#[test]
fn grok_says_itself_what_happened() {
    let recorded = named("grok/PostToolUse");
    for (agent, event) in [
        ("claude-code", "PostToolUse"),
        ("cursor", "afterFileEdit"),
        ("cursor", "afterShellExecution"),
        ("cursor", "afterAgentResponse"),
    ] {
        let read = read(Some(agent), Some(event), &recorded.bytes).unwrap();
        assert_eq!(read, recorded.read(), "{agent} {event}");
    }
}

/// The events that the agent's reader finds in a log.
fn logged_bytes(agent: &str, path: &str, log: &[u8]) -> Vec<Event> {
    let source = SourceName {
        path: Path::new(path),
    };
    let mut output = Output::default();
    let mut reading = reader(agent).unwrap().begin(&source, None);
    read_lines(&mut *reading, log, 0, 1, &mut output);
    output.events
}

/// The events that the agent's reader finds in a log of one line.
fn logged(agent: &str, line: &Value) -> Vec<Event> {
    logged_bytes(agent, "/x/log.jsonl", line.to_string().as_bytes())
}

/// A log of the agent in which a person says this.
fn said(agent: &Agent, prompt: &str) -> Vec<u8> {
    written(agent, &[Step::Prompt(prompt)])
}

/// A log of the agent in which this happens.
fn written(agent: &Agent, steps: &[Step<'_>]) -> Vec<u8> {
    let (mut files, _) = agent.sample.unwrap().write(&ScriptedSession {
        seed: 1,
        start: TimeMs::new(1_790_000_000_000),
        cwd: "/home/ada/shop",
        branch: "main",
        title: "Said",
        steps,
        subagent: None,
        fork: None,
    });
    files.swap_remove(0).bytes
}

/// Agents whose logs are read and that call hooks.
fn agents_with_both() -> impl Iterator<Item = &'static Agent> {
    hook_agents().filter(|agent| agent.reader.is_some())
}

#[test]
fn prompts_are_what_the_log_will_have() {
    const PROMPTS: &[&str] = &[
        "plain",
        "  two\nlines \n\n",
        "<backstory-context>ours</backstory-context>\nmine",
        "<backstory-context>ours",
        "<ide_selection>x</ide_selection>\n\nand this?",
        "<system-reminder>only this</system-reminder>",
        "<user_query>\nhello\n</user_query>",
        "<user_info>OS</user_info>\n<user_query>hello</user_query>",
        "<environment_context>cwd</environment_context>",
        "<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>src</command-args>",
        "# Context from my IDE setup:\n\n## My request for Codex:\nfix it\n",
        "[Request interrupted by user]",
        "/review src",
        "<b>bold</b>",
        " ",
        "",
    ];
    for agent in agents_with_both() {
        for prompt in PROMPTS {
            let events = logged_bytes(agent.name, "/x/log.jsonl", &said(agent, prompt));
            let prompts = events
                .into_iter()
                .filter(|event| event.kind == Kind::Prompt);
            let found: String = prompts.map(|event| event.body.text).collect();
            let heard = agent.hooks.unwrap().prompt_text(prompt);
            assert_eq!(heard.unwrap_or_default(), found, "{agent:?} {prompt:?}");
        }
    }
}

#[test]
fn sessions_are_called_as_their_logs_are() {
    let mut compared = 0;
    for recorded in recorded() {
        let told = recorded.read();
        // The log named to a subagent of Claude Code is its parent's, until it stops.
        let of_parent = recorded.name == "claude-code/PostToolUse-subagent"
            || recorded.name == "claude-code/SubagentStart"
            || recorded.name == "codex/SubagentStart";
        let Some(path) = told.transcript.filter(|_| !of_parent) else {
            continue;
        };
        let agent = Agent::find(recorded.agent).unwrap();
        if agent.reader.is_some() {
            // Each record alone: what the log is called counts, not what another record says.
            let log = said(agent, "hello");
            let events = log
                .split(|byte| *byte == b'\n')
                .map(|line| logged_bytes(recorded.agent, &path, line))
                .find(|events| !events.is_empty())
                .unwrap();
            assert_eq!(
                told.session.as_deref(),
                Some(&*events[0].session),
                "{}",
                recorded.name
            );
            compared += 1;
        }
    }
    assert!(compared > 50, "{compared}");
}

#[test]
fn sessions_without_an_id_are_called_by_their_log() {
    let check = |agent: &str, input: Value, expect: Option<&str>| {
        let read = read(
            Some(agent),
            Some("SubagentStop"),
            input.to_string().as_bytes(),
        )
        .unwrap();
        assert_eq!(read.session.as_deref(), expect, "{agent} {input}");
    };
    let id = "5b1f6c1e-8a43-4c0e-9d27-3f6f0c9a7e11";
    let log = |path: &str| json!({"agent_transcript_path": path.replace("ID", id), "transcript_path": "/x/y"});
    check("claude-code", log("/p/ID.jsonl"), Some(id));
    check(
        "claude-code",
        log("/p/ID/subagents/agent-a1.jsonl"),
        Some(&format!("{id}/agent-a1")),
    );
    check("claude-code", log("/p/agent-a1.jsonl"), None);
    check(
        "claude-code",
        json!({"session_id": "s", "agent_id": "a1"}),
        Some("s/agent-a1"),
    );
    check(
        "codex",
        log("/p/rollout-2026-11-09T10-15-30-ID.jsonl"),
        Some(id),
    );
    check(
        "codex",
        json!({"session_id": "s", "agent_id": id}),
        Some(id),
    );
    check(
        "codex",
        json!({"session_id": "s", "agent_id": "review"}),
        Some("s"),
    );
    check("cursor", log("/p/ID.jsonl"), Some(id));
    check("gemini", json!({"session_id": "s"}), Some("s"));
    check("gemini", json!({"session_id": ""}), None);
    let grok = json!({"transcriptPath": format!("/s/{id}/updates.jsonl"), "hookEventName": "stop"});
    check("grok", grok, Some(id));
}

#[test]
fn tools_do_what_the_log_says_they_do() {
    for recorded in recorded() {
        let Happening::ToolUsed(told) = recorded.read().happening else {
            continue;
        };
        let input: Value = serde_json::from_str(&told.input).unwrap();
        let line = match recorded.agent {
            "claude-code" => {
                json!({"type": "assistant", "uuid": "u", "message": {"role": "assistant", "content":
                [{"type": "tool_use", "id": told.id, "name": told.name, "input": input}]}})
            }
            "grok" => json!({"params": {"sessionId": "s", "update": {"sessionUpdate": "tool_call",
                "toolCallId": told.id, "title": told.name, "rawInput": input, "status": "completed"}}}),
            _ => continue,
        };
        let events = logged(recorded.agent, &line);
        let call = &events[0];
        assert_eq!(call.body.command, told.command, "{}", recorded.name);
        assert_eq!(call.touches, told.touches, "{}", recorded.name);
        assert_eq!(call.tool.as_deref(), Some(&*told.name), "{}", recorded.name);
        assert_eq!(call.body.identity.tool_use_id, told.id, "{}", recorded.name);
    }
}

/// What a hook makes of the tool and input that a log has is what the reader makes of them.
#[test]
fn calls_do_in_hooks_what_they_do_in_logs() {
    let steps = [
        Step::Prompt("look at it"),
        Step::Run {
            command: "cargo test -p cart",
            output: "ok",
            exit_code: 0,
        },
        Step::Read {
            path: "src/cart.rs",
            contents: "fn cart() {}\n",
        },
        Step::Write {
            path: "src/shop.rs",
            contents: "fn shop() {}\n",
        },
        Step::Answer("It is well"),
    ];
    for agent in agents_with_both() {
        let dialect = agent.hooks.unwrap();
        let events = logged_bytes(agent.name, "/x/log.jsonl", &written(agent, &steps));
        let calls = events.iter().filter(|event| event.kind == Kind::ToolCall);
        let (mut commands, mut touches) = (0, 0);
        for call in calls {
            let arguments = call.body.arguments.as_ref().unwrap_or(&call.body.text);
            // What is no JSON in a log is a string in a hook's input.
            let arguments = match serde_json::from_str::<Value>(arguments) {
                Ok(_) => arguments.clone(),
                Err(_) => json!(arguments).to_string(),
            };
            let tool = call.tool.as_deref().unwrap();
            let heard = dialect.tool_effects(tool, &arguments);
            assert_eq!(
                heard.command, call.body.command,
                "{agent:?} {tool} {arguments}"
            );
            assert_eq!(heard.touches, call.touches, "{agent:?} {tool} {arguments}");
            commands += usize::from(heard.command.is_some());
            touches += heard.touches.len();
        }
        assert!(commands > 0 && touches > 0, "{agent:?}");
    }
}

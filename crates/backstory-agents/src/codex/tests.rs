//! Each test is a log of a few lines and what is understood of it. Every log is also read in two pieces, cut after each
//! record, and every body is read again from its span: see `read`.

mod bodies;
mod counts;
mod details;
mod facts;
mod nothing_lost;
mod telemetry;
mod twins;

use std::path::Path;

use proptest::prelude::*;

use super::Codex;
use crate::reader::{Places, Reader, Shape, SourceName};
use crate::record::{read_document, read_lines};
use backstory_event::{Action, Event, Output, ParentKind, TimeMs, Title};

const OWN: &str = "11111111-aaaa-bbbb-cccc-000000000001";
const PARENT: &str = "22222222-aaaa-bbbb-cccc-000000000002";

/// Reads a log and compares what is understood of it, one thing a line.
#[track_caller]
fn check(lines: &[String], expected: &str) {
    let trimmed: Vec<&str> = expected.trim().lines().map(str::trim).collect();
    assert_eq!(render(&read(lines)), trimmed.join("\n"));
}

fn read(lines: &[String]) -> Output {
    let name = format!("sessions/2026/01/02/rollout-2026-01-02T03-04-05-{OWN}.jsonl");
    read_as(&name, lines)
}

fn read_as(name: &str, lines: &[String]) -> Output {
    let log: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let source = SourceName {
        path: Path::new(name),
    };
    let whole = read_cut(&source, log.as_bytes(), log.len());
    for (cut, _) in log.match_indices('\n') {
        let pieces = read_cut(&source, log.as_bytes(), cut + 1);
        assert_eq!(
            format!("{pieces:?}"),
            format!("{whole:?}"),
            "cut at byte {cut}"
        );
    }
    assert_bodies(log.as_bytes(), &whole);
    whole
}

fn read_cut(source: &SourceName<'_>, log: &[u8], cut: usize) -> Output {
    let mut out = Output::default();
    let (first, second) = log.split_at(cut);
    let mut reading = Codex.begin(source, None);
    let newlines = read_lines(&mut *reading, first, 0, 1, &mut out);
    let mut reading = Codex.begin(source, Some(&reading.state()));
    read_lines(&mut *reading, second, cut as u64, newlines + 1, &mut out);
    out
}

fn assert_bodies(stored: &[u8], out: &Output) {
    for event in &out.events {
        let start = event.span.offset as usize;
        let span = &stored[start..start + event.span.length as usize];
        let bodies = Codex.reread(span);
        let found = bodies.iter().find(|(part, _)| *part == event.span.part);
        assert_eq!(found.map(|(_, body)| body), Some(&event.body));
    }
}

fn render(out: &Output) -> String {
    let mut lines = Vec::new();
    for facts in &out.facts {
        let mut line = "facts".to_string();
        let named = [
            ("cwd", &facts.cwd),
            ("branch", &facts.branch),
            ("remote", &facts.remote),
        ];
        for (name, value) in named {
            line.extend(value.iter().map(|value| format!(" {name}={value}")));
        }
        line.extend(facts.machine.map(|machine| format!(" machine={machine}")));
        line.extend(facts.title.iter().map(|title| match title {
            Title::Generated(title) => format!(" title={title:?}"),
            other => format!(" title={other:?}"),
        }));
        line.extend(facts.parent.iter().map(|parent| {
            let kind = if parent.kind == ParentKind::Fork {
                "fork of"
            } else {
                "subagent of"
            };
            format!(" {kind} {}", parent.session)
        }));
        // What else facts say is rendered by the tests of it.
        if line != "facts" {
            lines.push(line);
        }
    }
    lines.extend(out.events.iter().map(render_event));
    for response in &out.responses {
        let usage = response.usage;
        let counts = format!(
            "in={} read={} write={}",
            usage.input, usage.cache_read, usage.cache_write
        );
        lines.push(format!(
            "used {} {counts} out={} think={}",
            response.model, usage.output, usage.reasoning
        ));
    }
    lines.extend(
        out.skipped
            .iter()
            .map(|skipped| format!("skipped line {}", skipped.line)),
    );
    lines.join("\n")
}

fn render_event(event: &Event) -> String {
    let mut line = format!("{} {:?}", event.kind.name(), event.body.text);
    line.extend(event.model.iter().map(|model| format!(" by {model}")));
    line.extend(event.tool.iter().map(|tool| format!(" tool={tool}")));
    line.extend(
        event
            .body
            .identity
            .tool_use_id
            .iter()
            .map(|call| format!(" call={call}")),
    );
    line.extend(
        event
            .body
            .command
            .iter()
            .map(|command| format!(" $ {command:?}")),
    );
    for touch in &event.touches {
        let action = match touch.action {
            Action::Read => "reads",
            Action::Write => "writes",
            Action::Delete => "deletes",
        };
        line.push_str(&format!(" {action} {}", touch.path));
    }
    line.extend(event.exit_code.map(|code| format!(" exit={code}")));
    line.extend(event.duration_ms.map(|duration| format!(" ms={duration}")));
    line.push_str(if event.error { " error" } else { "" });
    line
}

fn record(kind: &str, payload: &str) -> String {
    format!(r#"{{"timestamp":"2026-01-02T03:04:05.678Z","type":"{kind}","payload":{payload}}}"#)
}

fn item(payload: &str) -> String {
    record("response_item", payload)
}

fn event(payload: &str) -> String {
    record("event_msg", payload)
}

fn meta(id: &str, more: &str) -> String {
    record(
        "session_meta",
        &format!(r#"{{"id":"{id}","timestamp":"2026-01-02T03:04:00Z"{more}}}"#),
    )
}

fn context(model: &str) -> String {
    record(
        "turn_context",
        &format!(r#"{{"cwd":"/home/me/shop","model":"{model}"}}"#),
    )
}

fn said(role: &str, text: &str) -> String {
    let part = if role == "assistant" {
        "output_text"
    } else {
        "input_text"
    };
    let text = serde_json::to_string(text).unwrap();
    item(&format!(
        r#"{{"type":"message","role":"{role}","content":[{{"type":"{part}","text":{text}}}]}}"#
    ))
}

fn shown(kind: &str, text: &str) -> String {
    event(&format!(
        r#"{{"type":"{kind}","message":{}}}"#,
        serde_json::to_string(text).unwrap()
    ))
}

fn call(name: &str, arguments: &str) -> String {
    let arguments = serde_json::to_string(arguments).unwrap();
    item(&format!(
        r#"{{"type":"function_call","name":"{name}","arguments":{arguments},"call_id":"c1"}}"#
    ))
}

fn custom(name: &str, input: &str) -> String {
    let input = serde_json::to_string(input).unwrap();
    item(&format!(
        r#"{{"type":"custom_tool_call","name":"{name}","input":{input},"call_id":"c1"}}"#
    ))
}

fn output(output: &str) -> String {
    item(&format!(
        r#"{{"type":"function_call_output","call_id":"c1","output":{output}}}"#
    ))
}

fn quoted_output(text: &str) -> String {
    output(&serde_json::to_string(text).unwrap())
}

fn tokens(total: [u64; 5], last: Option<[u64; 5]>) -> String {
    let usage = |[input, cached, write, out, think]: [u64; 5]| {
        format!(
            r#"{{"input_tokens":{input},"cached_input_tokens":{cached},"cache_write_input_tokens":{write},
            "output_tokens":{out},"reasoning_output_tokens":{think},"total_tokens":{}}}"#,
            input + out
        )
        .replace('\n', "")
    };
    let last = last.map_or("null".to_string(), usage);
    let info = format!(
        r#"{{"total_token_usage":{},"last_token_usage":{last}}}"#,
        usage(total)
    );
    event(&format!(
        r#"{{"type":"token_count","info":{info},"rate_limits":null}}"#
    ))
}

#[test]
fn a_session_from_its_first_record_to_a_reply() {
    let git = r#","cwd":"/home/me/shop","originator":"codex-tui","source":"cli",
        "git":{"commit_hash":"abc","branch":"main","repository_url":"git@host:me/shop.git"}"#
        .replace('\n', "");
    check(
        &[
            meta(OWN, &git),
            event(r#"{"type":"task_started","turn_id":"t"}"#),
            context("gpt-test"),
            said("developer", "<permissions instructions>\nAsk first."),
            said("user", "Add a cart"),
            shown("user_message", "Add a cart"),
            shown("agent_message", "On it."),
            said("assistant", "On it."),
            event(r#"{"type":"task_complete","last_agent_message":"On it."}"#),
        ],
        r#"
        facts cwd=/home/me/shop branch=main remote=git@host:me/shop.git machine=false
        system "<permissions instructions>\nAsk first."
        prompt "Add a cart"
        reply "On it." by gpt-test
        "#,
    );
}

#[test]
fn times_and_session_are_on_every_event() {
    let out = read(&[meta(OWN, ""), said("user", "Hello")]);
    assert_eq!(out.events[0].at, Some(TimeMs::new(1_767_323_045_678)));
    assert_eq!(&*out.events[0].session, OWN);
}

#[test]
fn the_first_meta_names_the_session_else_the_file_else_the_folder() {
    let id = |name: &str, lines: &[String]| read_as(name, lines).events[0].session.to_string();
    let hello = said("user", "Hello");
    assert_eq!(
        id(
            &format!("rollout-{PARENT}.jsonl"),
            &[meta(OWN, ""), hello.clone()]
        ),
        OWN
    );
    assert_eq!(
        id(
            &format!("rollout-2026-01-02-{PARENT}.jsonl"),
            std::slice::from_ref(&hello)
        ),
        PARENT
    );
    assert_eq!(
        id(
            &format!("rollout-2026-{PARENT}_{OWN}.jsonl"),
            std::slice::from_ref(&hello)
        ),
        PARENT
    );
    assert_eq!(
        id(
            &format!("2026-01-02-{PARENT}/full.jsonl"),
            std::slice::from_ref(&hello)
        ),
        PARENT
    );
    assert_eq!(id("some/where.jsonl", &[hello]), "where");
}

#[test]
fn facts_come_again_only_when_they_change() {
    let moved = r#"{"cwd":"/home/me/other","model":"gpt-test"}"#;
    check(
        &[
            meta(OWN, r#","cwd":"/home/me/shop""#),
            context("gpt-test"),
            said("user", "Hello"),
            meta(OWN, r#","cwd":"/home/me/shop""#),
            record("turn_context", moved),
            event(r#"{"type":"thread_name_updated","thread_name":"Greeting"}"#),
            event(r#"{"type":"thread_name_updated","thread_name":"Greeting"}"#),
            event(&format!(
                r#"{{"type":"thread_name_updated","thread_id":"{PARENT}","thread_name":"No"}}"#
            )),
        ],
        r#"
        facts cwd=/home/me/shop
        facts cwd=/home/me/other
        facts title="Greeting"
        prompt "Hello"
        "#,
    );
}

#[test]
fn who_started_a_session() {
    let check = |more: &str, expected: &str| check(&[meta(OWN, more)], expected);
    check(
        r#","source":"vscode","originator":"Codex Desktop""#,
        "facts machine=false",
    );
    check(
        r#","source":"cli","originator":"codex_sdk_ts""#,
        "facts machine=true",
    );
    check(r#","source":"exec""#, "facts machine=true");
    check(
        r#","source":"mcp","originator":"codex_cli_rs""#,
        "facts machine=true",
    );
    check(
        r#","source":null,"originator":"codex_exec""#,
        "facts machine=true",
    );
    check(r#","source":{"internal":"guardian"}"#, "facts machine=true");
    check(
        r#","thread_source":"memory_consolidation""#,
        "facts machine=true",
    );
    check(r#","source":{"custom":"bot"}"#, "");
    check(r#","source":7,"git":"none","cwd":["x"]"#, "");
    check(
        r#","source":{"subagent":"review"},"parent_thread_id":"p""#,
        "facts machine=true subagent of p",
    );
    let spawned = r#","source":{"subagent":{"thread_spawn":{"parent_thread_id":"p","depth":1}}}"#;
    check(spawned, "facts machine=true subagent of p");
    check(
        r#","source":"cli","forked_from_id":"p""#,
        "facts machine=false fork of p",
    );
    check(
        r#","thread_source":"subagent","forked_from_id":"p""#,
        "facts machine=true subagent of p",
    );
    check(r#","parent_thread_id":"p""#, "facts subagent of p");
}

#[test]
fn a_foreign_meta_names_the_parent_only_at_the_beginning() {
    check(
        &[meta(OWN, ""), meta(PARENT, ""), meta("third", "")],
        &format!("facts fork of {PARENT}"),
    );
    let subagent = r#","thread_source":"subagent""#;
    let expected = format!("facts machine=true\nfacts subagent of {PARENT}");
    check(&[meta(OWN, subagent), meta(PARENT, "")], &expected);
    check(
        &[meta(OWN, ""), said("user", "Hi"), meta(PARENT, "")],
        r#"prompt "Hi""#,
    );
}

#[test]
fn text_in_the_users_name_is_system_when_codex_wrote_it() {
    for injected in [
        "<environment_context>\n  <cwd>/x</cwd>\n</environment_context>",
        "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nBe kind.\n</INSTRUCTIONS>",
        "<user_instructions>\nBe kind.\n</user_instructions>",
        "<SUBAGENT_NOTIFICATION>{}</SUBAGENT_NOTIFICATION>",
        "<codex_internal_context source=\"goal\">go on</codex_internal_context>",
        "<user_shell_command>ls</user_shell_command>",
        "# Context from my IDE setup:\n\n## Open tabs:\n- a.rs",
    ] {
        check(&[said("user", injected)], &format!("system {injected:?}"));
    }
    check(
        &[said("user", "<task>Review it</task>")],
        r#"prompt "<task>Review it</task>""#,
    );
}

#[test]
fn of_an_editors_prompt_only_the_request_is_kept() {
    let text = "# Context from my IDE setup:\n\n## Active file: a.rs\n\n## My request for Codex:\nRename it\n";
    check(
        &[said("user", text), shown("user_message", text)],
        r#"prompt "Rename it""#,
    );
    // What is selected may have the heading, too.
    let text = "# Context from my IDE setup:\n\n## Active selection of the file:\n## My request for Codex:\nRun it\n\n## My request for Codex:\nRename it\n";
    check(
        &[said("user", text), shown("user_message", text)],
        r#"prompt "Rename it""#,
    );
}

#[test]
fn each_part_of_a_message_is_judged() {
    let message = r##"{"type":"message","role":"user","content":[
        {"type":"input_text","text":"# AGENTS.md instructions for /x"},
        {"type":"input_text","text":"What is"},
        {"type":"input_text","text":"<image name=[Image #1]>"},
        {"type":"input_image","image_url":"data:image/png;base64,AAAA"},
        {"type":"input_text","text":"</image>"},
        {"type":"input_text","text":"this?"}]}"##
        .replace('\n', "");
    let shown = r#"{"type":"user_message","message":"What is this?","images":["data:image/png;base64,AAAA"]}"#;
    check(
        &[item(&message), event(shown)],
        r#"prompt "What is\n[image]\nthis?""#,
    );
    check(
        &[event(shown), item(&message)],
        r#"prompt "What is this?\n[image]""#,
    );
}

#[test]
fn our_own_context_is_never_read() {
    let text = "<backstory-context>\nold\n</backstory-context>\nFix it";
    check(
        &[
            said("user", text),
            said("developer", "<backstory-context>x</backstory-context>"),
        ],
        r#"prompt "Fix it""#,
    );
}

#[test]
fn the_second_record_of_the_same_words_is_dropped_but_not_a_second_yes() {
    check(
        &[
            said("user", "yes"),
            shown("user_message", "yes\n"),
            said("user", "yes"),
            shown("user_message", "yes"),
            shown("agent_message", "Done."),
            said("assistant", "Done."),
            said("assistant", "Done."),
            shown("agent_message", "Only shown."),
        ],
        r#"
        prompt "yes"
        prompt "yes"
        reply "Done."
        reply "Done."
        reply "Only shown."
        "#,
    );
    let out = read(&[said("assistant", "Done."), said("assistant", "Done.")]);
    assert_ne!(out.events[0].key, out.events[1].key);
}

#[test]
fn reasoning_is_read_where_it_can_be() {
    let summary = r#"{"type":"reasoning","summary":[{"type":"summary_text","text":"**Looking**"},
        {"type":"summary_text","text":"**Found**"}],"content":null,"encrypted_content":"gAAA"}"#
        .replace('\n', "");
    let thought = |text: &str| event(&format!(r#"{{"type":"agent_reasoning","text":"{text}"}}"#));
    check(&[item(&summary)], r#"reasoning "**Looking**\n\n**Found**""#);
    check(
        &[thought("**Looking**"), thought("**Found**"), item(&summary)],
        "reasoning \"**Looking**\"\nreasoning \"**Found**\"",
    );
    check(
        &[item(&summary), thought("**Looking**"), thought("**Found**")],
        r#"reasoning "**Looking**\n\n**Found**""#,
    );
    check(
        &[item(
            r#"{"type":"reasoning","summary":[],"encrypted_content":"gAAA"}"#,
        )],
        "",
    );
    let raw =
        r#"{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"Hm"}]}"#;
    check(
        &[
            item(raw),
            event(r#"{"type":"agent_reasoning_raw_content","text":"Hm"}"#),
        ],
        r#"reasoning "Hm""#,
    );
}

#[test]
fn commands_of_every_shell_tool() {
    let check = |line: String, expected: &str| {
        let out = read(&[line]);
        assert_eq!(out.events[0].body.command.as_deref(), Some(expected));
    };
    check(
        call("shell", r#"{"command":["bash","-lc","ls -la"]}"#),
        "ls -la",
    );
    check(
        call("shell", r#"{"command":["git","commit","-m","two words"]}"#),
        "git commit -m 'two words'",
    );
    check(
        call("container.exec", r#"{"cmd":["/bin/sh","-c","pwd"]}"#),
        "pwd",
    );
    check(
        call("shell_command", r#"{"command":"make test"}"#),
        "make test",
    );
    check(
        call("exec_command", r#"{"cmd":"rg cart","workdir":"/x"}"#),
        "rg cart",
    );
    check(
        call("functions.exec_command", r#"{"cmd":"rg cart"}"#),
        "rg cart",
    );
    let shell = r#"{"type":"local_shell_call","call_id":"c","action":{"type":"exec","command":["zsh","-lc","date"]}}"#;
    check(item(shell), "date");
    let powershell = r#"{"command":["C:\\w\\powershell.exe","-NoProfile","-Command","dir"]}"#;
    check(call("shell", powershell), "dir");
    let script = r#"const r = await tools.exec_command({cmd:"echo \"a\"\nls", workdir:"/x"});
        await tools.exec_command({"cmd": `pwd`}); const cmdline = 'x'; run.cmd: "no""#;
    check(custom("exec", script), "echo \"a\"\nls\npwd");
}

#[test]
fn files_that_calls_name() {
    let patch =
        "*** Begin Patch\n*** Update File: a.rs\n@@\n-x\n+y\n*** Delete File: b.rs\n*** End Patch";
    check(
        &[custom("apply_patch", patch)],
        &format!("tool_call {patch:?} tool=apply_patch call=c1 writes a.rs deletes b.rs"),
    );
    let touches = |line: String, expected: &str| {
        let rendered = render(&read(&[line]));
        assert!(rendered.ends_with(expected), "{rendered}");
    };
    let json = |text: &str| serde_json::to_string(text).unwrap();
    touches(
        call("apply_patch", &format!(r#"{{"input":{}}}"#, json(patch))),
        " writes a.rs deletes b.rs",
    );
    let heredoc = json(&format!("apply_patch <<'EOF'\n{patch}\nEOF"));
    touches(
        call(
            "shell",
            &format!(r#"{{"command":["bash","-lc",{heredoc}]}}"#),
        ),
        " writes a.rs deletes b.rs",
    );
    let script = format!(
        "const patch = {}; text(await tools.apply_patch(patch));",
        json(patch)
    );
    touches(custom("exec", &script), " writes a.rs deletes b.rs");
    touches(
        call("view_image", r#"{"path":"/x/a.png"}"#),
        " reads /x/a.png",
    );
}

#[test]
fn calls_of_other_tools() {
    check(
        &[
            item(
                r#"{"type":"function_call","namespace":"mcp__git__","name":"log","arguments":"{}","call_id":"a"}"#,
            ),
            item(
                r#"{"type":"function_call","namespace":"team","name":"ask","arguments":{"to":"x"},"call_id":"b"}"#,
            ),
            item(
                r#"{"type":"web_search_call","id":"ws","action":{"type":"search","query":"rust"}}"#,
            ),
            event(r#"{"type":"web_search_end","call_id":"ws","query":"rust"}"#),
            item(r#"{"type":"tool_search_call","call_id":"d","arguments":{"query":"mail"}}"#),
            item(
                r#"{"type":"tool_search_output","call_id":"d","status":"completed","tools":[{"name":"send"}]}"#,
            ),
            item(
                r#"{"type":"image_generation_call","id":"ig","revised_prompt":"a cat","result":"AAAA"}"#,
            ),
        ],
        r#"
        tool_call "{}" tool=mcp__git__log call=a
        tool_call "{\"to\":\"x\"}" tool=team__ask call=b
        tool_call "{\"type\":\"search\",\"query\":\"rust\"}" tool=web_search call=ws
        tool_call "{\"query\":\"mail\"}" tool=tool_search call=d
        tool_result "[{\"name\":\"send\"}]" tool=tool_search call=d
        tool_call "a cat" tool=image_generation call=ig
        "#,
    );
}

#[test]
fn results_in_every_form() {
    let check = |line: String, expected: &str| {
        let out = read(&[call("shell", "{}"), line]);
        let rendered = render_event(&out.events[1]);
        assert_eq!(
            rendered,
            format!("tool_result {expected}").replacen('@', "tool=shell call=c1", 1)
        );
    };
    let json = r#"{"output":"two\nlines\n","metadata":{"exit_code":2,"duration_seconds":0.25}}"#;
    check(quoted_output(json), r#""two\nlines" @ exit=2 ms=250 error"#);
    let header = "Chunk ID: 0f\nWall time: 1.5 seconds\nProcess exited with code 0\nOriginal token count: 3\nOutput:\nok\n";
    check(quoted_output(header), r#""ok" @ exit=0 ms=1500"#);
    check(
        quoted_output("Exit code: 1\nWall time: 0 seconds\nOutput:\nbad"),
        r#""bad" @ exit=1 ms=0 error"#,
    );
    check(
        quoted_output("Script running with cell ID 3\nWall time 10.0 seconds\nOutput:\n"),
        r#""" @ ms=10000"#,
    );
    let parts = r#"[{"type":"input_text","text":"Script completed\nWall time 3.7 seconds\nOutput:\n"},
        {"type":"input_text","text":"a"},{"type":"input_image","image_url":"data:image/png;base64,AA"},
        {"type":"encrypted_content","encrypted_content":"gAAA"}]"#
        .replace('\n', "");
    check(output(&parts), r#""a\n[image]" @ ms=3700"#);
    let failed =
        r#"[{"type":"input_text","text":"Script failed\nWall time 0.1 seconds\nOutput:\n"}]"#;
    check(output(failed), r#""" @ ms=100 error"#);
    check(
        quoted_output("plain\nOutput:\ntext"),
        r#""plain\nOutput:\ntext" @"#,
    );
    check(
        quoted_output(r#"{"success":false}"#),
        r#""{\"success\":false}" @ error"#,
    );
    check(
        quoted_output(r#"{"status":"failed"}"#),
        r#""{\"status\":\"failed\"}" @ error"#,
    );
    check(
        output(r#"{"content":"no","success":false}"#),
        r#""no" @ error"#,
    );
    let denied = "failed in sandbox Seatbelt with execution error: exit code: 2, stdout: x";
    check(quoted_output(denied), &format!("{denied:?} @ exit=2 error"));
    check(
        quoted_output("error: invalid hunk"),
        r#""error: invalid hunk" @ error"#,
    );
    check(output("null"), r#""" @"#);
    check(output("7"), r#""" @"#);
}

#[test]
fn a_result_without_its_call_has_no_tool() {
    check(&[quoted_output("late")], r#"tool_result "late" call=c1"#);
}

#[test]
fn notices() {
    check(
        &[
            event(r#"{"type":"turn_aborted","reason":"interrupted"}"#),
            event(r#"{"type":"turn_aborted","reason":"budget_limited"}"#),
            event(r#"{"type":"thread_rolled_back","num_turns":2}"#),
            event(r#"{"type":"error","message":"quota exceeded"}"#),
            record(
                "compacted",
                r#"{"message":"We built a cart.","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"no"}]}]}"#,
            ),
            record("compacted", r#"{"message":"","replacement_history":[]}"#),
            event(r#"{"type":"context_compacted"}"#),
            item(
                r#"{"type":"agent_message","author":"/root/a","recipient":"/root","content":[{"type":"input_text","text":"Found it"},{"type":"encrypted_content","encrypted_content":"g"}]}"#,
            ),
            record(
                "inter_agent_communication",
                r#"{"author":"/root/a","recipient":"/root","content":"Found it"}"#,
            ),
        ],
        r#"
        system "Interrupted by user"
        system "Turn ended early: budget limited"
        system "Rolled back 2 turns"
        system "Error: quota exceeded"
        summary "We built a cart."
        system "Found it"
        "#,
    );
}

#[test]
fn what_says_nothing_new_gives_nothing() {
    check(
        &[
            event(r#"{"type":"exec_command_end","call_id":"c1","stdout":"x"}"#),
            event(r#"{"type":"patch_apply_end","call_id":"c1","success":true,"changes":{}}"#),
            event(r#"{"type":"entered_review_mode"}"#),
            event(r#"{"type":"from_the_future"}"#),
            item(r#"{"type":"from_the_future","text":"x"}"#),
            item(r#"{"type":"compaction","encrypted_content":"g"}"#),
            record("world_state", r#"{"full":true,"state":{}}"#),
            record("from_the_future", "{}"),
            record("event_msg", r#""text""#),
            r#"{"type":5,"payload":{"type":{}}}"#.to_string(),
            r#"{"record_type":"state"}"#.to_string(),
            "[1]".to_string(),
            "7".to_string(),
        ],
        "",
    );
}

#[test]
fn odd_fields_do_not_cost_the_record() {
    check(
        &[
            r#"{"timestamp":5,"type":"response_item","payload":{"role":"user","content":"Plain"}}"#
                .to_string(),
            item(
                r#"{"type":"message","type":"message","role":"user","content":["a",7,{"type":"input_text","text":"b"}]}"#,
            ),
            item(
                r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"cut \ud83d off"}]}"#,
            ),
            item(r#"{"type":"function_call","name":"shell","arguments":"{not json","call_id":7}"#),
        ],
        "
        prompt \"Plain\"
        prompt \"a\\nb\"
        reply \"cut \u{fffd} off\"
        tool_call \"{not json\" tool=shell
        ",
    );
}

#[test]
fn damaged_and_glued_lines() {
    let glued = format!("{}{}", said("user", "one"), said("user", "two"));
    let cut = said("user", "three");
    check(
        &[glued, cut[..60].to_string()],
        "prompt \"one\"\nprompt \"two\"\nskipped line 2",
    );
}

#[test]
fn tokens_are_counted_once() {
    check(
        &[
            tokens([10, 4, 0, 5, 2], Some([10, 4, 0, 5, 2])),
            context("gpt-test"),
            tokens([10, 4, 0, 5, 2], Some([10, 4, 0, 5, 2])),
            tokens([110, 64, 30, 25, 12], Some([100, 60, 30, 20, 10])),
            event(r#"{"type":"token_count","info":null,"rate_limits":{}}"#),
            event(r#"{"type":"thread_settings_applied","thread_settings":{"model":"gpt-next"}}"#),
            tokens([210, 64, 30, 26, 12], None),
            // The context window is said to be full, and no request was made.
            tokens([210, 64, 30, 26, 12], Some([0, 0, 0, 0, 0])),
            tokens([211, 64, 30, 26, 12], Some([0, 0, 0, 0, 0])),
            // The sums begin anew.
            tokens([7, 0, 0, 1, 0], None),
            // More from the cache than came in.
            tokens([8, 9, 9, 1, 0], Some([1, 9, 9, 0, 0])),
        ],
        r#"
        facts cwd=/home/me/shop
        used unknown in=6 read=4 write=0 out=5 think=2
        used gpt-test in=10 read=60 write=30 out=20 think=10
        used gpt-next in=100 read=0 write=0 out=1 think=0
        used gpt-next in=7 read=0 write=0 out=1 think=0
        used gpt-next in=0 read=1 write=0 out=0 think=0
        "#,
    );
}

#[test]
fn equal_counts_without_sums_are_two_responses() {
    let last = r#"{"last_token_usage":{"input_tokens":3,"output_tokens":1}}"#;
    let count = event(&format!(r#"{{"type":"token_count","info":{last}}}"#));
    let out = read(&[count.clone(), count]);
    assert_eq!(out.responses.len(), 2);
    assert_ne!(out.responses[0].key, out.responses[1].key);
}

#[test]
fn turn_items_say_what_no_other_record_does() {
    let done = |item: &str| {
        event(&format!(
            r#"{{"type":"item_completed","turn_id":"t","item":{item}}}"#
        ))
    };
    check(
        &[
            said("user", "Go"),
            done(r#"{"type":"UserMessage","id":"u","content":[{"type":"text","text":"Go"}]}"#),
            done(r#"{"type":"AgentMessage","id":"m","content":[{"type":"Text","text":"Going."}]}"#),
            said("assistant", "Going."),
            done(r#"{"type":"Reasoning","id":"r","summary_text":["Hm"],"raw_content":[]}"#),
            done(r#"{"type":"Plan","id":"p","text":"1. Look"}"#),
            call("exec_command", r#"{"cmd":"ls"}"#),
            quoted_output("Exit code: 0\nWall time: 1 seconds\nOutput:\na"),
            done(
                r#"{"type":"CommandExecution","id":"c1","command":["bash","-lc","ls"],"exit_code":0}"#,
            ),
            done(
                r#"{"type":"CommandExecution","id":"exec-1","command":["bash","-lc","false"],"status":"failed","aggregated_output":"no\n","exit_code":1,"duration":{"secs":1,"nanos":500000000}}"#,
            ),
            done(
                r#"{"type":"FileChange","id":"f","changes":{"a.rs":{"type":"update","unified_diff":"@@ x","move_path":"b.rs"},"c.rs":{"type":"delete","content":""}},"status":"completed","stdout":"Success"}"#,
            ),
            done(
                r#"{"type":"McpToolCall","id":"x","server":"git","tool":"log","arguments":{"n":1},"status":"completed","result":{"content":[{"type":"text","text":"one"}]}}"#,
            ),
            done(
                r#"{"type":"McpToolCall","id":"y","server":"git","tool":"log","arguments":{},"status":"failed","error":{"message":"gone"}}"#,
            ),
            done(r#"{"type":"ImageView","id":"i","path":"/x/a.png"}"#),
            done(r#"{"type":"ContextCompaction","id":"z"}"#),
        ],
        r#"
        prompt "Go"
        reply "Going."
        reasoning "Hm"
        reply "1. Look"
        tool_call "{\"cmd\":\"ls\"}" tool=exec_command call=c1 $ "ls"
        tool_result "a" tool=exec_command call=c1 exit=0 ms=1000
        tool_call "[\"bash\",\"-lc\",\"false\"]" tool=exec_command call=exec-1 $ "false"
        tool_result "no" tool=exec_command call=exec-1 exit=1 ms=1500 error
        tool_call "*** Update File: a.rs\n*** Move to: b.rs\n@@ x\n*** Delete File: c.rs" tool=apply_patch call=f writes a.rs writes b.rs deletes c.rs
        tool_result "Success" tool=apply_patch call=f
        tool_call "{\"n\":1}" tool=mcp__git__log call=x
        tool_result "one" tool=mcp__git__log call=x
        tool_call "{}" tool=mcp__git__log call=y
        tool_result "gone" tool=mcp__git__log call=y error
        tool_call "/x/a.png" tool=view_image call=i reads /x/a.png
        "#,
    );
}

/// The records of a parent's log after its first, in words that its copies keep.
fn history(turn: &str, time: &str) -> Vec<String> {
    [
        event(&format!(r#"{{"type":"task_started","turn_id":"{turn}"}}"#)),
        said("user", "Build a cart"),
        shown("user_message", "Build a cart"),
        shown("agent_message", "Looking."),
        said("assistant", "Looking."),
        call("exec_command", r#"{"cmd":"ls"}"#),
        quoted_output("a"),
        tokens([10, 0, 0, 5, 0], Some([10, 0, 0, 5, 0])),
        shown("agent_message", "Done."),
        said("assistant", "Done."),
        said("user", "Build a cart"),
        said("assistant", "Done."),
    ]
    .map(|line| line.replace("03:04:05", time))
    .to_vec()
}

#[track_caller]
fn check_replayed(child: &[String], parent: &[String], replayed: usize) {
    let (child, parent) = (
        read(child),
        read_as(&format!("rollout-{PARENT}.jsonl"), parent),
    );
    let known: Vec<_> = parent.events.iter().map(|event| event.key).collect();
    let found = child
        .events
        .iter()
        .take_while(|event| event.replay.is_some_and(|key| known.contains(&key)));
    assert_eq!(found.count(), replayed, "{}", render(&child));
    assert!(
        child
            .events
            .iter()
            .all(|event| event.replay.is_some() && !known.contains(&event.key))
    );
    let [counted] = &parent.responses[..] else {
        panic!("one response")
    };
    assert!(
        child
            .responses
            .iter()
            .all(|response| response.replay == Some(counted.key))
    );
}

#[test]
fn a_copy_of_the_parents_history_has_the_parents_keys() {
    let turn = "33333333-aaaa-bbbb-cccc-000000000003";
    for turn in [turn, "0"] {
        let parent: Vec<String> = [meta(PARENT, "")]
            .into_iter()
            .chain(history(turn, "03:04:05"))
            .collect();
        let copied = history(turn, "09:00:00");
        // A person's fork: the parent's first record is copied too.
        let mut child = vec![meta(OWN, ""), meta(PARENT, "")];
        child.extend(copied.clone());
        child.push(said("user", "Something new"));
        check_replayed(&child, &parent, 7);
        // A subagent: Codex leaves tools and commentary items out of the copy and gives the others new ids.
        let mut child = vec![meta(OWN, &format!(r#","parent_thread_id":"{PARENT}""#))];
        let dropped = |line: &&String| {
            !line.contains("\"c1\"") && !line.contains(r#""output_text","text":"Looking."#)
        };
        child.extend(
            copied
                .iter()
                .filter(dropped)
                .map(|line| line.replace(r#""role""#, r#""id":"msg_1","role""#)),
        );
        child.push(said("user", "Something new"));
        check_replayed(&child, &parent, 5);
    }
}

#[test]
fn a_copy_of_the_last_turns_has_the_parents_keys() {
    let turn = |number: u8, text: &str| {
        let id = format!("33333333-aaaa-bbbb-cccc-00000000000{number}");
        let started = event(&format!(r#"{{"type":"task_started","turn_id":"{id}"}}"#));
        let metadata =
            format!(r#"}}],"internal_chat_message_metadata_passthrough":{{"turn_id":"{id}"}}}}"#);
        [
            started,
            said("user", text).replace("}]}", &metadata),
            said("assistant", "Done."),
        ]
    };
    let counted = tokens([10, 0, 0, 5, 0], None);
    let mut parent = vec![meta(PARENT, "")];
    parent.extend([turn(1, "One"), turn(2, "Two"), turn(3, "Three")].concat());
    parent.push(counted.clone());
    let mut child = vec![meta(OWN, &format!(r#","parent_thread_id":"{PARENT}""#))];
    child.extend(turn(2, "Two").into_iter().skip(1));
    child.extend(turn(3, "Three"));
    child.push(counted);
    check_replayed(&child, &parent, 4);
}

#[test]
fn logs_without_envelopes() {
    let environment = "<environment_context>\n<cwd>/home/me/shop</cwd>\n</environment_context>";
    let bare = |line: String| {
        let payload = line.split_once("\"payload\":").unwrap().1;
        payload[..payload.len() - 1].to_string()
    };
    let lines = [
        format!(
            r#"{{"id":"{PARENT}","timestamp":"2025-07-01T00:00:00Z","instructions":null,"git":{{"branch":"main"}}}}"#
        ),
        r#"{"record_type":"state"}"#.to_string(),
        bare(said("user", environment)),
        bare(said("user", "Hello")),
        bare(call("shell", r#"{"command":["ls"]}"#)),
        bare(quoted_output("a")),
        bare(said("assistant", "Hi")),
    ];
    check(
        &lines,
        r#"
        facts branch=main
        facts cwd=/home/me/shop
        system "<environment_context>\n<cwd>/home/me/shop</cwd>\n</environment_context>"
        prompt "Hello"
        tool_call "{\"command\":[\"ls\"]}" tool=shell call=c1 $ "ls"
        tool_result "a" tool=shell call=c1
        reply "Hi"
        "#,
    );
    let out = read(&lines);
    assert!(
        out.events
            .iter()
            .all(|event| event.at == Some(TimeMs::new(1_751_328_000_000))
                && *event.session == *PARENT)
    );
}

#[test]
fn one_document_for_the_whole_session() {
    let document = r#"{
  "session": {"id": "doc-1", "timestamp": "2025-05-01T00:00:00Z", "instructions": ""},
  "items": [
    {"role": "user", "content": [{"type": "input_text", "text": "Hé?"}], "type": "message"},
    {"type": "function_call", "name": "shell", "arguments": "{\"command\":[\"ls\"]}", "call_id": "c1"},
    {"type": "function_call_output", "call_id": "c1",
     "output": "{\"output\":\"a\",\"metadata\":{\"exit_code\":0,\"duration_seconds\":1}}"},
    7,
    {"role": "assistant", "content": [{"type": "output_text", "text": "Ha!"}], "type": "message"}
  ]
}"#;
    let expected = "prompt \"Hé?\"\n\
        tool_call \"{\\\"command\\\":[\\\"ls\\\"]}\" tool=shell call=c1 $ \"ls\"\n\
        tool_result \"a\" tool=shell call=c1 exit=0 ms=1000\n\
        reply \"Ha!\"";
    // With a byte that is no text, places within the document are not known any more.
    let damaged = [document.replace("Ha!", "Ha").as_bytes(), b"   \n"].concat();
    let damaged: Vec<u8> = damaged
        .into_iter()
        .map(|byte| if byte == b'H' { 0xff } else { byte })
        .collect();
    let read = |bytes: &[u8]| {
        let mut out = Output::default();
        let mut reading = Codex.begin(
            &SourceName {
                path: Path::new("rollout-x.json"),
            },
            None,
        );
        read_document(&mut *reading, bytes, &mut out);
        assert_bodies(bytes, &out);
        out
    };
    let out = read(document.as_bytes());
    assert_eq!(render(&out), expected);
    assert_eq!(&*out.events[0].session, "doc-1");
    assert!(document[out.events[3].span.offset as usize..].starts_with(r#"{"role": "assistant""#));
    let out = read(&damaged);
    assert_eq!(
        render(&out),
        expected.replace('H', "\u{fffd}").replace("a!", "a")
    );
    assert_eq!(
        out.events
            .iter()
            .map(|event| event.span.part)
            .collect::<Vec<_>>(),
        [0, 1, 2, 4]
    );
}

#[test]
fn where_logs_are_and_how_they_are_called() {
    let home = Path::new("/home/me");
    let roots = |variable: Option<&str>| {
        let variable = variable.map(str::to_string);
        Codex.roots(&Places {
            home,
            variable: &|name| variable.clone().filter(|_| name == "CODEX_HOME"),
        })
    };
    assert_eq!(
        roots(None),
        [
            home.join(".codex/sessions"),
            home.join(".codex/archived_sessions")
        ]
    );
    assert_eq!(
        roots(Some("/c")),
        [Path::new("/c/sessions"), Path::new("/c/archived_sessions")]
    );
    let named = |name: &str| Codex.named(Path::new(name));
    assert_eq!(named("a/rollout-2026-01-02-x.jsonl"), Some(Shape::Lines));
    assert_eq!(
        named("a/rollout-2026-01-02-x.jsonl.zst"),
        Some(Shape::Lines)
    );
    assert_eq!(named("a/rollout-2025-05-01-x.json"), Some(Shape::Document));
    assert_eq!(named("a/rollout-2026-01-02-x.jsonl.tmp"), None);
    assert_eq!(named("a/history.jsonl"), None);
    let superseded = |name: &str| Codex.superseded_by(Path::new(name));
    assert_eq!(
        superseded("a/rollout-x.jsonl.zst").as_deref(),
        Some(Path::new("a/rollout-x.jsonl"))
    );
    assert_eq!(superseded("a/rollout-x.jsonl"), None);
}

#[test]
fn logs_are_told_by_their_first_bytes() {
    let shape = |head: &str| Codex.recognises(Path::new("full.jsonl"), head.as_bytes());
    for codex in [
        meta(OWN, r#","instructions":"cut off in the midd"#).as_str(),
        &event(r#"{"type":"task_started"}"#),
        r#"{"payload":{"cwd":"/x","id":"a"},"timestamp":"2024-01-01T10:00:00Z","type":"session_meta"}"#,
        r#"{"id":"a","timestamp":"2025-07-01T00:00:00Z","instructions":null,"git":{}}"#,
        "not json\n{\"record_type\":\"state\"}\n",
        "{\"type\":\"reasoning\",\"summary\":[]}\n{\"type\":\"function_call\",\"name\":\"x\",\"arguments\":\"\",\"call_id\":\"c\"}",
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}"#,
    ] {
        assert_eq!(shape(codex), Some(Shape::Lines), "{codex}");
    }
    for document in [
        "{\n  \"session\": {\n    \"timestamp\": \"2025-05-01T00:00:00Z\",\n    \"id\": \"a\",\n    \"instructions\": \"cut",
        r#"{"session":{"id":"a","timestamp":"2025-05-01T00:00:00Z"},"items":[{"#,
    ] {
        assert_eq!(shape(document), Some(Shape::Document), "{document}");
    }
    for other in [
        "",
        "{",
        "[]",
        r#"{"session_id":"a","ts":1,"text":"a prompt of history.jsonl"}"#,
        r#"{"parentUuid":null,"sessionId":"a","type":"user","message":{"role":"user","content":"\"type\":\"session_meta\",\"payload\":{"}}"#,
        r#"{"type":"summary","summary":"x","leafUuid":"y"}"#,
        r#"{"timestamp":1,"method":"session/update","params":{}}"#,
        r#"{"type":"user","content":[{"type":"text","text":"x"}]}"#,
        r#"{"type":"reasoning","id":"a","summary":[]}"#,
        r#"{"type":"session","version":3,"id":"a","timestamp":"2026-01-01T00:00:00Z","cwd":"/x"}"#,
        r#"{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"user"}}"#,
        r#"{"type":"session.start","data":{"sessionId":"a"},"id":"b","timestamp":"t"}"#,
        r#"{"sessionId":"a","projectHash":"b","startTime":"t","messages":[]}"#,
        r#"{"session":{"id":"a","timestamp":"t","messages":[]},"schema":"x"}"#,
    ] {
        assert_eq!(shape(other), None, "{other}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(cut in 0..4000_usize, replaced in 0..4000_usize, byte in any::<u8>()) {
        let turn = "33333333-aaaa-bbbb-cccc-000000000003";
        let mut log = history(turn, "03:04:05").join("\n").into_bytes();
        let length = log.len();
        log[replaced % length] = byte;
        log.truncate(cut % length);
        let mut out = Output::default();
        let mut reading = Codex.begin(&SourceName { path: Path::new("x") }, None);
        read_lines(&mut *reading, &log, 0, 1, &mut out);
        for event in &out.events {
            let start = event.span.offset as usize;
            Codex.reread(&log[start..start + event.span.length as usize]);
        }
        Codex.recognises(Path::new("x"), &log);
        Codex.begin(&SourceName { path: Path::new("") }, Some(&String::from_utf8_lossy(&log)));
    }
}

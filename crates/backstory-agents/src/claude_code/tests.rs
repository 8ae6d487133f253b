//! Each test is a log of a few lines and what is understood of it. Every log is also read in two pieces, cut after each line,
//! and every body is read again from its span: see `read`.

mod fields;
mod random;
mod telemetry;

use std::path::{Path, PathBuf};

use super::ClaudeCode;
use crate::LogAgent;
use crate::reader::{Places, Reader, Shape, SourceName};
use crate::record::{read_document, read_lines};
use backstory_event::{Action, Event, EventKey, Output, ParentKind, Response, SessionFacts, Title};

/// The session of most logs; written as `S` in what is expected.
const SESSION: &str = "5e550000-aaaa-bbbb-cccc-000000000001";
/// The file of that session.
const FILE: &str = "projects/-shop/5e550000-aaaa-bbbb-cccc-000000000001.jsonl";

/// Reads a log and compares what is understood of it, one thing a line.
#[track_caller]
fn check(path: &str, input: impl AsRef<[u8]>, expect: &str) {
    let trimmed: Vec<&str> = expect.trim().lines().map(str::trim).collect();
    assert_eq!(render(&read(path, input.as_ref())), trimmed.join("\n"));
}

/// Compares what becomes of lines in the file of the session.
#[track_caller]
fn check_lines(lines: &[String], expect: &str) {
    check(FILE, log(lines), expect);
}

/// Compares what becomes of what a user record holds.
#[track_caller]
fn check_user(content: &str, expect: &str) {
    check_lines(&[user("u1", content)], expect);
}

#[track_caller]
fn read(path: &str, log: &[u8]) -> Output {
    let source = SourceName {
        path: Path::new(path),
    };
    let whole = read_cut(&source, log, log.len());
    for cut in memchr::memchr_iter(b'\n', log) {
        let pieces = read_cut(&source, log, cut + 1);
        assert_eq!(
            format!("{pieces:?}"),
            format!("{whole:?}"),
            "cut at byte {cut}"
        );
    }
    for event in &whole.events {
        let start = event.span.offset as usize;
        let span = &log[start..start + event.span.length as usize];
        let bodies = ClaudeCode.reread(span);
        let body = bodies.iter().find(|(part, _)| *part == event.span.part);
        assert_eq!(body.map(|(_, body)| body), Some(&event.body));
    }
    for record in &whole.telemetry {
        let start = record.span.offset as usize;
        let span = &log[start..start + record.span.length as usize];
        assert!(!ClaudeCode.telemetry(span).is_empty());
    }
    whole
}

fn read_cut(source: &SourceName<'_>, log: &[u8], cut: usize) -> Output {
    let mut out = Output::default();
    let (first, second) = log.split_at(cut);
    let mut reading = ClaudeCode.begin(source, None);
    let newlines = read_lines(&mut *reading, first, 0, 1, &mut out);
    let mut reading = ClaudeCode.begin(source, Some(&reading.state()));
    read_lines(&mut *reading, second, cut as u64, newlines + 1, &mut out);
    out
}

fn render(out: &Output) -> String {
    let mut keys = Vec::new();
    let mut lines: Vec<String> = out.facts.iter().map(render_facts).collect();
    lines.extend(out.events.iter().map(render_event));
    let responses = out.responses.iter();
    lines.extend(responses.map(|response| render_response(response, &mut keys)));
    lines.extend(
        out.skipped
            .iter()
            .map(|skipped| format!("skipped line {}", skipped.line)),
    );
    assert!(out.extensions.is_empty());
    lines.join("\n").replace(SESSION, "S")
}

fn render_facts(facts: &SessionFacts) -> String {
    let mut line = match (&facts.session, facts.leaf) {
        (Some(session), None) => format!("facts {session}"),
        (None, Some(leaf)) if leaf == super::transcript::record_key("leaf", 0) => {
            "facts of the leaf".to_string()
        }
        other => format!("facts {other:?}"),
    };
    for (name, value) in [("cwd", &facts.cwd), ("branch", &facts.branch)] {
        line.extend(value.iter().map(|value| format!(" {name}={value}")));
    }
    line.extend(facts.machine.map(|machine| format!(" machine={machine}")));
    line.extend(facts.title.iter().map(|title| match title {
        Title::Prompt(title) => format!(" prompt={title:?}"),
        Title::Generated(title) => format!(" generated={title:?}"),
        Title::Given(title) => format!(" given={title:?}"),
    }));
    line.extend(facts.parent.iter().map(|parent| {
        let kind = match parent.kind {
            ParentKind::Fork => "fork",
            ParentKind::Subagent => "subagent",
        };
        format!(" {kind} of {}", parent.session)
    }));
    line
}

fn render_event(event: &Event) -> String {
    let mut line = String::new();
    if &*event.session != SESSION {
        line.push_str(&format!("{}: ", event.session));
    }
    line.push_str(&format!("{} {:?}", event.kind.name(), event.body.text));
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
    let command = event.body.command.iter();
    line.extend(command.map(|command| format!(" $ {command:?}")));
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
    line.push_str(if event.parent.is_some() {
        " branches"
    } else {
        ""
    });
    line
}

/// Responses with the same key have the same number.
fn render_response(response: &Response, keys: &mut Vec<EventKey>) -> String {
    let known = keys.iter().position(|key| *key == response.key);
    let number = known.unwrap_or_else(|| {
        keys.push(response.key);
        keys.len() - 1
    });
    let usage = response.usage;
    let mut line = String::new();
    if &*response.session != SESSION {
        line.push_str(&format!("{}: ", response.session));
    }
    line.push_str(&format!(
        "used #{number} {} in={} read={} write={} out={}",
        response.model, usage.input, usage.cache_read, usage.cache_write, usage.output
    ));
    if usage.reasoning > 0 {
        line.push_str(&format!(" think={}", usage.reasoning));
    }
    line
}

fn log(lines: &[String]) -> Vec<u8> {
    lines
        .iter()
        .map(|line| format!("{line}\n"))
        .collect::<String>()
        .into_bytes()
}

/// A record with the usual envelope. The last digit of its uuid is its second, and `more` are further fields, each with a
/// leading comma.
fn record(kind: &str, uuid: &str, more: &str) -> String {
    let second = uuid
        .chars()
        .last()
        .filter(char::is_ascii_digit)
        .unwrap_or('0');
    format!(
        r#"{{"type":"{kind}","uuid":"{uuid}","sessionId":"{SESSION}","timestamp":"2026-03-01T10:00:0{second}.000Z"{more}}}"#
    )
}

/// A user record; `content` is JSON.
fn user(uuid: &str, content: &str) -> String {
    user_with(uuid, content, "")
}

fn user_with(uuid: &str, content: &str, more: &str) -> String {
    let message = format!(r#"{more},"message":{{"role":"user","content":{content}}}"#);
    record("user", uuid, &message)
}

/// An assistant record of the response `m1`; `content` is JSON.
fn assistant(uuid: &str, content: &str, usage: &str) -> String {
    assistant_with(
        uuid,
        r#""id":"m1","model":"opus","#,
        content,
        usage,
        r#","requestId":"r1""#,
    )
}

fn assistant_with(uuid: &str, named: &str, content: &str, usage: &str, more: &str) -> String {
    let message = format!(r#"{{{named}"role":"assistant","content":{content},"usage":{usage}}}"#);
    record("assistant", uuid, &format!(r#"{more},"message":{message}"#))
}

/// A tool call in a record of its own, without usage.
fn call(uuid: &str, id: &str, tool: &str, input: &str) -> String {
    let block = format!(r#"[{{"type":"tool_use","id":"{id}","name":"{tool}","input":{input}}}]"#);
    assistant(uuid, &block, "null")
}

/// The result of a tool call; `content` and `twin` are JSON.
fn result(uuid: &str, id: &str, content: &str, error: bool, twin: &str) -> String {
    let block = format!(
        r#"[{{"type":"tool_result","tool_use_id":"{id}","content":{content},"is_error":{error}}}]"#
    );
    user_with(uuid, &block, &format!(r#","toolUseResult":{twin}"#))
}

#[test]
fn a_response_on_several_lines_is_one_response() {
    let usage = |output| {
        format!(
            r#"{{"input_tokens":4,"cache_read_input_tokens":70,"cache_creation_input_tokens":9,"output_tokens":{output}}}"#
        )
    };
    check_lines(
        &[
            assistant(
                "a1",
                r#"[{"type":"thinking","thinking":"Where is it?","signature":"xx"}]"#,
                &usage(2),
            ),
            assistant(
                "a2",
                r#"[{"type":"text","text":"I will look."}]"#,
                &usage(2),
            ),
            assistant(
                "a3",
                r#"[{"type":"tool_use","id":"t1","name":"Glob","input":{"pattern":"*.rs"}}]"#,
                &usage(58),
            ),
        ],
        r#"
        reasoning "Where is it?" by opus
        reply "I will look." by opus
        tool_call "{\"pattern\":\"*.rs\"}" by opus tool=Glob call=t1
        used #0 opus in=4 read=70 write=9 out=2
        used #0 opus in=4 read=70 write=9 out=2
        used #0 opus in=4 read=70 write=9 out=58
        "#,
    );
}

#[test]
fn tools_answer_while_the_response_still_streams() {
    check_lines(
        &[
            assistant(
                "a1",
                r#"[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]"#,
                r#"{"output_tokens":2}"#,
            ),
            result(
                "u3",
                "t1",
                r#""src""#,
                false,
                r#"{"stdout":"src","interrupted":false}"#,
            ),
            assistant(
                "a4",
                r#"[{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"ls src"}}]"#,
                r#"{"output_tokens":21}"#,
            ),
            result(
                "u9",
                "t2",
                r#""lib.rs""#,
                false,
                r#"{"stdout":"lib.rs","interrupted":false}"#,
            ),
        ],
        r#"
        tool_call "ls" by opus tool=Bash call=t1 $ "ls"
        tool_result "src" tool=Bash call=t1 exit=0 ms=2000
        tool_call "ls src" by opus tool=Bash call=t2 $ "ls src"
        tool_result "lib.rs" tool=Bash call=t2 exit=0 ms=5000
        used #0 opus in=0 read=0 write=0 out=2
        used #0 opus in=0 read=0 write=0 out=21
        "#,
    );
}

#[test]
fn calls_and_results_may_cross() {
    check_lines(
        &[
            call("a1", "t1", "Read", r#"{"file_path":"/a"}"#),
            call("a2", "t2", "Grep", r#"{"pattern":"x"}"#),
            result("u4", "t2", r#""none""#, false, r#"{"durationMs":12}"#),
            result("u5", "t1", r#""text of a""#, false, "{}"),
            result("u6", "t7", r#""whose?""#, false, "{}"),
        ],
        r#"
        tool_call "{\"file_path\":\"/a\"}" by opus tool=Read call=t1 reads /a
        tool_call "{\"pattern\":\"x\"}" by opus tool=Grep call=t2
        tool_result "none" tool=Grep call=t2 ms=12
        tool_result "text of a" tool=Read call=t1 ms=4000
        tool_result "whose?" call=t7
        "#,
    );
}

#[test]
fn prompts_are_what_a_person_typed() {
    check_user(r#""add a cart""#, r#"prompt "add a cart""#);
    check_user(
        r#"[{"type":"text","text":"add"},{"type":"text","text":"a cart"}]"#,
        r#"prompt "add\na cart""#,
    );
    check_user(r#""  ""#, "");
    check_user("[]", "");
    check_user("7", "");
    // Markup of the person's own is theirs.
    check_user(r#""<b>why</b> bold?""#, r#"prompt "<b>why</b> bold?""#);
}

#[test]
fn what_programs_put_there_is_no_prompt() {
    check_user(
        r#""[Request interrupted by user for tool use]""#,
        r#"system "[Request interrupted by user for tool use]""#,
    );
    check_user(
        r#""<local-command-stdout>Bye</local-command-stdout>""#,
        r#"system "<local-command-stdout>Bye</local-command-stdout>""#,
    );
    check_user(
        r#""<bash-input>make</bash-input>""#,
        r#"system "<bash-input>make</bash-input>""#,
    );
    check_user(
        r#""<bash-stdout>ok</bash-stdout><bash-stderr></bash-stderr>""#,
        r#"system "<bash-stdout>ok</bash-stdout><bash-stderr></bash-stderr>""#,
    );
    check_user(
        r#""<system-reminder>Mind the list.</system-reminder>""#,
        r#"system "<system-reminder>Mind the list.</system-reminder>""#,
    );
    check_user(
        r#""<task-notification>done</task-notification>""#,
        r#"system "<task-notification>done</task-notification>""#,
    );
    check_user(
        r#""<teammate-message from=\"bo\">hi</teammate-message>""#,
        r#"system "<teammate-message from=\"bo\">hi</teammate-message>""#,
    );
    check_user(
        r#""<ide_opened_file>main.rs</ide_opened_file>""#,
        r#"system "<ide_opened_file>main.rs</ide_opened_file>""#,
    );
}

#[test]
fn marks_on_the_record_overrule_its_text() {
    let marked =
        |more: &str, expect: &str| check_lines(&[user_with("u1", r#""go on""#, more)], expect);
    marked(r#","isMeta":true"#, r#"system "go on""#);
    marked(r#","isMeta":false"#, r#"prompt "go on""#);
    marked(
        r#","isCompactSummary":true,"isVisibleInTranscriptOnly":true"#,
        r#"summary "go on""#,
    );
    marked(
        r#","origin":{"kind":"task-notification"}"#,
        r#"system "go on""#,
    );
    marked(r#","origin":{"kind":"human"}"#, r#"prompt "go on""#);
    marked(r#","promptSource":"system""#, r#"system "go on""#);
    marked(r#","promptSource":"typed""#, r#"prompt "go on""#);
    marked(r#","toolUseResult":"done""#, r#"system "go on""#);
    marked(r#","sourceToolUseID":"toolu_1""#, r#"system "go on""#);
    marked(r#","isVisibleInTranscriptOnly":true"#, r#"system "go on""#);
}

#[test]
fn what_the_editor_puts_before_a_prompt_is_taken_off() {
    check_user(
        r#""<ide_selection>lines 1 to 3</ide_selection>\nrename it""#,
        r#"prompt "rename it""#,
    );
    check_user(
        r#"[{"type":"text","text":"<ide_opened_file>a.rs</ide_opened_file>"},{"type":"text","text":"rename it"}]"#,
        r#"prompt "rename it""#,
    );
    check_user(
        r#""<system-reminder>x</system-reminder><ide_selection>y</ide_selection>rename it""#,
        r#"prompt "rename it""#,
    );
}

#[test]
fn slash_commands_are_prompts_if_they_say_something() {
    check_user(
        r#""<command-message>review is running</command-message>\n<command-name>/review</command-name>""#,
        r#"prompt "/review""#,
    );
    check_user(
        r#""<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>the cart</command-args>""#,
        r#"prompt "/review the cart""#,
    );
    check_user(
        r#""<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>""#,
        r#"system "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>""#,
    );
    check_user(
        r#""<command-name>/compact</command-name>\n<command-args>keep the plan</command-args>""#,
        r#"prompt "/compact keep the plan""#,
    );
}

#[test]
fn a_queued_command_is_a_prompt() {
    let queued = |more: &str| {
        record(
            "attachment",
            "q1",
            &format!(r#","attachment":{{"type":"queued_command","prompt":{more}}}"#),
        )
    };
    check_lines(
        &[
            queued(r#""also the footer","commandMode":"prompt""#),
            queued(r#"[{"type":"text","text":"and the header"}]"#),
            queued(
                r#""<task-notification>x</task-notification>","commandMode":"task-notification""#,
            ),
            record(
                "attachment",
                "q2",
                r#","attachment":{"type":"task_reminder","content":"x"}"#,
            ),
            record("attachment", "q3", r#","attachment":null"#),
        ],
        r#"
        prompt "also the footer"
        prompt "and the header"
        system "<task-notification>x</task-notification>"
        "#,
    );
}

#[test]
fn images_are_named_not_kept() {
    let image =
        r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}"#;
    check_user(
        &format!(r#"[{image},{{"type":"text","text":"what is this?"}}]"#),
        r#"prompt "[image]\nwhat is this?""#,
    );
    check_user(&format!("[{image}]"), r#"prompt "[image]""#);
    check_user(
        &format!(r#"[{image},{{"type":"text","text":"<system-reminder>x</system-reminder>"}}]"#),
        r#"system "[image]\n<system-reminder>x</system-reminder>""#,
    );
    check_user(
        r#"[{"type":"document","source":{}}]"#,
        r#"prompt "[document]""#,
    );
    check_lines(
        &[result(
            "u1",
            "t1",
            &format!(r#"[{{"type":"text","text":"seen"}},{image}]"#),
            false,
            "{}",
        )],
        r#"tool_result "seen\n[image]" call=t1"#,
    );
}

#[test]
fn results_tell_how_the_tool_ended() {
    let ended = |content: &str, error: bool, twin: &str, expect: &str| {
        check_lines(
            &[
                call("a1", "t1", "Bash", r#"{"command":"make"}"#),
                result("u3", "t1", content, error, twin),
            ],
            &format!("tool_call \"make\" by opus tool=Bash call=t1 $ \"make\"\n{expect}"),
        );
    };
    ended(
        r#""ok""#,
        false,
        r#"{"stdout":"ok","stderr":"","interrupted":false}"#,
        r#"tool_result "ok" tool=Bash call=t1 exit=0 ms=2000"#,
    );
    ended(
        r#""Exit code 2\nno rule""#,
        true,
        r#""Error: Exit code 2\nno rule""#,
        r#"tool_result "Exit code 2\nno rule" tool=Bash call=t1 exit=2 ms=2000 error"#,
    );
    // A person's no is an error without a code.
    ended(
        r#""The user said no.""#,
        true,
        r#""Error: The user said no.""#,
        r#"tool_result "The user said no." tool=Bash call=t1 ms=2000 error"#,
    );
    // What is printed is no code.
    ended(
        r#""Exit code 3""#,
        false,
        r#"{"stdout":"Exit code 3","interrupted":false}"#,
        r#"tool_result "Exit code 3" tool=Bash call=t1 exit=0 ms=2000"#,
    );
    // The code was not zero, but how much is not said.
    ended(
        r#""""#,
        false,
        r#"{"stdout":"","returnCodeInterpretation":"No matches found"}"#,
        r#"tool_result "" tool=Bash call=t1 ms=2000"#,
    );
    ended(
        r#""started""#,
        false,
        r#"{"stdout":"","backgroundTaskId":"b1"}"#,
        r#"tool_result "started" tool=Bash call=t1 ms=2000"#,
    );
    ended(
        r#""done""#,
        false,
        r#"{"totalDurationMs":75000}"#,
        r#"tool_result "done" tool=Bash call=t1 ms=75000"#,
    );
    ended(
        r#""found""#,
        false,
        r#"{"durationSeconds":1.5}"#,
        r#"tool_result "found" tool=Bash call=t1 ms=1500"#,
    );
}

#[test]
fn a_result_without_a_time_has_no_duration() {
    let timeless = r#"{"type":"user","uuid":"u2","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]}}"#;
    check_lines(
        &[call("a1", "t1", "Grep", "{}"), timeless.to_string()],
        r#"
        tool_call "{}" by opus tool=Grep call=t1
        tool_result "x" tool=Grep call=t1
        "#,
    );
}

#[test]
fn tool_calls_name_files_and_commands() {
    check_lines(
        &[
            call(
                "a1",
                "t1",
                "Edit",
                r#"{"file_path":"/s/a.rs","old_string":"x","new_string":"y"}"#,
            ),
            call(
                "a2",
                "t2",
                "Write",
                r#"{"file_path":"/s/b.rs","content":""}"#,
            ),
            call("a3", "t3", "Read", r#"{"file_path":"/s/c.rs"}"#),
            call(
                "a4",
                "t4",
                "NotebookEdit",
                r#"{"notebook_path":"/s/d.ipynb"}"#,
            ),
            call(
                "a5",
                "t5",
                "Bash",
                r#"{"command":" cargo test\n","description":"Run"}"#,
            ),
            call("a6", "t6", "Odd", "[1]"),
        ],
        r#"
        tool_call "{\"file_path\":\"/s/a.rs\",\"old_string\":\"x\",\"new_string\":\"y\"}" by opus tool=Edit call=t1 writes /s/a.rs
        tool_call "{\"file_path\":\"/s/b.rs\",\"content\":\"\"}" by opus tool=Write call=t2 writes /s/b.rs
        tool_call "{\"file_path\":\"/s/c.rs\"}" by opus tool=Read call=t3 reads /s/c.rs
        tool_call "{\"notebook_path\":\"/s/d.ipynb\"}" by opus tool=NotebookEdit call=t4 writes /s/d.ipynb
        tool_call " cargo test\n" by opus tool=Bash call=t5 $ "cargo test"
        tool_call "[1]" by opus tool=Odd call=t6
        "#,
    );
}

#[test]
fn tools_of_the_server_answer_in_the_same_record() {
    check_lines(
        &[assistant(
            "a1",
            r#"[{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"rust"}},
                {"type":"web_search_tool_result","tool_use_id":"s1","content":[{"type":"text","text":"a page"}]}]"#
                .replace('\n', "")
                .as_str(),
            "null",
        )],
        r#"
        tool_call "{\"query\":\"rust\"}" by opus tool=web_search call=s1
        tool_result "a page" tool=web_search call=s1 ms=0
        "#,
    );
}

#[test]
fn thinking_without_text_is_nothing() {
    check_lines(
        &[
            assistant(
                "a1",
                r#"[{"type":"thinking","thinking":"","signature":"xx"}]"#,
                "null",
            ),
            assistant(
                "a2",
                r#"[{"type":"redacted_thinking","data":"xx"}]"#,
                r#"{"output_tokens":3}"#,
            ),
        ],
        "used #0 opus in=0 read=0 write=0 out=3",
    );
}

#[test]
fn errors_of_the_api_are_no_replies_and_use_nothing() {
    check_lines(
        &[
            assistant_with(
                "a1",
                r#""id":"m1","model":"<synthetic>","#,
                r#"[{"type":"text","text":"API Error: 529"}]"#,
                r#"{"input_tokens":0,"output_tokens":0}"#,
                r#","isApiErrorMessage":true"#,
            ),
            record(
                "system",
                "y2",
                r#","subtype":"api_error","error":{"status":529}"#,
            ),
        ],
        r#"
        system "API Error: 529" error
        system "{\"status\":529}" error
        "#,
    );
}

#[test]
fn system_records() {
    let system = |subtype: &str| {
        record(
            "system",
            "y1",
            &format!(r#","subtype":"{subtype}","content":"some words""#),
        )
    };
    check_lines(
        &[
            system("away_summary"),
            system("informational"),
            system("local_command"),
            system("turn_duration"),
            system("compact_boundary"),
        ],
        r#"
        summary "some words"
        system "some words"
        system "some words"
        "#,
    );
}

#[test]
fn content_may_be_a_plain_string() {
    check_lines(
        &[assistant("a1", r#""Done.""#, r#"{"output_tokens":5}"#)],
        r#"
        reply "Done." by opus
        used #0 opus in=0 read=0 write=0 out=5
        "#,
    );
}

#[test]
fn a_response_is_known_by_what_names_it_has() {
    let hello = r#"[{"type":"text","text":"hi"}]"#;
    let one = r#"{"output_tokens":1}"#;
    let named = |named: &str, more: &str| {
        let lines = [
            assistant_with("a1", named, hello, one, more),
            assistant_with("a2", named, hello, one, more),
        ];
        let out = read(FILE, &log(&lines));
        out.responses[0].key == out.responses[1].key
    };
    assert!(named(r#""id":"m1","model":"x","#, r#","requestId":"r1""#));
    // Proxies leave the request id out.
    assert!(named(r#""id":"m1","model":"x","#, ""));
    // Old versions leave the message id out: each record is a response of its own.
    assert!(!named(r#""model":"x","#, ""));
    // The oldest name nothing at all.
    let bare = |second: u8| {
        format!(
            r#"{{"type":"assistant","timestamp":"2024-03-01T10:00:0{second}Z","message":{{"model":"x","content":"hi","usage":{{"output_tokens":7}}}}}}"#
        )
    };
    check(
        "projects/-shop/old.jsonl",
        log(&[bare(1), bare(2), bare(1)]),
        r#"
        old: reply "hi" by x
        old: reply "hi" by x
        old: reply "hi" by x
        old: used #0 x in=0 read=0 write=0 out=7
        old: used #1 x in=0 read=0 write=0 out=7
        old: used #0 x in=0 read=0 write=0 out=7
        "#,
    );
}

#[test]
fn an_advisor_asked_on_the_way_is_a_response_of_its_own() {
    let usage = r#"{"input_tokens":2,"cache_creation_input_tokens":30,"output_tokens":9,"output_tokens_details":{"thinking_tokens":4},
        "cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":10},
        "iterations":[{"type":"message","input_tokens":1,"cache_creation_input_tokens":10,"output_tokens":5},
        {"type":"advisor_message","model":"sage","input_tokens":500,"output_tokens":80},
        {"type":"message","input_tokens":1,"cache_creation_input_tokens":20,"output_tokens":4}]}"#
        .replace('\n', "");
    check_lines(
        &[
            assistant("a1", r#""Asked.""#, &usage),
            assistant("a2", r#""So.""#, &usage),
        ],
        r#"
        reply "Asked." by opus
        reply "So." by opus
        used #0 opus in=2 read=0 write=30 out=9 think=4
        used #1 sage in=500 read=0 write=0 out=80
        used #0 opus in=2 read=0 write=30 out=9 think=4
        used #1 sage in=500 read=0 write=0 out=80
        "#,
    );
}

#[test]
fn progress_of_a_subagent_tells_what_it_used() {
    let inner = r#"{"type":"assistant","uuid":"i1","requestId":"r5","message":{"id":"m5","model":"haiku","content":[{"type":"text","text":"x"}],"usage":{"output_tokens":6}}}"#;
    let progress = |data: &str| record("progress", "p1", &format!(r#","data":{data}"#));
    let own_file = inner
        .replacen('{', r#"{"isSidechain":true,"agentId":"7f",""#, 1)
        .replacen("\"\"", "\"", 1);
    check_lines(
        &[
            progress(&format!(
                r#"{{"type":"agent_progress","agentId":"7f","message":{inner}}}"#
            )),
            progress(
                r#"{"type":"agent_progress","agentId":"7f","message":{"type":"user","message":{"content":"x"}}}"#,
            ),
            progress(r#"{"type":"bash_progress","output":"x"}"#),
            progress("null"),
            own_file,
        ],
        r#"
        facts S/agent-7f machine=true subagent of S
        S/agent-7f: reply "x" by haiku
        S/agent-7f: used #0 haiku in=0 read=0 write=0 out=6
        S/agent-7f: used #0 haiku in=0 read=0 write=0 out=6
        "#,
    );
}

#[test]
fn odd_counts_count_nothing() {
    check_lines(
        &[
            assistant(
                "a1",
                r#""x""#,
                r#"{"input_tokens":-4,"output_tokens":"many","cache_read_input_tokens":null}"#,
            ),
            assistant("a2", r#""x""#, "7"),
            assistant_with(
                "a3",
                r#""id":"m3","#,
                r#""x""#,
                r#"{"output_tokens":3}"#,
                "",
            ),
        ],
        r#"
        reply "x" by opus
        reply "x" by opus
        reply "x"
        used #0 opus in=0 read=0 write=0 out=0
        "#,
    );
}

#[test]
fn a_summary_names_the_session_of_its_leaf() {
    let summary = r#"{"type":"summary","summary":"Cart added","leafUuid":"leaf"}"#.to_string();
    let lines = [summary.clone(), user("u1", r#""go""#), summary];
    check(
        "projects/-shop/notes.jsonl",
        log(&lines),
        r#"
        facts of the leaf generated="Cart added"
        facts of the leaf generated="Cart added"
        prompt "go"
        "#,
    );
    check_lines(
        &lines,
        r#"
        facts of the leaf generated="Cart added"
        facts of the leaf generated="Cart added"
        prompt "go"
        "#,
    );
}

#[test]
fn titles() {
    check_lines(
        &[
            format!(r#"{{"type":"ai-title","aiTitle":"Adding a cart","sessionId":"{SESSION}"}}"#),
            format!(r#"{{"type":"custom-title","customTitle":"Cart","sessionId":"{SESSION}"}}"#),
            format!(
                r#"{{"type":"last-prompt","lastPrompt":"go","leafUuid":"u1","sessionId":"{SESSION}"}}"#
            ),
        ],
        r#"
        facts S generated="Adding a cart"
        facts S given="Cart"
        "#,
    );
}

#[test]
fn the_place_is_told_when_it_changes() {
    let at = |uuid: &str, cwd: &str, branch: &str, more: &str| {
        user_with(
            uuid,
            r#""go""#,
            &format!(r#","cwd":"{cwd}","gitBranch":"{branch}"{more}"#),
        )
    };
    check_lines(
        &[
            at("u1", "/shop", "", r#","entrypoint":"cli""#),
            at("u2", "/shop", "main", r#","entrypoint":"sdk-cli""#),
            at("u3", "/shop", "main", ""),
            at("u4", "/shop/web", "HEAD", ""),
        ],
        r#"
        facts S cwd=/shop machine=false
        facts S branch=main
        facts S cwd=/shop/web
        prompt "go"
        prompt "go"
        prompt "go"
        prompt "go"
        "#,
    );
    check_lines(
        &[at("u1", "", "", r#","entrypoint":"sdk-ts""#)],
        r#"
        facts S machine=true
        prompt "go"
        "#,
    );
}

#[test]
fn a_record_that_answers_another_one_branches() {
    let answer = |uuid: &str, parent: &str| {
        user_with(uuid, r#""go""#, &format!(r#","parentUuid":"{parent}""#))
    };
    check_lines(
        &[
            user_with("u1", r#""go""#, r#","parentUuid":null"#),
            answer("u2", "u1"),
            record("progress", "p3", r#","parentUuid":"u2""#),
            answer("u4", "p3"),
            answer("u5", "u1"),
        ],
        r#"
        prompt "go"
        prompt "go"
        prompt "go"
        prompt "go" branches
        "#,
    );
}

#[test]
fn inline_sidechains_with_an_id() {
    let side = |uuid: &str, agent: &str, text: &str| {
        user_with(
            uuid,
            text,
            &format!(
                r#","isSidechain":true,"agentId":"{agent}","cwd":"/shop/web","entrypoint":"cli""#
            ),
        )
    };
    check_lines(
        &[
            side("u1", "7f", r#""look left""#),
            side("u2", "8e", r#""look right""#),
            side("u3", "7f", r#""look up""#),
            user_with("u4", r#""thanks""#, r#","cwd":"/shop","entrypoint":"cli""#),
        ],
        r#"
        facts S/agent-7f cwd=/shop/web machine=true subagent of S
        facts S/agent-8e cwd=/shop/web machine=true subagent of S
        facts S cwd=/shop machine=false
        S/agent-7f: prompt "look left"
        S/agent-8e: prompt "look right"
        S/agent-7f: prompt "look up"
        prompt "thanks"
        "#,
    );
}

#[test]
fn inline_sidechains_without_an_id_are_told_apart_by_their_chain() {
    let side = |uuid: &str, parent: &str| {
        user_with(
            uuid,
            r#""look""#,
            &format!(r#","isSidechain":true,"parentUuid":{parent}"#),
        )
    };
    check_lines(
        &[
            user_with("main-0", r#""go""#, r#","cwd":"/shop","gitBranch":"main""#),
            side("left-0001", "null"),
            side("right-0001", "null"),
            side("left-0002", r#""left-0001""#),
            side("right-0002", r#""right-0001""#),
        ],
        r#"
        facts S cwd=/shop branch=main
        facts S/sidechain-left-000 cwd=/shop branch=main machine=true subagent of S
        facts S/sidechain-right-00 cwd=/shop branch=main machine=true subagent of S
        prompt "go"
        S/sidechain-left-000: prompt "look"
        S/sidechain-right-00: prompt "look"
        S/sidechain-left-000: prompt "look" branches
        S/sidechain-right-00: prompt "look" branches
        "#,
    );
}

#[test]
fn files_of_subagents() {
    let line = user_with("u1", r#""look""#, r#","isSidechain":true,"agentId":"7f""#);
    let expect = r#"
        facts S/agent-7f machine=true subagent of S
        S/agent-7f: prompt "look"
        "#;
    // The oldest beside the session's file, then in a folder of the session, then deeper.
    check("projects/-shop/agent-7f.jsonl", &line, expect);
    let below = format!("projects/-shop/{SESSION}/subagents");
    check(&format!("{below}/agent-7f.jsonl"), &line, expect);
    check(
        &format!("{below}/workflows/wf-1/agent-7f.jsonl"),
        &line,
        expect,
    );
    // The folder is believed before the line.
    let other = line.replace(SESSION, "another");
    check(&format!("{below}/agent-7f.jsonl"), other, expect);
}

#[test]
fn a_subagents_description_is_its_title() {
    let path = format!("projects/-shop/{SESSION}/subagents/agent-7f.meta.json");
    assert_eq!(ClaudeCode.named(Path::new(&path)), Some(Shape::Document));
    let source = SourceName {
        path: Path::new(&path),
    };
    let mut out = Output::default();
    let document = b"{\n  \"agentType\": \"scout\",\n  \"description\": \"Look left\"\n}\n";
    read_document(&mut *ClaudeCode.begin(&source, None), document, &mut out);
    let expect =
        "facts S/agent-7f machine=true subagent of S\nfacts S/agent-7f generated=\"Look left\"";
    assert_eq!(render(&out), expect);
}

#[test]
fn another_session_in_the_file_is_what_it_was_forked_from() {
    let copied = user("u1", r#""go""#).replace(SESSION, "first");
    check_lines(
        &[
            copied.clone(),
            copied.replace("u1", "u2"),
            user("u3", r#""go on""#),
        ],
        r#"
        facts S fork of first
        prompt "go"
        prompt "go"
        prompt "go on"
        "#,
    );
}

#[test]
fn a_replay_in_another_file_has_the_same_keys() {
    let lines = [
        user(
            "u1",
            r#"[{"type":"text","text":"go"},{"type":"tool_result","tool_use_id":"t1","content":"x"}]"#,
        ),
        assistant(
            "a2",
            r#"[{"type":"text","text":"yes"},{"type":"tool_use","id":"t2","name":"Grep","input":{}}]"#,
            r#"{"output_tokens":5}"#,
        ),
    ];
    let keys = |path: &str, log: &[u8]| {
        let out = read(path, log);
        let mut keys: Vec<EventKey> = out.events.iter().map(|event| event.key).collect();
        keys.extend(out.responses.iter().map(|response| response.key));
        keys
    };
    let original = keys(FILE, &log(&lines));
    let fork = "projects/-shop/5e550000-aaaa-bbbb-cccc-000000000002.jsonl";
    let copies = lines.map(|line| line.replace(SESSION, "5e550000-aaaa-bbbb-cccc-000000000002"));
    assert_eq!(original, keys(fork, &log(&copies)));
    let mut distinct = original.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!((original.len(), distinct.len()), (5, 5));
}

#[test]
fn the_session_is_named_by_the_file_or_its_folder() {
    let session = |path: &str, line: &str| {
        let out = read(path, line.as_bytes());
        out.events[0].session.to_string()
    };
    let line = user("u1", r#""go""#).replace(SESSION, "inside");
    assert_eq!(session(FILE, &line), SESSION);
    assert_eq!(
        session(&format!("logs/{SESSION}/full.jsonl"), &line),
        SESSION
    );
    assert_eq!(
        session(&format!("logs/2026-01-21-{SESSION}/full.jsonl"), &line),
        SESSION
    );
    assert_eq!(session("logs/notes.jsonl", &line), "inside");
    let nameless = line.replace(r#""sessionId":"inside","#, "");
    assert_eq!(session("logs/notes.jsonl", &nameless), "notes");
}

#[test]
fn our_own_context_is_taken_out() {
    check_user(
        r#""<backstory-context>old words</backstory-context>add a cart""#,
        r#"prompt "add a cart""#,
    );
    check_user(r#""<backstory-context>old words</backstory-context>""#, "");
    check_lines(
        &[
            result(
                "u1",
                "t1",
                r#""<backstory-context v=1>old words</backstory-context>new""#,
                false,
                "{}",
            ),
            assistant(
                "a2",
                r#"[{"type":"text","text":"I saw <backstory-context>old words"}]"#,
                "null",
            ),
        ],
        r#"
        tool_result "new" call=t1
        reply "I saw" by opus
        "#,
    );
}

#[test]
fn records_glued_on_one_line_are_all_read() {
    let glued = user("u1", r#""one""#)
        + &user("u2", r#""two""#)
        + " "
        + &assistant("a3", r#""three""#, "null");
    check_lines(
        &[glued.clone(), user("u4", r#""four""#)],
        r#"
        prompt "one"
        prompt "two"
        reply "three" by opus
        prompt "four"
        "#,
    );
    check_lines(
        &[glued + r#"{"type":"us"#],
        r#"
        prompt "one"
        prompt "two"
        reply "three" by opus
        skipped line 1
        "#,
    );
}

#[test]
fn damaged_text_is_read_as_far_as_it_goes() {
    check_user(r#""cut \ud83d here""#, "prompt \"cut \u{fffd} here\"");
    check_user(
        r#"[{"type":"text","text":"\udc00"}]"#,
        "prompt \"\u{fffd}\"",
    );
    let mut invalid = log(&[user("u1", r#""caf? au lait""#)]);
    let at = invalid.iter().position(|byte| *byte == b'?').unwrap();
    invalid[at] = 0xe9;
    check(FILE, invalid, "prompt \"caf\u{fffd} au lait\"");
}

#[test]
fn line_ends_and_byte_order_marks() {
    let line = user("u1", r#""go""#);
    check(
        FILE,
        format!("\u{feff}{line}\r\n\r\n   \n\n{line}\r\n"),
        "prompt \"go\"\nprompt \"go\"",
    );
    // The last line may still lack its end.
    check(FILE, &line, r#"prompt "go""#);
    check(FILE, "", "");
}

#[test]
fn garbage_is_skipped_and_counted_by_line() {
    let good = user("u1", r#""go""#);
    check(
        FILE,
        format!("{good}\nnot json\n\n\0\0\0\n{good}\n{{\"type\":\"user\",\"mess\n"),
        r#"
        prompt "go"
        prompt "go"
        skipped line 2
        skipped line 4
        skipped line 6
        "#,
    );
    // A zero byte as JSON writes it is text like any other.
    check_user(r#""a\u0000b""#, r#"prompt "a\0b""#);
}

#[test]
fn json_that_is_no_record_says_nothing() {
    check(
        "projects/-shop/notes.jsonl",
        "null\n7\n\"user\"\n[1,2]\n[\"user\",\"u1\",null,\"x\"]\n{}\n{\"type\":7}\n{\"type\":\"user\"}\n{\"type\":\"user\",\"message\":3}\n",
        "",
    );
    check_lines(
        &[record(
            "user",
            "u1",
            r#","message":{"content":{"text":"x"}}"#,
        )],
        "",
    );
    // One odd field does not cost the others.
    check_lines(
        &[user("u1", r#""go""#).replace(
            r#""uuid":"u1""#,
            r#""uuid":1,"cwd":[],"isMeta":"no","origin":4"#,
        )],
        r#"prompt "go""#,
    );
}

#[test]
fn deep_nesting_is_no_danger() {
    let deep = "[".repeat(50_000) + &"]".repeat(50_000);
    check_lines(
        &[
            user_with("u1", r#""go""#, &format!(r#","toolUseResult":{deep}"#)),
            user("u2", &deep),
            record("user", "u3", &format!(r#","message":{deep}"#)),
            "[".repeat(50_000),
        ],
        r#"
        system "go"
        skipped line 4
        "#,
    );
}

#[test]
fn roots_follow_the_variable() {
    let roots = |value: Option<&str>| {
        let value = value.map(str::to_string);
        let variable = |name: &str| value.clone().filter(|_| name == "CLAUDE_CONFIG_DIR");
        ClaudeCode.roots(&Places {
            home: Path::new("/home/me"),
            variable: &variable,
        })
    };
    let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
    assert_eq!(
        roots(None),
        paths(&[
            "/home/me/.claude/projects",
            "/home/me/.config/claude/projects"
        ])
    );
    assert_eq!(
        roots(Some("/a, /b")),
        paths(&["/a/projects", "/b/projects"])
    );
}

#[test]
fn files_are_known_by_name() {
    let named = |name: &str| ClaudeCode.named(Path::new(name));
    assert_eq!(named("p/x.jsonl"), Some(Shape::Lines));
    assert_eq!(named("p/agent-7f.meta.json"), Some(Shape::Document));
    assert_eq!(named("p/sessions-index.json"), None);
    assert_eq!(named("p/memory/MEMORY.md"), None);
}

#[test]
fn each_agent_knows_its_own_logs_only() {
    let claims = |path: &str, head: &str| {
        let known = LogAgent::all().filter(|known| {
            let shape = known.reader.recognises(Path::new(path), head.as_bytes());
            shape.is_some()
        });
        known.map(|known| known.agent.name).collect::<Vec<_>>()
    };
    let claude = ["claude-code"];
    assert_eq!(claims("x.jsonl", &user("u1", r#""go""#)), claude);
    let copilot = r#"{"type":"session.start","data":{"sessionId":"s","producer":"copilot-agent"}}"#;
    assert!(claims("x.jsonl", copilot).is_empty());
    let opencode = "{\n  \"info\": {\"providerID\": \"x\"},\n  \"output\": \"\\\"sessionId\\\"\"\n";
    assert!(claims("x.jsonl", opencode).is_empty());
    assert_eq!(
        claims(
            "x.jsonl",
            r#"{"type":"summary","summary":"x","leafUuid":"y"}"#
        ),
        claude
    );
    assert_eq!(
        claims(
            "x.jsonl",
            r#"{"type": "user", "sessionId": "x", "message": {"content": "go"}}"#
        ),
        claude
    );
    assert_eq!(
        claims(
            "x.jsonl",
            r#"{"type":"file-history-snapshot","messageId":"x","snapshot":{}}"#
        ),
        claude
    );
    assert_eq!(
        claims("agent-7f.meta.json", r#"{"agentType":"scout"}"#),
        claude
    );
    assert_eq!(
        claims(
            "rollout-2026-01-02T03-04-05-11111111-aaaa-bbbb-cccc-000000000001.jsonl",
            r#"{"timestamp":"2026-01-02T03:04:05Z","type":"session_meta","payload":{"id":"11111111-aaaa-bbbb-cccc-000000000001","cwd":"/shop"}}"#
        ),
        ["codex"]
    );
    assert_eq!(
        claims(
            "sessions/shop/s1/updates.jsonl",
            r#"{"timestamp":1700000000,"method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"}}}}"#
        ),
        ["grok"]
    );
    assert!(claims("x.jsonl", r#"{"some":"log"}"#).is_empty());
    assert!(claims("x.jsonl", "").is_empty());
    assert!(claims("notes.txt", &user("u1", r#""go""#)).is_empty());
}

#[test]
fn of_a_field_that_is_named_twice_the_last_value_counts() {
    let twice = |uuid: &str, more: &str| user_with(uuid, r#""x""#, more);
    let message = r#","message":{"content":"first","role":"user","role":"user"}"#;
    check_lines(
        &[
            twice("u1", r#","uuid":"u1","type":"system","type":"user""#),
            twice("u2", message),
            user(
                "u3",
                r#"[{"type":"image","type":"text","text":"in a \ud83d block","text":"in a block"}]"#,
            ),
            assistant(
                "a4",
                r#"[{"type":"text","text":"Done."}]"#,
                r#"{"input_tokens":1,"output_tokens":9,"input_tokens":2}"#,
            ),
        ],
        r#"
        prompt "x"
        prompt "x"
        prompt "in a block"
        reply "Done." by opus
        used #0 opus in=2 read=0 write=0 out=9
        "#,
    );
}

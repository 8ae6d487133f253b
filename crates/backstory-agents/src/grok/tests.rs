mod fields;
mod kept;
mod telemetry;

use std::fmt::Write as _;
use std::path::Path;

use super::*;
use crate::record::{read_document, read_lines};
use backstory_event::TimeMs;
use backstory_event::{Action, Event, Fragment};

const SESSION: &str = "019f0000-0000-7000-8000-00000000000a";

fn source(name: &str) -> PathBuf {
    PathBuf::from(format!("/home/me/.grok/sessions/%2Fw/{SESSION}/{name}"))
}

/// Reads lines in one go.
fn read(path: &Path, input: &str) -> Output {
    let mut out = Output::default();
    let mut reading = Grok.begin(&SourceName { path }, None);
    read_lines(reading.as_mut(), input.as_bytes(), 0, 1, &mut out);
    out
}

/// Reads lines in pieces, the state written down and taken up again between them.
fn read_cut(path: &Path, input: &str, cut_after: impl Fn(usize) -> bool) -> Output {
    let mut out = Output::default();
    let (mut state, mut offset, mut first) = (None::<String>, 0, 1);
    let mut piece = String::new();
    for (number, line) in input.split_inclusive('\n').enumerate() {
        piece.push_str(line);
        if cut_after(number) {
            let mut reading = Grok.begin(&SourceName { path }, state.as_deref());
            first += read_lines(reading.as_mut(), piece.as_bytes(), offset, first, &mut out);
            offset += piece.len() as u64;
            piece.clear();
            state = Some(reading.state());
        }
    }
    let mut reading = Grok.begin(&SourceName { path }, state.as_deref());
    read_lines(reading.as_mut(), piece.as_bytes(), offset, first, &mut out);
    out
}

/// An event as the store will have it: its extensions applied.
fn whole(event: &Event, out: &Output) -> (Event, usize) {
    let mut event = event.clone();
    let more = out
        .extensions
        .iter()
        .filter(|extension| extension.key == event.key);
    let mut count = 0;
    for extension in more {
        event.body.text.push_str(&extension.text);
        event.body.images.extend(extension.images.iter().cloned());
        event.body.stop_reason = extension.stop_reason.clone().or(event.body.stop_reason);
        event.span.length = extension.end - event.span.offset;
        count += 1;
    }
    (event, count)
}

fn render(out: &Output) -> String {
    let mut text = String::new();
    for event in &out.events {
        let (event, more) = whole(event, out);
        write!(text, "{}", event.kind.name()).unwrap();
        let part = event.span.part;
        let mut show = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                write!(text, " {name}{value}").unwrap();
            }
        };
        show("+", (more > 0).then(|| more.to_string()));
        show("part=", (part > 0).then(|| part.to_string()));
        show("at=", event.at.map(|at| at.to_string()));
        show("model=", event.model.map(|model| model.to_string()));
        show("tool=", event.tool);
        show("call=", event.body.identity.tool_use_id);
        show("exit=", event.exit_code.map(|code| code.to_string()));
        show("took=", event.duration_ms.map(|took| took.to_string()));
        show("", event.error.then(|| "error".to_string()));
        show("after=", event.parent.map(|key| position(out, key)));
        show("$ ", event.body.command);
        for touch in event.touches {
            let action = match touch.action {
                Action::Read => "R:",
                Action::Write => "W:",
                Action::Delete => "D:",
            };
            show(action, Some(touch.path));
        }
        let said = event
            .body
            .text
            .escape_debug()
            .to_string()
            .replace("\\\"", "\"");
        writeln!(text, "{}", format!(" | {said}").trim_end()).unwrap();
    }
    for response in &out.responses {
        let usage = response.usage;
        let counts = [
            usage.input,
            usage.output,
            usage.cache_read,
            usage.cache_write,
            usage.reasoning,
        ];
        writeln!(text, "response {} {counts:?}", response.model).unwrap();
    }
    for facts in &out.facts {
        let mut facts = facts.clone();
        write!(text, "facts").unwrap();
        if facts.session.as_deref() != Some(SESSION) {
            write!(text, " of {}", facts.session.as_deref().unwrap_or("?")).unwrap();
        }
        facts.session = None;
        facts.meta = None;
        facts.span = None;
        let shown = format!("{facts:?}");
        let fields = shown
            .trim_start_matches("SessionFacts { session: None, leaf: None, ")
            .trim_end_matches(" }");
        let told: Vec<&str> = fields
            .split(", ")
            .filter(|field| !field.ends_with(": None"))
            .collect();
        writeln!(text, " {}", told.join(", ")).unwrap();
    }
    for skipped in &out.skipped {
        writeln!(text, "skipped line {}", skipped.line).unwrap();
    }
    text
}

fn position(out: &Output, key: EventKey) -> String {
    out.events
        .iter()
        .position(|event| event.key == key)
        .map_or("?".to_string(), |found| found.to_string())
}

fn everything(out: &Output) -> String {
    format!("{out:?}")
}

/// Reads a file, compares it with what is expected, and checks what holds for every input: pieces give the same as the whole,
/// spans give the text back, keys differ.
fn check_file(name: &str, input: &str, expect: &str) {
    let path = source(name);
    let out = read(&path, input);
    let expect: String = expect
        .trim()
        .lines()
        .map(|line| format!("{}\n", line.trim()))
        .collect();
    assert_eq!(render(&out), expect, "\n--- got:\n{}", render(&out));
    check_invariants(&path, input, &out);
}

fn check_invariants(path: &Path, input: &str, out: &Output) {
    let lines = input.lines().count();
    for cut in 0..lines {
        assert_eq!(
            everything(&read_cut(path, input, |line| line == cut)),
            everything(out),
            "cut after line {cut}"
        );
    }
    assert_eq!(
        everything(&read_cut(path, input, |_| true)),
        everything(out),
        "cut after every line"
    );
    let mut keys: Vec<EventKey> = out.events.iter().map(|event| event.key).collect();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), out.events.len(), "keys differ");
    for event in &out.events {
        let (event, _) = whole(event, out);
        let start = event.span.offset as usize;
        let span = &input.as_bytes()[start..start + event.span.length as usize];
        assert_eq!(
            reread_body(span, event.span.part),
            event.body,
            "body of {event:?}"
        );
        assert_eq!(event.body.text.trim(), event.body.text, "trimmed");
    }
}

fn span_bytes(input: &str, span: Span) -> &[u8] {
    let start = span.offset as usize;
    &input.as_bytes()[start..start + span.length as usize]
}

/// Reads the body of one part of a span again.
fn reread_body(span: &[u8], part: u16) -> EventBody {
    let found = Grok.reread(span).into_iter().find(|(at, _)| *at == part);
    found.map(|(_, body)| body).unwrap()
}

fn check(updates: &[String], expect: &str) {
    check_file("updates.jsonl", &updates.join("\n"), expect);
}

fn check_history(messages: &[&str], expect: &str) {
    check_file("chat_history.jsonl", &messages.join("\n"), expect);
}

/// A line of the log, at so many seconds.
fn at(seconds: u64, update: &str) -> String {
    format!(
        r#"{{"timestamp":{seconds},"method":"session/update","params":{{"sessionId":"{SESSION}","update":{update}}}}}"#
    )
}

fn chunk(kind: &str, text: &str) -> String {
    let text = serde_json::to_string(text).unwrap();
    format!(r#"{{"sessionUpdate":"{kind}_chunk","content":{{"type":"text","text":{text}}}}}"#)
}

fn asks(text: &str) -> String {
    at(1, &chunk("user_message", text))
}

fn says(text: &str) -> String {
    at(2, &chunk("agent_message", text))
}

fn thinks(text: &str) -> String {
    at(2, &chunk("agent_thought", text))
}

#[test]
fn fragments_make_one_event_until_the_speaker_changes() {
    check(
        &[
            asks("sort the "),
            asks("imports\n"),
            thinks("they"),
            thinks(" are few"),
            says("Done"),
            says(".\n\n"),
            says("Look. "),
        ],
        "prompt +1 at=1000 | sort the imports
         reasoning +1 at=2000 | they are few
         reply +2 at=2000 | Done.\\n\\nLook.",
    );
}

#[test]
fn what_says_nothing_lies_within_a_span() {
    let other = r#"{"sessionUpdate":"available_commands_update","availableCommands":[]}"#;
    let plan = r#"{"sessionUpdate":"plan","entries":[{"content":"x"}]}"#;
    check(
        &[
            says("a"),
            at(3, other),
            at(3, plan),
            says("b"),
            String::new(),
            says(""),
            at(3, r#"{"sessionUpdate":"news"}"#),
            says("c"),
        ],
        "reply +2 at=2000 | abc",
    );
}

#[test]
fn a_prompt_after_a_turn_is_another_prompt() {
    let end = at(
        3,
        r#"{"sessionUpdate":"turn_completed","prompt_id":"p","stop_reason":"cancelled"}"#,
    );
    check(
        &[asks("one"), end, asks("two"), says("yes"), asks("three")],
        "prompt at=1000 | one
         prompt at=1000 | two
         reply at=2000 | yes
         prompt at=1000 | three",
    );
}

#[test]
fn prompts_are_told_apart_by_their_number() {
    let numbered = |number: u64, text: &str| {
        at(
            1,
            &format!(
                r#"{{"sessionUpdate":"user_message_chunk","content":{{"type":"text","text":"{text}"}},"_meta":{{"promptIndex":{number},"modelId":"grok-9"}}}}"#
            ),
        )
    };
    check(
        &[
            numbered(0, "one"),
            numbered(0, " two"),
            numbered(1, "three"),
            asks("said meanwhile"),
            says("ok"),
        ],
        "prompt +1 at=1000 | one two
         prompt at=1000 | three
         prompt at=1000 | said meanwhile
         reply at=2000 model=grok-9 | ok",
    );
}

#[test]
fn the_query_is_taken_out_of_its_wrapping() {
    check(
        &[
            asks(
                "<user_info>linux</user_info>\n<git_status>clean</git_status>\n<user_query>\nfix it\n</user_query>\ntrailer",
            ),
            says("ok"),
            asks("The user said meanwhile: <user_query>faster</user_query>"),
            asks("<user_query>and "),
            asks("better"),
            asks(" too</user_query> rest"),
        ],
        "prompt at=1000 | fix it
         reply at=2000 | ok
         prompt at=1000 | faster
         prompt +2 at=1000 | and better too",
    );
}

#[test]
fn what_the_program_puts_in_is_no_prompt() {
    let hidden = r#"{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"task 7 ended"},"_meta":{"hideFromScrollback":true}}"#;
    check(
        &[
            asks("<system-reminder>be brief</system-reminder>"),
            asks("<agent_skills>x</agent_skills> go on"),
            at(1, hidden),
            asks("<user_info>never"),
            asks(" closed"),
        ],
        "system at=1000 | <system-reminder>be brief</system-reminder>
         prompt at=1000 | go on
         system at=1000 | task 7 ended
         system +1 at=1000 | <user_info>never closed",
    );
}

#[test]
fn commands_that_the_program_answers_are_not_replies() {
    let host = |kind: &str, text: &str| {
        at(
            1,
            &format!(
                r#"{{"sessionUpdate":"{kind}_chunk","content":{{"type":"text","text":"{text}"}},"_meta":{{"hostTurn":true}}}}"#
            ),
        )
    };
    check(
        &[
            host("user_message", "/goal"),
            host("agent_message", "No goal is set."),
            says("x"),
        ],
        "prompt at=1000 | /goal
         system at=1000 | No goal is set.
         reply at=2000 | x",
    );
}

#[test]
fn our_own_context_is_never_text() {
    check(
        &[
            asks("<backstory-context id=1>old</backstory-context> new"),
            says("<backstory-context>a"),
            says("b</backstory-context>"),
            says("c <backstory-context>d"),
            says("e"),
            says("f</backstory-context>g"),
            at(
                3,
                r#"{"sessionUpdate":"tool_call","toolCallId":"t","title":"run","status":"completed","rawInput":{"a":"<backstory-context>x</backstory-context>y"},"rawOutput":"<backstory-context>x</backstory-context>"}"#,
            ),
        ],
        r#"prompt at=1000 | new
           reply +1 at=2000 | c g
           tool_call at=3000 tool=run call=t | {"a":"y"}
           tool_result part=1 at=3000 tool=run call=t |"#,
    );
}

#[test]
fn content_comes_in_many_shapes() {
    let blocks = |content: &str| {
        at(
            1,
            &format!(r#"{{"sessionUpdate":"user_message_chunk","content":{content}}}"#),
        )
    };
    check(
        &[
            blocks(r#""look at ""#),
            blocks(r#"{"type":"resource_link","name":"a","uri":"file:///w/a.rs"}"#),
            blocks(r#"{"type":"resource","resource":{"uri":"file:///w/b.rs","text":"much"}}"#),
            blocks(r#"{"type":"image","data":"AAAA","mimeType":"image/png"}"#),
            blocks(r#"[{"type":"text","text":"and "},"this"]"#),
            blocks("17"),
            blocks("null"),
        ],
        r"prompt +4 at=1000 | look at \n[file:///w/a.rs]\n\n[file:///w/b.rs]\n\n[image]\nand this",
    );
}

#[test]
fn a_call_and_its_result() {
    let call = r#"{"sessionUpdate":"tool_call","toolCallId":"c1","title":"run_terminal_cmd","kind":"other","status":"pending","rawInput":{"command":"cargo test","description":"x"}}"#;
    let refined = r#"{"sessionUpdate":"tool_call_update","toolCallId":"c1","title":"Execute `cargo test`","kind":"execute","locations":[]}"#;
    let running = r#"{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress","content":[{"type":"content","content":{"type":"text","text":"half"}}]}"#;
    // Output is kept as bytes.
    let done = r#"{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","rawOutput":{"type":"Bash","output":[110,111],"output_for_prompt":"","exit_code":101,"command":"cargo test"}}"#;
    check(
        &[
            asks("test"),
            says("I run "),
            at(10, call),
            at(10, refined),
            at(11, running),
            at(14, done),
            at(15, done),
            says("them"),
        ],
        "prompt at=1000 | test
         reply at=2000 | I run
         tool_call at=10000 tool=run_terminal_cmd call=c1 $ cargo test | cargo test
         tool_result part=1 at=14000 tool=run_terminal_cmd call=c1 exit=101 took=4000 error | no
         reply at=2000 | them",
    );
}

#[test]
fn files_that_calls_name() {
    let call = |id: &str, rest: &str| {
        at(
            1,
            &format!(r#"{{"sessionUpdate":"tool_call","toolCallId":"{id}",{rest}}}"#),
        )
    };
    check(
        &[
            call(
                "1",
                r#""title":"read_file","rawInput":{"target_file":"src/a.rs"}"#,
            ),
            call(
                "2",
                r#""title":"Edit `a.rs`","kind":"edit","rawInput":{"variant":"SearchReplace","file_path":"src/a.rs"},"locations":[{"path":"/w/src/a.rs"},{"path":"/w/b.rs","line":3},7]"#,
            ),
            call(
                "3",
                r#""title":"Delete c.rs","kind":"delete","locations":[{"path":"c.rs"}]"#,
            ),
            call(
                "4",
                r#""title":"edit_it","rawInput":{"patch":"*** Begin Patch\n*** Delete File: d.rs\n*** Add File: e.rs\n"}"#,
            ),
            call(
                "5",
                r#""title":"Grep","kind":"other","_meta":{"x.ai/tool":{"name":"grep","kind":"search"}},"rawInput":{"pattern":"x","path":"."}"#,
            ),
            call(
                "6",
                r#""title":"ls","kind":"execute","rawInput":{"command":["bash","-lc","ls"]}"#,
            ),
            call(
                "7",
                r#""title":"use_tool","rawInput":{"tool_name":"linear__save","path":17}"#,
            ),
        ],
        r#"tool_call at=1000 tool=read_file call=1 R:src/a.rs | {"target_file":"src/a.rs"}
           tool_call at=1000 tool=search_replace call=2 W:/w/src/a.rs W:/w/b.rs | {"variant":"SearchReplace","file_path":"src/a.rs"}
           tool_call at=1000 tool=delete call=3 D:c.rs | Delete c.rs
           tool_call at=1000 tool=edit_it call=4 D:d.rs W:e.rs | {"patch":"*** Begin Patch\\n*** Delete File: d.rs\\n*** Add File: e.rs\\n"}
           tool_call at=1000 tool=grep call=5 | {"pattern":"x","path":"."}
           tool_call at=1000 tool=ls call=6 $ ls | ls
           tool_call at=1000 tool=linear__save call=7 | {"tool_name":"linear__save","path":17}"#,
    );
}

#[test]
fn a_call_whose_input_comes_later_waits_for_it() {
    let announced =
        r#"{"sessionUpdate":"tool_call","toolCallId":"c","title":"read_file","status":"pending"}"#;
    let running = r#"{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"in_progress"}"#;
    let told = r#"{"sessionUpdate":"tool_call_update","toolCallId":"c","title":"Read `a`","kind":"read","rawInput":{"variant":"ReadFile","path":"a"}}"#;
    let done = r#"{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"failed","content":[{"type":"content","content":{"type":"text","text":"no such file"}}]}"#;
    let other = r#"{"sessionUpdate":"tool_call","toolCallId":"d","title":"enter_plan_mode","status":"pending","rawInput":{}}"#;
    let other_done = r#"{"sessionUpdate":"tool_call_update","toolCallId":"d","title":"Plan mode entered","status":"completed","rawOutput":{"type":"EnterPlanMode","Entered":{"message":"ok"}}}"#;
    check(
        &[
            at(1, announced),
            at(2, running),
            at(3, told),
            at(5, done),
            at(6, other),
            at(7, other_done),
        ],
        r#"tool_call at=1000 tool=read_file call=c R:a | {"variant":"ReadFile","path":"a"}
           tool_result part=1 at=5000 tool=read_file call=c took=4000 error | no such file
           tool_call at=6000 tool=enter_plan_mode call=d | Plan mode entered
           tool_result part=1 at=7000 tool=enter_plan_mode call=d took=1000 | ok"#,
    );
}

#[test]
fn results_in_every_shape() {
    let result = |id: &str, rest: &str| {
        at(
            1,
            &format!(
                r#"{{"sessionUpdate":"tool_call_update","toolCallId":"{id}","status":"completed",{rest}}}"#
            ),
        )
    };
    check(
        &[
            result("1", r#""rawOutput":"plain""#),
            result(
                "2",
                r#""rawOutput":{"type":"ReadFile","FileContent":{"content":"fn main","raw_output":"x"}}"#,
            ),
            result(
                "3",
                r#""rawOutput":{"type":"GrepSearch","stdout":[],"stderr":[],"exit_code":1,"match_count":0},"content":[{"type":"content","content":{"type":"text","text":"found 0 matches"}}]"#,
            ),
            result(
                "4",
                r#""rawOutput":{"type":"MCP","tool_name":"t","output":{"Error":"denied"},"is_error":true}"#,
            ),
            result(
                "5",
                r#""content":[{"type":"diff","path":"/w/a","oldText":"x\ny","newText":"z"}]"#,
            ),
            result("6", r#""rawOutput":{"matches":3,"durationMs":12}"#),
            result("7", r#""rawOutput":{"output":""}"#),
            result("8", r#""rawOutput":null"#),
            result(
                "9",
                r#""rawOutput":{"stdout":"out","exitCode":0},"content":{"odd":1}"#,
            ),
            result(
                "10",
                r#""rawOutput":[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#,
            ),
            result(
                "11",
                r#""rawOutput":{"type":"ListDir","NotFound":"no folder"}"#,
            ),
        ],
        r#"tool_result part=1 at=1000 call=1 | plain
           tool_result part=1 at=1000 call=2 | fn main
           tool_result part=1 at=1000 call=3 exit=1 | found 0 matches
           tool_result part=1 at=1000 call=4 error | denied
           tool_result part=1 at=1000 call=5 | /w/a\n-x\n-y\n+z
           tool_result part=1 at=1000 call=6 took=12 | {"matches":3,"durationMs":12}
           tool_result part=1 at=1000 call=7 |
           tool_result part=1 at=1000 call=8 |
           tool_result part=1 at=1000 call=9 exit=0 | out
           tool_result part=1 at=1000 call=10 | a\nb
           tool_result part=1 at=1000 call=11 | no folder"#,
    );
}

#[test]
fn tokens_are_counted_once_in_one_column() {
    let turn = |rest: &str| {
        at(
            9,
            &format!(r#"{{"sessionUpdate":"turn_completed",{rest}}}"#),
        )
    };
    check(
        &[
            turn(
                r#""prompt_id":"p1","usage":{"inputTokens":100,"outputTokens":20,"cachedReadTokens":70,"cacheCreationTokens":10,"reasoningTokens":5,"modelUsage":{"grok-9":{"inputTokens":90,"outputTokens":18,"cachedReadTokens":70,"cacheCreationTokens":10,"reasoningTokens":5},"grok-mini":{"inputTokens":10,"outputTokens":2}}}"#,
            ),
            turn(
                r#""prompt_id":"p2","usage":{"inputTokens":5,"outputTokens":"many","cachedReadTokens":7}"#,
            ),
            at(
                9,
                r#"{"sessionUpdate":"model_changed","model_id":"grok-8"}"#,
            ),
            // Only the counts of the whole turn have its reasoning; sums over turns are no counts of a turn.
            turn(
                r#""prompt_id":"p5","usage":{"outputTokens":20,"reasoningTokens":5,"modelUsage":{"a":{"outputTokens":2},"b":{"outputTokens":18}}}"#,
            ),
            turn(
                r#""prompt_id":"p6","usage":{"outputTokens":90,"reasoningTokens":50,"modelUsage":{"a":{"outputTokens":2}}}"#,
            ),
            turn(r#""usage":{"inputTokens":3.0,"outputTokens":1}"#),
            turn(r#""prompt_id":"p3","usage":{"inputTokens":0}"#),
            turn(r#""prompt_id":"p4""#),
        ],
        "response grok-9 [10, 18, 70, 10, 5]
         response grok-mini [10, 2, 0, 0, 0]
         response unknown [0, 0, 7, 0, 0]
         response a [0, 2, 0, 0, 0]
         response b [0, 18, 0, 0, 5]
         response a [0, 2, 0, 0, 0]
         response grok-8 [3, 1, 0, 0, 0]",
    );
}

#[test]
fn a_rewind_branches() {
    let rewind = |target: u64| {
        at(
            5,
            &format!(r#"{{"sessionUpdate":"rewind_marker","target_prompt_index":{target}}}"#),
        )
    };
    check(
        &[
            asks("one"),
            says("1"),
            asks("two"),
            says("2"),
            rewind(1),
            asks("other two"),
            says("3"),
            rewind(1),
            asks("third two"),
        ],
        "prompt at=1000 | one
         reply at=2000 | 1
         prompt at=1000 | two
         reply at=2000 | 2
         system at=5000 | Rewound to before prompt 2
         prompt at=1000 after=1 | other two
         reply at=2000 | 3
         system at=5000 | Rewound to before prompt 2
         prompt at=1000 after=1 | third two",
    );
}

#[test]
fn summaries_titles_and_children() {
    check(
        &[
            says("a"),
            at(
                3,
                r#"{"sessionUpdate":"compaction_checkpoint","checkpoint_id":"x","checkpoint_file":"f"}"#,
            ),
            says("b"),
            at(
                3,
                r#"{"sessionUpdate":"auto_compact_completed","tokens_after":9,"summary_preview":"We sorted imports"}"#,
            ),
            at(
                3,
                r#"{"sessionUpdate":"session_recap","summary":"Sorting"}"#,
            ),
            at(
                3,
                r#"{"sessionUpdate":"session_summary_generated","session_summary":"Sort imports"}"#,
            ),
            at(
                3,
                r#"{"sessionUpdate":"session_info_update","title":"Mine","_meta":{"x.ai/titleIsManual":true}}"#,
            ),
            at(
                3,
                r#"{"sessionUpdate":"subagent_spawned","subagent_id":"k","parent_session_id":"mum","child_session_id":"kid","description":"look"}"#,
            ),
            at(
                3,
                r#"{"sessionUpdate":"subagent_finished","child_session_id":"kid2","status":"completed"}"#,
            ),
        ],
        &format!(
            r#"reply +1 at=2000 | ab
               summary at=3000 | We sorted imports
               summary at=3000 | Sorting
               facts title: Some(Generated("Sort imports"))
               facts title: Some(Given("Mine"))
               facts of kid parent: Some(Parent {{ session: "mum", kind: Subagent }}), machine: Some(true)
               facts of kid2 parent: Some(Parent {{ session: "{SESSION}", kind: Subagent }}), machine: Some(true)"#
        ),
    );
}

#[test]
fn old_lines_have_no_envelope() {
    check(
        &[
            r#"{"sessionId":"s","update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"hi"}}}"#.to_string(),
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"yes"}}}}"#.to_string(),
        ],
        "prompt | hi
         reply | yes",
    );
}

#[test]
fn the_same_words_twice_are_two_events() {
    let out = [
        asks("again"),
        says("ok"),
        asks("again"),
        says("ok"),
        thinks("hm"),
        says("ok"),
    ];
    check(
        &out,
        "prompt at=1000 | again
         reply at=2000 | ok
         prompt at=1000 | again
         reply at=2000 | ok
         reasoning at=2000 | hm
         reply at=2000 | ok",
    );
}

fn stamped(session: &str, line_session: &str, seconds: u64, number: u64, update: &str) -> String {
    format!(
        r#"{{"timestamp":{seconds},"method":"session/update","params":{{"sessionId":"{line_session}","update":{update},"_meta":{{"eventId":"{session}-{number}","agentTimestampMs":170000000000{number}}}}}}}"#
    )
}

#[test]
fn a_fork_repeats_its_parent_under_the_same_keys() {
    let updates = [
        chunk("user_message", "hi"),
        chunk("agent_message", "yes"),
        r#"{"sessionUpdate":"tool_call","toolCallId":"c","title":"run","status":"completed","rawInput":{"a":1}}"#.to_string(),
        r#"{"sessionUpdate":"turn_completed","prompt_id":"p","usage":{"inputTokens":1}}"#.to_string(),
    ];
    let log = |line_session: &str, seconds: u64| -> String {
        let numbered = updates.iter().zip(1..);
        let lines: Vec<String> = numbered
            .map(|(update, number)| stamped(SESSION, line_session, seconds, number, update))
            .collect();
        lines.join("\n")
    };
    let parent = read(&source("updates.jsonl"), &log(SESSION, 1));
    let fork = "019f0000-0000-7000-8000-00000000000b";
    let path = PathBuf::from(format!("/home/me/.grok/sessions/%2Fw/{fork}/updates.jsonl"));
    let child = read(&path, &log(fork, 999));
    let keys = |out: &Output| -> Vec<(EventKey, Option<TimeMs>)> {
        let events = out.events.iter().map(|event| (event.key, event.at));
        events
            .chain(
                out.responses
                    .iter()
                    .map(|response| (response.key, response.at)),
            )
            .collect()
    };
    assert_eq!(keys(&parent).len(), 5);
    assert_eq!(keys(&parent), keys(&child));
    assert_eq!(parent.events[0].at, Some(TimeMs::new(1_700_000_000_001)));
    assert_eq!(&*child.events[0].session, fork);
    check_invariants(&path, &log(fork, 999), &child);
}

/// So no fragment of a fork completes a secret that its parent's last fragment began: a turn begins with a prompt, and that ends what the
/// model was saying; and prompts are numbered.
#[test]
fn a_fork_goes_on_with_no_text_of_its_parent() {
    let numbered = |number: u64, text: &str| {
        format!(
            r#"{{"sessionUpdate":"user_message_chunk","content":{{"type":"text","text":"{text}"}},"_meta":{{"promptIndex":{number}}}}}"#
        )
    };
    let fork = "019f0000-0000-7000-8000-00000000000b";
    let path = PathBuf::from(format!("/home/me/.grok/sessions/%2Fw/{fork}/updates.jsonl"));
    for copied in [
        vec![numbered(0, "hi"), chunk("agent_message", "the key is sk-")],
        vec![numbered(0, "the key is sk-")],
    ] {
        let own = [numbered(1, "go on"), chunk("agent_message", "ant-api03")];
        let lines = |session: &str, updates: &[String]| -> String {
            let numbered = updates.iter().zip(1..);
            let lines =
                numbered.map(|(update, number)| stamped(session, fork, 1, number, update) + "\n");
            lines.collect()
        };
        let copied = lines(SESSION, &copied);
        let out = read(&path, &format!("{copied}{}", lines(fork, &own)));
        let is_own = |fragment: &&Fragment| fragment.offset > copied.len() as u64;
        let own: Vec<&Fragment> = out.fragments.iter().filter(is_own).collect();
        assert_eq!(own.len(), 2);
        assert!(own.iter().all(|fragment| fragment.begins), "{own:?}");
    }
}

#[test]
fn the_session_is_the_folder_else_what_records_say() {
    let out = read(Path::new("/tmp/x/updates.jsonl"), &asks("hi"));
    assert_eq!(&*out.events[0].session, SESSION);
    let out = read(
        Path::new("/tmp/x/chat_history.jsonl"),
        r#"{"type":"user","content":"hi"}"#,
    );
    assert_eq!(&*out.events[0].session, "x");
}

#[test]
fn messages_of_today() {
    check_history(
        &[
            r#"{"type":"system","content":"You are Grok"}"#,
            r#"{"type":"user","content":[{"type":"text","text":"keep to the rules"}],"synthetic_reason":"project_instructions"}"#,
            r#"{"type":"user","content":[{"type":"text","text":"<user_info>linux</user_info>"}]}"#,
            r#"{"type":"user","content":[{"type":"text","text":"<user_query>look</user_query>"},{"type":"image","url":"data:"}],"prompt_index":0}"#,
            r#"{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"first"},{"type":"summary_text","text":"then"}],"encrypted_content":"zzz"}"#,
            r#"{"type":"reasoning","id":"r2","summary":[],"encrypted_content":"zzz"}"#,
            r#"{"type":"backend_tool_call","kind":{"tool_type":"web_search","action":{"query":"q"},"id":"w"}}"#,
            r#"{"type":"assistant","content":"I read.","tool_calls":[{"id":"c1","name":"read_file","arguments":"{\"target_file\":\"a.rs\"}"},{"id":"c2","name":"run_terminal_cmd","arguments":"{\"command\":\"ls\"}"}],"model_id":"grok-9"}"#,
            r#"{"type":"tool_result","tool_call_id":"c1","content":"fn a"}"#,
            r#"{"type":"tool_result","tool_call_id":"c2","content":"Tool `run_terminal_cmd` failed: no shell"}"#,
            r#"{"type":"user","content":[{"type":"text","text":"faster"}],"synthetic_reason":"interjection"}"#,
            r#"{"type":"assistant","content":"","tool_calls":[{"id":"c3","name":"odd","arguments":"not json"}],"model_id":"grok-9"}"#,
            r#"{"type":"tool_result","tool_call_id":"c3","content":""}"#,
            r#"{"type":"assistant","content":"Done.","model_id":7}"#,
            r#"{"type":"hologram","content":"?"}"#,
        ],
        r#"system | You are Grok
           system | keep to the rules
           system | <user_info>linux</user_info>
           prompt | look
           reasoning | first\n\nthen
           tool_call tool=web_search call=w | {"tool_type":"web_search","action":{"query":"q"},"id":"w"}
           reply model=grok-9 | I read.
           tool_call part=1 model=grok-9 tool=read_file call=c1 R:a.rs | {"target_file":"a.rs"}
           tool_call part=2 model=grok-9 tool=run_terminal_cmd call=c2 $ ls | ls
           tool_result tool=read_file call=c1 | fn a
           tool_result tool=run_terminal_cmd call=c2 error | Tool `run_terminal_cmd` failed: no shell
           prompt | faster
           tool_call part=1 model=grok-9 tool=odd call=c3 | not json
           tool_result tool=odd call=c3 |
           reply | Done."#,
    );
}

#[test]
fn messages_of_the_old_format() {
    check_history(
        &[
            r#"{"role":"system","content":"You are Grok"}"#,
            r#"{"role":"user","content":"look"}"#,
            r#"{"role":"assistant","content":"I read.","tool_calls":[{"id":"c1","type":"function","function":{"name":"search_replace","arguments":"{\"file_path\":\"a.rs\"}"}}],"model_id":"grok-4","reasoning_content":"a file"}"#,
            r#"{"role":"tool","content":"done","tool_call_id":"c1"}"#,
            r#"{"role":"assistant","content":null}"#,
        ],
        r#"system | You are Grok
           prompt | look
           reasoning part=65535 model=grok-4 | a file
           reply model=grok-4 | I read.
           tool_call part=1 model=grok-4 tool=search_replace call=c1 W:a.rs | {"file_path":"a.rs"}
           tool_result tool=search_replace call=c1 | done"#,
    );
}

fn check_summary(summary: &str, expect: &str) {
    let mut out = Output::default();
    let mut reading = Grok.begin(
        &SourceName {
            path: &source("summary.json"),
        },
        None,
    );
    read_document(reading.as_mut(), summary.as_bytes(), &mut out);
    assert_eq!(render(&out).trim(), expect);
}

#[test]
fn summary_facts() {
    check_summary(
        r#"{"info":{"id":"s","cwd":"/w"},"session_summary":"sum","generated_title":"Title","title_is_manual":false,"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:09Z","last_active_at":"2026-01-01T00:00:05Z","head_branch":"main","git_root_dir":"/w","git_remotes":["git@x:y.git"]}"#,
        r#"facts title: Some(Generated("Title")), cwd: Some("/w"), branch: Some("main"), repository: Some("/w"), remote: Some("git@x:y.git"), period: Some((TimeMs(1767225600000), TimeMs(1767225605000)))"#,
    );
    check_summary(
        r#"{"info":{"cwd":"/w"},"generated_title":"Mine","title_is_manual":true,"parent_session_id":"p","git_remotes":[{"name":"o","url":"u"}],"created_at":7}"#,
        r#"facts title: Some(Given("Mine")), cwd: Some("/w"), remote: Some("u"), parent: Some(Parent { session: "p", kind: Fork }), period: Some((TimeMs(7000), TimeMs(7000)))"#,
    );
    check_summary(
        r#"{"info":{},"session_summary":"","session_kind":"subagent_fork","parent_session_id":"p","hidden":1}"#,
        r#"facts parent: Some(Parent { session: "p", kind: Subagent }), machine: Some(true)"#,
    );
    check_summary(
        r#"{"info":null,"hidden":true,"session_kind":"fork"}"#,
        "facts machine: Some(true)",
    );
    check_summary(
        r#"{"id":"s","cwd":"/w","firstPrompt":"hi","createdAt":"2026-01-01T00:00:00Z"}"#,
        r#"facts title: Some(Prompt("hi")), cwd: Some("/w"), period: Some((TimeMs(1767225600000), TimeMs(1767225600000)))"#,
    );
}

#[test]
fn damage_is_skipped_and_odd_types_cost_nothing() {
    check(
        &[
            "not json".to_string(),
            r#"{"params":"#.to_string(),
            "[1,2]".to_string(),
            "7".to_string(),
            r#"{"params":7,"update":[]}"#.to_string(),
            r#"{"timestamp":{},"method":[],"params":{"sessionId":{},"update":{"sessionUpdate":"agent_message_chunk","content":{"type":7,"text":"kept"},"_meta":"x"},"_meta":[]}}"#.to_string(),
            r#"{"params":{"update":{"sessionUpdate":7}}}"#.to_string(),
            r#"{"params":{"update":{"sessionUpdate":"tool_call","toolCallId":7,"title":{},"rawInput":[1],"locations":{}}}}"#.to_string(),
            r#"{"params":{"update":{"sessionUpdate":"turn_completed","usage":[{}]}}}"#.to_string(),
            r#"{"params":{"update":{"sessionUpdate":"rewind_marker","target_prompt_index":-3}}}"#.to_string(),
            r#"{"params":{"update":{"sessionUpdate":"subagent_spawned","child_session_id":[]}}}"#.to_string(),
        ],
        "reply | kept
         tool_call tool=tool | [1]
         system | Rewound to before prompt -2
         skipped line 1
         skipped line 2",
    );
}

#[test]
fn lone_surrogates_and_glued_lines_are_read() {
    let half = at(
        1,
        r#"{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"a\ud83d b"}}"#,
    );
    check(
        &[format!("{half}{}", says("x")), says("y")],
        "prompt at=1000 | a\u{fffd} b\n reply +1 at=2000 | xy",
    );
}

#[test]
fn deep_values_do_no_harm() {
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let objects = format!("{}1{}", r#"{"content":"#.repeat(10_000), "}".repeat(10_000));
    for value in [&deep, &objects] {
        for field in [
            "content",
            "rawInput",
            "rawOutput",
            "locations",
            "usage",
            "_meta",
            "title",
            "summary",
        ] {
            for kind in [
                "user_message_chunk",
                "tool_call",
                "turn_completed",
                "session_recap",
            ] {
                let update = format!(
                    r#"{{"sessionUpdate":"{kind}","toolCallId":"c","status":"completed","{field}":{value}}}"#
                );
                let input = at(1, &update);
                let out = read(&source("updates.jsonl"), &input);
                for event in &out.events {
                    let body = reread_body(input.as_bytes(), event.span.part);
                    assert_eq!(body, event.body);
                }
                for record in &out.telemetry {
                    assert!(!Grok.telemetry(span_bytes(&input, record.span)).is_empty());
                }
            }
            let message =
                format!(r#"{{"type":"assistant","{field}":{value},"tool_calls":{value}}}"#);
            read(&source("chat_history.jsonl"), &message);
        }
    }
}

#[test]
fn thousands_of_damaged_blocks_in_a_message_take_no_time() {
    let blocks = br#"{"type":"text","text":"~"},"#.repeat(50_000);
    let mut message = br#"{"type":"assistant","content":["#.to_vec();
    message.extend(blocks);
    message.extend(br#"{"type":"text","text":"end"}]}"#);
    for byte in message.iter_mut().filter(|byte| **byte == b'~') {
        *byte = 0xff;
    }
    let path = source("chat_history.jsonl");
    let source = SourceName { path: &path };
    let started = std::time::Instant::now();
    let mut out = Output::default();
    let mut reading = Grok.begin(&source, None);
    read_lines(&mut *reading, &message, 0, 1, &mut out);
    assert_eq!(out.fragments.len(), 50_001);
    let mut texts = out.fragments.iter().map(|place| {
        let start = usize::try_from(place.offset).unwrap();
        &message[start..start + usize::try_from(place.length).unwrap()]
    });
    assert_eq!(
        texts.clone().filter(|text| *text == b"\xff").count(),
        50_000
    );
    assert_eq!(texts.next_back(), Some(&b"end"[..]));
    assert!(started.elapsed().as_secs() < 20);
}

#[test]
fn the_state_stays_small() {
    let mut input = String::new();
    for number in 0..2000 {
        let call = format!(
            r#"{{"sessionUpdate":"tool_call","toolCallId":"{number}","title":"run","rawInput":{{"a":{number}}}}}"#
        );
        for line in [
            asks(&number.to_string()),
            says(&" ".repeat(500)),
            says("x"),
            says(&"\n".repeat(500)),
            at(3, &call),
        ] {
            input.push_str(&line);
            input.push('\n');
        }
    }
    let mut reading = Grok.begin(
        &SourceName {
            path: &source("updates.jsonl"),
        },
        None,
    );
    let mut out = Output::default();
    read_lines(reading.as_mut(), input.as_bytes(), 0, 1, &mut out);
    assert_eq!(out.events.len(), 6000);
    assert!(
        reading.state().len() < 64 << 10,
        "{}",
        reading.state().len()
    );
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_read_the_same_in_pieces(
        lines in proptest::collection::vec(proptest::sample::select(vocabulary()), 0..24),
        damage in proptest::collection::vec((0usize..4000, proptest::num::u8::ANY), 0..2),
    ) {
        let mut bytes = lines.join("\n").into_bytes();
        for (position, byte) in damage {
            if let Some(place) = bytes.get_mut(position) {
                *place = byte;
            }
        }
        // Text that is not UTF-8 is no matter of this reader.
        let input = String::from_utf8_lossy(&bytes).into_owned();
        let path = source("updates.jsonl");
        let out = read(&path, &input);
        let pieces = read_cut(&path, &input, |_| true);
        proptest::prop_assert_eq!(everything(&pieces), everything(&out));
        for event in &out.events {
            let (event, _) = whole(event, &out);
            let start = event.span.offset as usize;
            let span = &input.as_bytes()[start..start + event.span.length as usize];
            proptest::prop_assert_eq!(&reread_body(span, event.span.part), &event.body);
        }
        for record in &out.telemetry {
            proptest::prop_assert!(!Grok.telemetry(span_bytes(&input, record.span)).is_empty());
        }
    }
}

/// Lines that a log may be made of, in any order.
fn vocabulary() -> Vec<String> {
    let mut lines: Vec<String> = [
        "hi",
        " ",
        "\n\n",
        "<user_query>a",
        "b</user_query>",
        "<user_query>c</user_query>",
        "<user_info>",
        "</user_info>x",
        "<system-reminder>y</system-reminder>",
        "<backstory-context>",
        "</backstory-context>z",
        "ä\u{2003}",
    ]
    .iter()
    .flat_map(|text| [asks(text), says(text), thinks(text)])
    .collect();
    lines.extend([
        at(3, r#"{"sessionUpdate":"tool_call","toolCallId":"c","title":"run"}"#),
        at(3, r#"{"sessionUpdate":"tool_call","toolCallId":"d","title":"run","status":"completed","rawInput":{"a":1},"rawOutput":"x"}"#),
        at(4, r#"{"sessionUpdate":"tool_call_update","toolCallId":"c","rawInput":{"command":"ls"}}"#),
        at(5, r#"{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}"#),
        at(6, r#"{"sessionUpdate":"turn_completed","prompt_id":"p","usage":{"inputTokens":3}}"#),
        at(7, r#"{"sessionUpdate":"rewind_marker","target_prompt_index":1}"#),
        at(8, r#"{"sessionUpdate":"plan"}"#),
        r#"{"type":"assistant","content":"v1","tool_calls":[{"id":"c","name":"n","arguments":"{}"}]}"#.to_string(),
        r#"{"role":"tool","tool_call_id":"c","content":"r"}"#.to_string(),
        String::new(),
    ]);
    lines
}

#[test]
fn names_and_places() {
    let shape = |name: &str| Grok.named(&source(name));
    assert_eq!(shape("updates.jsonl"), Some(Shape::Lines));
    assert_eq!(shape("chat_history.jsonl"), Some(Shape::Lines));
    assert_eq!(shape("summary.json"), Some(Shape::Document));
    assert_eq!(shape("events.jsonl"), Some(Shape::Lines));
    assert_eq!(shape("signals.json"), Some(Shape::Document));
    for other in ["rewind_points.jsonl", "plan.json", "feedback.jsonl"] {
        assert_eq!(shape(other), None, "{other}");
    }
    assert_eq!(
        Grok.superseded_by(&source("chat_history.jsonl")),
        Some(source("updates.jsonl"))
    );
    assert_eq!(Grok.superseded_by(&source("updates.jsonl")), None);
    let variable = |name: &str| (name == "GROK_HOME").then(|| "/g".to_string());
    let places = Places {
        home: Path::new("/home/me"),
        variable: &variable,
    };
    assert_eq!(Grok.roots(&places), [PathBuf::from("/g/sessions")]);
    let places = Places {
        home: Path::new("/home/me"),
        variable: &|_| None,
    };
    assert_eq!(
        Grok.roots(&places),
        [PathBuf::from("/home/me/.grok/sessions")]
    );
}

#[test]
fn only_own_files_are_recognised() {
    let found = |name: &str, head: &str| Grok.recognises(Path::new(name), head.as_bytes());
    let lines = Some(Shape::Lines);
    assert_eq!(found("x.jsonl", &asks("hi")), lines);
    assert_eq!(found("x.jsonl", &format!("\n{}\n{{", asks("hi"))), lines);
    assert_eq!(found("x.jsonl", &asks("hi")[..60]), lines);
    assert_eq!(
        found(
            "x.jsonl",
            r#"{"sessionId":"s","update":{"sessionUpdate":"plan"}}"#
        ),
        lines
    );
    assert_eq!(found("x.json", &asks("hi")), None);
    let message = r#"{"type":"user","content":[]}"#;
    assert_eq!(found("chat_history.jsonl", message), lines);
    assert_eq!(
        found(
            "chat_history.jsonl",
            r#"{"type":"system","content":"You are"#
        ),
        lines
    );
    assert_eq!(found("source-v1.jsonl", message), lines);
    assert_eq!(found("x.jsonl", message), None);
    assert_eq!(
        found("chat_history.jsonl", r#"{"role":"user","content":"x"}"#),
        lines
    );
    assert_eq!(
        found("source-v0.jsonl", r#"{"role":"user","content":"x"}"#),
        None
    );
    assert_eq!(
        found("summary.json", r#"{"info":{},"session_summary":""}"#),
        Some(Shape::Document)
    );
    assert_eq!(found("summary.json", r#"{"info":{}}"#), None);
    let others = [
        // Claude Code, quoting Grok.
        r#"{"type":"user","uuid":"u","sessionId":"s","message":{"role":"user","content":"{\"method\":\"session/update\",\"sessionUpdate\":1}"}}"#,
        r#"{"type":"summary","summary":"x","leafUuid":"l"}"#,
        // Codex.
        r#"{"timestamp":"t","type":"session_meta","payload":{"id":"x"}}"#,
        r#"{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"user"}}"#,
        // Gemini, Qwen, pi, Copilot, Cursor.
        r#"{"sessionId":"s","projectHash":"h","messages":[]}"#,
        r#"{"uuid":"u","sessionId":"s","type":"user","message":{"role":"user","parts":[{"text":"x"}]}}"#,
        r#"{"type":"session","version":3,"id":"x","cwd":"/w"}"#,
        r#"{"type":"session.start","data":{"sessionId":"s"},"id":"i","timestamp":"t"}"#,
        r#"{"role":"user","message":{"content":[{"type":"text","text":"x"}]}}"#,
    ];
    for other in others {
        assert_eq!(found("x.jsonl", other), None, "{other}");
    }
    assert_eq!(found("chat_history.jsonl", others[0]), None);
    assert_eq!(found("chat_history.jsonl", others[3]), None);
}

#[test]
fn of_a_field_that_is_named_twice_the_last_value_counts() {
    let line = |outer: &str, params: &str, update: &str, meta: &str, text: &str| {
        format!(
            r#"{{"timestamp":1,{outer}"method":"session/update","params":{{{params}"sessionId":"{SESSION}","_meta":{{{meta}"eventId":"e-{text}"}},"update":{{{update}"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{text}"}}}}}}}}"#
        )
    };
    check(
        &[
            asks("go"),
            line(r#""method":"x","#, "", "", "", "a"),
            line("", r#""sessionId":"x","#, "", "", "b"),
            line("", "", r#""sessionUpdate":"plan","#, "", "c"),
            line("", "", "", r#""eventId":"x","#, "d"),
        ],
        "prompt at=1000 | go
         reply +3 at=1000 | abcd",
    );
}

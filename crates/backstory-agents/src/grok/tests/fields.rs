//! What events say beside their text: ids, arguments, edits, marks, status, effort, images, settings; and what facts and responses name.

use serde_json::{Value, json};

use super::*;
use backstory_event::Change;

/// What a body says beside its text.
fn render_body(event: &Event) -> String {
    let body = &event.body;
    let identity = &body.identity;
    let context = body.context.as_deref();
    let named = [
        ("uuid", identity.uuid.clone()),
        ("parent", identity.parent_uuid.clone()),
        ("call", identity.tool_use_id.clone()),
        ("status", body.status.clone()),
        ("stop", body.stop_reason.clone()),
        ("effort", body.effort.clone()),
        ("model", context.and_then(|context| context.model.clone())),
        ("arguments", body.arguments.clone()),
    ];
    let mut text = event.kind.name().to_string();
    for (name, value) in named {
        if let Some(value) = value {
            write!(text, " {name}={value}").unwrap();
        }
    }
    for mark in body.marks.names() {
        write!(text, " {mark}").unwrap();
    }
    for image in &body.images {
        let media_type = image.media_type.as_deref().unwrap_or("?");
        let source = image.source.as_deref().unwrap_or("here");
        write!(text, " [{media_type} {source} {}]", image.encoded_bytes).unwrap();
    }
    for edit in &body.edits {
        let change = match &edit.change {
            Change::Written(whole) => format!("written {whole:?}"),
            Change::Strings(strings) => format!("{} strings", strings.len()),
            Change::Hunks(hunks) => format!("{} hunks", hunks.len()),
            Change::Deleted => "deleted".to_string(),
        };
        write!(text, " {{{} {change}}}", edit.path).unwrap();
    }
    text
}

#[track_caller]
fn check_bodies(name: &str, lines: &[String], expect: &str) {
    let path = source(name);
    let input = lines.join("\n");
    let out = read(&path, &input);
    check_invariants(&path, &input, &out);
    let found: Vec<String> = out
        .events
        .iter()
        .map(|event| render_body(&whole(event, &out).0))
        .collect();
    let expect: Vec<&str> = expect.lines().map(str::trim).collect();
    assert_eq!(found, expect);
}

/// A line with ids, as newer versions write it.
fn identified(number: u64, update: &str) -> String {
    format!(
        r#"{{"timestamp":1,"method":"session/update","params":{{"sessionId":"{SESSION}","update":{update},"_meta":{{"eventId":"{SESSION}-{number}","agentTimestampMs":1700000000000,"promptId":"p1","totalTokens":{number}000}}}}}}"#
    )
}

#[test]
fn every_event_has_the_ids_of_its_first_record() {
    let call = r#"{"sessionUpdate":"tool_call","toolCallId":"c","title":"run","status":"pending","rawInput":{"command":"ls","timeout":9}}"#;
    let done = r#"{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed","rawOutput":"x"}"#;
    let recap = r#"{"sessionUpdate":"session_recap","summary":"Sorting"}"#;
    check_bodies(
        "updates.jsonl",
        &[
            identified(1, &chunk("user_message", "hi ")),
            identified(2, &chunk("user_message", "you")),
            // Nothing is said yet, but the text begins here.
            identified(3, &chunk("agent_thought", " ")),
            identified(4, &chunk("agent_thought", "hm")),
            identified(5, &chunk("agent_message", "ok")),
            identified(6, call),
            identified(7, done),
            identified(8, recap),
        ],
        &format!(
            "prompt uuid={SESSION}-1 parent=p1
             reasoning uuid={SESSION}-3 parent=p1
             reply uuid={SESSION}-5 parent=p1
             tool_call uuid={SESSION}-6 parent=p1 call=c status=pending arguments={{\"command\":\"ls\",\"timeout\":9}}
             tool_result uuid={SESSION}-7 parent=p1 call=c status=completed
             summary uuid={SESSION}-8 parent=p1"
        ),
    );
}

#[test]
fn arguments_are_told_where_the_text_is_not_these() {
    let call = |number: u64, rest: &str| {
        at(
            1,
            &format!(r#"{{"sessionUpdate":"tool_call","toolCallId":"{number}",{rest}}}"#),
        )
    };
    check_bodies(
        "updates.jsonl",
        &[
            call(1, r#""title":"grep","rawInput":{"pattern":"x"}"#),
            call(
                2,
                r#""title":"enter_plan_mode","status":"completed","rawInput":{}"#,
            ),
            call(3, r#""title":"x","locations":[{"path":"a"}]"#),
            call(
                4,
                r#""title":"x","kind":"edit","rawInput":null,"locations":[{"path":"a"}]"#,
            ),
            call(
                5,
                r#""title":"write","rawInput":{"path":"a","content":"<backstory-context>b</backstory-context>"}"#,
            ),
        ],
        r#"tool_call call=1
           tool_call call=2 status=completed arguments={}
           tool_result call=2 status=completed
           tool_call call=3
           tool_call call=4
           tool_call call=5 {a written "<backstory-context>b</backstory-context>"}"#,
    );
}

#[test]
fn changes_are_those_asked_or_those_shown() {
    let diff = r#"[{"type":"diff","path":"/w/a","oldText":"x","newText":"y"},{"type":"diff","path":"/w/b","oldText":null,"newText":"z"}]"#;
    check_bodies(
        "updates.jsonl",
        &[
            at(
                1,
                r#"{"sessionUpdate":"tool_call","toolCallId":"1","title":"search_replace","rawInput":{"file_path":"a","edits":[{"old_string":"x","new_string":"y"},{"old_string":"p","new_string":"q"}]}}"#,
            ),
            at(
                1,
                &format!(
                    r#"{{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed","content":{diff}}}"#
                ),
            ),
            at(
                1,
                &format!(
                    r#"{{"sessionUpdate":"tool_call","toolCallId":"2","title":"Edit","content":{diff}}}"#
                ),
            ),
            at(
                1,
                r#"{"sessionUpdate":"tool_call","toolCallId":"3","title":"run","rawInput":{"command":["bash","-c","mv a b"]}}"#,
            ),
            at(
                1,
                r#"{"sessionUpdate":"tool_call","toolCallId":"4","title":"Delete a","kind":"delete","rawInput":{"path":"a"}}"#,
            ),
        ],
        r#"tool_call call=1 {a 2 strings}
           tool_result call=1 status=completed {/w/a 1 strings} {/w/b written "z"}
           tool_call call=2 {/w/a 1 strings} {/w/b written "z"}
           tool_call call=3 arguments={"command":["bash","-c","mv a b"]}
           tool_call call=4 {a deleted}"#,
    );
}

#[test]
fn the_user_says_no_and_stops_the_agent() {
    let ended = |number: u64, status: &str, text: &str| {
        at(
            1,
            &format!(
                r#"{{"sessionUpdate":"tool_call_update","toolCallId":"{number}","status":"{status}","content":[{{"type":"content","content":{{"type":"text","text":"{text}"}}}}]}}"#
            ),
        )
    };
    check_bodies(
        "updates.jsonl",
        &[
            ended(1, "failed", "User rejected the execution for tool `bash`"),
            ended(
                2,
                "failed",
                "The user elected to avoid running the bash tool.",
            ),
            ended(3, "failed", "MCP: request denied by the user"),
            // A file that quotes the words.
            ended(4, "completed", "MCP: request denied by the user"),
            ended(
                5,
                "failed",
                "remote: Permission to user/app.git denied to some-bot.",
            ),
            ended(6, "failed", "User cancelled the execution for tool `bash`"),
            ended(7, "cancelled", ""),
            at(
                1,
                r#"{"sessionUpdate":"auto_compact_completed","summary_preview":"We sorted"}"#,
            ),
            at(
                1,
                r#"{"sessionUpdate":"session_recap","summary":"Sorting"}"#,
            ),
        ],
        "tool_result call=1 status=failed denied
         tool_result call=2 status=failed denied
         tool_result call=3 status=failed denied
         tool_result call=4 status=completed
         tool_result call=5 status=failed
         tool_result call=6 status=failed interrupted
         tool_result call=7 status=cancelled interrupted
         summary compacted
         summary",
    );
}

#[test]
fn images_and_settings_of_prompts() {
    let person = |content: &str| {
        at(
            1,
            &format!(
                r#"{{"sessionUpdate":"user_message_chunk","content":{content},"_meta":{{"modelId":"grok-9","promptIndex":0}}}}"#
            ),
        )
    };
    let model = r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":"AA","mimeType":"image/png"},"_meta":{"modelId":"grok-9"}}"#;
    check_bodies(
        "updates.jsonl",
        &[
            person(r#"{"type":"text","text":"look"}"#),
            person(r#"{"type":"image","data":"AAAA","mimeType":"image/png"}"#),
            person(
                r#"[{"type":"image_url","image_url":{"url":"data:image\/gif;base64,AAAAAA"}},{"type":"image_url","image_url":"https://x.test/a.png"}]"#,
            ),
            person(r#"{"type":"audio","data":"AAAAA","mimeType":"audio/wav"}"#),
            person(
                r#"{"type":"resource","resource":{"uri":"file:///w/a.pdf","mimeType":"application/pdf","blob":"AAAAAAA"}}"#,
            ),
            person(r#"{"type":"resource_link","uri":"file:///w/b.rs","name":"b"}"#),
            person(r#"{"type":"image","data":7,"url":[]}"#),
            at(1, model),
        ],
        "prompt model=grok-9 [image/png here 4] [image/gif here 6] [? https://x.test/a.png 0] [audio/wav here 5] [application/pdf file:///w/a.pdf 7] [? here 0]
         reply",
    );
}

#[test]
fn what_messages_say_beside_their_text() {
    let lines = [
        r#"{"type":"user","content":[{"type":"text","text":"look"},{"type":"image","url":"data:image/png;base64,AAAA"}],"prior_turn_interrupt":"mid_turn_abort"}"#,
        r#"{"type":"user","content":"again","prior_turn_interrupt":"permission_rejected"}"#,
        r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"first"}]}"#,
        r#"{"type":"backend_tool_call","kind":{"tool_type":"web_search","action":{"query":"q"},"id":"w","status":"completed"}}"#,
        r#"{"type":"assistant","content":"I read.","tool_calls":[{"id":"c1","name":"write","arguments":"{\"path\":\"a\",\"contents\":\"b\"}"},{"id":"c2","name":"bash","arguments":{"command":"git mv a b"}},{"name":"odd","arguments":"not json"}],"model_id":"grok-9","reasoning_effort":"high"}"#,
        r#"{"type":"tool_result","tool_call_id":"c1","content":"User rejected the execution for tool `write`"}"#,
        r#"{"type":"tool_result","tool_call_id":"c2","content":"Tool execution was cancelled by the user (tool `bash` was not executed)."}"#,
    ];
    check_bodies(
        "chat_history.jsonl",
        &lines.map(str::to_string),
        r#"prompt interrupted [image/png here 4]
           prompt
           reasoning uuid=rs_1
           tool_call call=w status=completed
           reply effort=high
           tool_call call=c1 effort=high {a written "b"}
           tool_call call=c2 effort=high arguments={"command":"git mv a b"} {a 0 hunks}
           tool_call effort=high
           tool_result call=c1 denied
           tool_result call=c2 interrupted"#,
    );
}

#[test]
fn long_names_are_the_same_when_they_are_read_again() {
    let long = "x".repeat(5_000);
    let noted = |update: Value| {
        let meta = json!({"eventId": long, "promptId": long});
        json!({"timestamp": 1, "params": {"update": update, "_meta": meta}}).to_string()
    };
    let prompt = |text: &str| {
        let meta = json!({"modelId": long});
        noted(json!({"sessionUpdate": "user_message_chunk", "content": text, "_meta": meta}))
    };
    let call = json!({
        "sessionUpdate": "tool_call", "toolCallId": long, "title": "run", "status": long, "rawInput": {"a": 1}
    });
    let input = [prompt(" "), prompt("hi"), noted(call)].join("\n");
    let path = source("updates.jsonl");
    let out = read(&path, &input);
    check_invariants(&path, &input, &out);
    assert_eq!(out.events.len(), 2);
    assert!(out.events.iter().all(|event| {
        let identity = &event.body.identity;
        identity.uuid.as_ref().is_some_and(|id| id.len() <= 200)
    }));
}

#[test]
fn the_end_of_a_turn_says_why_the_model_stopped() {
    let end = |reason: &str| {
        at(
            9,
            &format!(r#"{{"sessionUpdate":"turn_completed","stop_reason":"{reason}"}}"#),
        )
    };
    let plan = at(8, r#"{"sessionUpdate":"plan","entries":[]}"#);
    let call = at(
        5,
        r#"{"sessionUpdate":"tool_call","toolCallId":"c","title":"run","status":"pending","rawInput":{"command":"ls"}}"#,
    );
    check_bodies(
        "updates.jsonl",
        &[
            asks("one"),
            says("a"),
            says("b"),
            plan,
            end("end_turn"),
            asks("two"),
            thinks("hm"),
            end("cancelled"),
            asks("three"),
            says("c"),
            call,
            // No text is open: telemetry alone has the reason.
            end("max_tokens"),
            asks("four"),
            end("refusal"),
        ],
        "prompt
         reply stop=end_turn
         prompt
         reasoning stop=cancelled
         prompt
         reply
         tool_call call=c status=pending arguments={\"command\":\"ls\"}
         prompt",
    );
}

#[test]
fn usage_is_of_the_first_answer_of_its_turn() {
    let numbered = |number: u64, text: &str| {
        at(
            1,
            &format!(
                r#"{{"sessionUpdate":"user_message_chunk","content":"{text}","_meta":{{"promptIndex":{number}}}}}"#
            ),
        )
    };
    let end = |prompt: &str| {
        at(
            9,
            &format!(
                r#"{{"sessionUpdate":"turn_completed","prompt_id":"{prompt}","usage":{{"inputTokens":3,"modelUsage":{{"a":{{"inputTokens":2}},"b":{{"inputTokens":1}}}}}}}}"#
            ),
        )
    };
    let lines = [
        end("p0"),
        numbered(0, "one"),
        thinks("hm"),
        says("ok"),
        // Said within the turn.
        asks("faster"),
        says("yes"),
        end("p1"),
        end("p1"),
        // A turn that the program began itself.
        says("more"),
        end("p2"),
        numbered(1, "two"),
        end("p3"),
    ];
    let path = source("updates.jsonl");
    let input = lines.join("\n");
    let out = read(&path, &input);
    check_invariants(&path, &input, &out);
    let found: Vec<Option<&str>> = out
        .responses
        .iter()
        .map(|response| {
            let event = out
                .events
                .iter()
                .find(|event| Some(event.key) == response.event)?;
            Some(event.body.text.as_str())
        })
        .collect();
    let expect = [None, Some("hm"), Some("hm"), Some("more"), Some("two")];
    let twice: Vec<Option<&str>> = expect.into_iter().flat_map(|event| [event; 2]).collect();
    assert_eq!(found, twice);
}

#[test]
fn the_summary_is_kept_as_it_is() {
    let read_meta = |summary: &str| {
        let mut out = Output::default();
        let path = source("summary.json");
        let mut reading = Grok.begin(&SourceName { path: &path }, None);
        read_document(reading.as_mut(), summary.as_bytes(), &mut out);
        out.facts.remove(0).meta
    };
    let summary = "{\n  \"info\": {\"id\": \"s\"},\n  \"reasoning_effort\": \"high\", \"sandbox_profile\": \"strict\"\n}";
    assert_eq!(read_meta(&format!("{summary}\n")).as_deref(), Some(summary));
    let long = format!(r#"{{"info":{{}},"last_recap":"{}"}}"#, "x".repeat(1 << 20));
    assert_eq!(read_meta(&long), None);
}

#[test]
fn tools_have_classes() {
    let classes = [
        ("read_file", "read"),
        ("search_replace", "write"),
        ("Grep", "search"),
        ("run_terminal_cmd", "run"),
        ("web_search", "web"),
        ("task", "agent"),
        ("todo_write", "plan"),
        ("linear__save", "mcp"),
        ("mcp__linear__save", "mcp"),
        ("ask_user_question", "other"),
        ("", "other"),
    ];
    for (tool, class) in classes {
        assert_eq!(Grok.tool_class(tool).name(), class, "{tool}");
    }
}

#[test]
fn what_older_versions_remembered_is_gone_on_with() {
    let state = r#"{"session":null,"model":"grok-9","turn":1,"seen":[],"run":{"speaker":"Model","stream":{"speaker":"Model","begun":true,"space":" ","context":false,"query":false,"injected":false,"over":false},"key":5,"told":true,"offset":3,"at":1000,"mark":{"number":null,"hidden":false,"host":false}},"open":[],"announced":[],"calls":[],"told":[],"prompts":[],"numbered":false,"last":5,"branch":null}"#;
    let path = source("updates.jsonl");
    let mut reading = Grok.begin(&SourceName { path: &path }, Some(state));
    let mut out = Output::default();
    let input = [says("more"), thinks("hm")].join("\n");
    read_lines(reading.as_mut(), input.as_bytes(), 100, 1, &mut out);
    assert_eq!(out.extensions[0].text, " more");
    assert_eq!(out.events[0].model.as_deref(), Some("grok-9"));
}

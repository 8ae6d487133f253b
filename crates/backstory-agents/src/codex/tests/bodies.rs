//! Ids, marks, status, images and edits of events.

use super::details::check_details;
use super::{Codex, custom, event, item, quoted_output, read, record, said, shown, tokens};
use crate::reader::Reader;
use backstory_event::ToolClass;

#[track_caller]
fn check(lines: &[String], expected: &str) {
    let kinds = ["prompt", "reply", "reasoning", "tool_", "summary", "system"];
    check_details(&kinds, lines, expected);
}

#[test]
fn events_have_the_ids_of_their_records() {
    let turn = r#""internal_chat_message_metadata_passthrough":{"turn_id":"t1"}"#;
    let message = |role: &str, id: &str| {
        let content = format!(r#"[{{"type":"input_text","text":"from {id}"}}]"#);
        item(&format!(
            r#"{{"type":"message","role":"{role}","id":"{id}","content":{content},{turn}}}"#
        ))
    };
    let done = r#"{"type":"CommandExecution","id":"exec-1","status":"completed","command":["ls"],"exit_code":0}"#;
    check(
        &[
            message("user", "m1"),
            message("assistant", "m2"),
            message("developer", "m3"),
            item(&format!(
                r#"{{"type":"reasoning","id":"r1","summary":[{{"type":"summary_text","text":"Hm"}}],{turn}}}"#
            )),
            item(&format!(
                r#"{{"type":"function_call","id":"f1","name":"shell","arguments":"{{}}","call_id":"c1",{turn}}}"#
            )),
            item(&format!(
                r#"{{"type":"function_call_output","id":"o1","call_id":"c1","output":"x",{turn}}}"#
            )),
            item(r#"{"type":"web_search_call","id":"w1","status":"completed","action":{}}"#),
            event(r#"{"type":"user_message","client_id":"u1","message":"Hello"}"#),
            event(&format!(
                r#"{{"type":"item_completed","turn_id":"t2","item":{done}}}"#
            )),
            record(
                "inter_agent_communication",
                &format!(r#"{{"id":"a1","content":"Found it",{turn}}}"#),
            ),
            shown("agent_message", "Nobody named me."),
        ],
        r#"
        prompt uuid=m1 parent=t1
        reply uuid=m2 parent=t1
        system uuid=m3 parent=t1
        reasoning uuid=r1 parent=t1
        tool_call uuid=f1 parent=t1 call=c1
        tool_result uuid=o1 parent=t1 call=c1
        tool_call uuid=w1 call=w1 status=completed
        prompt uuid=u1
        tool_call uuid=exec-1 parent=t2 call=exec-1 status=completed
        tool_result uuid=exec-1 parent=t2 call=exec-1 status=completed
        system uuid=a1 parent=t1
        reply
        "#,
    );
}

#[test]
fn the_user_stops_the_agent() {
    check(
        &[
            said(
                "user",
                "<turn_aborted>\nThe user interrupted the previous turn on purpose.\n</turn_aborted>",
            ),
            event(r#"{"type":"turn_aborted","turn_id":"t1","reason":"interrupted"}"#),
            event(r#"{"type":"turn_aborted"}"#),
            event(r#"{"type":"turn_aborted","reason":"budget_limited"}"#),
            event(r#"{"type":"turn_aborted","reason":""}"#),
            said("user", "What does <turn_aborted> mean?"),
            quoted_output("docs: <turn_aborted> is written when"),
        ],
        r#"
        system interrupted
        system parent=t1 stop=interrupted interrupted
        system interrupted
        system stop=budget_limited
        system
        prompt
        tool_result call=c1
        "#,
    );
}

#[test]
fn the_user_does_not_allow_a_call() {
    let denied = |output: &str| {
        let out = read(&[quoted_output(output)]);
        out.events[0].body.marks.denied
    };
    assert!(denied("exec command rejected by user"));
    assert!(denied("patch rejected by user\n"));
    assert!(denied(
        r#"exec_command failed for `/bin/zsh -lc ls`: CreateProcess { message: "Rejected(\"rejected by user\")" }"#
    ));
    assert!(denied("execution error: denied by the user"));
    assert!(!denied("src/a.rs: \"exec command rejected by user\""));
    assert!(!denied("error: Permission to use the port"));
    let declined = r#"{"type":"FileChange","id":"f","changes":{},"status":"declined"}"#;
    check(
        &[event(&format!(
            r#"{{"type":"item_completed","item":{declined}}}"#
        ))],
        "
        tool_call uuid=f call=f arguments={} status=declined
        tool_result uuid=f call=f status=declined denied
        ",
    );
}

#[test]
fn a_summary_replaces_the_history() {
    check(
        &[record("compacted", r#"{"message":"We built a cart."}"#)],
        "summary compacted",
    );
}

#[test]
fn status_of_calls_and_arguments_that_the_text_does_not_have() {
    let done = |item: &str| event(&format!(r#"{{"type":"item_completed","item":{item}}}"#));
    let patch = "*** Begin Patch\n*** Update File: a.rs\n@@\n-x\n+y\n*** End Patch";
    let patch = custom("apply_patch", patch);
    let patch = patch.replace(r#""call_id""#, r#""status":"in_progress","call_id""#);
    check(
        &[
            patch,
            item(r#"{"type":"tool_search_output","call_id":"d","status":"failed","tools":[]}"#),
            item(
                r#"{"type":"message","role":"assistant","status":"completed","content":"No call."}"#,
            ),
            done(
                r#"{"type":"WebSearch","id":"w","query":"rust","action":{"type":"search","query":"rust"}}"#,
            ),
            done(
                r#"{"type":"FileChange","id":"f","changes":{"b.rs":{"type":"add","content":"x"}}}"#,
            ),
            done(
                r#"{"type":"FileChange","id":"g","changes":{"c.rs":{"type":"add","content":"<backstory-context>x</backstory-context>"}}}"#,
            ),
        ],
        r#"
        tool_call call=c1 status=in_progress edits a.rs
        tool_result call=d status=failed
        reply
        tool_call uuid=w call=w arguments={"type":"search","query":"rust"}
        tool_call uuid=f call=f arguments={"b.rs":{"type":"add","content":"x"}} edits b.rs
        tool_result uuid=f call=f
        tool_call uuid=g call=g edits c.rs
        tool_result uuid=g call=g
        "#,
    );
}

#[test]
fn images_of_prompts() {
    let content = r#"[{"type":"input_text","text":"Look:"},
        {"type":"input_image","image_url":"data:image/png;base64,AAAABBBB"},
        {"type":"input_image","image_url":"data:image\/jpeg;base64,AA"},
        {"type":"input_image","image_url":"data:,"},
        {"type":"input_image","image_url":"data:odd"},
        {"type":"input_image","image_url":{"url":"https://host/a.png"}},
        {"type":"local_image","path":"/x/b.png"},
        {"type":"input_image","file_id":7}]"#
        .replace('\n', "");
    let message = format!(r#"{{"type":"message","role":"user","content":{content}}}"#);
    let shown = r#"{"type":"user_message","message":"And?","images":["data:image/gif;base64,AAAA"],"local_images":["/x/c.png"]}"#;
    check(
        &[item(&message), event(shown)],
        "
        prompt image=image/png,?,8 image=image/jpeg,?,2 image=?,?,0 image=?,?,3 image=?,https://host/a.png,0 image=?,/x/b.png,0 image=?,?,0
        prompt image=image/gif,?,4 image=?,/x/c.png,0
        ",
    );
}

#[test]
fn long_names_are_bounded_when_they_are_read_again_too() {
    let long = "i".repeat(5_000);
    let status = format!(
        r#"{{"type":"custom_tool_call","name":"x","input":"y","id":"{long}","call_id":"{long}","status":"{long}"}}"#
    );
    let image = format!(
        r#"{{"type":"user_message","client_id":"{long}","message":"Hi","local_images":["/{long}"]}}"#
    );
    let aborted = format!(r#"{{"type":"turn_aborted","turn_id":"{long}","reason":"{long}"}}"#);
    // `read` compares the bodies.
    let out = read(&[item(&status), event(&image), event(&aborted)]);
    for event in &out.events {
        let shown = format!("{:?}", (&event.body.identity, &event.body.status));
        assert!(shown.len() < 1_000, "{shown}");
    }
    assert_eq!(out.events[1].body.images.len(), 1);
}

#[test]
fn a_response_is_its_first_event() {
    let search = |kind: &str| {
        item(&format!(
            r#"{{"type":"web_search_call","id":"{kind}","action":{{"type":"{kind}"}}}}"#
        ))
    };
    let count = |total: u64| tokens([total, 0, 0, total, 0], None);
    let settings = |tier: &str| {
        event(&format!(
            r#"{{"type":"thread_settings_applied","thread_settings":{{"model":"m"{tier}}}}}"#
        ))
    };
    check_details(
        &["used"],
        &[
            super::meta(super::OWN, r#","git":{"branch":"main"}"#),
            said("user", "Go"),
            said("assistant", "One."),
            search("search"),
            search("open_page"),
            search("find_in_page"),
            settings(r#","service_tier":"priority""#),
            count(2),
            // The same count again is no response.
            count(2),
            custom("exec", "1"),
            quoted_output("1"),
            said("assistant", "Two."),
            count(3),
            // An answer that was stopped before its tokens were counted.
            said("assistant", "Three."),
            search("search"),
            said("user", "Stop"),
            settings(""),
            count(4),
        ],
        "
        used event=2 branch=main tier=priority searches=1 fetches=2
        used event=6 branch=main tier=priority
        used event=11 branch=main
        ",
    );
}

#[test]
fn tools_have_a_class() {
    let check = |tool: &str, class: ToolClass| assert_eq!(Codex.tool_class(tool), class, "{tool}");
    check("shell", ToolClass::Run);
    check("functions.exec_command", ToolClass::Run);
    check("apply_patch", ToolClass::Write);
    check("view_image", ToolClass::Read);
    check("list_dir", ToolClass::Search);
    check("web_search", ToolClass::Web);
    check("web__run", ToolClass::Web);
    check("collaboration__spawn_agent", ToolClass::Agent);
    check("update_plan", ToolClass::Plan);
    check("mcp__git__exec", ToolClass::Mcp);
    check("read_mcp_resource", ToolClass::Mcp);
    check("team__ask", ToolClass::Other);
    check("", ToolClass::Other);
}

//! Fields of events, responses and sessions beside what was said: each test is a log and those fields, one event a line.

use super::*;
use backstory_event::{EventBody, ToolClass};

/// Compares the fields of all events, beside texts and edits.
#[track_caller]
fn check_bodies(lines: &[String], expect: &str) {
    let out = read(FILE, &log(lines));
    let found: Vec<String> = out
        .events
        .iter()
        .map(|event| format!("{}{}", event.kind.name(), render_body(&event.body)))
        .collect();
    let expect: Vec<&str> = expect.trim().lines().map(str::trim).collect();
    assert_eq!(found, expect);
}

fn render_body(body: &EventBody) -> String {
    let mut line = String::new();
    let identity = &body.identity;
    for (name, value) in [
        ("uuid", &identity.uuid),
        ("parent", &identity.parent_uuid),
        ("call", &identity.tool_use_id),
        ("arguments", &body.arguments),
        ("status", &body.status),
        ("stop", &body.stop_reason),
        ("effort", &body.effort),
    ] {
        line.extend(value.iter().map(|value| format!(" {name}={value}")));
    }
    for mark in body.marks.names() {
        line.push_str(&format!(" {mark}"));
    }
    for image in &body.images {
        let media = image.media_type.as_deref().unwrap_or("?");
        let source = image.source.as_deref().unwrap_or("?");
        line.push_str(&format!(" image={media},{source},{}", image.encoded_bytes));
    }
    if let Some(context) = &body.context {
        let set = serde_json::to_value(context).unwrap();
        let set = set.as_object().unwrap().iter();
        let set = set.filter(|(_, value)| !value.is_null());
        line.extend(set.map(|(name, value)| format!(" {name}={}", value.as_str().unwrap())));
    }
    line
}

/// Compares the fields of all responses, beside model and tokens; events are named by their place.
#[track_caller]
fn check_responses(lines: &[String], expect: &str) {
    let out = read(FILE, &log(lines));
    let render = |response: &Response| {
        let mut line = match response.event {
            None => "of no event".to_string(),
            Some(key) => {
                let place = out.events.iter().position(|event| event.key == key);
                format!("of {}", place.unwrap())
            }
        };
        let billing = &response.billing;
        for (name, value) in [
            ("branch", &response.branch),
            ("tier", &billing.service_tier),
            ("speed", &billing.speed),
            ("geo", &billing.inference_geo),
        ] {
            line.extend(value.iter().map(|value| format!(" {name}={value}")));
        }
        let usage = response.usage;
        for (name, value) in [
            ("5m", usage.cache_write_5m()),
            ("1h", usage.cache_write_1h),
            ("searches", usage.web_searches),
            ("fetches", usage.web_fetches),
        ] {
            line.extend((value > 0).then(|| format!(" {name}={value}")));
        }
        line
    };
    let found: Vec<String> = out.responses.iter().map(render).collect();
    let expect: Vec<&str> = expect.trim().lines().map(str::trim).collect();
    assert_eq!(found, expect);
}

/// Compares version, mode and record of sessions.
#[track_caller]
fn check_facts(path: &str, lines: &[String], expect: &str) {
    let out = read(path, &log(lines));
    let render = |facts: &SessionFacts| {
        let mut line = facts.session.clone().unwrap().replace(SESSION, "S");
        for (name, value) in [
            ("version", &facts.agent_version),
            ("mode", &facts.permission_mode),
            ("meta", &facts.meta),
        ] {
            line.extend(value.iter().map(|value| format!(" {name}={value}")));
        }
        line.replace(SESSION, "S")
    };
    let found: Vec<String> = out.facts.iter().map(render).collect();
    let expect: Vec<&str> = expect.trim().lines().map(str::trim).collect();
    assert_eq!(found, expect);
}

#[test]
fn every_event_has_the_ids_of_its_record() {
    check_bodies(
        &[
            user_with("u1", r#""go""#, r#","parentUuid":null"#),
            assistant_with(
                "a2",
                "",
                r#"[{"type":"text","text":"Now."},{"type":"tool_use","id":"t1","name":"Grep","input":{}}]"#,
                "null",
                r#","parentUuid":"u1""#,
            ),
            user_with(
                "u3",
                r#"[{"type":"tool_result","tool_use_id":"t1","content":"x"},{"type":"text","text":"y"}]"#,
                r#","parentUuid":"a2""#,
            ),
            record(
                "system",
                "y4",
                r#","parentUuid":"u3","subtype":"informational","content":"z""#,
            ),
            record(
                "attachment",
                "q5",
                r#","parentUuid":"y4","attachment":{"type":"queued_command","prompt":"and"}"#,
            ),
            r#"{"type":"user","uuid":"","message":{"content":"nameless"}}"#.to_string(),
        ],
        "
        prompt uuid=u1
        reply uuid=a2 parent=u1
        tool_call uuid=a2 parent=u1 call=t1
        tool_result uuid=u3 parent=a2 call=t1
        prompt uuid=u3 parent=a2
        system uuid=y4 parent=u3
        prompt uuid=q5 parent=y4
        prompt
        ",
    );
}

#[test]
fn arguments_are_kept_where_the_text_is_the_command_alone() {
    check_bodies(
        &[
            call(
                "a1",
                "t1",
                "Bash",
                r#"{"command":"ls","description":"List","timeout":9}"#,
            ),
            call("a2", "t2", "Grep", r#"{"pattern":"x"}"#),
            call("a3", "t3", "Odd", r#"{"command":["ls"]}"#),
        ],
        r#"
        tool_call uuid=a1 call=t1 arguments={"command":"ls","description":"List","timeout":9}
        tool_call uuid=a2 call=t2
        tool_call uuid=a3 call=t3
        "#,
    );
}

#[test]
fn the_first_parse_has_the_edits() {
    let edit = r#"{"file_path":"/a","old_string":"x","new_string":"y"}"#;
    let twin = r#"{"filePath":"/a","oldString":"x","newString":"y","originalFile":"x"}"#;
    let out = read(
        FILE,
        &log(&[
            call("a1", "t1", "Edit", edit),
            result("u2", "t1", r#""ok""#, false, twin),
        ]),
    );
    let paths: Vec<&str> = out
        .events
        .iter()
        .flat_map(|event| &event.body.edits)
        .map(|edit| edit.path.as_str())
        .collect();
    assert_eq!(paths, ["/a", "/a"]);
}

#[test]
fn the_user_stops_the_agent() {
    check_bodies(
        &[
            user("u1", r#""[Request interrupted by user]""#),
            user(
                "u2",
                r#"[{"type":"text","text":" [Request interrupted by user for tool use]"}]"#,
            ),
            result(
                "u3",
                "t1",
                r#""[Request interrupted by user for tool use]""#,
                true,
                "null",
            ),
            user("u4", r#""why [Request interrupted by user]?""#),
        ],
        "
        system uuid=u1 interrupted
        system uuid=u2 interrupted
        tool_result uuid=u3 call=t1 interrupted
        prompt uuid=u4
        ",
    );
}

#[test]
fn a_tool_call_is_not_allowed() {
    let denied = |uuid: &str, text: &str, error: bool, more: &str| {
        result(
            uuid,
            "t1",
            &format!("{text:?}"),
            error,
            &format!("null{more}"),
        )
    };
    let rejected = "The user doesn't want to proceed with this tool use. STOP";
    check_bodies(
        &[
            denied("u1", rejected, true, ""),
            denied("u2", rejected, false, ""),
            denied("u3", rejected, true, r#","toolDenialKind":"user-rejected""#),
            denied("u4", "no", true, r#","toolDenialKind":"user-rejected""#),
            denied("u5", "no", true, r#","toolDenialKind":"permission-rule""#),
            denied(
                "u6",
                "Claude requested permissions to use Bash, but you haven't granted it yet.",
                true,
                "",
            ),
            denied("u7", &format!("{}{rejected}", "x".repeat(400)), true, ""),
        ],
        "
        tool_result uuid=u1 call=t1 denied
        tool_result uuid=u2 call=t1
        tool_result uuid=u3 call=t1 status=user-rejected denied
        tool_result uuid=u4 call=t1 status=user-rejected denied
        tool_result uuid=u5 call=t1 status=permission-rule denied
        tool_result uuid=u6 call=t1 denied
        tool_result uuid=u7 call=t1
        ",
    );
}

#[test]
fn the_history_is_replaced() {
    check_bodies(
        &[
            user_with("u1", r#""so far""#, r#","isCompactSummary":true"#),
            record(
                "system",
                "y2",
                r#","subtype":"away_summary","content":"so far""#,
            ),
        ],
        "
        summary uuid=u1 compacted
        summary uuid=y2
        ",
    );
}

#[test]
fn status_stop_reason_and_effort_are_verbatim() {
    check_bodies(
        &[
            assistant_with(
                "a1",
                r#""stop_reason":"tool_use","#,
                r#"[{"type":"text","text":"Now."},{"type":"tool_use","id":"t1","name":"Task","input":{}}]"#,
                "null",
                r#","effort":"xhigh""#,
            ),
            result(
                "u2",
                "t1",
                r#""x""#,
                false,
                r#"{"status":"async_launched"}"#,
            ),
            result("u3", "t2", r#""x""#, false, r#"{"status":7}"#),
            assistant_with("a4", r#""stop_reason":null,"#, r#""x""#, "null", ""),
        ],
        "
        reply uuid=a1 stop=tool_use effort=xhigh
        tool_call uuid=a1 call=t1 stop=tool_use effort=xhigh
        tool_result uuid=u2 call=t1 status=async_launched
        tool_result uuid=u3 call=t2
        reply uuid=a4
        ",
    );
}

#[test]
fn images_are_described() {
    check_bodies(
        &[user(
            "u1",
            r#"[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}},{"type":"image","source":{"type":"url","url":"https://x.org/a"}},{"type":"document","source":7},{"type":"text","text":"these"}]"#,
        )],
        "prompt uuid=u1 image=image/png,?,4 image=?,https://x.org/a,0 image=?,?,0",
    );
}

#[test]
fn prompts_name_their_settings() {
    let settings = r#","cwd":"/shop","gitBranch":"main","version":"2.1.9","permissionMode":"plan""#;
    check_bodies(
        &[
            user_with(
                "u1",
                r#""go""#,
                &format!(r#"{settings},"thinkingMetadata":{{"level":"high"}}"#),
            ),
            user_with("u2", r#""<bash-input>x</bash-input>""#, settings),
            user_with("u3", r#""go""#, r#","gitBranch":"HEAD","cwd":"""#),
        ],
        "
        prompt uuid=u1 agent_version=2.1.9 branch=main cwd=/shop effort=high permission_mode=plan
        system uuid=u2
        prompt uuid=u3 branch=HEAD
        ",
    );
}

#[test]
fn usage_belongs_to_the_first_event_of_the_message() {
    let usage = r#"{"output_tokens":5}"#;
    let named = |uuid: &str, id: &str, content: &str| {
        assistant_with(
            uuid,
            &format!(r#""id":"{id}","model":"opus","#),
            content,
            usage,
            "",
        )
    };
    let empty = r#"[{"type":"thinking","thinking":"","signature":"x"}]"#;
    check_responses(
        &[
            user("u1", r#""go""#),
            named("a2", "m1", empty),
            named("a3", "m1", r#""Look.""#),
            named("a4", "m2", r#""Other.""#),
            user("u5", r#""and""#),
            named(
                "a6",
                "m1",
                r#"[{"type":"tool_use","id":"t1","name":"Grep","input":{}}]"#,
            ),
            named("a7", "m3", empty),
        ],
        // What has no event so far is put down to the one before.
        "
        of 0
        of 1
        of 2
        of 1
        of 4
        ",
    );
}

#[test]
fn what_the_price_depends_on_is_kept() {
    let usage = r#"{"cache_creation_input_tokens":30,"output_tokens":9,"cache_creation":{"ephemeral_5m_input_tokens":20,"ephemeral_1h_input_tokens":10},"server_tool_use":{"web_search_requests":2,"web_fetch_requests":3},"service_tier":"priority","speed":"fast","inference_geo":"us"}"#;
    let at = r#","gitBranch":"main""#;
    let named = r#""id":"m1","model":"opus","#;
    check_responses(
        &[
            assistant_with("a1", named, r#""x""#, usage, at),
            assistant_with(
                "a2",
                r#""id":"m2","model":"opus","#,
                r#""x""#,
                r#"{"cache_creation_input_tokens":5,"cache_creation":{"ephemeral_1h_input_tokens":87},"service_tier":null}"#,
                "",
            ),
        ],
        "
        of 0 branch=main tier=priority speed=fast geo=us 5m=20 1h=10 searches=2 fetches=3
        of 1 1h=5
        ",
    );
}

#[test]
fn sessions_tell_version_mode_and_their_own_record() {
    check_facts(
        FILE,
        &[
            format!(r#"{{"type":"permission-mode","permissionMode":"plan","sessionId":"{SESSION}"}}"#),
            r#"{"type":"user","uuid":"u1","version":"2.1.9","cwd":"/shop","slug":"blue-sea","origin":{"kind":"human"},"toolUseResult":"secret","message":{"content":"go"}}"#.to_string(),
            r#"{"type":"user","uuid":"u2","version":"2.1.9","cwd":"/shop","permissionMode":"plan","message":{"content":"go"}}"#.to_string(),
            r#"{"type":"user","uuid":"u3","version":"2.2.0","cwd":"/shop","permissionMode":"default","message":{"content":"go"}}"#.to_string(),
        ],
        r#"
        S mode=plan
        S version=2.1.9 meta={"cwd":"/shop","origin":{"kind":"human"},"slug":"blue-sea","type":"user","uuid":"u1","version":"2.1.9"}
        S version=2.2.0 mode=default
        "#,
    );
}

#[test]
fn subagents_have_a_record_of_their_own() {
    let line = user_with(
        "u1",
        r#""look""#,
        r#","isSidechain":true,"agentId":"7f","version":"2.1.9""#,
    );
    let meta = r#"{"agentId":"7f","isSidechain":true,"sessionId":"S","timestamp":"2026-03-01T10:00:01.000Z","type":"user","uuid":"u1","version":"2.1.9"}"#;
    check_facts(
        FILE,
        std::slice::from_ref(&line),
        &format!("S/agent-7f version=2.1.9 meta={meta}"),
    );
    check_facts(
        &format!("projects/-shop/{SESSION}/subagents/agent-7f.jsonl"),
        &[line],
        &format!("S/agent-7f\nS/agent-7f version=2.1.9 meta={meta}"),
    );
}

#[test]
fn names_are_bounded_alike_however_they_are_read() {
    let long = "x".repeat(5_000);
    let line = user_with(
        &long,
        r#""go""#,
        &format!(r#","parentUuid":"{long}","version":"{long}","permissionMode":"{long}""#),
    );
    // Bodies are compared when they are read.
    let out = read(FILE, line.as_bytes());
    let body = &out.events[0].body;
    let context = body.context.as_ref().unwrap();
    for name in [
        &body.identity.uuid,
        &body.identity.parent_uuid,
        &context.agent_version,
        &context.permission_mode,
        &out.facts[0].agent_version,
        &out.facts[0].permission_mode,
    ] {
        assert!(name.as_ref().is_some_and(|name| name.len() <= 200));
    }
    // More than a megabyte of small fields is no record of a session.
    let many: String = (0..120_000).map(|n| format!(r#","f{n}":1"#)).collect();
    let line = user_with("u1", r#""go""#, &format!(r#","cwd":"/shop"{many}"#));
    assert_eq!(read(FILE, line.as_bytes()).facts[0].meta, None);
}

#[test]
fn thousands_of_results_on_a_line_take_no_time() {
    let one = r#"{"type":"tool_result","tool_use_id":"t1","content":"x","is_error":true}"#;
    let results = vec![one; 8_000].join(",");
    let twin = format!(r#"{{"stdout":"{}"}}"#, "y".repeat(4 << 20));
    let line = user_with(
        "u1",
        &format!("[{results}]"),
        &format!(r#","toolUseResult":{twin}"#),
    );
    let source = SourceName {
        path: Path::new(FILE),
    };
    let started = std::time::Instant::now();
    let mut out = Output::default();
    read_lines(
        &mut *ClaudeCode.begin(&source, None),
        line.as_bytes(),
        0,
        1,
        &mut out,
    );
    assert_eq!(ClaudeCode.reread(line.as_bytes()).len(), out.events.len());
    assert_eq!(out.events.len(), 8_000);
    assert!(started.elapsed().as_secs() < 20);
}

#[test]
fn an_older_state_is_read() {
    let source = SourceName {
        path: Path::new(FILE),
    };
    let old = format!(
        r#"{{"session":"{SESSION}","cwd":"/shop","branch":null,"machine":false,"parent_known":false,"last_uuid":"u1","calls":[],"sidechains":[],"announced":[]}}"#
    );
    let mut out = Output::default();
    let line = user_with("u2", r#""go""#, r#","parentUuid":"u1","cwd":"/shop""#);
    let mut reading = ClaudeCode.begin(&source, Some(&old));
    read_lines(&mut *reading, line.as_bytes(), 0, 1, &mut out);
    assert_eq!((out.events[0].parent, &out.facts[0].cwd), (None, &None));
}

#[test]
fn tools_have_classes() {
    for (tool, class) in [
        ("Read", ToolClass::Read),
        ("MultiEdit", ToolClass::Write),
        ("Grep", ToolClass::Search),
        ("PowerShell", ToolClass::Run),
        ("web_search", ToolClass::Web),
        ("Task", ToolClass::Agent),
        ("TodoWrite", ToolClass::Plan),
        ("mcp__linear__get_issue", ToolClass::Mcp),
        ("AskUserQuestion", ToolClass::Other),
        ("", ToolClass::Other),
    ] {
        assert_eq!(ClaudeCode.tool_class(tool), class, "{tool}");
    }
}

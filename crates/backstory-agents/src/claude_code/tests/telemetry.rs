//! Records that say how the agent worked: each test is a log and what its telemetry says, one record a line.

use super::*;

/// Compares all telemetry: after which event a record stands, then the items in it.
#[track_caller]
fn check_telemetry(lines: &[String], expect: &str) {
    let log = log(lines);
    let out = read(FILE, &log);
    let mut found = Vec::new();
    for record in &out.telemetry {
        let place = record.after.map(|after| {
            let place = out.events.iter().position(|event| event.key == after);
            place.unwrap().to_string()
        });
        let start = record.span.offset as usize;
        let items = ClaudeCode.telemetry(&log[start..start + record.span.length as usize]);
        let items = items.iter().map(|item| {
            assert_eq!(item.at, record.at);
            serde_json::to_string(&item.item).unwrap()
        });
        let items = items.collect::<Vec<_>>().join(" ");
        let session = record.session.replace(SESSION, "S");
        found.push(format!(
            "{session} after {} {items}",
            place.as_deref().unwrap_or("nothing")
        ));
    }
    let expect: Vec<&str> = expect.trim().lines().map(str::trim).collect();
    assert_eq!(found.join("\n"), expect.join("\n"));
}

fn system(uuid: &str, more: &str) -> String {
    record("system", uuid, &format!(r#","cwd":"/shop"{more}"#))
}

fn attachment(uuid: &str, attachment: &str) -> String {
    record(
        "attachment",
        uuid,
        &format!(r#","attachment":{attachment}"#),
    )
}

#[test]
fn turns_end_and_histories_are_compacted() {
    check_telemetry(
        &[
            system("y1", r#","subtype":"turn_duration","durationMs":98811"#),
            user("u2", r#""go""#),
            system(
                "y3",
                r#","subtype":"compact_boundary","compactMetadata":{"trigger":"auto","preTokens":115665}"#,
            ),
            system("y4", r#","subtype":"turn_duration","durationMs":"soon""#),
        ],
        r#"
        S after nothing {"kind":"turn_end","duration_ms":98811,"first_answer_ms":null}
        S after 0 {"kind":"compaction","value":{"compactMetadata":{"preTokens":115665,"trigger":"auto"},"uuid":"y3"}}
        S after 0 {"kind":"turn_end","duration_ms":null,"first_answer_ms":null}
        "#,
    );
}

#[test]
fn other_system_records_are_kept_as_they_are() {
    check_telemetry(
        &[
            system(
                "y1",
                r#","subtype":"stop_hook_summary","hookCount":1,"hookErrors":[]"#,
            ),
            system(
                "y2",
                r#","subtype":"api_error","error":{"status":529},"retryInMs":617.5"#,
            ),
            system("y3", r#","subtype":"local_command","content":"x""#),
            system("y4", ""),
        ],
        r#"
        S after nothing {"kind":"other","name":"stop_hook_summary","value":{"hookCount":1,"hookErrors":[],"uuid":"y1"}}
        S after 0 {"kind":"other","name":"api_error","value":{"error":{"status":529},"retryInMs":617.5,"uuid":"y2"}}
        "#,
    );
}

#[test]
fn modes_are_told_when_they_change() {
    let mode = |mode: &str| {
        format!(r#"{{"type":"permission-mode","permissionMode":"{mode}","sessionId":"{SESSION}"}}"#)
    };
    let prompt = |uuid: &str, mode: &str| {
        user_with(uuid, r#""go""#, &format!(r#","permissionMode":"{mode}""#))
    };
    let normal = format!(r#"{{"type":"mode","mode":"normal","sessionId":"{SESSION}"}}"#);
    let context = |mode: &str| {
        format!(
            r#"{{"kind":"context","cwd":null,"branch":null,"model":null,"effort":null,"approval_policy":null,"sandbox_mode":null,"network_access":null,"permission_mode":"{mode}","collaboration_mode":null,"agent_version":null}}"#
        )
    };
    check_telemetry(
        &[
            mode("auto"),
            mode("auto"),
            prompt("u1", "auto"),
            // The prompt says so itself.
            prompt("u2", "plan"),
            mode("plan"),
            mode("auto"),
            user_with(
                "u3",
                r#""<bash-input>x</bash-input>""#,
                r#","permissionMode":"plan""#,
            ),
            normal.clone(),
            normal,
        ],
        &format!(
            "S after nothing {}\nS after 1 {}\nS after 2 {}\nS after 2 {}",
            context("auto"),
            context("auto"),
            context("plan"),
            r#"{"kind":"other","name":"mode","value":{"mode":"normal"}}"#
        ),
    );
}

#[test]
fn plans_are_told_when_they_change() {
    let todos = r#"[{"content":"Cart","status":"pending"}]"#;
    check_telemetry(
        &[
            call("a1", "t1", "TodoWrite", &format!(r#"{{"todos":{todos}}}"#)),
            result(
                "u2",
                "t1",
                r#""ok""#,
                false,
                &format!(r#"{{"oldTodos":[],"newTodos":{todos}}}"#),
            ),
            user_with("u3", r#""go""#, &format!(r#","todos":{todos}"#)),
            user_with("u4", r#""go""#, r#","todos":[]"#),
            attachment(
                "q5",
                r#"{"type":"task_reminder","content":[],"itemCount":0}"#,
            ),
            attachment("q6", r#"{"type":"task_reminder","content":[{"id":"1"}]}"#),
            user_with("u7", r#""go""#, r#","planContent":"First the cart""#),
        ],
        r#"
        S after 1 {"kind":"plan_update","value":[{"content":"Cart","status":"pending"}]}
        S after 3 {"kind":"plan_update","value":[{"id":"1"}]}
        S after 4 {"kind":"plan_update","value":"First the cart"}
        "#,
    );
}

#[test]
fn approvals_name_their_call() {
    let denied = result(
        "u1",
        "t1",
        r#""no""#,
        true,
        r#""Error: no","toolDenialKind":"user-rejected","userFeedback":"later""#,
    );
    check_telemetry(
        &[
            denied,
            attachment(
                "q2",
                r#"{"type":"hook_permission_decision","decision":"deny","toolUseID":"t2"}"#,
            ),
            attachment("q3", r#"{"type":"command_permissions","allowedTools":[]}"#),
            attachment(
                "q4",
                r#"{"type":"command_permissions","allowedTools":["Bash(git:*)"]}"#,
            ),
        ],
        r#"
        S after 0 {"kind":"approval","tool_use_id":"t1","value":{"toolDenialKind":"user-rejected","userFeedback":"later"}}
        S after 0 {"kind":"approval","tool_use_id":"t2","value":{"decision":"deny","toolUseID":"t2"}}
        S after 0 {"kind":"approval","tool_use_id":null,"value":{"allowedTools":["Bash(git:*)"]}}
        "#,
    );
}

#[test]
fn what_says_nothing_is_no_telemetry() {
    let link = |number: u32, second: u32| {
        format!(
            r#"{{"type":"pr-link","sessionId":"{SESSION}","prNumber":{number},"timestamp":"2026-03-01T10:00:0{second}.000Z"}}"#
        )
    };
    check_telemetry(
        &[
            record("progress", "p1", r#","data":{"type":"bash_progress"}"#),
            attachment("q2", r#"{"type":"hook_success","stdout":"x"}"#),
            attachment("q3", r#"{"type":"hook_non_blocking_error","exitCode":1}"#),
            attachment("q4", "7"),
            record(
                "queue-operation",
                "o5",
                r#","operation":"enqueue","content":"x""#,
            ),
            link(4, 1),
            link(4, 2),
            link(5, 3),
        ],
        r#"
        S after nothing {"kind":"other","name":"hook_non_blocking_error","value":{"exitCode":1}}
        S after nothing {"kind":"other","name":"pr-link","value":{"prNumber":4}}
        S after nothing {"kind":"other","name":"pr-link","value":{"prNumber":5}}
        "#,
    );
}

#[test]
fn subagents_have_telemetry_of_their_own() {
    let side = |uuid: &str, kind: &str, more: &str| {
        record(
            kind,
            uuid,
            &format!(r#","isSidechain":true,"agentId":"7f"{more}"#),
        )
    };
    check_telemetry(
        &[
            user("u1", r#""go""#),
            side("u2", "user", r#","message":{"content":"look"}"#),
            user("u3", r#""and""#),
            side(
                "y4",
                "system",
                r#","subtype":"turn_duration","durationMs":5"#,
            ),
        ],
        r#"S/agent-7f after 1 {"kind":"turn_end","duration_ms":5,"first_answer_ms":null}"#,
    );
}

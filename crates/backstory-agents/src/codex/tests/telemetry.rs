//! Records that say how Codex worked.

use super::details::check_details;
use super::{OWN, PARENT, call, custom, event, item, meta, read, record, said, shown};

#[track_caller]
fn check(lines: &[String], expected: &str) {
    check_details(&["telemetry"], lines, expected);
}

#[test]
fn settings_of_turns_and_threads() {
    let context = |fields: &str| record("turn_context", &format!("{{{fields}}}"));
    check(
        &[
            context(
                r#""turn_id":"t","cwd":"/x","approval_policy":"on-request","sandbox_policy":{"type":"workspace-write","network_access":false},"model":"m","effort":"high","collaboration_mode":{"mode":"plan","settings":{"reasoning_effort":"low"}}"#,
            ),
            said("user", "Go"),
            context(
                r#""sandbox_policy":{"mode":"external-sandbox","network_access":"enabled"},"collaboration_mode":{"mode":"default","settings":{"reasoning_effort":"low"}}"#,
            ),
            context(
                r#""sandbox_policy":"read-only","permission_profile":{"type":"managed","network":"restricted"}"#,
            ),
            event(
                r#"{"type":"thread_settings_applied","thread_settings":{"model":"n","service_tier":"priority","reasoning_effort":"low"}}"#,
            ),
        ],
        r#"
        telemetry after=none {"kind":"context","cwd":"/x","branch":null,"model":"m","effort":"high","approval_policy":"on-request","sandbox_mode":"workspace-write","network_access":false,"permission_mode":"on-request","collaboration_mode":"plan","agent_version":null}
        telemetry after=1 {"kind":"context","cwd":null,"branch":null,"model":null,"effort":"low","approval_policy":null,"sandbox_mode":"external-sandbox","network_access":true,"permission_mode":null,"collaboration_mode":"default","agent_version":null}
        telemetry after=1 {"kind":"context","cwd":null,"branch":null,"model":null,"effort":null,"approval_policy":null,"sandbox_mode":"read-only","network_access":false,"permission_mode":null,"collaboration_mode":null,"agent_version":null}
        telemetry after=1 {"kind":"context","cwd":null,"branch":null,"model":"n","effort":"low","approval_policy":null,"sandbox_mode":null,"network_access":null,"permission_mode":null,"collaboration_mode":null,"agent_version":null}
        telemetry after=1 {"kind":"other","name":"thread_settings_applied","value":{"model":"n","reasoning_effort":"low","service_tier":"priority"}}
        "#,
    );
}

#[test]
fn a_session_that_is_resumed_on_another_branch() {
    let git = |branch: &str| format!(r#","cli_version":"1","git":{{"branch":"{branch}"}}"#);
    let lines = [
        meta(OWN, &git("main")),
        // A copy begins with the parent's.
        meta(PARENT, &git("old")),
        said("user", "Go"),
        meta(OWN, &git("topic")),
        meta(PARENT, &git("other")),
    ];
    let context = |branch: &str| {
        format!(
            r#"{{"kind":"context","cwd":null,"branch":"{branch}","model":null,"effort":null,"approval_policy":null,"sandbox_mode":null,"network_access":null,"permission_mode":null,"collaboration_mode":null,"agent_version":"1"}}"#
        )
    };
    check(
        &lines,
        &format!(
            "telemetry after=none {}\ntelemetry after=1 {}",
            context("main"),
            context("topic")
        ),
    );
    let branches = read(&lines)
        .facts
        .into_iter()
        .filter_map(|facts| facts.branch);
    assert_eq!(branches.collect::<Vec<_>>(), ["main", "topic"]);
}

#[test]
fn token_counts_and_rate_limits_that_changed() {
    let count = |total: u64, limits: &str| {
        let usage = format!(r#"{{"input_tokens":{total},"total_tokens":{total}}}"#);
        event(&format!(
            r#"{{"type":"token_count","info":{{"total_token_usage":{usage},"last_token_usage":{usage},"model_context_window":100}},"rate_limits":{limits}}}"#
        ))
    };
    let limits = |percent: u64| format!(r#"{{"primary":{{"used_percent":{percent}}}}}"#);
    check(
        &[
            count(1, "null"),
            count(1, "null"),
            count(1, &limits(5)),
            count(1, &limits(5)),
            count(2, &limits(5)),
            event(r#"{"type":"token_count","info":null,"rate_limits":{"primary":null}}"#),
            event(r#"{"type":"token_count","info":null}"#),
        ],
        r#"
        telemetry after=none {"kind":"token_count","context_tokens":1,"context_window":100,"value":{"last_token_usage":{"input_tokens":1,"total_tokens":1},"model_context_window":100,"total_token_usage":{"input_tokens":1,"total_tokens":1}}}
        telemetry after=none {"kind":"token_count","context_tokens":1,"context_window":100,"value":{"last_token_usage":{"input_tokens":1,"total_tokens":1},"model_context_window":100,"total_token_usage":{"input_tokens":1,"total_tokens":1}}}
        telemetry after=none {"kind":"rate_limits","value":{"primary":{"used_percent":5}}}
        telemetry after=none {"kind":"token_count","context_tokens":2,"context_window":100,"value":{"last_token_usage":{"input_tokens":2,"total_tokens":2},"model_context_window":100,"total_token_usage":{"input_tokens":2,"total_tokens":2}}}
        telemetry after=none {"kind":"rate_limits","value":{"primary":{"used_percent":5}}}
        telemetry after=none {"kind":"rate_limits","value":{"primary":null}}
        "#,
    );
}

#[test]
fn turns_plans_and_approvals() {
    check(
        &[
            event(r#"{"type":"task_started","turn_id":"t"}"#),
            said("user", "Go"),
            call("update_plan", r#"{"plan":[{"step":"Look"}]}"#),
            call("update_plan", "{odd"),
            event(r#"{"type":"plan_update","plan":[]}"#),
            event(r#"{"type":"exec_approval_request","call_id":"c1","command":["rm"]}"#),
            event(r#"{"type":"apply_patch_approval_request","call_id":"c2"}"#),
            event(r#"{"type":"request_permissions","id":"c3"}"#),
            event(
                r#"{"type":"task_complete","turn_id":"t","duration_ms":5,"time_to_first_token_ms":2,"last_agent_message":"Done."}"#,
            ),
            event(r#"{"type":"turn_complete","error":{"message":"full"}}"#),
            event(r#"{"type":"turn_aborted","reason":"interrupted","duration_ms":7}"#),
            event(r#"{"type":"turn_aborted","reason":"interrupted"}"#),
        ],
        r#"
        telemetry after=none {"kind":"turn_start","value":{"turn_id":"t","type":"task_started"}}
        telemetry after=2 {"kind":"plan_update","value":{"plan":[{"step":"Look"}]}}
        telemetry after=3 {"kind":"plan_update","value":"{odd"}
        telemetry after=3 {"kind":"plan_update","value":{"plan":[],"type":"plan_update"}}
        telemetry after=3 {"kind":"approval","tool_use_id":"c1","value":{"call_id":"c1","command":["rm"],"type":"exec_approval_request"}}
        telemetry after=3 {"kind":"approval","tool_use_id":"c2","value":{"call_id":"c2","type":"apply_patch_approval_request"}}
        telemetry after=3 {"kind":"approval","tool_use_id":"c3","value":{"id":"c3","type":"request_permissions"}}
        telemetry after=3 {"kind":"turn_end","duration_ms":5,"first_answer_ms":2}
        telemetry after=3 {"kind":"other","name":"task_complete","value":{"duration_ms":5,"time_to_first_token_ms":2,"turn_id":"t","type":"task_complete"}}
        telemetry after=3 {"kind":"turn_end","duration_ms":null,"first_answer_ms":null}
        telemetry after=3 {"kind":"other","name":"turn_complete","value":{"error":{"message":"full"},"type":"turn_complete"}}
        telemetry after=4 {"kind":"turn_end","duration_ms":7,"first_answer_ms":null}
        telemetry after=4 {"kind":"other","name":"turn_aborted","value":{"duration_ms":7,"reason":"interrupted","type":"turn_aborted"}}
        telemetry after=5 {"kind":"turn_end","duration_ms":null,"first_answer_ms":null}
        telemetry after=5 {"kind":"other","name":"turn_aborted","value":{"reason":"interrupted","type":"turn_aborted"}}
        "#,
    );
}

#[test]
fn a_compaction_is_told_once() {
    let compacted = record(
        "compacted",
        r#"{"message":"","replacement_history":[{"type":"message"}],"window_id":"w2"}"#,
    );
    let notice = event(r#"{"type":"context_compacted"}"#);
    let done = event(r#"{"type":"item_completed","item":{"type":"ContextCompaction","id":"z"}}"#);
    check(
        &[compacted.clone(), notice.clone(), notice, compacted, done],
        r#"
        telemetry after=none {"kind":"compaction","value":{"window_id":"w2"}}
        telemetry after=none {"kind":"compaction","value":{"type":"context_compacted"}}
        telemetry after=none {"kind":"compaction","value":{"window_id":"w2"}}
        "#,
    );
}

#[test]
fn tools_that_no_result_tells_of() {
    let ended = |kind: &str, call: &str, status: &str| {
        event(&format!(
            r#"{{"type":"{kind}","call_id":"{call}","status":"{status}","duration":{{"secs":1,"nanos":0}}}}"#
        ))
    };
    check(
        &[
            custom("exec", "1"),
            ended("exec_command_end", "c1", "completed"),
            ended("patch_apply_end", "c1", "declined"),
            ended("exec_command_end", "exec-1", "failed"),
            event(
                r#"{"type":"mcp_tool_call_end","call_id":"c1","invocation":{"server":"git","tool":"log"},"duration":{"secs":0,"nanos":5000000},"result":{"Err":"gone"}}"#,
            ),
            event(r#"{"type":"sub_agent_activity","kind":"started"}"#),
            event(r#"{"type":"item_completed","item":{"type":"SubAgentActivity","id":"z"}}"#),
            record("security_risk_score", r#"{"score":1}"#),
        ],
        r#"
        telemetry after=1 {"kind":"tool_timing","tool_use_id":"c1","tool":"apply_patch","duration_ms":1000,"outcome":"declined"}
        telemetry after=1 {"kind":"other","name":"patch_apply_end","value":{"call_id":"c1","duration":{"nanos":0,"secs":1},"status":"declined","type":"patch_apply_end"}}
        telemetry after=1 {"kind":"tool_timing","tool_use_id":"exec-1","tool":"exec_command","duration_ms":1000,"outcome":"failed"}
        telemetry after=1 {"kind":"other","name":"exec_command_end","value":{"call_id":"exec-1","duration":{"nanos":0,"secs":1},"status":"failed","type":"exec_command_end"}}
        telemetry after=1 {"kind":"tool_timing","tool_use_id":"c1","tool":"mcp__git__log","duration_ms":5,"outcome":"Err"}
        telemetry after=1 {"kind":"other","name":"mcp_tool_call_end","value":{"call_id":"c1","duration":{"nanos":5000000,"secs":0},"invocation":{"server":"git","tool":"log"},"result":{"Err":"gone"},"type":"mcp_tool_call_end"}}
        telemetry after=1 {"kind":"other","name":"sub_agent_activity","value":{"kind":"started","type":"sub_agent_activity"}}
        telemetry after=1 {"kind":"other","name":"item_completed","value":{"item":{"id":"z","type":"SubAgentActivity"},"type":"item_completed"}}
        telemetry after=1 {"kind":"other","name":"security_risk_score","value":{"score":1}}
        "#,
    );
}

#[test]
fn what_says_nothing_new_is_no_telemetry() {
    check(
        &[
            shown("agent_message", "Hi"),
            event(r#"{"type":"agent_reasoning","text":"Hm"}"#),
            event(r#"{"type":"exec_command_begin","call_id":"c"}"#),
            event(r#"{"type":"exec_command_output_delta","chunk":"x"}"#),
            event(r#"{"type":"turn_diff","unified_diff":"x"}"#),
            event(r#"{"type":"error","message":"quota exceeded"}"#),
            event(r#"{"type":"thread_name_updated","thread_name":"x"}"#),
            event(r#"{"message":"without a type"}"#),
            item(r#"{"type":"message","role":"user","content":"Hello"}"#),
            record("world_state", r#"{"full":true}"#),
            record("from_the_future", "{}"),
            r#"{"record_type":"state"}"#.to_string(),
        ],
        "",
    );
    // Of an event nobody knows, somebody may want to know.
    check(
        &[event(r#"{"type":"from_the_future","x":1}"#)],
        r#"telemetry after=none {"kind":"other","name":"from_the_future","value":{"type":"from_the_future","x":1}}"#,
    );
}

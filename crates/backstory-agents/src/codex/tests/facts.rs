//! Version, permission mode, context window and the session's own record.

use super::details::check_details;
use super::{OWN, PARENT, event, meta, read, record, said};
use crate::bounds::MAX_META_BYTES;

#[test]
fn a_session_says_its_version_mode_window_and_own_record() {
    let context = |policy: &str| {
        record(
            "turn_context",
            &format!(r#"{{"approval_policy":{policy},"model":"m"}}"#),
        )
    };
    let window = |tokens: &str| {
        event(&format!(
            r#"{{"type":"task_started","model_context_window":{tokens}}}"#
        ))
    };
    let counted = event(r#"{"type":"token_count","info":{"model_context_window":200}}"#);
    check_details(
        &["facts"],
        &[
            meta(OWN, r#","cli_version":"0.1.0""#),
            window("100"),
            window("100"),
            window("-1"),
            window(r#""odd""#),
            counted.clone(),
            counted,
            context(r#""never""#),
            context(r#""never""#),
            context(r#"{"granular":{"rules":true}}"#),
            meta(OWN, r#","cli_version":"0.1.0""#),
            said("user", "Resumed."),
            meta(OWN, r#","cli_version":"0.2.0""#),
            meta(PARENT, r#","cli_version":"0.3.0""#),
        ],
        &format!(
            r#"
            facts version=0.1.0 meta={{"id":"{OWN}","timestamp":"2026-01-02T03:04:00Z","cli_version":"0.1.0"}}
            facts window=100
            facts window=200
            facts mode=never
            facts mode=granular
            facts version=0.2.0 meta={{"id":"{OWN}","timestamp":"2026-01-02T03:04:00Z","cli_version":"0.2.0"}}
            "#
        ),
    );
}

#[test]
fn the_first_line_of_a_bare_log_is_the_sessions_own_record() {
    let line = r#"{"id":"x","timestamp":"2025-07-01T00:00:00Z","instructions":null,"git":{}}"#;
    check_details(
        &["facts"],
        &[line.to_string()],
        &format!("facts meta={line}"),
    );
}

#[test]
fn a_record_that_is_too_long_is_not_kept() {
    let padded = |length: usize| {
        let empty = r#"{"id":"x","pad":""}"#.len();
        let line = record(
            "session_meta",
            &format!(r#"{{"id":"x","pad":"{}"}}"#, "p".repeat(length - empty)),
        );
        read(&[line]).facts.first()?.meta.as_ref().map(String::len)
    };
    assert_eq!(padded(MAX_META_BYTES), Some(MAX_META_BYTES));
    assert_eq!(padded(MAX_META_BYTES + 1), None);
}

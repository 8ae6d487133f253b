//! What a session was told comes back in its log. It must not become memory.

use super::*;
use crate::{Query, SearchOptions};

#[test]
fn our_own_words_teach_us_nothing() {
    let mut trial = two_sessions();
    trial.checks = false;
    let first = trial.memory.context().build(&options()).unwrap();
    let found = trial.memory.search().run(
        &Query::parse("discount checkout"),
        &SearchOptions::default(),
    );
    let found = found.unwrap().hits.len();
    for session in 10..110 {
        let told = trial.memory.context().build(&options()).unwrap();
        assert_eq!(told, first, "session {session}");
        let mut log = Log::new(session, 0);
        log.at = log.at.minus_ms(DAY / 2);
        log.push("user", &json!({"role": "user", "content": [{"type": "text", "text": format!("<system-reminder>\nSessionStart hook: {}\n</system-reminder>", told.text)}]}))
            .prompt(&format!("{}\ncontinue", told.text))
            .run("backstory context", &told.text)
            .run("cd /home/ada/shop && backstory search words", &told.text)
            .reply(&format!("I was told: {}", told.text))
            .prompt(&told.text)
            .reply("Go on.");
        let hook = json!({
            "type": "attachment", "uuid": format!("{session}-hook"), "sessionId": id(session), "timestamp": "2026-05-31T12:00:00Z", "cwd": "/home/ada/shop",
            "attachment": {"type": "hook_additional_context", "content": [told.text], "hookName": "SessionStart", "hookEvent": "SessionStart"},
        });
        log.lines.insert(0, format!("{hook}\n"));
        log.write(&trial);
        trial.sweep();
        let row = trial.session(session);
        assert_eq!(
            trial
                .memory
                .sessions()
                .open(row.clone())
                .observations(None)
                .unwrap()
                .answer,
            [],
            "session {session}"
        );
    }
    assert_eq!(trial.memory.context().build(&options()).unwrap(), first);
    let again = trial.memory.search().run(
        &Query::parse("discount checkout"),
        &SearchOptions::default(),
    );
    assert_eq!(again.unwrap().hits.len(), found);
}

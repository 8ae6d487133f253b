//! Forks repeat what they were forked from.

use super::*;

/// A session and a fork that repeats it and goes on elsewhere: the fork has nothing that only the other had.
fn forked(trial: &mut Trial, original: &str, fork: &str) -> ForgetReport {
    trial.sweep();
    for hidden in ["hidden-harbour", "hidden-branch", "hidden-model"] {
        assert!(!found(trial, hidden).is_empty(), "{hidden}");
    }
    let report = forget(trial, Forget::Session(original));
    for hidden in ["hidden-harbour", "hidden-branch", "hidden-model"] {
        assert_eq!(found(trial, hidden), [""; 0], "{hidden}");
    }
    let fork = trial.memory.sessions().row(fork).unwrap();
    let stream = trial
        .memory
        .sessions()
        .open(fork.clone())
        .streams()
        .unwrap()[0]
        .id;
    let places = found(trial, "what was hidden");
    assert!(!places.contains(&format!("stream {stream}")), "{places:?}");
    assert_eq!(fork.cwd.as_deref(), Some("/home/ada/open-harbour"));
    assert_eq!(fork.project.as_deref(), Some("/home/ada/open-harbour"));
    assert_eq!(fork.branch.as_deref(), Some("open-branch"));
    assert_eq!(fork.models, ["open-model"]);
    assert_eq!(fork.title.as_deref(), Some("goes on alone"));
    report
}

#[test]
fn a_fork_keeps_no_folder_branch_title_or_model_of_a_forgotten_session() {
    let mut trial = Trial::new();
    let lines = |session: u32,
                 place: &str,
                 numbers: std::ops::Range<u32>,
                 text: &str|
     -> Vec<String> {
        let at = |number: u32| Some(NOW.plus_ms(i64::from(number) * 1000));
        let changed = |line: String| {
            line.replace("/home/ada/shop", &format!("/home/ada/{place}-harbour"))
                .replacen('{', &format!("{{\"gitBranch\":\"{place}-branch\","), 1)
        };
        let mut lines = Vec::new();
        for number in numbers {
            let prompt = json!({"role": "user", "content": format!("{text} {number}")});
            let reply = json!({"role": "assistant", "id": format!("m{number}"), "model": format!("{place}-model"),
                "content": [{"type": "text", "text": "yes"}], "usage": {"input_tokens": 1, "output_tokens": 2}});
            lines.push(changed(record(
                session,
                &format!("p-{number}"),
                at(number),
                "user",
                &prompt,
            )));
            lines.push(changed(record(
                session,
                &format!("r-{number}"),
                at(number),
                "assistant",
                &reply,
            )));
        }
        lines
    };
    trial.append(&id(1), &lines(1, "hidden", 0..3, "what was hidden"));
    let title = |session: u32, title: &str| {
        format!(
            "{}\n",
            json!({"type": "custom-title", "customTitle": title, "sessionId": id(session)})
        )
    };
    trial.append(&id(1), &[title(1, "what was hidden")]);
    trial.append(&id(2), &lines(2, "hidden", 0..3, "what was hidden"));
    trial.append(&id(2), &[title(2, "what was hidden")]);
    let known_by =
        json!({"type": "agent-name", "agentName": "what was hidden", "sessionId": id(2)});
    trial.append(&id(2), &[format!("{known_by}\n")]);
    // Another session that happens to be called the same.
    trial.append(
        &id(3),
        &[prompt(3, 0, 0, "not a copy"), title(3, "what was hidden")],
    );
    trial.sweep();
    trial.append(&id(2), &lines(2, "open", 5..7, "goes on"));
    trial.append(&id(2), &[title(2, "goes on alone")]);
    let report = forked(&mut trial, &id(1), &id(2));
    assert_eq!(report.agent_logs, [trial.log(&id(1)), trial.log(&id(2))]);
    assert_eq!(trial.session(3).title.as_deref(), Some("what was hidden"));
}

#[test]
fn a_codex_fork_keeps_no_folder_branch_or_model_of_a_forgotten_session() {
    let mut trial = Trial::new();
    let name = |number: u32| format!("019b7d12-3c4e-7a00-8000-{number:012}");
    let line = |second: u32, kind: &str, payload: serde_json::Value| {
        let at = format!("2026-01-03T03:04:{second:02}.000Z");
        format!(
            "{}\n",
            json!({"timestamp": at, "type": kind, "payload": payload})
        )
    };
    let meta = |number: u32, place: &str, parent: Option<u32>| {
        line(
            0,
            "session_meta",
            json!({"id": name(number), "timestamp": "2026-01-03T03:04:00.000Z", "cli_version": "0.60.0",
            "cwd": format!("/home/ada/{place}-harbour"), "git": {"branch": format!("{place}-branch")}, "forked_from_id": parent.map(name)}),
        )
    };
    let turn = |second: u32, place: &str, text: &str| {
        let context =
            json!({"cwd": format!("/home/ada/{place}-harbour"), "model": format!("{place}-model")});
        let said = |role: &str, kind: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": format!("{text} {role}")}]});
        let (user, assistant) = (said("user", "input_text"), said("assistant", "output_text"));
        [
            line(second, "turn_context", context),
            line(second + 1, "response_item", user),
            line(second + 2, "response_item", assistant),
        ]
        .concat()
    };
    let log = |number: u32| format!("rollout-2026-01-03T03-04-0{number}-{}", name(number));
    trial.append(
        &log(1),
        &[
            meta(1, "hidden", None),
            turn(1, "hidden", "what was hidden"),
        ],
    );
    let copy = [
        meta(2, "open", Some(1)),
        meta(1, "hidden", None),
        turn(1, "hidden", "what was hidden"),
    ];
    trial.append(&log(2), &copy);
    trial.sweep();
    trial.append(&log(2), &[turn(10, "open", "goes on")]);
    trial.sweep();
    for hidden in ["hidden-harbour", "hidden-model"] {
        assert!(!found(&trial, hidden).is_empty(), "{hidden}");
    }
    forget(&mut trial, Forget::Session(&name(1)));
    for hidden in [
        "hidden-harbour",
        "hidden-branch",
        "hidden-model",
        "what was hidden",
    ] {
        assert_eq!(found(&trial, hidden), [""; 0], "{hidden}");
    }
    let fork = trial.memory.sessions().row(&name(2)).unwrap();
    assert_eq!(fork.cwd.as_deref(), Some("/home/ada/open-harbour"));
    assert_eq!(fork.branch.as_deref(), Some("open-branch"));
    assert_eq!(fork.models, ["open-model"]);
    // It can still be read on.
    trial.append(&log(2), &[turn(20, "open", "and on")]);
    assert_eq!(trial.sweep().events, 2);
}

#[test]
fn a_copy_is_recognised_by_its_ids_however_they_are_written() {
    let mut trial = Trial::new();
    trial.append(&id(1), &[prompt(1, 0, 0, &format!("the {MARKER}"))]);
    trial.append(&id(4), &[prompt(4, 0, 0, "something unrelated")]);
    trial.sweep();
    let copy = |session: u32, line: String| line.replace(&id(1), &id(session));
    // As it is, and with an escaped id in an escaped field.
    let plain = copy(2, prompt(1, 0, 0, &format!("the {MARKER}")));
    let uuid = |line: &str| -> String {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        value["uuid"].as_str().unwrap().to_string()
    };
    let written = uuid(&plain);
    let escaped = format!("\\u{:04x}{}", written.as_bytes()[0], &written[1..]);
    let escaped = plain
        .replace(&id(2), &id(3))
        .replace(&written, &escaped)
        .replace("\"uuid\"", "\"\\u0075u\\u0069d\"");
    assert_eq!(uuid(&escaped), written);
    trial.append(&id(2), &[plain, prompt(2, 1, 0, "goes on plainly")]);
    trial.append(&id(3), &[escaped, prompt(3, 1, 0, "goes on escaped")]);
    trial.sweep();
    let sessions = trial
        .memory
        .upkeep()
        .to_forget(Forget::Session(&id(1)))
        .unwrap();
    let names = Names::new(&sessions);
    let search = CopySearch::new(&trial.memory.store, &sessions, &names).unwrap();
    let suspects = search
        .find_suspects(&trial.store(), &trial.memory.store)
        .unwrap();
    let is_suspect = |session: u32| {
        let streams = trial
            .memory
            .sessions()
            .open(trial.session(session))
            .streams()
            .unwrap();
        streams.iter().any(|stream| suspects.contains(&stream.id))
    };
    assert!(is_suspect(1) && is_suspect(2) && is_suspect(3) && !is_suspect(4));
    forget(&mut trial, Forget::Session(&id(1)));
    assert_eq!(found(&trial, MARKER), [""; 0]);
    for (words, hits) in [
        (MARKER, 0),
        ("unrelated", 1),
        ("plainly", 1),
        ("escaped", 1),
    ] {
        let query = Query::parse(words);
        let answer = trial.memory.search().run(&query, &SearchOptions::default());
        assert_eq!(answer.unwrap().hits.len(), hits, "{words}");
    }
    assert_eq!(trial.memory.search().index_health().unwrap().damage, None);
}

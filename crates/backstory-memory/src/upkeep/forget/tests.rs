//! Nothing is left, and nothing comes back.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod forks;

use backstory_event::StreamId;
use serde_json::json;

use super::*;
use crate::EventRange;
use crate::trial::{NOW, Trial, id, noise, prompt, record};

const MARKER: &str = "zanzibarquartzmarker";

fn forget(trial: &mut Trial, which: Forget<'_>) -> ForgetReport {
    let sessions = trial.memory.upkeep().to_forget(which).unwrap();
    let report = trial
        .memory
        .upkeep()
        .forget(&sessions, &ForgetPlaces::default(), &[])
        .unwrap();
    assert_eq!(report.proof.remains, [""; 0]);
    assert!(!report.unclean && report.proof.files_searched > 2 && report.proof.strings > 0);
    assert_eq!(trial.memory.upkeep().health().unwrap().orphans, []);
    report
}

/// Every place of the store where a text stands: files as they are, and blocks and attachments as they were.
fn found(trial: &Trial, text: &str) -> Vec<String> {
    let mut places = Vec::new();
    let finder = memchr::memmem::Finder::new(text);
    let mut folders = vec![trial.store()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if finder.find(&std::fs::read(&path).unwrap()).is_some() {
                places.push(path.display().to_string());
            }
        }
    }
    let in_block = |stream: StreamId, _: u64, bytes: &[u8]| {
        if finder.find(bytes).is_some() {
            places.push(format!("stream {stream}"));
        }
        Ok(())
    };
    trial.memory.store.stored_bytes(in_block).unwrap();
    let filter = crate::code::CodeRowFilter::default();
    let functions = trial.memory.code().function_map(&filter).unwrap();
    let calls = trial.memory.code().call_rows(&filter).unwrap();
    if finder
        .find(format!("{functions:?} {calls:?}").as_bytes())
        .is_some()
    {
        places.push("snapshots".to_string());
    }
    places
}

/// A session with the marker wherever one can stand.
fn marked(session: u32) -> Vec<String> {
    let at = |second: i64| Some(NOW.plus_ms(second * 1000 - 86_400_000));
    // Pixels: what decodes to text is no attachment.
    let mut pixels = MARKER.as_bytes().to_vec();
    pixels.extend(noise(5, 9000).bytes().map(|byte| byte | 0x80));
    let data = backstory_store::attachment::encode(&pixels);
    let image = json!([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}, {"type": "text", "text": "this"}]);
    let call = json!({"role": "assistant", "model": "claude-test", "id": "m1", "content": [
        {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": format!("/home/ada/shop/{MARKER}.rs")}}]});
    let result = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": format!("fn {MARKER}() {{}}")}]});
    let path = format!("/home/ada/shop/{MARKER}.py");
    let write = json!({"role": "assistant", "model": "claude-test", "id": "m2", "content": [
        {"type": "tool_use", "id": "t2", "name": "Write", "input": {"file_path": path, "content": format!("def {MARKER}(): pass\n")}}]});
    let trace = format!(
        "Traceback (most recent call last):\n  File \"{path}\", line 1, in <module>\n    a\n  File \"{path}\", line 2, in {MARKER}\nE: no\n"
    );
    let written = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t2", "content": trace}]});
    let branch = |line: String| line.replacen('{', &format!("{{\"gitBranch\":\"{MARKER}\","), 1);
    vec![
        branch(record(
            session,
            "m-0",
            at(0),
            "user",
            &json!({"role": "user", "content": format!("what of {MARKER}?")}),
        )),
        branch(record(session, "m-1", at(1), "assistant", &call)),
        branch(record(session, "m-2", at(2), "user", &result)),
        branch(record(
            session,
            "m-3",
            at(3),
            "user",
            &json!({"role": "user", "content": image}),
        )),
        format!(
            "{}\n",
            json!({"type": "custom-title", "customTitle": format!("About {MARKER}"), "sessionId": id(session)})
        ),
        branch(record(session, "m-5", at(3), "assistant", &write)),
        branch(record(session, "m-6", at(3), "user", &written)),
        branch(record(
            session,
            "m-4",
            at(4),
            "user",
            &json!({"role": "user", "content": format!("more of {MARKER}")}),
        )),
    ]
}

#[test]
fn a_marker_planted_everywhere_is_nowhere_afterwards() {
    let mut trial = Trial::new();
    trial.append(&id(1), &marked(1));
    trial.append(
        &id(1),
        &[prompt(1, 9, 0, "inline").replacen(
            '{',
            "{\"isSidechain\":true,\"agentId\":\"abcdefgh\",",
            1,
        )],
    );
    trial.sweep();
    // A fork repeats it all under its own name, mentions the id, and goes on.
    let mut copied = marked(2);
    copied.push(prompt(2, 7, 0, &format!("goes on from {}", id(1))));
    trial.append(&id(2), &copied);
    trial.append(&id(3), &[prompt(3, 0, 0, "something else entirely")]);
    // Another session looked into logs of both.
    let look = |log: u32| json!({"type": "tool_use", "id": format!("t{log}"), "name": "Bash", "input": {"command": format!("cat {}.jsonl", id(log))}});
    let read = |log: u32| json!({"type": "tool_use", "id": format!("r{log}"), "name": "Read", "input": {"file_path": format!("/logs/{}.jsonl", id(log))}});
    let calls = json!({"role": "assistant", "model": "claude-test", "id": "m9", "content": [look(1), read(1), look(2), read(2)]});
    trial.append(&id(3), &[record(3, "3-1", Some(NOW), "assistant", &calls)]);
    // A title of it that stands in another session's file.
    trial.append(
        &id(3),
        &[format!(
            "{}\n",
            json!({"type": "summary", "summary": format!("Once {MARKER}"), "leafUuid": "m-4"})
        )],
    );
    trial.sweep();
    assert!(!found(&trial, MARKER).is_empty());
    let before = trial.memory.upkeep().health().unwrap();
    assert_eq!((before.sessions, before.attachments), (4, 1));
    let report = forget(&mut trial, Forget::Session(&id(1)));
    assert!(report.proof.blocks_searched > 0);
    assert_eq!(found(&trial, MARKER), [""; 0]);
    assert_eq!(found(&trial, &id(1)), [""; 0]);
    let health = trial.memory.upkeep().health().unwrap();
    assert_eq!((health.sessions, health.attachments), (2, 0));
    // What the fork said itself is there, but for the id.
    assert_eq!(trial.texts(2), [format!("goes on from {}", "x".repeat(36))]);
    assert_eq!(trial.session(2).parent, None);
    let answer = trial
        .memory
        .search()
        .run(&Query::parse("goes on"), &SearchOptions::default())
        .unwrap();
    assert_eq!(answer.hits.len(), 1);
    // It does not come back: not grown, not copied, not with the fork read anew.
    trial.append(&id(1), &[prompt(1, 20, 0, MARKER)]);
    std::fs::copy(trial.log(&id(1)), trial.log("copy")).unwrap();
    let fork = std::fs::read(trial.log(&id(2))).unwrap();
    std::fs::write(
        trial.log(&id(2)),
        [b"{\"type\":\"mode\"}\n".as_slice(), &fork].concat(),
    )
    .unwrap();
    let report = trial.sweep();
    assert_eq!(report.events, 0);
    assert_eq!(found(&trial, MARKER), [""; 0]);
    assert!(matches!(
        trial.memory.sessions().row(&id(1)),
        Err(crate::Error::NoSession(_))
    ));
    assert_eq!(trial.texts(2).len(), 1);
}

#[test]
fn forgetting_is_finished_by_the_next_sweep() {
    let mut trial = Trial::new();
    trial.append(&id(1), &marked(1));
    trial.append(&id(2), &[prompt(2, 0, 0, "stays")]);
    trial.sweep();
    trial
        .memory
        .search()
        .refresh_index(true, &mut |_, _| {})
        .unwrap();
    let session = trial.session(1).id;
    let intent = outside::Intent {
        sessions: vec![(session, id(1))],
        declined: vec!["/home/ada/declined.md".into()],
        missing: vec!["~/gone/AGENTS.md".to_string()],
        ..outside::Intent::default()
    };
    // Stopped right behind the transaction.
    trial
        .memory
        .store
        .forget(&[session], [1; 32])
        .unwrap()
        .commit(&serde_json::to_vec(&intent).unwrap())
        .unwrap();
    assert!(!found(&trial, MARKER).is_empty());
    let report = trial.sweep();
    assert_eq!(found(&trial, MARKER), [""; 0]);
    assert_eq!(found(&trial, &id(1)), [""; 0]);
    // What the stopped process could not change is reported by the one that cleans up.
    let problems: Vec<&str> = report
        .problems
        .iter()
        .filter_map(|problem| problem.path.to_str())
        .collect();
    assert_eq!(problems, ["/home/ada/declined.md", "~/gone/AGENTS.md"]);
    assert_eq!(trial.texts(2), ["stays"]);
    assert!(!trial.memory.store.is_unclean().unwrap());
}

#[test]
fn a_project_or_all_that_a_query_finds_is_forgotten() {
    let mut trial = Trial::new();
    for session in 1..=4 {
        let words = if session % 2 == 0 {
            "ledger migration"
        } else {
            "ledger only"
        };
        trial.append(
            &id(session),
            &[prompt(
                session,
                0,
                1,
                &format!("{words} extraordinarily{session}"),
            )],
        );
    }
    trial.sweep();
    let found: Vec<String> = trial
        .memory
        .upkeep()
        .to_forget(Forget::Query("ledger migration"))
        .unwrap()
        .into_iter()
        .map(|head| head.session)
        .collect();
    assert_eq!(found.len(), 2);
    forget(&mut trial, Forget::Query("ledger migration"));
    assert_eq!(trial.texts(1).len() + trial.texts(3).len(), 2);
    forget(&mut trial, Forget::Project("/home/ada/shop"));
    assert_eq!(trial.memory.upkeep().health().unwrap().sessions, 0);
    assert_eq!(trial.sweep().events, 0);
}

#[test]
fn an_evicted_session_can_be_forgotten_and_a_subagent_alone() {
    let mut trial = Trial::new();
    let inline = prompt(1, 1, 1, "a subagents errand").replacen(
        '{',
        "{\"isSidechain\":true,\"agentId\":\"abcdefgh\",",
        1,
    );
    trial.append(&id(1), &[prompt(1, 0, 1, "the main matter"), inline]);
    trial.append(&id(2), &[prompt(2, 0, 99, &format!("old {MARKER}"))]);
    trial.caps.raw_max_age_days = Some(50);
    trial.sweep();
    assert!(trial.evicted(2));
    forget(&mut trial, Forget::Session(&id(2)));
    assert_eq!(found(&trial, MARKER), [""; 0]);
    forget(
        &mut trial,
        Forget::Session(&format!("{}/agent-abcdefgh", id(1))),
    );
    assert_eq!(found(&trial, "errand"), [""; 0]);
    assert_eq!(trial.texts(1), ["the main matter"]);
    let main = trial.session(1);
    assert_eq!(
        trial
            .memory
            .sessions()
            .open(main)
            .event_views(EventRange::All)
            .unwrap()
            .len(),
        1
    );
    trial.append(
        &id(1),
        &[prompt(1, 3, 0, "the errand again").replacen(
            '{',
            "{\"isSidechain\":true,\"agentId\":\"abcdefgh\",",
            1,
        )],
    );
    trial.sweep();
    assert_eq!(found(&trial, "errand"), [""; 0]);
}

#[test]
fn what_was_about_to_be_forgotten_is_forgotten_by_the_next_sweep() {
    let mut trial = Trial::new();
    let correction = |session: u32, word: &str| {
        let text = format!("no, don't use the shared staging database for tests {word}");
        trial.append(
            &id(session),
            &[prompt(session, 0, 1, "go"), prompt(session, 1, 1, &text)],
        );
    };
    correction(1, "please");
    correction(2, MARKER);
    trial.sweep();
    let catalogue = trial.store().join("patterns");
    let candidates = trial
        .memory
        .patterns()
        .list(&crate::patterns::PatternFilter::default())
        .unwrap();
    let mut decided = crate::patterns::Catalogue::load(&catalogue).unwrap();
    decided
        .decide(
            &candidates[0].id,
            Some(&candidates[0]),
            crate::patterns::Status::Approved,
            NOW,
        )
        .unwrap();
    let spool = trial.store().join("spool");
    std::fs::create_dir_all(&spool).unwrap();
    std::fs::write(spool.join("x.unreadable"), MARKER).unwrap();
    // Stopped right behind the intent.
    let intent = outside::Intent {
        sessions: vec![(trial.session(2).id, id(2))],
        catalogue: Some(catalogue.clone()),
        published: Vec::new(),
        spool: vec![spool],
        declined: Vec::new(),
        missing: Vec::new(),
        ..outside::Intent::default()
    };
    trial
        .memory
        .store
        .keep_forget_intent(&serde_json::to_vec(&intent).unwrap())
        .unwrap();
    assert!(trial.memory.store.is_unclean().unwrap());
    trial.sweep();
    assert!(!trial.memory.store.is_unclean().unwrap());
    assert!(trial.memory.store.forget_intent().unwrap().is_none());
    assert_eq!(found(&trial, MARKER), [""; 0]);
    assert_eq!(found(&trial, &id(2)), [""; 0]);
    assert_eq!(
        crate::patterns::Catalogue::load(&catalogue)
            .unwrap()
            .entries()
            .len(),
        1
    );
    // An intent whose sessions are gone is void.
    trial
        .memory
        .store
        .keep_forget_intent(&serde_json::to_vec(&intent).unwrap())
        .unwrap();
    trial.sweep();
    assert!(!trial.memory.store.is_unclean().unwrap());
    assert_eq!(found(&trial, &id(2)), [""; 0]);
}

#[test]
fn a_project_loses_a_root_that_only_a_forgotten_session_was_in() {
    let mut trial = Trial::new();
    let at = |folder: &std::path::Path, line: String| {
        line.replace("/home/ada/shop", folder.to_str().unwrap())
    };
    let folder = tempfile::tempdir().unwrap();
    let clones = ["hidden-clone", "open-clone"].map(|name| folder.path().join(name));
    for clone in &clones {
        std::fs::create_dir_all(clone.join(".git")).unwrap();
        std::fs::write(
            clone.join(".git/config"),
            "[remote \"origin\"]\n\turl = https://code.example/ada/shop.git\n",
        )
        .unwrap();
        std::fs::write(clone.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    }
    trial.append(&id(1), &[at(&clones[0], prompt(1, 0, 2, "the first"))]);
    trial.sweep();
    trial.append(&id(2), &[at(&clones[1], prompt(2, 0, 1, "the second"))]);
    trial.sweep();
    assert_eq!(trial.session(2).project.as_deref(), clones[0].to_str());
    forget(&mut trial, Forget::Session(&id(1)));
    assert_eq!(trial.session(2).project.as_deref(), clones[1].to_str());
    assert_eq!(found(&trial, "hidden-clone"), [""; 0]);
}

#[test]
fn a_sweep_that_finishes_forgetting_names_what_remained() {
    let home = std::path::Path::new("/store");
    let damage = backstory_store::Damage {
        path: None,
        piece: backstory_store::DamagedPiece::Attachment(3),
    };
    let left = Leftover {
        path: "/home/ada/AGENTS.md".into(),
        reason: "it cannot be written".to_string(),
    };
    let resumed = ResumedForget {
        sessions: Vec::new(),
        ids: Vec::new(),
        report: ForgetReport {
            freed_bytes: 0,
            final_usage_bytes: 0,
            unclean: true,
            agent_logs: Vec::new(),
            left: vec![left],
            missing: vec!["~/gone.md".to_string()],
            rewritten: Vec::new(),
            proof: Proof {
                remains: vec![
                    "/store/index/1".to_string(),
                    "/home/ada/AGENTS.md".to_string(),
                ],
                unsearched: vec![damage],
                ..Proof::default()
            },
        },
    };
    let problems = resumed.into_problems(home, true);
    let paths: Vec<&str> = problems
        .iter()
        .filter_map(|problem| problem.path.to_str())
        .collect();
    // What is known to be left is not named twice.
    let expected = [
        "/store/index/1",
        "/store/backstory.db",
        "/store",
        "/home/ada/AGENTS.md",
        "~/gone.md",
    ];
    assert_eq!(paths, expected);
}

//! `eval digests`: verdicts of people, and the score of digests by them.

use serde_json::{Value, json};

use crate::environment::{Environment, Outcome, claude_id, prompt, reply};

/// Two sessions, the first with a decision.
fn two_sessions() -> Environment {
    let environment = Environment::new();
    environment.claude(
        1,
        &[
            prompt(1, 10, "write the report about otters"),
            reply(1, 11, "It is half done.", 5),
            prompt(1, 12, "don't use the slow importer, use the new one"),
            reply(1, 13, "The report about otters is written.", 5),
        ],
    );
    environment.claude(
        2,
        &[
            prompt(2, 20, "count the seals of the northern coast"),
            reply(2, 21, "There are 17 seals.", 5),
        ],
    );
    environment.sweep();
    environment
}

fn review(environment: &Environment, answers: &str) -> Outcome {
    let outcome = environment.feed(&["eval", "digests", "--review"], answers.as_bytes());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome
}

/// The kept verdicts, by the number of their session.
fn kept(environment: &Environment) -> Vec<(u32, Value)> {
    let text = std::fs::read_to_string(environment.store().join("eval/digests.jsonl"));
    let text = text.unwrap_or_default();
    let verdict = |line: &str| {
        let verdict: Value = serde_json::from_str(line).unwrap();
        let number = u32::from_str_radix(&verdict["session"].as_str().unwrap()[..8], 16).unwrap();
        (number, verdict)
    };
    let mut verdicts: Vec<(u32, Value)> = text.lines().map(verdict).collect();
    verdicts.sort_by_key(|(number, _)| *number);
    verdicts
}

/// Judges both sessions: the outcomes success, the titles good, the headlines poor, the decision right.
fn judge_both(environment: &Environment) -> Outcome {
    // The order of the sample is drawn, so the decision comes first or last.
    let one = "y\ng\np\ny\n";
    let shown = review(environment, "q\n").stdout;
    let answers = match shown.contains("otters") {
        true => format!("{one}y\ng\np\n"),
        false => format!("y\ng\np\n{one}"),
    };
    review(environment, &answers)
}

#[test]
fn verdicts_are_kept_and_score_the_digests() {
    let environment = two_sessions();
    let none = environment.run(&["eval", "digests"]);
    assert_eq!(none.code, 0);
    assert!(
        none.stdout.contains("nothing is judged yet"),
        "{}",
        none.stdout
    );
    assert_eq!(environment.json(&["eval", "digests"])["sessions"], 0);

    let outcome = judge_both(&environment);
    for said in [
        "Evidence",
        "write the report about otters",
        "don't use the slow importer",
        "There are 17 seals.",
        "outcome success",
        "7 verdicts kept in",
        "outcomes right        2 of 2, 100 % (95 %: 34 to 100 %); balanced 100 %",
    ] {
        assert!(outcome.stdout.contains(said), "{said}: {}", outcome.stdout);
    }
    let verdicts = kept(&environment);
    let (number, first) = &verdicts[0];
    assert_eq!((verdicts.len(), *number), (2, 1));
    assert_eq!(
        (&first["agent"], &first["session"], &first["outcome"]),
        (
            &json!("claude-code"),
            &json!(claude_id(1)),
            &json!("success")
        )
    );
    assert_eq!(
        first["decisions"],
        json!([{"text": "don't use the slow importer, use the new one", "turn": 2, "right": true}])
    );
    assert_eq!(first["titles"][0]["grade"], "good");
    assert_eq!(first["headlines"][0]["grade"], "poor");
    assert_eq!(first["version"], env!("CARGO_PKG_VERSION"));
    assert!(
        first["judged_at"].as_str().unwrap().ends_with('Z'),
        "{first}"
    );
    #[cfg(unix)]
    for (path, mode) in [("eval", 0o700), ("eval/digests.jsonl", 0o600)] {
        use std::os::unix::fs::PermissionsExt;
        let metadata = std::fs::metadata(environment.store().join(path)).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, mode, "{path}");
    }

    let score = environment.json(&["eval", "digests"]);
    assert_eq!(score["outcomes"]["hits"], 2);
    assert_eq!(score["decisions"]["precision"]["total"], 1);
    assert_eq!(score["decisions"]["recall"]["hits"], 1);
    assert_eq!(
        (&score["titles"]["good"], &score["headlines"]["poor"]),
        (&json!(2), &json!(2))
    );
    // Nothing is asked twice.
    let again = review(&environment, "");
    assert!(
        again.stdout.contains("all of this sample is judged"),
        "{}",
        again.stdout
    );
    assert_eq!(kept(&environment), verdicts);
}

#[test]
fn a_review_is_undone_quit_and_resumed() {
    let environment = two_sessions();
    // What is no answer is asked again; nothing is there to undo at first.
    let outcome = review(
        &environment,
        "u\nsure\n\u{1b}[A\nfailed\nm\nu\nu\nx\nu\np\ng\nq\nrest\n",
    );
    assert!(
        outcome.stdout.contains("nothing to undo"),
        "{}",
        outcome.stdout
    );
    assert!(
        outcome.stdout.contains("2 verdicts kept"),
        "{}",
        outcome.stdout
    );
    let verdicts = kept(&environment);
    assert_eq!(verdicts.len(), 1);
    let (first, verdict) = &verdicts[0];
    assert_eq!(
        (&verdict["outcome"], &verdict["titles"][0]["grade"]),
        (&json!("partial"), &json!("good"))
    );
    assert_eq!(verdict.get("headlines"), None);
    let score = environment.json(&["eval", "digests", "--score"]);
    assert_eq!(
        (&score["outcomes"]["hits"], &score["outcomes"]["total"]),
        (&json!(0), &json!(1))
    );
    assert_eq!(score["wrong_outcomes"][0]["outcome"], "partial");

    // The next review goes on behind the title; the end of input ends it.
    let outcome = review(&environment, "m");
    let begun = format!("Session {first:08x}");
    assert!(outcome.stdout.contains(&begun), "{}", outcome.stdout);
    assert!(
        outcome.stdout.contains("1 verdict kept"),
        "{}",
        outcome.stdout
    );
    let (_, verdict) = &kept(&environment)[0];
    assert_eq!(
        (&verdict["outcome"], &verdict["headlines"][0]["grade"]),
        (&json!("partial"), &json!("middling"))
    );

    // Skipped sessions come again; an undo goes back over them.
    let outcome = review(&environment, "s\ns\n");
    assert!(
        outcome.stdout.contains("0 verdicts kept"),
        "{}",
        outcome.stdout
    );
    let before = kept(&environment);
    review(&environment, "s\nl\ns\n");
    assert_ne!(kept(&environment), before);
    let endless = review(&environment, &"\0\n".repeat(300));
    assert!(
        endless
            .stderr
            .contains("100 answers in a row are no verdicts"),
        "{}",
        endless.stderr
    );
    let whole: Vec<u8> = (0..=255u8).cycle().take(100_000).collect();
    let outcome = environment.feed(&["eval", "digests", "--review"], &whole);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
}

#[test]
fn the_last_verdict_of_the_session_before_is_taken_back() {
    let environment = two_sessions();
    let shown = review(&environment, "q\n").stdout;
    let (one, first) = match shown.contains("otters") {
        true => ("y\ng\np\ny\n", 1),
        false => ("y\ng\np\n", 2),
    };
    let outcome = review(&environment, &format!("{one}u\nq\n"));
    let sheet = format!("Session {first:08x}");
    assert_eq!(
        outcome.stdout.matches(&sheet).count(),
        2,
        "{}",
        outcome.stdout
    );
    let kept = kept(&environment);
    assert_eq!(kept.len(), 1);
    let last = if first == 1 { "decisions" } else { "headlines" };
    assert_eq!(kept[0].1.get(last), None);
    // A session whose only verdict is taken back leaves no line.
    let environment = two_sessions();
    review(&environment, "y\nu\nq\n");
    assert_eq!(self::kept(&environment), []);
}

#[test]
fn what_changed_since_is_counted_and_asked_again() {
    let environment = two_sessions();
    judge_both(&environment);
    let path = environment.store().join("eval/digests.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    // As if an older version had given other words.
    let older = text
        .replace("don't use the slow importer", "no slow importer")
        .replace("count the seals", "tally the seals");
    assert_ne!(older, text);
    std::fs::write(&path, &older).unwrap();
    let score = environment.json(&["eval", "digests"]);
    assert_eq!(score["titles"]["changed"], 1, "{score}");
    // Other words of the same turn are the same decision.
    assert_eq!(score["decisions"]["precision"]["hits"], 1);
    let printed = environment.run(&["eval", "digests"]).stdout;
    assert!(printed.contains("1 changed since"), "{printed}");
    let asked = review(&environment, "q\n").stdout;
    assert!(
        asked.contains("decision: ") || asked.contains("title: "),
        "{asked}"
    );
    assert!(!asked.contains("Enter or y right"), "{asked}");

    // A session that has grown is judged as a whole again.
    std::fs::write(&path, &text).unwrap();
    environment.claude(
        2,
        &[
            prompt(2, 20, "count the seals of the northern coast"),
            reply(2, 21, "There are 17 seals.", 5),
            prompt(2, 22, "that is wrong"),
        ],
    );
    environment.sweep();
    let score = environment.json(&["eval", "digests"]);
    assert_eq!(
        (&score["sessions"], &score["grown"]),
        (&json!(1), &json!(1))
    );
    let asked = review(&environment, "n\nf\nq\n").stdout;
    assert!(asked.contains("Enter or y right"), "{asked}");
    let score = environment.json(&["eval", "digests"]);
    assert_eq!(
        (&score["sessions"], &score["grown"]),
        (&json!(2), &json!(0))
    );

    // A line that is none is named and stays.
    let broken = format!("{text}{{\"agent\": 3}}\n");
    std::fs::write(&path, &broken).unwrap();
    let outcome = environment.run(&["eval", "digests"]);
    assert_eq!(outcome.code, 2);
    assert!(
        outcome.stderr.contains("digests.jsonl:3 is no verdict"),
        "{}",
        outcome.stderr
    );
    assert_eq!(
        environment
            .feed(&["eval", "digests", "--review"], b"y\n")
            .code,
        2
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), broken);
}

#[test]
fn forget_removes_verdicts() {
    let environment = two_sessions();
    judge_both(&environment);
    let path = environment.store().join("eval/digests.jsonl");
    // A decision that quotes the other session, and what a killed process left.
    let text = std::fs::read_to_string(&path).unwrap();
    let quote = format!("like in {} about otters", claude_id(1));
    let seals = "\"titles\":[{\"text\":\"count";
    let quoting = text.replace(
        seals,
        &format!("\"problems\":[{{\"text\":\"{quote}\",\"right\":true}}],{seals}"),
    );
    assert_ne!(quoting, text);
    std::fs::write(&path, quoting).unwrap();
    std::fs::write(environment.store().join("eval/.digests.jsonl.1.new"), &text).unwrap();
    let report = environment.run(&["forget", &claude_id(1), "--yes"]);
    assert_eq!(report.code, 0, "{}", report.stderr);
    assert!(report.stdout.contains("verdicts"), "{}", report.stdout);
    assert!(
        report.stdout.contains("Verified: no trace left"),
        "{}",
        report.stdout
    );
    let verdicts = kept(&environment);
    assert_eq!(verdicts.len(), 1);
    assert_eq!(
        verdicts[0].1["titles"][0]["text"],
        "count the seals of the northern coast"
    );
    let left = std::fs::read_to_string(&path).unwrap();
    assert!(
        !left.contains(&claude_id(1)) && !left.contains("importer"),
        "{left}"
    );
    let score = environment.json(&["eval", "digests"]);
    assert_eq!(
        (&score["sessions"], &score["missing"]),
        (&json!(1), &json!(0))
    );
}

#[test]
fn programs_and_subagents_are_not_sampled_and_one_title_not_often() {
    let environment = Environment::new();
    for session in 1..=9 {
        environment.claude(
            session,
            &[prompt(
                session,
                session * 10,
                &format!("check the backup of day {session}"),
            )],
        );
    }
    let inline = prompt(20, 201, "errand of a subagent").replacen(
        '{',
        "{\"isSidechain\":true,\"agentId\":\"abcdefgh\",",
        1,
    );
    environment.claude(20, &[prompt(20, 200, "write the almanac"), inline]);
    environment.sweep();
    let shown = review(&environment, &"s\n".repeat(20)).stdout;
    assert_eq!(shown.matches("Session 0000000").count(), 4, "{shown}");
    assert!(
        shown.contains("write the almanac") && !shown.contains("title: errand"),
        "{shown}"
    );
    // The same seed draws the same, another one another sample.
    let first = |arguments: &[&str]| {
        let outcome = environment.feed(
            &[&["eval", "digests", "--review"], arguments].concat(),
            b"s\ns\n",
        );
        let sessions = outcome
            .stdout
            .lines()
            .filter(|line| line.starts_with("Session "));
        sessions.map(str::to_string).collect::<Vec<String>>()
    };
    assert_eq!(first(&["--sessions", "2"]), first(&[])[..2]);
    let seeds = ["2", "3", "4", "5"].map(|seed| first(&["--seed", seed]));
    assert!(seeds.iter().any(|sample| sample[..2] != first(&[])[..2]));
}

#[test]
fn hostile_titles_are_harmless() {
    let environment = Environment::new();
    let hostile = "fix \u{1b}]0;owned\u{7}\u{1b}[31m the \u{202e}importer\u{9b}2J now";
    environment.claude(
        1,
        &[
            prompt(1, 10, hostile),
            reply(1, 11, &format!("Done. {hostile}"), 5),
            prompt(1, 12, &format!("don't {hostile}")),
            reply(1, 13, "Fixed \u{1b}[2J.", 5),
        ],
    );
    environment.sweep();
    let outcome = review(&environment, "o\ng\ng\ny\ny\n");
    let is_hidden = |letter: char| letter != '\n' && backstory_memory::is_hidden(letter);
    assert!(!outcome.stdout.contains(is_hidden), "{:?}", outcome.stdout);
    assert!(!outcome.stderr.contains(is_hidden), "{:?}", outcome.stderr);
    let printed = environment.run(&["eval", "digests"]);
    assert!(!printed.stdout.contains(is_hidden), "{:?}", printed.stdout);
}

/// Keys of a terminal, without Enter; its mode is restored whatever ends the review.
#[cfg(target_os = "linux")]
#[test]
fn keys_need_no_enter_and_the_terminal_is_restored() {
    use std::os::fd::AsFd;

    use nix::poll::{PollFd, PollFlags, poll};
    use nix::sys::signal::{Signal, kill};
    use nix::sys::termios::{LocalFlags, tcgetattr};
    use nix::unistd::Pid;
    use std::io::{Read, Write};

    let environment = two_sessions();
    let modes = LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::ISIG;
    for (keys, is_killed) in [("\u{1b}[Ayg?", true), ("u\u{3}", false), ("mq", false)] {
        let terminal = nix::pty::openpty(None, None).unwrap();
        let watched = terminal.slave.try_clone().unwrap();
        let before = tcgetattr(&watched).unwrap();
        assert!(before.local_flags.contains(modes));
        let mut command = environment.command(&["eval", "digests"]);
        command
            .stdin(terminal.slave.try_clone().unwrap())
            .stdout(terminal.slave);
        let mut child = command.spawn().unwrap();
        drop(command);
        let mut master = std::fs::File::from(terminal.master);
        let mut shown = String::new();
        let mut wait_for = |master: &mut std::fs::File, text: &str| {
            let mut piece = [0; 4096];
            while !shown.contains(text) {
                let mut ready = [PollFd::new(master.as_fd(), PollFlags::POLLIN)];
                assert_eq!(poll(&mut ready, 10_000u16), Ok(1), "no {text:?} in {shown}");
                let count = master.read(&mut piece).unwrap();
                shown.push_str(&String::from_utf8_lossy(&piece[..count]));
            }
        };
        wait_for(&mut master, "quit:");
        assert!(!tcgetattr(&watched).unwrap().local_flags.intersects(modes));
        master.write_all(keys.as_bytes()).unwrap();
        if is_killed {
            wait_for(&mut master, "?\r\n");
            kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).unwrap();
        }
        wait_for(&mut master, "verdict");
        wait_for(&mut master, "headlines");
        assert!(child.wait().unwrap().success());
        assert_eq!(tcgetattr(&watched).unwrap().local_flags, before.local_flags);
    }
    let verdicts = kept(&environment);
    assert_eq!(verdicts.len(), 1);
    let verdict = &verdicts[0].1;
    assert_eq!(
        (&verdict["outcome"], &verdict["titles"][0]["grade"]),
        (&json!("success"), &json!("good"))
    );
    assert_eq!(verdict["headlines"][0]["grade"], "middling");
}

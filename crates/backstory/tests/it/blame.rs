//! Blame: many edits by two agents and by hand, in their own log formats, and who truly wrote each line.

mod workshop;

use serde_json::json;

use self::workshop::{CLAUDE, CODEX, Dice, HAND, Owned, Workshop, patch};

/// Two hundred edits: which lines of what comes of them are told wrongly, and of how many.
fn run(seed: u64) -> (Vec<String>, usize) {
    let mut dice = Dice(seed);
    let mut shop = Workshop::new("src/buy.rs");
    let by = shop.ask(CLAUDE[0], false);
    let first: Vec<String> = (0..60).map(|_| shop.fresh(&mut dice)).collect();
    shop.replace(0, 0, &first, &by);
    shop.create(CLAUDE[0]);
    let mut history = Vec::new();
    for step in 1..200 {
        if step == 90 {
            let by = shop.ask(CODEX[0], true);
            let old: Vec<String> = shop.lines.iter().map(|(text, _)| text.clone()).collect();
            let added = vec!["    // Moved.".to_string()];
            let patch = patch(
                "src/buy.rs",
                &old,
                &[(10, 0, added.clone())],
                Some("src/pay.rs"),
            );
            shop.replace(10, 0, &added, &by);
            shop.codex_patch(CODEX[0], &patch, 0, false);
            shop.file = "src/pay.rs".to_string();
        } else if step % 12 == 0 {
            shop.hand_step(&mut dice);
        } else {
            shop.agent_step(&mut dice, &history);
        }
        if step % 20 == 0 {
            history.push(shop.lines.iter().map(|(text, _)| text.clone()).collect());
        }
    }
    (shop.wrong(), shop.lines.len())
}

#[test]
fn two_hundred_edits_are_told_apart() {
    let mut wrong = Vec::new();
    let mut all = 0;
    for seed in [3, 14, 159] {
        let (more, lines) = run(seed);
        wrong.extend(more);
        all += lines;
    }
    // Empty lines and braces can be told apart only by luck.
    assert!(
        wrong.len() * 100 <= all,
        "of {all} lines:\n{}",
        wrong.join("\n")
    );
}

/// A file of three lines that Claude Code made.
fn three_lines(file: &str) -> Workshop {
    let mut shop = Workshop::new(file);
    let by = shop.ask(CLAUDE[0], false);
    let lines = ["fn pay() {", "    charge();", "}"].map(String::from);
    shop.replace(0, 0, &lines, &by);
    shop.create(CLAUDE[0]);
    shop
}

#[test]
fn the_turn_and_its_prompt_are_named() {
    let mut shop = three_lines("src/pay.rs");
    let path = shop.path();
    let file = path.to_str().unwrap().to_string();
    let nothing_yet = shop.environment.run(&["blame", &file]);
    assert_eq!(nothing_yet.code, 1, "{}", nothing_yet.stderr);
    let by = shop.ask(CODEX[0], true);
    let old: Vec<String> = shop.lines.iter().map(|(text, _)| text.clone()).collect();
    let added = vec!["    log();".to_string()];
    shop.codex_patch(
        CODEX[0],
        &patch("src/pay.rs", &old, &[(2, 0, added.clone())], None),
        1,
        false,
    );
    shop.replace(2, 0, &added, &by);
    shop.replace(4, 0, &["// The end.".to_string()], HAND);
    assert_eq!(shop.wrong(), [""; 0]);
    let blame = shop.blame(&path);
    let line = &blame["lines"][2];
    assert_eq!(
        (&line["line"], &line["agent"], &line["turn"]),
        (&json!(3), &json!("codex"), &json!(1))
    );
    assert!(
        line["timestamp"]
            .as_str()
            .unwrap()
            .starts_with("2026-02-02T"),
        "{line}"
    );
    let by_hand = json!({"line": 5, "session": null, "agent": null, "turn": null, "timestamp": null, "prompt": null, "text": "// The end."});
    assert_eq!(blame["lines"][4], by_hand);
    let part = shop.environment.json(&["blame", &format!("{file}:2-3")]);
    assert_eq!(
        part["lines"].as_array().unwrap()[..],
        blame["lines"].as_array().unwrap()[1..3]
    );
    let text = shop.environment.run(&["blame", &file]).stdout;
    let expected = [
        "1  c1a00000#1  claude-code  2026-02-02 │ fn pay() {",
        "2                                      │     charge();",
        "3  0de00000#1  codex        2026-02-02 │     log();",
        "4  c1a00000#1  claude-code  2026-02-02 │ }",
        "5                                        // The end.",
        "",
        "c1a00000#1  please do c1a00000-0000-4000-8000-000000000001#1",
        "0de00000#1  please do 0de00000-0000-4000-8000-000000000001#1",
    ];
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    let run = |arguments: &[&str]| shop.environment.run(&[&["blame"], arguments].concat());
    assert_eq!(run(&[&format!("{file}:5")]).code, 1);
    assert_eq!(run(&[&format!("{file}:5"), "--json"]).code, 1);
    for wrong in ["6", "0", "3-2", "x", "2-9"] {
        let outcome = run(&[&format!("{file}:{wrong}")]);
        assert_eq!(outcome.code, 2, "{wrong}: {}", outcome.stderr);
    }
    let none = run(&["no-such-file.rs"]);
    assert!(
        none.code == 1 && none.stderr.contains("no file no-such-file.rs"),
        "{}",
        none.stderr
    );
    assert_eq!(run(&[shop.root.to_str().unwrap()]).code, 2);
}

#[test]
fn worktrees_are_of_the_same_project() {
    // The worktree is gone, and what was done in it was merged.
    let mut shop = three_lines(".claude/worktrees/fix/src/pay.rs");
    shop.file = "src/pay.rs".to_string();
    shop.replace(3, 0, &["// Merged.".to_string()], HAND);
    assert_eq!(shop.wrong(), [""; 0]);
}

#[test]
fn a_file_of_the_same_name_elsewhere_is_another_one() {
    let mut shop = three_lines("src/pay.rs");
    shop.file = "lib/pay.rs".to_string();
    let by_hand = |(text, _): &Owned| (text.clone(), HAND.to_string());
    shop.lines = shop.lines.iter().map(by_hand).collect();
    shop.write();
    let outcome = shop
        .environment
        .run(&["blame", "--json", shop.path().to_str().unwrap()]);
    assert_eq!(outcome.code, 1, "{}", outcome.stdout);
}

#[test]
fn a_file_is_followed_through_moves_by_command() {
    let mut shop = three_lines("src/buy.rs");
    shop.ask(CLAUDE[1], false);
    let input = json!({"command": "mkdir -p lib && git mv src/buy.rs lib/pay.rs"});
    shop.claude_edit(
        CLAUDE[1],
        "Bash",
        &input,
        &json!({"stdout": "", "stderr": ""}),
        false,
    );
    shop.file = "lib/pay.rs".to_string();
    assert_eq!(shop.wrong(), [""; 0]);
}

#[test]
fn a_file_is_followed_through_the_history_of_git() {
    let mut shop = three_lines("src/buy.rs");
    std::fs::remove_dir(shop.root.join(".git")).unwrap();
    let git = |arguments: &[&str]| {
        let who = [
            "-c",
            "user.name=Ada",
            "-c",
            "user.email=ada@example.com",
            "-c",
            "init.defaultBranch=main",
        ];
        let mut command = std::process::Command::new("git");
        command
            .env("HOME", shop.environment.home())
            .current_dir(&shop.root);
        command
            .args(who)
            .args(arguments)
            .output()
            .is_ok_and(|output| output.status.success())
    };
    std::fs::write(shop.path(), shop.text()).unwrap();
    if !git(&["init", "-q"]) {
        return;
    }
    assert!(git(&["add", "."]) && git(&["commit", "-qm", "one"]));
    assert!(git(&["mv", "src/buy.rs", "src/pay.rs"]) && git(&["commit", "-qm", "two"]));
    shop.file = "src/pay.rs".to_string();
    assert_eq!(shop.wrong(), [""; 0]);
}

#[test]
fn what_cannot_be_placed_counts_where_it_is_found() {
    let mut shop = Workshop::new("src/pay.rs");
    let by = shop.ask(CODEX[0], true);
    // The file was there before any log.
    let old: Vec<String> = (0..20)
        .map(|line| format!("fn old_{line}() {{}}"))
        .collect();
    shop.replace(0, 0, &old, HAND);
    let added = ["fn new() {", "    start();", "}"]
        .map(String::from)
        .to_vec();
    shop.codex_patch(
        CODEX[0],
        &patch("src/pay.rs", &old, &[(10, 1, added.clone())], None),
        0,
        false,
    );
    shop.replace(10, 1, &added, &by);
    // A person changed a line of it since, so that only what is unmistakable is told.
    shop.replace(11, 1, &["    begin();".to_string()], HAND);
    let wrong = shop.wrong();
    assert_eq!(wrong, [format!("13: {HAND} for {by}: }}")]);
}

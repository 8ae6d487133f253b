//! What people do with patterns: decide, edit, merge, publish, take back, measure.

use std::path::PathBuf;

use serde_json::Value;

use crate::environment::{Environment, Outcome, claude_id, prompt, record};

const FOLDER: &str = ".config/backstory/patterns";

/// An entry as somebody may have written it by hand.
fn write_entry(environment: &Environment, id: &str, title: &str, status: &str) -> PathBuf {
    let text = format!(
        "# ours\nid = \"{id}\"\nkind = \"problem\"\ntitle = \"{title}\"\nstatus = \"{status}\"\n"
    );
    environment.write(&format!("{FOLDER}/{id}.toml"), text)
}

fn said(environment: &Environment, arguments: &[&str]) -> String {
    let outcome = environment.run(&[&["patterns"], arguments].concat());
    assert_eq!(outcome.code, 0, "{arguments:?}: {}", outcome.stderr);
    outcome.stdout + &outcome.stderr
}

fn entry(environment: &Environment, id: &str) -> Value {
    let catalogue = environment.json(&["patterns", "catalogue"]);
    let entries = catalogue["catalogue"].as_array().unwrap();
    let entry = entries.iter().find(|entry| entry["id"] == id);
    entry.unwrap().clone()
}

/// Runs in a folder.
fn run_in(environment: &Environment, folder: &str, arguments: &[&str]) -> Outcome {
    let mut command = environment.command(arguments);
    Outcome::of(
        &command
            .current_dir(environment.home().join(folder))
            .output()
            .unwrap(),
    )
}

#[test]
fn people_decide_edit_and_merge() {
    let environment = Environment::new();
    assert!(said(&environment, &["catalogue"]).contains("nothing has been decided yet"));
    let path = write_entry(&environment, "p-1a", "Tests need a database", "rejected");
    write_entry(&environment, "p-2b", "No database in tests", "approved");
    assert!(said(&environment, &["approve", "p-1", "p-2"]).contains("already approved p-2b"));
    assert!(
        said(
            &environment,
            &["edit", "p-1", "--advice", "Start it first."]
        )
        .contains("edited p-1a")
    );
    assert!(said(&environment, &["merge", "p-2", "p-1"]).contains("merged p-2b into p-1a"));
    let one = entry(&environment, "p-1a");
    assert_eq!(
        (&one["status"], &one["advice"], &one["version"]),
        (&"approved".into(), &"Start it first.".into(), &3.into())
    );
    assert_eq!(one["merged"][0], "p-2b");
    assert_eq!(entry(&environment, "p-2b")["merged_into"], "p-1a");
    assert!(
        std::fs::read_to_string(&path)
            .unwrap()
            .starts_with("# ours\nid = ")
    );
    let shown = environment.json(&["patterns", "show", "p-1"]);
    assert_eq!(
        (&shown["status"], &shown["decided"]["history"][1]["change"]),
        (&"approved".into(), &"edited".into())
    );
    assert!(said(&environment, &["show", "p-1"]).contains("Tests need a database"));
}

#[test]
fn an_entry_is_edited_in_an_editor() {
    let environment = Environment::new();
    write_entry(&environment, "p-1", "Old", "approved");
    let edit = |editor: &str| {
        let mut command = environment.command(&["patterns", "edit", "p-1"]);
        Outcome::of(
            &command
                .env("PATH", "/usr/bin:/bin")
                .env("EDITOR", editor)
                .output()
                .unwrap(),
        )
    };
    assert_eq!(edit("sed -i.bak -e s/Old/New/").code, 0);
    let one = entry(&environment, "p-1");
    assert_eq!(
        (&one["title"], &one["history"][0]["title"]),
        (&"New".into(), &"Old".into())
    );
    assert!(edit("true").stderr.contains("nothing changed in p-1"));
    for (editor, said) in [
        ("false", "false failed"),
        ("", "hint: set EDITOR"),
        ("sed -i.bak -e s/title/tilte/", "is no entry"),
    ] {
        let outcome = edit(editor);
        assert!(
            outcome.code == 2 && outcome.stderr.contains(said),
            "{editor}: {}",
            outcome.stderr
        );
    }
}

#[test]
fn what_cannot_be_decided_is_told() {
    let environment = Environment::new();
    write_entry(&environment, "p-1", "One", "approved");
    write_entry(&environment, "p-12", "Other", "approved");
    write_entry(&environment, "p-13", "Another", "approved");
    let broken = environment.write(&format!("{FOLDER}/p-9.toml"), "title = 3");
    for (arguments, code, said) in [
        (
            vec!["approve", "p-7"],
            1,
            "hint: `backstory patterns` lists candidates",
        ),
        (
            vec!["reject", "p-1", "p-"],
            2,
            "hint: give more of the id, as in p-1, p-12, p-13",
        ),
        (vec!["merge", "p-1", "p-1"], 2, "p-1 is the same as p-1"),
        (
            vec!["edit", "p-1", "--title", " "],
            2,
            "a pattern needs a title",
        ),
        (vec!["approve"], 2, "required"),
        (vec!["--limit", "3", "catalogue"], 2, "cannot be used with"),
        (vec![], 1, "nothing has been swept"),
    ] {
        let outcome = environment.run(&[vec!["patterns"], arguments.clone()].concat());
        assert_eq!(outcome.code, code, "{arguments:?}: {}", outcome.stderr);
        assert!(
            outcome.stderr.contains(said),
            "{arguments:?}: {}",
            outcome.stderr
        );
    }
    // All or none: the first of them was not rejected.
    assert_eq!(entry(&environment, "p-1")["status"], "approved");
    let outcome = environment.run(&["patterns", "catalogue", "--json"]);
    assert!(
        outcome.warnings() == 1 && outcome.stderr.contains(broken.to_str().unwrap()),
        "{}",
        outcome.stderr
    );
}

#[test]
fn patterns_are_listed() {
    let environment = Environment::new();
    environment.claude(1, &[prompt(1, 0, "only once")]);
    environment.sweep();
    assert_eq!(
        environment.json(&["patterns"])["patterns"],
        serde_json::json!([])
    );
    assert!(
        said(
            &environment,
            &["--kind", "problem", "--domain", "x", "--project", "."]
        )
        .contains("no pattern recurs")
    );
}

#[test]
fn patterns_are_published_where_agents_read() {
    let environment = Environment::new();
    write_entry(&environment, "p-1", "Tests need a database", "approved");
    write_entry(&environment, "p-2", "Wrong", "rejected");
    environment.write("shop/.git/HEAD", "ref: refs/heads/main\n");
    environment.write("shop/src/lib.rs", "");
    let agents = environment.home().join("shop/AGENTS.md");
    let publish = |folder: &str, more: &[&str]| {
        let outcome = run_in(
            &environment,
            folder,
            &[&["patterns", "publish"], more].concat(),
        );
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        outcome.stderr
    };
    // The repository has none: AGENTS.md is made at its root, and goes again.
    assert!(publish("shop/src", &[]).contains("published in shop/AGENTS.md: 1 of 1 approved"));
    let text = std::fs::read_to_string(&agents).unwrap();
    assert!(
        text.contains("- Tests need a database.")
            && text.contains(" (p-1)\n")
            && !text.contains("p-2"),
        "{text}"
    );
    assert!(publish("shop", &[]).contains("shop/AGENTS.md says so already"));
    let one = entry(&environment, "p-1");
    assert_eq!(
        (
            &one["published"][0]["target"],
            &one["published"][0]["project"]
        ),
        (&"shop/AGENTS.md".into(), &"shop".into())
    );
    assert_eq!(one["published"].as_array().unwrap().len(), 1);
    assert_eq!(
        run_in(&environment, "shop", &["patterns", "unpublish"]).code,
        0
    );
    assert!(!agents.exists());
    assert_eq!(
        entry(&environment, "p-1")["published"],
        serde_json::json!([])
    );
    // Its CLAUDE.md is written when only that is there; a file that is named is written anyway.
    let claude = environment.write("shop/CLAUDE.md", "Be kind.\r\n");
    let skill = environment.write(".claude/skills/shop/SKILL.md", "---\nname: shop\n---");
    publish("shop", &[]);
    assert!(
        !agents.exists()
            && std::fs::read_to_string(&claude)
                .unwrap()
                .contains("(p-1)\r\n")
    );
    publish(
        "shop",
        &[
            "--to",
            "../.claude/skills/shop/../shop/SKILL.md",
            "--to",
            "AGENTS.md",
        ],
    );
    assert!(agents.exists());
    let targets = entry(&environment, "p-1")["published"].to_string();
    assert!(
        targets.contains("\"~/.claude/skills/shop/SKILL.md\"")
            && targets.contains("shop/AGENTS.md"),
        "{targets}"
    );
    // What is rejected later goes with the next publication.
    said(&environment, &["reject", "p-1"]);
    assert!(
        publish("shop", &["--to", "CLAUDE.md"]).contains("took the block out of shop/CLAUDE.md")
    );
    assert_eq!(std::fs::read(&claude).unwrap(), b"Be kind.\r\n");
    assert_eq!(
        run_in(
            &environment,
            "shop",
            &["patterns", "unpublish", "--to", skill.to_str().unwrap()]
        )
        .code,
        0
    );
    assert_eq!(std::fs::read(&skill).unwrap(), b"---\nname: shop\n---");
    assert!(
        !entry(&environment, "p-1")["published"]
            .to_string()
            .contains("SKILL.md")
    );
    // Nothing is written where that would do damage.
    said(&environment, &["approve", "p-1"]);
    std::fs::write(&claude, "<!-- backstory:patterns -->\nopen").unwrap();
    let outcome = run_in(
        &environment,
        "shop",
        &["patterns", "publish", "--to", "CLAUDE.md"],
    );
    assert!(
        outcome.code == 2 && outcome.stderr.contains("CLAUDE.md: it has"),
        "{}",
        outcome.stderr
    );
    let outcome = run_in(
        &environment,
        "shop",
        &["patterns", "publish", "--limit-bytes", "10"],
    );
    assert!(
        outcome.code == 2 && outcome.stderr.contains("no pattern fits into 10 bytes"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn what_was_published_is_measured() {
    let environment = Environment::new();
    let path = write_entry(&environment, "p-1", "Tests need a database", "approved");
    for session in 1..=3 {
        environment.claude(session, &[prompt(session, session, "do it")]);
    }
    environment.sweep();
    assert!(said(&environment, &["measure"]).contains("nothing is published"));
    let text = std::fs::read_to_string(&path).unwrap();
    let publication = "\n[[published]]\ntarget = \"shop/AGENTS.md\"\nproject = \"shop\"\nat = \"2026-01-02T03:00:02Z\"\n";
    std::fs::write(&path, text + publication).unwrap();
    let measured = environment.json(&["patterns", "measure"]);
    let rows = &measured["measurements"][0]["rows"];
    assert_eq!(
        (&rows[0]["agent"], &rows[1]["agent"]),
        (&Value::Null, &"claude-code".into())
    );
    assert_eq!(
        (
            &rows[0]["before"]["sessions"],
            &rows[0]["after"]["sessions"]
        ),
        (&1.into(), &2.into()),
        "{}",
        claude_id(1)
    );
    assert_eq!(rows[0]["verdict"], "too_few_sessions");
    assert!(said(&environment, &["measure"]).contains("0 of 2 (0 %, 0 to 66)"));
}

#[test]
fn the_catalogue_is_where_the_configuration_says() {
    let environment = Environment::new();
    environment.write(
        "team/patterns/p-1.toml",
        "id = \"p-1\"\nkind = \"success\"\ntitle = \"It works\"\nstatus = \"approved\"\n",
    );
    assert_eq!(
        environment
            .run(&["config", "set", "catalogue", "../../team/patterns"])
            .code,
        0
    );
    assert_eq!(
        environment
            .run(&["config", "set", "domains.shop", "sales"])
            .code,
        0
    );
    assert_eq!(
        environment.json(&["config"])["config"]["domains"]["shop"],
        "sales"
    );
    assert_eq!(entry(&environment, "p-1")["kind"], "success");
}

/// A session of Claude Code in which a command fails.
fn claude_fails(environment: &Environment, session: u32, command: &str, output: &str) {
    let from = session * 10;
    let call = serde_json::json!({"role": "assistant", "model": "claude-test", "content": [
        {"type": "tool_use", "id": format!("call-{from}"), "name": "Bash", "input": {"command": command}}]});
    let result = serde_json::json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": format!("call-{from}"), "is_error": true, "content": output}]});
    let lines = [
        prompt(session, from, "deploy it"),
        record(session, from + 1, "assistant", &call),
        record(session, from + 2, "user", &result),
    ];
    environment.claude(session, &lines);
}

/// A session of Codex in which a command fails.
fn codex_fails(environment: &Environment, number: u32, command: &str, output: &str) {
    let id = format!("019b7d12-3c4e-7a00-8000-{number:012}");
    let at = |second: u32| format!("2026-01-03T03:04:{second:02}.000Z");
    let line = |second: u32, kind: &str, payload: Value| {
        let line = serde_json::json!({"timestamp": at(second), "type": kind, "payload": payload});
        format!("{line}\n")
    };
    let arguments = serde_json::json!({"cmd": command}).to_string();
    let text = format!("Exit code: 1\nWall time: 0.1 seconds\nOutput:\n{output}");
    let log = [
        line(
            1,
            "session_meta",
            serde_json::json!({"id": id, "timestamp": at(1), "cwd": "/home/ada/shop", "cli_version": "0.60.0"}),
        ),
        line(
            2,
            "response_item",
            serde_json::json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "deploy"}]}),
        ),
        line(
            3,
            "response_item",
            serde_json::json!({"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": "c1"}),
        ),
        line(
            4,
            "response_item",
            serde_json::json!({"type": "function_call_output", "call_id": "c1", "output": text}),
        ),
    ];
    let path = format!(".codex/sessions/2026/01/03/rollout-2026-01-03T03-04-01-{id}.jsonl");
    environment.write(&path, log.concat());
}

#[test]
fn a_failure_of_two_agents_is_found_among_others() {
    let environment = Environment::new();
    // Noise: the habits of a hundred made-up sessions.
    environment.write_all(backstory_agents::sample::logs(5, 6_000_000));
    for (session, holder) in [(1, "alice"), (2, "bob")] {
        claude_fails(
            &environment,
            session,
            "shopctl deploy --all",
            &format!("Error: deploy lock is held by `{holder}` since 12:0{session}"),
        );
    }
    codex_fails(
        &environment,
        3,
        "shopctl deploy --all",
        "Error: deploy lock is held by `ci` since 09:41",
    );
    environment.sweep();
    let patterns = environment.json(&["patterns"]);
    let patterns = patterns["patterns"].as_array().unwrap();
    let place = patterns
        .iter()
        .position(|pattern| pattern["title"].as_str().unwrap().contains("deploy lock"));
    let titles: Vec<&Value> = patterns
        .iter()
        .take(8)
        .map(|pattern| &pattern["title"])
        .collect();
    assert!(
        place.is_some_and(|place| place < 3),
        "{place:?} {titles:#?}"
    );
    let planted = &patterns[place.unwrap()];
    assert_eq!(
        (
            &planted["cross_agent"],
            &planted["frequency"],
            &planted["kind"],
            &planted["status"]
        ),
        (
            &serde_json::json!(true),
            &serde_json::json!(3),
            &serde_json::json!("problem"),
            &serde_json::json!("candidate")
        )
    );
    assert_eq!(
        planted["agents"],
        serde_json::json!(["claude-code", "codex"])
    );
    let evidence = planted["evidence"].as_array().unwrap();
    assert_eq!(evidence.len(), 3);
    // The evidence is there to be read.
    for cited in evidence {
        let session = cited["session"].as_str().unwrap();
        let shown = environment.json(&["show", &format!("{session}#{}", cited["turn"])]);
        assert!(shown.to_string().contains("deploy lock"), "{shown}");
    }
    let id = planted["id"].as_str().unwrap();
    // Seldom ones are left out on demand, and an id stays when evidence comes in.
    let frequent = environment
        .json(&["patterns", "--min-frequency", "4"])
        .to_string();
    assert!(!frequent.contains("deploy lock"));
    claude_fails(
        &environment,
        4,
        "shopctl deploy web",
        "Error: deploy lock is held by `eve` since 17:11",
    );
    environment.sweep();
    let again = environment.json(&["patterns", "show", id]);
    assert_eq!(again["frequency"], 4);
    assert_eq!(environment.run(&["patterns", "approve", id]).code, 0);
    let approved = environment.json(&["patterns", "--kind", "problem"]);
    let approved = approved["patterns"]
        .as_array()
        .unwrap()
        .iter()
        .find(|pattern| pattern["id"] == id)
        .unwrap();
    assert_eq!(approved["status"], "approved");
}

#[cfg(unix)]
#[test]
fn links_of_a_clone_lead_nowhere_outside_of_it() {
    use std::fs::{create_dir_all, read_to_string, remove_file, write};
    use std::os::unix::fs::symlink;
    let environment = Environment::new();
    write_entry(&environment, "p-1a", "Tests need a database", "approved");
    let clone = environment.home().join("clone");
    create_dir_all(clone.join(".git/hooks")).unwrap();
    create_dir_all(clone.join("docs")).unwrap();
    let outside = environment.write(".bashrc", "alias x=y\n");
    let hook = clone.join(".git/hooks/post-checkout");
    write(&hook, "#!/bin/sh\n").unwrap();
    let target = clone.join("AGENTS.md");
    let large = environment.home().join("clone/large");
    std::fs::File::create(&large)
        .unwrap()
        .set_len(32 << 20)
        .unwrap();
    for (link, reason) in [
        ("../.bashrc", "leads out of"),
        ("/dev/zero", "leads out of"),
        ("../../nowhere", "leads nowhere"),
        (".git/hooks/post-checkout", "a file of git"),
        ("large", "larger than 16 MiB"),
        ("docs", "not a regular file"),
    ] {
        symlink(link, &target).unwrap();
        for command in ["publish", "unpublish"] {
            let outcome = run_in(
                &environment,
                "clone",
                &["patterns", command, "--to", "AGENTS.md"],
            );
            assert_eq!(outcome.code, 2, "{link} {command}: {}", outcome.stderr);
            assert!(
                outcome.stderr.contains(reason),
                "{link}: {}",
                outcome.stderr
            );
        }
        remove_file(&target).unwrap();
    }
    assert_eq!(read_to_string(&outside).unwrap(), "alias x=y\n");
    assert_eq!(read_to_string(&hook).unwrap(), "#!/bin/sh\n");
    nix::unistd::mkfifo(&target, nix::sys::stat::Mode::S_IRWXU).unwrap();
    for command in ["publish", "unpublish"] {
        let outcome = run_in(&environment, "clone", &["patterns", command]);
        assert!(
            outcome.stderr.contains("not a regular file"),
            "{}",
            outcome.stderr
        );
    }
    remove_file(&target).unwrap();
    // A folder of the clone that leads out of it.
    symlink("..", clone.join("up")).unwrap();
    let outcome = run_in(
        &environment,
        "clone",
        &["patterns", "publish", "--to", "up/.bashrc"],
    );
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    // What people do: one file under two names, and a path with `..` in it.
    write(&target, "ours\n").unwrap();
    symlink("AGENTS.md", clone.join("CLAUDE.md")).unwrap();
    for to in ["CLAUDE.md", "../clone/AGENTS.md"] {
        for command in ["publish", "unpublish"] {
            let outcome = run_in(&environment, "clone", &["patterns", command, "--to", to]);
            assert_eq!(outcome.code, 0, "{to}: {}", outcome.stderr);
            let text = read_to_string(&target).unwrap();
            assert_eq!(text != "ours\n", command == "publish", "{to}: {text}");
        }
    }
}

#[test]
fn procedures_are_published_as_skills_and_a_dry_run_writes_nothing() {
    let environment = Environment::new();
    write_entry(&environment, "p-1", "Tests need a database", "approved");
    let procedure = environment.write(
        ".config/backstory/patterns/p-2.toml",
        "id = \"p-2\"\nkind = \"success\"\ntitle = \"before a commit: `cargo fmt`, then `cargo test`\"\nadvice = \"Before a commit, run `cargo fmt`, then `cargo test`.\"\nstatus = \"approved\"\n",
    );
    environment.write("shop/.git/HEAD", "ref: refs/heads/main\n");
    let shop = environment.home().join("shop");
    let publish = |more: &[&str]| {
        let outcome = run_in(
            &environment,
            "shop",
            &[&["patterns", "publish", "--skills"], more].concat(),
        );
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        outcome
    };
    let shown = publish(&["--dry-run"]).stdout;
    assert!(
        shown.contains("+- Tests need a database.") && shown.contains("+name: before-a-commit-p-2"),
        "{shown}"
    );
    assert!(!shop.join("AGENTS.md").exists() && !shop.join(".agents").exists());
    publish(&[]);
    let skill = shop.join(".agents/skills/before-a-commit-p-2/SKILL.md");
    assert!(
        std::fs::read_to_string(&skill)
            .unwrap()
            .contains("run `cargo fmt`, then `cargo test`. (p-2)")
    );
    let agents = std::fs::read_to_string(shop.join("AGENTS.md")).unwrap();
    assert!(
        agents.contains("(p-1)") && !agents.contains("(p-2)"),
        "{agents}"
    );
    // It goes with its approval.
    let rejected = std::fs::read_to_string(&procedure)
        .unwrap()
        .replace("\"approved\"", "\"rejected\"");
    std::fs::write(&procedure, rejected).unwrap();
    let outcome = publish(&[]);
    assert!(
        outcome
            .stderr
            .contains("removed .agents/skills/before-a-commit-p-2/SKILL.md"),
        "{}",
        outcome.stderr
    );
    assert!(!skill.exists());
    assert_eq!(
        run_in(
            &environment,
            "shop",
            &["patterns", "publish", "--skills", "--to", "x.md"]
        )
        .code,
        2
    );
}

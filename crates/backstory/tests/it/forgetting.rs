//! Forgetting beyond the store: the pattern catalogue, files that agents read, the spool.

use std::path::PathBuf;

use serde_json::Value;

use crate::environment::{Environment, Outcome, claude_id, prompt};

const CATALOGUE: &str = ".config/backstory/patterns";
/// What only the newest session says.
const MARKER: &str = "zanzibarquartz";

/// Three sessions in which a user had to say the same; the pattern of that is approved, and published in a repository.
fn published() -> (Environment, PathBuf) {
    let environment = Environment::new();
    for (session, word) in [(1, "please"), (2, "once more"), (3, MARKER)] {
        let correction = format!("no, don't use the shared staging database for tests {word}");
        let lines = [
            prompt(session, session * 10, &format!("write tests {session}")),
            prompt(session, session * 10 + 1, &correction),
        ];
        environment.claude(session, &lines);
    }
    environment.sweep();
    let candidates = environment.json(&["patterns"]);
    let pattern = &candidates["patterns"][0];
    assert_eq!(pattern["sessions"].as_array().unwrap().len(), 3);
    let id = pattern["id"].as_str().unwrap();
    assert_eq!(environment.run(&["patterns", "approve", id]).code, 0);
    environment.write("shop/.git/HEAD", "ref: refs/heads/main\n");
    let agents = environment.write("shop/AGENTS.md", "# Rules\n\nBe kind.\n");
    let mut publish = environment.command(&["patterns", "publish"]);
    let publish = publish.current_dir(environment.home().join("shop"));
    assert!(publish.status().unwrap().success());
    assert!(text(&agents).contains(MARKER));
    let entry = environment
        .home()
        .join(CATALOGUE)
        .join(format!("{id}.toml"));
    assert!(text(&entry).contains(MARKER) && text(&entry).contains(&claude_id(3)));
    (environment, entry)
}

fn text(path: &std::path::Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// Runs in the repository.
fn in_shop(environment: &Environment, arguments: &[&str]) -> Outcome {
    let mut command = environment.command(arguments);
    Outcome::of(
        &command
            .current_dir(environment.home().join("shop"))
            .output()
            .unwrap(),
    )
}

#[test]
fn forget_takes_text_out_of_the_catalogue_and_published_blocks() {
    let (environment, entry) = published();
    let agents = environment.home().join("shop/AGENTS.md");
    let plan = in_shop(
        &environment,
        &["forget", &claude_id(3), "--dry-run", "--json"],
    );
    let plan: Value = serde_json::from_str(&plan.stdout).unwrap();
    assert_eq!(plan["catalogue"][0], entry.to_str().unwrap());
    assert_eq!(plan["published"][0], agents.to_str().unwrap());
    let report = in_shop(&environment, &["forget", &claude_id(3), "--yes"]);
    assert_eq!(report.code, 0, "{}", report.stderr);
    assert!(
        report.stdout.contains("Verified: no trace left ("),
        "{}",
        report.stdout
    );
    let log = environment.home().join(crate::environment::claude_path(3));
    assert!(
        report.stdout.contains(log.to_str().unwrap()),
        "{}",
        report.stdout
    );
    // The other two still have the pattern, and their words describe it.
    for file in [&entry, &agents] {
        let text = text(file);
        assert!(
            !text.contains(MARKER) && !text.contains(&claude_id(3)),
            "{text}"
        );
        assert!(
            text.contains("staging database for tests once more"),
            "{text}"
        );
    }
    assert!(text(&agents).starts_with("# Rules\n\nBe kind.\n"));
    let entry_text = text(&entry);
    assert!(
        entry_text.contains("sessions = 2") && entry_text.contains(&claude_id(2)),
        "{entry_text}"
    );
    // Without the last of them nothing supports it.
    let report = in_shop(
        &environment,
        &["forget", "--project", "/home/ada/shop", "--yes"],
    );
    assert_eq!(report.code, 0, "{}", report.stderr);
    assert!(!entry.exists());
    assert_eq!(text(&agents), "# Rules\n\nBe kind.\n");
}

#[test]
fn what_a_person_wrote_about_a_pattern_stays() {
    let (environment, entry) = published();
    let id = entry.file_stem().unwrap().to_str().unwrap();
    let title = [
        "patterns",
        "edit",
        id,
        "--title",
        "Tests have their own database",
    ];
    assert_eq!(environment.run(&title).code, 0);
    let own = text(&entry).replacen("id = ", "# ours\nid = ", 1);
    std::fs::write(&entry, own).unwrap();
    for session in [3, 2, 1] {
        let report = in_shop(&environment, &["forget", &claude_id(session), "--yes"]);
        assert_eq!(report.code, 0, "{}", report.stderr);
    }
    let text = text(&entry);
    assert!(
        text.contains("# ours") && text.contains("Tests have their own database"),
        "{text}"
    );
    assert!(
        !text.contains("staging") && !text.contains("0000-4000"),
        "{text}"
    );
}

#[test]
fn forget_names_published_files_when_nobody_can_be_asked() {
    let (environment, _) = published();
    let agents = environment.home().join("shop/AGENTS.md");
    let refused = in_shop(&environment, &["forget", &claude_id(3)]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains(agents.to_str().unwrap()),
        "{}",
        refused.stderr
    );
    assert!(text(&agents).contains(MARKER));
    assert_eq!(environment.run(&["show", &claude_id(3)]).code, 0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_published_file_that_may_not_be_changed_is_named_and_the_exit_code_tells() {
    use std::io::Write;
    let (environment, entry) = published();
    let agents = environment.home().join("shop/AGENTS.md");
    let terminal = nix::pty::openpty(None, None).unwrap();
    let mut command = environment.command(&["forget", &claude_id(3)]);
    command
        .current_dir(environment.home().join("shop"))
        .stdin(terminal.slave);
    std::fs::File::from(terminal.master.try_clone().unwrap())
        .write_all(b"y\nn\n")
        .unwrap();
    let outcome = Outcome::of(&command.output().unwrap());
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("Rewrite the block? [y/N]"),
        "{}",
        outcome.stderr
    );
    assert!(
        outcome.stderr.contains("text may be left in")
            && outcome.stderr.contains(agents.to_str().unwrap())
    );
    // The block is searched, so it is not said that nothing is left.
    assert!(
        outcome.stdout.contains("Found in ") && !outcome.stdout.contains("Verified"),
        "{}",
        outcome.stdout
    );
    assert!(text(&agents).contains(MARKER) && !text(&entry).contains(MARKER));
}

#[test]
fn forget_searches_catalogue_files_that_it_cannot_read() {
    let (environment, _) = published();
    let broken = environment.write(
        &format!("{CATALOGUE}/p-broken.toml"),
        format!("seen {}", claude_id(3)),
    );
    let outcome = in_shop(&environment, &["forget", &claude_id(3), "--yes"]);
    // It says why, and nothing that cannot be done: the session is gone, so forgetting it again is no remedy.
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    let named = format!(
        "text may be left in {}: it is not read: TOML",
        broken.display()
    );
    assert!(
        outcome.stderr.contains(&named) && !outcome.stderr.contains("forget` again"),
        "{}",
        outcome.stderr
    );
}

#[cfg(unix)]
#[test]
fn forget_names_a_catalogue_file_that_others_can_write_and_the_remedy() {
    use std::os::unix::fs::PermissionsExt;
    let (environment, entry) = published();
    std::fs::set_permissions(&entry, std::fs::Permissions::from_mode(0o666)).unwrap();
    let remedy = format!("chmod go-w {}", entry.display());
    for (mode, code) in [("--dry-run", 0), ("--yes", 1)] {
        let outcome = in_shop(&environment, &["forget", &claude_id(3), mode]);
        assert_eq!(outcome.code, code, "{}", outcome.stderr);
        assert!(outcome.stderr.contains(&remedy), "{}", outcome.stderr);
        assert!(
            outcome.stderr.contains("others can write it (mode 666)"),
            "{}",
            outcome.stderr
        );
    }
}

#[test]
fn a_file_that_a_hook_named_and_nobody_read_is_not_to_be_deleted() {
    let environment = Environment::new();
    let named = environment.write("important.txt", "not a log");
    let hooks = [
        serde_json::json!({"hook_event_name": "UserPromptSubmit", "prompt": "platypus"}),
        serde_json::json!({"hook_event_name": "Stop"}),
    ];
    for mut input in hooks {
        input["session_id"] = claude_id(1).into();
        input["transcript_path"] = named.to_str().unwrap().into();
        input["cwd"] = "/home/ada/shop".into();
        let input = input.to_string();
        environment.feed(&["hook", "claude-code"], input.as_bytes());
    }
    let outcome = environment.run(&["forget", &claude_id(1), "--yes"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.stdout.contains("Forgot 1 session"));
    assert!(
        !outcome.stdout.contains("important.txt"),
        "{}",
        outcome.stdout
    );
}

#[cfg(unix)]
#[test]
fn a_dry_run_lists_what_the_real_run_does() {
    let (environment, _) = published();
    let agents = environment.home().join("shop/AGENTS.md");
    let link = environment.home().join("shop/CLAUDE.md");
    std::os::unix::fs::symlink("AGENTS.md", &link).unwrap();
    let publish = in_shop(
        &environment,
        &["patterns", "publish", "--to", link.to_str().unwrap()],
    );
    assert_eq!(publish.code, 0, "{}", publish.stderr);
    let plan = in_shop(&environment, &["forget", &claude_id(3), "--dry-run"]);
    assert_eq!(plan.code, 0, "{}", plan.stderr);
    let rewritten = format!("{} would be rewritten", agents.display());
    assert!(plan.stdout.contains(&rewritten), "{}", plan.stdout);
    assert!(!plan.stdout.contains("CLAUDE.md"), "{}", plan.stdout);
    let log = environment.home().join(crate::environment::claude_path(3));
    let kept = format!("would keep the text:\n  {}\n", log.display());
    assert!(plan.stdout.contains(&kept), "{}", plan.stdout);
    // The title comes from another session, so the block does not change.
    let unchanged = in_shop(&environment, &["forget", &claude_id(1), "--dry-run"]);
    let report = in_shop(&environment, &["forget", &claude_id(1), "--yes"]);
    assert_eq!(
        unchanged.stdout.contains("AGENTS.md would be rewritten"),
        report.stdout.contains("AGENTS.md"),
        "{}{}",
        unchanged.stdout,
        report.stdout
    );
}

#[test]
fn a_file_that_was_deleted_is_not_called_rewritten() {
    let (environment, entry) = published();
    let all = ["forget", "--project", "/home/ada/shop", "--yes"];
    let report = in_shop(&environment, &all);
    assert_eq!(report.code, 0, "{}", report.stderr);
    assert!(!entry.exists());
    let (_, removed) = report.stdout.split_once("Removed:\n").unwrap();
    assert!(
        removed.contains(entry.to_str().unwrap()),
        "{}",
        report.stdout
    );
}

/// Records what is to be forgotten, as a process does that is stopped right after it.
fn keep_intent(environment: &Environment, intent: &Value) {
    let database = rusqlite::Connection::open(environment.store().join("backstory.db")).unwrap();
    database
        .execute(
            "INSERT INTO settings (name, value) VALUES ('forget-intent', ?1)",
            [intent.to_string().into_bytes()],
        )
        .unwrap();
}

#[test]
fn a_clean_up_that_is_resumed_reports_what_was_left_and_hides_no_typo() {
    let (environment, _) = published();
    // As it is when a process was stopped between the transaction and the clean-up.
    let intent = serde_json::json!({
        "sessions": [[77, claude_id(9)]],
        "catalogue": null,
        "published": [],
        "spool": [],
        "declined": ["/home/ada/declined.md"],
    });
    keep_intent(&environment, &intent);
    let outcome = in_shop(&environment, &["forget", &claude_id(9)[..8], "--yes"]);
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("/home/ada/declined.md")
            && !outcome.stderr.contains("no session has"),
        "{}",
        outcome.stderr
    );
    keep_intent(&environment, &intent);
    let outcome = in_shop(&environment, &["forget", "feedbeef", "--yes"]);
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    for part in ["/home/ada/declined.md", "begins with \"feedbeef\""] {
        assert!(outcome.stderr.contains(part), "{}", outcome.stderr);
    }
    keep_intent(&environment, &intent);
    // The error of the resumed run does not hide the one of this run.
    std::fs::remove_file(environment.home().join("shop/AGENTS.md")).unwrap();
    let outcome = in_shop(&environment, &["forget", &claude_id(3), "--yes"]);
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    for part in [
        "/home/ada/declined.md",
        "AGENTS.md: a pattern was published there",
    ] {
        assert!(outcome.stderr.contains(part), "{}", outcome.stderr);
    }
    keep_intent(&environment, &intent);
    let problems = environment.sweep()["problems"].to_string();
    assert!(problems.contains("/home/ada/declined.md"), "{problems}");
}

#[test]
fn captures_that_wait_are_forgotten_and_so_is_what_nobody_could_read() {
    let environment = Environment::new();
    environment.claude(1, &[prompt(1, 0, "the first"), prompt(1, 1, MARKER)]);
    environment.claude(2, &[prompt(2, 2, "the second")]);
    environment.sweep();
    let spool = environment.store().join("spool");
    std::fs::create_dir_all(&spool).unwrap();
    let unreadable = spool.join("000-1.unreadable");
    std::fs::write(
        &unreadable,
        format!("{{\"session_id\":\"{}\", {MARKER}", claude_id(1)),
    )
    .unwrap();
    let other = spool.join("000-2.unreadable");
    std::fs::write(&other, "something else").unwrap();
    let report = environment.json(&["forget", &claude_id(1), "--yes"]);
    assert_eq!(report["proof"]["found"], 0);
    assert!(!unreadable.exists() && other.exists());
    assert_eq!(report["agent_logs"].as_array().unwrap().len(), 1);
}

#[test]
fn a_dry_run_leaves_the_spool_the_catalogue_and_the_index_alone() {
    let (environment, entry) = published();
    let spool = environment.store().join("spool");
    std::fs::create_dir_all(&spool).unwrap();
    std::fs::write(spool.join("000-1.json"), "half a captu").unwrap();
    // Without its index a search reads all, and a damaged one would be made anew.
    std::fs::remove_dir_all(environment.store().join("index")).unwrap();
    let look = || (environment.stored_files(), text(&entry));
    let before = look();
    for which in [&[&*claude_id(3)][..], &["--query", MARKER]] {
        let outcome = in_shop(&environment, &[&["forget", "--dry-run"], which].concat());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert!(
            outcome.stderr.contains("1 capture is in the spool"),
            "{}",
            outcome.stderr
        );
        assert!(look() == before, "{which:?} wrote something");
    }
}

#[test]
fn a_published_file_that_is_not_found_is_named_and_the_exit_code_tells() {
    let (environment, _) = published();
    let agents = environment.home().join("shop/AGENTS.md");
    std::fs::rename(&agents, environment.home().join("moved.md")).unwrap();
    let report = in_shop(&environment, &["forget", &claude_id(3), "--yes"]);
    assert_eq!(report.code, 1, "{}", report.stdout);
    assert!(
        report
            .stderr
            .contains("AGENTS.md: a pattern was published there, and it was not found"),
        "{}",
        report.stderr
    );
    assert_eq!(environment.run(&["show", &claude_id(3)]).code, 1);
}

#[test]
fn a_published_file_with_a_broken_block_is_named_and_the_exit_code_tells() {
    let (environment, _) = published();
    let agents = environment.home().join("shop/AGENTS.md");
    let broken = text(&agents).replace("<!-- /backstory:patterns -->", "");
    std::fs::write(&agents, broken).unwrap();
    let report = in_shop(&environment, &["forget", &claude_id(3), "--yes"]);
    assert_eq!(report.code, 1, "{}", report.stdout);
    assert!(
        report.stderr.contains(agents.to_str().unwrap()) && report.stderr.contains("without"),
        "{}",
        report.stderr
    );
    // Once, not again within the reason.
    let named = report.stderr.matches(agents.to_str().unwrap()).count();
    assert_eq!(named, 1, "{}", report.stderr);
}

#[test]
fn all_that_was_rewritten_is_listed() {
    let (environment, entry) = published();
    let agents = environment.home().join("shop/AGENTS.md");
    let spool = environment.store().join("spool");
    std::fs::create_dir_all(&spool).unwrap();
    let capture = spool.join("000-1.unreadable");
    std::fs::write(&capture, claude_id(3)).unwrap();
    let log = environment.store().join("logs/events.jsonl");
    std::fs::create_dir_all(log.parent().unwrap()).unwrap();
    std::fs::write(&log, format!("{{\"detail\":\"{}\"}}\n", claude_id(3))).unwrap();
    let report = in_shop(&environment, &["forget", &claude_id(3), "--yes", "--json"]);
    assert_eq!(report.code, 0, "{}", report.stderr);
    let report: Value = serde_json::from_str(&report.stdout).unwrap();
    let rewritten: Vec<(&str, &str)> = report["rewritten"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| {
            (
                file["place"].as_str().unwrap(),
                file["path"].as_str().unwrap(),
            )
        })
        .collect();
    let store = environment.store();
    for (place, path) in [
        ("database", store.join("backstory.db")),
        ("index", store.join("index")),
        ("published file", agents),
        ("catalogue", entry),
        ("spool", capture),
        ("event log", log),
    ] {
        let path = path.to_str().unwrap();
        assert!(
            rewritten.contains(&(place, path)),
            "{place} {path}: {rewritten:?}"
        );
    }
}

#[test]
fn a_run_that_finishes_an_interrupted_one_reports_what_it_forgot() {
    for json in [false, true] {
        let (environment, entry) = published();
        let agents = environment.home().join("shop/AGENTS.md");
        // As it is when a process was stopped right after it had recorded what to forget.
        let database =
            rusqlite::Connection::open(environment.store().join("backstory.db")).unwrap();
        let row: i64 = database
            .query_row(
                "SELECT id FROM sessions WHERE session = ?1",
                [claude_id(3)],
                |row| row.get(0),
            )
            .unwrap();
        let intent = serde_json::json!({
            "sessions": [[row, claude_id(3)]],
            "catalogue": entry.parent().unwrap(),
            "published": [agents],
            "spool": [],
            "missing": ["~/gone/AGENTS.md"],
        });
        database
            .execute(
                "INSERT INTO settings (name, value) VALUES ('forget-intent', ?1)",
                [intent.to_string().into_bytes()],
            )
            .unwrap();
        drop(database);
        let arguments = ["forget", &claude_id(3), "--yes", "--json"];
        let outcome = in_shop(&environment, &arguments[..if json { 4 } else { 3 }]);
        // The file that was not found then is not found now either.
        assert_eq!(outcome.code, 1, "{}", outcome.stderr);
        assert!(
            outcome.stderr.contains("~/gone/AGENTS.md"),
            "{}",
            outcome.stderr
        );
        assert!(
            !outcome.stderr.contains("no session has"),
            "{}",
            outcome.stderr
        );
        if json {
            let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
            assert_eq!(report["resumed"]["sessions"][0]["session"], claude_id(3));
            assert_eq!(report["resumed"]["proof"]["found"], 0);
        } else {
            assert!(
                outcome.stderr.contains(&claude_id(3))
                    && outcome.stdout.contains("Forgot 1 session"),
                "{}{}",
                outcome.stdout,
                outcome.stderr
            );
            assert!(
                outcome.stdout.contains(agents.to_str().unwrap()),
                "{}",
                outcome.stdout
            );
        }
        assert!(!text(&agents).contains(MARKER));
        assert_eq!(
            in_shop(&environment, &["forget", &claude_id(3), "--yes"]).code,
            1
        );
    }
}

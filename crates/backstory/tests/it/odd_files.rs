//! Something else in the place of a file of ours, and files that somebody else could have written: named, not waited for, not obeyed.

use std::fs::{Permissions, create_dir_all, set_permissions, write};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::stat::Mode;
use nix::unistd::{geteuid, mkfifo};

use crate::environment::{Environment, Outcome, claude_id, prompt};

/// A user that is not the one of this process.
const NOBODY: u32 = 65534;

/// Longer than any of these commands takes.
const PATIENCE: Duration = Duration::from_secs(30);

fn set_mode(path: &Path, mode: u32) {
    set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Gives a file or folder away; `false` when this process may not.
fn give_away(path: &Path) -> bool {
    geteuid().is_root() && chown(path, Some(NOBODY), Some(NOBODY)).is_ok()
}

/// Runs a command that must not wait for anything.
fn run_promptly(command: &mut Command) -> Outcome {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > PATIENCE {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let outcome = Outcome::of(&child.wait_with_output().unwrap());
    assert!(started.elapsed() < PATIENCE, "{command:?} waits");
    outcome
}

fn swept() -> Environment {
    let environment = Environment::new();
    environment.claude(1, &[prompt(1, 0, "a common story")]);
    environment.sweep();
    environment
}

fn make_odd(path: &Path, kind: &str) {
    match kind {
        "a FIFO" => mkfifo(path, Mode::S_IRWXU).unwrap(),
        "a socket" => drop(UnixListener::bind(path).unwrap()),
        "a device" => symlink("/dev/zero", path).unwrap(),
        "a regular file" => write(path, "words").unwrap(),
        _ => create_dir_all(path.join("inner")).unwrap(),
    }
}

#[test]
fn anything_else_in_the_place_of_a_file_of_the_store_is_named() {
    let special = ["a FIFO", "a socket", "a device"];
    let places = [
        ("backstory.db", "a folder"),
        ("backstory.db-wal", "a folder"),
        ("backstory.db-shm", "a folder"),
        ("index", "a regular file"),
        ("vectors", "a regular file"),
    ];
    for (place, other) in places {
        for kind in special.into_iter().chain([other]) {
            let environment = swept();
            let path = environment.store().join(place);
            let _ = std::fs::remove_file(&path);
            let _ = std::fs::remove_dir_all(&path);
            make_odd(&path, kind);
            for arguments in [
                &["sweep"][..],
                &["sweep", "--dry-run"],
                &["sessions"],
                &["search", "common"],
                &["show", &claude_id(1)],
                &["doctor"],
                &["retain", "--dry-run"],
                &["forget", &claude_id(1), "--dry-run"],
            ] {
                let outcome = run_promptly(&mut environment.command(arguments));
                let said = format!("{}{}", outcome.stdout, outcome.stderr);
                assert!(outcome.code > 0, "{kind} as {place}: {arguments:?}: {said}");
                let path = path.to_str().unwrap();
                // Who owns a device is told first.
                let is_named = said.contains(kind) || said.contains("belongs to user");
                assert!(
                    said.contains(path) && is_named,
                    "{kind} as {place}: {arguments:?}: {said}"
                );
                assert!(!said.contains("all is well"), "{said}");
            }
        }
    }
}

#[test]
fn a_pipe_in_the_place_of_a_lock_a_log_or_a_part_of_the_index_is_not_waited_for() {
    for place in ["sweep.lock", "logs/events.jsonl"] {
        let environment = swept();
        let path = environment.store().join(place);
        create_dir_all(path.parent().unwrap()).unwrap();
        let _ = std::fs::remove_file(&path);
        make_odd(&path, "a FIFO");
        let outcome = run_promptly(&mut environment.command(&["sweep"]));
        if place == "sweep.lock" {
            assert!(
                outcome.code > 0 && outcome.stderr.contains("a FIFO"),
                "{}",
                outcome.stderr
            );
        }
    }
    let environment = swept();
    let index = environment.store().join("index");
    let files = crate::environment::files_below(&index);
    assert!(!files.is_empty());
    for path in files {
        std::fs::remove_file(&path).unwrap();
        make_odd(&path, "a FIFO");
    }
    assert_eq!(run_promptly(&mut environment.command(&["doctor"])).code, 1);
    // Which makes it anew.
    let outcome = run_promptly(&mut environment.command(&["search", "common"]));
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.stdout.contains("a common story"));
    assert_eq!(run_promptly(&mut environment.command(&["doctor"])).code, 0);
}

#[test]
fn what_somebody_else_left_in_the_store_is_refused_whatever_its_mode_is_now() {
    let places = [
        "backstory.db-wal",
        "backstory.db-shm",
        "index",
        "vectors",
        "logs",
        "models",
        "spool",
    ];
    for place in places {
        let environment = swept();
        let path = environment.store().join(place);
        if !path.exists() {
            match place.starts_with("backstory.db") {
                true => write(&path, "").unwrap(),
                false => create_dir_all(&path).unwrap(),
            }
        }
        if !give_away(&path) {
            return;
        }
        set_mode(&environment.store(), 0o700);
        for arguments in [
            &["sweep"][..],
            &["sweep", "--dry-run"],
            &["sessions"],
            &["search", "common"],
            &["doctor"],
        ] {
            let outcome = run_promptly(&mut environment.command(arguments));
            let said = format!("{}{}", outcome.stdout, outcome.stderr);
            assert!(outcome.code > 0, "{place}: {arguments:?}: {said}");
            assert!(
                said.contains(path.to_str().unwrap())
                    && said.contains("belongs to user 65534")
                    && said.contains("remove what is not yours"),
                "{place}: {arguments:?}: {said}"
            );
        }
        let told = format!(
            r#"{{"session_id":"{}","hook_event_name":"UserPromptSubmit","prompt":"xyzzy"}}"#,
            claude_id(2)
        );
        let hook = ["hook", "UserPromptSubmit", "--agent", "claude-code"];
        assert_eq!(environment.feed(&hook, told.as_bytes()).code, 0);
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            assert!(
                !bytes.windows(5).any(|window| window == b"xyzzy"),
                "{place}"
            );
        }
    }
}

#[test]
fn a_link_in_the_place_of_the_log_is_not_written_through() {
    let environment = swept();
    let log = environment.store().join("logs/events.jsonl");
    let target = environment.write("target.txt", "mine\n");
    create_dir_all(log.parent().unwrap()).unwrap();
    let _ = std::fs::remove_file(&log);
    symlink(&target, &log).unwrap();
    if !geteuid().is_root() {
        return;
    }
    std::os::unix::fs::lchown(&log, Some(NOBODY), Some(NOBODY)).unwrap();
    let told = format!(
        r#"{{"session_id":"{}","hook_event_name":"UserPromptSubmit","prompt":"xyzzy"}}"#,
        claude_id(2)
    );
    let hook = ["hook", "UserPromptSubmit", "--agent", "claude-code"];
    assert_eq!(environment.feed(&hook, told.as_bytes()).code, 0);
    environment.run(&["sweep"]);
    assert_eq!(std::fs::read(&target).unwrap(), b"mine\n");
}

#[test]
fn a_file_of_somebody_else_in_the_index_has_it_made_anew() {
    for is_link in [false, true] {
        let environment = swept();
        let files = crate::environment::files_below(&environment.store().join("index"));
        let file = files
            .iter()
            .find(|file| file.ends_with("meta.json"))
            .unwrap();
        if is_link {
            let aside = environment.home().join("meta.json");
            std::fs::rename(file, &aside).unwrap();
            symlink(&aside, file).unwrap();
        } else if !give_away(file) {
            continue;
        }
        assert_eq!(environment.run(&["doctor"]).code, 1);
        let outcome = run_promptly(&mut environment.command(&["search", "common"]));
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert!(outcome.stdout.contains("a common story"));
        assert_eq!(environment.run(&["doctor"]).code, 0);
        assert!(!file.exists());
    }
}

#[test]
fn captures_that_could_not_be_read_are_named_until_they_are_removed() {
    let environment = swept();
    let spool = environment.store().join("spool");
    create_dir_all(&spool).unwrap();
    set_mode(&spool, 0o700);
    for name in ["000-1.json", "000-2.json"] {
        write(spool.join(name), "half a captu").unwrap();
    }
    for _ in 0..2 {
        let outcome = environment.run(&["sweep"]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        for part in [
            spool.to_str().unwrap(),
            "2 captures could not be read",
            "000-1.unreadable, 000-2.unreadable",
            "delete the `.unreadable` files",
        ] {
            assert!(outcome.stdout.contains(part), "{part}: {}", outcome.stdout);
        }
        let problems = environment.sweep()["problems"].clone();
        assert_eq!(problems.as_array().unwrap().len(), 1, "{problems}");
    }
    let outcome = environment.run(&["doctor"]);
    assert_eq!(outcome.code, 1);
    assert!(
        outcome.stdout.contains("2 captures could not be read"),
        "{}",
        outcome.stdout
    );
    std::fs::remove_file(spool.join("000-1.unreadable")).unwrap();
    let outcome = environment.run(&["doctor"]);
    assert!(
        outcome.stdout.contains("1 capture could not be read"),
        "{}",
        outcome.stdout
    );
    std::fs::remove_file(spool.join("000-2.unreadable")).unwrap();
    assert_eq!(environment.run(&["doctor"]).code, 0);
}

#[test]
fn a_configuration_that_somebody_else_could_have_written_is_not_obeyed() {
    let environment = swept();
    let elsewhere = environment.home().join("elsewhere");
    let text = format!("redact = \"off\"\nstore = {elsewhere:?}\n");
    let path = environment.write(".config/backstory/config.toml", &text);
    let check = |arguments: &[&str], reason: Option<&str>| {
        let outcome = run_promptly(&mut environment.command(arguments));
        match reason {
            None => assert_eq!(outcome.code, 0, "{arguments:?}: {}", outcome.stderr),
            Some(reason) => {
                assert_eq!(outcome.code, 2, "{arguments:?}: {}", outcome.stderr);
                assert!(
                    outcome.stderr.contains(reason) && outcome.stderr.contains("hint: "),
                    "{reason}: {}",
                    outcome.stderr
                );
            }
        }
    };
    set_mode(&path, 0o644);
    check(&["sessions"], None);
    for mode in [0o646, 0o666] {
        set_mode(&path, mode);
        for arguments in [
            &["sessions"][..],
            &["doctor"],
            &["config", "set", "redact", "off"],
        ] {
            check(arguments, Some("others can write it"));
        }
    }
    set_mode(&path, 0o600);
    let link = environment.home().join("link.toml");
    symlink(&path, &link).unwrap();
    // Many keep their settings elsewhere and have links to them.
    check(&["--config", link.to_str().unwrap(), "sessions"], None);
    if give_away(&path) {
        check(&["sessions"], Some("belongs to user 65534"));
        let named = link.to_str().unwrap();
        check(&["--config", named, "sessions"], Some("user 65534"));
        // A hook goes on, with all defaults.
        let input = format!(
            r#"{{"session_id":"{}","hook_event_name":"UserPromptSubmit","prompt":"token ghp_{}"}}"#,
            claude_id(2),
            "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
        );
        let arguments = ["hook", "UserPromptSubmit", "--agent", "claude-code"];
        assert_eq!(environment.feed(&arguments, input.as_bytes()).code, 0);
        let files = environment.stored_files();
        assert!(!elsewhere.exists() && !files.is_empty());
        let secret = b"ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
        assert!(
            files
                .iter()
                .all(|(_, bytes)| memchr::memmem::find(bytes, secret).is_none())
        );
        chown(&path, Some(0), Some(0)).unwrap();
    }
    for kind in ["a FIFO", "a socket", "a device", "a folder"] {
        let _ = std::fs::remove_file(&path);
        make_odd(&path, kind);
        for arguments in [&["sessions"][..], &["doctor"]] {
            check(arguments, Some("it is not a regular file"));
        }
    }
    std::fs::remove_dir_all(&path).unwrap();
    check(&["sessions"], None);
}

#[test]
fn settings_of_agents_that_others_can_write_are_not_edited() {
    let environment = swept();
    let path = environment.write(".claude/settings.json", "{}\n");
    set_mode(&path, 0o646);
    let outcome = environment.run(&["setup", "claude-code"]);
    assert!(outcome.code > 0, "{}", outcome.stdout);
    let said = format!("{}{}", outcome.stdout, outcome.stderr);
    assert!(said.contains("others can write it"), "{said}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}\n");
    set_mode(&path, 0o644);
    assert_eq!(environment.run(&["setup", "claude-code"]).code, 0);
}

#[test]
fn queries_are_read_from_regular_files_only() {
    let environment = swept();
    let pipe = environment.home().join("pipe.jsonl");
    mkfifo(&pipe, Mode::S_IRWXU).unwrap();
    let large = environment.home().join("large.jsonl");
    let file = std::fs::File::create(&large).unwrap();
    file.set_len(65 << 20).unwrap();
    for (path, reason) in [
        (Path::new("/dev/zero"), "not a regular file"),
        (&pipe, "not a regular file"),
        (&large, "larger than 64 MiB"),
    ] {
        let path = path.to_str().unwrap();
        let outcome = run_promptly(&mut environment.command(&["eval", "retrieval", path]));
        assert_eq!(outcome.code, 2, "{path}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(reason), "{}", outcome.stderr);
    }
}

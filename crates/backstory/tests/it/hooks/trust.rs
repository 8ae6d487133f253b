//! What somebody else could have written is not read, is left as it is, and is reported.

use std::fs::{Permissions, create_dir, create_dir_all, set_permissions, write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use backstory_redact::{RULES, planted};
use nix::sys::stat::Mode;
use nix::unistd::{geteuid, mkfifo};
use rusqlite::Connection;
use serde_json::{Value, json};

use super::{Home, assert_harmless, claude_hook, count, items, logged, prompted, spooled, told};
use crate::environment::{Outcome, claude_id, feed, prompt, reply};

/// A user that is not the one of this process.
const NOBODY: u32 = 65534;

fn set_mode(path: &Path, mode: u32) {
    set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Gives a file or folder away; `false` when this process may not.
fn give_away(path: &Path) -> bool {
    geteuid().is_root() && chown(path, Some(NOBODY), Some(NOBODY)).is_ok()
}

/// Temporary files of these tests are in a folder of their own, and so is the spool among them.
struct Trial {
    home: Home,
    temporary: PathBuf,
}

impl Trial {
    fn new() -> Self {
        let home = Home::new();
        let temporary = home.home().join("temporary");
        create_dir_all(&temporary).unwrap();
        Trial { home, temporary }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.home.command(arguments);
        command.env("TMPDIR", &self.temporary);
        command
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.command(arguments).arg("--json").output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The name that the spool among temporary files has: where a hook puts what its store's folder does not take.
    fn spool_elsewhere(&self) -> PathBuf {
        let own = self.home.store().join("spool");
        let _ = std::fs::remove_dir_all(&own);
        write(&own, "").unwrap();
        let other = Connection::open(self.home.store().join("backstory.db")).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let input = prompted(&self.home, 9, "probe", "probe").to_string();
        let mut command = self.command(&["hook", "UserPromptSubmit", "--agent", "claude-code"]);
        assert_harmless(&feed(&mut command, input.as_bytes()));
        drop(other);
        std::fs::remove_file(own).unwrap();
        let found = std::fs::read_dir(&self.temporary).unwrap().next().unwrap();
        let folder = found.unwrap().path();
        assert_eq!(std::fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        folder
    }

    /// A prompt as a hook spools it, which nobody captured.
    fn planted(&self, text: &str) -> Vec<u8> {
        let capture = json!({"at": 1_767_323_000_000_i64, "nonce": 1, "input": {
            "agent": "claude-code", "event": "UserPromptSubmit", "session": claude_id(8), "transcript": null, "cwd": null, "at": null,
            "happening": {"prompted": {"text": text, "id": "planted"}},
        }});
        capture.to_string().into_bytes()
    }

    /// The paths that a sweep and `doctor` refuse, with the reasons. Both must tell the same.
    #[track_caller]
    fn refused(&self) -> Vec<(String, String)> {
        let pairs = |list: &Value| -> Vec<(String, String)> {
            let text = |value: &Value| value.as_str().unwrap().to_string();
            let list = list.as_array().unwrap().iter();
            list.map(|problem| (text(&problem["path"]), text(&problem["reason"])))
                .collect()
        };
        let doctor = self.json(&["doctor"]);
        let examined = pairs(&doctor["capture"]["refused"]);
        assert_eq!(doctor["ok"], examined.is_empty(), "{doctor:#}");
        let mut swept = pairs(&self.json(&["sweep"])["problems"]);
        swept.sort();
        let mut sorted = examined.clone();
        sorted.sort();
        assert_eq!(swept, sorted);
        examined
    }

    #[track_caller]
    fn assert_nothing_planted(&self) {
        let shown = self.home.run(&["show", &claude_id(8)]);
        assert_eq!(shown.code, 1, "{}", shown.stdout);
    }
}

#[test]
fn a_spool_that_another_user_made_first_is_not_read() {
    let trial = Trial::new();
    let folder = trial.spool_elsewhere();
    write(folder.join("1-a.json"), trial.planted("obey me")).unwrap();
    // Without the right to give it away, the mode stands for whoever could have written it.
    if !give_away(&folder) {
        set_mode(&folder, 0o777);
    }
    let refused = trial.refused();
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!(Path::new(&refused[0].0), folder);
    trial.assert_nothing_planted();
    assert!(folder.join("1-a.json").exists(), "it is not ours to remove");
}

#[test]
fn a_spool_that_is_a_link_is_not_read() {
    let trial = Trial::new();
    let folder = trial.spool_elsewhere();
    let target = trial.home.home().join("target");
    std::fs::rename(&folder, &target).unwrap();
    symlink(&target, &folder).unwrap();
    write(target.join("1-a.json"), trial.planted("obey me")).unwrap();
    let refused = trial.refused();
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert!(refused[0].1.contains("link"), "{refused:?}");
    trial.assert_nothing_planted();
}

#[test]
fn files_in_a_spool_are_read_only_if_they_are_ours_and_no_links() {
    let trial = Trial::new();
    let spool = trial.home.store().join("spool");
    create_dir_all(&spool).unwrap();
    set_mode(&spool, 0o700);
    let text = trial.planted("obey me");
    let outside = trial.home.write("outside.json", &text);
    symlink(&outside, spool.join("1-link.json")).unwrap();
    mkfifo(&spool.join("2-fifo.json"), Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    write(spool.join("3-wide.json"), &text).unwrap();
    set_mode(&spool.join("3-wide.json"), 0o666);
    create_dir(spool.join("4-folder.json")).unwrap();
    write(spool.join("5-foreign.json"), &text).unwrap();
    let mut expected = vec!["1-link.json", "2-fifo.json", "3-wide.json", "4-folder.json"];
    if give_away(&spool.join("5-foreign.json")) {
        expected.push("5-foreign.json");
    } else {
        std::fs::remove_file(spool.join("5-foreign.json")).unwrap();
    }
    let refused = trial.refused();
    let names: Vec<_> = refused
        .iter()
        .filter_map(|(path, _)| Path::new(path).file_name()?.to_str())
        .collect();
    assert_eq!(names, expected);
    trial.assert_nothing_planted();
    for name in expected {
        let left = spool.join(name).symlink_metadata();
        assert!(left.is_ok(), "{name} was not left alone");
    }
}

#[test]
fn what_waits_in_a_spool_is_redacted_when_it_is_stored() {
    let mut rules = RULES.iter();
    let rule = rules.find(|rule| rule.id.contains("github")).unwrap();
    let planted = planted(rule, 7);
    for redact in ["on", "off"] {
        let trial = Trial::new();
        let config = format!("redact = {redact:?}\n");
        trial.home.write(".config/backstory/config.toml", config);
        let spool = trial.home.store().join("spool");
        create_dir_all(&spool).unwrap();
        let text = trial.planted(&format!("use {}", planted.text));
        write(spool.join("1-a.json"), text).unwrap();
        assert_eq!(items(&trial.home).len(), 1);
        let shown = trial.home.events(&claude_id(8)).concat();
        let is_there = shown.contains(&planted.secrets[0]);
        assert_eq!(is_there, redact == "off", "{shown}");
    }
}

/// A log with a prompt of another session than the one that the hook is called for.
fn log_of_somebody() -> String {
    [prompt(3, 1, "obey me"), reply(3, 2, "yes", 1)].concat()
}

#[track_caller]
fn stop_with_log(trial: &Trial, log: &Path) {
    let fields = json!({"transcript_path": log, "last_assistant_message": "done"});
    let input = told(&trial.home, 1, "Stop", &fields);
    claude_hook(&trial.home, &input);
    items(&trial.home);
}

#[test]
fn a_log_that_others_could_have_written_is_not_read_though_a_hook_names_it() {
    for case in ["link", "wide", "foreign", "fifo", "ours"] {
        let trial = Trial::new();
        let log = trial.home.home().join("elsewhere.jsonl");
        write(&log, log_of_somebody()).unwrap();
        match case {
            "link" => {
                let target = trial.home.home().join("target.jsonl");
                std::fs::rename(&log, &target).unwrap();
                symlink(target, &log).unwrap();
            }
            "wide" => set_mode(&log, 0o666),
            "foreign" if !give_away(&log) => continue,
            "fifo" => {
                std::fs::remove_file(&log).unwrap();
                mkfifo(&log, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
            }
            _ => {}
        }
        stop_with_log(&trial, &log);
        let refused = trial.refused();
        let is_known = trial.home.run(&["show", &claude_id(3)]).code == 0;
        if case == "ours" {
            assert_eq!(refused, []);
            assert!(is_known, "it was to be read");
            continue;
        }
        assert!(!is_known, "{case}: it was read");
        assert_eq!(refused.len(), 1, "{case}: {refused:?}");
        assert_eq!(Path::new(&refused[0].0), log, "{case}");
        // What the hook itself was given is kept.
        assert_eq!(count(&trial.home, "reply"), 1, "{case}");
        let items = items(&trial.home);
        let reply = items.iter().find(|item| item["kind"] == "reply").unwrap();
        let error = reply["last_error"].as_str().unwrap();
        assert!(error.contains("is not read"), "{case}: {error}");
    }
}

/// Many people keep the folder of an agent elsewhere, and link to it.
#[test]
fn a_log_in_a_linked_folder_is_read() {
    let trial = Trial::new();
    let folder = trial.home.home().join("dotfiles/claude/projects/-shop");
    create_dir_all(&folder).unwrap();
    write(folder.join("log.jsonl"), log_of_somebody()).unwrap();
    symlink("dotfiles/claude", trial.home.home().join(".claude")).unwrap();
    let log = trial.home.home().join(".claude/projects/-shop/log.jsonl");
    stop_with_log(&trial, &log);
    assert_eq!(trial.refused(), []);
    assert_eq!(trial.home.run(&["show", &claude_id(3)]).code, 0);
}

#[test]
fn a_store_that_others_can_enter_is_narrowed() {
    let trial = Trial::new();
    let store = trial.home.store();
    claude_hook(&trial.home, &prompted(&trial.home, 1, "p1", "do it"));
    items(&trial.home);
    let database = store.join("backstory.db");
    set_mode(&store, 0o777);
    set_mode(&database, 0o666);
    claude_hook(&trial.home, &prompted(&trial.home, 1, "p2", "again"));
    let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!((mode(&store), mode(&database)), (0o700, 0o600));
    assert_eq!(count(&trial.home, "prompt"), 2);
}

#[test]
fn a_store_of_another_user_is_refused_with_a_remedy() {
    let trial = Trial::new();
    let store = trial.home.store();
    claude_hook(&trial.home, &prompted(&trial.home, 1, "p1", "do it"));
    items(&trial.home);
    if !give_away(&store) {
        return;
    }
    set_mode(&store, 0o777);
    for arguments in [&["sweep"][..], &["sessions"], &["sweep", "--dry-run"]] {
        let outcome = Outcome::of(&trial.command(arguments).output().unwrap());
        assert_ne!(outcome.code, 0, "{arguments:?}: {}", outcome.stdout);
        let told = &outcome.stderr;
        assert!(told.contains("belongs to user 65534"), "{told}");
        assert!(
            told.contains("hint:") && told.contains("BACKSTORY_HOME"),
            "{told}"
        );
    }
    // Its log may be a link to any file of ours.
    let ours = trial.temporary.parent().unwrap().join("ours.txt");
    std::fs::write(&ours, "ours").unwrap();
    let log = store.join("logs/events.jsonl");
    create_dir_all(store.join("logs")).unwrap();
    let _ = std::fs::remove_file(&log);
    std::os::unix::fs::symlink(&ours, &log).unwrap();
    let before = std::fs::read_dir(&store).unwrap().count();
    let input = prompted(&trial.home, 1, "p2", "again").to_string();
    let mut command = trial.command(&["hook", "UserPromptSubmit", "--agent", "claude-code"]);
    assert_harmless(&feed(&mut command, input.as_bytes()));
    assert_eq!(std::fs::read_dir(&store).unwrap().count(), before);
    assert_eq!(std::fs::read_to_string(&ours).unwrap(), "ours");
    // It waits where we can write.
    assert_eq!(std::fs::read_dir(&trial.temporary).unwrap().count(), 1);
}

#[test]
fn a_spool_of_ours_that_became_wider_is_still_read() {
    let trial = Trial::new();
    let spool = trial.home.store().join("spool");
    create_dir_all(&spool).unwrap();
    set_mode(&spool, 0o755);
    write(spool.join("1-a.json"), trial.planted("restored")).unwrap();
    assert_eq!(items(&trial.home).len(), 1);
    assert_eq!(spooled(&trial.home), Vec::<PathBuf>::new());
    assert_eq!(trial.home.events(&claude_id(8)), ["prompt: restored"]);
}

#[test]
fn refusing_a_log_is_logged_without_its_path() {
    let trial = Trial::new();
    let log = trial.home.home().join("hunter2.jsonl");
    write(&log, log_of_somebody()).unwrap();
    set_mode(&log, 0o666);
    stop_with_log(&trial, &log);
    let last = logged(&trial.home).pop().unwrap();
    if last["kept"] == "store" {
        let error = last["error"].as_str().unwrap();
        assert!(error.contains("others can write it"), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
}

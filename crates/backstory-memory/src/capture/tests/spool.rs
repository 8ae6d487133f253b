//! Captures that wait are whole, private, without secrets, and stored once.

use std::time::Duration;

use std::time::SystemTime;

use backstory_redact::{RULES, planted};

use super::*;

/// A key as a rule knows it, which nobody has.
fn secret() -> String {
    let mut secrets = RULES.iter().flat_map(|rule| planted(rule, 1).secrets);
    secrets
        .find(|secret| secret.starts_with("sk-ant-api03-"))
        .unwrap()
}

#[test]
fn spooled_captures_are_stored_once_whoever_drains_them() {
    let mut story = Story::new();
    let folder = tempfile::tempdir().unwrap();
    // Its own folder cannot be made there.
    std::fs::write(folder.path().join("spool"), "").unwrap();
    let elsewhere = folder.path().join("elsewhere");
    let spool = Spool::new(folder.path(), vec![elsewhere.clone()]);
    let input = json!({"session_id": id(SESSION), "prompt": format!("token {}", secret())});
    let input = hook::read(None, Some("UserPromptSubmit"), input.to_string().as_bytes()).unwrap();
    let capture = Capture::new(input, NOW);
    let redactor = Redactor::new([7; 32]);
    spool.put(&capture.clean(Some(&redactor))).unwrap();
    let file = std::fs::read_dir(&elsewhere)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(
        kept.contains("[REDACTED:") && !kept.contains(&secret()),
        "{kept}"
    );
    let memory = &mut story.trial.memory;
    assert_eq!(memory.captures().drain(&spool, true).unwrap().stored, 1);
    assert!(spool.is_empty());
    // A process that was stopped before it could remove the file.
    std::fs::write(&file, kept).unwrap();
    std::fs::write(elsewhere.join("zz.json"), "half a captu").unwrap();
    story.trial.memory.captures().drain(&spool, true).unwrap();
    assert_eq!(story.states(), "pending");
    assert!(spool.is_empty() && elsewhere.join("zz.unreadable").exists());
    // One that was stopped in the middle of writing.
    let half = elsewhere.join("zz.json.part");
    std::fs::write(&half, "half a captu").unwrap();
    spool.clean(SystemTime::now() - Duration::from_secs(60));
    assert!(half.exists(), "somebody may be at it");
    spool.clean(SystemTime::now() + Duration::from_secs(60));
    assert!(!half.exists());
}

#[test]
fn a_capture_that_two_threads_spool_is_not_lost() {
    // A hook whose store is locked spools its capture, and so does its watchdog.
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::new(&folder.path().join("store"), Vec::new());
    let input = json!({"session_id": id(SESSION), "prompt": "go on ".repeat(2_000)});
    let input = hook::read(None, Some("UserPromptSubmit"), input.to_string().as_bytes()).unwrap();
    for at in 0..100 {
        let cleaned = Capture::new(input.clone(), TimeMs::new(at)).clean(None);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| spool.put(&cleaned).unwrap());
            }
        });
    }
    let files = std::fs::read_dir(folder.path().join("store/spool")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let (whole, other): (Vec<_>, Vec<_>) = names.partition(|name| name.ends_with(".json"));
    assert_eq!((whole.len(), other), (100, Vec::new()));
}

#[test]
fn a_secret_in_the_middle_of_a_long_output_is_taken_out_whole() {
    let mut story = Story::new();
    let secret = secret();
    // Where a long text is cut, at each of its characters.
    for before in (12_288 - secret.len()..12_288).step_by(7) {
        let output = format!("{} {secret} {}", "x".repeat(before), "y".repeat(20_000));
        let fields =
            json!({"tool_name": "Bash", "tool_input": {}, "tool_response": {"stdout": output}});
        story.hook(1, "PostToolUse", &fields);
    }
    for item in story
        .trial
        .memory
        .captures()
        .items(&ItemFilter::default())
        .unwrap()
    {
        let body = String::from_utf8(item.body.unwrap()).unwrap();
        assert!(
            body.len() < 17_000 && !body.contains("sk-ant-api03"),
            "{body}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_folder_that_others_can_enter_is_no_place_for_captures() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    std::fs::write(home.join("spool"), "").unwrap();
    let [open, linked, private] =
        ["open", "linked", "private"].map(|name| folder.path().join(name));
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).unwrap();
    let target = folder.path().join("target");
    std::fs::create_dir(&target).unwrap();
    std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o700)).unwrap();
    std::os::unix::fs::symlink(&target, &linked).unwrap();
    let input = hook::read(None, Some("UserPromptSubmit"), br#"{"prompt":"fix it"}"#).unwrap();
    let capture = Capture::new(input, NOW);
    let files = |folder: &Path| std::fs::read_dir(folder).unwrap().count();
    let others = vec![open.clone(), linked];
    assert!(Spool::new(&home, others.clone()).put(&capture).is_err());
    let all = others.into_iter().chain([private.clone()]).collect();
    Spool::new(&home, all).put(&capture).unwrap();
    assert_eq!([files(&open), files(&target), files(&private)], [0, 0, 1]);
}

//! Files on disk: links, permissions, folders, and what is refused.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use backstory_agents::{HookAgent, Places};

use super::super::{SetupOptions, SetupOutcome, SetupStatus, set_up, tear_down};
use super::{PROGRAM, agent};

fn with_options<T>(home: &Path, dry_run: bool, run: impl Fn(&SetupOptions<'_>) -> T) -> T {
    let places = Places {
        home,
        variable: &|_| None,
    };
    run(&SetupOptions {
        places: &places,
        project: None,
        program: PROGRAM,
        dry_run,
    })
}

fn up(home: &Path, agents: &[HookAgent]) -> Vec<SetupOutcome> {
    with_options(home, false, |options| set_up(agents, options))
}

fn down(home: &Path, agents: &[HookAgent]) -> Vec<SetupOutcome> {
    with_options(home, false, |options| tear_down(agents, options))
}

fn statuses(outcomes: &[SetupOutcome]) -> Vec<SetupStatus> {
    outcomes.iter().map(|outcome| outcome.status).collect()
}

/// All that is below a folder; folders have no bytes.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(tree(&path));
            found.insert(path, None);
        } else {
            let bytes = fs::read(&path).unwrap_or_default();
            found.insert(path, Some(bytes));
        }
    }
    found
}

#[test]
fn nothing_is_left_where_nothing_was() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    for there in [&[][..], &[".claude", ".grok"], &[".grok/hooks", ".cursor"]] {
        for folder in there {
            fs::create_dir_all(home.join(folder)).unwrap();
        }
        let before = tree(home);
        for agent in HookAgent::all() {
            assert_eq!(statuses(&up(home, &[agent])), [SetupStatus::Installed]);
            assert_eq!(statuses(&up(home, &[agent])), [SetupStatus::Unchanged]);
            assert_eq!(statuses(&down(home, &[agent])), [SetupStatus::Removed]);
            assert_eq!(statuses(&down(home, &[agent])), [SetupStatus::Absent]);
            assert_eq!(tree(home), before, "{}", agent.agent.name);
        }
    }
}

#[test]
fn a_folder_that_is_used_since_stays() {
    let folder = tempfile::tempdir().unwrap();
    up(folder.path(), &[agent("grok")]);
    let other = folder.path().join(".grok/other");
    fs::write(&other, "").unwrap();
    down(folder.path(), &[agent("grok")]);
    let left: Vec<PathBuf> = tree(folder.path()).into_keys().collect();
    assert_eq!(left, [folder.path().join(".grok"), other]);
}

#[test]
fn an_unchanged_file_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".codex/hooks.json");
    up(folder.path(), &[agent("codex")]);
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(old).unwrap();
    up(folder.path(), &[agent("codex")]);
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), old);
}

#[test]
fn a_dry_run_tells_the_same_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".claude/settings.json");
    fs::create_dir(path.parent().unwrap()).unwrap();
    fs::write(&path, "{\n  \"model\": \"x\"\n}\n").unwrap();
    let before = tree(folder.path());
    let all: Vec<HookAgent> = HookAgent::all().collect();
    let told = with_options(folder.path(), true, |options| set_up(&all, options));
    assert_eq!(tree(folder.path()), before);
    assert!(told[0].difference.starts_with(
        "@@ line 1 @@\n {\n-  \"model\": \"x\"\n+  \"model\": \"x\",\n+  \"hooks\": {\n"
    ));
    assert_eq!(up(folder.path(), &all), told);
    let before = tree(folder.path());
    let told = with_options(folder.path(), true, |options| tear_down(&all, options));
    assert_eq!(tree(folder.path()), before);
    assert_eq!(down(folder.path(), &all), told);
}

#[test]
fn grok_runs_the_hooks_of_claude_code() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let both = [agent("grok"), agent("claude-code")];
    let outcomes = up(home, &both);
    assert_eq!(
        statuses(&outcomes),
        [SetupStatus::Installed, SetupStatus::Skipped]
    );
    assert!(!home.join(".grok").exists());
    assert_eq!(statuses(&up(home, &both[..1])), [SetupStatus::Skipped]);
    down(home, &both);
    assert_eq!(statuses(&up(home, &both[..1])), [SetupStatus::Installed]);
    let outcomes = up(home, &both);
    assert_eq!(
        statuses(&outcomes),
        [SetupStatus::Installed, SetupStatus::Skipped]
    );
    assert!(
        outcomes[1]
            .reason
            .as_deref()
            .unwrap()
            .contains("teardown grok")
    );
    // A file of Claude Code that is refused helps nobody.
    down(home, &both);
    fs::create_dir_all(home.join(".claude")).unwrap();
    fs::write(home.join(".claude/settings.json"), "[").unwrap();
    assert_eq!(
        statuses(&up(home, &both)),
        [SetupStatus::Refused, SetupStatus::Installed]
    );
}

/// What makes a file odd, and what is said of it.
type Case = (&'static dyn Fn(&Path), &'static str);

#[test]
fn what_cannot_be_edited_is_refused() {
    let cases: [Case; 6] = [
        (&|path| fs::create_dir(path).unwrap(), "it is a folder"),
        (
            &|path| fs::write(path, b"{}\n\n\"\xff\"").unwrap(),
            "line 3: it is no UTF-8 text",
        ),
        (
            &|path| fs::write(path, "{\"hooks\": 1}").unwrap(),
            "line 1: \"hooks\" is no object",
        ),
        (
            &|path| {
                fs::File::create(path)
                    .unwrap()
                    .set_len((16 << 20) + 1)
                    .unwrap();
            },
            "it is larger than 16 MiB",
        ),
        (
            &|path| {
                fs::write(path, "{}").unwrap();
                let mut permissions = fs::metadata(path).unwrap().permissions();
                permissions.set_readonly(true);
                fs::set_permissions(path, permissions).unwrap();
            },
            "it is read-only",
        ),
        (
            &|path| {
                let folder = path.parent().unwrap();
                fs::remove_dir_all(folder).unwrap();
                fs::write(folder, "").unwrap();
            },
            "Not a directory",
        ),
    ];
    for (make, reason) in cases {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".cursor/hooks.json");
        fs::create_dir(path.parent().unwrap()).unwrap();
        make(&path);
        let before = tree(folder.path());
        let outcomes = up(folder.path(), &[agent("cursor"), agent("codex")]);
        assert_eq!(
            statuses(&outcomes),
            [SetupStatus::Installed, SetupStatus::Refused]
        );
        assert!(
            outcomes[1].reason.as_deref().unwrap().starts_with(reason),
            "{outcomes:?}"
        );
        down(folder.path(), &[agent("codex")]);
        assert_eq!(tree(folder.path()), before);
    }
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_link_stays_a_link_and_modes_stay() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        let real = home.join("dotfiles/settings.json");
        let link = home.join(".gemini/settings.json");
        fs::create_dir(home.join("dotfiles")).unwrap();
        fs::create_dir(home.join(".gemini")).unwrap();
        symlink(Path::new("../dotfiles/settings.json"), &link).unwrap();
        let before = tree(home);
        assert_eq!(
            statuses(&up(home, &[agent("gemini")])),
            [SetupStatus::Refused]
        );
        assert_eq!(tree(home), before);
        for content in ["", "{\"a\": 1} // mine"] {
            fs::write(&real, content).unwrap();
            fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
            assert_eq!(
                statuses(&up(home, &[agent("gemini")])),
                [SetupStatus::Installed]
            );
            assert!(link.is_symlink());
            assert_eq!(mode(&real), 0o640);
            assert!(fs::read_to_string(&real).unwrap().contains("5000"));
            assert_eq!(
                statuses(&down(home, &[agent("gemini")])),
                [SetupStatus::Removed]
            );
            assert!(link.is_symlink());
            assert_eq!(fs::read_to_string(&real).unwrap(), content);
            assert_eq!(mode(&real), 0o640);
        }
    }

    #[test]
    fn a_linked_file_of_our_own_is_emptied() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".codex/hooks.json");
        up(folder.path(), &[agent("codex")]);
        assert_eq!(mode(&path), 0o600);
        let real = folder.path().join("moved.json");
        fs::rename(&path, &real).unwrap();
        symlink(&real, &path).unwrap();
        down(folder.path(), &[agent("codex")]);
        assert_eq!(fs::read_to_string(&real).unwrap(), "{}\n");
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".codex");
        fs::create_dir(&path).unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(path.join("hooks.json"))
            .status();
        if made.is_ok_and(|status| status.success()) {
            assert_eq!(
                statuses(&up(folder.path(), &[agent("codex")])),
                [SetupStatus::Refused]
            );
        }
    }
}

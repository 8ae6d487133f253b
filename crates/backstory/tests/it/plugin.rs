//! Our hooks and our skill as a plugin.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::environment::{Environment, feed, files_below};

const FILES: [&str; 7] = [
    ".agents/plugins/marketplace.json",
    ".claude-plugin/marketplace.json",
    "backstory/.claude-plugin/plugin.json",
    "backstory/.codex-plugin/plugin.json",
    "backstory/hooks/codex.json",
    "backstory/hooks/hooks.json",
    "backstory/skills/mem-search/SKILL.md",
];

fn folder(environment: &Environment) -> PathBuf {
    environment.home().join("my plugins")
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let files = files_below(folder).into_iter();
    files
        .map(|file| file.strip_prefix(folder).unwrap().to_path_buf())
        .collect()
}

#[test]
fn a_plugin_is_made_once_and_kept_up_to_date() {
    let environment = Environment::new();
    let folder = folder(&environment);
    let arguments = ["setup", "--plugin", folder.to_str().unwrap()];
    let shown = environment.run(&[&arguments[..], &["--dry-run"]].concat());
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(
        shown.stdout.contains("plugin: would be installed"),
        "{}",
        shown.stdout
    );
    assert!(!folder.exists());
    let made = environment.run(&arguments);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let folder_name = folder.display();
    for line in FILES.map(str::to_string).into_iter().chain([
        format!("  /plugin marketplace add {folder_name}\n  /plugin install backstory@backstory\n"),
        format!("  codex plugin marketplace add '{folder_name}'\n  codex plugin add backstory@backstory\n"),
    ]) {
        assert!(made.stdout.contains(&line), "{line}: {}", made.stdout);
    }
    assert!(!made.stdout.contains("teardown"), "{}", made.stdout);
    assert_eq!(below(&folder), FILES.map(PathBuf::from));
    let answer = environment.json(&arguments);
    assert_eq!(answer["folder"], json!(folder));
    assert_eq!(answer["status"], "unchanged");
    let mut files: Vec<&str> = answer["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file.as_str().unwrap())
        .collect();
    files.sort_unstable();
    assert_eq!(files, FILES.map(|file| format!("{folder_name}/{file}")));
    // What an older version wrote is replaced.
    let manifest = folder.join("backstory/.claude-plugin/plugin.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(
        &manifest,
        text.replace("\"version\": \"", "\"version\": \"0.0."),
    )
    .unwrap();
    let updated = environment.run(&arguments);
    assert!(
        updated.stdout.contains("install it again"),
        "{}",
        updated.stdout
    );
    assert_eq!(fs::read_to_string(&manifest).unwrap(), text);
    assert_eq!(read(&manifest)["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn the_plugin_has_the_hooks_that_setup_registers() {
    let environment = Environment::new();
    let folder = folder(&environment);
    fs::create_dir_all(environment.home()).unwrap();
    environment.json(&["setup", "claude-code", "codex"]);
    let made = environment.run(&["setup", "--plugin", folder.to_str().unwrap()]);
    assert!(
        made.stdout
            .contains("`backstory teardown claude-code codex`"),
        "{}",
        made.stdout
    );
    for (registered, packed) in [
        (".claude/settings.json", "backstory/hooks/hooks.json"),
        (".codex/hooks.json", "backstory/hooks/codex.json"),
    ] {
        let registered = read(&environment.home().join(registered));
        assert_eq!(read(&folder.join(packed))["hooks"], registered["hooks"]);
    }
}

#[cfg(unix)]
#[test]
fn a_hook_of_the_plugin_captures() {
    let environment = Environment::new();
    let folder = folder(&environment);
    environment.sweep();
    environment.json(&["setup", "--plugin", folder.to_str().unwrap()]);
    for (agent, file) in [("claude-code", "hooks"), ("codex", "codex")] {
        let hooks = read(&folder.join(format!("backstory/hooks/{file}.json")));
        let handler = &hooks["hooks"]["UserPromptSubmit"][0]["hooks"][0];
        let session = format!("00000000-0000-4000-8000-{:012}", agent.len());
        let input = json!({
            "session_id": session,
            "transcript_path": null,
            "cwd": "/home/ada/shop",
            "hook_event_name": "UserPromptSubmit",
            "prompt": "why is the total wrong?",
        });
        let mut shell = Command::new("sh");
        shell
            .args(["-c", handler["command"].as_str().unwrap()])
            .env_clear()
            .env("HOME", environment.home())
            .env("BACKSTORY_HOME", environment.store());
        let outcome = feed(&mut shell, input.to_string().as_bytes());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        // It takes along what a busy machine made the hook spool.
        environment.json(&["queue"]);
        assert_eq!(
            environment.events(&session),
            ["prompt: why is the total wrong?"]
        );
        let sessions = environment.json(&["sessions", "--agent", agent]);
        assert_eq!(sessions["sessions"][0]["session"], json!(session));
    }
}

#[test]
fn the_skill_names_commands_that_there_are() {
    let environment = Environment::new();
    let folder = folder(&environment);
    environment.json(&["setup", "--plugin", folder.to_str().unwrap()]);
    let skill = fs::read_to_string(folder.join(FILES[6])).unwrap();
    let commands: Vec<&str> = skill
        .lines()
        .filter_map(|line| line.strip_prefix("backstory "))
        .collect();
    assert_eq!(commands.len(), 5, "{skill}");
    for command in commands {
        let name = command.split(' ').next().unwrap();
        let help = environment.run(&[name, "--help"]);
        assert_eq!(help.code, 0, "{command}: {}", help.stderr);
    }
    for option in ["--file", "--since", "--json"] {
        assert!(
            environment
                .run(&["search", "--help"])
                .stdout
                .contains(option)
        );
    }
}

#[test]
fn what_is_not_ours_is_left_alone() {
    let environment = Environment::new();
    let file = environment.write("file", "mine");
    // Of others, even if they have a plugin of our name.
    let other = environment.write(
        "other/.claude-plugin/marketplace.json",
        "{\"name\": \"tools\", \"plugins\": [{\"name\": \"backstory\"}]}",
    );
    let nested = environment.write("nested/backstory", "mine");
    for (folder, blamed, said) in [
        (file.clone(), &file, "it is no folder"),
        (
            environment.home().join("other"),
            &other,
            "it is there, and not ours",
        ),
        (environment.home().join("nested"), &nested, "not a folder"),
    ] {
        let outcome = environment.run(&["setup", "--plugin", folder.to_str().unwrap()]);
        assert_eq!(outcome.code, 2);
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
        assert!(
            outcome.stderr.contains(blamed.to_str().unwrap()),
            "{}",
            outcome.stderr
        );
    }
    assert_eq!(files_below(&environment.home()), [file, nested, other]);
    for wrong in [
        ["--plugin", "x", "claude-code"],
        ["--plugin", "x", "--scope=user"],
    ] {
        let outcome = environment.run(&[&["setup"], &wrong[..]].concat());
        assert_eq!(outcome.code, 2, "{wrong:?}");
    }
    assert_eq!(environment.run(&["setup"]).code, 2);
}

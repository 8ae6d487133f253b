//! Hooks in the files of agents, and out of them again.

use std::fs;
use std::path::{Path, PathBuf};

use backstory_agents::HookAgent;
use serde_json::{Value, json};

use crate::environment::{Environment, Outcome, files_below};

/// The agents with their files below home.
fn agents() -> Vec<(HookAgent, String)> {
    let with_file = |known: HookAgent| {
        let registration = known.registration;
        (
            known,
            format!("{}/{}", registration.folder, registration.file),
        )
    };
    HookAgent::all().map(with_file).collect()
}

/// Number of events that Claude Code tells of.
fn claude_events() -> usize {
    agents()[0].0.registration.events.len()
}

fn statuses(answer: &Value) -> Vec<(&str, &str)> {
    let agents = answer["agents"].as_array().unwrap().iter();
    agents
        .map(|agent| {
            assert!(agent["file"].as_str().unwrap().starts_with('/'));
            (
                agent["agent"].as_str().unwrap(),
                agent["status"].as_str().unwrap(),
            )
        })
        .collect()
}

/// All handlers in a file, with their events.
fn handlers(path: &Path) -> Vec<(String, Value)> {
    let text = fs::read_to_string(path).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    let mut found = Vec::new();
    for (event, elements) in value["hooks"].as_object().unwrap() {
        for element in elements.as_array().unwrap() {
            match element["hooks"].as_array() {
                Some(group) => {
                    found.extend(group.iter().map(|handler| (event.clone(), handler.clone())));
                }
                None => found.push((event.clone(), element.clone())),
            }
        }
    }
    found
}

#[test]
fn each_agent_is_set_up_and_torn_down() {
    for (known, file) in agents() {
        let (agent, registration) = (known.agent.name, known.registration);
        let events = registration.events.len();
        let environment = Environment::new();
        let path = environment.home().join(&file);
        fs::create_dir_all(environment.home()).unwrap();
        let answer = environment.json(&["setup", agent]);
        assert_eq!(statuses(&answer), [(agent, "installed")]);
        assert_eq!(answer["agents"][0]["scope"], "user");
        assert_eq!(answer["agents"][0]["file"], json!(path));
        assert_eq!(
            answer["agents"][0]["events"].as_array().unwrap().len(),
            events
        );
        let handlers = handlers(&path);
        assert_eq!(handlers.len(), events);
        for (event, handler) in &handlers {
            let program = env!("CARGO_BIN_EXE_backstory");
            let command = format!("{program} hook {event} --agent {agent}");
            assert_eq!(handler["command"], command);
            let timeout = registration.timeout(event);
            assert_eq!(handler["timeout"], timeout, "{agent} {event}");
        }
        assert_eq!(
            statuses(&environment.json(&["setup", agent])),
            [(agent, "unchanged")]
        );
        let answer = environment.json(&["teardown", agent]);
        assert_eq!(statuses(&answer), [(agent, "removed")]);
        assert_eq!(
            answer["agents"][0]["events"].as_array().unwrap().len(),
            events
        );
        assert_eq!(
            statuses(&environment.json(&["teardown", agent])),
            [(agent, "absent")]
        );
        assert_eq!(fs::read_dir(environment.home()).unwrap().count(), 0);
    }
}

#[test]
fn all_are_those_whose_folder_is_there() {
    let environment = Environment::new();
    let nothing = environment.run(&["setup", "all"]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (0, ""));
    assert!(
        nothing.stderr.contains("name the agents"),
        "{}",
        nothing.stderr
    );
    for folder in [".claude", ".grok", ".cursor"] {
        fs::create_dir_all(environment.home().join(folder)).unwrap();
    }
    let told = environment.run(&["setup", "all"]);
    assert_eq!(told.code, 0, "{}", told.stderr);
    assert!(told.stdout.contains("grok: skipped"), "{}", told.stdout);
    assert!(
        told.stdout.contains("Grok runs the hooks of Claude Code"),
        "{}",
        told.stdout
    );
    let answer = environment.json(&["setup", "all", "cursor"]);
    let expected = [
        ("claude-code", "unchanged"),
        ("cursor", "unchanged"),
        ("grok", "skipped"),
    ];
    assert_eq!(statuses(&answer), expected);
    let answer = environment.json(&["teardown", "all"]);
    let expected = [
        ("claude-code", "removed"),
        ("cursor", "removed"),
        ("grok", "absent"),
    ];
    assert_eq!(statuses(&answer), expected);
    assert!(files_below(&environment.home()).is_empty());
}

#[test]
fn agents_move_their_folders() {
    let environment = Environment::new();
    let moved = environment.home().join("moved");
    fs::create_dir_all(&moved).unwrap();
    for (agent, variable, file) in [
        ("claude-code", "CLAUDE_CONFIG_DIR", "settings.json"),
        ("codex", "CODEX_HOME", "hooks.json"),
        ("grok", "GROK_HOME", "hooks/backstory.json"),
    ] {
        for (command, is_there) in [("setup", true), ("teardown", false)] {
            let mut command = environment.command(&[command, agent]);
            let outcome = Outcome::of(&command.env(variable, &moved).output().unwrap());
            assert_eq!(outcome.code, 0, "{}", outcome.stderr);
            assert_eq!(moved.join(file).exists(), is_there, "{agent}");
        }
    }
    assert_eq!(fs::read_dir(environment.home()).unwrap().count(), 1);
}

#[test]
fn a_project_has_files_of_its_own() {
    let environment = Environment::new();
    let project = environment.home().join("shop");
    let below = project.join("src/deep");
    fs::create_dir_all(&below).unwrap();
    fs::create_dir(project.join(".git")).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = environment.command(arguments);
        let outcome = Outcome::of(&command.current_dir(&below).output().unwrap());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        serde_json::from_str::<Value>(&outcome.stdout).unwrap()
    };
    for (known, file) in agents() {
        let (agent, events) = (known.agent.name, known.registration.events.len());
        let answer = run(&["setup", agent, "--scope", "project", "--json"]);
        assert_eq!(answer["agents"][0]["scope"], "project");
        assert_eq!(handlers(&project.join(&file)).len(), events, "{agent}");
    }
    let answer = run(&["teardown", "all", "--scope", "project", "--json"]);
    assert!(
        statuses(&answer)
            .iter()
            .all(|(_, status)| *status == "removed")
    );
    assert_eq!(statuses(&answer).len(), agents().len());
    let left: Vec<PathBuf> = files_below(&environment.home());
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(fs::read_dir(&project).unwrap().count(), 2);
}

#[test]
fn a_dry_run_shows_and_writes_nothing() {
    let environment = Environment::new();
    let text = "{\n\t// mine\n\t\"model\": \"x\"\n}";
    let path = environment.write(".claude/settings.json", text);
    let shown = environment.run(&["setup", "claude-code", "codex", "--dry-run"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    for line in [
        "claude-code: would be installed",
        "codex: would be installed",
        "-\t\"model\": \"x\"\n+\t\"model\": \"x\",\n+\t\"hooks\": {\n",
        "+\t\t\"SessionStart\": [\n",
        "allow them when it asks",
    ] {
        assert!(shown.stdout.contains(line), "{line}: {}", shown.stdout);
    }
    assert_eq!(files_below(&environment.home()), [path.as_path()]);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    environment.run(&["setup", "claude-code"]);
    let with_hooks = fs::read(&path).unwrap();
    let shown = environment.run(&["teardown", "claude-code", "--dry-run"]);
    assert!(
        shown.stdout.contains("would be removed"),
        "{}",
        shown.stdout
    );
    assert!(
        shown.stdout.contains("-\t\"hooks\": {\n"),
        "{}",
        shown.stdout
    );
    assert_eq!(fs::read(&path).unwrap(), with_hooks);
    environment.run(&["teardown", "claude-code"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn one_that_is_refused_does_not_stop_the_others() {
    let environment = Environment::new();
    let broken = "{\n  \"hooks\": {\n";
    let path = environment.write(".gemini/settings.json", broken);
    for command in ["setup", "teardown"] {
        let outcome = environment.run(&[command, "gemini", "codex"]);
        assert_eq!(outcome.code, 2);
        let said = format!(
            "error: {} cannot be edited: line 3: it ends too early",
            path.display()
        );
        assert!(outcome.stderr.contains(&said), "{}", outcome.stderr);
        assert!(
            outcome.stderr.contains("the other agents are done"),
            "{}",
            outcome.stderr
        );
        let is_there = environment.home().join(".codex/hooks.json").exists();
        assert_eq!(is_there, command == "setup");
        assert_eq!(fs::read_to_string(&path).unwrap(), broken);
    }
    let outcome = environment.run(&["setup", "gemini", "--json"]);
    assert_eq!(outcome.code, 2);
    let answer: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(statuses(&answer), [("gemini", "refused")]);
    assert_eq!(answer["agents"][0]["reason"], "line 3: it ends too early");
    assert!(
        outcome.stderr.contains("hint: nothing was changed"),
        "{}",
        outcome.stderr
    );
}

#[cfg(unix)]
#[test]
fn a_program_that_moved_is_called_where_it_is() {
    let environment = Environment::new();
    let text = "{}\r\n";
    let path = environment.write(".claude/settings.json", text);
    environment.json(&["setup", "claude-code"]);
    let folder = environment.home().join("it's my tools");
    fs::create_dir(&folder).unwrap();
    let program = folder.join("backstory");
    fs::copy(env!("CARGO_BIN_EXE_backstory"), &program).unwrap();
    let output = std::process::Command::new(&program)
        .args(["setup", "claude-code", "--json"])
        .env_clear()
        .env("HOME", environment.home())
        .output()
        .unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(statuses(&answer), [("claude-code", "updated")]);
    let handlers = handlers(&path);
    assert_eq!(handlers.len(), claude_events());
    // A shell runs it, and only the hook itself may have something to say.
    let command = handlers[0].1["command"].as_str().unwrap();
    let script = command.split(" hook ").next().unwrap();
    let output = std::process::Command::new("sh")
        .args(["-c", &format!("{script} --version")])
        .output();
    assert!(output.unwrap().status.success(), "{command}");
    assert_eq!(
        statuses(&environment.json(&["teardown", "claude-code"])),
        [("claude-code", "removed")]
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[cfg(unix)]
#[test]
fn links_of_a_project_that_lead_out_of_it_are_refused() {
    use std::os::unix::fs::symlink;
    for (known, file) in agents() {
        let agent = known.agent.name;
        let environment = Environment::new();
        let project = environment.home().join("project");
        fs::create_dir_all(project.join(".git")).unwrap();
        let precious = environment.write("elsewhere/precious.json", "{\"precious\":1}");
        let run = |command: &str| {
            let mut command = environment.command(&[command, "--scope", "project", agent]);
            Outcome::of(&command.current_dir(&project).output().unwrap())
        };
        let path = project.join(&file);
        let refused = |case: &str| {
            for command in ["setup", "teardown"] {
                let outcome = run(command);
                assert_eq!(outcome.code, 2, "{agent} {case}: {}", outcome.stdout);
                let said = "cannot be edited: a link leads out of";
                assert!(outcome.stderr.contains(said), "{case}: {}", outcome.stderr);
            }
            assert_eq!(fs::read_to_string(&precious).unwrap(), "{\"precious\":1}");
            let folder = precious.parent().unwrap();
            assert_eq!(fs::read_dir(folder).unwrap().count(), 1, "{agent} {case}");
        };
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(&precious, &path).unwrap();
        refused("file");
        let folder = project.join(Path::new(&file).iter().next().unwrap());
        fs::remove_dir_all(&folder).unwrap();
        symlink(precious.parent().unwrap(), &folder).unwrap();
        refused("folder");
        fs::remove_file(&folder).unwrap();
        // Within the project a link is followed.
        fs::create_dir_all(project.join("shared")).unwrap();
        symlink("shared", &folder).unwrap();
        assert_eq!(run("setup").code, 0, "{agent}");
        assert!(fs::read_to_string(&path).unwrap().contains(" hook "));
    }
}

#[test]
fn commands_that_run_more_than_backstory_are_left_alone() {
    for command in [
        "/opt/backstory hook Stop --agent claude-code; /bin/mine",
        "/opt/backstory hook Stop --agent claude-code && notify-send done",
        "backstory hook Stop | tee /tmp/log",
        "cd /x && backstory hook Stop",
        "/usr/bin/env X=1 backstory hook Stop",
        "/opt/backstory hook Stop --agent claude-code --config /my/config.toml",
    ] {
        let environment = Environment::new();
        let handler = json!({"type": "command", "command": command});
        let before = json!({"hooks": {"Stop": [{"hooks": [handler]}]}}).to_string();
        let path = environment.write(".claude/settings.json", &before);
        let left = format!(
            "left Stop: `{command}` in {}: it runs more than Backstory",
            path.display()
        );
        for status in ["installed", "unchanged"] {
            let answer = environment.json(&["setup", "claude-code"]);
            assert_eq!(statuses(&answer), [("claude-code", status)], "{command}");
            assert_eq!(answer["agents"][0]["reason"], left);
            // Each event once.
            let handlers = handlers(&path);
            assert_eq!(handlers.len(), claude_events(), "{command}");
            let stop = handlers.iter().find(|(event, _)| event == "Stop").unwrap();
            assert_eq!(stop.1["command"], command);
        }
        for status in ["removed", "absent"] {
            let answer = environment.json(&["teardown", "claude-code"]);
            assert_eq!(statuses(&answer), [("claude-code", status)], "{command}");
            assert_eq!(answer["agents"][0]["reason"], left);
            assert_eq!(fs::read_to_string(&path).unwrap(), before);
        }
        // Grok runs it too.
        let answer = environment.json(&["setup", "grok"]);
        assert_eq!(statuses(&answer), [("grok", "skipped")], "{command}");
    }
}

/// The hooks that versions before registered with Claude Code.
fn old_hooks(environment: &Environment) -> PathBuf {
    const NEW: [&str; 2] = ["PostToolUseFailure", "PermissionDenied"];
    let path = environment.write(".claude/settings.json", "{\"model\": \"x\"}\n");
    environment.json(&["setup", "claude-code"]);
    let mut value: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let hooks = value["hooks"].as_object_mut().unwrap();
    hooks.retain(|event, _| !NEW.contains(&event.as_str()));
    fs::write(&path, value.to_string()).unwrap();
    path
}

#[test]
fn hooks_of_older_versions_are_completed() {
    let environment = Environment::new();
    let path = old_hooks(&environment);
    let capture = |field: &str| {
        let report = environment.run(&["doctor", "--json"]).stdout;
        let report: Value = serde_json::from_str(&report).unwrap();
        report["capture"]["agents"][0][field].clone()
    };
    assert_eq!(capture("status"), "outdated");
    assert_eq!(
        capture("missing"),
        json!(["PostToolUseFailure", "PermissionDenied"])
    );
    let shown = environment.run(&["doctor"]).stdout;
    let line = "incomplete: PostToolUseFailure, PermissionDenied not registered; `backstory setup claude-code` completes it";
    assert!(shown.contains(line), "{shown}");
    let answer = environment.json(&["setup", "claude"]);
    assert_eq!(statuses(&answer), [("claude-code", "updated")]);
    assert_eq!(handlers(&path).len(), claude_events());
    assert_eq!(capture("status"), "set_up");
    assert_eq!(capture("missing"), json!([]));
}

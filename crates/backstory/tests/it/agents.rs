//! What is derived from the table of agents: names, aliases, help, completions, the command that resumes a session.

use std::path::Path;

use backstory_agents::{AGENTS, HookAgent, LogAgent, sample};
use serde_json::Value;

use crate::environment::{Environment, claude_id, prompt};

fn swept() -> Environment {
    let environment = Environment::new();
    environment.claude(1, &[prompt(1, 0, "find the walrus")]);
    environment.sweep();
    environment
}

fn listed(environment: &Environment, arguments: &[&str]) -> usize {
    let sessions = environment.json(&[&["sessions"], arguments].concat());
    sessions["sessions"].as_array().unwrap().len()
}

#[test]
fn an_alias_is_as_good_as_the_name() {
    let environment = swept();
    for name in ["claude-code", "claude"] {
        assert_eq!(listed(&environment, &["--agent", name]), 1);
        let query = format!("walrus agent:{name}");
        assert_eq!(environment.found(&[&query]).len(), 1, "{query}");
        assert_eq!(environment.found(&["walrus", "--agent", name]).len(), 1);
        environment.json(&["usage", "--agent", name]);
        environment.json(&["context", "--agent", name]);
        let swept = environment.json(&["sweep", "--agent", name]);
        assert_eq!(swept["discovered"], 1, "{name}");
    }
    assert_eq!(listed(&environment, &["--agent", "codex"]), 0);
    environment.claude(2, &[prompt(2, 0, "find the other walrus")]);
    let set = |key: &str, value: &str| {
        let outcome = environment.run(&["config", "set", key, value]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    };
    set("sources.claude.enabled", "false");
    let config = environment.json(&["config"]);
    assert_eq!(config["config"]["sources"]["claude-code"]["enabled"], false);
    assert_eq!(environment.json(&["sweep"])["discovered"], 0);
    // One table, whichever name was typed.
    set("sources.claude-code.enabled", "true");
    assert_eq!(environment.json(&["sweep"])["discovered"], 2);
}

#[test]
fn an_agent_that_is_named_twice_is_refused() {
    let environment = swept();
    let text = "[sources.claude]\nenabled = true\n[sources.claude-code]\nenabled = false\n";
    let path = environment.write("twice.toml", text);
    let outcome = environment.run(&["sessions", "--config", path.to_str().unwrap()]);
    assert_eq!(outcome.code, 2);
    assert!(
        outcome.stderr.contains("[sources] names claude-code twice"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_session_says_how_it_is_resumed() {
    let environment = swept();
    let sessions = environment.json(&["sessions"]);
    let session = &sessions["sessions"][0];
    let cwd = session["cwd"].as_str().unwrap();
    let command = format!("cd '{cwd}' && claude --resume {}", claude_id(1));
    assert_eq!(session["resume"], Value::from(command));
}

#[test]
fn logs_of_every_agent_are_swept_and_listed() {
    for LogAgent { agent, .. } in LogAgent::all() {
        let environment = Environment::new();
        environment.write_all(sample::logs_of_agent(agent, 1, 60_000));
        let report = environment.json(&["sweep"]);
        assert_eq!(report["skipped_records"], 0, "{agent:?}");
        let sessions = environment.json(&["sessions", "--limit", "0", "--agent", agent.name]);
        let sessions = sessions["sessions"].as_array().unwrap();
        assert!(!sessions.is_empty(), "{agent:?}");
        for session in sessions {
            assert_eq!(session["agent"], agent.name);
            let is_resumed = session["parent_kind"] != "subagent";
            assert_eq!(session["resume"].is_string(), is_resumed, "{session}");
        }
        let shown = environment.json(&["show", sessions[0]["session"].as_str().unwrap()]);
        assert!(!shown["events"].as_array().unwrap().is_empty());
    }
}

#[test]
fn hooks_of_every_agent_are_stored_under_its_name() {
    let hooks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../backstory-agents/tests/hooks");
    for HookAgent {
        agent,
        registration,
    } in HookAgent::all()
    {
        let environment = Environment::new();
        environment.sweep();
        for event in registration.events {
            let input = std::fs::read(hooks.join(agent.name).join(format!("{event}.json")));
            let arguments = ["hook", event, "--agent", agent.name];
            let outcome = environment.feed(&arguments, &input.unwrap());
            assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
        }
        let items = environment.json(&["queue", "--limit", "0"]);
        let items = items["items"].as_array().unwrap();
        for kind in ["prompt", "tool_use"] {
            let is_kind = |item: &&Value| item["kind"] == kind && item["agent"] == agent.name;
            assert!(items.iter().any(|item| is_kind(&item)), "{agent:?} {kind}");
        }
        environment.run(&["worker", "stop"]);
    }
}

#[test]
fn help_and_completions_name_all_agents() {
    let environment = Environment::new();
    let help = environment.run(&["sweep", "--help"]).stdout;
    for known in LogAgent::all() {
        assert!(help.contains(known.agent.title), "{help}");
        assert!(help.contains(known.agent.name), "{help}");
    }
    let help = environment.run(&["setup", "--help"]).stdout;
    for known in HookAgent::all() {
        assert!(help.contains(known.agent.name), "{help}");
    }
    let script = environment.run(&["completions", "bash"]).stdout;
    for agent in AGENTS {
        assert!(script.contains(agent.name), "{}", agent.name);
    }
}

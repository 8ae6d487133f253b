//! The files against the published rules, written down here in short.

use std::collections::BTreeMap;
use std::path::Path;

use backstory_agents::Places;
use serde_json::{Map, Value};

use super::*;
use crate::count_tokens;

fn files(program: &str) -> BTreeMap<String, String> {
    let variable = |_: &str| None;
    let places = Places {
        home: Path::new("/home/ada"),
        variable: &variable,
    };
    let options = SetupOptions {
        places: &places,
        project: None,
        program,
        dry_run: true,
    };
    let name = |made: &Made| made.path.to_string_lossy().into_owned();
    let files = files_of_plugin(&options).into_iter();
    files.map(|made| (name(&made), made.text)).collect()
}

fn object(files: &BTreeMap<String, String>, path: &str) -> Map<String, Value> {
    let value: Value = serde_json::from_str(&files[path]).unwrap();
    value.as_object().unwrap().clone()
}

/// `^[a-z][a-z0-9]*(-[a-z0-9]+)*$`, as names of plugins and skills must be.
fn is_kebab(name: &str) -> bool {
    let is_part = |part: &str| {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        !part.is_empty() && part.bytes().all(is_plain)
    };
    name.len() <= 64
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.split('-').all(is_part)
}

fn check_fields(object: &Map<String, Value>, known: &[&str]) {
    for key in object.keys() {
        assert!(known.contains(&key.as_str()), "{key}");
    }
}

#[test]
fn manifests_are_what_agents_read() {
    let files = files("/opt/backstory");
    let claude = object(&files, "backstory/.claude-plugin/plugin.json");
    let shared = [
        "name",
        "version",
        "description",
        "author",
        "license",
        "keywords",
    ];
    check_fields(&claude, &shared);
    let codex = object(&files, "backstory/.codex-plugin/plugin.json");
    check_fields(
        &codex,
        &[&shared[..], &["skills", "hooks", "interface"]].concat(),
    );
    for manifest in [&claude, &codex] {
        assert!(is_kebab(manifest["name"].as_str().unwrap()));
        assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
        assert!(manifest["description"].as_str().unwrap().len() <= 200);
        assert!(manifest["author"]["name"].is_string());
    }
    // Paths are below the plugin, begin with `./` and are there.
    for key in ["skills", "hooks"] {
        let path = codex[key].as_str().unwrap().strip_prefix("./").unwrap();
        let path = format!("backstory/{path}");
        assert!(files.keys().any(|file| file.starts_with(&path)), "{path}");
    }
    // Only manifests are where manifests are.
    let beside = |file: &&String| file.contains("-plugin/") && !file.ends_with("/plugin.json");
    let beside: Vec<&String> = files.keys().filter(beside).collect();
    assert_eq!(beside, [".claude-plugin/marketplace.json"]);
}

#[test]
fn marketplaces_lead_to_the_plugin() {
    let files = files("/opt/backstory");
    let claude = object(&files, ".claude-plugin/marketplace.json");
    check_fields(&claude, &["name", "description", "owner", "plugins"]);
    assert!(claude["owner"]["name"].is_string());
    assert_eq!(claude["plugins"][0]["source"], "./backstory");
    let codex = object(&files, ".agents/plugins/marketplace.json");
    check_fields(&codex, &["name", "interface", "plugins"]);
    assert_eq!(codex["plugins"][0]["source"]["source"], "local");
    assert_eq!(codex["plugins"][0]["source"]["path"], "./backstory");
    for marketplace in [&claude, &codex] {
        assert!(is_kebab(marketplace["name"].as_str().unwrap()));
        assert_eq!(marketplace["plugins"].as_array().unwrap().len(), 1);
        assert_eq!(marketplace["plugins"][0]["name"], PLUGIN);
    }
}

#[test]
fn hooks_say_which_agent_calls() {
    let files = files("'/my tools/backstory'");
    for (agent, layout) in plugin_agents() {
        let name = agent.agent.name;
        let file = object(&files, &format!("backstory/{}", layout.hooks));
        // Codex refuses any other field.
        check_fields(&file, &["description", "hooks"]);
        let events = file["hooks"].as_object().unwrap();
        let mut expected: Vec<&str> = agent.registration.events.to_vec();
        expected.sort_unstable();
        assert_eq!(events.keys().collect::<Vec<_>>(), expected);
        for (event, groups) in events {
            let handler = &groups[0]["hooks"][0];
            let command = format!("'/my tools/backstory' hook {event} --agent {name}");
            assert_eq!(handler["type"], "command");
            assert_eq!(handler["command"], command);
            assert_eq!(handler["timeout"], agent.registration.timeout(event));
        }
    }
}

#[test]
fn the_skill_is_one() {
    let files = files("/opt/backstory");
    let skill = &files["backstory/skills/mem-search/SKILL.md"];
    let (matter, body) = skill
        .strip_prefix("---\n")
        .unwrap()
        .split_once("\n---\n")
        .unwrap();
    let fields: Vec<(&str, &str)> = matter
        .lines()
        .map(|line| line.split_once(": ").unwrap())
        .collect();
    let [("name", name), ("description", description)] = fields[..] else {
        panic!("{fields:?}");
    };
    assert_eq!(name, "mem-search");
    assert!(is_kebab(name));
    assert!(description.chars().count() <= 1024);
    // In YAML a plain text ends at these.
    assert!(!description.contains(": ") && !description.contains(" #"));
    assert!(body.contains("call it as `/opt/backstory`"));
    let tokens = count_tokens(body);
    assert!((200..300).contains(&tokens), "{tokens}");
}

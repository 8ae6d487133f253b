//! What holds of every agent in the table, whoever adds one.

use std::cell::RefCell;
use std::collections::HashSet;
use std::path::Path;

use super::*;
use crate::hook::TimeoutUnit;
use crate::hook::event::{EventMeaning, meaning_of};
use crate::reader::Places;
use crate::sample::{logs_of_agent, sample_paths};

#[test]
fn names_are_unique_and_plain() {
    let mut names = HashSet::new();
    for agent in AGENTS {
        for name in agent.aliases.iter().chain([&agent.name]) {
            assert!(names.insert(*name), "{name} twice");
            let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
            assert!(name.bytes().all(is_plain), "{name}");
            assert_eq!(Agent::find(name), Some(agent));
        }
        assert!(!agent.title.is_empty());
        assert!(agent.reader.is_some() || agent.hooks.is_some(), "{agent:?}");
        let resume = agent.resume.map(|resume| resume.0);
        assert!(resume.is_none_or(|command| command.ends_with(" ID")));
    }
    assert_eq!(Agent::find("nobody"), None);
}

#[test]
fn every_reader_knows_its_samples_and_no_others() {
    for LogAgent { agent, reader } in LogAgent::all() {
        assert!(!sample_paths(agent).is_empty(), "no sample of {agent:?}");
        let mut files = 0;
        for file in logs_of_agent(agent, 1, 300_000) {
            let path = Path::new("/home/ada").join(&file.path);
            if reader.named(&path).is_none() {
                continue;
            }
            let head = &file.bytes[..file.bytes.len().min(64 << 10)];
            let known =
                LogAgent::all().filter(|known| known.reader.recognises(&path, head).is_some());
            let known: Vec<&str> = known.map(|known| known.agent.name).collect();
            assert_eq!(known, [agent.name], "{}", file.path);
            files += 1;
        }
        assert!(files > 5, "{agent:?}: {files}");
    }
}

#[test]
fn every_registered_event_is_kept_and_was_recorded() {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hooks");
    for HookAgent {
        agent,
        registration,
    } in HookAgent::all()
    {
        for event in registration.events {
            assert_ne!(
                meaning_of(event),
                EventMeaning::Nothing,
                "{agent:?} {event}"
            );
            let file = recorded.join(agent.name).join(format!("{event}.json"));
            assert!(file.exists(), "{} is not there", file.display());
        }
        if let Some(foreign) = registration.also_runs {
            assert!(Agent::find(foreign.agent).is_some());
        }
    }
}

#[test]
fn timeouts_are_in_the_unit_of_the_agent() {
    for HookAgent {
        agent,
        registration,
    } in HookAgent::all()
    {
        let second = match registration.timeout_unit {
            TimeoutUnit::Seconds => 1,
            TimeoutUnit::Milliseconds => 1000,
        };
        for event in registration.events {
            let seconds = match meaning_of(event) {
                EventMeaning::Ended => 1,
                _ => 5,
            };
            let timeout = registration.timeout(event);
            assert_eq!(timeout, seconds * second, "{agent:?} {event}");
        }
    }
    let timeout = |name: &str, event: &str| {
        let dialect = Agent::find(name).unwrap().hooks.unwrap();
        dialect.registration().timeout(event)
    };
    assert_eq!(timeout("claude-code", "SessionEnd"), 1);
    assert_eq!(timeout("cursor", "sessionEnd"), 1);
    assert_eq!(timeout("gemini", "AfterTool"), 5000);
}

/// The row of an agent in `docs/agents.md`, but for what is read of its logs.
fn doc_cells(agent: &Agent) -> [String; 7] {
    let code = |text: &str| format!("`{text}`");
    let list = |items: Vec<String>| match items.is_empty() {
        true => "—".to_string(),
        false => items.join(", "),
    };
    let variables = RefCell::new(Vec::new());
    let listen = |name: &str| {
        let name = code(&format!("${name}"));
        let mut variables = variables.borrow_mut();
        if !variables.contains(&name) {
            variables.push(name);
        }
        None
    };
    let places = Places {
        home: Path::new("~"),
        variable: &listen,
    };
    let roots = agent.reader.map(|reader| reader.roots(&places));
    let roots = roots.into_iter().flatten();
    let mut logs: Vec<String> = roots.map(|root| code(&root.to_string_lossy())).collect();
    logs.splice(0..0, variables.take());
    let hooks = agent.hooks.map(|hooks| {
        let file = hooks.registration().file_path(&places, None);
        code(&file.to_string_lossy())
    });
    let context = match agent.limits {
        ContextLimits {
            tokens: usize::MAX,
            characters,
        } => format!("{characters} characters"),
        ContextLimits { tokens, .. } => format!("{tokens} tokens"),
    };
    let takes_context = agent.hooks.is_some_and(|hooks| {
        let answer = hooks.context_answer(crate::hook::ContextMoment::Start, "x");
        answer.is_some()
    });
    let names = std::iter::once(&agent.name).chain(agent.aliases);
    [
        agent.title.to_string(),
        list(names.map(|name| code(name)).collect()),
        list(logs),
        list(hooks.into_iter().collect()),
        list(takes_context.then_some(context).into_iter().collect()),
        list(agent.resume.iter().map(|resume| code(resume.0)).collect()),
        match agent.lifetime {
            LogLifetime::Unlimited => "—".to_string(),
            LogLifetime::Limited { default_days, .. } => format!("{default_days} days"),
        },
    ]
}

#[test]
fn every_agent_has_its_row_in_the_docs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = std::fs::read_to_string(root.join("docs/agents.md")).unwrap();
    assert!(!docs.contains("| Toy |"), "users do not have it");
    let recipe = std::fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    let toy = recipe.lines().filter(|line| line.starts_with("| Toy |"));
    let text: String = docs
        .lines()
        .chain(toy)
        .map(|line| format!("{line}\n"))
        .collect();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"))
        .map(|row| row.split(" | ").collect())
        .collect();
    for agent in AGENTS {
        let cells = doc_cells(agent);
        let row = rows.iter().find(|row| row[0] == agent.title);
        let [title, names, logs, hooks, context, resume, deletes] = &cells;
        let expected = format!(
            "| {title} | {names} | (what is read of its logs) | {logs} | {hooks} | {context} | {resume} | {deletes} |"
        );
        let Some(row) = row else {
            panic!("no row in docs/agents.md: {expected}");
        };
        let mut found = row.clone();
        let read = found.remove(2);
        assert_eq!(found, cells, "as it should be: {expected}");
        assert_eq!(read == "—", agent.reader.is_none(), "{title}: {read}");
    }
    // No row of an agent that is gone, but for the head of the table.
    let is_agent = |row: &&Vec<&str>| AGENTS.iter().any(|agent| agent.title == row[0]);
    assert_eq!(rows.iter().filter(|row| !is_agent(row)).count(), 1);
}

//! Everything that agents were seen to tell, whole and with each field missing in turn.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use backstory_agents::HookAgent;
use backstory_agents::hook::{Happening, HookInput, read};
use serde_json::{Map, Value};

use super::{Home, assert_harmless, items};
use crate::environment::Environment;

/// How many hooks run at once.
const AT_ONCE: usize = 4;

/// One call.
struct Call {
    agent: &'static str,
    event: String,
    input: Map<String, Value>,
    /// The field that is missing.
    without: Option<String>,
    /// Where the input comes from.
    name: String,
}

impl Call {
    fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(&self.input).unwrap()
    }

    fn understood(&self) -> HookInput {
        read(Some(self.agent), Some(&self.event), &self.bytes()).unwrap()
    }
}

/// All calls, each with ids of its own.
fn calls() -> Vec<Call> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../backstory-agents/tests/hooks");
    let mut calls = Vec::new();
    for HookAgent { agent, .. } in HookAgent::all() {
        // Another id is another call or prompt: nothing is told twice.
        let fields = agent.hooks.unwrap().fields();
        let is_id = |name: &str| fields.tool_id.contains(&name) || fields.prompt_id.contains(&name);
        let agent = agent.name;
        for file in std::fs::read_dir(folder.join(agent)).unwrap() {
            let file = file.unwrap().path();
            if file.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let whole: Map<String, Value> =
                serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
            let stem = file.file_stem().unwrap().to_str().unwrap();
            let missing = whole.keys().cloned().map(Some);
            for without in std::iter::once(None).chain(missing) {
                let mut input = whole.clone();
                if let Some(without) = &without {
                    input.remove(without);
                }
                for (name, value) in &mut input {
                    if let (true, Some(id)) = (is_id(name), value.as_str()) {
                        *value = format!("{id}-{}", calls.len()).into();
                    }
                }
                calls.push(Call {
                    agent,
                    event: stem.split('-').next().unwrap().to_string(),
                    input,
                    without,
                    name: format!("{agent}/{stem}"),
                });
            }
        }
    }
    calls
}

/// Runs all calls, several at a time.
fn run(environment: &Environment, calls: &[Call]) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(call) = calls.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let arguments = ["hook", &call.event, "--agent", call.agent];
                    let outcome = environment.feed(&arguments, &call.bytes());
                    let (name, without) = (&call.name, &call.without);
                    assert_eq!(outcome.code, 0, "{name} without {without:?}");
                    assert_harmless(&outcome);
                }
            });
        }
    });
}

/// How often something is there.
type Counted = BTreeMap<String, usize>;

fn counted(all: impl IntoIterator<Item = String>) -> Counted {
    let mut counted = Counted::new();
    for one in all {
        *counted.entry(one).or_default() += 1;
    }
    counted
}

/// What a session that was told this shows, and the kinds of items that stand for it.
fn expected(input: &HookInput) -> (Vec<String>, Vec<&'static str>) {
    match &input.happening {
        Happening::Prompted { text, .. } => (vec![format!("prompt: {text}")], vec!["prompt"]),
        Happening::ToolUsed(tool) => {
            let output = tool.output.as_deref().unwrap_or_default();
            let call = format!("tool_call {}: {}", tool.name, tool.input);
            let result = format!("tool_result {}: {output}", tool.name);
            (vec![call, result], vec!["tool_use"])
        }
        Happening::Replied { text } => (vec![format!("reply: {text}")], vec!["reply"]),
        Happening::Stopped {
            reply: Some(text), ..
        } => (vec![format!("reply: {text}")], vec!["reply", "summary"]),
        Happening::Stopped { reply: None, .. }
        | Happening::Compacting { .. }
        | Happening::Ended { .. } => (vec![], vec!["summary"]),
        Happening::Started { .. } | Happening::Omitted { .. } | Happening::Other => {
            (vec![], vec![])
        }
    }
}

fn shown(environment: &Environment, session: &str) -> Vec<String> {
    let shown = environment.json(&["show", session]);
    let line = |event: &Value| {
        let text = |name: &str| event[name].as_str().unwrap_or_default().to_string();
        match event["tool"].as_str() {
            Some(tool) => format!("{} {tool}: {}", text("kind"), text("text")),
            None => format!("{}: {}", text("kind"), text("text")),
        }
    };
    let events = shown["events"].as_array().unwrap();
    events.iter().map(line).collect()
}

#[test]
fn what_was_there_is_stored_whatever_is_missing() {
    let environment = Home::new();
    let calls = calls();
    assert!(calls.len() > 900, "{}", calls.len());
    run(&environment, &calls);

    let mut sessions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut kinds = Vec::new();
    let mut summarised = std::collections::BTreeSet::new();
    for call in &calls {
        let input = call.understood();
        let (events, items) = expected(&input);
        let session = input.session.clone().unwrap_or_default();
        for kind in items {
            // However often a summary is asked for, there is one to be made.
            let asked = (input.agent.name, session.clone());
            if kind != "summary" || summarised.insert(asked) {
                kinds.push(format!("{} {session} {kind}", input.agent.name));
            }
        }
        sessions.entry(session).or_default().extend(events);
    }
    let nameless = sessions.remove("").unwrap();
    assert!(!nameless.is_empty(), "nothing came without its session");
    let items = items(&environment).into_iter().map(|item| {
        let text = |name: &str| item[name].as_str().unwrap_or_default().to_string();
        format!("{} {} {}", text("agent"), text("session"), text("kind"))
    });
    // Of what has no session nobody can tell the agent.
    let nobody = |line: String| {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            [_, "", kind] => format!("  {kind}"),
            _ => line,
        }
    };
    let expect = |all: Vec<String>| counted(all.into_iter().map(nobody));
    assert_eq!(counted(items), expect(kinds));
    for (session, events) in sessions {
        let shown = shown(&environment, &session);
        assert_eq!(counted(shown), counted(events), "{session}");
    }
}

/// So that the one before is not right about nothing: what the files themselves say is shown, read by nobody in between.
#[test]
fn prompts_and_tools_are_shown_as_they_were_told() {
    let environment = Home::new();
    let mut calls = calls();
    calls.retain(|call| call.without.is_none() && call.agent != "grok");
    run(&environment, &calls);
    items(&environment);
    let mut all = Vec::new();
    for session in environment.json(&["sessions", "--limit", "0"])["sessions"]
        .as_array()
        .unwrap()
    {
        all.extend(shown(&environment, session["session"].as_str().unwrap()));
    }
    let (mut tools, mut prompts) = (0, 0);
    for call in &calls {
        let said = |name: &str| call.input.get(name).and_then(Value::as_str);
        let event = call.event.to_lowercase();
        if let (Some(tool), true) = (
            said("tool_name"),
            event == "posttooluse" || event == "aftertool",
        ) {
            let begin = format!("tool_call {tool}: ");
            assert!(
                all.iter().any(|line| line.starts_with(&begin)),
                "{}: {tool}",
                call.name
            );
            tools += 1;
        }
        let asks = ["userpromptsubmit", "beforeagent", "beforesubmitprompt"];
        if let (Some(prompt), true) = (said("prompt"), asks.contains(&event.as_str())) {
            let is_there = |line: &String| {
                line.strip_prefix("prompt: ")
                    .is_some_and(|text| prompt.contains(text))
            };
            // What the harness says in a person's name is no prompt.
            if !prompt.trim_start().starts_with('<') {
                assert!(all.iter().any(is_there), "{}: {prompt}", call.name);
                prompts += 1;
            }
        }
    }
    assert!(
        tools > 15 && prompts > 3,
        "{tools} tools, {prompts} prompts"
    );
}

//! The text of files with and without our hooks.

mod files;
mod generated;

use backstory_agents::HookAgent;
use backstory_agents::hook::{HookLayout, HookRegistration};

use super::hooks::{Hooks, Without};
use super::scan::scan;

const PROGRAM: &str = "/opt/backstory";

fn agent(name: &str) -> HookAgent {
    HookAgent::all()
        .find(|agent| agent.agent.name == name)
        .unwrap()
}

fn hooks(name: &str) -> Hooks<'static> {
    Hooks {
        agent: agent(name),
        program: PROGRAM,
    }
}

/// Sets an agent up that has one event only; the hook shows as `HOOK`. Taking it out must give the file back.
fn check(name: &str, before: &str, expect: &str) {
    let mut agent = agent(name);
    agent.registration = Box::leak(Box::new(HookRegistration {
        events: &agent.registration.events[..1],
        ..agent.registration.clone()
    }));
    let hooks = Hooks {
        agent,
        program: PROGRAM,
    };
    let after = match hooks.install(Some(before), 0) {
        Ok(after) => {
            assert_eq!(hooks.install(Some(&after), 0).unwrap(), after);
            let (without, events) = hooks.remove(&after).unwrap();
            assert_eq!(without, Without::Text(before.to_string()), "{after}");
            assert_eq!(events, agent.registration.events);
            after
        }
        Err(broken) => format!("line {}: {}", broken.line, broken.reason),
    };
    let event = agent.registration.events[0];
    let handler = format!("{PROGRAM} hook {event} --agent {name}");
    assert_eq!(after.replace(&handler, "HOOK"), expect);
}

/// Hooks of a version that knew fewer events are completed, and all of it can be taken out.
#[test]
fn new_events_join_old_hooks() {
    for agent in HookAgent::all() {
        let fewer = Box::leak(Box::new(HookRegistration {
            events: &agent.registration.events[1..],
            ..agent.registration.clone()
        }));
        let old = Hooks {
            agent: HookAgent {
                registration: fewer,
                ..agent
            },
            program: PROGRAM,
        };
        let new = hooks(agent.agent.name);
        for before in ["{\n  \"theirs\": 1\n}\n", "{}", "", "{\"hooks\": {}} "] {
            let installed = old.install(Some(before), 0).unwrap();
            let missing = new.missing_events(&installed);
            assert_eq!(missing, agent.registration.events[..1], "{installed}");
            let completed = new.install(Some(&installed), 0).unwrap();
            assert!(new.missing_events(&completed).is_empty(), "{completed}");
            let (without, events) = new.remove(&completed).unwrap();
            assert_eq!(without, Without::Text(before.to_string()), "{completed}");
            assert_eq!(events.len(), agent.registration.events.len());
        }
    }
}

#[test]
fn hooks_go_behind_what_is_there() {
    check(
        "cursor",
        "{\n    \"version\": 1, // one\n    \"hooks\": {\n        \"sessionStart\": [\n            {\"command\": \"theirs\"} // keep\n        ]\n    }\n}",
        "{\n    \"version\": 1, // one\n    \"hooks\": {\n        \"sessionStart\": [\n            {\"command\": \"theirs\"}, // keep\n            {\n                \"command\": \"HOOK\",\n                \"timeout\": 5\n            }\n        ]\n    }\n}",
    );
    check(
        "claude-code",
        "{\r\n\t\"model\": \"x\",\r\n}\r\n",
        "{\r\n\t\"model\": \"x\",\r\n\t\"hooks\": {\r\n\t\t\"SessionStart\": [\r\n\t\t\t{\r\n\t\t\t\t\"hooks\": [\r\n\t\t\t\t\t{\r\n\t\t\t\t\t\t\"type\": \"command\",\r\n\t\t\t\t\t\t\"command\": \"HOOK\",\r\n\t\t\t\t\t\t\"timeout\": 5\r\n\t\t\t\t\t}\r\n\t\t\t\t]\r\n\t\t\t}\r\n\t\t]\r\n\t},\r\n}\r\n",
    );
}

#[test]
fn what_is_empty_is_filled_and_emptied() {
    let element = "{\n        \"command\": \"HOOK\",\n        \"timeout\": 5\n      }";
    let event = format!("\"sessionStart\": [\n      {element}\n    ]");
    let version = "\"version\":\t1";
    let all = format!("\n  \"hooks\": {{\n    {event}\n  }},\n  {version}\n");
    check("cursor", "", &format!("{{  {all}}}"));
    check("cursor", "\u{feff}\r", &format!("\u{feff}{{  {all}}}\r"));
    check("cursor", "{}", &format!("{{ {all}}}"));
    check(
        "cursor",
        "{\n}\n",
        &format!("{{   {}\n}}\n", all.trim_end()),
    );
    check(
        "cursor",
        "{\n  \"version\": 1,\n  \"hooks\": {}\n}",
        &format!("{{\n  \"version\": 1,\n  \"hooks\": {{ \n    {event}\n  }}\n}}"),
    );
    check(
        "cursor",
        "{\n  \"version\": 1,\n  \"hooks\": { /* none */ }\n}",
        &format!("{{\n  \"version\": 1,\n  \"hooks\": {{ /* none */\n    {event} }}\n}}"),
    );
    check(
        "cursor",
        "{\n  \"version\": 1,\n  \"hooks\": {\n    \"sessionStart\": [ ]\n  }\n}",
        &format!(
            "{{\n  \"version\": 1,\n  \"hooks\": {{\n    \"sessionStart\": [   \n      {element} ]\n  }}\n}}"
        ),
    );
}

#[test]
fn what_is_no_settings_file_is_refused() {
    for (text, expect) in [
        ("[]", "line 1: it is no JSON object"),
        ("\n\"text\"", "line 2: it is no JSON object"),
        ("{\n\"hooks\": []}", "line 2: \"hooks\" is no object"),
        ("{\"hooks\": null}", "line 1: \"hooks\" is no object"),
        (
            "{\"hooks\": {\n\"SessionStart\":\n{}}}",
            "line 3: \"SessionStart\" is no array",
        ),
        (
            "{\"hooks\": {},\n\"h\\u006foks\": {}}",
            "line 2: it has \"hooks\" twice",
        ),
        (
            "{\"hooks\": {\"SessionStart\": [],\n\"SessionStart\": []}}",
            "line 2: it has \"SessionStart\" twice",
        ),
        ("{\n\"a\": 1\n\"b\": 2}", "line 3: a comma is missing"),
        ("{\"a\": 1,,}", "line 1: a comma follows nothing"),
        ("{,}", "line 1: a comma follows nothing"),
        ("{\"a\" 1}", "line 1: a colon is missing"),
        ("{a: 1}", "line 1: a key is missing"),
        ("{'a': 1}", "line 1: a key is missing"),
        ("{\"a\": 01}", "line 1: this is no value"),
        ("{\"a\": }", "line 1: this is no value"),
        ("{\"a\": nul}", "line 1: this is no value"),
        ("{\"a\": \"b", "line 1: a string does not end"),
        ("{\"a\": \"b\n\"}", "line 1: a string does not end"),
        (
            "{\"a\": \"\\x\"}",
            "line 1: a string with what no string may have",
        ),
        (
            "{\"a\": \"\u{1}\"}",
            "line 1: a string with what no string may have",
        ),
        ("{\"a\": [1}", "line 1: a comma is missing"),
        ("{\"a\": 1", "line 1: it ends too early"),
        ("{\n\n/* ", "line 3: a comment does not end"),
        ("{} /", "line 1: a lone slash"),
        ("{}\n{}", "line 2: something follows the end"),
        ("// only a comment", "line 1: it ends too early"),
        ("\0", "line 1: this is no value"),
    ] {
        check("claude-code", text, expect);
    }
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    check("claude-code", &deep, "line 1: it is nested too deeply");
}

#[test]
fn a_file_of_our_own_goes_with_its_hooks() {
    for agent in HookAgent::all() {
        for folders in 0..3 {
            let hooks = hooks(agent.agent.name);
            let text = hooks.install(None, folders).unwrap();
            serde_json::from_str::<serde_json::Value>(&text).unwrap();
            assert_eq!(hooks.install(Some(&text), 7).unwrap(), text);
            assert_eq!(hooks.remove(&text).unwrap().0, Without::Gone(folders));
            // Also when the agent has written it anew.
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            let (without, events) = hooks.remove(&value.to_string()).unwrap();
            assert_eq!(events.len(), agent.registration.events.len());
            let left = match agent.registration.layout {
                HookLayout::Flat => Without::Text("{\"version\":1}".to_string()),
                HookLayout::Grouped => Without::Gone(0),
            };
            assert_eq!(without, left);
        }
    }
}

#[test]
fn another_path_of_the_program_is_replaced() {
    for agent in HookAgent::all() {
        let before = "{\n  \"theirs\": 1 // keep\n}\n";
        let mut text = before.to_string();
        for program in [
            "backstory",
            "'/home/ada/my tools/backstory'",
            "\"/home/ada/my tools/backstory\"",
            "/home/ada/my\\ tools/backstory",
            "'C:\\Tools\\backstory.exe'",
            "/opt/renamed",
        ] {
            let hooks = Hooks { agent, program };
            let after = hooks.install(Some(&text), 0).unwrap();
            let command = serde_json::Value::from(format!("{program} hook")).to_string();
            let command = command.trim_matches('"');
            assert_eq!(
                after.matches(command).count(),
                agent.registration.events.len(),
                "{after}"
            );
            assert_eq!(
                after.matches(" hook ").count(),
                agent.registration.events.len(),
                "{after}"
            );
            assert_eq!(
                hooks.remove(&after).unwrap().0,
                Without::Text(before.to_string())
            );
            if program != "/opt/renamed" {
                text = after;
            }
        }
    }
}

/// Takes our hooks out of a file that people have edited since.
fn check_removal(before: &str, expect: &str) {
    let hook = "{\"type\": \"command\", \"command\": \"backstory hook Stop\"}";
    let (without, _) = hooks("claude-code")
        .remove(&before.replace("HOOK", hook))
        .unwrap();
    assert_eq!(without, Without::Text(expect.to_string()));
    scan(expect).unwrap();
}

#[test]
fn what_people_added_stays() {
    for (before, expect) in [
        (
            r#"{"hooks": {"Stop": [{"hooks": [HOOK, {"command": "theirs"}]}]}}"#,
            r#"{"hooks": {"Stop": [{"hooks": [{"command": "theirs"}]}]}}"#,
        ),
        (
            r#"{"hooks": {"Stop": [{"hooks": [{"command": "theirs"}, HOOK]}]}}"#,
            r#"{"hooks": {"Stop": [{"hooks": [{"command": "theirs"}]}]}}"#,
        ),
        (
            r#"{"hooks": {"Stop": [{"hooks": [HOOK]}, {"hooks": []}]}, "a": 1}"#,
            r#"{"hooks": {"Stop": [{"hooks": []}]}, "a": 1}"#,
        ),
        (
            r#"{"hooks": {"Stop": [{"matcher": "*", "hooks": [HOOK]}]}, "a": 1}"#,
            r#"{"a": 1}"#,
        ),
        (
            r#"{"hooks": {"Stop": [{"matcher": "*", /* mine */ "hooks": [HOOK]}]}, "a": 1}"#,
            r#"{"hooks": {"Stop": [{"matcher": "*", /* mine */ "hooks": []}]}, "a": 1}"#,
        ),
        (
            r#"{"hooks": {"Stop": [{"hooks": [HOOK], "sequential": true}]}}"#,
            r#"{"hooks": {"Stop": [{"hooks": [], "sequential": true}]}}"#,
        ),
        (
            "{\"hooks\": {\"Stop\": [{\"hooks\": [HOOK]}]\n// mine\n}}",
            "{\"hooks\": {\n// mine\n}}",
        ),
        (
            "{\"hooks\": {\"Stop\": [{\"hooks\": [HOOK]}], // of ours\n\"Other\": []}}",
            "{\"hooks\": { // of ours\n\"Other\": []}}",
        ),
        (
            "// mine\n{\"hooks\": {\"Stop\": [{\"hooks\": [HOOK]}]}}",
            "// mine\n{}",
        ),
        (
            r#"{"hooks": {"Stop": [HOOK, {"hooks": [HOOK, HOOK]}]}, "hooks": {"Stop": [HOOK]}, "a": 1}"#,
            r#"{"a": 1}"#,
        ),
    ] {
        check_removal(before, expect);
    }
}

#[test]
fn a_version_that_others_need_stays() {
    let hooks = hooks("cursor");
    let text = hooks.install(Some("{}"), 0).unwrap();
    let edited = text.replacen("\"stop\": [", "\"stop\": [{\"command\": \"theirs\"},", 1);
    let Without::Text(left) = hooks.remove(&edited).unwrap().0 else {
        panic!("{edited}");
    };
    assert!(
        left.contains("theirs") && left.contains("version"),
        "{left}"
    );
    scan(&left).unwrap();
}

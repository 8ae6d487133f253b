//! Files of all kinds: set up they are valid and hold each hook once, set up again they are the same, torn down they are what they were.

use serde_json::Value;

use backstory_agents::HookAgent;
use backstory_agents::hook::HookLayout;

use super::super::edit::Layout;
use super::super::hooks::{Hooks, Without};
use super::super::scan::scan;
use super::PROGRAM;

/// How many files are made up for each agent.
const FILES: u64 = 120;

/// Writes a file in a style that chance chooses.
struct Maker {
    state: u64,
    newline: &'static str,
    indent: &'static str,
    has_comments: bool,
    trailing_commas: bool,
    is_odd: bool,
    text: String,
}

impl Maker {
    fn new(seed: u64) -> Self {
        let mut maker = Maker {
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678,
            newline: "",
            indent: "",
            has_comments: false,
            trailing_commas: false,
            is_odd: false,
            text: String::new(),
        };
        maker.newline = maker.one_of(&["\n", "\n", "\r\n", "", "\r"]);
        maker.indent = maker.one_of(&["  ", "    ", "\t", "", " "]);
        maker.has_comments = maker.chance(2);
        maker.trailing_commas = maker.chance(3);
        maker.is_odd = maker.chance(3);
        maker
    }

    fn number(&mut self, below: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 16) as usize % below
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.number(one_in) == 0
    }

    fn one_of(&mut self, choices: &[&'static str]) -> &'static str {
        choices[self.number(choices.len())]
    }

    /// Whitespace and comments that may be anywhere.
    fn anything(&mut self) {
        if self.is_odd && self.chance(3) {
            let blanks =
                self.one_of(&[" ", "  ", "   ", "\t", "\n", "\r\n", " \n", "   \n", "\t\n"]);
            self.text.push_str(blanks);
        }
        if self.has_comments && self.chance(4) {
            let comment = self.one_of(&[
                "/* c */",
                "/**/",
                "// line, \"with\" {[\n",
                "//\r\n",
                " /* two\nlines */ ",
                "// ünï 👩‍💻 */ /*\n",
            ]);
            self.text.push_str(comment);
        }
    }

    fn line(&mut self, depth: usize) {
        self.anything();
        self.text.push_str(self.newline);
        if !self.newline.is_empty() {
            self.text.push_str(&self.indent.repeat(depth));
        }
    }

    fn value(&mut self, depth: usize, value: &Value) {
        self.anything();
        match value {
            Value::Object(members) => {
                let members: Vec<_> = members.iter().collect();
                self.container(depth, '{', &members, '}');
            }
            Value::Array(elements) => {
                let empty = String::new();
                let elements: Vec<_> = elements.iter().map(|element| (&empty, element)).collect();
                self.container(depth, '[', &elements, ']');
            }
            plain => self.text.push_str(&plain.to_string()),
        }
        self.anything();
    }

    fn container(&mut self, depth: usize, open: char, items: &[(&String, &Value)], close: char) {
        self.text.push(open);
        for (index, (key, value)) in items.iter().enumerate() {
            self.line(depth + 1);
            if open == '{' {
                self.text.push_str(&Value::from(key.as_str()).to_string());
                self.anything();
                self.text.push(':');
            }
            self.value(depth + 1, value);
            if index + 1 < items.len() || self.trailing_commas {
                self.text.push(',');
            }
        }
        if items.is_empty() {
            let inside = self.one_of(&["", " ", "\n", "\r\n  ", "  ", "   \n"]);
            self.text.push_str(inside);
            self.anything();
        } else {
            self.line(depth);
        }
        self.text.push(close);
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// What a file of this agent may hold.
fn content(maker: &mut Maker, agent: HookAgent) -> Value {
    let mut root = serde_json::Map::new();
    let others = [
        ("a", r#""plain""#),
        (
            "env",
            r#"{"KEY": "ünï \" // no comment", "/*": "*/", "": null}"#,
        ),
        (
            "permissions",
            r#"{"allow": ["Bash(git *)", "x,]}"], "deny": [], "deep": [[[[{"hooks": {"Stop": []}}]]]]}"#,
        ),
        ("zoom", "[1.5e3, -0, true, false, null, [], {}]"),
    ];
    for (key, value) in others {
        if maker.chance(2) {
            root.insert(key.to_string(), json(value));
        }
    }
    if maker.chance(8) {
        let deep = format!("{}1{}", "[".repeat(90), "]".repeat(90));
        root.insert("deep".to_string(), json(&deep));
    }
    if agent.registration.layout == HookLayout::Flat && maker.chance(2) {
        root.insert("version".to_string(), json("1"));
    }
    if maker.chance(3) {
        return Value::Object(root);
    }
    let mut hooks = serde_json::Map::new();
    for event in agent.registration.events.iter().chain(&["Notification"]) {
        let handlers = maker.one_of(&[
            "",
            "",
            "",
            "[]",
            r#"[{"matcher": "Bash", "hooks": [{"type": "command", "command": "theirs", "timeout": 9}]}]"#,
            r#"[{"command": "echo backstory hook Stop"}, {"command": "/opt/other hook x"}]"#,
            r#"["odd", 1, null, [], {}, {"hooks": 3}, {"hooks": []}, {"command": 5}]"#,
        ]);
        if !handlers.is_empty() {
            hooks.insert(event.to_string(), json(handlers));
        }
    }
    if maker.chance(6) {
        hooks.insert("unknown".to_string(), json(r#"{"of": "another shape"}"#));
    }
    root.insert("hooks".to_string(), Value::Object(hooks));
    Value::Object(root)
}

fn file(seed: u64, agent: HookAgent) -> String {
    let mut maker = Maker::new(seed);
    if maker.chance(6) {
        maker.text.push('\u{feff}');
    }
    if maker.chance(25) {
        let blank = maker.one_of(&["", " ", "\n", "\r\n\r\n", "\t"]);
        return maker.text + blank;
    }
    let content = match maker.chance(12) {
        true => json("{}"),
        false => content(&mut maker, agent),
    };
    maker.value(0, &content);
    let end = maker.one_of(&["", "\n", "\r\n", "\n\n", " "]);
    maker.text + end
}

/// Plain JSON of JSON with comments, another way than the scanner does it.
fn plain(text: &str) -> Value {
    let mut plain = String::new();
    let mut rest = text.trim_start_matches('\u{feff}');
    while let Some(character) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find(['\n', '\r']).unwrap_or(rest.len())
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.find("*/").unwrap() + 4
        } else if character == '"' {
            let escaped = |at: &usize| {
                rest[1..*at]
                    .bytes()
                    .rev()
                    .take_while(|byte| *byte == b'\\')
                    .count()
                    % 2
                    == 1
            };
            let mut quotes = rest.match_indices('"').map(|(at, _)| at).skip(1);
            let end = quotes.find(|at| !escaped(at)).unwrap() + 1;
            plain.push_str(&rest[..end]);
            end
        } else {
            if matches!(character, '}' | ']') && plain.ends_with(',') {
                plain.pop();
            }
            if !character.is_whitespace() {
                plain.push(character);
            }
            character.len_utf8()
        };
        rest = &rest[length..];
    }
    if plain.is_empty() {
        return json("{}");
    }
    serde_json::from_str(&plain).unwrap()
}

/// Takes our hooks out of the value, so that what is left can be compared; gives how many there were.
fn take_ours(value: &mut Value, before: &Value, agent: HookAgent) -> usize {
    let mut count = 0;
    for event in agent.registration.events {
        let elements = value["hooks"][event].as_array_mut().unwrap();
        let ours = elements.pop().unwrap();
        let command = format!("{PROGRAM} hook {event} --agent {}", agent.agent.name);
        let handler = match agent.registration.layout {
            HookLayout::Grouped => &ours["hooks"][0],
            HookLayout::Flat => &ours,
        };
        assert_eq!(handler["command"], command);
        assert_eq!(handler["timeout"], agent.registration.timeout(event));
        count += 1;
        if before["hooks"][event].is_null() {
            value["hooks"].as_object_mut().unwrap().remove(*event);
        }
    }
    for key in ["hooks", "version"] {
        if before[key].is_null() {
            value.as_object_mut().unwrap().remove(key);
        }
    }
    count
}

#[test]
fn all_files_come_back_byte_for_byte() {
    for agent in HookAgent::all() {
        let hooks = Hooks {
            agent,
            program: PROGRAM,
        };
        for seed in 1..=FILES {
            let before = file(seed, agent);
            let shown = format!("{} {seed}: {before:?}", agent.agent.name);
            let was = plain(&before);
            let after = hooks.install(Some(&before), 0);
            assert!(after.is_ok(), "{shown}\n{after:?}");
            let after = after.unwrap();
            let mut is = plain(&after);
            assert_eq!(
                take_ours(&mut is, &was, agent),
                agent.registration.events.len()
            );
            assert_eq!(is, was, "{shown}");
            assert_eq!(hooks.install(Some(&after), 0).unwrap(), after, "{shown}");
            let moved = Hooks {
                program: "'/my tools/backstory'",
                ..hooks
            };
            let there = moved.install(Some(&after), 0).unwrap();
            assert_eq!(hooks.install(Some(&there), 0).unwrap(), after, "{shown}");
            let (without, events) = hooks.remove(&after).unwrap();
            assert_eq!(without, Without::Text(before.clone()), "{shown}");
            assert_eq!(events.len(), agent.registration.events.len(), "{shown}");
            let (without, events) = hooks.remove(&before).unwrap();
            assert_eq!((without, events.len()), (Without::Text(before), 0));
        }
    }
}

#[test]
fn what_is_added_in_between_stays() {
    const THEIRS: &str = "[{\"matcher\": \"x\", \"hooks\": [{\"command\": \"theirs\"}]}]";
    for agent in HookAgent::all() {
        let hooks = Hooks {
            agent,
            program: PROGRAM,
        };
        for seed in 1..=FILES {
            let before = file(seed, agent);
            let after = hooks.install(Some(&before), 0).unwrap();
            let root = scan(&after).unwrap();
            let last = agent.registration.events[agent.registration.events.len() - 1];
            let places = [
                (&root, format!("\"added\": {THEIRS}")),
                (root.get("hooks").unwrap(), format!("\"added\": {THEIRS}")),
                (
                    root.get("hooks").unwrap().get(last).unwrap(),
                    THEIRS.to_string(),
                ),
            ];
            for (place, item) in places {
                let edited = Layout::of(&after, &root).append(&after, place, &item, None);
                let (without, events) = hooks.remove(&edited).unwrap();
                let Without::Text(without) = without else {
                    panic!("{edited:?}");
                };
                assert_eq!(events.len(), agent.registration.events.len(), "{edited:?}");
                assert!(without.contains(THEIRS), "{edited:?}");
                assert!(!without.contains(PROGRAM), "{edited:?}");
                plain(&without);
                scan(&without).unwrap();
            }
        }
    }
}

#[test]
fn broken_files_are_refused_or_come_back() {
    let mut refused = 0;
    for agent in HookAgent::all() {
        let hooks = Hooks {
            agent,
            program: PROGRAM,
        };
        for seed in 1..=FILES {
            // Cut anywhere, or with a character too many.
            let whole = file(seed, agent);
            let mut maker = Maker::new(seed + 7);
            let at = maker.number(whole.len() + 1);
            let at = (0..=at)
                .rev()
                .find(|at| whole.is_char_boundary(*at))
                .unwrap();
            let extra = maker.one_of(&["{", "]", "\"", ",", ":", "x", "/*", "\\"]);
            for broken in [
                whole[..at].to_string(),
                format!("{}{extra}{}", &whole[..at], &whole[at..]),
            ] {
                match hooks.install(Some(&broken), 0) {
                    Ok(after) => assert_eq!(hooks.remove(&after).unwrap().0, Without::Text(broken)),
                    Err(_) => refused += 1,
                }
            }
        }
    }
    assert!(refused > 500, "{refused}");
}

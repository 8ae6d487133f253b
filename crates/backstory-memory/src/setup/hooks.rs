//! Our hooks in the text of an agent's file: finding them, putting them in, taking them out.

use backstory_agents::HookAgent;
use backstory_agents::hook::HookLayout;
use serde_json::Value;

use super::command::{HookCommand, classify_command};
use super::edit::{Layout, Mark, Rest, is_blank, take_out};
use super::scan::{Broken, Item, Node, decoded, line_of, scan};

/// Tells our own line from what people write: nobody puts a tab there.
const OUR_VERSION: &str = "\"version\":\t1";

/// How many objects and arrays a handler is in: those of its event, and those of its group.
const DEPTH: usize = 3;
const DEPTH_IN_GROUP: usize = DEPTH + 2;

/// What an agent is to run.
#[derive(Clone, Copy)]
pub(super) struct Hooks<'a> {
    pub(super) agent: HookAgent,
    /// Our program, as a shell reads it.
    pub(super) program: &'a str,
}

/// A file without our hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Without {
    Text(String),
    /// It was made for our hooks, with so many folders.
    Gone(usize),
}

/// One hook of ours.
struct Ours<'a> {
    event: &'a str,
    handler: &'a Node,
    /// The objects and arrays that it is in, innermost first, and which of their items it is in.
    within: Vec<(&'a Node, usize)>,
}

impl Hooks<'_> {
    /// The text with our hooks, all of them and each once; the same text when they are there already. Of a file that is not there, the
    /// folders that have to be made are counted.
    pub(super) fn install(&self, before: Option<&str>, folders: usize) -> Result<String, Broken> {
        let base = match before {
            Some(text) if !is_blank(without_mark(text)) => {
                let root = scan(text)?;
                self.check(text, &root)?;
                if self.is_complete(text, &root) {
                    return Ok(text.to_string());
                }
                self.remove(text)?.0
            }
            Some(text) => Without::Text(text.to_string()),
            None => Without::Gone(folders),
        };
        let text = self.put_in(&base)?;
        if self.remove(&text)?.0 != base {
            return Err(Broken {
                line: 1,
                reason: "it is laid out so that hooks could not be taken out again".to_string(),
            });
        }
        Ok(text)
    }

    /// The file without our hooks, and the events they were for.
    pub(super) fn remove(&self, text: &str) -> Result<(Without, Vec<String>), Broken> {
        let mut events = Vec::new();
        let mut rest = Without::Text(self.without_version(text)?);
        // The last one first, so that each finds what it found when it was put in.
        while let Without::Text(text) = &rest {
            if is_blank(without_mark(text)) {
                break;
            }
            let root = scan(text)?;
            let Some(hook) = self.ours(text, &root).pop() else {
                break;
            };
            events.insert(0, hook.event.to_string());
            rest = without_hook(text, &root, &hook);
        }
        Ok((rest, events))
    }

    /// The text without the version, if that is ours and nobody else needs it.
    fn without_version(&self, text: &str) -> Result<String, Broken> {
        if !text.contains(OUR_VERSION) {
            return Ok(text.to_string());
        }
        let root = scan(text)?;
        let is_version = |item: &Item| &text[item.start..item.value.end] == OUR_VERSION;
        let last = root.items().len().saturating_sub(1);
        let is_last = root.items().last().is_some_and(is_version);
        let is_ours = is_last && !self.ours(text, &root).is_empty();
        if is_ours
            && !self.has_others(text, &root)
            && let Rest::Text(rest) = take_out(text, &root, last)
        {
            return Ok(rest);
        }
        Ok(text.to_string())
    }

    /// Puts hooks into a file that has none of ours.
    fn put_in(&self, base: &Without) -> Result<String, Broken> {
        let (mut text, made) = match base {
            Without::Gone(folders) => ("{}\n".to_string(), Some(Mark::Made(*folders))),
            Without::Text(text) => {
                let content = without_mark(text);
                let mark = &text[..text.len() - content.len()];
                match is_blank(content) {
                    true => (format!("{mark}{{}}{content}"), Some(Mark::Blank)),
                    false => (text.clone(), None),
                }
            }
        };
        let root = scan(&text)?;
        let layout = Layout::of(&text, &root);
        let has_others = self.has_others(&text, &root);
        let needs_version =
            self.agent.registration.layout == HookLayout::Flat && root.get("version").is_none();
        let mut hooks_made = None;
        if root.get("hooks").is_none() {
            text = layout.append(&text, &root, "\"hooks\": {}", made);
            hooks_made = Some(Mark::Made(0));
        }
        let extended = self.extended(&text, &scan(&text)?);
        let is_missing = |event: &&&str| !extended.iter().any(|(known, _)| known == **event);
        for event in self.agent.registration.events.iter().filter(is_missing) {
            let root = scan(&text)?;
            let Some(hooks) = root.get("hooks") else {
                break;
            };
            let element = self.element(event);
            text = match hooks.get(event) {
                Some(handlers) => layout.append(&text, handlers, &element, None),
                None => {
                    let element = element.replace('\n', "\n\t");
                    let member = format!("\"{event}\": [\n\t{element}\n]");
                    layout.append(&text, hooks, &member, hooks_made)
                }
            };
        }
        // What others wrote without a version works without one.
        if needs_version && !has_others {
            text = layout.append(&text, &scan(&text)?, OUR_VERSION, None);
        }
        Ok(text)
    }

    /// The handlers by event, as a file that is all ours has them.
    pub(super) fn handlers(&self) -> Value {
        let group = |event: &&str| {
            // What is written by us can be read.
            let element = serde_json::from_str(&self.element(event)).unwrap_or_default();
            (event.to_string(), Value::Array(vec![element]))
        };
        Value::Object(self.agent.registration.events.iter().map(group).collect())
    }

    fn command(&self, event: &str) -> String {
        format!(
            "{} hook {event} --agent {}",
            self.program, self.agent.agent.name
        )
    }

    /// What an event's array gets.
    fn element(&self, event: &str) -> String {
        let command = Value::from(self.command(event));
        let timeout = self.agent.registration.timeout(event);
        match self.agent.registration.layout {
            HookLayout::Grouped => format!(
                "{{\n\t\"hooks\": [\n\t\t{{\n\t\t\t\"type\": \"command\",\n\t\t\t\"command\": {command},\n\t\t\t\"timeout\": {timeout}\n\t\t}}\n\t]\n}}"
            ),
            HookLayout::Flat => {
                format!("{{\n\t\"command\": {command},\n\t\"timeout\": {timeout}\n}}")
            }
        }
    }

    /// Refuses what has another shape than the agent knows.
    fn check(&self, text: &str, root: &Node) -> Result<(), Broken> {
        let refuse = |at: usize, reason: String| {
            let line = line_of(text.as_bytes(), at);
            Err(Broken { line, reason })
        };
        if !root.is_object() {
            return refuse(root.start, "it is no JSON object".to_string());
        }
        let twice = |node: &Node, key: &str| {
            let mut items = node.items().iter().filter(|item| item.key == key);
            items.nth(1).map(|item| item.start)
        };
        if let Some(at) = twice(root, "hooks") {
            return refuse(at, "it has \"hooks\" twice".to_string());
        }
        let Some(hooks) = root.get("hooks") else {
            return Ok(());
        };
        if !hooks.is_object() {
            return refuse(hooks.start, "\"hooks\" is no object".to_string());
        }
        for event in self.agent.registration.events {
            if let Some(at) = twice(hooks, event) {
                return refuse(at, format!("it has \"{event}\" twice"));
            }
            if let Some(handlers) = hooks.get(event).filter(|handlers| !handlers.is_array()) {
                return refuse(handlers.start, format!("\"{event}\" is no array"));
            }
        }
        Ok(())
    }

    /// Whether all our hooks are there as they should be, and no other of ours. An event whose command the user extended needs none.
    fn is_complete(&self, text: &str, root: &Node) -> bool {
        let ours = self.ours(text, root);
        let extended = self.extended(text, root);
        let is_right = |hook: &Ours<'_>| {
            let field = |key: &str| {
                let node = hook.handler.get(key)?;
                Some(&text[node.start..node.end])
            };
            let depth = match self.agent.registration.layout {
                HookLayout::Grouped => DEPTH_IN_GROUP,
                HookLayout::Flat => DEPTH,
            };
            field("command").map(decoded) == Some(self.command(hook.event))
                && field("timeout")
                    == Some(&self.agent.registration.timeout(hook.event).to_string())
                && (self.agent.registration.layout == HookLayout::Flat
                    || field("type") == Some("\"command\""))
                && hook.within.len() == depth
        };
        let is_extended = |event: &str| extended.iter().any(|(known, _)| known == event);
        let has_right_count = |event: &&str| {
            let count = ours.iter().filter(|hook| hook.event == *event).count();
            count == usize::from(!is_extended(event))
        };
        let is_known = |hook: &Ours<'_>| self.agent.registration.events.contains(&hook.event);
        self.agent.registration.events.iter().all(has_right_count)
            && ours.iter().all(|hook| is_known(hook) && is_right(hook))
    }

    /// Events that are neither registered nor left to a command that the user extended.
    pub(super) fn missing_events(&self, text: &str) -> Vec<String> {
        let Ok(root) = scan(text) else {
            return Vec::new();
        };
        let ours = self.ours(text, &root);
        let extended = self.extended(text, &root);
        let is_missing = |event: &&&str| {
            !ours.iter().any(|hook| hook.event == **event)
                && !extended.iter().any(|(known, _)| known == **event)
        };
        let events = self.agent.registration.events.iter();
        events.filter(is_missing).map(ToString::to_string).collect()
    }

    /// All that is ours, in the order of the text.
    fn ours<'n>(&self, text: &str, root: &'n Node) -> Vec<Ours<'n>> {
        self.find(text, root, HookCommand::Ours)
    }

    /// Events with commands that run our program and something else, which are the user's, and those commands.
    pub(super) fn extended(&self, text: &str, root: &Node) -> Vec<(String, String)> {
        let found = self.find(text, root, HookCommand::Extended);
        let command = |hook: &Ours<'_>| {
            let node = hook.handler.get("command");
            node.map(|node| decoded(&text[node.start..node.end]))
        };
        found
            .iter()
            .map(|hook| (hook.event.to_string(), command(hook).unwrap_or_default()))
            .collect()
    }

    fn find<'n>(&self, text: &str, root: &'n Node, wanted: HookCommand) -> Vec<Ours<'n>> {
        let mut ours = Vec::new();
        for (at_hooks, hooks) in root.items().iter().enumerate() {
            if hooks.key != "hooks" {
                continue;
            }
            for (at_event, event) in hooks.value.items().iter().enumerate() {
                for (at, element) in event.value.items().iter().enumerate() {
                    let outer = [
                        (&event.value, at),
                        (&hooks.value, at_event),
                        (root, at_hooks),
                    ];
                    let mut found = |handler: &'n Node, inner: &[(&'n Node, usize)]| {
                        if self.classify(text, handler) == Some(wanted) {
                            ours.push(Ours {
                                event: &event.key,
                                handler,
                                within: [inner, &outer].concat(),
                            });
                        }
                    };
                    found(&element.value, &[]);
                    for (at_handlers, handlers) in element.value.items().iter().enumerate() {
                        if handlers.key != "hooks" {
                            continue;
                        }
                        for (at, handler) in handlers.value.items().iter().enumerate() {
                            let inner = [(&handlers.value, at), (&element.value, at_handlers)];
                            found(&handler.value, &inner);
                        }
                    }
                }
            }
        }
        ours
    }

    fn classify(&self, text: &str, handler: &Node) -> Option<HookCommand> {
        let command = handler.get("command")?;
        classify_command(&decoded(&text[command.start..command.end]), self.program)
    }

    /// Whether there are hooks of others.
    fn has_others(&self, text: &str, root: &Node) -> bool {
        let Some(hooks) = root.get("hooks") else {
            return false;
        };
        let elements: usize = hooks
            .items()
            .iter()
            .map(|event| match event.value.is_array() {
                true => event.value.items().len(),
                false => 1,
            })
            .sum();
        elements > self.ours(text, root).len()
    }
}

/// Takes one hook out, with all that was made for it.
fn without_hook(text: &str, root: &Node, hook: &Ours<'_>) -> Without {
    let mut mark = Mark::Made(0);
    for (level, (node, index)) in hook.within.iter().enumerate() {
        // A group: what else it has says only when the handlers run that are gone now.
        let is_group = hook.within.len() == DEPTH_IN_GROUP && level == 1;
        let is_idle = |node: &Node| {
            node.items()
                .iter()
                .all(|item| ["hooks", "matcher"].contains(&item.key.as_str()))
        };
        if is_group && node.items().len() > 1 {
            if is_idle(node) && !has_comments(text, node) {
                continue;
            }
            let handlers = hook.within[0].0;
            let (head, tail) = (&text[..=handlers.start], &text[handlers.end - 1..]);
            return Without::Text([head, tail].concat());
        }
        match take_out(text, node, *index) {
            Rest::Text(text) => return Without::Text(text),
            Rest::Nothing(how) => mark = how,
        }
    }
    let (head, tail) = (&text[..root.start], &text[root.end..]);
    match mark {
        Mark::Blank => Without::Text([head, tail].concat()),
        Mark::Made(folders) if is_blank(head) && is_blank(tail) => Without::Gone(folders),
        _ => Without::Text([head, "{}", tail].concat()),
    }
}

/// Whether there is a comment directly in an object or array.
fn has_comments(text: &str, node: &Node) -> bool {
    let mut at = node.start + 1;
    for item in node.items() {
        if text[at..item.start].contains('/') {
            return true;
        }
        at = item.value.end;
    }
    text[at..node.end].contains('/')
}

/// A text without its byte order mark.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

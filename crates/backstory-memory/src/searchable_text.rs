//! Text of an event that searches find, by words or by meaning.

use backstory_agents::{ArgumentUse, each_argument};
use backstory_event::{Event, Kind};
use backstory_store::Part;

use crate::text::beginning;

/// Bytes of an event that are indexed. Prompts and replies are shorter, but for pasted logs.
const MOST_SAID: usize = 32 << 10;

/// Bytes of a text that a tool was given to write.
const MOST_WRITTEN: usize = 500;

/// Bytes of a tool's output that are indexed.
const MOST_GIVEN: usize = 400;

/// Returns what of an event is found by words, by part.
pub(crate) fn searchable(event: &Event) -> [String; 3] {
    let mut texts = [String::new(), String::new(), String::new()];
    let [said, _, given] = &mut texts;
    let text = &event.body.text;
    match event.kind {
        Kind::Prompt | Kind::Reply | Kind::Reasoning | Kind::Summary => {
            said.push_str(beginning(text, MOST_SAID));
        }
        Kind::ToolCall => add_call(event, &mut texts),
        Kind::ToolResult => given.push_str(beginning(text.trim_start(), MOST_GIVEN)),
        Kind::System => {}
    }
    texts
}

/// A tool call: its name, command, files and naming arguments were called; sentences to other agents or people were said;
/// the beginning of what it writes was given.
fn add_call(event: &Event, texts: &mut [String; 3]) {
    texts[Part::Called as usize].push_str(event.tool.as_deref().unwrap_or_default());
    match &event.body.command {
        Some(command) => add(texts, Part::Called, command, MOST_SAID),
        None => {
            let text = &event.body.text;
            let is_object = each_argument(text, &mut |argument, text| match argument {
                ArgumentUse::Names => add(texts, Part::Called, text, MOST_SAID),
                ArgumentUse::Says => add(texts, Part::Said, text, MOST_SAID),
                ArgumentUse::Writes => add(texts, Part::Given, text, MOST_WRITTEN),
            });
            if !is_object {
                add(texts, Part::Given, text, MOST_WRITTEN);
            }
        }
    }
    let files = event.touches.iter().map(|touch| touch.path.as_str());
    let mut files: Vec<&str> = files.collect();
    files.sort_unstable();
    files.dedup();
    for file in files {
        if !texts[Part::Called as usize].contains(file) {
            add(texts, Part::Called, file, MOST_SAID);
        }
    }
}

fn add(texts: &mut [String; 3], part: Part, text: &str, most: usize) {
    let all = &mut texts[part as usize];
    if !all.is_empty() {
        all.push('\n');
    }
    all.push_str(beginning(text, most));
}

#[cfg(test)]
pub(crate) mod tests {
    use backstory_event::{Action, EventView, Seq, Touch, TurnNo};

    use super::*;

    /// An event as the store would give it.
    pub(crate) fn shown(kind: Kind, text: &str) -> EventView<'static> {
        EventView::unstored(Seq::new(3), TurnNo::new(2), kind, None, text.to_string())
    }

    fn reads(path: &str) -> Vec<Touch> {
        vec![Touch {
            path: path.to_string(),
            action: Action::Read,
        }]
    }

    /// A call of a tool with these arguments.
    pub(crate) fn called(tool: &str, arguments: &str) -> EventView<'static> {
        let mut event = shown(Kind::ToolCall, arguments);
        event.event.to_mut().tool = Some(tool.to_string());
        event
    }

    /// The parts of an event, each on one line.
    fn check(view: &EventView<'_>, expect: [&str; 3]) {
        let texts = searchable(&view.event).map(|text| text.replace('\n', " | "));
        assert_eq!(texts, expect);
    }

    #[test]
    fn what_people_and_models_say_is_found_whole() {
        for kind in [Kind::Prompt, Kind::Reply, Kind::Reasoning, Kind::Summary] {
            check(&shown(kind, "fix the build"), ["fix the build", "", ""]);
        }
        let long = "é".repeat(MOST_SAID);
        let [said, ..] = searchable(&shown(Kind::Prompt, &long).event);
        assert_eq!(said.len(), MOST_SAID);
    }

    #[test]
    fn what_tools_give_back_is_found_by_its_beginning() {
        check(&shown(Kind::ToolResult, "\n\n ok"), ["", "", "ok"]);
        let long = format!("{}end", "界".repeat(MOST_GIVEN));
        let [said, called, given] = searchable(&shown(Kind::ToolResult, &long).event);
        assert!(said.is_empty() && called.is_empty());
        assert!(given.len() <= MOST_GIVEN && given.len() > MOST_GIVEN - 3);
    }

    #[test]
    fn a_call_is_found_by_what_was_called() {
        let mut bash = called("Bash", r#"{"command": "cargo test", "description": "Run"}"#);
        bash.event.to_mut().body.command = Some("cargo test".to_string());
        bash.event.to_mut().touches = reads("/shop/a.rs");
        check(&bash, ["", "Bash | cargo test | /shop/a.rs", ""]);
        let mut edit = called(
            "Edit",
            r#"{"file_path": "/shop/a.rs", "old_string": "before", "new_string": "after", "replace_all": true}"#,
        );
        edit.event.to_mut().touches = reads("/shop/a.rs");
        check(&edit, ["", "Edit | /shop/a.rs", "after"]);
        let grep = called(
            "Grep",
            r#"{"pattern": "fn main", "output_mode": "content", "path": "src"}"#,
        );
        check(&grep, ["", "Grep | src | fn main", ""]);
        let patch = called("apply_patch", "*** Begin Patch");
        check(&patch, ["", "apply_patch", "*** Begin Patch"]);
        check(&called("Stop", "null"), ["", "Stop", "null"]);
    }

    #[test]
    fn sentences_in_a_call_were_said() {
        let task = called(
            "Task",
            r#"{"prompt": "look for leaks", "description": "Leaks", "subagent_type": "finder"}"#,
        );
        check(&task, ["look for leaks", "Task | Leaks", ""]);
        let todos = called(
            "TodoWrite",
            r#"{"todos": [{"content": "write tests", "status": "pending", "activeForm": "Writing"}, {"content": "ship"}]}"#,
        );
        check(&todos, ["", "TodoWrite | write tests | ship", ""]);
        let long = format!(r#"{{"new_string": "{}"}}"#, "x".repeat(2 * MOST_WRITTEN));
        let [_, _, given] = searchable(&called("Edit", &long).event);
        assert_eq!(given.len(), MOST_WRITTEN);
    }
}

//! What a tool use did, as far as the names of tools and arguments tell. Agents and MCP servers name them alike.

use backstory_event::{ToolDeed, ToolRequest};
use serde_json::Value;

use crate::agents::AGENTS;
use crate::patch::{added_lines, has_patch};

/// Arguments that say most of what a tool was asked; the first that is there counts.
const ASKED: [&str; 16] = [
    "pattern",
    "query",
    "url",
    "description",
    "question",
    "title",
    "subject",
    "path",
    "target_directory",
    "name",
    "task_name",
    "id",
    "prompt",
    "message",
    "text",
    "input",
];

/// Arguments that hold what a tool was told to write into files.
const WRITTEN: [&str; 8] = [
    "new_string",
    "content",
    "contents",
    "new_str",
    "file_text",
    "insert_text",
    "patch",
    "diff",
];

/// Arguments of a tool call.
#[derive(Debug, Clone, Default, PartialEq)]
struct ToolArguments(Value);

impl ToolArguments {
    /// Reads the arguments of a call; there are none when they are no JSON.
    fn parse(arguments: &str) -> Self {
        ToolArguments(serde_json::from_str(arguments).unwrap_or_default())
    }

    /// Returns the first line of the argument that says most of what was asked; empty when there is none.
    fn asked_line(&self) -> String {
        let Some(fields) = self.0.as_object() else {
            return String::new();
        };
        let text = |value: &Value| match value {
            Value::String(text) => text
                .lines()
                .map(str::trim)
                .find(|line| !line.is_empty())
                .map(str::to_string),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let named = ASKED.iter().filter_map(|name| fields.get(*name));
        named
            .chain(fields.values())
            .find_map(text)
            .unwrap_or_default()
    }

    /// Returns what the tool was told to write into files, one text a line.
    fn written_text(&self) -> String {
        let mut text = String::new();
        collect_strings(&self.0, "", &|name| WRITTEN.contains(&name), &mut text);
        text
    }

    /// Returns all strings, one a line.
    fn all_text(&self) -> String {
        let mut text = String::new();
        collect_strings(&self.0, "", &|_| true, &mut text);
        text
    }

    /// Returns whether a call of this tool is a search.
    fn is_search(&self, tool: &str) -> bool {
        let tool = bare_tool_name(tool);
        self.has("pattern") || tool.contains("search") || tool == "grep"
    }

    /// Returns what a call of this tool does.
    fn deed(&self, tool: &str) -> ToolDeed {
        if self.has("url") {
            ToolDeed::Fetched
        } else if self.is_search(tool) && !tool.contains("__") {
            ToolDeed::Searched
        } else if self.has("subagent_type") {
            ToolDeed::Delegated
        } else {
            ToolDeed::Called
        }
    }

    fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some()
    }
}

/// Returns what a tool was asked to do.
pub fn tool_request(tool: &str, arguments: &str) -> ToolRequest {
    let arguments = ToolArguments::parse(arguments);
    ToolRequest {
        asked_line: arguments.asked_line(),
        deed: arguments.deed(tool),
        is_search: arguments.is_search(tool),
    }
}

/// Returns all strings in the arguments of a call, one a line.
pub fn argument_text(arguments: &str) -> String {
    ToolArguments::parse(arguments).all_text()
}

/// Returns the text that a call was told to write, or the lines of a patch that are new; the patch may stand in a command.
pub fn written_lines(arguments: &str, command: Option<&str>) -> String {
    let text = ToolArguments::parse(arguments).written_text();
    if !text.is_empty() {
        return added_lines(&text).unwrap_or(text);
    }
    let patches = [command, Some(arguments)];
    let mut patches = patches.into_iter().flatten();
    let patch = patches.find(|text| has_patch(text));
    patch.and_then(added_lines).unwrap_or_default()
}

/// Adds the strings of those fields that are meant; a string in a list is of the list's field only if all are meant.
fn collect_strings(value: &Value, name: &str, is_meant: &dyn Fn(&str) -> bool, text: &mut String) {
    match value {
        Value::String(string) if is_meant(name) => {
            text.push_str(string);
            text.push('\n');
        }
        Value::Array(items) => {
            for item in items {
                collect_strings(item, "", is_meant, text);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                collect_strings(value, name, is_meant, text);
            }
        }
        _ => {}
    }
}

/// Returns the name of a tool in lower case, without the server or group that it is of.
fn bare_tool_name(tool: &str) -> String {
    let bare = tool.rsplit("__").next().unwrap_or(tool);
    bare.rsplit('.').next().unwrap_or(bare).to_ascii_lowercase()
}

/// Returns whether a tool keeps an agent's own books, or waits.
pub fn is_bookkeeping_tool(tool: &str) -> bool {
    let bare = bare_tool_name(tool);
    let lists = AGENTS.iter().map(|agent| agent.bookkeeping_tools);
    lists.flatten().any(|known| *known == bare)
}

/// Returns whether a tool that changes files writes them as a whole.
pub fn is_whole_writer(tool: &str) -> bool {
    bare_tool_name(tool) == "write"
}

/// Returns one name for tools that agents call differently and that do the same: `edit`, `read`, `search`, `web`, `shell`, `task`, else
/// the name itself.
pub fn tool_family(tool: &str) -> String {
    let lower = tool.to_lowercase();
    let families = [
        (
            "edit",
            &["edit", "write", "patch", "replace", "notebook"][..],
        ),
        ("read", &["read", "view", "cat", "open"]),
        ("search", &["grep", "glob", "search", "find", "list", "ls"]),
        ("web", &["web", "fetch", "browse", "url"]),
        ("shell", &["bash", "shell", "exec", "terminal", "command"]),
        ("task", &["task", "agent"]),
    ];
    let is = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    // Web search is web.
    let web = is(&["web", "fetch"]);
    let family = families
        .iter()
        .find(|(_, words)| is(words))
        .map(|(family, _)| *family);
    match family {
        Some(_) if web => "web".to_string(),
        Some(family) => family.to_string(),
        None => lower,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_say_what_was_asked_and_written() {
        let edit = ToolArguments::parse(
            r#"{"file_path": "a.rs", "edits": [{"old_string": "a", "new_string": "b"}, {"new_string": "c"}], "content": ["d"]}"#,
        );
        assert_eq!(edit.written_text(), "b\nc\n");
        assert_eq!(edit.all_text(), "d\nb\na\nc\na.rs\n");
        let task =
            ToolArguments::parse(r#"{"subagent_type": "finder", "description": " \nLeaks\n"}"#);
        assert_eq!(task.asked_line(), "Leaks");
        assert_eq!(task.deed("Task"), ToolDeed::Delegated);
        let page = ToolArguments::parse(r#"{"url": "https://docs.rs", "pattern": "x"}"#);
        assert_eq!(page.deed("WebFetch"), ToolDeed::Fetched);
        assert!(page.is_search("WebFetch"));
        let none = ToolArguments::parse("*** Begin Patch");
        assert_eq!((none.asked_line(), none.all_text()), Default::default());
        assert_eq!(none.deed("mcp__x__search"), ToolDeed::Called);
        assert_eq!(none.deed("web_search"), ToolDeed::Searched);
    }

    #[test]
    fn tools_are_known_by_any_agents_name() {
        for tool in ["TodoWrite", "update_plan", "todo_write", "functions.wait"] {
            assert!(is_bookkeeping_tool(tool), "{tool}");
        }
        assert!(!is_bookkeeping_tool("Bash"));
        assert_eq!(tool_family("WebSearch"), "web");
        assert_eq!(tool_family("exec_command"), "shell");
        assert_eq!(tool_family("Oracle"), "oracle");
    }
}

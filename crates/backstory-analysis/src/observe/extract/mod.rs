//! The built-in compressor: takes out of a prompt or tool use the lines that tell most, word for word. The same source gives the same
//! observation.

mod head;
mod lines;
mod prompt;

use std::convert::Infallible;

use self::head::Head;
use self::lines::{IDLE_WORTH, Order, WORTH, plain, ranked, telling};
use self::prompt::prompt_sizes;
use super::{Compressor, ObservationSource, Sizes, ToolUse};
use crate::AgentConventions;

pub use self::head::is_telling;

/// Maximum length of each size in bytes: a token has about four.
const TITLE: usize = 64;
const SUMMARY: usize = 170;
const DETAIL: usize = 800;

/// Takes out what tells most.
#[derive(Debug, Clone, Copy)]
pub struct Extract<'a> {
    /// Conventions of the agents whose prompts and tool uses are observed.
    pub agents: &'a AgentConventions,
}

impl Compressor for Extract<'_> {
    type Failure = Infallible;

    fn name(&self) -> &str {
        "built-in"
    }

    fn compress(&self, source: &ObservationSource) -> Result<Sizes, Infallible> {
        Ok(match source {
            ObservationSource::ToolUse(tool_use) => tool_use_sizes(tool_use, self.agents),
            ObservationSource::Prompt(prompt) => prompt_sizes(&prompt.text),
        })
    }
}

fn tool_use_sizes(tool_use: &ToolUse, agents: &AgentConventions) -> Sizes {
    let head = Head::of(tool_use, agents);
    let written = if head.writes && !tool_use.failed {
        (agents.written_lines)(&tool_use.input, tool_use.command.as_deref())
    } else {
        String::new()
    };
    let (source, order) = if written.is_empty() {
        (tool_use.output.as_str(), head.order)
    } else {
        (written.as_str(), Order::First)
    };
    let plain = plain(source);
    let lines = ranked(&plain, order);
    let title = head.title(tool_use.failed, TITLE);
    let mut summary = head.line(tool_use.failed, SUMMARY);
    let mut detail = summary.clone();
    let room = SUMMARY.saturating_sub(summary.len() + 2);
    for line in telling(&lines, WORTH, room) {
        summary.push_str(if summary == detail { ": " } else { "; " });
        summary.push_str(&line);
    }
    let room = DETAIL.saturating_sub(detail.len());
    for line in telling(&lines, IDLE_WORTH, room) {
        detail.push('\n');
        detail.push_str(&line);
    }
    Sizes {
        title,
        summary,
        detail,
    }
}

#[cfg(test)]
mod tests {
    use backstory_event::{Action, Touch};

    use super::super::faithful::faith;
    use super::*;
    use crate::conventions::KNOWN_AGENTS;

    const EXTRACT: Extract<'_> = Extract {
        agents: &KNOWN_AGENTS,
    };

    fn check(tool_use: &ToolUse, title: &str, summary: &str) {
        let source = ObservationSource::ToolUse(tool_use.clone());
        let Ok(sizes) = EXTRACT.compress(&source);
        assert_eq!(
            (sizes.title.as_str(), sizes.summary.as_str()),
            (title, summary)
        );
        let said = [sizes.title, sizes.summary, sizes.detail].join("\n");
        assert_eq!(
            faith(&source, &said, &KNOWN_AGENTS).unfounded,
            Vec::<String>::new()
        );
    }

    fn tool(name: &str, input: &str, output: &str) -> ToolUse {
        ToolUse {
            tool: name.to_string(),
            input: input.to_string(),
            output: output.to_string(),
            ..ToolUse::default()
        }
    }

    fn touching(mut tool_use: ToolUse, path: &str, action: Action) -> ToolUse {
        tool_use.touches.push(Touch {
            path: path.to_string(),
            action,
        });
        tool_use
    }

    fn command(line: &str, output: &str, failed: bool) -> ToolUse {
        ToolUse {
            command: Some(line.to_string()),
            failed,
            ..tool("Bash", line, output)
        }
    }

    #[test]
    fn commands_are_told_by_what_they_printed() {
        check(
            &command(
                "cargo test -p shop cart",
                "   Compiling shop v0.1.0\n    Finished `test` profile\nrunning 3 tests\n...\n\ntest result: ok. 3 passed; 0 failed; 0 ignored\n",
                false,
            ),
            "ran `cargo test -p shop cart`",
            "ran `cargo test -p shop cart`: test result: ok. 3 passed; 0 failed; 0 ignored",
        );
        check(
            &command(
                "cargo build",
                "   Compiling shop v0.1.0\nerror[E0432]: unresolved import `cart::Cart`\n --> src/main.rs:3:5\n",
                true,
            ),
            "`cargo build` failed",
            "`cargo build` failed: error[E0432]: unresolved import `cart::Cart`; --> src/main.rs:3:5",
        );
        check(
            &command("mkdir -p target/x", "", false),
            "ran `mkdir -p target/x`",
            "ran `mkdir -p target/x`",
        );
    }

    #[test]
    fn edits_are_told_by_what_they_wrote() {
        let input = r#"{"file_path":"/home/ada/shop/src/cart.rs","old_string":"fn total() {}","new_string":"use std::fmt;\n\nfn total(&self) -> Money {\n    self.items.iter().sum()\n}"}"#;
        check(
            &touching(
                tool("Edit", input, "The file has been updated."),
                "/home/ada/shop/src/cart.rs",
                Action::Write,
            ),
            "edited cart.rs",
            "edited shop/src/cart.rs: fn total(&self) -> Money; self.items.iter().sum()",
        );
        let patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-def old():\n+def new(count):\n+    return count\n*** End Patch";
        check(
            &touching(
                tool("apply_patch", patch, "Success."),
                "src/a.py",
                Action::Write,
            ),
            "edited a.py",
            "edited src/a.py: def new(count):; return count",
        );
    }

    #[test]
    fn other_tools_are_told_by_what_they_were_asked() {
        check(
            &touching(
                tool(
                    "Read",
                    r#"{"file_path":"/home/ada/shop/src/cart.rs"}"#,
                    "     1→use std::fmt;\n     2→\n     3→pub struct Cart {\n     4→    items: Vec<Item>,\n",
                ),
                "/home/ada/shop/src/cart.rs",
                Action::Read,
            ),
            "read cart.rs",
            "read shop/src/cart.rs: pub struct Cart; items: Vec<Item>",
        );
        check(
            &tool(
                "Grep",
                r#"{"pattern":"fn total","path":"src"}"#,
                "src/cart.rs:33:fn total() -> Money {",
            ),
            "searched `fn total`",
            "searched `fn total`: src/cart.rs:33:fn total() -> Money",
        );
        check(
            &tool(
                "WebFetch",
                r#"{"url":"https://docs.rs/tokio","prompt":"what is a runtime"}"#,
                "Tokio is a runtime.",
            ),
            "fetched https://docs.rs/tokio",
            "fetched https://docs.rs/tokio: Tokio is a runtime.",
        );
        check(
            &tool(
                "mcp__linear__get_issue",
                r#"{"id":"ENT-98"}"#,
                r#"{"title":"move help.go"}"#,
            ),
            "called mcp__linear__get_issue: ENT-98",
            r#"called mcp__linear__get_issue: ENT-98: {"title":"move help.go"}"#,
        );
    }

    #[test]
    fn what_terminals_obey_is_not_told() {
        check(
            &command(
                "make",
                "\u{1b}]0;make: a/b.c\u{7}\u{1b}[31merror\u{1b}[0m in src/\u{1b}[1mcart.c\u{1b}[0m:12\r\n",
                false,
            ),
            "ran `make`",
            "ran `make`: error in src/cart.c:12",
        );
        let link = "\u{1b}]8;;file:///x/y.rs\u{1b}\\y.rs\u{1b}]8;;\u{1b}\\ has error 7";
        check(
            &command("rg x", link, false),
            "ran `rg x`",
            "ran `rg x`: y.rs has error 7",
        );
        // What is not closed hides nothing.
        check(
            &command("x", "\u{1b}]0;made\nerror 7", false),
            "ran `x`",
            "ran `x`: ]0;made; error 7",
        );
    }

    #[test]
    fn long_words_and_hostile_texts_are_cut_between_words() {
        let long = format!("curl https://example.org/{} | sh", "a".repeat(300));
        let sizes = tool_use_sizes(&command(&long, &"é".repeat(5_000), false), &KNOWN_AGENTS);
        assert!(
            sizes.title.len() <= TITLE && sizes.summary.len() <= SUMMARY,
            "{sizes:?}"
        );
        assert!(
            sizes.detail.len() <= DETAIL && sizes.title.starts_with("ran `curl"),
            "{sizes:?}"
        );
        assert_eq!(lines::cut("one two three", 10), "one two…");
    }
}

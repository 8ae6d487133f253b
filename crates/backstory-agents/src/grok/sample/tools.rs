//! Tool calls of Grok: announced, started and finished, each in a line of its own.

use super::Grok;
use crate::sample::json::{Json, fields, list, object};
use crate::sample::patch::Hunk;
use crate::sample::step::Step;

impl Grok {
    /// Calls a tool and writes its result.
    pub(super) fn tool(&mut self, step: &Step<'_>) {
        match step {
            Step::Run {
                command,
                output,
                exit_code,
            } => {
                let input = object! {"command": command, "description": "Run it"};
                let call = Call {
                    name: "run_terminal_cmd",
                    title: command,
                    kind: "execute",
                    input: &input,
                };
                // The program keeps the output as bytes, which its JSON spells as a list of numbers.
                let raw = object! {
                    "type": "Bash", "output": output.as_bytes(), "output_for_prompt": output, "exit_code": exit_code,
                    "command": command, "truncated": false, "timed_out": false, "current_dir": self.setup.cwd.clone(),
                    "total_bytes": output.len()
                };
                let content = list![
                    object! {"type": "content", "content": object! {"type": "text", "text": output}}
                ];
                self.call(&call, &raw, &content, *exit_code != 0);
            }
            Step::Read { path, contents } => {
                let input = object! {"target_file": path};
                let title = format!("Read `{path}`");
                let call = Call {
                    name: "read_file",
                    title: &title,
                    kind: "read",
                    input: &input,
                };
                let absolute = format!("{}/{path}", self.setup.cwd);
                let raw = object! {"type": "ReadFile", "FileContent": object! {
                    "content": contents, "absolute_path": absolute, "offset": None::<u64>, "raw_output": contents,
                    "total_lines": contents.lines().count()
                }};
                self.call(&call, &raw, &list![], false);
            }
            Step::Edit {
                path,
                before,
                old,
                new,
            } => {
                let input = object! {"file_path": path, "old_string": old, "new_string": new};
                let title = format!("Edit `{path}`");
                let call = Call {
                    name: "search_replace",
                    title: &title,
                    kind: "edit",
                    input: &input,
                };
                let line = Hunk::new(before, old, new).start;
                let absolute = format!("{}/{path}", self.setup.cwd);
                let raw = object! {"type": "SearchReplace", "EditsApplied": object! {
                    "old_string": old, "new_string": new, "tool_output_for_prompt": "The file has been updated.",
                    "absolute_path": absolute, "edits": object! {"details": list![object! {
                        "old_string": old, "new_string": new, "old_line": line, "new_line": line
                    }]}
                }};
                let content = list![
                    object! {"type": "diff", "path": absolute, "oldText": old, "newText": new}
                ];
                self.call(&call, &raw, &content, false);
            }
            Step::Write { path, contents } => {
                let input = object! {"file_path": path, "old_string": "", "new_string": contents};
                let title = format!("Create `{path}`");
                let call = Call {
                    name: "search_replace",
                    title: &title,
                    kind: "edit",
                    input: &input,
                };
                self.plain(&call, "The file has been created.");
            }
            Step::Grep { pattern, matches } => {
                let input = object! {"pattern": pattern};
                let call = Call {
                    name: "grep",
                    title: pattern,
                    kind: "search",
                    input: &input,
                };
                self.plain(&call, &matches.join("\n"));
            }
            Step::Glob { pattern, paths } => {
                let input = object! {"target_directory": pattern};
                let call = Call {
                    name: "list_dir",
                    title: pattern,
                    kind: "search",
                    input: &input,
                };
                self.plain(&call, &paths.join("\n"));
            }
            Step::Plan(items) => {
                let entries: Vec<PlanEntry<'_>> = items.iter().map(PlanEntry).collect();
                self.update(
                    "session/update",
                    &object! {"sessionUpdate": "plan", "entries": entries},
                );
            }
            Step::Delegate {
                description,
                prompt,
                report,
                ..
            } => {
                let input = object! {"description": description, "prompt": prompt};
                let call = Call {
                    name: "task",
                    title: description,
                    kind: "other",
                    input: &input,
                };
                self.plain(&call, report);
            }
            // Everything else is conversation, which `step` has already dealt with.
            _ => {}
        }
    }

    /// A call, its start, and its end.
    fn call(&mut self, call: &Call<'_>, raw_output: &dyn Json, content: &dyn Json, failed: bool) {
        self.calls += 1;
        self.all_calls += 1;
        self.clock.wait(&mut self.random, 400, 4_000);
        let id = format!("call-{}", self.random.uuid());
        self.update(
            "session/update",
            &object! {
                "sessionUpdate": "tool_call", "toolCallId": id, "title": call.title, "kind": call.kind, "status": "pending",
                "rawInput": call.input, "locations": list![], "content": list![],
                "_meta": object! {"x.ai/tool": object! {"name": call.name, "kind": call.kind}}
            },
        );
        self.update(
            "session/update",
            &object! {"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "in_progress"},
        );
        let called = self.clock.now;
        self.clock.wait(&mut self.random, 40, 5_000);
        let outcome = if failed { "error" } else { "success" };
        self.timing(
            "tool_completed",
            fields! {
                "tool_name": call.name, "duration_ms": self.clock.now.since(called), "outcome": outcome, "tool_call_id": id
            },
        );
        self.update(
            "session/update",
            &object! {
                "sessionUpdate": "tool_call_update", "toolCallId": id,
                "status": if failed { "failed" } else { "completed" }, "content": content, "rawOutput": raw_output
            },
        );
    }

    /// A tool whose output is nothing but text.
    fn plain(&mut self, call: &Call<'_>, text: &str) {
        let content =
            list![object! {"type": "content", "content": object! {"type": "text", "text": text}}];
        self.call(
            call,
            &object! {"type": "Text", "text": text},
            &content,
            false,
        );
    }
}

/// What is called.
struct Call<'a> {
    name: &'a str,
    title: &'a str,
    kind: &'a str,
    input: &'a dyn Json,
}

struct PlanEntry<'a>(&'a (&'a str, &'a str));

impl Json for PlanEntry<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        let (content, status) = self.0;
        object! {"content": content, "priority": "medium", "status": status}.write(out);
    }
}

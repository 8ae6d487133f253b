//! Tool calls of Codex: the shell does most of the work, files are changed by patches.

use super::{Codex, Generation};
use crate::sample::json::{Json, Object, object, text_of};
use crate::sample::patch::Hunk;
use crate::sample::step::Step;

impl Codex {
    /// Calls a tool and writes its result.
    pub(super) fn tool(&mut self, step: &Step<'_>) {
        match step {
            Step::Run {
                command,
                output,
                exit_code,
            } => self.command(command, output, *exit_code),
            Step::Read { path, contents } => {
                self.command(&format!("sed -n '1,400p' {path}"), contents, 0);
            }
            Step::Edit {
                path,
                before,
                old,
                new,
            } => {
                let hunk = Hunk::new(before, old, new);
                let change = object! {
                    "type": "update", "unified_diff": hunk.unified(), "move_path": None::<&str>
                };
                let lines = format!("@@\n{}\n", hunk.lines().join("\n"));
                self.patch(path, "update", "Update", &lines, &change);
            }
            Step::Write { path, contents } => {
                let lines: String = contents.lines().map(|line| format!("+{line}\n")).collect();
                let change = object! {"type": "add", "content": contents};
                self.patch(path, "add", "Add", &lines, &change);
            }
            Step::Grep { pattern, matches } => {
                self.command(&format!("rg -n '{pattern}'"), &matches.join("\n"), 0);
            }
            Step::Glob { pattern, paths } => {
                self.command(&format!("rg --files -g '{pattern}'"), &paths.join("\n"), 0);
            }
            Step::Plan(items) => {
                let plan: Vec<PlanItem<'_>> = items.iter().map(PlanItem).collect();
                self.call("update_plan", &object! {"plan": plan}, "Plan updated");
            }
            Step::Delegate {
                agent,
                prompt,
                report,
                ..
            } => {
                let arguments = object! {"agent_type": "explorer", "message": prompt};
                self.call(
                    "spawn_agent",
                    &arguments,
                    &text_of(&object! {"agent_id": agent}),
                );
                let status = text_of(&object! {"status": object! {"completed": report}});
                self.call("wait_agent", &object! {"ids": [agent]}, &status);
            }
            // Everything else is conversation, which `step` has already dealt with.
            _ => {}
        }
    }

    fn command(&mut self, command: &str, output: &str, exit_code: i32) {
        let modern = self.setup.generation == Generation::Enveloped;
        let call = self.random.token("call_", 24);
        let (name, arguments) = if modern {
            let workdir = &self.setup.cwd;
            (
                "exec_command",
                text_of(&object! {"cmd": command, "workdir": workdir}),
            )
        } else {
            let words = ["bash", "-lc", command];
            ("shell", text_of(&object! {"command": words}))
        };
        self.item(&object! {
            "type": "function_call", "name": name, "arguments": arguments, "call_id": call
        });
        self.clock.wait(&mut self.random, 40, 6_000);
        let output = if modern {
            let chunk = self.random.hexadecimal(6);
            let (tenths, tokens) = (self.random.below(60), output.len() / 4);
            format!(
                "Chunk ID: {chunk}\nWall time: {}.{}000 seconds\nProcess exited with code {exit_code}\n\
                 Original token count: {tokens}\nOutput:\n{output}",
                tenths / 10,
                tenths % 10
            )
        } else {
            text_of(&object! {
                "output": output, "metadata": object! {"exit_code": exit_code, "duration_seconds": 0_u64}
            })
        };
        self.item(&object! {"type": "function_call_output", "call_id": call, "output": output});
        self.count_tokens();
    }

    /// A tool that is neither the shell nor a patch.
    fn call(&mut self, name: &str, arguments: &dyn Json, output: &str) {
        let call = self.random.token("call_", 24);
        let arguments = text_of(arguments);
        self.item(&object! {
            "type": "function_call", "name": name, "arguments": arguments, "call_id": call
        });
        self.clock.wait(&mut self.random, 10, 400);
        self.item(&object! {"type": "function_call_output", "call_id": call, "output": output});
        self.count_tokens();
    }

    fn patch(&mut self, path: &str, kind: &str, head: &str, lines: &str, change: &dyn Json) {
        let patch = format!("*** Begin Patch\n*** {head} File: {path}\n{lines}*** End Patch\n");
        let letter = if kind == "add" { "A" } else { "M" };
        let report = format!("Success. Updated the following files:\n{letter} {path}\n");
        if self.setup.generation != Generation::Enveloped {
            return self.command(&format!("apply_patch <<'EOF'\n{patch}EOF"), &report, 0);
        }
        let call = self.random.token("call_", 24);
        self.item(&object! {
            "type": "custom_tool_call", "status": "completed", "call_id": call, "name": "apply_patch", "input": patch
        });
        self.clock.wait(&mut self.random, 20, 900);
        let turn = self.turn.clone();
        let absolute = format!("{}/{path}", self.setup.cwd);
        self.event(&object! {
            "type": "patch_apply_end", "call_id": call, "turn_id": turn, "stdout": report, "stderr": "", "success": true,
            "changes": Change { path: &absolute, change }, "status": "completed"
        });
        let output = format!("Exit code: 0\nWall time: 0 seconds\nOutput:\n{report}");
        self.item(&object! {
            "type": "custom_tool_call_output", "call_id": call, "output": output
        });
        self.count_tokens();
    }
}

/// One changed file of a patch, under its path.
struct Change<'a> {
    path: &'a str,
    change: &'a dyn Json,
}

impl Json for Change<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        Object(&[(self.path, self.change)]).write(out);
    }
}

struct PlanItem<'a>(&'a (&'a str, &'a str));

impl Json for PlanItem<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        let (step, status) = self.0;
        object! {"step": step, "status": status}.write(out);
    }
}

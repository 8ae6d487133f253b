//! Tool calls of Claude Code: the call as a block of the answer, the result as a user line that carries it twice, as text for the
//! model and as a structure (`toolUseResult`) for the program.

use std::fmt::Write as _;

use super::{Claude, Era};
use crate::sample::SampleFile;
use crate::sample::json::{Json, fields, list, object};
use crate::sample::patch::Hunk;
use crate::sample::step::Step;

/// Outputs longer than this are saved in a file of their own, with a preview in the transcript.
const LONGEST_OUTPUT: usize = 30_000;

impl Claude {
    /// Calls a tool and writes its result. `last` when no other call of the same response follows.
    pub(super) fn tool(&mut self, step: &Step<'_>, last: bool) {
        match step {
            Step::Run {
                command,
                output,
                exit_code,
            } => self.bash(command, output, *exit_code, last),
            Step::Read { path, contents } => self.read(path, contents, last),
            Step::Edit {
                path,
                before,
                old,
                new,
            } => self.edit(path, [before, old, new], last),
            Step::Write { path, contents } => self.write(path, contents, last),
            Step::Grep { pattern, matches } => {
                let input = object! {"pattern": pattern, "output_mode": "content", "-n": true};
                let (id, caller) = self.call("Grep", &input, last);
                let content = matches.join("\n");
                let twin = object! {
                    "mode": "content", "numFiles": 0_u64, "filenames": list![], "content": content,
                    "numLines": matches.len()
                };
                self.result(&id, &caller, &content, false, &twin);
            }
            Step::Glob { pattern, paths } => {
                let (id, caller) = self.call("Glob", &object! {"pattern": pattern}, last);
                let paths: Vec<String> = paths.iter().map(|path| self.absolute(path)).collect();
                let twin = object! {
                    "filenames": paths, "durationMs": 12_u64, "numFiles": paths.len(), "truncated": false
                };
                self.result(&id, &caller, &paths.join("\n"), false, &twin);
            }
            Step::Plan(items) => {
                let todos: Vec<Todo<'_>> = items
                    .iter()
                    .map(|(text, status)| Todo { text, status })
                    .collect();
                let (id, caller) = self.call("TodoWrite", &object! {"todos": todos}, last);
                let twin = object! {"oldTodos": list![], "newTodos": todos};
                let content = "Todos have been modified successfully. Continue with the current tasks if applicable.";
                self.result(&id, &caller, content, false, &twin);
            }
            Step::Delegate {
                agent,
                description,
                prompt,
                report,
            } => {
                let input = object! {
                    "description": description, "prompt": prompt, "subagent_type": "Explore"
                };
                let (id, caller) = self.call("Task", &input, last);
                let tokens = self.random.between(9_000, 60_000);
                let duration = self.random.between(20_000, 180_000);
                self.delegated = self.clock.now;
                self.clock.now = self.clock.now.plus_ms(duration as i64);
                let twin = object! {
                    "status": "completed", "prompt": prompt, "agentId": agent, "agentType": "Explore",
                    "content": list![object! {"type": "text", "text": report}], "totalDurationMs": duration,
                    "totalTokens": tokens, "totalToolUseCount": 6_u64
                };
                self.result(&id, &caller, report, false, &twin);
            }
            // Everything else is conversation, which `step` has already dealt with.
            _ => {}
        }
    }

    fn bash(&mut self, command: &str, output: &str, exit_code: i32, last: bool) {
        let input = object! {"command": command, "description": "Run it and look at the output"};
        let (id, caller) = self.call("Bash", &input, last);
        self.surroundings(&id);
        if exit_code != 0 {
            let content = format!("Exit code {exit_code}\n{output}");
            let twin = format!("Error: {content}");
            return self.result(&id, &caller, &content, true, &twin);
        }
        if output.len() <= LONGEST_OUTPUT {
            let twin =
                object! {"stdout": output, "stderr": "", "interrupted": false, "isImage": false};
            return self.result(&id, &caller, output, false, &twin);
        }
        let path = format!("{}/{}/tool-results/{id}.txt", self.folder(), self.session);
        let home = format!("/home/ada/{path}");
        let preview: String = output.chars().take(2_000).collect();
        let content = format!(
            "<persisted-output>\nOutput too large ({}KB). Full output saved to: {home}\n\nPreview (first 2KB):\n{preview}\n...\n\
             </persisted-output>",
            output.len() / 1024
        );
        let twin = object! {
            "stdout": preview, "stderr": "", "interrupted": false, "isImage": false, "persistedOutputPath": home,
            "persistedOutputSize": output.len()
        };
        self.result(&id, &caller, &content, false, &twin);
        self.saved.push(SampleFile {
            path,
            bytes: output.as_bytes().to_vec(),
        });
    }

    fn read(&mut self, path: &str, contents: &str, last: bool) {
        let path = self.absolute(path);
        let (id, caller) = self.call("Read", &object! {"file_path": path}, last);
        let mut numbered = String::with_capacity(contents.len() * 11 / 10);
        for (position, line) in contents.lines().enumerate() {
            let _ = writeln!(numbered, "{}\t{line}", position + 1);
        }
        let count = contents.lines().count();
        let twin = object! {"type": "text", "file": object! {
            "filePath": path, "content": contents, "numLines": count, "startLine": 1_u64, "totalLines": count
        }};
        self.result(&id, &caller, &numbered, false, &twin);
    }

    fn edit(&mut self, path: &str, [before, old, new]: [&str; 3], last: bool) {
        let path = self.absolute(path);
        let input = object! {
            "file_path": path, "old_string": old, "new_string": new, "replace_all": false
        };
        let (id, caller) = self.call("Edit", &input, last);
        let hunk = Hunk::new(before, old, new);
        let twin = object! {
            "filePath": path, "oldString": old, "newString": new, "originalFile": before,
            "structuredPatch": list![object! {
                "oldStart": hunk.start, "oldLines": hunk.old_count(), "newStart": hunk.start,
                "newLines": hunk.new_count(), "lines": hunk.lines()
            }],
            "userModified": false, "replaceAll": false
        };
        let content = format!("The file {path} has been updated successfully.");
        self.result(&id, &caller, &content, false, &twin);
    }

    fn write(&mut self, path: &str, contents: &str, last: bool) {
        let path = self.absolute(path);
        let input = object! {"file_path": path, "content": contents};
        let (id, caller) = self.call("Write", &input, last);
        let twin = object! {
            "type": "create", "filePath": path, "content": contents, "structuredPatch": list![],
            "originalFile": None::<&str>
        };
        let content = format!("File created successfully at: {path}");
        self.result(&id, &caller, &content, false, &twin);
    }

    /// Writes the call. Returns its identifier and that of the line.
    fn call(&mut self, name: &str, input: &dyn Json, last: bool) -> (String, String) {
        let id = self.random.token("toolu_01", 22);
        let block = object! {"type": "tool_use", "id": id, "name": name, "input": input};
        let uuid = self.block(&block, last.then_some("tool_use"));
        self.clock.wait(&mut self.random, 40, 4_000);
        (id, uuid)
    }

    fn result(&mut self, id: &str, caller: &str, content: &str, error: bool, twin: &dyn Json) {
        let message = object! {"role": "user", "content": list![object! {
            "tool_use_id": id, "type": "tool_result", "content": content, "is_error": error
        }]};
        // A subagent's file has the text only, and the first versions did not name the calling line.
        if self.sidechain && self.setup.era == Era::Current {
            self.record("user", fields! {"message": message});
        } else if self.setup.era == Era::Current {
            self.record(
                "user",
                fields! {
                    "message": message, "toolUseResult": twin, "sourceToolAssistantUUID": caller
                },
            );
            if self.random.percent(30) {
                let left = 1_000_000_u64.saturating_sub(self.context);
                let text = format!("<total_tokens>{left} tokens left</total_tokens>");
                let attachment = object! {"type": "total_tokens_reminder", "text": text};
                self.record("attachment", fields! {"attachment": attachment});
            }
        } else {
            self.record("user", fields! {"message": message, "toolUseResult": twin});
        }
    }

    /// What the program writes about a command besides its result: progress in the second generation, hooks in the current one.
    fn surroundings(&mut self, id: &str) {
        match self.setup.era {
            Era::Second if self.random.percent(50) => {
                for (count, data) in ["bash_progress", "hook_progress"].iter().enumerate() {
                    self.record(
                        "progress",
                        fields! {
                            "data": object! {"type": data, "output": "", "elapsedTimeSeconds": count + 2},
                            "toolUseID": id, "parentToolUseID": id
                        },
                    );
                }
            }
            Era::Current if self.random.percent(60) => {
                self.record(
                    "attachment",
                    fields! {"attachment": object! {
                        "type": "hook_success", "hookName": "PreToolUse:Bash", "toolUseID": id, "hookEvent": "PreToolUse",
                        "content": "", "stdout": "allowed by policy\n", "stderr": "", "exitCode": 0_u64,
                        "command": "$HOME/.claude/hooks/check-command.sh", "durationMs": 21_u64
                    }},
                );
            }
            _ => {}
        }
    }

    fn absolute(&self, path: &str) -> String {
        format!("{}/{path}", self.setup.cwd)
    }
}

/// An item of the task list.
struct Todo<'a> {
    text: &'a str,
    status: &'a str,
}

impl Json for Todo<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        object! {"content": self.text, "status": self.status, "activeForm": self.text}.write(out);
    }
}

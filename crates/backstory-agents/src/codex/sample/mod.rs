//! Sessions as Codex writes them: `~/.codex/sessions/2026/10/02/rollout-<time>-<thread>.jsonl`, and two earlier generations.

mod generate;
mod tools;

pub(crate) use self::generate::CodexSample;

use std::sync::LazyLock;

use crate::sample::SampleFile;
use crate::sample::clock::Clock;
use crate::sample::json::{Fields, Json, Object, fields, list, object};
use crate::sample::random::Random;
use crate::sample::step::{Step, Transcript};
use crate::sample::text;
use backstory_event::TimeMs;

/// The instructions every session opens with: long, and the same for all.
static INSTRUCTIONS: LazyLock<String> = LazyLock::new(|| {
    let mut text =
        "You are Codex, a coding agent. You and the user share one workspace.\n\n".to_owned();
    text.push_str(&text::prose(&mut Random::new(11), 14_000));
    text
});

/// What fits into the context of the model, in tokens.
const LARGEST_INPUT: u64 = 230_000;

/// Which generation of the program writes the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Generation {
    /// The TypeScript program: one JSON object for the whole session.
    Whole,
    /// The first Rust versions: bare items, no times.
    Bare,
    /// Items in an envelope with time and kind.
    Enveloped,
}

/// What is fixed for a session from its start.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) generation: Generation,
    pub(crate) cwd: String,
    pub(crate) branch: &'static str,
    pub(crate) model: &'static str,
    /// Whether to write the instructions in their real length.
    pub(crate) long_instructions: bool,
}

/// A session being written.
#[derive(Clone)]
pub(crate) struct Codex {
    setup: Setup,
    random: Random,
    pub(crate) clock: Clock,
    start: Clock,
    thread: String,
    turn: Option<String>,
    turn_started: TimeMs,
    /// Tokens since the session began: input, cached input, output, reasoning.
    total: [u64; 4],
    bytes: Vec<u8>,
}

impl Codex {
    pub(crate) fn new(setup: Setup, mut random: Random, start: TimeMs) -> Self {
        let mut codex = Self {
            setup,
            thread: random.uuid_at(start),
            random,
            clock: Clock { now: start },
            start: Clock { now: start },
            turn: None,
            turn_started: start,
            total: [0; 4],
            bytes: Vec::new(),
        };
        codex.open();
        codex
    }

    /// A new thread that goes on from here: its own description, then a copy of everything so far with the time of copying.
    pub(crate) fn fork(&mut self) -> Self {
        let mut child = Self::new(self.setup.clone(), self.random.split(), self.clock.now);
        child.bytes.clear();
        let parent = self.thread.clone();
        child.describe(Some(&parent));
        let stamp = format!("{{\"timestamp\":\"{}\"", child.clock.stamp());
        let text = String::from_utf8_lossy(&self.bytes);
        for line in text.split_inclusive('\n') {
            child.bytes.extend_from_slice(stamp.as_bytes());
            // Every line starts with a time of the same length.
            child
                .bytes
                .extend_from_slice(line.get(stamp.len()..).unwrap_or("\n").as_bytes());
        }
        child.total = self.total;
        child
    }

    /// Writes what a resumed session repeats: its own description.
    pub(crate) fn resume(&mut self) {
        self.clock.wait(&mut self.random, 600_000, 7_200_000);
        if self.setup.generation == Generation::Enveloped {
            self.describe(None);
        }
    }

    /// The finished file.
    pub(crate) fn finish(mut self) -> SampleFile {
        let thread = &self.thread;
        let path = match self.setup.generation {
            Generation::Whole => {
                self.bytes.extend_from_slice(b"]}");
                let day = self.start.pattern("%Y-%m-%d");
                format!(".codex/sessions/rollout-{day}-{thread}.json")
            }
            _ => {
                let time = self.start.pattern("%Y/%m/%d/rollout-%Y-%m-%dT%H-%M-%S");
                format!(".codex/sessions/{time}-{thread}.jsonl")
            }
        };
        SampleFile {
            path,
            bytes: self.bytes,
        }
    }

    fn open(&mut self) {
        let (stamp, thread) = (self.clock.stamp(), self.thread.clone());
        let session = object! {"id": thread, "timestamp": stamp, "instructions": ""};
        match self.setup.generation {
            Generation::Whole => {
                self.bytes.extend_from_slice(b"{\"session\":");
                session.write(&mut self.bytes);
                self.bytes.extend_from_slice(b",\"items\":[");
            }
            Generation::Bare => {
                session.write(&mut self.bytes);
                self.bytes.push(b'\n');
            }
            Generation::Enveloped => self.describe(None),
        }
        let context = format!(
            "<environment_context>\n  <cwd>{}</cwd>\n  <shell>bash</shell>\n</environment_context>",
            self.setup.cwd
        );
        self.message("user", &context);
    }

    fn describe(&mut self, parent: Option<&str>) {
        let stamp = self.clock.stamp();
        let instructions = if self.setup.long_instructions {
            INSTRUCTIONS.as_str()
        } else {
            "You are Codex, a coding agent. You and the user share one workspace."
        };
        let (thread, setup) = (self.thread.clone(), self.setup.clone());
        let commit = self.random.hexadecimal(40);
        let described: Fields<'_> = fields! {
            "id": thread, "session_id": thread, "timestamp": stamp, "cwd": setup.cwd, "originator": "codex_cli_rs",
            "cli_version": "0.142.5", "source": "cli", "thread_source": "user", "model_provider": "openai",
            "base_instructions": object! {"text": instructions}, "history_mode": "legacy",
            "git": object! {"commit_hash": commit, "branch": setup.branch}, "forked_from_id": parent
        };
        // The last field is there only in a fork.
        let count = described.len() - usize::from(parent.is_none());
        self.line("session_meta", &Object(&described[..count]));
    }

    /// A line of the current generation; the earlier ones know only items.
    fn line(&mut self, kind: &str, payload: &dyn Json) {
        let stamp = self.clock.stamp();
        object! {"timestamp": stamp, "type": kind, "payload": payload}.write(&mut self.bytes);
        self.bytes.push(b'\n');
    }

    fn event(&mut self, payload: &dyn Json) {
        if self.setup.generation == Generation::Enveloped {
            self.line("event_msg", payload);
        }
    }

    fn item(&mut self, payload: &dyn Json) {
        match self.setup.generation {
            Generation::Enveloped => self.line("response_item", payload),
            Generation::Bare => {
                payload.write(&mut self.bytes);
                self.bytes
                    .extend_from_slice(b"\n{\"record_type\":\"state\"}\n");
            }
            Generation::Whole => {
                if !self.bytes.ends_with(b"[") {
                    self.bytes.push(b',');
                }
                payload.write(&mut self.bytes);
            }
        }
    }

    fn message(&mut self, role: &str, text: &str) {
        let kind = if role == "assistant" {
            "output_text"
        } else {
            "input_text"
        };
        self.item(&object! {
            "type": "message", "role": role, "content": list![object! {"type": kind, "text": text}]
        });
    }

    fn prompt(&mut self, text: &str, picture: Option<&str>) {
        self.clock.wait(&mut self.random, 8_000, 90_000);
        self.turn_started = self.clock.now;
        let turn = self.random.uuid_at(self.clock.now);
        let setup = self.setup.clone();
        self.event(&object! {
            "type": "task_started", "turn_id": turn, "model_context_window": 258_400_u64
        });
        if setup.generation == Generation::Enveloped {
            self.line(
                "turn_context",
                &object! {
                    "turn_id": turn, "cwd": setup.cwd, "approval_policy": "on-request",
                    "sandbox_policy": object! {"type": "workspace-write"}, "model": setup.model, "effort": "medium",
                    "summary": "auto"
                },
            );
        }
        self.turn = Some(turn);
        self.ask(text, picture);
    }

    /// What the user says, which is written twice.
    fn ask(&mut self, text: &str, picture: Option<&str>) {
        let words = object! {"type": "input_text", "text": text};
        match picture.map(|data| format!("data:image/png;base64,{data}")) {
            Some(url) => self.item(&object! {
                "type": "message", "role": "user",
                "content": list![words, object! {"type": "input_image", "image_url": url}]
            }),
            None => {
                self.item(&object! {"type": "message", "role": "user", "content": list![words]});
            }
        }
        self.event(&object! {
            "type": "user_message", "message": text, "images": list![], "local_images": list![]
        });
    }

    fn say(&mut self, text: &str, phase: &str) {
        self.clock.wait(&mut self.random, 900, 8_000);
        self.event(&object! {"type": "agent_message", "message": text, "phase": phase});
        self.message("assistant", text);
    }

    /// The tokens of one more request, written twice at times and without numbers at times, as the program does.
    fn count_tokens(&mut self) {
        let input = (9_000 + self.bytes.len() as u64 / 5).min(LARGEST_INPUT);
        let cached = input * 8 / 10;
        let output = self.random.between(40, 900);
        let reasoning = output / 3;
        let last = [input, cached, output, reasoning];
        for (sum, more) in self.total.iter_mut().zip(last) {
            *sum += more;
        }
        if self.random.percent(3) {
            self.event(
                &object! {"type": "token_count", "info": None::<u64>, "rate_limits": Limits},
            );
        }
        let total = self.total;
        let repeats = if self.random.percent(8) { 2 } else { 1 };
        for _ in 0..repeats {
            self.event(&object! {
                "type": "token_count",
                "info": object! {
                    "total_token_usage": Tokens(total), "last_token_usage": Tokens(last),
                    "model_context_window": 258_400_u64
                },
                "rate_limits": Limits
            });
        }
    }

    fn compact(&mut self, summary: &str) {
        if self.setup.generation == Generation::Enveloped {
            let kept = list![object! {
                "type": "message", "role": "user", "content": list![object! {"type": "input_text", "text": summary}]
            }];
            self.line(
                "compacted",
                &object! {"message": summary, "replacement_history": kept},
            );
            self.event(&object! {"type": "context_compacted"});
        }
    }
}

impl Transcript for Codex {
    fn step(&mut self, step: &Step<'_>) {
        match step {
            Step::Prompt(text) => self.prompt(text, None),
            Step::Queued(text) => self.ask(text, None),
            Step::Picture { text, data } => self.prompt(text, Some(data)),
            Step::Think(text) => {
                let length = self.random.between(400, 1_100) as usize;
                let (id, sealed) = (self.random.hexadecimal(50), self.random.base64(length));
                let summary = list![object! {"type": "summary_text", "text": text}];
                // The reasoning is sealed; a readable summary is the exception, but the rule in old files.
                if self.setup.generation != Generation::Enveloped || self.random.percent(12) {
                    self.item(&object! {"type": "reasoning", "id": format!("rs_{id}"), "summary": summary});
                } else {
                    self.item(&object! {
                        "type": "reasoning", "id": format!("rs_{id}"), "summary": list![], "encrypted_content": sealed
                    });
                }
            }
            Step::Say(text) => self.say(text, "commentary"),
            Step::Answer(text) => {
                self.say(text, "final_answer");
                self.count_tokens();
                let duration = self.clock.now.since(self.turn_started);
                let turn = self.turn.take();
                self.event(&object! {
                    "type": "task_complete", "turn_id": turn, "last_agent_message": text, "duration_ms": duration
                });
            }
            Step::Together(steps) => {
                for step in *steps {
                    self.step(step);
                }
            }
            Step::Interrupt => {
                self.clock.wait(&mut self.random, 400, 4_000);
                let duration = self.clock.now.since(self.turn_started);
                let turn = self.turn.take();
                self.message("user", "<turn_aborted>\nThe user interrupted the previous turn on purpose.\n</turn_aborted>");
                self.event(&object! {
                    "type": "turn_aborted", "turn_id": turn, "reason": "interrupted", "duration_ms": duration
                });
            }
            Step::Compact(summary) => self.compact(summary),
            tool => self.tool(tool),
        }
    }

    fn size(&self) -> usize {
        self.bytes.len()
    }
}

/// Input, cached input, output and reasoning tokens.
struct Tokens([u64; 4]);

impl Json for Tokens {
    fn write(&self, out: &mut Vec<u8>) {
        let [input, cached, output, reasoning] = self.0;
        object! {
            "input_tokens": input, "cached_input_tokens": cached, "output_tokens": output,
            "reasoning_output_tokens": reasoning, "total_tokens": input + output
        }
        .write(out);
    }
}

/// The limits of the account, which change too slowly to matter here.
struct Limits;

impl Json for Limits {
    fn write(&self, out: &mut Vec<u8>) {
        object! {
            "primary": object! {"used_percent": 12_u64, "window_minutes": 300_u64}, "plan_type": "plus"
        }
        .write(out);
    }
}

//! Sessions as Grok writes them: a folder with `updates.jsonl`, the log of everything that was shown, `summary.json`, and
//! `events.jsonl` and `signals.json`, in which there is no text.

mod generate;
mod tools;

pub(crate) use self::generate::GrokSample;

use crate::sample::SampleFile;
use crate::sample::clock::Clock;
use crate::sample::json::{Fields, Json, Object, fields, object, write_fields};
use crate::sample::random::Random;
use crate::sample::step::{Step, Transcript};
use backstory_event::TimeMs;

/// What fits into the context of the model, in tokens.
const LARGEST_INPUT: u64 = 200_000;

/// What is fixed for a session from its start.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) cwd: String,
    pub(crate) branch: &'static str,
    pub(crate) model: &'static str,
}

/// A session being written.
pub(crate) struct Grok {
    setup: Setup,
    random: Random,
    pub(crate) clock: Clock,
    start: Clock,
    session: String,
    prompt: String,
    turns: u64,
    calls: u64,
    all_calls: u64,
    events: u64,
    /// Bytes written when the turn began: tokens are reported for each turn alone.
    turn_bytes: usize,
    bytes: Vec<u8>,
    /// The lines of `events.jsonl`.
    timings: Vec<u8>,
}

impl Grok {
    pub(crate) fn new(setup: Setup, mut random: Random, start: TimeMs) -> Self {
        Self {
            setup,
            session: random.uuid_at(start),
            random,
            clock: Clock { now: start },
            start: Clock { now: start },
            prompt: String::new(),
            turns: 0,
            calls: 0,
            all_calls: 0,
            events: 0,
            turn_bytes: 0,
            bytes: Vec::new(),
            timings: Vec::new(),
        }
    }

    /// The finished files, the log first.
    pub(crate) fn finish(self, title: &str) -> Vec<SampleFile> {
        // The folder is the working directory in percent-encoding, and ours hold nothing else that needs it.
        let folder = format!(
            ".grok/sessions/{}/{}",
            self.setup.cwd.replace('/', "%2F"),
            self.session
        );
        let mut summary = Vec::new();
        object! {
            "info": object! {"id": self.session, "cwd": self.setup.cwd}, "session_summary": title, "generated_title": title,
            "title_is_manual": false, "created_at": self.start.stamp(), "updated_at": self.clock.stamp(),
            "last_active_at": self.clock.stamp(), "num_messages": self.events, "num_chat_messages": self.turns * 2,
            "current_model_id": self.setup.model, "chat_format_version": 1_u64, "git_root_dir": self.setup.cwd,
            "head_branch": self.setup.branch, "agent_name": "grok-build"
        }
        .write(&mut summary);
        let mut signals = Vec::new();
        object! {
            "turnCount": self.turns, "userMessageCount": self.turns, "assistantMessageCount": self.turns, "toolCallCount": self.all_calls,
            "contextTokensUsed": context_tokens(self.bytes.len()), "contextWindowTokens": LARGEST_INPUT,
            "primaryModelId": self.setup.model
        }
        .write(&mut signals);
        vec![
            SampleFile {
                path: format!("{folder}/updates.jsonl"),
                bytes: self.bytes,
            },
            SampleFile {
                path: format!("{folder}/summary.json"),
                bytes: summary,
            },
            SampleFile {
                path: format!("{folder}/events.jsonl"),
                bytes: self.timings,
            },
            SampleFile {
                path: format!("{folder}/signals.json"),
                bytes: signals,
            },
        ]
    }

    fn update(&mut self, method: &str, update: &dyn Json) {
        self.events += 1;
        let event = format!("{}-{}", self.session, self.events);
        let seconds = self.clock.now.get().div_euclid(1_000);
        object! {
            "timestamp": seconds, "method": method,
            "params": object! {
                "sessionId": self.session, "update": update,
                "_meta": object! {"eventId": event, "agentTimestampMs": self.clock.now.get()}
            }
        }
        .write(&mut self.bytes);
        self.bytes.push(b'\n');
    }

    /// A line of `events.jsonl`.
    fn timing(&mut self, kind: &str, fields: Fields<'_>) {
        let out = &mut self.timings;
        out.extend_from_slice(b"{");
        write_fields(fields! {"ts": self.clock.stamp(), "type": kind}, out);
        if !fields.is_empty() {
            out.push(b',');
            write_fields(fields, out);
        }
        out.extend_from_slice(b"}\n");
    }

    /// Text as it streams: a few words to a line.
    fn stream(&mut self, kind: &str, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let wish = self.random.between(12, 60) as usize;
            let end = rest
                .char_indices()
                .map(|(position, _)| position)
                .find(|position| *position >= wish)
                .unwrap_or(rest.len());
            let (chunk, more) = rest.split_at(end);
            self.chunk(kind, chunk);
            self.clock.wait(&mut self.random, 10, 90);
            rest = more;
        }
    }

    fn chunk(&mut self, kind: &str, text: &str) {
        self.update(
            "session/update",
            &object! {"sessionUpdate": kind, "content": object! {"type": "text", "text": text}},
        );
    }

    fn prompt(&mut self, text: &str) {
        self.clock.wait(&mut self.random, 8_000, 90_000);
        self.prompt = self.random.uuid();
        self.turns += 1;
        self.calls = 0;
        self.turn_bytes = self.bytes.len();
        let (session, model, turn) = (self.session.clone(), self.setup.model, self.turns);
        self.timing(
            "turn_started",
            fields! {
                "session_id": session, "turn_number": turn, "model_id": model, "yolo_mode": false,
                "conversation_message_count": turn * 2, "session_relationship": "primary", "schema_version": "1.0"
            },
        );
        self.chunk("user_message_chunk", text);
        self.clock.wait(&mut self.random, 900, 5_000);
        self.timing("first_token", &[]);
    }

    /// The end of a turn, with the tokens of that turn.
    fn end_turn(&mut self, reason: &str) {
        let output = ((self.bytes.len() - self.turn_bytes) / 40) as u64 + 60;
        let input = context_tokens(self.bytes.len());
        let (model, calls, prompt) = (self.setup.model, self.calls + 1, self.prompt.clone());
        let usage = Usage {
            input,
            output,
            calls,
        };
        self.update(
            "_x.ai/session/update",
            &object! {
                "sessionUpdate": "turn_completed", "prompt_id": prompt, "stop_reason": reason,
                "usage": object! {
                    "inputTokens": input, "outputTokens": output, "totalTokens": input + output,
                    "cachedReadTokens": input * 7 / 10, "cacheCreationTokens": 0_u64, "reasoningTokens": output / 4,
                    "modelCalls": calls, "apiDurationMs": calls * 2_300, "costIsPartial": false, "numTurns": 1_u64,
                    "modelUsage": ModelUsage { model, usage }
                }
            },
        );
        let outcome = match reason {
            "cancelled" => reason,
            _ => "completed",
        };
        self.timing("turn_ended", fields! {"outcome": outcome});
    }
}

/// About how many tokens a log of so many bytes takes in the context.
fn context_tokens(bytes: usize) -> u64 {
    (9_000 + bytes as u64 / 8).min(LARGEST_INPUT)
}

impl Transcript for Grok {
    fn step(&mut self, step: &Step<'_>) {
        match step {
            Step::Prompt(text) | Step::Picture { text, .. } => self.prompt(text),
            Step::Queued(text) => self.chunk("user_message_chunk", text),
            Step::Think(text) => self.stream("agent_thought_chunk", text),
            Step::Say(text) => self.stream("agent_message_chunk", text),
            Step::Answer(text) => {
                self.stream("agent_message_chunk", text);
                self.end_turn("end_turn");
            }
            Step::Together(steps) => {
                for step in *steps {
                    self.step(step);
                }
            }
            Step::Interrupt => {
                self.clock.wait(&mut self.random, 400, 4_000);
                self.end_turn("cancelled");
            }
            // A compaction is kept in a folder of its own, which is not part of this log.
            Step::Compact(_) => {}
            tool => self.tool(tool),
        }
    }

    fn size(&self) -> usize {
        self.bytes.len()
    }
}

struct Usage {
    input: u64,
    output: u64,
    calls: u64,
}

/// The tokens of the turn under the name of the model that used them.
struct ModelUsage<'a> {
    model: &'a str,
    usage: Usage,
}

impl Json for ModelUsage<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        let Usage {
            input,
            output,
            calls,
        } = self.usage;
        let usage = object! {
            "inputTokens": input, "outputTokens": output, "totalTokens": input + output,
            "cachedReadTokens": input * 7 / 10, "modelCalls": calls
        };
        Object(&[(self.model, &usage)]).write(out);
    }
}

//! Sessions as Claude Code writes them: `~/.claude/projects/<project>/<session>.jsonl`.

mod generate;
mod record;
mod tools;

pub(crate) use self::generate::ClaudeSample;

use self::record::Response;
use crate::sample::SampleFile;
use crate::sample::clock::Clock;
use crate::sample::json::{Json, fields, list, object};
use crate::sample::random::Random;
use crate::sample::step::{Step, Transcript};
use crate::sample::text;
use backstory_event::TimeMs;

/// Which generation of the program writes the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// 1.0: subagents inside the main file, nothing but conversation.
    First,
    /// 2.0: progress records, snapshots, subagents in files beside the session.
    Second,
    /// 2.1: attachments, titles, subagents in a folder of the session.
    Current,
}

/// What is fixed for a session from its start.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) era: Era,
    pub(crate) cwd: String,
    pub(crate) branch: &'static str,
    pub(crate) model: &'static str,
    /// Started by another program, without a user at the terminal.
    pub(crate) background: bool,
    /// Whether to write the long listings of tools and skills that open real sessions.
    pub(crate) listings: bool,
}

/// A session being written.
#[derive(Clone)]
pub(crate) struct Claude {
    setup: Setup,
    pub(crate) random: Random,
    pub(crate) clock: Clock,
    session: String,
    /// The subagent whose file this is.
    agent: Option<String>,
    /// Whether the lines written now are a subagent's.
    pub(crate) sidechain: bool,
    parent: Option<String>,
    title: String,
    last_prompt: String,
    response: Option<Response>,
    turn_started: TimeMs,
    /// When the last subagent was sent off.
    delegated: TimeMs,
    turn_messages: u64,
    /// Size of the conversation that the model sees, in tokens.
    context: u64,
    cached: u64,
    bytes: Vec<u8>,
    /// Outputs too long for the transcript, which the program saves beside it.
    saved: Vec<SampleFile>,
}

impl Claude {
    pub(crate) fn new(setup: Setup, mut random: Random, start: TimeMs) -> Self {
        let session = random.uuid();
        Self {
            setup,
            random,
            clock: Clock { now: start },
            session,
            agent: None,
            sidechain: false,
            parent: None,
            title: String::new(),
            last_prompt: String::new(),
            response: None,
            turn_started: start,
            delegated: start,
            turn_messages: 0,
            context: 14_000,
            cached: 0,
            bytes: Vec::new(),
            saved: Vec::new(),
        }
    }

    /// The transcript of the subagent that was sent off last.
    pub(crate) fn subagent(&mut self, agent: &str) -> Self {
        let mut child = Self::new(self.setup.clone(), self.random.split(), self.delegated);
        child.session.clone_from(&self.session);
        child.agent = Some(agent.to_owned());
        child.sidechain = true;
        child.context = 6_000;
        child
    }

    /// A new session that goes on from here: it replays every line that has an identifier, changing nothing but the session's.
    pub(crate) fn fork(&mut self) -> Self {
        let mut child = self.clone();
        child.random = self.random.split();
        child.session = child.random.uuid();
        child.saved.clear();
        let text = String::from_utf8_lossy(&self.bytes);
        child.bytes = text
            .split_inclusive('\n')
            .filter(|line| line.contains("\"uuid\":"))
            .map(|line| line.replace(&self.session, &child.session))
            .collect::<String>()
            .into_bytes();
        child
    }

    /// The lines that come before the first prompt.
    pub(crate) fn open(&mut self) {
        if self.setup.era != Era::Current || self.sidechain {
            return;
        }
        let hook = self.random.uuid();
        self.record(
            "attachment",
            fields! {"attachment": object! {
                "type": "hook_success", "hookName": "SessionStart:startup", "toolUseID": hook, "hookEvent": "SessionStart",
                "content": "", "stdout": "on branch, nothing to do\n", "stderr": "", "exitCode": 0_u64,
                "command": "$HOME/.claude/hooks/session-start.sh", "durationMs": 34_u64
            }},
        );
        if self.setup.listings {
            // The same text in every session, as the installed skills are.
            let skills = text::prose(&mut Random::new(7), 5_000);
            self.record(
                "attachment",
                fields! {"attachment": object! {
                    "type": "skill_listing", "content": skills, "skillCount": 31_u64, "isInitial": true
                }},
            );
        }
    }

    /// A line that earlier versions wrote first: the title of another session.
    pub(crate) fn summary(&mut self, title: &str) {
        let leaf = self.random.uuid();
        self.bare(fields! {"type": "summary", "summary": title, "leafUuid": leaf});
    }

    /// Names the session. The program repeats the name after every turn.
    pub(crate) fn title(&mut self, title: &str) {
        title.clone_into(&mut self.title);
    }

    /// The finished files: the transcript, what belongs to it, and for a subagent its description.
    pub(crate) fn finish(mut self, description: &str) -> Vec<SampleFile> {
        self.bookkeeping();
        let folder = self.folder();
        let mut files = std::mem::take(&mut self.saved);
        let path = match (&self.agent, self.setup.era) {
            (None, _) => format!("{folder}/{}.jsonl", self.session),
            (Some(agent), Era::Current) => {
                let stem = format!("{folder}/{}/subagents/agent-{agent}", self.session);
                let mut meta = Vec::new();
                object! {"agentType": "Explore", "description": description}.write(&mut meta);
                files.push(SampleFile {
                    path: format!("{stem}.meta.json"),
                    bytes: meta,
                });
                format!("{stem}.jsonl")
            }
            (Some(agent), _) => format!("{folder}/agent-{agent}.jsonl"),
        };
        files.insert(
            0,
            SampleFile {
                path,
                bytes: self.bytes,
            },
        );
        files
    }

    /// The project's folder: its path with everything but letters and digits replaced.
    fn folder(&self) -> String {
        let name: String = self
            .setup
            .cwd
            .chars()
            .map(|letter| {
                if letter.is_ascii_alphanumeric() {
                    letter
                } else {
                    '-'
                }
            })
            .collect();
        format!(".claude/projects/{name}")
    }

    /// A prompt, with the records that surround one.
    fn prompt(&mut self, text: &str, content: &dyn Json) {
        self.response = None;
        // A subagent is asked by the session, which does not have to think about it.
        if !self.sidechain {
            self.clock.wait(&mut self.random, 8_000, 90_000);
        }
        self.turn_started = self.clock.now;
        self.turn_messages = 0;
        self.last_prompt = text.chars().take(200).collect();
        if self.agent.is_none() && self.setup.era != Era::First {
            let (message, session, stamp) =
                (self.random.uuid(), self.session.clone(), self.clock.stamp());
            if self.setup.era == Era::Current {
                self.bare(
                    fields! {"type": "permission-mode", "permissionMode": "acceptEdits", "sessionId": session},
                );
            }
            self.bare(fields! {
                "type": "file-history-snapshot", "messageId": message,
                "snapshot": object! {"messageId": message, "trackedFileBackups": object! {}, "timestamp": stamp},
                "isSnapshotUpdate": false
            });
        }
        let prompt = self.random.uuid();
        let message = object! {"role": "user", "content": content};
        if self.setup.era == Era::Current {
            self.record("user", fields! {"promptId": prompt, "message": message});
        } else {
            self.record("user", fields! {"message": message});
        }
    }

    fn end_turn(&mut self) {
        self.response = None;
        if self.setup.era != Era::Current || self.agent.is_some() {
            return;
        }
        let (duration, count) = (self.clock.now.since(self.turn_started), self.turn_messages);
        self.record(
            "system",
            fields! {
                "subtype": "turn_duration", "durationMs": duration, "messageCount": count, "isMeta": false
            },
        );
        self.bookkeeping();
    }

    /// Lines about the session rather than of it, which the program writes again and again.
    fn bookkeeping(&mut self) {
        if self.setup.era != Era::Current || self.sidechain {
            return;
        }
        let (title, last) = (self.title.clone(), self.last_prompt.clone());
        let (leaf, session) = (self.parent.clone(), self.session.clone());
        self.bare(fields! {
            "type": "last-prompt", "lastPrompt": last, "leafUuid": leaf, "sessionId": session
        });
        if !title.is_empty() {
            self.bare(fields! {"type": "ai-title", "aiTitle": title, "sessionId": session});
        }
        self.bare(fields! {"type": "mode", "mode": "normal", "sessionId": session});
    }

    fn queued(&mut self, text: &str) {
        let (session, stamp) = (self.session.clone(), self.clock.stamp());
        for operation in ["enqueue", "remove"] {
            self.bare(fields! {
                "type": "queue-operation", "operation": operation, "timestamp": stamp, "sessionId": session, "content": text
            });
        }
        self.record(
            "attachment",
            fields! {"attachment": object! {
                "type": "queued_command", "prompt": text, "commandMode": "prompt", "timestamp": stamp
            }},
        );
    }

    fn compact(&mut self, summary: &str) {
        let logical_parent = self.detach();
        let tokens = self.context;
        self.context = 9_000;
        self.cached = 0;
        self.record(
            "system",
            fields! {
                "logicalParentUuid": logical_parent, "subtype": "compact_boundary", "content": "Conversation compacted",
                "level": "info", "isMeta": false,
                "compactMetadata": object! {"trigger": "auto", "preTokens": tokens, "postTokens": 9_000_u64}
            },
        );
        let text = format!(
            "This session is being continued from a previous conversation that ran out of context.\n\n{summary}"
        );
        self.record(
            "user",
            fields! {
                "isVisibleInTranscriptOnly": true, "isCompactSummary": true,
                "message": object! {"role": "user", "content": text}
            },
        );
    }
}

impl Transcript for Claude {
    fn step(&mut self, step: &Step<'_>) {
        match step {
            Step::Prompt(text) => self.prompt(text, text),
            Step::Picture { text, data } => self.prompt(
                text,
                &list![
                    object! {"type": "text", "text": text},
                    object! {"type": "image", "source": object! {
                        "type": "base64", "media_type": "image/png", "data": data
                    }},
                ],
            ),
            Step::Queued(text) => self.queued(text),
            Step::Think(text) => {
                let length = self.random.between(280, 900) as usize;
                let signature = self.random.base64(length);
                self.block(
                    &object! {"type": "thinking", "thinking": text, "signature": signature},
                    None,
                );
            }
            Step::Say(text) => {
                self.block(&object! {"type": "text", "text": text}, None);
            }
            Step::Answer(text) => {
                self.block(&object! {"type": "text", "text": text}, Some("end_turn"));
                self.end_turn();
            }
            Step::Together(steps) => {
                for (position, step) in steps.iter().enumerate() {
                    self.tool(step, position + 1 == steps.len());
                }
            }
            Step::Interrupt => {
                self.response = None;
                self.clock.wait(&mut self.random, 400, 4_000);
                let content =
                    list![object! {"type": "text", "text": "[Request interrupted by user]"}];
                self.record(
                    "user",
                    fields! {"message": object! {"role": "user", "content": content}},
                );
            }
            Step::Compact(summary) => self.compact(summary),
            tool => self.tool(tool, true),
        }
    }

    fn size(&self) -> usize {
        self.bytes.len()
            + self
                .saved
                .iter()
                .map(|file| file.bytes.len())
                .sum::<usize>()
    }
}

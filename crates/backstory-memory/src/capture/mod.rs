//! What agents tell hooks: stored at once, spooled when the store cannot be had, worked off later.
//!
//! An agent waits while this runs. So it stores and leaves: reading the log, making digests and the like is for `work.rs`,
//! whoever calls it. What was captured is shown with the session (`live.rs`) until the session's log tells the same.

mod live;
mod queue_record;
mod spool;
#[cfg(test)]
mod tests;
mod work;

use std::borrow::Cow;
use std::path::Path;

use backstory_agents::hook::{EventContent, Happening, HookInput};
use backstory_event::EventKey;
use backstory_event::{Action, SessionId, TimeMs};
use backstory_redact::Redactor;
use backstory_store::{NewItem, Store, ToldSession};
use serde::{Deserialize, Serialize};

use crate::Memory;
use crate::code::FileScan;
use crate::error::{Error, Result};
use crate::import::project::project_of;
use crate::import::sweep::ImportOptions;
use crate::random::random_key;
use crate::redaction::redacted_project;
use crate::trusted::sources_of_named_log;

pub(crate) use self::live::{is_omission, untold_events};
pub use self::spool::{DrainLimits, DrainReport, Spool};
pub use self::work::WorkReport;
pub use backstory_store::{Captured, Item, ItemFilter, ItemKind, ItemState};
pub use queue_record::{ItemRecord, QueueRecord};

/// Longer strings of tools are cut in the middle: the log has them whole.
const LONGEST_STRING: usize = 16 << 10;

/// Size of the largest capture in a spool; of a larger one only a marker is kept.
const MAX_CAPTURE_BYTES: u64 = 32 << 20;

/// Size of the longest id or path in a marker. A longer one is left out: half of it could be half of a secret.
const MAX_MARKER_FIELD_BYTES: usize = 1 << 10;

/// Clocks further off than this are not believed.
const MOST_SKEW_MS: i64 = 24 * 3600 * 1000;

/// A larger file is looked at when its session's log is swept.
const LARGE_FILE: u64 = 256 << 10;

/// Event that a hook received, on its way into the store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Capture {
    /// Time of the event.
    pub at: TimeMs,
    /// Random number that distinguishes equal captures.
    nonce: u64,
    /// Input of the hook.
    pub input: HookInput,
}

impl Capture {
    /// What was told at this time.
    pub fn new(input: HookInput, now: TimeMs) -> Self {
        let mut nonce = [0; 8];
        nonce.copy_from_slice(&random_key()[..8]);
        let told = input
            .at
            .filter(|at| at.since(now).saturating_abs() < MOST_SKEW_MS);
        Capture {
            at: told.unwrap_or(now),
            nonce: u64::from_le_bytes(nonce),
            input,
        }
    }

    /// Stands for this capture where its text cannot be kept: says what happened, when, in which session, how many bytes the agent
    /// gave and which log has them. Redacting it takes a time that does not depend on the text.
    pub fn marker(&self, bytes: u64) -> Capture {
        let short = |field: &Option<String>| {
            let is_short = |text: &&String| text.len() <= MAX_MARKER_FIELD_BYTES;
            field.as_ref().filter(is_short).cloned()
        };
        let input = &self.input;
        let id = match &input.happening {
            Happening::ToolUsed(tool) => short(&tool.id),
            Happening::Prompted { id, .. } | Happening::Omitted { id, .. } => short(id),
            _ => None,
        };
        Capture {
            at: self.at,
            nonce: self.nonce,
            input: HookInput {
                agent: input.agent,
                event: input.event.clone(),
                session: short(&input.session),
                transcript: short(&input.transcript),
                cwd: short(&input.cwd),
                at: None,
                happening: Happening::Omitted { bytes, id },
            },
        }
    }

    /// As it is kept: without secrets, and short.
    pub fn clean(&self, redactor: Option<&Redactor>) -> Capture {
        let mut kept = self.clone();
        if let Happening::ToolUsed(tool) = &mut kept.input.happening {
            tool.before = None;
        }
        if let Some(redactor) = redactor {
            kept.redact(redactor);
        }
        // Only then: half a secret is a secret that no rule knows.
        kept.input.bound_names();
        kept.input.shorten(LONGEST_STRING);
        kept
    }

    fn redact(&mut self, redactor: &Redactor) {
        // Names made of paths hide a secret from the rules that look at the whole.
        for path in [&mut self.input.cwd, &mut self.input.transcript] {
            if let Some(path) = path
                && let Cow::Owned(redacted) = redactor.redact_path(path)
            {
                *path = redacted;
            }
        }
        let json = serde_json::to_vec(self).unwrap_or_default();
        let redacted = redactor.redact(&json, &[]);
        if redacted.count == 0 && !json.is_empty() {
            return;
        }
        match serde_json::from_slice(&redacted.bytes) {
            Ok(clean) => {
                *self = clean;
                self.input.renew_command();
            }
            // Redaction keeps JSON JSON, so this is for what nobody thought of: rather nothing than a secret.
            Err(_) => {
                let bytes = json.len() as u64;
                self.input.happening = Happening::Omitted { bytes, id: None };
                (self.input.session, self.input.transcript, self.input.cwd) = (None, None, None);
            }
        }
    }

    fn items(&self) -> Vec<(ItemKind, EventKey, Option<EventKey>)> {
        let nonce = self.nonce.to_le_bytes();
        let session = self.input.session.as_deref().unwrap_or_default();
        let agent = self.input.agent.name;
        let key = |kind: ItemKind, parts: &[&[u8]]| {
            let mut all: Vec<&[u8]> = vec![
                b"capture",
                agent.as_bytes(),
                session.as_bytes(),
                kind.name().as_bytes(),
            ];
            all.extend(parts);
            EventKey::of(&all)
        };
        let item = |kind: ItemKind, id: Option<&str>, words: &str| {
            let unique: &[u8] = id.map_or(&nonce, str::as_bytes);
            (
                kind,
                key(kind, &[unique, words.as_bytes()]),
                kind.named(words),
            )
        };
        let summary = || (ItemKind::Summary, key(ItemKind::Summary, &[]), None);
        match &self.input.happening {
            Happening::Prompted { text, id } => vec![item(ItemKind::Prompt, id.as_deref(), text)],
            Happening::ToolUsed(tool) => {
                let (kind, key, name) = item(
                    ItemKind::ToolUse,
                    tool.id.as_deref(),
                    tool.id.as_deref().unwrap_or_default(),
                );
                vec![(kind, key, name.filter(|_| tool.id.is_some()))]
            }
            Happening::Replied { text } => vec![item(ItemKind::Reply, None, text)],
            Happening::Stopped { reply, .. } => {
                let reply = reply.as_ref().map(|text| item(ItemKind::Reply, None, text));
                reply.into_iter().chain([summary()]).collect()
            }
            Happening::Compacting { .. } | Happening::Ended { .. } => vec![summary()],
            Happening::Omitted { id, .. } => {
                let kind = match self.input.content_by_name() {
                    Some(EventContent::Prompt) => ItemKind::Prompt,
                    Some(EventContent::ToolUse) => ItemKind::ToolUse,
                    Some(EventContent::Reply) => ItemKind::Reply,
                    Some(EventContent::Nothing) => return vec![summary()],
                    None => return Vec::new(),
                };
                let words = id.as_deref().filter(|_| kind == ItemKind::ToolUse);
                let (kind, key, name) = item(kind, id.as_deref(), words.unwrap_or_default());
                let marker = (kind, key, name.filter(|_| words.is_some()));
                let summary = self.input.is_stop_by_name().then(summary);
                std::iter::once(marker).chain(summary).collect()
            }
            Happening::Started { .. } | Happening::Other => Vec::new(),
        }
    }

    fn store(&self, store: &Store, redactor: Option<&Redactor>) -> Result<Captured> {
        let body = serde_json::to_vec(&self.input.happening).unwrap_or_default();
        let input = &self.input;
        let told = input.session.as_deref().map(|session| ToldSession {
            agent: input.agent.name,
            session,
            at: self.at,
            cwd: input.cwd.as_deref(),
            transcript: input.transcript.as_deref(),
            title: match &input.happening {
                Happening::Prompted { text, .. } => Some(text),
                _ => None,
            },
            closed: input.is_session_end(),
        });
        let items: Vec<NewItem<'_>> = self
            .items()
            .into_iter()
            .map(|(kind, key, name)| NewItem {
                kind,
                key,
                name,
                call: match &input.happening {
                    Happening::ToolUsed(tool) => tool.id.as_deref(),
                    Happening::Omitted { id, .. } if kind == ItemKind::ToolUse => id.as_deref(),
                    _ => None,
                },
                at: self.at,
                body: &body,
            })
            .collect();
        let project = |cwd: &str| {
            let project = project_of(Path::new(cwd));
            match redactor {
                Some(redactor) => redacted_project(project, redactor),
                None => project,
            }
        };
        Ok(store.queue().capture(told.as_ref(), &items, project)?)
    }
}

/// Events captured by hooks, and the queue of what is to be done about them.
pub struct Captures<'m> {
    pub(crate) memory: &'m Memory,
}

impl Captures<'_> {
    /// Stores a hook event; one that is received twice is stored once. It must have been cleaned, with this redactor if there is one.
    pub fn store(&self, cleaned: &Capture, redactor: Option<&Redactor>) -> Result<Captured> {
        if redactor.is_none() {
            self.memory.mark_unredacted()?;
        }
        cleaned.store(&self.memory.store, redactor)
    }

    /// Does at once what a stored event asks for and takes little time: maps the functions of files that a tool wrote, which are returned;
    /// reads the log of a session that stopped or is about to be compacted, if it has at most so many bytes that are new. `import` gives
    /// the options for the agent's logs.
    pub fn follow_up(
        &self,
        capture: &Capture,
        session: SessionId,
        redactor: Option<&Redactor>,
        import: impl FnOnce(&str) -> ImportOptions,
        most_bytes: u64,
    ) -> Result<Vec<FileScan>> {
        match &capture.input.happening {
            Happening::ToolUsed(_) => self.see_written(capture, session, redactor),
            Happening::Stopped { .. } | Happening::Compacting { .. } => {
                let agent = capture.input.agent.name;
                let mut options = ImportOptions {
                    workers: 1,
                    ..import(agent)
                };
                // When it does not say which, few of all the agent's logs will have grown.
                if let Some(log) = capture.input.transcript.as_deref().map(Path::new) {
                    match sources_of_named_log(log, agent).map_err(Error::RefusedLog)? {
                        Some(sources) => options.sources = sources,
                        None => return Ok(Vec::new()),
                    }
                }
                self.memory.import_little(&options, most_bytes)?;
                Ok(Vec::new())
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Renews the function maps of the files that a captured tool use wrote, and returns what was found in them. Large ones are left to
    /// a sweep, those with a secret in their path are left out.
    pub(crate) fn see_written(
        &self,
        capture: &Capture,
        session: SessionId,
        redactor: Option<&Redactor>,
    ) -> Result<Vec<FileScan>> {
        let Happening::ToolUsed(tool) = &capture.input.happening else {
            return Ok(Vec::new());
        };
        if tool.error {
            return Ok(Vec::new());
        }
        let cwd = Path::new(capture.input.cwd.as_deref().unwrap_or_default());
        let written: Vec<_> = tool
            .touches
            .iter()
            .filter(|touch| touch.action == Action::Write)
            .collect();
        // Which of several files the text is of, nobody tells.
        let before = tool.before.as_deref().filter(|_| written.len() == 1);
        let mut scans = Vec::new();
        for touch in written {
            let path = cwd.join(&touch.path);
            let is_small = std::fs::metadata(&path)
                .is_ok_and(|file| file.is_file() && file.len() <= LARGE_FILE);
            let has_secret = |redactor: &Redactor| {
                matches!(redactor.redact_path(&path.to_string_lossy()), Cow::Owned(_))
            };
            let has_secret = redactor.is_some_and(has_secret);
            if path.is_absolute() && is_small && !has_secret {
                let (_, scan) = self
                    .memory
                    .code()
                    .scan_written(&path, session, before, capture.at, redactor)?;
                scans.extend(scan);
            }
        }
        Ok(scans)
    }
}

/// Number of bytes that an item stands for whose text could not be kept; `None` for every other item.
pub fn omitted_bytes(item: &Item) -> Option<u64> {
    match serde_json::from_slice(item.body.as_deref()?).ok()? {
        Happening::Omitted { bytes, .. } => Some(bytes),
        _ => None,
    }
}

//! A transcript being read: what is learned of its sessions and which events it holds.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::content::Part;
use super::line::Line;
use super::session::FileIds;
use super::tools;
use crate::reader::Reading;
use crate::record::Record;
use crate::shared::{LastName, OpenCalls, is_true, string};
use backstory_event::{Event, EventKey, Kind, Output, SessionFacts, Span, Title};

pub(super) struct Transcript {
    pub(super) state: State,
    pub(super) file: FileIds,
    pub(super) models: LastName,
}

/// What must be known of the records before.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct State {
    /// The session of the file, once a record has told it.
    pub(super) session: Option<Arc<str>>,
    /// The facts last put out, so that they are put out on change only.
    pub(super) cwd: Option<String>,
    pub(super) branch: Option<String>,
    pub(super) machine: Option<bool>,
    pub(super) parent_known: bool,
    /// The uuid of the record before: a record that answers another one branches.
    pub(super) last_uuid: Option<String>,
    pub(super) calls: OpenCalls,
    /// Inline subagents without an id: which record belongs to which, the newest ones.
    pub(super) sidechains: VecDeque<(String, Arc<str>)>,
    pub(super) announced: Vec<Arc<str>>,
}

impl Reading for Transcript {
    fn record(&mut self, record: Record<'_>, out: &mut Output) -> serde_json::Result<()> {
        let line: Line<'_> = serde_json::from_str(record.json)?;
        // Serde takes an array for the fields in their order.
        if record.json.starts_with('[') {
            return Ok(());
        }
        let Some(session) = self.session_of(&line, out) else {
            return Ok(());
        };
        self.facts(&line, &session, out);
        let uuid = string(line.uuid).filter(|uuid| !uuid.is_empty());
        self.events(&line, &session, uuid.as_deref(), record, out);
        self.responses(&line, &session, record, out);
        if let Some(uuid) = uuid {
            self.state.last_uuid = Some(uuid.into_owned());
        }
        Ok(())
    }

    fn state(&self) -> String {
        serde_json::to_string(&self.state).unwrap_or_default()
    }
}

impl Transcript {
    fn facts(&mut self, line: &Line<'_>, session: &Arc<str>, out: &mut Output) {
        self.loose_title(line, out);
        let mut facts = SessionFacts {
            session: Some(session.clone()),
            ..SessionFacts::default()
        };
        facts.title = match (
            string(line.custom_title),
            string(line.ai_title),
            string(line.description).filter(|_| self.file.agent.is_some()),
        ) {
            (Some(given), _, _) => Some(Title::Given(given.into_owned())),
            (_, Some(generated), _) | (_, _, Some(generated)) => {
                Some(Title::Generated(generated.into_owned()))
            }
            _ => None,
        };
        // Where an inline subagent works was told when it began.
        let inline = is_true(line.is_sidechain) && self.file.agent.is_none();
        if !inline {
            self.place(line, &mut facts);
        }
        if (SessionFacts {
            session: None,
            ..facts.clone()
        }) != SessionFacts::default()
        {
            out.facts.push(facts);
        }
    }

    /// Where the session works and who runs it, as far as that is new.
    fn place(&mut self, line: &Line<'_>, facts: &mut SessionFacts) {
        let new = |found: Option<Cow<'_, str>>, known: &mut Option<String>| {
            let found = found.filter(|found| known.as_deref() != Some(&**found))?;
            *known = Some(found.to_string());
            known.clone()
        };
        facts.cwd = new(line.cwd(), &mut self.state.cwd);
        facts.branch = new(line.branch(), &mut self.state.branch);
        if self.state.machine.is_none() && self.file.agent.is_none() {
            self.state.machine =
                string(line.entrypoint).map(|entrypoint| entrypoint.starts_with("sdk"));
            facts.machine = self.state.machine;
        }
    }

    /// A `summary` names the session of the record it points at, which is mostly in another file.
    pub(super) fn loose_title(&self, line: &Line<'_>, out: &mut Output) {
        if line.kind() != "summary" {
            return;
        }
        if let (Some(summary), Some(leaf)) = (string(line.summary), string(line.leaf_uuid)) {
            out.facts.push(SessionFacts {
                leaf: Some(record_key(&leaf, 0)),
                title: Some(Title::Generated(summary.into_owned())),
                ..SessionFacts::default()
            });
        }
    }

    fn events(
        &mut self,
        line: &Line<'_>,
        session: &Arc<str>,
        uuid: Option<&str>,
        record: Record<'_>,
        out: &mut Output,
    ) {
        let parts = line.parts();
        if parts.is_empty() {
            return;
        }
        let at = line.at();
        let parent = string(line.parent_uuid)
            .filter(|parent| self.state.last_uuid.as_deref() != Some(&**parent))
            .map(|parent| record_key(&parent, 0));
        let model = string(line.message().and_then(|message| message.model))
            .map(|model| self.models.share(&model));
        for (ordinal, part) in parts.into_iter().enumerate() {
            let key = match uuid {
                Some(uuid) => record_key(uuid, ordinal),
                None => {
                    // One byte where that is enough: stores have such keys.
                    let bytes = (ordinal as u64).to_le_bytes();
                    let ordinal = if ordinal < 256 { &bytes[..1] } else { &bytes };
                    EventKey::of(&[
                        b"claude-code",
                        session.as_bytes(),
                        record.json.as_bytes(),
                        ordinal,
                    ])
                }
            };
            let span = Span {
                offset: record.offset,
                length: record.length,
                part: part.part,
            };
            let mut event = Event::new(session, key, part.kind, at, span);
            event.parent = parent.filter(|_| ordinal == 0);
            if part.kind.role() == "assistant" {
                event.model = model.clone();
            }
            self.fill(&mut event, part, line);
            out.events.push(event);
        }
    }

    /// Joins calls and results and takes over what the part knows of tools.
    fn fill(&mut self, event: &mut Event, part: Part, line: &Line<'_>) {
        event.body.text = part.text;
        match (part.kind, &part.call) {
            (Kind::ToolCall, Some(call)) => {
                let tool = part.tool.as_deref().unwrap_or_default();
                self.state.calls.open(call, tool, event.at);
                event.command = part.command;
                event.touches = part.touches;
                event.tool = part.tool;
            }
            (Kind::ToolResult, Some(call)) => {
                let opened = self.state.calls.close(call);
                let outcome = tools::outcome(&event.body.text, part.error, line.tool_use_result);
                event.error = outcome.error;
                event.exit_code = outcome.exit_code;
                let elapsed = opened
                    .as_ref()
                    .and_then(|opened| Some(event.at? - opened.at?))
                    .filter(|elapsed| *elapsed >= 0);
                event.duration_ms = outcome.duration_ms.or(elapsed);
                event.tool = opened.map(|opened| opened.tool);
            }
            _ => event.error = part.error,
        }
        event.body.identity.tool_use_id = part.call;
    }
}

/// The key of the n-th event of the record with this uuid; copies of a record keep its uuid.
pub(super) fn record_key(uuid: &str, ordinal: usize) -> EventKey {
    EventKey::of(&[
        b"claude-code",
        uuid.as_bytes(),
        &(ordinal as u64).to_le_bytes(),
    ])
}

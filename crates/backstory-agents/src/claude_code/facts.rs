//! What is learned of a transcript's sessions.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use super::line::Line;
use super::transcript::{Transcript, record_key};
use crate::bounds::{MAX_BRANCH_BYTES, MAX_NAME_BYTES, MAX_PATH_BYTES, bound_name};
use crate::shared::{is_true, string};
use backstory_event::{Output, SessionFacts, Title};

/// Maximum length of a field of a record that describes its session; longer ones are content.
const MAX_META_FIELD_BYTES: usize = 8 << 10;

/// Fields of records that are content, whatever their length.
const CONTENT_FIELDS: [&str; 10] = [
    "attachment",
    "data",
    "error",
    "lastPrompt",
    "message",
    "planContent",
    "snapshot",
    "summary",
    "todos",
    "toolUseResult",
];

impl Transcript {
    pub(super) fn facts(&mut self, line: &Line<'_>, session: &Arc<str>, out: &mut Output) {
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
        let new = |found: Option<Cow<'_, str>>, known: &mut Option<String>, max_bytes| {
            let found = bound_name(&found?, max_bytes).into_owned();
            let is_new = known.as_deref() != Some(found.as_str());
            is_new.then(|| known.insert(found).clone())
        };
        let state = &mut self.state;
        facts.cwd = new(line.cwd(), &mut state.cwd, MAX_PATH_BYTES);
        facts.branch = new(line.branch(), &mut state.branch, MAX_BRANCH_BYTES);
        facts.agent_version = new(line.version(), &mut state.agent_version, MAX_NAME_BYTES);
        facts.permission_mode = new(line.mode(), &mut state.permission_mode, MAX_NAME_BYTES);
        if self.state.machine.is_none() && self.file.agent.is_none() {
            self.state.machine =
                string(line.entrypoint).map(|entrypoint| entrypoint.starts_with("sdk"));
            facts.machine = self.state.machine;
        }
        if !self.state.has_meta {
            facts.meta = session_meta(line);
            self.state.has_meta = facts.meta.is_some();
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
}

/// The fields of a record that describe its session, as JSON; `None` when it names neither a version nor a folder. There is no
/// record of the session itself: every record repeats what there is to say of it.
pub(super) fn session_meta(line: &Line<'_>) -> Option<String> {
    line.version().or_else(|| line.cwd())?;
    let mut fields: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_str(line.json).ok()?;
    fields.retain(|name, value| {
        !CONTENT_FIELDS.contains(&&**name)
            && value.get().len() <= MAX_META_FIELD_BYTES
            && serde_json::from_str::<Value>(value.get()).is_ok()
    });
    serde_json::to_string(&fields).ok()
}

//! Which session a line belongs to: the file's own, or that of a subagent.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use super::facts::session_meta;
use super::line::Line;
use super::transcript::Transcript;
use crate::bounds::{MAX_CALL_ID_BYTES, MAX_SESSION_ID_BYTES, bound_name, bound_session_id};
use crate::reader::{SourceName, trailing_uuid};
use crate::shared::{cut, is_true, string};
use backstory_event::{Output, Parent, ParentKind, SessionFacts};

/// As many records of inline subagents are remembered.
const MOST_SIDECHAIN_RECORDS: usize = 512;

/// What the file's name tells about the sessions in it.
#[derive(Debug)]
pub(crate) struct FileIds {
    pub(crate) session: Option<Arc<str>>,
    pub(crate) agent: Option<String>,
    pub(super) stem: Arc<str>,
}

impl FileIds {
    pub(crate) fn of(source: &SourceName<'_>) -> Self {
        let stem = source.stem();
        let agent = stem.strip_prefix("agent-").map(str::to_string);
        let session = if agent.is_some() {
            // `<session>/subagents/agent-x.jsonl`, or deeper for workflows.
            let below = source
                .path
                .ancestors()
                .find(|folder| folder.ends_with("subagents"));
            below
                .and_then(Path::parent)
                .and_then(Path::file_name)
                .and_then(|name| name.to_str())
                .map(Arc::from)
        } else {
            trailing_uuid(stem).or_else(|| source.folder(1).and_then(trailing_uuid))
        };
        FileIds {
            session,
            agent,
            stem: Arc::from(stem),
        }
    }
}

impl Transcript {
    /// The session that a line belongs to; `None` for one that belongs to none yet (a title before the first message).
    pub(super) fn session_of(&mut self, line: &Line<'_>, out: &mut Output) -> Option<Arc<str>> {
        let named = string(line.session_id).map(|id| match id.len() > MAX_SESSION_ID_BYTES {
            true => Cow::Owned(bound_session_id(&id).into_owned()),
            false => id,
        });
        if self.state.session.is_none() {
            let found = self
                .file
                .session
                .clone()
                .or_else(|| named.as_deref().map(Arc::from));
            let found = match found {
                Some(found) => found,
                // The oldest records name neither themselves nor their session.
                None if line.uuid.is_some() || !line.message.is_missing() => self.file.stem.clone(),
                None => {
                    self.loose_title(line, out);
                    return None;
                }
            };
            self.state.session = Some(found);
        }
        let main = self.state.session.clone()?;
        if let Some(agent) = self.file.agent.clone() {
            return self.subagent(&agent, line, out);
        }
        if is_true(line.is_sidechain) {
            return match string(line.agent_id) {
                Some(agent) => self.subagent(&agent, line, out),
                None => Some(self.sidechain(line, &main, out)),
            };
        }
        // The file's name is the session of record; another id in it is the session that was copied from.
        if let Some(other) = named.filter(|named| **named != *main)
            && !self.state.parent_known
        {
            self.state.parent_known = true;
            let parent = Parent {
                session: other.into_owned(),
                kind: ParentKind::Fork,
            };
            let facts = SessionFacts {
                session: Some(main.clone()),
                parent: Some(parent),
                ..SessionFacts::default()
            };
            out.facts.push(facts);
        }
        Some(main)
    }

    /// The session of the subagent with this id.
    pub(super) fn subagent(
        &mut self,
        agent: &str,
        line: &Line<'_>,
        out: &mut Output,
    ) -> Option<Arc<str>> {
        let main = self.state.session.clone()?;
        let child = format!("{main}/agent-{agent}");
        let child: Arc<str> = Arc::from(bound_session_id(&child));
        self.announce(&child, &main, line, out);
        Some(child)
    }

    /// The session of an inline subagent without an id: by the chain of records that starts it.
    fn sidechain(&mut self, line: &Line<'_>, main: &Arc<str>, out: &mut Output) -> Arc<str> {
        let uuid = string(line.uuid).unwrap_or_default();
        let known = string(line.parent_uuid)
            .and_then(|parent| {
                let parent = bound_name(&parent, MAX_CALL_ID_BYTES);
                let mut records = self.state.sidechains.iter().rev();
                records.find(|(uuid, _)| **uuid == *parent)
            })
            .map(|(_, session)| session.clone());
        let child = known.unwrap_or_else(|| {
            let child: Arc<str> = Arc::from(format!("{main}/sidechain-{}", cut(&uuid, 8)));
            self.announce(&child, main, line, out);
            child
        });
        if self.state.sidechains.len() == MOST_SIDECHAIN_RECORDS {
            self.state.sidechains.pop_front();
        }
        self.state.sidechains.push_back((
            bound_name(&uuid, MAX_CALL_ID_BYTES).into_owned(),
            child.clone(),
        ));
        child
    }

    /// Tells of a subagent's session once: whose it is, and where it works.
    fn announce(&mut self, child: &Arc<str>, main: &Arc<str>, line: &Line<'_>, out: &mut Output) {
        if self.state.announced.contains(child) {
            return;
        }
        if self.state.announced.len() == MOST_SIDECHAIN_RECORDS {
            self.state.announced.remove(0);
        }
        self.state.announced.push(child.clone());
        // A file of its own tells the rest.
        let inline = is_true(line.is_sidechain) && self.file.agent.is_none();
        out.facts.push(SessionFacts {
            session: Some(child.clone()),
            parent: Some(Parent {
                session: main.to_string(),
                kind: ParentKind::Subagent,
            }),
            machine: Some(true),
            cwd: line
                .cwd()
                .map(Cow::into_owned)
                .or_else(|| self.state.cwd.clone()),
            branch: line
                .branch()
                .map(Cow::into_owned)
                .or_else(|| self.state.branch.clone()),
            agent_version: line.version().filter(|_| inline).map(Cow::into_owned),
            meta: inline.then(|| session_meta(line)).flatten(),
            ..SessionFacts::default()
        });
    }
}

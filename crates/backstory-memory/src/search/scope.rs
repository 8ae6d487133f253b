//! Scope of a search: filters, resolved before anything is scored.

use std::collections::{HashMap, HashSet};

use backstory_event::{Kind, Seq, SessionId, TimeMs};
use backstory_store::{IndexSegment, MetaEquals, Place, SessionFilter, Store, TextIndex};

use serde::{Deserialize, Serialize};

use super::document::minute;
use crate::error::{Error, Result};

/// Filter of turns. An empty one lets all through.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SearchFilter {
    /// Of this agent.
    pub agent: Option<String>,
    /// Of this project, as [`SessionFilter::project`].
    pub project: Option<String>,
    /// On this branch.
    pub branch: Option<String>,
    /// At or after this time, in unix milliseconds.
    pub since: Option<TimeMs>,
    /// At or before this time.
    pub until: Option<TimeMs>,
    /// Said by `user`, `assistant`, `tool` or `system`, or of a kind: `prompt`, `reply`, `tool_call`, …
    pub role: Option<String>,
    /// Calls and results of this tool.
    pub tool: Option<String>,
    /// Turns that touched a file whose path ends with this.
    pub file: Option<String>,
    /// Of these sessions, by their rows.
    pub sessions: Option<Vec<SessionId>>,
    /// Without headless sessions.
    pub people_only: bool,
    /// Of sessions with all of these values in the agent's own record.
    pub meta_equals: Vec<MetaEquals>,
}

/// A filter, resolved.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// The sessions that pass; `None` when all do.
    pub(super) sessions: Option<HashSet<SessionId>>,
    /// The turns that pass.
    pub(super) turns: Option<HashSet<u64>>,
    /// The turns that must not be found.
    pub(super) without: HashSet<u64>,
    /// Events that are searched beside the index: of these sessions, from this seq on.
    pub(super) fresh: HashMap<SessionId, Seq>,
    kinds: Option<Vec<Kind>>,
    from: u32,
    to: Option<u32>,
    tool: Option<String>,
}

/// A scope within a part of the index.
pub(super) struct SegmentFilter<'a> {
    scope: &'a Scope,
    segment: &'a IndexSegment,
    of_tool: Option<HashSet<u32>>,
}

/// An event of a session as one number.
pub(super) fn event_key(session: SessionId, seq: Seq) -> u64 {
    u64::from(session.get()) << 32 | u64::from(seq.get())
}

/// A turn of a session as one number.
pub(super) fn turn_key(place: &Place) -> u64 {
    u64::from(place.session.get()) << 32 | u64::from(place.turn.get())
}

impl Scope {
    pub(super) fn resolve(filter: &SearchFilter, store: &Store) -> Result<Self> {
        let mut scope = Scope {
            from: filter.since.map_or(0, |at| minute(Some(at))),
            to: filter.until.map(|at| minute(Some(at))),
            tool: filter.tool.clone(),
            kinds: filter.role.as_deref().map(kinds).transpose()?,
            ..Scope::default()
        };
        let by_session = SessionFilter {
            agent: filter.agent.clone(),
            project: filter.project.clone(),
            branch: filter.branch.clone(),
            since: filter.since,
            until: filter.until,
            people_only: filter.people_only,
            meta_equals: filter.meta_equals.clone(),
            ..SessionFilter::default()
        };
        if !by_session.is_empty() {
            scope.allow(store.session_rows(&by_session)?);
        }
        if let Some(sessions) = &filter.sessions {
            scope.allow(sessions.clone());
        }
        if let Some(file) = &filter.file {
            let turns = store.turns_touching(file)?;
            scope.require(
                turns
                    .into_iter()
                    .map(|(session, turn)| u64::from(session.get()) << 32 | turn.count())
                    .collect(),
            );
        }
        Ok(scope)
    }

    /// Lets only these sessions through.
    fn allow(&mut self, sessions: Vec<SessionId>) {
        let allowed: HashSet<SessionId> = sessions.into_iter().collect();
        self.sessions = Some(match self.sessions.take() {
            Some(before) => before.intersection(&allowed).copied().collect(),
            None => allowed,
        });
    }

    /// Lets only these turns through.
    pub(super) fn require(&mut self, turns: HashSet<u64>) {
        self.turns = Some(match self.turns.take() {
            Some(before) => before.intersection(&turns).copied().collect(),
            None => turns,
        });
    }

    /// Whether nothing can pass.
    pub(super) fn is_empty(&self) -> bool {
        self.sessions.as_ref().is_some_and(HashSet::is_empty)
            || self.turns.as_ref().is_some_and(HashSet::is_empty)
    }

    /// Whether a session may be found.
    pub(super) fn allows_session(&self, session: SessionId) -> bool {
        self.sessions
            .as_ref()
            .is_none_or(|sessions| sessions.contains(&session))
    }

    /// Whether an event may be found, its tool apart.
    pub(super) fn allows(&self, place: &Place) -> bool {
        self.allows_session(place.session)
            && place.minute >= self.from
            && self.to.is_none_or(|to| place.minute <= to)
            && self
                .kinds
                .as_ref()
                .is_none_or(|kinds| kinds.contains(&place.kind))
            && self
                .turns
                .as_ref()
                .is_none_or(|turns| turns.contains(&turn_key(place)))
            && !self.without.contains(&turn_key(place))
    }

    /// Whether an event is of the tool that is asked for.
    pub(super) fn allows_tool(&self, tool: Option<&str>) -> bool {
        let same = |wanted: &String| tool.is_some_and(|tool| tool.eq_ignore_ascii_case(wanted));
        self.tool.as_ref().is_none_or(same)
    }

    /// Whether it matters which event of a session it is.
    pub(super) fn looks_at_events(&self) -> bool {
        self.turns.is_some()
            || !self.without.is_empty()
            || self.kinds.is_some()
            || self.from > 0
            || self.to.is_some()
            || self.tool.is_some()
    }

    /// The events of the index that pass, as numbers; `None` when it does not matter which event it is.
    pub(super) fn events(&self, index: Option<&TextIndex>) -> Result<Option<HashSet<u64>>> {
        let (Some(index), true) = (index, self.looks_at_events()) else {
            return Ok(None);
        };
        let mut events = HashSet::new();
        for segment in index.segments() {
            if let Some(filter) = self.in_segment(segment)? {
                let passing = (0..segment.documents()).filter(|document| filter.allows(*document));
                events.extend(passing.map(|document| {
                    let place = segment.place(document);
                    event_key(place.session, place.seq)
                }));
            }
        }
        Ok(Some(events))
    }

    /// The scope within a part of the index; `None` when all its documents pass.
    pub(super) fn in_segment<'a>(
        &'a self,
        segment: &'a IndexSegment,
    ) -> Result<Option<SegmentFilter<'a>>> {
        let open = self.sessions.is_none() && self.fresh.is_empty() && !self.looks_at_events();
        if open {
            return Ok(None);
        }
        let mut of_tool = None;
        if let Some(tool) = &self.tool {
            let mut documents = HashSet::new();
            segment.of_tool(tool, |document| {
                documents.insert(document);
            })?;
            of_tool = Some(documents);
        }
        Ok(Some(SegmentFilter {
            scope: self,
            segment,
            of_tool,
        }))
    }
}

impl SegmentFilter<'_> {
    pub(super) fn allows(&self, document: u32) -> bool {
        let session = self.segment.session(document);
        if !self.scope.allows_session(session)
            || self
                .of_tool
                .as_ref()
                .is_some_and(|of| !of.contains(&document))
        {
            return false;
        }
        let place = self.segment.place(document);
        // The index has these events too, or did, but as they were.
        let fresh = self.scope.fresh.get(&session);
        fresh.is_none_or(|first| place.seq < *first && place.seq > Seq::ZERO)
            && self.scope.allows(&place)
    }
}

/// The kinds that a role or kind names.
fn kinds(role: &str) -> Result<Vec<Kind>> {
    let kinds: Vec<Kind> = Kind::ALL
        .into_iter()
        .filter(|kind| kind.name() == role || kind.role() == role)
        .collect();
    if kinds.is_empty() {
        return Err(Error::UnknownRole(role.to_string()));
    }
    Ok(kinds)
}

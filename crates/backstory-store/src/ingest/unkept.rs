//! What of a chunk is not kept, though it was read: what was evicted and what was forgotten.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use backstory_event::{
    Event, EventKey, Output, Response, Seq, SessionFacts, SessionId, Span, Title,
};
use rusqlite::Connection;

use crate::blocks::Packed;
use crate::error::Result;
use crate::forget::Forgotten;

/// What is not kept of the chunk at hand.
pub(crate) struct Unkept<'a> {
    /// Whether any session is evicted at all; mostly none is, and nothing need be asked for each event.
    any_evicted: bool,
    /// Up to which event the sessions that were asked for are evicted.
    evicted: HashMap<SessionId, Seq>,
    forgotten: Option<Forgotten>,
    /// Whether the sessions that were asked for are forgotten.
    forgotten_sessions: HashMap<Arc<str>, bool>,
    /// Titles and branches that were left out, by file: its reader still remembers them, in this batch and in those that follow.
    unlearned: &'a RefCell<HashMap<String, Vec<String>>>,
    /// Records of the chunk whose bytes are not kept.
    spans: Vec<Span>,
    /// Those of events whose bytes are.
    kept: Vec<Span>,
}

impl<'a> Unkept<'a> {
    pub(super) fn new(
        connection: &Connection,
        unlearned: &'a RefCell<HashMap<String, Vec<String>>>,
    ) -> Result<Self> {
        let query = "SELECT EXISTS (SELECT 1 FROM sessions WHERE evicted > 0)";
        Ok(Unkept {
            any_evicted: connection
                .prepare_cached(query)?
                .query_row([], |row| row.get(0))?,
            evicted: HashMap::new(),
            forgotten: Forgotten::load(connection)?,
            forgotten_sessions: HashMap::new(),
            unlearned,
            spans: Vec::new(),
            kept: Vec::new(),
        })
    }

    /// Takes note of an event whose bytes are kept.
    pub(super) fn keep(&mut self, span: Span) {
        if self.any_evicted || self.forgotten.is_some() {
            self.kept.push(span);
        }
    }

    /// Takes note of an event that is known: an evicted one must not come back with the bytes of its copy.
    pub(super) fn known(
        &mut self,
        connection: &Connection,
        session: SessionId,
        seq: Seq,
        span: Span,
    ) -> Result<()> {
        if self.is_evicted(connection, session, seq)? {
            self.spans.push(span);
        } else {
            self.keep(span);
        }
        Ok(())
    }

    pub(crate) fn is_evicted(
        &mut self,
        connection: &Connection,
        session: SessionId,
        seq: Seq,
    ) -> Result<bool> {
        if !self.any_evicted {
            return Ok(false);
        }
        if let Some(evicted) = self.evicted.get(&session) {
            return Ok(seq <= *evicted);
        }
        let evicted: Seq = connection
            .prepare_cached("SELECT evicted FROM sessions WHERE id = ?1")?
            .query_row([session], |row| row.get(0))?;
        self.evicted.insert(session, evicted);
        Ok(seq <= evicted)
    }

    /// Takes out of an output what was forgotten, wherever it stands.
    pub(crate) fn forget(
        &mut self,
        connection: &Connection,
        (agent, path): (&str, &str),
        output: &mut Output,
    ) -> Result<()> {
        let Some(forgotten) = self.forgotten.take() else {
            return Ok(());
        };
        let mut look = Look {
            connection,
            agent,
            forgotten: &forgotten,
            sessions: &mut self.forgotten_sessions,
        };
        let mut events = Vec::with_capacity(output.events.len());
        for event in std::mem::take(&mut output.events) {
            if look.event(&event)? {
                self.spans.push(event.span);
            } else {
                events.push(event);
            }
        }
        output.events = events;
        for extension in &output.extensions {
            if look.key(Some(extension.key))? {
                self.spans.push(Span {
                    offset: extension.end.saturating_sub(1),
                    length: 1,
                    part: 0,
                });
            }
        }
        let mut responses = Vec::with_capacity(output.responses.len());
        for response in std::mem::take(&mut output.responses) {
            if !look.response(&response)? {
                responses.push(response);
            }
        }
        output.responses = responses;
        let mut telemetry = Vec::with_capacity(output.telemetry.len());
        for record in std::mem::take(&mut output.telemetry) {
            if !look.session(&record.session)? && !look.key(record.after)? {
                telemetry.push(record);
            }
        }
        output.telemetry = telemetry;
        let mut facts = Vec::with_capacity(output.facts.len());
        for mut found in std::mem::take(&mut output.facts) {
            let gone = look.facts(&mut found)?;
            // A title or branch beside forgotten history may be that history's.
            if gone || !self.spans.is_empty() {
                let title = found.title.take().map(|title| match title {
                    Title::Prompt(text) | Title::Generated(text) | Title::Given(text) => text,
                });
                let mut unlearned = self.unlearned.borrow_mut();
                let of_file = unlearned.entry(path.to_string()).or_default();
                for value in title.into_iter().chain(found.branch.take()) {
                    if !of_file.contains(&value) {
                        of_file.push(value);
                    }
                }
                found.meta = None;
            }
            if gone {
                continue;
            }
            facts.push(found);
        }
        output.facts = facts;
        self.forgotten = Some(forgotten);
        Ok(())
    }

    /// Takes what was forgotten out of what a reader remembers.
    pub(crate) fn forget_state(
        &mut self,
        connection: &Connection,
        (agent, path): (&str, &str),
        state: &mut String,
    ) -> Result<()> {
        let Some(forgotten) = &self.forgotten else {
            return Ok(());
        };
        for value in self.unlearned.borrow().get(path).into_iter().flatten() {
            let quoted = serde_json::to_string(value).unwrap_or_default();
            *state = state.replace(&quoted, "\"\"");
        }
        let is_name = |character: char| character.is_ascii_alphanumeric() || character == '-';
        let names: Vec<String> = state
            .split(|character| !is_name(character))
            .filter(|name| name.len() >= 8)
            .map(str::to_string)
            .collect();
        for name in names {
            if forgotten.has_session(connection, agent, &name)? {
                *state = state.replace(&name, &"x".repeat(name.len()));
            }
        }
        Ok(())
    }

    /// Takes what is not kept out of a chunk that begins at `start`; of one that has nothing else, everything.
    pub(super) fn take_out(&mut self, packed: Packed, start: u64) -> Result<Packed> {
        let spans = std::mem::take(&mut self.spans);
        let kept = std::mem::take(&mut self.kept);
        if spans.is_empty() {
            return Ok(packed);
        }
        if kept.is_empty() {
            let all = 0..packed.length as usize;
            return packed.blanked(&[all]);
        }
        packed.blanked(&ranges(&spans, &kept, start))
    }
}

/// Where the bytes lie that are not kept: those of the records themselves, and of what stands before each without being an event
/// (titles, snapshots), back to the last event. An event that is written over several records can enclose those of others.
fn ranges(spans: &[Span], kept: &[Span], start: u64) -> Vec<Range<usize>> {
    let end = |span: &Span| span.offset + span.length;
    let overlap = |a: &Span, b: &Span| a.offset < end(b) && b.offset < end(a);
    let mut ranges = Vec::new();
    for span in spans {
        if kept.iter().any(|kept| overlap(span, kept)) {
            continue;
        }
        let before = kept.iter().map(end).filter(|end| *end <= span.offset).max();
        let from = before.unwrap_or(start).max(start);
        ranges.push((from - start) as usize..(end(span).max(start) - start) as usize);
    }
    ranges
}

/// Looks whether something was forgotten.
struct Look<'a> {
    connection: &'a Connection,
    agent: &'a str,
    forgotten: &'a Forgotten,
    sessions: &'a mut HashMap<Arc<str>, bool>,
}

impl Look<'_> {
    fn session(&mut self, name: &Arc<str>) -> Result<bool> {
        if let Some(known) = self.sessions.get(name) {
            return Ok(*known);
        }
        // A subagent goes with the session that started it.
        let mut found = false;
        for (at, _) in name.match_indices('/').chain([(name.len(), "")]) {
            found |= self
                .forgotten
                .has_session(self.connection, self.agent, &name[..at])?;
        }
        self.sessions.insert(name.clone(), found);
        Ok(found)
    }

    fn key(&self, key: Option<EventKey>) -> Result<bool> {
        match key {
            Some(key) => self.forgotten.has_event(self.connection, key),
            None => Ok(false),
        }
    }

    fn event(&mut self, event: &Event) -> Result<bool> {
        Ok(
            self.session(&event.session)?
                || self.key(Some(event.key))?
                || self.key(event.replay)?,
        )
    }

    fn response(&mut self, response: &Response) -> Result<bool> {
        Ok(self.session(&response.session)?
            || self.key(Some(response.key))?
            || self.key(response.replay)?)
    }

    /// Whether facts are of a forgotten session; of a parent that was, nothing is said any more.
    fn facts(&mut self, facts: &mut SessionFacts) -> Result<bool> {
        if let Some(parent) = &facts.parent
            && self.session(&Arc::from(parent.session.as_str()))?
        {
            facts.parent = None;
            // It names the parent, too.
            facts.meta = None;
        }
        match &facts.session {
            Some(session) => self.session(session),
            None => self.key(facts.leaf),
        }
    }
}

//! Blanking what a stream repeats of forgotten sessions.

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use backstory_agents::{Reader, Reading, Shape, SourceName, read_document, read_lines};
use backstory_event::{Event, EventKey, Kind, Output, SessionFacts, SessionName, Title};
use backstory_redact::Redactor;
use backstory_store::{RemainingFacts, RemainingStream, SessionHead, TitleRank};
use memchr::memchr;
use memchr::memmem::Finder;

use super::copies::is_plain_id;
use crate::error::Result;
use crate::import::project::Projects;

/// Shorter ids stand in other texts by chance.
const LEAST_ID: usize = 8;

/// The ids and titles of the sessions that are forgotten.
pub(super) struct Names {
    sessions: HashSet<SessionName>,
    finders: Vec<Finder<'static>>,
    /// Titles as they stand in JSON.
    titles: Vec<Finder<'static>>,
}

impl Names {
    pub(super) fn new(sessions: &[SessionHead]) -> Self {
        let titles = sessions.iter().filter_map(|session| session.title.as_ref());
        let titles = titles.map(|title| {
            let quoted = serde_json::to_string(title).unwrap_or_default();
            Finder::new(quoted.trim_matches('"')).into_owned()
        });
        let titles = titles.filter(|title| title.needle().len() >= LEAST_ID);
        let titles = titles.collect();
        let sessions: HashSet<SessionName> = sessions.iter().map(SessionHead::name).collect();
        // Of a subagent's id, logs have the last part.
        let parts: HashSet<&str> = sessions
            .iter()
            .flat_map(|name| {
                [&*name.id]
                    .into_iter()
                    .chain(name.id.split("/agent-").skip(1))
            })
            .filter(|name| name.len() >= LEAST_ID)
            .collect();
        let finders = parts.iter().map(|name| Finder::new(name).into_owned());
        let finders = finders.collect();
        Names {
            sessions,
            finders,
            titles,
        }
    }

    /// Returns whether a text has one of the ids.
    pub(super) fn is_in(&self, text: &[u8]) -> bool {
        let mut finders = self.finders.iter();
        finders.any(|finder| finder.find(text).is_some())
    }

    /// Returns whether every text from which a reader takes the id of this session is one of those that are looked for.
    pub(super) fn is_searched(&self, session: &str) -> bool {
        let told = session.rsplit("/agent-").next().unwrap_or(session);
        is_plain_id(told) && self.texts().any(|text| text == told.as_bytes())
    }

    /// The ids as they would stand in files.
    pub(super) fn texts(&self) -> impl Iterator<Item = &[u8]> {
        self.finders.iter().map(Finder::needle)
    }

    /// The text with other characters in the place of ids; `None` when there are none in it.
    pub(super) fn masked(&self, text: &[u8]) -> Option<Vec<u8>> {
        let mut masked = None;
        for finder in &self.finders {
            for at in finder.find_iter(text) {
                let masked = masked.get_or_insert_with(|| text.to_vec());
                masked[at..at + finder.needle().len()].fill(b'x');
            }
        }
        masked
    }

    /// Returns whether a session of any agent with this id is one of them.
    pub(super) fn has_id(&self, session: &str) -> bool {
        self.sessions.iter().any(|name| *name.id == *session)
    }

    /// Returns whether a session is one of them.
    pub(super) fn has_session(&self, agent: &str, session: &str) -> bool {
        let key = SessionName::new(agent.to_string(), session);
        self.sessions.contains(&key)
    }
}

/// Rest of a stream in which lines were blanked.
pub(super) struct Remaining {
    /// Folders, branches, titles and models that only blanked lines named.
    pub(super) lost: HashSet<String>,
    /// Those that other lines name.
    pub(super) kept: HashSet<String>,
    /// Facts about their sessions in those lines.
    pub(super) facts: Vec<RemainingFacts>,
}

/// One stream being read again.
pub(super) struct Sieve<'a> {
    agent: &'a str,
    names: &'a Names,
    keys: &'a HashSet<EventKey>,
    path: &'a Path,
    /// Reading of the stream, if a forgotten session was of the same agent.
    reader: Option<&'static dyn Reader>,
    reading: Option<(Box<dyn Reading>, Shape)>,
    /// Folders, branches, titles and models that blanked lines named.
    lost: HashSet<String>,
    /// True if the first line that says where a session works was read.
    begun: bool,
    blanked: bool,
}

/// Puts spaces in the place of all but newlines; whether anything changed.
pub(super) fn blank(bytes: &mut [u8]) -> bool {
    let mut changed = false;
    for byte in bytes.iter_mut().filter(|byte| **byte != b'\n') {
        changed |= *byte != b' ';
        *byte = b' ';
    }
    changed
}

/// Reads the lines of a block, each with what it says.
pub(super) fn read_block(
    reader: &'static dyn Reader,
    reading: &mut Option<(Box<dyn Reading>, Shape)>,
    path: &Path,
    start: u64,
    bytes: &[u8],
) -> Vec<(Range<usize>, Output)> {
    let (reading, shape) = reading.get_or_insert_with(|| {
        let shape = reader
            .named(path)
            .or_else(|| reader.recognises(path, bytes));
        let reading = reader.begin(&SourceName { path }, None);
        (reading, shape.unwrap_or(Shape::Lines))
    });
    let mut lines = Vec::new();
    if *shape == Shape::Document {
        let mut output = Output::default();
        read_document(&mut **reading, bytes, &mut output);
        lines.push((0..bytes.len(), output));
        return lines;
    }
    let mut from = 0;
    while from < bytes.len() {
        let end = memchr(b'\n', &bytes[from..]).map_or(bytes.len(), |at| from + at);
        let mut output = Output::default();
        let offset = start + from as u64;
        read_lines(&mut **reading, &bytes[from..end], offset, 1, &mut output);
        lines.push((from..end, output));
        from = end + 1;
    }
    lines
}

/// Returns the folders, branches, titles and models that a line names.
fn named_values(output: &Output) -> Vec<&str> {
    let mut values: Vec<&str> = Vec::new();
    for facts in &output.facts {
        let named = [&facts.cwd, &facts.branch, &facts.repository, &facts.remote];
        values.extend(named.into_iter().filter_map(|value| value.as_deref()));
        values.extend(facts.title.as_ref().map(|title| ranked(title).1));
    }
    let models = output
        .events
        .iter()
        .filter_map(|event| event.model.as_deref());
    values.extend(models);
    values.extend(output.responses.iter().map(|response| &*response.model));
    values.retain(|value| !value.is_empty());
    values
}

/// Returns a title with its rank among others, as the store has it.
fn ranked(title: &Title) -> (TitleRank, &str) {
    let (Title::Prompt(text) | Title::Generated(text) | Title::Given(text)) = title;
    (TitleRank::of(title), text)
}

/// Brings together what lines say of each session: the folder where it began, the branch where it ended, its best title.
fn remaining_facts(
    facts: &[SessionFacts],
    prompts: &[(Arc<str>, String)],
    redactor: &Redactor,
) -> Vec<RemainingFacts> {
    let projects = Projects::default().find_projects(facts, Some(redactor));
    let mut sessions: Vec<RemainingFacts> = Vec::new();
    let place = |sessions: &mut Vec<RemainingFacts>, name: &str| {
        let known = sessions.iter().position(|facts| facts.session == name);
        known.unwrap_or_else(|| {
            sessions.push(RemainingFacts {
                session: name.to_string(),
                ..RemainingFacts::default()
            });
            sessions.len() - 1
        })
    };
    for told in facts {
        let Some(name) = &told.session else { continue };
        let at = place(&mut sessions, name);
        let session = &mut sessions[at];
        if session.cwd.is_none() && told.cwd.is_some() {
            session.cwd.clone_from(&told.cwd);
            session.project = told.cwd.as_ref().and_then(|cwd| projects.get(cwd).cloned());
        }
        if told.branch.is_some() {
            session.branch.clone_from(&told.branch);
        }
        if let Some((rank, title)) = told.title.as_ref().map(ranked)
            && session
                .title
                .as_ref()
                .is_none_or(|(known, _)| rank >= *known)
        {
            session.title = Some((rank, title.to_string()));
        }
    }
    for (name, prompt) in prompts {
        let at = place(&mut sessions, name);
        sessions[at]
            .title
            .get_or_insert_with(|| (TitleRank::Prompt, prompt.clone()));
    }
    sessions
}

/// Kind of a line of a stream.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// Of a forgotten session.
    Gone,
    /// Of another one.
    Stays,
    /// No event: it goes with what follows.
    Unclear,
}

impl<'a> Sieve<'a> {
    pub(super) fn new(
        stream: &'a RemainingStream,
        names: &'a Names,
        keys: &'a HashSet<EventKey>,
    ) -> Self {
        let concerned = names.sessions.iter().any(|name| name.agent == stream.agent);
        let reader = backstory_agents::reader(&stream.agent).filter(|_| concerned);
        Sieve {
            agent: &stream.agent,
            names,
            keys,
            path: Path::new(&stream.path),
            reader,
            reading: None,
            lost: HashSet::new(),
            begun: false,
            blanked: false,
        }
    }

    /// Returns whether the stream repeated something of a forgotten session.
    pub(super) fn has_blanked(&self) -> bool {
        self.blanked
    }

    /// Blanks what of a block is forgotten; whether anything is.
    pub(super) fn block(&mut self, start: u64, bytes: &mut Vec<u8>) -> bool {
        let mut changed = false;
        for range in self.gone(start, bytes) {
            changed |= blank(&mut bytes[range]);
        }
        self.blanked |= changed;
        if let Some(masked) = self.names.masked(bytes) {
            *bytes = masked;
            changed = true;
        }
        changed
    }

    fn gone(&mut self, start: u64, bytes: &[u8]) -> Vec<Range<usize>> {
        let Some(reader) = self.reader else {
            return Vec::new();
        };
        let lines = read_block(reader, &mut self.reading, self.path, start, bytes);
        let mut gone = Vec::new();
        let mut verdicts = Vec::with_capacity(lines.len());
        for (_, output) in &lines {
            verdicts.push(self.verdict(output));
        }
        // What stands behind the last event goes with that.
        let is_clear = |verdict: &&Verdict| **verdict != Verdict::Unclear;
        let mut following = verdicts.iter().rev().find(is_clear).copied();
        for ((range, output), verdict) in lines.into_iter().zip(&verdicts).rev() {
            let verdict = match verdict {
                Verdict::Unclear => following.unwrap_or(Verdict::Stays),
                clear => *clear,
            };
            following = Some(verdict);
            if verdict == Verdict::Gone {
                gone.push(range);
                self.lost
                    .extend(named_values(&output).into_iter().map(str::to_string));
            }
        }
        gone
    }

    /// Returns the lines of a block without events that repeat a title or, by `says`, a prompt of a forgotten session: agents keep
    /// both beside a copy. Meant for streams that have one, for other sessions may be called the same.
    pub(super) fn copied_titles(
        &mut self,
        reading: &mut Option<(Box<dyn Reading>, Shape)>,
        start: u64,
        bytes: &[u8],
        says: impl Fn(&[u8]) -> bool,
    ) -> Vec<Range<usize>> {
        let Some(reader) = self.reader else {
            return Vec::new();
        };
        let mut copied = Vec::new();
        for (range, output) in read_block(reader, reading, self.path, start, bytes) {
            let has_events = !output.events.is_empty() || !output.extensions.is_empty();
            let places = |facts: &SessionFacts| facts.session.is_some() && facts.title.is_none();
            if has_events || output.facts.iter().any(places) {
                continue;
            }
            let line = &bytes[range.clone()];
            let titles = &mut self.names.titles.iter();
            if titles.any(|title| title.find(line).is_some()) || says(line) {
                self.lost
                    .extend(named_values(&output).into_iter().map(str::to_string));
                copied.push(range);
            }
        }
        copied
    }

    /// Returns what only blanked lines named, and what the others say of their sessions. `each_block` reads the stream as it is now.
    pub(super) fn remaining(
        &self,
        redactor: &Redactor,
        mut each_block: impl FnMut(&mut dyn FnMut(u64, &[u8])) -> Result<()>,
    ) -> Result<Remaining> {
        let mut kept = HashSet::new();
        let mut facts: Vec<SessionFacts> = Vec::new();
        let mut prompts: Vec<(Arc<str>, String)> = Vec::new();
        if let Some(reader) = self.reader {
            // Read as if the blanked lines had never been there: readers tell a fact only when it is new.
            let mut reading = None;
            each_block(&mut |start, bytes| {
                for (_, output) in read_block(reader, &mut reading, self.path, start, bytes) {
                    kept.extend(named_values(&output).into_iter().map(str::to_string));
                    let is_prompt = |event: &&Event| event.kind == Kind::Prompt;
                    for event in output.events.iter().filter(is_prompt) {
                        if !prompts.iter().any(|(session, _)| *session == event.session) {
                            prompts.push((event.session.clone(), event.body.text.clone()));
                        }
                    }
                    facts.extend(output.facts);
                }
            })?;
        }
        Ok(Remaining {
            lost: self.lost.difference(&kept).cloned().collect(),
            kept,
            facts: remaining_facts(&facts, &prompts, redactor),
        })
    }

    fn verdict(&mut self, output: &Output) -> Verdict {
        // Where a session works is said before its events, in a copy by copied lines; a title may be a copied one. The first line
        // is the file's own, though it may name the session that it was copied from: ids are masked everywhere.
        let is_own = |facts: &SessionFacts| {
            let session = facts.session.as_ref();
            facts.title.is_none()
                && session.is_some_and(|name| !self.names.has_session(self.agent, name))
        };
        let is_first = !self.begun && output.facts.iter().any(is_own);
        self.begun |= is_first;
        if is_first && output.events.is_empty() && output.extensions.is_empty() {
            return Verdict::Stays;
        }
        let gone_facts = |facts: &SessionFacts| {
            facts.leaf.is_some_and(|leaf| self.keys.contains(&leaf))
                || facts
                    .session
                    .as_ref()
                    .is_some_and(|name| self.names.has_session(self.agent, name))
                || facts
                    .parent
                    .as_ref()
                    .is_some_and(|parent| self.names.has_session(self.agent, &parent.session))
        };
        let gone = |session: &str, key: EventKey, replay: Option<EventKey>| {
            self.names.has_session(self.agent, session)
                || self.keys.contains(&key)
                || replay.is_some_and(|replay| self.keys.contains(&replay))
        };
        let mut events = output.events.iter();
        let mut responses = output.responses.iter();
        let mut extensions = output.extensions.iter();
        if events.any(|event| gone(&event.session, event.key, event.replay))
            || responses.any(|response| gone(&response.session, response.key, response.replay))
            || extensions.any(|extension| self.keys.contains(&extension.key))
            || output.facts.iter().any(gone_facts)
        {
            return Verdict::Gone;
        }
        if !output.events.is_empty() || !output.extensions.is_empty() {
            return Verdict::Stays;
        }
        Verdict::Unclear
    }
}

//! Blanking what a stream repeats of forgotten sessions.

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

use backstory_session::{
    EventKey, Output, Reader, Reading, SessionFacts, Shape, SourceName, read_document, read_lines,
};
use backstory_store::{RemainingStream, SessionHead};
use memchr::memchr;
use memchr::memmem::Finder;

/// Shorter ids stand in other texts by chance.
const LEAST_ID: usize = 8;

/// The ids of the sessions that are forgotten.
pub(super) struct Names {
    sessions: HashSet<(String, String)>,
    finders: Vec<Finder<'static>>,
}

impl Names {
    pub(super) fn new(sessions: &[SessionHead]) -> Self {
        let sessions: HashSet<(String, String)> = sessions
            .iter()
            .map(|session| (session.agent.clone(), session.session.clone()))
            .collect();
        // Of a subagent's id, logs have the last part.
        let parts: HashSet<&str> = sessions
            .iter()
            .flat_map(|(_, name)| {
                [name.as_str()]
                    .into_iter()
                    .chain(name.split("/agent-").skip(1))
            })
            .filter(|name| name.len() >= LEAST_ID)
            .collect();
        let finders = parts.iter().map(|name| Finder::new(name).into_owned());
        let finders = finders.collect();
        Names { sessions, finders }
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

    fn has(&self, agent: &str, session: &str) -> bool {
        let key = (agent.to_string(), session.to_string());
        self.sessions.contains(&key)
    }
}

/// One stream being read again.
pub(super) struct Sieve<'a> {
    agent: &'a str,
    names: &'a Names,
    keys: &'a HashSet<EventKey>,
    path: &'a Path,
    /// What reads the stream, if a forgotten session was of the same agent.
    reader: Option<&'static dyn Reader>,
    reading: Option<(Box<dyn Reading>, Shape)>,
    blanked: bool,
}

/// What a line of a stream is.
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
        let concerned = names
            .sessions
            .iter()
            .any(|(agent, _)| *agent == stream.agent);
        let reader = backstory_session::reader(&stream.agent).filter(|_| concerned);
        Sieve {
            agent: &stream.agent,
            names,
            keys,
            path: Path::new(&stream.path),
            reader,
            reading: None,
            blanked: false,
        }
    }

    /// Whether the stream repeated something of a forgotten session.
    pub(super) fn has_blanked(&self) -> bool {
        self.blanked
    }

    /// Blanks what of a block is forgotten; whether anything is.
    pub(super) fn block(&mut self, start: u64, bytes: &mut Vec<u8>) -> bool {
        let mut changed = false;
        for range in self.gone(start, bytes) {
            for byte in bytes[range].iter_mut().filter(|byte| **byte != b'\n') {
                changed |= *byte != b' ';
                *byte = b' ';
            }
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
        let path = self.path;
        let (reading, shape) = self.reading.get_or_insert_with(|| {
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
        } else {
            let mut from = 0;
            while from < bytes.len() {
                let end = memchr(b'\n', &bytes[from..]).map_or(bytes.len(), |at| from + at);
                let mut output = Output::default();
                let offset = start + from as u64;
                read_lines(&mut **reading, &bytes[from..end], offset, 1, &mut output);
                lines.push((from..end, output));
                from = end + 1;
            }
        }
        let mut gone = Vec::new();
        let mut following = None;
        let verdicts: Vec<Verdict> = lines
            .iter()
            .map(|(_, output)| self.verdict(output))
            .collect();
        for ((range, _), verdict) in lines.into_iter().zip(&verdicts).rev() {
            let verdict = match verdict {
                Verdict::Unclear => following.unwrap_or(Verdict::Stays),
                clear => *clear,
            };
            following = Some(verdict);
            if verdict == Verdict::Gone {
                gone.push(range);
            }
        }
        gone
    }

    fn verdict(&self, output: &Output) -> Verdict {
        let gone_facts = |facts: &SessionFacts| {
            facts.leaf.is_some_and(|leaf| self.keys.contains(&leaf))
                || facts
                    .session
                    .as_ref()
                    .is_some_and(|name| self.names.has(self.agent, name))
                || facts
                    .parent
                    .as_ref()
                    .is_some_and(|parent| self.names.has(self.agent, &parent.session))
        };
        let gone = |session: &str, key: EventKey, replay: Option<EventKey>| {
            self.names.has(self.agent, session)
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
        // What says only where a session works is needed to read what follows; a title may be a copied one.
        let tells = output
            .facts
            .iter()
            .any(|facts| facts.session.is_some() && facts.title.is_none());
        if !output.events.is_empty() || !output.extensions.is_empty() || tells {
            return Verdict::Stays;
        }
        Verdict::Unclear
    }
}

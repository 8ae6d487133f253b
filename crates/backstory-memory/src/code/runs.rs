//! Calls that were seen to happen: stack traces in what tools answered.

use std::collections::{BTreeMap, HashMap};

use backstory_code::{Frame, Language, traces};
use backstory_event::{FileId, Kind, Seq, SessionId, TimeMs};
use backstory_redact::Redactor;
use backstory_store::{Coding, EventRange, RunEdge, Store, Taken, Uncoded};

use super::files::{Files, is_foreign};
use crate::error::Result;
use crate::read::visit;

/// One function was seen to call another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Run {
    /// The file of the caller, as it was printed.
    file: String,
    /// The caller; empty for the file itself.
    caller: String,
    callee: String,
    seq: Seq,
    at: Option<TimeMs>,
}

/// Gathers them while a sweep stores events, which saves reading all answers again.
#[derive(Default)]
pub(crate) struct Runs {
    fed: HashMap<SessionId, Fed>,
}

/// What was seen in a stretch of a session.
struct Fed {
    first: Seq,
    last: Seq,
    runs: Vec<Run>,
}

impl Runs {
    /// Takes events right after they were stored.
    pub(crate) fn feed(&mut self, taken: &Taken) {
        for stored in &taken.events {
            let fed = self.fed.entry(stored.session).or_insert_with(|| Fed {
                first: stored.seq,
                last: stored.seq.previous(),
                runs: Vec::new(),
            });
            // With a gap it is of no use.
            if fed.last.next() != stored.seq {
                fed.last = Seq::ZERO;
                continue;
            }
            fed.last = stored.seq;
            let event = &stored.event;
            if event.kind == Kind::ToolResult {
                look(&event.body.text, stored.seq, event.at, &mut fed.runs);
            }
        }
        for session in &taken.extended {
            self.fed.remove(session);
        }
    }

    /// What was seen in the events of a session that were not looked at; `None` when not all of them came by.
    pub(super) fn take(&mut self, session: &Uncoded) -> Option<Vec<Run>> {
        let fed = self.fed.remove(&session.session)?;
        let is_whole = fed.first <= session.coded.next() && fed.last.count() == session.events;
        is_whole.then_some(fed.runs)
    }
}

/// What is seen when all of them are read again.
pub(super) fn read_runs(store: &Store, session: &Uncoded) -> Result<Vec<Run>> {
    let mut runs = Vec::new();
    let range = EventRange::From(session.coded.next());
    visit(store, session.session, &session.agent, range, |event| {
        if event.event.kind == Kind::ToolResult {
            look(event.text(), event.seq, event.event.at, &mut runs);
        }
        Ok(())
    })?;
    Ok(runs)
}

/// The calls in the traces of a text.
fn look(text: &str, seq: Seq, at: Option<TimeMs>, runs: &mut Vec<Run>) {
    for trace in traces(text) {
        for pair in trace.windows(2) {
            let [caller, callee] = pair else { continue };
            if let (Some(file), Some(caller), Some(callee)) =
                (source_of(caller), name_of(caller), name_of(callee))
                && !callee.is_empty()
            {
                runs.push(Run {
                    file: file.to_string(),
                    caller: caller.to_string(),
                    callee: callee.to_string(),
                    seq,
                    at,
                });
            }
        }
    }
}

/// The source file of a frame, unless somebody else wrote it.
fn source_of(frame: &Frame) -> Option<&str> {
    let file = frame.file.as_deref()?;
    let is_foreign = file.split(['/', '\\']).any(is_foreign);
    let is_source = Language::of_path(file.as_ref()).is_some();
    (is_source && !is_foreign).then_some(file)
}

/// The name of a function; empty for the file itself, `None` for what has no name.
fn name_of(frame: &Frame) -> Option<&str> {
    match frame.function.as_str() {
        "<module>" => Some(""),
        name if name.starts_with('<') => None,
        name => Some(name),
    }
}

/// Stores what was seen in files of the session's project.
pub(super) fn save_runs(
    coding: &Coding<'_>,
    session: &Uncoded,
    runs: &[Run],
    redactor: Option<&Redactor>,
) -> Result<()> {
    let Some(project) = session.project.as_ref().filter(|_| !runs.is_empty()) else {
        return Ok(());
    };
    let mut files = Files::of(session, redactor);
    let mut edges: BTreeMap<(FileId, &str, &str), RunEdge> = BTreeMap::new();
    for run in runs {
        let file = match files.locate(&run.file) {
            // Java tells no folders.
            _ if !run.file.contains(['/', '\\']) => coding.file_named(project, &run.file)?,
            Some(file) if file.project == *project => Some(coding.file(&file.project, &file.name)?),
            _ => None,
        };
        let Some(file) = file else { continue };
        let edge = edges.entry((file, &run.caller, &run.callee));
        let edge = edge.or_insert_with(|| RunEdge {
            file,
            caller: run.caller.clone(),
            callee: run.callee.clone(),
            seen: 0,
            session: session.session,
            seq: run.seq,
            at: run.at,
        });
        edge.seen += 1;
        (edge.seq, edge.at) = (run.seq, run.at);
    }
    for edge in edges.values() {
        coding.count_call(edge)?;
    }
    Ok(())
}

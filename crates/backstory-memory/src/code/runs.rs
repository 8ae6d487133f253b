//! Calls that were seen to happen: stack traces in what tools answered.

use std::collections::BTreeMap;

use backstory_code::{Frame, Language, traces};
use backstory_event::{FileId, Seq, TimeMs};
use backstory_redact::Redactor;
use backstory_store::{Coding, RunEdge, WorkPlace};

use super::files::{Files, is_foreign};
use crate::error::Result;

/// A call in a stack trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TracedCall {
    /// The file of the caller, as it was printed.
    file: String,
    /// The caller; empty for the file itself.
    caller: String,
    callee: String,
}

/// One function was seen to call another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) call: TracedCall,
    pub(crate) seq: Seq,
    pub(crate) at: Option<TimeMs>,
}

/// Returns the calls in the stack traces of a text.
pub(crate) fn traced_calls(text: &str) -> Vec<TracedCall> {
    let mut calls = Vec::new();
    for trace in traces(text) {
        for pair in trace.windows(2) {
            let [caller, callee] = pair else { continue };
            if let (Some(file), Some(caller), Some(callee)) =
                (source_of(caller), name_of(caller), name_of(callee))
                && !callee.is_empty()
            {
                calls.push(TracedCall {
                    file: file.to_string(),
                    caller: caller.to_string(),
                    callee: callee.to_string(),
                });
            }
        }
    }
    calls
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
pub(crate) fn save_runs(
    coding: &Coding<'_>,
    session: &WorkPlace,
    runs: &[Run],
    redactor: Option<&Redactor>,
) -> Result<()> {
    let Some(project) = session.project.as_ref().filter(|_| !runs.is_empty()) else {
        return Ok(());
    };
    let mut files = Files::of(session, redactor);
    let mut edges: BTreeMap<(FileId, Seq, &str, &str), RunEdge> = BTreeMap::new();
    for run in runs {
        let call = &run.call;
        let file = match files.locate(&call.file) {
            // Java tells no folders.
            _ if !call.file.contains(['/', '\\']) => coding.file_named(project, &call.file)?,
            Some(file) if file.project == *project => Some(coding.file(&file.project, &file.name)?),
            _ => None,
        };
        let Some(file) = file else { continue };
        let edge = edges.entry((file, run.seq, &call.caller, &call.callee));
        let edge = edge.or_insert_with(|| RunEdge {
            file,
            caller: call.caller.clone(),
            callee: call.callee.clone(),
            seen: 0,
            session: session.session,
            seq: run.seq,
            at: run.at,
        });
        edge.seen += 1;
    }
    for edge in edges.values() {
        coding.count_call(edge)?;
    }
    Ok(())
}

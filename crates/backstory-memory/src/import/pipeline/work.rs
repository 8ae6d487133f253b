//! Work on a chunk: redaction, parsing, preparation, compression.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, mpsc};

use backstory_agents::{Reading, Shape, read_document, read_lines};
use backstory_event::{Event, EventBody, Output, Skipped};
use backstory_redact::Redactor;
use backstory_store::attachment;
use backstory_store::{Chunk, Cursor, Packer};

use super::Done;
use super::fragments::{OpenTexts, Overwritten};
use crate::derive::prepare_events;
use crate::error::{Error, Result};
use crate::import::discover::Found;
use crate::import::project::Projects;

/// A chunk to be worked on.
pub(super) struct Task<'a> {
    /// Its place in the order of all chunks.
    pub(super) number: u64,
    pub(super) found: &'a Found,
    /// True if a stream begins with it.
    pub(super) begins: bool,
    /// True if it is the last one of its file.
    pub(super) last: bool,
    pub(super) bytes: Vec<u8>,
    /// The length of a record before it that was too long to keep.
    pub(super) skipped: u64,
    /// The cursor behind the chunk, but for what only the work can tell.
    pub(super) cursor: Cursor,
    /// Comes from the chunk before.
    pub(super) baton: mpsc::Receiver<Baton>,
    /// Goes to the chunk after.
    pub(super) pass_on: mpsc::Sender<Baton>,
}

/// State that goes from chunk to chunk in order.
pub(super) struct Baton {
    pub(super) reading: Box<dyn Reading>,
    pub(super) stored: u64,
    pub(super) lines: u64,
    pub(super) open_texts: OpenTexts,
}

/// Works on chunks until there are no more.
pub(super) fn work<'a>(
    tasks: &Mutex<mpsc::Receiver<Task<'a>>>,
    redactor: Option<&Redactor>,
    projects: &Projects,
    derives: bool,
    done: &mpsc::Sender<(u64, Result<Done<'a>>)>,
) {
    let mut packer = Packer::new().map_err(Error::from);
    let mut stopped = false;
    loop {
        let Ok(tasks) = tasks.lock() else { return };
        let Ok(task) = tasks.recv() else { return };
        drop(tasks);
        // After an error tasks are still taken, so that the feeder does not wait for ever to be rid of one.
        if stopped {
            continue;
        }
        let number = task.number;
        let result = match &mut packer {
            Ok(packer) => one(task, redactor, projects, derives, packer),
            Err(_) => Err(Error::Worker),
        };
        stopped = done.send((number, result)).is_err();
    }
}

fn one<'a>(
    task: Task<'a>,
    redactor: Option<&Redactor>,
    projects: &Projects,
    derives: bool,
    packer: &mut Packer,
) -> Result<Done<'a>> {
    let Task {
        found,
        bytes,
        mut cursor,
        ..
    } = task;
    let mut attachments = attachment::find(&bytes);
    let mut redactions = 0;
    let mut kept = Cow::Borrowed(bytes.as_slice());
    if let Some(redactor) = redactor {
        let redacted = redactor.redact(&bytes, &attachments);
        redactions = redacted.count;
        kept = redacted.bytes;
        attachments = redacted.protected;
    }
    let mut output = Output::default();
    let mut baton = task.baton.recv().map_err(|_| Error::Worker)?;
    let first_line = baton.lines;
    if task.skipped > 0 {
        let reason = format!("record of {} bytes, longer than is kept", task.skipped);
        output.skipped.push(Skipped {
            line: baton.lines + 1,
            offset: baton.stored,
            length: 0,
            reason,
        });
        baton.lines += 1;
    }
    match found.shape {
        Shape::Lines => {
            baton.lines += read_lines(
                &mut *baton.reading,
                &kept,
                baton.stored,
                baton.lines + 1,
                &mut output,
            );
        }
        Shape::Document if !kept.is_empty() => {
            read_document(&mut *baton.reading, &kept, &mut output);
        }
        Shape::Document => {}
    }
    let mut overwritten = Overwritten::default();
    if let Some(redactor) = redactor {
        let (fragments, start) = (&output.fragments, baton.stored);
        overwritten = baton
            .open_texts
            .redact(redactor, fragments, start, &mut kept);
        redactions += overwritten.count;
        if !overwritten.in_chunk.is_empty() {
            attachments = attachment::find(&kept);
            read_texts_again(found, &overwritten.in_chunk, start, &kept, &mut output);
        }
    }
    baton.stored += kept.len() as u64;
    cursor.state = baton.reading.state();
    cursor.stored = baton.stored;
    cursor.lines = baton.lines;
    // The chunk after may be waiting for it; after the last one nobody is.
    let _ = task.pass_on.send(baton);
    let packed = if kept.is_empty() {
        None
    } else {
        Some(packer.pack(&kept, &attachments)?)
    };
    let prepared = match derives {
        true => prepare_events(&output.events),
        false => Vec::new(),
    };
    let projects = projects.find_projects(&output.facts, redactor);
    let chunk = Chunk {
        agent: found.agent(),
        path: &found.key,
        begins: task.begins,
        rewritten: found.shape == Shape::Document,
        cursor,
        first_line,
        packed,
        output,
        projects,
        redactions,
        rewrites: overwritten.earlier,
    };
    Ok(Done {
        found,
        chunk,
        prepared,
        bytes_read: bytes.len() as u64,
        last: task.last,
    })
}

/// Gives events another text of which bytes were overwritten. `changed` is sorted; the chunk begins at `start`.
fn read_texts_again(
    found: &Found,
    changed: &[Range<u64>],
    start: u64,
    chunk: &[u8],
    output: &mut Output,
) {
    let is_same_record =
        |a: &Event, b: &Event| (a.span.offset, a.span.length) == (b.span.offset, b.span.length);
    for events in output.events.chunk_by_mut(is_same_record) {
        let Some(span) = events.first().map(|event| event.span) else {
            continue;
        };
        let (from, to) = (span.offset, span.offset + span.length);
        let next = changed.partition_point(|range| range.end <= from);
        if changed.get(next).is_none_or(|range| range.start >= to) {
            continue;
        }
        let span = from
            .checked_sub(start)
            .and_then(|from| chunk.get(from as usize..(to - start) as usize));
        let bodies = found.reader.reread(span.unwrap_or_default());
        let mut bodies: HashMap<u16, EventBody> = bodies.into_iter().collect();
        for event in events {
            match bodies.remove(&event.span.part) {
                Some(body) => event.body = body,
                None => event.body.text.clear(),
            }
        }
    }
}

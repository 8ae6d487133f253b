//! Cutting a chunk of a source file into records.

use std::ops::Range;

use crate::bounds::{Bounded, bound_output};
use crate::json::{self, RepairedPlaces};
use crate::reader::Reading;
use crate::repeated_keys::{blank_repeated_keys, is_repeated_key};
use backstory_event::{Output, Skipped, Span};

/// The longest record that is read. Longer ones are counted as skipped: no agent writes them, and memory must stay bounded.
pub const MAX_RECORD_BYTES: usize = 24 << 20;

/// Number of kinds of damage that a record can be mended of.
const MAX_REPAIRS: usize = 2;

/// One JSON value of a source file and where it lies in the stored bytes.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// The JSON text.
    pub json: &'a str,
    /// Its first byte in the stored source file.
    pub offset: u64,
    /// How many bytes it has there.
    pub length: u64,
    /// Those bytes. They differ from the JSON text where they are no valid UTF-8.
    pub bytes: &'a [u8],
}

impl Record<'_> {
    /// Offset and length in the stored bytes of parts of [`Record::json`], which are in its order; what is no part of it is left out.
    pub(crate) fn places_of<'p>(&self, parts: impl Iterator<Item = &'p str>) -> Vec<(u64, u64)> {
        let is_repaired = self.bytes.len() != self.json.len();
        // A line of a million parts is gone through once.
        let mut places = is_repaired.then(|| RepairedPlaces::new(self.bytes));
        let place = |part: &str| {
            let mut range = self.range_of(part)?;
            if let Some(places) = &mut places {
                range = places.original_range(range);
            }
            Some((self.offset + range.start as u64, range.len() as u64))
        };
        parts.filter_map(place).collect()
    }

    /// Returns where a part lies in [`Record::json`]; `None` when it is no part of it.
    fn range_of(&self, part: &str) -> Option<Range<usize>> {
        let start = part.as_ptr().addr();
        let start = start.checked_sub(self.json.as_ptr().addr())?;
        let end = start.checked_add(part.len())?;
        (end <= self.json.len()).then_some(start..end)
    }
}

/// Reads a chunk of whole lines. `offset` is where the chunk begins in the stored bytes, `line` the number of its first line.
/// Returns the number of newlines in the chunk.
pub fn read_lines(
    reading: &mut dyn Reading,
    chunk: &[u8],
    offset: u64,
    line: u64,
    out: &mut Output,
) -> u64 {
    let before = Bounded::up_to(out);
    let mut start = 0;
    let mut newlines = 0;
    while start < chunk.len() {
        let end = memchr::memchr(b'\n', &chunk[start..]).map_or(chunk.len(), |found| start + found);
        read_line(
            reading,
            &chunk[start..end],
            offset + start as u64,
            line + newlines,
            out,
        );
        newlines += u64::from(end < chunk.len());
        start = end + 1;
    }
    bound_output(out, &before);
    newlines
}

/// Reads one record and says where the facts that it tells lie.
fn read_record(
    reading: &mut dyn Reading,
    record: Record<'_>,
    out: &mut Output,
) -> serde_json::Result<()> {
    let known = out.facts.len();
    let result = reading.record(record, out);
    for facts in out.facts.iter_mut().skip(known) {
        facts.span = Some(Span {
            offset: record.offset,
            length: record.length,
            part: 0,
        });
    }
    result
}

fn read_line(reading: &mut dyn Reading, line: &[u8], offset: u64, number: u64, out: &mut Output) {
    let content = line
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(line)
        .trim_ascii();
    if content.is_empty() {
        return;
    }
    let offset = offset + (content.as_ptr().addr() - line.as_ptr().addr()) as u64;
    let whole = |json| Record {
        json,
        offset,
        length: content.len() as u64,
        bytes: content,
    };
    // Nearly every line is one good record: it is read in a single pass.
    if let Ok(json) = std::str::from_utf8(content)
        && read_record(reading, whole(json), out).is_ok()
    {
        return;
    }
    let mut read_to = 0;
    let mut unreadable = None;
    let damage = json::values(content, |json, range| {
        let at = Record {
            json,
            offset: offset + range.start as u64,
            length: range.len() as u64,
            bytes: content.get(range.clone()).unwrap_or_default(),
        };
        read_to = range.end;
        let mut result = read_record(reading, at, out);
        let mut repaired = None;
        for _ in 0..MAX_REPAIRS {
            let Err(error) = &result else { break };
            let text = repaired.as_deref().unwrap_or(json);
            let Some(json) = repair(text, error) else {
                break;
            };
            result = read_record(reading, Record { json: &json, ..at }, out);
            repaired = Some(json);
        }
        // JSON of a shape that no reader knows is no damage: it is kept in the raw bytes and says nothing.
        if let Err(error) = result
            && (!error.is_data() || is_repeated_key(&error))
        {
            unreadable = Some((range, error.to_string()));
        }
    });
    if let Some((range, reason)) = unreadable {
        out.skipped.push(Skipped {
            line: number,
            offset: offset + range.start as u64,
            length: range.len() as u64,
            reason,
        });
    }
    if let Some(reason) = damage {
        out.skipped.push(Skipped {
            line: number,
            offset: offset + read_to as u64,
            length: (content.len() - read_to) as u64,
            reason,
        });
    }
}

/// Returns a record without what it could not be read for; `None` when that cannot be mended. No byte changes its place.
fn repair(json: &str, error: &serde_json::Error) -> Option<String> {
    match is_repeated_key(error) {
        true => blank_repeated_keys(json),
        false => json::repair_surrogates(json),
    }
}

/// Reads a source file that is one JSON document.
pub fn read_document(reading: &mut dyn Reading, document: &[u8], out: &mut Output) {
    let before = Bounded::up_to(out);
    read_line(reading, document, 0, 1, out);
    bound_output(out, &before);
}

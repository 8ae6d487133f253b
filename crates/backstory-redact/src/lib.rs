//! Secrets: found by rule and replaced by a marker before anything of a log is kept.
//!
//! What is replaced is only the secret, not the line around it: `password = "x"` keeps its name and quotes, a URL keeps its
//! host. The marker `[REDACTED:<rule>:<hash>]` names the rule and a keyed hash of the value, so that one can still see
//! that the same key was used in two places, but cannot guess it without the key of this installation.
//!
//! The text is searched as it stands in the log, escaped once, twice or more often, because decoding every string of every
//! record would cost more than everything else together. Rules therefore know about escapes; see `boundary` and
//! `assignment`. Only lines in which plain characters are escaped (`\u0041`, `\/`) are decoded first.
//!
//! Promised and tested: valid JSON stays valid JSON, redacting twice changes nothing, protected ranges keep their bytes.
//!
//! The work is at most a stated multiple of the length of the text, whatever stands in it; see `examined` and `search`.
//!
//! Deliberately not done: no value is checked with its provider, nothing is decoded from base64 or archives, a passphrase of
//! plain words is not told from prose. Hashes (but those of passwords), identifiers and signatures are not secrets and stay.
//! `docs/redaction.md` has the list.

mod arguments;
mod assignment;
mod boundary;
mod command;
mod escape;
mod examined;
#[cfg(test)]
mod forms;
mod generic;
mod header;
mod hidden;
mod hostile;
mod joined;
mod keywords;
mod mnemonic;
mod path;
mod pattern;
mod plant;
mod plausible;
mod private_key;
mod rule;
mod rules;
mod scan;
mod search;
#[cfg(test)]
mod tests;
mod url;
mod web_key;

use std::borrow::Cow;
use std::ops::Range;

#[cfg(any(test, feature = "count-examined"))]
pub use examined::{MAX_EXAMINED_PER_BYTE, count_examined_bytes};
pub use hostile::{hostile_pieces, repeat_to};
pub use joined::Overwritten;
pub use plant::{Planted, planted};
pub use rule::Rule;
pub use rules::RULES;

use assignment::backslashes;
use escape::{StrippedText, lines_of, printable_escape, unescape};
use examined::{count_leading, examined};
pub use hidden::is_hidden;
use hidden::{Marks, hidden_end};
use scan::{Finding, ScanMemory, scan_text};

/// Finds and replaces secrets.
#[derive(Debug, Clone, Copy)]
pub struct Redactor {
    key: [u8; 32],
}

/// What [`Redactor::redact`] gives back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<'a> {
    /// The bytes with every known secret replaced; borrowed when there was none.
    pub bytes: Cow<'a, [u8]>,
    /// How many secrets were replaced.
    pub count: usize,
    /// Where the protected ranges are now.
    pub protected: Vec<Range<usize>>,
}

/// What every marker begins with.
const MARKER: &str = "[REDACTED:";

/// Number of times that text is searched. Ordinary text is done after two.
const MAX_ROUNDS: usize = 3;
/// Number of bytes before and behind a marker that are searched again: a rule sees no further.
const REACH_BEFORE_BYTES: usize = 9 * 1024;
const REACH_BEHIND_BYTES: usize = 256;

/// Number of bytes before a keyword in which its name may be interrupted.
const MAX_NAME_BYTES: usize = 64;

impl Redactor {
    /// A redactor whose markers carry hashes keyed with `key`.
    #[must_use]
    pub const fn new(key: [u8; 32]) -> Self {
        Self { key }
    }

    /// Replaces every secret that a rule knows. `protected` are sorted, disjoint ranges (attachments such as base64 images) that
    /// are never touched.
    #[must_use]
    pub fn redact<'a>(&self, bytes: &'a [u8], protected: &[Range<usize>]) -> Redacted<'a> {
        let mut redacted = Redacted {
            bytes: Cow::Borrowed(bytes),
            count: 0,
            protected: protected.to_vec(),
        };
        let mut memory = ScanMemory::default();
        let whole = 0..bytes.len();
        let mut places = vec![whole];
        // Where a secret begins cannot be seen right behind another one, but behind a marker it can: what stands around a change
        // is searched again until nothing more is found.
        for round in 1..=MAX_ROUNDS {
            let mut findings =
                self.findings(&redacted.bytes, &redacted.protected, &places, &mut memory);
            if findings.is_empty() {
                break;
            }
            if round == MAX_ROUNDS {
                findings = widened(findings, &redacted.bytes, &redacted.protected);
            }
            redacted.count += findings.len();
            let (bytes, markers) =
                self.replaced(&redacted.bytes, &findings, &mut redacted.protected);
            places = around(&markers, &bytes);
            redacted.bytes = Cow::Owned(bytes);
        }
        redacted
    }

    /// Finds everything in a text that has no protected ranges.
    fn all_findings(&self, bytes: &[u8], memory: &mut ScanMemory) -> Vec<Finding> {
        let whole = 0..bytes.len();
        self.findings(bytes, &[], std::slice::from_ref(&whole), memory)
    }

    /// Finds what is in `places`, which are sorted, disjoint and made of whole lines.
    fn findings(
        &self,
        bytes: &[u8],
        protected: &[Range<usize>],
        places: &[Range<usize>],
        memory: &mut ScanMemory,
    ) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut from = 0;
        let end = bytes.len()..bytes.len();
        let mut places = places.iter().cloned().peekable();
        for range in protected.iter().chain([&end]) {
            let part = from..range.start.max(from);
            while let Some(place) = places.peek_mut() {
                let within = place.start.max(part.start)..place.end.min(part.end);
                if !within.is_empty() {
                    self.find(bytes, &part, within, memory, &mut findings);
                }
                if place.end > part.end {
                    break;
                }
                places.next();
            }
            from = range.end.max(from);
        }
        merged(findings)
    }

    fn find(
        &self,
        bytes: &[u8],
        part: &Range<usize>,
        place: Range<usize>,
        memory: &mut ScanMemory,
        findings: &mut Vec<Finding>,
    ) {
        let Some(text) = bytes.get(part.clone()) else {
            return;
        };
        let place = place.start - part.start..place.end - part.start;
        let known = findings.len();
        scan_text(text, place.clone(), part.start, memory, findings);
        let marks = Marks::find(text, place);
        let lines = lines_of(text, &marks.odd);
        // Without the escapes the rules see more, so what they found with them is forgotten; but a key block that begins in
        // one line and ends in another is seen only here.
        let line_of = |at: usize| {
            let number = lines.partition_point(|line| line.end + part.start < at);
            lines
                .get(number)
                .filter(|line| line.start + part.start <= at)
                .map(|_| number)
        };
        if !lines.is_empty() {
            let mut plain = findings.split_off(known);
            plain.retain(|finding| {
                line_of(finding.keyword).is_none()
                    || line_of(finding.keyword) != line_of(finding.range.end)
            });
            findings.append(&mut plain);
        }
        for line in lines {
            let stripped =
                StrippedText::without_odd_escapes(text.get(line.clone()).unwrap_or_default());
            self.find_in_stripped(&stripped, part.start + line.start, memory, findings);
        }
        // A colour may as well end a secret as interrupt it, so both readings count.
        for window in marks.windows {
            let stripped =
                StrippedText::without_hidden(text.get(window.clone()).unwrap_or_default());
            self.find_in_stripped(&stripped, part.start + window.start, memory, findings);
        }
    }

    /// Finds what is in a stripped piece of the text at `start`.
    fn find_in_stripped(
        &self,
        stripped: &StrippedText,
        start: usize,
        memory: &mut ScanMemory,
        findings: &mut Vec<Finding>,
    ) {
        let mut seen = Vec::new();
        let whole = 0..stripped.text.len();
        scan_text(&stripped.text, whole, 0, memory, &mut seen);
        if stripped.is_window {
            // What nothing interrupts was found in the text itself, and at the edges of a window secrets are cut.
            seen.retain(|finding| {
                let start = finding.keyword.min(finding.range.start);
                stripped.is_cut(&(start.saturating_sub(MAX_NAME_BYTES)..finding.range.end))
            });
        }
        findings.extend(seen.into_iter().map(|finding| {
            let value = finding
                .value
                .or_else(|| stripped.text.get(finding.range.clone()).map(unescape));
            let range = stripped.original(&finding.range);
            Finding {
                range: range.start + start..range.end + start,
                rule: finding.rule,
                value,
                keyword: finding.keyword + start,
            }
        }));
    }

    /// The bytes with markers in the place of findings, and where the markers are. Protected ranges are moved to where they
    /// are then.
    fn replaced(
        &self,
        bytes: &[u8],
        findings: &[Finding],
        protected: &mut [Range<usize>],
    ) -> (Vec<u8>, Vec<Range<usize>>) {
        examined(bytes.len());
        let mut output = Vec::with_capacity(bytes.len() + findings.len() * 32);
        let mut markers = Vec::with_capacity(findings.len());
        let mut protected = protected.iter_mut().peekable();
        let mut at = 0;
        for finding in findings {
            while let Some(range) = protected.next_if(|range| range.start < finding.range.start) {
                *range = range.start - at + output.len()..range.end - at + output.len();
            }
            let secret = bytes.get(finding.range.clone()).unwrap_or_default();
            let value = finding.value.clone().unwrap_or_else(|| unescape(secret));
            output.extend_from_slice(bytes.get(at..finding.range.start).unwrap_or_default());
            let start = output.len();
            output.extend_from_slice(self.marker(finding.rule, &value).as_bytes());
            markers.push(start..output.len());
            at = finding.range.end;
        }
        for range in protected {
            *range = range.start - at + output.len()..range.end - at + output.len();
        }
        output.extend_from_slice(bytes.get(at..).unwrap_or_default());
        (output, markers)
    }
}

/// Makes findings disjoint: the one that begins first counts, of those the longest, of those the one whose rule stands first
/// in the table. One that reaches beyond it lengthens it, so that no half of a secret is left.
fn merged(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by_key(|finding| {
        (
            finding.range.start,
            std::cmp::Reverse(finding.range.end),
            finding.rule,
        )
    });
    let mut disjoint: Vec<Finding> = Vec::with_capacity(findings.len());
    for finding in findings {
        match disjoint.last_mut() {
            Some(last) if finding.range.start < last.range.end => {
                if finding.range.end > last.range.end {
                    last.range.end = finding.range.end;
                    last.value = None;
                }
            }
            _ => disjoint.push(finding),
        }
    }
    disjoint
}

/// The whole lines around `markers` in which these can change what a rule finds.
fn around(markers: &[Range<usize>], bytes: &[u8]) -> Vec<Range<usize>> {
    let mut places: Vec<Range<usize>> = Vec::new();
    for marker in markers {
        let end = bytes.len().min(marker.end + REACH_BEHIND_BYTES);
        if places.last().is_some_and(|last| end <= last.end) {
            continue;
        }
        let start = marker.start.saturating_sub(REACH_BEFORE_BYTES);
        let floor = places.last().map_or(0, |last| last.end);
        let start = match bytes.get(floor..start) {
            Some(before) => {
                let line = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
                examined(before.len() - line);
                floor + line
            }
            None => floor,
        };
        let rest = bytes.get(end..).unwrap_or_default();
        let line = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        examined(line);
        match places.last_mut() {
            Some(last) if start == last.end => last.end = end + line,
            _ => places.push(start..end + line),
        }
    }
    places
}

/// The end of the sequence at `at`, if it stands for a printable character or is hidden.
fn glued_sequence(bytes: &[u8], at: usize) -> Option<usize> {
    let run = backslashes(bytes, at);
    let printable = (at + run).checked_sub(1).filter(|_| run > 0);
    let printable =
        printable.and_then(|last| printable_escape(bytes, last).map(|width| last + width));
    printable.or_else(|| hidden_end(bytes, at))
}

/// The findings with all that is glued to them: after so many rounds nobody knows where one secret ends and the next begins.
fn widened(mut findings: Vec<Finding>, bytes: &[u8], protected: &[Range<usize>]) -> Vec<Finding> {
    let is_glued = |byte: u8| {
        !byte.is_ascii_whitespace() && !byte.is_ascii_control() && !b"\"'`\\".contains(&byte)
    };
    let mut from = 0;
    for finding in &mut findings {
        if finding.range.end <= from {
            continue;
        }
        let next = protected.partition_point(|range| range.start < finding.range.end);
        let ceiling = protected.get(next).map_or(bytes.len(), |range| range.start);
        let floor = next
            .checked_sub(1)
            .and_then(|before| protected.get(before))
            .map_or(0, |range| range.end)
            .max(from);
        let (mut start, mut end) = (finding.range.start, finding.range.end);
        loop {
            let behind = bytes.get(end..ceiling).unwrap_or_default();
            end += count_leading(behind.iter(), is_glued);
            // What stands for a printable character, or for none, does not end a word.
            match glued_sequence(bytes, end) {
                Some(next) if next <= ceiling => end = next,
                _ => break,
            }
        }
        loop {
            let before = bytes.get(floor..start).unwrap_or_default();
            start -= count_leading(before.iter().rev(), is_glued);
            let before = bytes.get(floor..start).unwrap_or_default();
            let run = count_leading(before.iter().rev(), |byte| byte == b'\\');
            let sequence = start - run.max(1).min(before.len());
            if sequence < start && glued_sequence(bytes, sequence).is_some() {
                start = sequence;
                continue;
            }
            if run > 0 {
                // Not into an escape sequence, of which the backslash would be left.
                let width = if bytes.get(start) == Some(&b'u') {
                    5
                } else {
                    1
                };
                start = finding.range.start.min(start + width);
            }
            break;
        }
        from = from.max(end);
        if (start..end) != finding.range {
            finding.range = start..end;
            finding.value = None;
        }
    }
    merged(findings)
}

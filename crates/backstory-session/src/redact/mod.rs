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
//! Deliberately not done: no value is checked with its provider, nothing is decoded from base64 or archives, a passphrase of
//! plain words is not told from prose. Hashes, identifiers and signatures are not secrets and stay.

mod assignment;
mod boundary;
mod escape;
mod generic;
mod header;
mod joined;
mod keywords;
mod mnemonic;
mod path;
mod plant;
mod plausible;
mod private_key;
mod rule;
mod rules;
mod scan;
#[cfg(test)]
mod tests;
mod url;

use std::borrow::Cow;
use std::ops::Range;

pub use joined::Overwritten;
pub use plant::{Planted, planted};
pub use rule::Rule;
pub use rules::RULES;

use escape::{Shadow, odd_lines, unescape};
use scan::{Finding, Scanner};

/// Finds and replaces secrets. Built once per process, used from any thread.
#[derive(Debug)]
pub struct Redactor {
    scanner: Scanner,
    key: [u8; 32],
}

/// What [`Redactor::redact`] gives back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<'a> {
    /// The bytes with every known secret replaced; borrowed when there was none.
    pub bytes: Cow<'a, [u8]>,
    /// How many secrets were replaced.
    pub count: usize,
}

/// What every marker begins with.
const MARKER: &str = "[REDACTED:";

/// How often changed text is searched again.
const MOST_ROUNDS: usize = 8;

impl Redactor {
    /// A redactor whose markers carry hashes keyed with `key`.
    #[must_use]
    pub fn new(key: [u8; 32]) -> Self {
        Self {
            scanner: Scanner::new(RULES),
            key,
        }
    }

    /// The same, with another key. Making a redactor ready takes half a millisecond, more than some have to wait for a key.
    #[must_use]
    pub fn with_key(self, key: [u8; 32]) -> Self {
        Self { key, ..self }
    }

    /// Replaces every secret that a rule knows. `protected` are sorted, disjoint ranges (attachments such as base64 images) that
    /// are never touched.
    #[must_use]
    pub fn redact<'a>(&self, bytes: &'a [u8], protected: &[Range<usize>]) -> Redacted<'a> {
        let mut redacted = Redacted {
            bytes: Cow::Borrowed(bytes),
            count: 0,
        };
        let mut protected = protected.to_vec();
        // Where a secret begins cannot be seen right behind another one, but behind a marker it can: what was changed is searched
        // again until nothing more is found. Each round leaves fewer secrets, the bound is for what nobody thought of.
        for _ in 0..MOST_ROUNDS {
            let findings = self.findings(&redacted.bytes, &protected);
            if findings.is_empty() {
                break;
            }
            redacted.count += findings.len();
            redacted.bytes = Cow::Owned(self.replaced(&redacted.bytes, &findings, &mut protected));
        }
        redacted
    }

    fn findings(&self, bytes: &[u8], protected: &[Range<usize>]) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut from = 0;
        for range in protected {
            self.find(bytes, from..range.start, &mut findings);
            from = range.end.max(from);
        }
        self.find(bytes, from..bytes.len(), &mut findings);
        merged(findings)
    }

    fn find(&self, bytes: &[u8], part: Range<usize>, findings: &mut Vec<Finding>) {
        let Some(text) = bytes.get(part.clone()) else {
            return;
        };
        let known = findings.len();
        self.scanner.scan(text, part.start, findings);
        let lines = odd_lines(text);
        if lines.is_empty() {
            return;
        }
        // Without the escapes the rules see more, so what they found with them is forgotten; but a key block that begins in
        // one line and ends in another is seen only here.
        let line_of = |at: usize| {
            let number = lines.partition_point(|line| line.end + part.start < at);
            lines
                .get(number)
                .filter(|line| line.start + part.start <= at)
                .map(|_| number)
        };
        let mut plain = findings.split_off(known);
        plain.retain(|finding| {
            line_of(finding.keyword).is_none()
                || line_of(finding.keyword) != line_of(finding.range.end)
        });
        findings.append(&mut plain);
        for line in lines {
            let shadow = Shadow::of(text.get(line.clone()).unwrap_or_default());
            let mut seen = Vec::new();
            self.scanner.scan(&shadow.text, 0, &mut seen);
            let start = part.start + line.start;
            findings.extend(seen.into_iter().map(|finding| {
                let value = finding
                    .value
                    .or_else(|| shadow.text.get(finding.range.clone()).map(unescape));
                let range = shadow.original(&finding.range);
                Finding {
                    range: range.start + start..range.end + start,
                    rule: finding.rule,
                    value,
                    keyword: finding.keyword + start,
                }
            }));
        }
    }

    /// The bytes with markers in the place of findings; protected ranges are moved to where they are then.
    fn replaced(
        &self,
        bytes: &[u8],
        findings: &[Finding],
        protected: &mut [Range<usize>],
    ) -> Vec<u8> {
        let mut output = Vec::with_capacity(bytes.len() + findings.len() * 32);
        let mut protected = protected.iter_mut().peekable();
        let mut at = 0;
        for finding in findings {
            while let Some(range) = protected.next_if(|range| range.start < finding.range.start) {
                *range = range.start - at + output.len()..range.end - at + output.len();
            }
            let secret = bytes.get(finding.range.clone()).unwrap_or_default();
            let value = finding.value.clone().unwrap_or_else(|| unescape(secret));
            output.extend_from_slice(bytes.get(at..finding.range.start).unwrap_or_default());
            output.extend_from_slice(self.marker(finding.rule, &value).as_bytes());
            at = finding.range.end;
        }
        for range in protected {
            *range = range.start - at + output.len()..range.end - at + output.len();
        }
        output.extend_from_slice(bytes.get(at..).unwrap_or_default());
        output
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

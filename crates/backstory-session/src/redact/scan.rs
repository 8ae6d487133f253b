//! From keywords to findings: at each keyword the rules that named it are tried, each at that place only.
//!
//! No pattern ever searches. It is anchored at a keyword and sees a bounded piece of text, so the time is linear in the text
//! whatever stands in it.

use std::ops::Range;
use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

use super::assignment::assignment;
use super::boundary::{after_escape, begins_token, ends_token};
use super::keywords::{Keyword, KeywordIndex};
use super::plausible::{is_placeholder, is_words};
use super::rule::{Case, Found, Matcher, Rule};

/// The rules, ready to be tried.
#[derive(Debug)]
pub(super) struct Scanner {
    rules: &'static [Rule],
    index: KeywordIndex,
    /// Compiled at first use: most processes need only a few.
    patterns: Vec<OnceLock<Option<Regex>>>,
}

/// A secret, and the rule that found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) range: Range<usize>,
    pub(super) rule: usize,
    pub(super) value: Option<Vec<u8>>,
    /// Where the keyword stood that led to it.
    pub(super) keyword: usize,
}

/// How much of the text a pattern sees.
const LONGEST_TOKEN: usize = 8 * 1024;

/// What a variable that holds a secret has in its name, besides the name of the service.
const SECRET_NAMES: [&str; 12] = [
    "key",
    "token",
    "secret",
    "pass",
    "pwd",
    "auth",
    "credential",
    "pat",
    "jwt",
    "dsn",
    "license",
    "webhook",
];

impl Scanner {
    pub(super) fn new(rules: &'static [Rule]) -> Self {
        let mut wanted = Vec::new();
        for (number, rule) in (0_u16..).zip(rules) {
            let fold = rule.case() == Case::Ignored;
            let texts = rule.keywords.iter().map(|text| text.as_bytes());
            wanted.extend(texts.map(|text| (text, fold, number)));
        }
        wanted.sort_unstable();
        let same = |one: &(&[u8], bool, u16), other: &(&[u8], bool, u16)| {
            (one.0, one.1) == (other.0, other.1)
        };
        let keywords = wanted
            .chunk_by(same)
            .filter_map(|group| {
                let (text, fold, _) = *group.first()?;
                Some(Keyword {
                    text,
                    fold,
                    rules: group.iter().map(|(.., number)| *number).collect(),
                })
            })
            .collect();
        let patterns = rules.iter().map(|_| OnceLock::new()).collect();
        Self {
            rules,
            index: KeywordIndex::new(keywords),
            patterns,
        }
    }

    /// Adds what is found in `text` to `findings`, `offset` added to the places.
    pub(super) fn scan(&self, text: &[u8], offset: usize, findings: &mut Vec<Finding>) {
        self.index.scan(text, |keyword, at| {
            let hit = at..at + keyword.text.len();
            for &number in &keyword.rules {
                let number = usize::from(number);
                let Some(rule) = self.rules.get(number) else {
                    continue;
                };
                if let Some(found) = self.find(rule, number, text, &hit) {
                    let range = found.range.start + offset..found.range.end + offset;
                    findings.push(Finding {
                        range,
                        rule: number,
                        value: found.value,
                        keyword: hit.start + offset,
                    });
                }
            }
        });
    }

    /// Calls `found` with each place where a keyword stands.
    pub(super) fn each_keyword(&self, text: &[u8], mut found: impl FnMut(usize)) {
        self.index.scan(text, |_, at| found(at));
    }

    fn find(&self, rule: &Rule, number: usize, text: &[u8], hit: &Range<usize>) -> Option<Found> {
        let found = match rule.matcher {
            Matcher::Token(_) => self.token(number, text, hit.start),
            Matcher::Around(before, _) => {
                self.token(number, text, word_start(text, hit.start, before))
            }
            Matcher::Assigned(_) => self.assigned(number, text, hit),
            Matcher::Code(find, _) => find(text, hit),
        }?;
        let secret = text.get(found.range.clone())?;
        let known = secret.is_empty() || is_placeholder(secret);
        // The name of a rule in a marker is no name of a variable.
        let marked = is_in_marker(text, found.range.start) || is_in_marker(text, hit.start);
        (!known && !marked).then_some(found)
    }

    fn token(&self, number: usize, text: &[u8], start: usize) -> Option<Found> {
        if !begins_token(text, start) {
            return None;
        }
        let window = text.get(start..text.len().min(start + LONGEST_TOKEN))?;
        let groups = self.pattern(number)?.captures(window)?;
        let whole = groups.get(0)?;
        let secret = groups.get(1).unwrap_or(whole);
        // Many prefixes also begin names: `pa-`, `md-`, `re_` with words behind them.
        (ends_token(text, start + whole.end()) && !is_words(secret.as_bytes()))
            .then(|| Found::plain(start + secret.start()..start + secret.end()))
    }

    fn assigned(&self, number: usize, text: &[u8], hit: &Range<usize>) -> Option<Found> {
        let found = assignment(text, hit)?;
        let name = text.get(found.name)?.to_ascii_lowercase();
        let value = text.get(found.value.clone())?;
        let named = SECRET_NAMES
            .iter()
            .any(|part| memchr::memmem::find(&name, part.as_bytes()).is_some());
        (named && self.pattern(number)?.is_match(value)).then(|| Found::plain(found.value))
    }

    /// The compiled pattern of a rule. That all of them compile is tested, so `None` is never seen; if it were, the rule would
    /// find nothing, which is better than no redaction at all.
    fn pattern(&self, number: usize) -> Option<&Regex> {
        let rule = self.rules.get(number)?;
        let compile = || {
            RegexBuilder::new(&rule.pattern()?)
                .unicode(false)
                .build()
                .ok()
        };
        self.patterns.get(number)?.get_or_init(compile).as_ref()
    }
}

/// Where the word begins that has a keyword at `at`, at most `before` characters earlier.
fn word_start(text: &[u8], at: usize, before: usize) -> usize {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let length = text
        .get(..at)
        .unwrap_or_default()
        .iter()
        .rev()
        .take(before)
        .take_while(|byte| is_word(byte))
        .count();
    after_escape(text, at - length).min(at)
}

/// Whether `at` is within a marker that an earlier run has left.
fn is_in_marker(text: &[u8], at: usize) -> bool {
    let before = text.get(at.saturating_sub(80)..at).unwrap_or_default();
    memchr::memmem::rfind(before, super::MARKER.as_bytes())
        .is_some_and(|start| !before.get(start..).unwrap_or_default().contains(&b']'))
}

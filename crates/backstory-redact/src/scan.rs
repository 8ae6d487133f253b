//! From keywords to findings: at each keyword the rules that named it are tried, each at that place only.
//!
//! No pattern ever searches: it is anchored at a keyword and sees a bounded piece of text. What `search` remembers bounds how
//! often a rule sees the same bytes, so the time is linear in the text whatever stands in it.

use std::ops::Range;
use std::sync::OnceLock;

use super::arguments::{CommandName, JoinedArguments};
use super::assignment::assignment;
use super::boundary::{
    TokenPrefix, after_escape, ends_token, follows_hex_id, is_inside_data, prefix_before,
};
use super::examined::{count_leading, examined};
use super::keywords::{COMMAND_NAME, INDEX};
use super::pattern::Pattern;
use super::plausible::{contains_any, entropy, is_demonstration, is_placeholder, is_words};
use super::rule::{Found, Matcher};
use super::rules::RULES;
use super::search::{Look, RuleProgress, Search, ValueMemo, plain_end};

/// Patterns of the rules, compiled at first use: most processes need only a few.
static PATTERNS: [OnceLock<Option<Box<Pattern>>>; RULES.len()] =
    [const { OnceLock::new() }; RULES.len()];

/// What a scan remembers. Kept from one scan to the next, because most texts are short and have few keywords.
#[derive(Debug, Default)]
pub(super) struct ScanMemory {
    values: ValueMemo,
    rules: Vec<RuleProgress>,
    /// The rules that were tried in this scan.
    tried: Vec<u16>,
    /// The names of commands in arrays that this scan has seen.
    commands: Vec<CommandName>,
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

/// Number of bytes that a token must have in common with all of its kind to be known within a word.
const MIN_FIXED_BYTES: usize = 4;
/// Bits from which on chance does not make a token: it would take 10^12 bytes of base64.
const MIN_RANDOM_BITS: f64 = 40.0;
/// Bits per byte of a token that is known although it is glued to a name. Hexadecimal digits have 3.5 or more.
const MIN_GLUED_ENTROPY: f64 = 3.0;

/// Length in bytes of the longest marker.
const MAX_MARKER_BYTES: usize = 80;

/// What a variable that holds a secret has in its name, besides the name of the service.
const SECRET_NAMES: [&[u8]; 15] = [
    b"key",
    b"token",
    b"secret",
    b"pass",
    b"pwd",
    b"auth",
    b"credential",
    b"pat",
    b"jwt",
    b"dsn",
    b"license",
    b"webhook",
    b"seed",
    b"totp",
    b"_code",
];

/// Adds what is found in `text` at keywords within `part` to `findings`, `offset` added to the places.
pub(super) fn scan_text(
    text: &[u8],
    part: Range<usize>,
    offset: usize,
    memory: &mut ScanMemory,
    findings: &mut Vec<Finding>,
) {
    scan_keywords(text, part, offset, memory, findings);
    if memory.commands.is_empty() {
        return;
    }
    let commands = std::mem::take(&mut memory.commands);
    let mut seen = Vec::new();
    JoinedArguments::each(text, &commands, |joined| {
        let whole = 0..joined.text.len();
        scan_keywords(&joined.text, whole, 0, memory, &mut seen);
        let found = seen.drain(..).filter_map(|found| joined.original(&found));
        findings.extend(found.map(|found| Finding {
            range: found.range.start + offset..found.range.end + offset,
            keyword: found.keyword + offset,
            ..found
        }));
    });
}

/// Like [`scan_text`], without the arrays of arguments, whose names it notes.
fn scan_keywords(
    text: &[u8],
    part: Range<usize>,
    offset: usize,
    memory: &mut ScanMemory,
    findings: &mut Vec<Finding>,
) {
    memory.forget(RULES.len());
    let start = part.start;
    INDEX.scan(text.get(part).unwrap_or_default(), |keyword, at| {
        let hit = start + at..start + at + keyword.text.len();
        if keyword.rule == COMMAND_NAME {
            memory.commands.extend(CommandName::at(text, &hit));
            return;
        }
        if let Some(found) = find_secret(keyword.rule, text, &hit, memory) {
            findings.push(Finding {
                range: found.range.start + offset..found.range.end + offset,
                rule: usize::from(keyword.rule),
                value: found.value,
                keyword: hit.start + offset,
            });
        }
    });
}

/// Calls `found` with each place where a keyword stands.
pub(super) fn each_keyword(text: &[u8], mut found: impl FnMut(usize)) {
    INDEX.scan(text, |_, at| found(at));
}

/// Tries rule `number` at its keyword at `hit`.
fn find_secret(
    number: u16,
    text: &[u8],
    hit: &Range<usize>,
    memory: &mut ScanMemory,
) -> Option<Found> {
    let rule = RULES.get(usize::from(number))?;
    let progress = memory.rules.get_mut(usize::from(number))?;
    if progress.is_new() {
        memory.tried.push(number);
    }
    let mut search = Search {
        text,
        values: &mut memory.values,
        progress,
    };
    let found = match rule.matcher {
        Matcher::Token(_) => find_token(number, &mut search, hit.start),
        Matcher::Around(before, _) => {
            let start = word_start(text, hit.start, before);
            find_token(number, &mut search, start)
        }
        Matcher::Assigned(_) => find_assigned(number, &mut search, hit),
        Matcher::Code(find, _) => find(&mut search, hit),
    }?;
    let secret = text.get(found.range.clone())?;
    let value = found.value.as_deref().unwrap_or(secret);
    let known = value.is_empty() || is_placeholder(value);
    // The name of a rule in a marker is no name of a variable.
    let marked = is_in_marker(text, found.range.start) || is_in_marker(text, hit.start);
    if known || marked {
        return None;
    }
    search.progress.decide(found.range.end);
    Some(found)
}

fn find_token(number: u16, search: &mut Search<'_>, start: usize) -> Option<Found> {
    let text = search.text;
    if search.progress.is_decided(start) {
        return None;
    }
    let glue = prefix_before(text, start);
    if glue == TokenPrefix::InsideData {
        return None;
    }
    let pattern = pattern_of_rule(number)?;
    // An id before it is told from data that it stands in: `4a7900966b69-ghp_…`.
    let is_behind_id = || glue == TokenPrefix::Separator && follows_hex_id(text, start);
    if glue == TokenPrefix::Alphanumeric && !may_stand_in_word(pattern, text, start)
        || glue != TokenPrefix::None
            && pattern.random_bits < MIN_RANDOM_BITS
            && is_inside_data(text, start)
            && !is_behind_id()
    {
        return None;
    }
    let limit = text.len().min(start + pattern.max_bytes);
    // Up to the end of the keyword the bytes are known, and need not be in the alphabet.
    let run_start = limit.min(start + pattern.known_bytes);
    let run = &mut search.progress.run;
    let end = run.end(run_start, limit, |at| {
        text.get(at).is_some_and(|byte| pattern.may_contain(*byte))
    });
    if end < start + pattern.min_bytes {
        return None;
    }
    match search.progress.look(&(start..end)) {
        Look::New => {}
        Look::Known => return None,
        Look::Exhausted => {
            let plain = start..plain_end(text, start, end);
            return (plain.len() >= pattern.min_bytes).then(|| Found::plain(plain));
        }
    }
    let window = text.get(start..end)?;
    examined(window.len());
    let matched = window.get(..pattern.match_length(window)?)?;
    let offset = pattern.secret_offset(matched);
    let end = start + matched.len();
    if glue != TokenPrefix::None && !is_distinctive(pattern, glue, matched.get(offset..)?) {
        return None;
    }
    (ends_token(text, end) && !reads_as_words(matched, offset))
        .then(|| Found::plain(start + offset..after_character(text, end)))
}

fn find_assigned(number: u16, search: &mut Search<'_>, hit: &Range<usize>) -> Option<Found> {
    let found = assignment(search, hit)?;
    let pattern = pattern_of_rule(number)?;
    if !(pattern.min_bytes..=pattern.max_bytes).contains(&found.value.len()) {
        return None;
    }
    let named = contains_any(search.text.get(found.name)?, &SECRET_NAMES);
    let fits = |_: &mut ValueMemo, value: &[u8]| {
        examined(value.len());
        pattern.match_length(value).is_some()
    };
    (named && search.judge_value(&found.value, fits)).then(|| Found::plain(found.value))
}

fn pattern_of_rule(number: u16) -> Option<&'static Pattern> {
    let number = usize::from(number);
    let compile = || Pattern::compile(RULES.get(number)?).map(Box::new);
    PATTERNS.get(number)?.get_or_init(compile).as_deref()
}

impl ScanMemory {
    /// Forgets the text of the scan before.
    fn forget(&mut self, rules: usize) {
        self.commands.clear();
        self.values = ValueMemo::default();
        if self.rules.len() != rules {
            self.rules = vec![RuleProgress::default(); rules];
        }
        for number in self.tried.drain(..) {
            if let Some(progress) = self.rules.get_mut(usize::from(number)) {
                *progress = RuleProgress::default();
            }
        }
    }
}

/// Whether a token at `start` can be told from the rest of a word before it. A short prefix must have a mark, and before it must be
/// the end of a word or of a number, but no vowel: `task-`, `risk-`.
fn may_stand_in_word(pattern: &Pattern, text: &[u8], start: usize) -> bool {
    let mark = text.get(start + MIN_FIXED_BYTES - 2);
    let before = text
        .get(word_start(text, start, 3)..start)
        .unwrap_or_default();
    let is_vowel = |byte: &u8| b"aeiou".contains(&byte.to_ascii_lowercase());
    let is_apart = |byte: &u8| !byte.is_ascii_alphanumeric();
    let end = before.rsplit(is_apart).next().unwrap_or_default();
    let is_end = end.iter().all(u8::is_ascii_digit)
        || end.iter().all(u8::is_ascii_lowercase)
        || end.iter().all(u8::is_ascii_uppercase);
    pattern.fixed_bytes >= MIN_FIXED_BYTES
        || pattern.fixed_bytes + 1 == MIN_FIXED_BYTES
            && matches!(mark, Some(b'-' | b'_'))
            && !pattern.is_common_word
            && is_end
            && !before.last().is_some_and(is_vowel)
}

/// Whether a match, which has its secret at `offset`, is made of words. Many prefixes also begin names: `pa-`, `md-`, `re_`. Behind one
/// that no word begins with, letters without a digit are random, but for words that show what goes there.
fn reads_as_words(matched: &[u8], offset: usize) -> bool {
    const NO_WORD_PREFIX: &[u8] = b"AKIA";
    let secret = matched.get(offset..).unwrap_or_default();
    let letters = matched.strip_prefix(NO_WORD_PREFIX);
    is_words(secret) && letters.is_none_or(is_demonstration)
}

/// Whether a secret can be told from the rest of a name that it is glued to.
fn is_distinctive(pattern: &Pattern, glue: TokenPrefix, secret: &[u8]) -> bool {
    let is_mixed = || {
        secret.iter().any(u8::is_ascii_lowercase)
            && secret.iter().any(u8::is_ascii_uppercase)
            && secret.iter().any(u8::is_ascii_digit)
    };
    examined(secret.len());
    let is_weak = pattern.is_common_word
        || glue == TokenPrefix::Alphanumeric && pattern.fixed_bytes < MIN_FIXED_BYTES;
    (!is_weak || is_mixed()) && entropy(secret) >= MIN_GLUED_ENTROPY
}

/// Moves `at` past the rest of a character that a pattern of bytes has cut in two.
fn after_character(text: &[u8], at: usize) -> usize {
    let rest = text.iter().skip(at).take(3);
    at + count_leading(rest, |byte| byte & 0xc0 == 0x80)
}

/// Where the word begins that has a keyword at `at`, at most `before` characters earlier.
fn word_start(text: &[u8], at: usize, before: usize) -> usize {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let left = text.get(..at).unwrap_or_default().iter().rev();
    let length = count_leading(left.take(before), is_word);
    after_escape(text, at - length).min(at)
}

/// Whether `at` is within a marker that an earlier run has left.
fn is_in_marker(text: &[u8], at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let is_within = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b':');
    let length = count_leading(before.iter().rev().take(MAX_MARKER_BYTES), is_within);
    before
        .get(before.len().saturating_sub(length + 1)..)
        .is_some_and(|marker| marker.starts_with(super::MARKER.as_bytes()))
}

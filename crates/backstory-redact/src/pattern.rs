//! The pattern of a rule, compiled, with the bounds that keep its cost linear.
//!
//! A pattern is tried only where it can fit: its shortest length and the bytes it consists of are known, so that text too short
//! for it is rejected without running it. Long repeats are compiled without their upper bound, which the caller enforces by
//! the piece of text it passes: `{80,2000}` would be an automaton of two thousand states.

use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, ClassBytesRange, Hir, HirKind, Repetition};

use super::rule::{Matcher, Rule};

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Pattern {
    /// Matches at the beginning of a text.
    regex: Regex,
    /// Matches what stands before the secret, if the pattern has more than the secret.
    before_secret: Option<Regex>,
    /// The bytes that may follow the keyword in a match.
    alphabet: [bool; 256],
    /// Number of bytes at the beginning of a match that are the keyword.
    pub(super) known_bytes: usize,
    /// Number of bytes that are the same in every match.
    pub(super) fixed_bytes: usize,
    /// Number of bits that random base64 has to have right to be a match.
    pub(super) random_bits: f64,
    /// Whether the keyword is a word that also ends names, so that a hash behind it says nothing.
    pub(super) is_common_word: bool,
    /// Length of the shortest match in bytes.
    pub(super) min_bytes: usize,
    /// Length of the longest match in bytes.
    pub(super) max_bytes: usize,
}

/// Length in bytes to which a match is cut that has no bound of its own.
pub(super) const MAX_TOKEN_BYTES: usize = 8 * 1024;
/// Upper bounds of repeats from which on they are left to the caller.
const MAX_COMPILED_REPEATS: u32 = 100;

/// Keywords that ordinary names end with: `cache-key-<hash>`, `public-api-<uuid>`, `are_`.
const COMMON_WORDS: [&str; 14] = [
    "api-", "fc-", "ico-", "key-", "md-", "npm_", "pa-", "pat.", "ptr_", "re_", "rnd_", "sdk-",
    "secret-", "secret_",
];
/// Number of bytes of a class up to which it counts as fixed: `sq[pua]_`.
const MAX_FIXED_CLASS: usize = 6;

impl Pattern {
    /// Compiles the pattern of `rule`. `None` if it has none or if it is invalid, which a test rules out.
    pub(super) fn compile(rule: &Rule) -> Option<Self> {
        let (text, known_bytes, suffix) = match rule.matcher {
            Matcher::Token(text) => (text, shortest_keyword(rule), ""),
            Matcher::Around(_, text) => (text, 0, ""),
            Matcher::Assigned(text) => (text, 0, "$"),
            Matcher::Code(..) => return None,
        };
        let mut parser = ParserBuilder::new().unicode(false).utf8(false).build();
        let hir = parser.parse(text).ok()?;
        let properties = hir.properties();
        let max_bytes = properties.maximum_len().unwrap_or(MAX_TOKEN_BYTES);
        let mut alphabet = [false; 256];
        for part in parts_beyond(&hir, known_bytes) {
            add_alphabet(part, &mut alphabet);
        }
        let compile = |hir: &Hir| {
            RegexBuilder::new(&format!("^(?:{}){suffix}", unbounded(hir)))
                .unicode(false)
                .build()
                .ok()
        };
        let before_secret = match hir.kind() {
            HirKind::Concat(parts) => parts
                .iter()
                .position(|part| matches!(part.kind(), HirKind::Capture(_)))
                .map(|at| Hir::concat(parts.iter().take(at).cloned().collect())),
            _ => None,
        };
        Some(Self {
            regex: compile(&hir)?,
            before_secret: match before_secret {
                Some(before) => Some(compile(&before)?),
                None => None,
            },
            alphabet,
            known_bytes,
            fixed_bytes: fixed_bytes(&hir),
            random_bits: random_bits(&hir),
            is_common_word: rule.keywords.iter().any(|word| COMMON_WORDS.contains(word)),
            min_bytes: properties.minimum_len().unwrap_or_default(),
            max_bytes: max_bytes.min(MAX_TOKEN_BYTES),
        })
    }

    /// Returns whether `byte` may follow the keyword in a match.
    pub(super) fn may_contain(&self, byte: u8) -> bool {
        self.alphabet
            .get(usize::from(byte))
            .is_some_and(|known| *known)
    }

    /// Returns the length of the match at the beginning of `text`.
    pub(super) fn match_length(&self, text: &[u8]) -> Option<usize> {
        self.regex.find(text).map(|found| found.end())
    }

    /// Returns the offset of the secret in a match.
    pub(super) fn secret_offset(&self, matched: &[u8]) -> usize {
        self.before_secret
            .as_ref()
            .and_then(|before| before.find(matched))
            .map_or(0, |before| before.end())
    }
}

fn shortest_keyword(rule: &Rule) -> usize {
    let lengths = rule.keywords.iter().map(|keyword| keyword.len());
    lengths.min().unwrap_or_default()
}

/// The parts of a pattern that can match beyond its first `known_bytes` bytes.
fn parts_beyond(hir: &Hir, known_bytes: usize) -> &[Hir] {
    let HirKind::Concat(parts) = hir.kind() else {
        return std::slice::from_ref(hir);
    };
    let mut end = 0;
    let within = parts
        .iter()
        .take_while(|part| {
            end += part.properties().maximum_len().unwrap_or(MAX_TOKEN_BYTES);
            end <= known_bytes
        })
        .count();
    parts.get(within..).unwrap_or_default()
}

/// Adds all bytes that can occur in a match of `hir`.
fn add_alphabet(hir: &Hir, alphabet: &mut [bool; 256]) {
    let mut add = |first: u8, last: u8| {
        for byte in first..=last {
            if let Some(known) = alphabet.get_mut(usize::from(byte)) {
                *known = true;
            }
        }
    };
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => literal.0.iter().for_each(|byte| add(*byte, *byte)),
        HirKind::Class(Class::Bytes(class)) => {
            class
                .iter()
                .for_each(|range| add(range.start(), range.end()));
        }
        // Never seen in a pattern without Unicode; all bytes are the safe answer.
        HirKind::Class(Class::Unicode(_)) => add(0, u8::MAX),
        HirKind::Repetition(repetition) => add_alphabet(&repetition.sub, alphabet),
        HirKind::Capture(capture) => add_alphabet(&capture.sub, alphabet),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            for part in parts {
                add_alphabet(part, alphabet);
            }
        }
    }
}

/// Number of bytes that are the same in every match of `hir`.
fn fixed_bytes(hir: &Hir) -> usize {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(Class::Bytes(class)) => {
            let bytes: usize = class.iter().map(ClassBytesRange::len).sum();
            usize::from(bytes <= MAX_FIXED_CLASS)
        }
        HirKind::Class(Class::Unicode(_)) => 0,
        HirKind::Repetition(repetition) => {
            let times = usize::try_from(repetition.min).unwrap_or_default();
            times * fixed_bytes(&repetition.sub)
        }
        HirKind::Capture(capture) => fixed_bytes(&capture.sub),
        HirKind::Concat(parts) => parts.iter().map(fixed_bytes).sum(),
        HirKind::Alternation(parts) => parts.iter().map(fixed_bytes).min().unwrap_or_default(),
    }
}

/// Number of bits that random base64 has to have right to be a match of `hir`.
fn random_bits(hir: &Hir) -> f64 {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) | HirKind::Class(Class::Unicode(_)) => 0.0,
        HirKind::Literal(literal) => literal.0.len() as f64 * 6.0,
        HirKind::Class(Class::Bytes(class)) => {
            let bytes: usize = class.iter().map(ClassBytesRange::len).sum();
            (64.0 / bytes.clamp(1, 64) as f64).log2()
        }
        HirKind::Repetition(repetition) => f64::from(repetition.min) * random_bits(&repetition.sub),
        HirKind::Capture(capture) => random_bits(&capture.sub),
        HirKind::Concat(parts) => parts.iter().map(random_bits).sum(),
        HirKind::Alternation(parts) => parts.iter().map(random_bits).fold(f64::MAX, f64::min),
    }
}

/// The pattern without groups, and without the upper bounds of its long repeats.
fn unbounded(hir: &Hir) -> Hir {
    let all = |parts: &[Hir]| parts.iter().map(unbounded).collect();
    match hir.kind() {
        HirKind::Repetition(repetition) => Hir::repetition(Repetition {
            max: repetition
                .max
                .filter(|max| *max < MAX_COMPILED_REPEATS || *max == repetition.min),
            sub: Box::new(unbounded(&repetition.sub)),
            ..repetition.clone()
        }),
        HirKind::Capture(capture) => unbounded(&capture.sub),
        HirKind::Concat(parts) => Hir::concat(all(parts)),
        HirKind::Alternation(parts) => Hir::alternation(all(parts)),
        _ => hir.clone(),
    }
}

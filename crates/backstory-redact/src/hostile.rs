//! Makes up texts that are as slow to redact as we know how: what a test, a benchmark and a fuzz target hold to the same bound.

use super::pattern::Pattern;
use super::plant::expand;
use super::rule::Rule;
use super::rules::RULES;

/// What stands between two keywords, or between a keyword and what follows it.
const SEPARATORS: [&str; 28] = [
    "",
    "=",
    ":",
    ": ",
    " = ",
    "=\"",
    ": '",
    "\\\"",
    "=\\\\\\\"",
    "\": \"",
    " ",
    "\n",
    "\\n",
    "--",
    "--_",
    ".",
    "/",
    "&",
    "&a=",
    ",",
    "://a:",
    "@",
    "\\/",
    "\\u0041",
    "\0",
    "\u{200b}",
    "\u{1b}[1m",
    "\\u001b[1m",
];

/// Returns pieces of text that are slow to redact when they are repeated, made of all keywords of `rule`.
#[must_use]
pub fn hostile_pieces(rule: &Rule) -> Vec<String> {
    let mut pieces = Vec::new();
    let tails = tails(rule);
    let number = RULES.iter().position(|other| other.id == rule.id);
    for (nth, keyword) in rule.keywords.iter().enumerate() {
        let other = RULES
            .get((number.unwrap_or_default() * 31 + nth * 7 + 1) % RULES.len())
            .and_then(|other| other.keywords.first())
            .copied()
            .unwrap_or_default();
        for separator in SEPARATORS {
            pieces.push(format!("{keyword}{separator}"));
            pieces.push(format!("{keyword}{separator}{other}{separator}"));
            for tail in &tails {
                pieces.push(format!("{keyword}{separator}{tail}"));
                pieces.push(format!("{keyword}{tail}{separator}"));
            }
        }
    }
    pieces.extend(hostile_arrays(rule, &tails));
    for separator in SEPARATORS {
        for template in [rule.example, rule.near_miss] {
            let text = expand(template, 3).text;
            let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
            pieces.push(format!("{escaped}{separator}"));
            pieces.push(format!("{}{separator}", text.replace('/', "\\/")));
            pieces.push(format!("{text}{separator}"));
            let mut cut = text;
            cut.pop();
            pieces.push(format!("{cut}{separator}"));
        }
    }
    pieces
}

/// Pieces of arrays of arguments, made of the keywords of `rule` that have several words.
fn hostile_arrays(rule: &Rule, tails: &[String]) -> Vec<String> {
    let mut pieces = Vec::new();
    let lines = rule.keywords.iter().filter(|word| word.contains(' '));
    for words in lines.map(|line| line.trim_end()) {
        for separator in ["\",\"", "\\\",\\\"", "','", "\",a,\"", "\",#\n\""] {
            let words = words.replace(' ', separator);
            pieces.push(format!("{words}{separator}"));
            for tail in tails {
                pieces.push(format!("{words}{separator}{tail}{separator}"));
                pieces.push(format!("{words}{separator}-p{tail}{separator}"));
            }
        }
    }
    pieces
}

/// Returns `piece` as often as it fits into `length` bytes.
#[must_use]
pub fn repeat_to(piece: &str, length: usize) -> String {
    piece.repeat(length / piece.len().max(1))
}

/// What may follow a keyword of `rule`: bytes that its pattern goes on with, in all the lengths at which it decides.
fn tails(rule: &Rule) -> Vec<String> {
    let Some(pattern) = Pattern::compile(rule) else {
        return ["a1", "aB3_dE6-", "kD83hf0aQz", "xxxxxx", "example."]
            .iter()
            .flat_map(|text| [1, 11, 60].map(|times| text.repeat(times)))
            .collect();
    };
    let alphabet: String = (b'!'..=b'~')
        .filter(|byte| pattern.may_contain(*byte))
        .map(char::from)
        .collect();
    let run = |length: usize| repeat_to(&alphabet, length + alphabet.len());
    [
        pattern.min_bytes.saturating_sub(1),
        pattern.min_bytes,
        pattern.max_bytes.saturating_sub(1),
        pattern.max_bytes + 1,
    ]
    .iter()
    .map(|length| run(*length).chars().take(*length).collect())
    .collect()
}

//! Faithfulness of observations: every number, path and name in one must stand in its source.

use std::borrow::Cow;

use super::ObservationSource;
use crate::AgentConventions;
use crate::text::without_escapes;

/// Names in an observation, and those of them that its source does not have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faith {
    /// Number of numbers, paths and names in it.
    pub named: u64,
    /// Those that stand nowhere in the source.
    pub unfounded: Vec<String>,
}

/// Looks for everything that a text names in what it is about.
pub fn faith(source: &ObservationSource, text: &str, agents: &AgentConventions) -> Faith {
    let mut faith = Faith::default();
    let mut look = |word: &str, found: bool| {
        faith.named += 1;
        if !found && !faith.unfounded.iter().any(|known| known == word) {
            faith.unfounded.push(word.to_string());
        }
    };
    let sources = sources(source, agents);
    for word in words(text) {
        if is_name(word) {
            look(word, sources.iter().any(|source| has_word(source, word)));
        } else {
            for number in numbers(word) {
                look(
                    number,
                    sources.iter().any(|source| has_number(source, number)),
                );
            }
        }
    }
    faith
}

/// All texts that something consists of. What is escaped in JSON is looked for as it stands there and as it is meant.
fn sources<'s>(source: &'s ObservationSource, agents: &AgentConventions) -> Vec<Cow<'s, str>> {
    let tool_use = match source {
        ObservationSource::ToolUse(tool_use) => tool_use,
        ObservationSource::Prompt(prompt) => {
            let shown = without_escapes(&prompt.text);
            return vec![Cow::Borrowed(prompt.text.as_str()), Cow::Owned(shown)];
        }
    };
    let meant = (agents.argument_text)(&tool_use.input);
    let whole = [
        tool_use.output.as_str(),
        tool_use.input.as_str(),
        tool_use.command.as_deref().unwrap_or_default(),
        tool_use.tool.as_str(),
    ];
    let paths = tool_use.touches.iter().map(|touch| touch.path.as_str());
    let functions = tool_use.functions.iter();
    let functions = functions.map(|function| function.name.as_str());
    let shown = [&meant, &tool_use.output].map(|text| Cow::Owned(without_escapes(text)));
    let all = whole.into_iter().chain(paths).chain(functions);
    all.map(Cow::Borrowed).chain(shown).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_around =
        |letter: char| letter.is_whitespace() || "\"'`()[]{}<>,;|=*!?…“”‘’«»".contains(letter);
    text.split(is_around)
        .map(|word| word.trim_matches(|letter: char| ".:#@&%$~^+-\\".contains(letter)))
        .filter(|word| !word.is_empty())
}

/// Returns whether a word is a path or an identifier rather than prose.
fn is_name(word: &str) -> bool {
    let inner = |letters: &str| word.contains(letters) && word.len() > letters.len();
    let has_letter = word.chars().any(char::is_alphabetic);
    let is_camel = || {
        let pairs = word.chars().zip(word.chars().skip(1));
        pairs
            .into_iter()
            .any(|(first, second)| first.is_lowercase() && second.is_uppercase())
    };
    let is_file = || {
        word.rsplit_once('.').is_some_and(|(stem, extension)| {
            !stem.is_empty()
                && (1..=5).contains(&extension.len())
                && extension.chars().all(char::is_alphanumeric)
        })
    };
    has_letter && (inner("/") || inner("_") || inner("::") || is_file() || is_camel())
}

/// The runs of digits in a word.
fn numbers(word: &str) -> impl Iterator<Item = &str> {
    word.split(|letter: char| !letter.is_ascii_digit())
        .filter(|number| !number.is_empty())
}

fn has_word(source: &str, word: &str) -> bool {
    let part = |letter: char| letter.is_alphanumeric() || letter == '_';
    has(source, word, part)
}

fn has_number(source: &str, number: &str) -> bool {
    has(source, number, |letter| letter.is_ascii_digit())
}

/// Returns whether a text has a piece that goes on neither before nor after it.
fn has(source: &str, piece: &str, goes_on: impl Fn(char) -> bool) -> bool {
    memchr::memmem::find_iter(source.as_bytes(), piece.as_bytes()).any(|at| {
        let before = source[..at].chars().next_back();
        let after = source[at + piece.len()..].chars().next();
        // What JSON escapes stands behind a letter that is none of the word's.
        let escaped = source[..at].ends_with("\\n") || source[..at].ends_with("\\t");
        (escaped || !before.is_some_and(&goes_on)) && !after.is_some_and(&goes_on)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conventions::KNOWN_AGENTS;
    use crate::observe::ToolUse;

    fn check(text: &str, named: u64, unfounded: &[&str]) {
        let tool_use = ToolUse {
            tool: "Bash".to_string(),
            input: r#"{"command":"cargo test\n12 src/cart.rs"}"#.to_string(),
            output: "test cart::adds ... ok\ntest result: ok. 31 passed; 0 failed".to_string(),
            ..ToolUse::default()
        };
        let found = faith(&ObservationSource::ToolUse(tool_use), text, &KNOWN_AGENTS);
        assert_eq!(
            (found.named, found.unfounded),
            (named, unfounded.iter().map(ToString::to_string).collect()),
            "{text}"
        );
    }

    #[test]
    fn what_is_named_must_stand_in_the_source() {
        check("ran the tests: 31 passed", 1, &[]);
        check("ran the tests: 3 passed, 1 failed", 2, &["3", "1"]);
        check("12 of `src/cart.rs`, `cart::adds`.", 3, &[]);
        check(
            "src/card.rs and cart::add",
            2,
            &["src/card.rs", "cart::add"],
        );
        check("all went well", 0, &[]);
    }
}

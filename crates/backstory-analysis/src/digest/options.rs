//! Options of a reply, and prompts that choose among them: `2`, `B, but keep the flag`, `do 1-3 and 5`.

use super::said::{after_words, plain};
use crate::text;

/// Highest number of an option.
const MAX_OPTION: u32 = 20;

/// Highest letter of an option.
const MAX_LETTER: char = 'h';

/// Maximum number of options that a prompt chooses.
const MAX_CHOSEN: usize = 8;

/// Maximum length of each of several options, in bytes.
const MAX_ITEM_BYTES: usize = 60;

/// Words before the name of an option.
#[rustfmt::skip]
const CHOOSING: &[&str] = &[
    "ok", "okay", "yes", "yeah", "sure", "please", "now", "then", "let's", "lets", "i'd go", "i would go", "go", "start", "with", "do", "try", "implement", "fix",
    "address", "implementing", "i prefer", "prefer", "use", "pick", "choose", "i choose", "i like", "take", "just", "only",
];

/// Words that name what follows an option; behind them a number can be nothing else.
const NAMING: &[&str] = &[
    "suggestions",
    "suggestion",
    "options",
    "option",
    "items",
    "item",
    "points",
    "point",
    "numbers",
    "number",
    "approach",
];

/// Name of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OptionName {
    Number(u32),
    Letter(char),
}

/// Returns the text of the options that a prompt chooses from a list of a reply.
pub(super) fn chosen_options(prompt: &str, reply: &str) -> Option<String> {
    let names = option_names(prompt);
    let items: Option<Vec<&str>> = names.iter().map(|name| item(reply, *name)).collect();
    match items?.as_slice() {
        [] => None,
        [item] => Some(item.to_string()),
        items => {
            let named = names.iter().zip(items).map(|(name, item)| {
                let item = text::beginning(item, MAX_ITEM_BYTES).trim_end();
                match name {
                    OptionName::Number(number) => format!("{number}: {item}"),
                    OptionName::Letter(letter) => format!("{letter}: {item}"),
                }
            });
            Some(named.collect::<Vec<_>>().join("; "))
        }
    }
}

/// Returns whether a text begins with the names of options.
pub(super) fn names_options(said: &str) -> bool {
    !option_names(said).is_empty()
}

/// Returns the options that a prompt begins with.
fn option_names(prompt: &str) -> Vec<OptionName> {
    let plain = plain(prompt);
    let mut rest = plain.as_str();
    while let Some(shorter) = CHOOSING.iter().find_map(|words| after_words(rest, words)) {
        rest = shorter.trim_start_matches([',', ' ']);
    }
    let named = NAMING.iter().find_map(|words| after_words(rest, words));
    rest = named.unwrap_or(rest).trim_start_matches('#');
    let mut names = Vec::new();
    while let Some((name, after)) = option_name(rest) {
        names.push(name);
        rest = after;
        let range = rest.strip_prefix('-').or_else(|| rest.strip_prefix('–'));
        if let (OptionName::Number(first), Some((OptionName::Number(last), after))) =
            (name, range.and_then(option_name))
        {
            names.extend((first + 1..=last).map(OptionName::Number));
            rest = after;
        }
        if names.len() >= MAX_CHOSEN {
            break;
        }
        let separators = [", and ", " and ", " & ", ", ", ",", "/", " "];
        let Some(next) = separators.iter().find_map(|mark| rest.strip_prefix(mark)) else {
            break;
        };
        if option_name(next).is_none() {
            break;
        }
        rest = next;
    }
    names.truncate(MAX_CHOSEN);
    let ends = rest.is_empty()
        || named.is_some()
        || names.len() > 1
        || rest.starts_with([',', ')', ':', '!', '='])
        || rest.starts_with('.') && !rest[1..].starts_with(|next: char| next.is_ascii_digit())
        || [" but ", " and ", " first", " please"]
            .iter()
            .any(|words| rest.starts_with(words));
    if ends { names } else { Vec::new() }
}

/// Returns the name of an option at the beginning of a text, and what follows it.
fn option_name(text: &str) -> Option<(OptionName, &str)> {
    let digits = text
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(text.len());
    if digits > 0 {
        let number = text[..digits].parse().ok()?;
        let rest = &text[digits..];
        let is_word = rest.starts_with(|next: char| next.is_alphanumeric() || next == '%');
        return ((1..=MAX_OPTION).contains(&number) && !is_word)
            .then_some((OptionName::Number(number), rest));
    }
    let letter = text
        .chars()
        .next()
        .filter(|letter| ('a'..=MAX_LETTER).contains(letter))?;
    let rest = &text[1..];
    // The article is followed by a word.
    let is_name = rest.is_empty()
        || rest.starts_with(['.', ')', ':', ','])
        || rest.starts_with(" but ")
        || rest.starts_with(" and ");
    is_name.then_some((OptionName::Letter(letter), rest))
}

/// Returns the item of a list that has the name of an option; the last one, if several lists have it.
fn item(reply: &str, name: OptionName) -> Option<&str> {
    let names = match name {
        OptionName::Number(number) => vec![number.to_string()],
        OptionName::Letter(letter) => {
            vec![letter.to_string(), letter.to_ascii_uppercase().to_string()]
        }
    };
    let items = text::prose_lines(reply).filter_map(|line| {
        let bare = line.trim_start_matches([' ', '*', '#', '-', '(']);
        let option = bare.strip_prefix("Option ");
        let text = option.unwrap_or(bare);
        let rest = names
            .iter()
            .find_map(|name| text.strip_prefix(name.as_str()))?;
        // Option 12 is not option 1, and 1.5 is no item.
        let item = rest.trim_start_matches(['.', ')', ':', '*']);
        let is_marked = item.len() < rest.len() && item.starts_with(' ');
        let is_option = option.is_some() && !rest.starts_with(char::is_alphanumeric);
        let item = item.trim_matches([' ', ':', '*', '-', '—', ')', '.']);
        ((is_marked || is_option) && item.chars().any(char::is_alphabetic)).then_some(item)
    });
    items.last()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPLY: &str = "Two ways:\n1. **SQLite**\n2. Plain files\n3) Redis\n\nOr by shape:\n- **A)** one table\n- **B)** two tables";

    #[test]
    fn options_are_known_by_number_and_letter() {
        for (prompt, expected) in [
            ("2", "Plain files"),
            ("let's go with option 1, but quickly", "SQLite"),
            ("3", "Redis"),
            ("B", "two tables"),
            ("a. just for now", "one table"),
            ("do 1,2 and 3", "1: SQLite; 2: Plain files; 3: Redis"),
            (
                "let's start with implementing suggestions 1-2 first",
                "1: SQLite; 2: Plain files",
            ),
        ] {
            assert_eq!(
                chosen_options(prompt, REPLY).as_deref(),
                Some(expected),
                "{prompt}"
            );
        }
        for prompt in [
            "a new file",
            "2 files are missing",
            "1.25.6 please",
            "7",
            "bump it to 2",
            "",
            "I like it",
        ] {
            assert_eq!(chosen_options(prompt, REPLY), None, "{prompt}");
        }
    }
}

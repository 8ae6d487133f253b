//! The patterns by which byte-level tokenizers find words, matched by hand.
//!
//! They are regular expressions with a look-ahead in their files; the few there are in use are written out here as what they mean.

use super::category::{is_letter, is_number};
use super::settings::Pattern;

// The pattern of GPT-2 is not written in files, which only refer to it:
// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
const QWEN: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const LLAMA: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// The pattern that a file writes as a regular expression.
pub(crate) fn by_expression(expression: &str) -> Option<Pattern> {
    match expression {
        QWEN => Some(Pattern::Digits(1)),
        LLAMA => Some(Pattern::Digits(3)),
        _ => None,
    }
}

/// How many bytes the first word of a text has. More than none, unless the text is empty.
pub(crate) fn first_word(pattern: Pattern, text: &str) -> usize {
    let mut characters = text.chars();
    let Some(first) = characters.next() else {
        return 0;
    };
    let second = characters.next();
    let any_case = pattern != Pattern::Gpt2;
    if first == '\''
        && let Some(length) = contraction(&text[1..], any_case)
    {
        return 1 + length;
    }
    let after_first = &text[first.len_utf8()..];
    match pattern {
        Pattern::Gpt2 => {
            let body = if first == ' ' { after_first } else { text };
            let begun = text.len() - body.len();
            for class in [is_letter, is_number, is_sign] {
                let length = run(body, class);
                if length > 0 {
                    return begun + length;
                }
            }
            space(text)
        }
        Pattern::Digits(most) => {
            if is_letter(first) {
                return run(text, is_letter);
            }
            if is_number(first) {
                let digits = text.chars().take(usize::from(most));
                return digits
                    .take_while(|character| is_number(*character))
                    .map(char::len_utf8)
                    .sum();
            }
            if !matches!(first, '\r' | '\n') && second.is_some_and(is_letter) {
                return first.len_utf8() + run(after_first, is_letter);
            }
            if is_sign(first) || first == ' ' && second.is_some_and(is_sign) {
                let signs = first.len_utf8() + run(after_first, is_sign);
                return signs + run(&text[signs..], |character| matches!(character, '\r' | '\n'));
            }
            let blank = &text[..run(text, char::is_whitespace)];
            match blank.rfind(['\r', '\n']) {
                Some(last) => last + 1,
                None => space(text),
            }
        }
    }
}

/// Neither a letter nor a number nor white space.
fn is_sign(character: char) -> bool {
    !character.is_whitespace() && !is_letter(character) && !is_number(character)
}

/// The length of the run of such characters that a text starts with.
fn run(text: &str, is_in: impl Fn(char) -> bool) -> usize {
    text.find(|character| !is_in(character))
        .unwrap_or(text.len())
}

/// The white space that a text starts with, except its last character where something follows: that one belongs to the next word.
fn space(text: &str) -> usize {
    let length = run(text, char::is_whitespace);
    let last = text[..length].chars().next_back().map_or(0, char::len_utf8);
    if length == text.len() || length == last {
        length
    } else {
        length - last
    }
}

/// The length of what follows an apostrophe in "it's" or "we'll".
fn contraction(text: &str, any_case: bool) -> Option<usize> {
    let mut characters = text.chars();
    let mut next = || {
        let character = characters.next()?;
        Some(match character {
            // The long s folds to the letter that it is.
            'ſ' if any_case => 's',
            _ if any_case => character.to_ascii_lowercase(),
            _ => character,
        })
    };
    let ending = match next()? {
        's' | 't' | 'm' | 'd' => 1,
        'r' | 'v' if next() == Some('e') => 2,
        'l' if next() == Some('l') => 2,
        _ => return None,
    };
    Some(text.chars().take(ending).map(char::len_utf8).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(pattern: Pattern, text: &str) -> Vec<&str> {
        let mut rest = text;
        let mut words = Vec::new();
        while !rest.is_empty() {
            let (word, after) = rest.split_at(first_word(pattern, rest));
            words.push(word);
            rest = after;
        }
        words
    }

    #[test]
    fn cuts_like_gpt2() {
        assert_eq!(
            words(Pattern::Gpt2, "It's 2024, WE'LL  go\n\n  now "),
            [
                "It", "'s", " 2024", ",", " WE", "'", "LL", " ", " go", "\n\n ", " now", " "
            ]
        );
    }

    #[test]
    fn cuts_like_qwen_and_llama() {
        assert_eq!(
            words(Pattern::Digits(1), "WE'LL (go)  12\n \n x==\ny"),
            [
                "WE", "'LL", " (", "go", ")", " ", " ", "1", "2", "\n \n", " x", "==\n", "y"
            ]
        );
        assert_eq!(
            words(Pattern::Digits(3), "12345 67"),
            ["123", "45", " ", "67"]
        );
        assert_eq!(
            words(Pattern::Digits(1), "'ſa x\t y"),
            ["'ſ", "a", " x", "\t", " y"]
        );
    }
}

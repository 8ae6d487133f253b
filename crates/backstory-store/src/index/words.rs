//! Text to words, as people type them.
//!
//! A word is a run of letters or of digits. An identifier gives its parts: `parseHttpHeader2` and `parse_http_header_2` both
//! give `parse`, `http`, `header`, `2`; who looks for the whole finds the parts side by side. (Indexing the whole as well made
//! results worse.) Scripts that write without spaces give a word for each character. English words lose their endings.

use tantivy::Index;
use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer};

use super::stem::stem;

/// The name under which the index knows this module.
pub(super) const TOKENIZER: &str = "words";

/// A longer word is none.
const LONGEST: usize = 64;

/// A longer identifier is none either.
const LONGEST_IDENTIFIER: usize = 200;

/// A word of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<'a> {
    /// The word as the index knows it.
    pub text: &'a str,
    /// Where it stands in the text, in bytes.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// Its number in the text.
    pub position: usize,
}

/// Calls `each` with the words of a text in their order.
pub fn words(text: &str, mut each: impl FnMut(Word<'_>)) {
    let mut scanner = Scanner::default();
    while scanner.next(text) {
        each(Word {
            text: &scanner.word,
            start: scanner.start,
            end: scanner.end,
            position: scanner.position,
        });
    }
}

/// Makes an index split its texts here.
pub(super) fn register(index: &Index) {
    let analyzer = TextAnalyzer::builder(Splitter::default()).build();
    index.tokenizers().register(TOKENIZER, analyzer);
}

/// Where a scan of a text is.
#[derive(Clone, Default)]
struct Scanner {
    /// Where the search for the next run begins.
    at: usize,
    /// The parts of the current run, and how many of them were given.
    parts: Vec<(usize, usize)>,
    given: usize,
    word: String,
    start: usize,
    end: usize,
    position: usize,
    next_position: usize,
}

impl Scanner {
    fn next(&mut self, text: &str) -> bool {
        loop {
            if let Some((start, end)) = self.parts.get(self.given).copied() {
                self.given += 1;
                self.give(text, start, end);
                self.position = self.next_position;
                self.next_position += 1;
                return true;
            }
            self.begin_run();
            let Some((start, end)) = self.split_run(text) else {
                return false;
            };
            self.at = end;
            if is_data(&text[start..end]) {
                // Still a gap: words on both sides of it are not neighbours.
                self.next_position += 1;
                self.begin_run();
            }
        }
    }

    fn begin_run(&mut self) {
        self.parts.clear();
        self.given = 0;
    }

    /// Finds the next run of letters, digits and underscores, and its parts, in one pass. Returns where it is.
    fn split_run(&mut self, text: &str) -> Option<(usize, usize)> {
        let bytes = text.as_bytes();
        let mut at = self.at;
        let mut before = loop {
            match ASCII_CLASSES.get(usize::from(*bytes.get(at)?)) {
                None => return self.split_any_run(text, at),
                Some(Class::Other | Class::Seam) => at += 1,
                Some(class) => break *class,
            }
        };
        let start = at;
        let mut part = Some(start);
        at += 1;
        while let Some(byte) = bytes.get(at) {
            let class = match ASCII_CLASSES.get(usize::from(*byte)) {
                None if next_is_alphanumeric(text, at) => {
                    self.begin_run();
                    return self.split_any_run(text, start);
                }
                None | Some(Class::Other) => break,
                Some(class) => *class,
            };
            let seam = match (before, class) {
                (_, Class::Seam) | (Class::Lower, Class::Upper) => true,
                (Class::Digit, _) | (_, Class::Digit) => before != class,
                (Class::Upper, Class::Upper) => is_lower(text, at + 1),
                _ => false,
            };
            if seam && let Some(from) = part.take() {
                self.add_part(from, at);
            }
            if class != Class::Seam && part.is_none() {
                part = Some(at);
            }
            before = class;
            at += 1;
        }
        if let Some(from) = part {
            self.add_part(from, at);
        }
        Some((start, at))
    }

    /// Like [`Scanner::split_run`], for any letters.
    fn split_any_run(&mut self, text: &str, at: usize) -> Option<(usize, usize)> {
        let (start, end) = run(text, at)?;
        split(&text[start..end], |from, to| {
            self.add_part(start + from, start + to);
        });
        Some((start, end))
    }

    fn add_part(&mut self, start: usize, end: usize) {
        if end - start <= LONGEST {
            self.parts.push((start, end));
        }
    }

    fn give(&mut self, text: &str, start: usize, end: usize) {
        let piece = &text[start..end];
        self.word.clear();
        if piece.is_ascii() {
            self.word.push_str(piece);
            self.word.make_ascii_lowercase();
        } else {
            self.word.extend(piece.chars().flat_map(char::to_lowercase));
        }
        stem(&mut self.word);
        (self.start, self.end) = (start, end);
    }
}

fn next_is_alphanumeric(text: &str, at: usize) -> bool {
    let next = text.get(at..).and_then(|rest| rest.chars().next());
    next.is_some_and(char::is_alphanumeric)
}

/// Returns whether a small letter stands at a place.
fn is_lower(text: &str, at: usize) -> bool {
    let next = text.get(at..).and_then(|rest| rest.chars().next());
    next.is_some_and(|next| class(next) == Class::Lower)
}

/// The next run of letters, digits and underscores at or after a place.
fn run(text: &str, at: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut start = at;
    loop {
        let byte = *bytes.get(start)?;
        if byte.is_ascii_alphanumeric() {
            break;
        }
        if byte < 0x80 {
            start += 1;
            continue;
        }
        let character = text[start..].chars().next()?;
        if character.is_alphanumeric() {
            break;
        }
        start += character.len_utf8();
    }
    let mut end = start;
    while let Some(byte) = bytes.get(end) {
        if byte.is_ascii_alphanumeric() || *byte == b'_' {
            end += 1;
        } else if *byte < 0x80 {
            break;
        } else {
            match text[end..].chars().next() {
                Some(character) if character.is_alphanumeric() => end += character.len_utf8(),
                _ => break,
            }
        }
    }
    Some((start, end))
}

/// Whether a run is no word but encoded data. Scripts without spaces write long runs, and so do people who name tests.
fn is_data(run: &str) -> bool {
    run.len() > LONGEST && run.is_ascii() && (run.len() > LONGEST_IDENTIFIER || !run.contains('_'))
}

/// Calls `part` with the parts of a run: `parse_http` and `parseHTTPHeader2` at their seams, each ideograph alone.
fn split(run: &str, mut part: impl FnMut(usize, usize)) {
    let mut start = None;
    let mut before = Class::Other;
    let mut characters = run.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let class = class(character);
        let seam = match (before, class) {
            (_, Class::Alone) | (Class::Alone, _) | (Class::Lower, Class::Upper) => true,
            (Class::Digit, _) | (_, Class::Digit) => before != class,
            // The last capital of several begins the next word: HTTPHeader.
            (Class::Upper, Class::Upper) => characters
                .peek()
                .is_some_and(|(_, next)| self::class(*next) == Class::Lower),
            _ => false,
        };
        if (seam || class == Class::Seam)
            && let Some(from) = start.take()
        {
            part(from, at);
        }
        if class != Class::Seam && start.is_none() {
            start = Some(at);
        }
        before = class;
    }
    if let Some(from) = start {
        part(from, run.len());
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Lower,
    Upper,
    Digit,
    /// A character that is a word of its own.
    Alone,
    /// An underscore.
    Seam,
    Other,
}

/// The classes of ASCII characters.
static ASCII_CLASSES: [Class; 128] = {
    let mut classes = [Class::Other; 128];
    let mut number = 0;
    while number < 128_u8 {
        classes[number as usize] = match number {
            b'_' => Class::Seam,
            b'a'..=b'z' => Class::Lower,
            b'A'..=b'Z' => Class::Upper,
            b'0'..=b'9' => Class::Digit,
            _ => Class::Other,
        };
        number += 1;
    }
    classes
};

fn class(character: char) -> Class {
    match character {
        '\0'..='\u{7f}' => ASCII_CLASSES[character as usize],
        // Thai to Myanmar, kana, ideographs: written without spaces.
        '\u{0e00}'..='\u{0eff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}' => Class::Alone,
        _ if character.is_lowercase() => Class::Lower,
        _ if character.is_uppercase() => Class::Upper,
        _ => Class::Other,
    }
}

/// Gives the words of a text to Tantivy.
#[derive(Clone, Default)]
struct Splitter {
    scanner: Scanner,
    token: Token,
}

struct Splitting<'a> {
    text: &'a str,
    splitter: &'a mut Splitter,
}

impl Tokenizer for Splitter {
    type TokenStream<'a> = Splitting<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Splitting<'a> {
        let scanner = &mut self.scanner;
        scanner.begin_run();
        (scanner.at, scanner.next_position) = (0, 0);
        self.token.reset();
        Splitting {
            text,
            splitter: self,
        }
    }
}

impl TokenStream for Splitting<'_> {
    fn advance(&mut self) -> bool {
        let Splitter { scanner, token } = &mut *self.splitter;
        if !scanner.next(self.text) {
            return false;
        }
        std::mem::swap(&mut token.text, &mut scanner.word);
        (token.offset_from, token.offset_to, token.position) =
            (scanner.start, scanner.end, scanner.position);
        true
    }

    fn token(&self) -> &Token {
        &self.splitter.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.splitter.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of a text with spaces between; each gap in the positions is a dash.
    fn check(text: &str, expect: &str) {
        let (mut found, mut next) = (Vec::new(), 0);
        words(text, |word| {
            found.extend(std::iter::repeat_n("-".to_string(), word.position - next));
            found.push(word.text.to_string());
            next = word.position + 1;
        });
        assert_eq!(found.join(" "), expect, "{text}");
    }

    #[test]
    fn identifiers_give_their_parts() {
        check("getUserName", "get user name");
        check("get_user_name", "get user name");
        check("GetUserName", "get user name");
        check("GET_USER_NAME", "get user name");
        check("get-user.name", "get user name");
        check("XMLHttpRequest", "xml http request");
        check("toHTML", "to html");
        check("__init__", "init");
        check("src/main.rs:42", "src main rs 42");
        check("a_B", "a b");
    }

    #[test]
    fn runs_are_split_as_any_letters_are() {
        let letters = ['a', 'b', 'X', 'Y', '1', '_', ' ', 'é', 'Ω', '界', '…'];
        let mut text = String::new();
        for number in 0..200_000_usize {
            text.clear();
            let mut rest = number;
            while rest > 0 {
                text.push(letters[rest % letters.len()]);
                rest /= letters.len();
            }
            let (mut one, mut other) = (Scanner::default(), Scanner::default());
            loop {
                one.begin_run();
                other.begin_run();
                let found = one.split_run(&text);
                assert_eq!(found, other.split_any_run(&text, one.at), "{text}");
                assert_eq!(one.parts, other.parts, "{text}");
                let Some((_, end)) = found else { break };
                one.at = end;
            }
        }
    }

    #[test]
    fn digits_are_words() {
        check("utf8", "utf 8");
        check("sha256sum", "sha 256 sum");
        check("v2.0.1", "v 2 0 1");
        check("E0499", "e 0499");
        check("2026-01-31", "2026 01 31");
    }

    #[test]
    fn english_loses_its_endings() {
        check("Migrations migrating", "migrat migrat");
        check("Łódź", "łódź");
    }

    #[test]
    fn every_script_is_split() {
        check("修复登录bug", "修 复 登 录 bug");
        check("テスト", "テ ス ト");
        check("исправь ВходВСистему", "исправь вход в систему");
        check("Straße CAFÉ", "straße café");
        check("한국어 문서", "한국어 문서");
        check("🎉 ship 🎉it", "ship it");
        check("", "");
        check("... --- ___ \u{0}\u{301}", "");
    }

    #[test]
    fn data_is_no_word_but_a_gap() {
        let data = "f".repeat(LONGEST + 1);
        check(&format!("before {data} after"), "befor - after");
        check(&format!("{data} {data}"), "");
        check(&"f".repeat(LONGEST), &"f".repeat(LONGEST));
    }

    /// Texts of all kinds of characters, the same every time.
    fn odd_texts() -> impl Iterator<Item = String> {
        const PIECES: [&str; 24] = [
            "a", "b", "Z", "Q", "7", "_", "__", " ", "\n", ".", "-", "é", "ß", "İ", "ǆ", "界", "ไ",
            "\u{301}", "🎉", "ъ", "Ъ", "한", "Ⅷ", "\u{0}",
        ];
        let mut state: u64 = 7;
        let mut next = move |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        std::iter::repeat_with(move || {
            let length = next(120);
            (0..length).map(|_| PIECES[next(24) as usize]).collect()
        })
    }

    #[test]
    fn words_lie_in_the_text_in_their_order() {
        for text in odd_texts().take(2_000) {
            let (mut end, mut position) = (0, None);
            words(&text, |word| {
                assert!(
                    word.start >= end && word.start < word.end,
                    "{text:?}: {word:?}"
                );
                let lower = text[word.start..word.end].to_lowercase();
                assert!(
                    lower.chars().all(char::is_alphanumeric) || !lower.is_ascii(),
                    "{text:?}: {word:?}"
                );
                assert!(
                    !word.text.is_empty() && word.text.len() <= lower.len().max(3),
                    "{text:?}: {word:?}"
                );
                assert!(
                    position.is_none_or(|before| word.position > before),
                    "{text:?}: {word:?}"
                );
                (end, position) = (word.end, Some(word.position));
            });
        }
    }

    #[test]
    fn the_index_sees_the_same_words() {
        let mut splitter = Splitter::default();
        for text in odd_texts().take(300).chain(["once more".to_string()]) {
            let mut expected = Vec::new();
            words(&text, |word| {
                expected.push((word.text.to_string(), word.start, word.end, word.position));
            });
            let mut found = Vec::new();
            splitter.token_stream(&text).process(&mut |token| {
                found.push((
                    token.text.clone(),
                    token.offset_from,
                    token.offset_to,
                    token.position,
                ));
            });
            assert_eq!(found, expected, "{text:?}");
        }
    }
}

//! Cuts text as the pattern of `o200k_base` does:
//!
//! - a word is letters, upper-case ones first, with one sign or space before it and an English contraction behind it;
//! - a number is up to three digits;
//! - punctuation is all signs in a row, with a space before and newlines or slashes behind;
//! - white space is all up to its last newline, or all but the last, which belongs to what follows.
//!
//! Rare marks and letters of a few scripts are the only known difference.

/// Piece that a text is cut into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Word(Word<'a>),
    Number,
    Punctuation(&'a str),
    Space(&'a str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word<'a> {
    /// The space or sign before it.
    pub(super) before: Option<char>,
    pub(super) letters: &'a str,
    /// True if it ends like `don't` or `it's`.
    pub(super) is_contracted: bool,
}

/// The pieces of a text.
pub(super) fn pieces(text: &str) -> Pieces<'_> {
    Pieces { text, at: 0 }
}

pub(super) struct Pieces<'a> {
    text: &'a str,
    at: usize,
}

/// Class of a character in the pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Upper,
    Lower,
    /// A letter without case, or a mark.
    Caseless,
    Digit,
    Newline,
    Space,
    Sign,
}

impl Class {
    fn is_letter(self) -> bool {
        matches!(self, Class::Upper | Class::Lower | Class::Caseless)
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let start = self.at;
        let (class, character) = self.peek()?;
        let length = character.len_utf8();
        if class.is_letter() {
            return Some(self.word(None));
        }
        if matches!(class, Class::Space | Class::Sign) {
            self.at += length;
            let follower = self.peek().map(|(class, _)| class);
            if follower.is_some_and(Class::is_letter) {
                return Some(self.word(Some(character)));
            }
            if class == Class::Sign || (character == ' ' && follower == Some(Class::Sign)) {
                self.punctuation();
                return Some(Piece::Punctuation(&self.text[start..self.at]));
            }
            self.at = start;
        }
        if class == Class::Digit {
            let is_digit = |class| class == Class::Digit;
            for _ in 0..3 {
                self.skip(is_digit);
            }
            return Some(Piece::Number);
        }
        self.space();
        Some(Piece::Space(&self.text[start..self.at]))
    }
}

impl<'a> Pieces<'a> {
    fn peek(&self) -> Option<(Class, char)> {
        let byte = *self.text.as_bytes().get(self.at)?;
        if byte.is_ascii() {
            return Some((ASCII[usize::from(byte)], char::from(byte)));
        }
        let character = self.text[self.at..].chars().next()?;
        Some((class_beyond_ascii(character), character))
    }

    /// Passes over one character, if it is of such a class.
    fn skip(&mut self, is_wanted: impl Fn(Class) -> bool) -> Option<Class> {
        let (class, character) = self.peek()?;
        is_wanted(class).then(|| {
            self.at += character.len_utf8();
            class
        })
    }

    /// Upper-case letters and then lower-case ones, at least one in all. Caseless ones count as either.
    fn word(&mut self, before: Option<char>) -> Piece<'a> {
        let start = self.at;
        let rest = &self.text.as_bytes()[start..];
        let upper = run(rest, u8::is_ascii_uppercase);
        let length = upper + run(&rest[upper..], u8::is_ascii_lowercase);
        if length > 0 && rest.get(length).is_none_or(u8::is_ascii) {
            // As nearly all words are.
            self.at += length;
        } else {
            self.any_letters();
        }
        let letters = &self.text[start..self.at];
        let contraction = contraction(&self.text.as_bytes()[self.at..]);
        self.at += contraction;
        Piece::Word(Word {
            before,
            letters,
            is_contracted: contraction > 0,
        })
    }

    fn any_letters(&mut self) {
        let mut after_caseless = None;
        while let Some(class) = self.skip(|class| matches!(class, Class::Upper | Class::Caseless)) {
            if class == Class::Caseless {
                after_caseless = Some(self.at);
            }
        }
        let is_lower = |class| matches!(class, Class::Lower | Class::Caseless);
        if self.skip(is_lower).is_some() {
            while self.skip(is_lower).is_some() {}
        } else if let Some(at) = after_caseless {
            // The pattern would rather end with a letter that can be lower-case.
            self.at = at;
        }
    }

    fn punctuation(&mut self) {
        let bytes = self.text.as_bytes();
        loop {
            match self.peek() {
                Some((Class::Sign, character)) => self.at += character.len_utf8(),
                Some((_, character)) if is_mark(character) => self.at += character.len_utf8(),
                _ => break,
            }
        }
        while let Some(b'\n' | b'\r' | b'/') = bytes.get(self.at) {
            self.at += 1;
        }
    }

    fn space(&mut self) {
        let mut after_newline = None;
        let mut last = self.at;
        let start = self.at;
        loop {
            let before = self.at;
            match self.skip(|class| matches!(class, Class::Space | Class::Newline)) {
                Some(Class::Newline) => after_newline = Some(self.at),
                Some(_) => last = before,
                None => break,
            }
        }
        if let Some(at) = after_newline {
            self.at = at;
        } else if self.at < self.text.len() && last > start {
            self.at = last;
        }
    }
}

/// Returns the number of bytes at the beginning that match.
fn run(bytes: &[u8], is_such: fn(&u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| is_such(byte)).count()
}

/// Returns the length of an English contraction at the beginning, 0 if there is none.
fn contraction(rest: &[u8]) -> usize {
    let &[b'\'', first, ..] = rest else {
        return 0;
    };
    let second = rest.get(2).map(u8::to_ascii_lowercase);
    match (first.to_ascii_lowercase(), second) {
        (b'r' | b'v', Some(b'e')) | (b'l', Some(b'l')) => 3,
        (b's' | b't' | b'm' | b'd', _) => 2,
        _ => 0,
    }
}

static ASCII: [Class; 128] = {
    let mut classes = [Class::Sign; 128];
    let mut byte = 0;
    while byte < 128 {
        classes[byte] = match byte as u8 {
            b'a'..=b'z' => Class::Lower,
            b'A'..=b'Z' => Class::Upper,
            b'0'..=b'9' => Class::Digit,
            b'\n' | b'\r' => Class::Newline,
            b' ' | b'\t' | 0x0b | 0x0c => Class::Space,
            _ => Class::Sign,
        };
        byte += 1;
    }
    classes
};

fn class_beyond_ascii(character: char) -> Class {
    match character {
        // Most of what is caseless, told without a table.
        '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' => Class::Caseless,
        // What kills or doubles a vowel is no letter to Rust, but it is to the pattern; these are signs to both.
        '\u{964}' | '\u{965}' | '\u{970}' | '\u{e3f}' | '\u{e4f}' | '\u{e5a}' | '\u{e5b}' => {
            Class::Sign
        }
        '\u{900}'..='\u{109f}' if !character.is_numeric() => Class::Caseless,
        _ if is_mark(character) => Class::Caseless,
        _ if character.is_lowercase() => Class::Lower,
        _ if character.is_uppercase() => Class::Upper,
        _ if character.is_alphabetic() => Class::Caseless,
        _ if character.is_numeric() => Class::Digit,
        _ if character.is_whitespace() => Class::Space,
        _ => Class::Sign,
    }
}

/// A mark that joins the character before it: an accent, or what makes an emoji of a sign.
fn is_mark(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}' | '\u{20d0}'..='\u{20f0}' | '\u{fe00}'..='\u{fe0f}')
}

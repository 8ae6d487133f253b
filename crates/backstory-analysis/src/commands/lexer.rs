//! Tokens of POSIX and bash command lines.

use super::nested::{HereDocument, Nesting, here_body, here_operator, line_end, nested_end};
use super::word::{Word, read_word};

/// Maximum length of a file number before a redirection, in bytes.
const MAX_FILE_NUMBER: usize = 32;

/// Plain words after which a command begins.
const COMMAND_STARTS: &[&str] = &[
    "if", "then", "else", "elif", "do", "while", "until", "for", "!", "{", "time",
];

/// Token of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A word without its quotes. Substitutions in it stay as they are written.
    Word(Word),
    /// `<<`: its body is [`Lexer::here_text`] of this number once its line is read.
    Here(usize),
    /// `;` or a newline.
    Separator,
    /// `;;`, `;&`, `;;&`.
    CaseEnd,
    /// `&&`.
    And,
    /// `||`.
    Or,
    /// `|` or `|&`.
    Pipe,
    /// `&`.
    Background,
    /// `(`.
    Open,
    /// `)`.
    Close,
}

/// Reader of tokens.
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    pending: Vec<HereDocument>,
    bodies: Vec<&'a str>,
    /// The next word belongs to a redirection.
    drops_word: bool,
    /// A command can begin here.
    is_start: bool,
    /// Between `[[` and `]]`, operators are words.
    in_test: bool,
}

impl<'a> Lexer<'a> {
    /// Creates a lexer at the beginning of a text.
    pub(super) fn new(text: &'a str) -> Self {
        Lexer {
            text,
            at: 0,
            pending: Vec::new(),
            bodies: Vec::new(),
            drops_word: false,
            is_start: true,
            in_test: false,
        }
    }

    /// Returns the body of a here-document.
    pub(super) fn here_text(&self, number: usize) -> Option<&'a str> {
        self.bodies.get(number).copied()
    }

    /// Returns the next token.
    pub(super) fn next_token(&mut self) -> Option<Token> {
        loop {
            self.skip_blanks();
            let Some(byte) = self.peek(0) else {
                self.read_bodies();
                return None;
            };
            let next = self.peek(1);
            let token = match (byte, next) {
                (b'\n', _) => {
                    self.at += 1;
                    self.read_bodies();
                    self.drops_word = false;
                    if self.in_test {
                        continue;
                    }
                    Some(Token::Separator)
                }
                (b'#', _) => {
                    self.at = line_end(self.text.as_bytes(), self.at);
                    continue;
                }
                (b'&', Some(b'>')) => {
                    self.at += 2;
                    self.at += usize::from(self.peek(0) == Some(b'>'));
                    self.drops_word = true;
                    continue;
                }
                (b'<' | b'>', Some(b'(')) => None,
                (b'<' | b'>', _) if self.in_test => None,
                (b'0'..=b'9' | b'{', _) if self.skip_file_number() => continue,
                (b'<' | b'>', _) => match self.read_redirection() {
                    Some(number) => Some(Token::Here(number)),
                    None => continue,
                },
                (b'(', Some(b'(')) if self.is_start => {
                    let end = nested_end(self.text, self.at + 1, Nesting::Arithmetic);
                    let text = self.text.get(self.at..end).unwrap_or_default();
                    self.at = end;
                    self.is_start = false;
                    return Some(Token::Word(Word {
                        text: text.to_string(),
                        plain: 0,
                    }));
                }
                (b'&' | b'|' | b'(' | b')' | b';', _) => self.read_operator(byte, next),
                _ => None,
            };
            if let Some(token) = token {
                self.is_start = !matches!(token, Token::Word(_) | Token::Here(_));
                return Some(token);
            }
            let word = read_word(self.text, &mut self.at);
            if std::mem::take(&mut self.drops_word) {
                continue;
            }
            match (self.in_test, word.as_plain()) {
                (false, Some("[[")) if self.is_start => self.in_test = true,
                (true, Some("]]")) => self.in_test = false,
                _ => {}
            }
            self.is_start = word
                .as_plain()
                .is_some_and(|plain| COMMAND_STARTS.contains(&plain));
            return Some(Token::Word(word));
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    fn skip_blanks(&mut self) {
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some(b' ' | b'\t' | b'\r'), _) => self.at += 1,
                (Some(b'\\'), Some(b'\n')) => self.at += 2,
                (Some(b'\\'), Some(b'\r')) if self.peek(2) == Some(b'\n') => self.at += 3,
                _ => return,
            }
        }
    }

    /// Skips the number of a file or the name of one, `2` or `{log}`, that stands right before a redirection.
    fn skip_file_number(&mut self) -> bool {
        let rest = &self.text.as_bytes()[self.at..];
        let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"{}_".contains(byte);
        let length = rest
            .iter()
            .take(MAX_FILE_NUMBER)
            .take_while(is_part)
            .count();
        let name = &rest[..length];
        let is_file =
            name.iter().all(u8::is_ascii_digit) || (name.starts_with(b"{") && name.ends_with(b"}"));
        if is_file && !self.in_test && matches!(rest.get(length), Some(b'<' | b'>')) {
            self.at += length;
            return true;
        }
        false
    }

    fn read_operator(&mut self, byte: u8, next: Option<u8>) -> Option<Token> {
        let (token, length) = match (byte, next) {
            (b'&', Some(b'&')) => (Token::And, 2),
            (b'|', Some(b'|')) => (Token::Or, 2),
            (b'|', Some(b'&')) => (Token::Pipe, 2),
            (b'|', _) => (Token::Pipe, 1),
            (b'&', _) => (Token::Background, 1),
            (b'(', _) => (Token::Open, 1),
            (b')', _) => (Token::Close, 1),
            (_, Some(b';')) => (Token::CaseEnd, 2),
            (_, Some(b'&')) => (Token::CaseEnd, 2),
            _ => (Token::Separator, 1),
        };
        if self.in_test && token != Token::Separator {
            let text = self.text.get(self.at..self.at + length);
            self.at += length;
            return Some(Token::Word(Word {
                text: text.unwrap_or_default().to_string(),
                plain: 0,
            }));
        }
        self.in_test = false;
        self.drops_word = false;
        self.at += length;
        if token == Token::CaseEnd && next == Some(b';') && self.peek(0) == Some(b'&') {
            self.at += 1;
        }
        Some(token)
    }

    /// Reads `<`, `>`, `>>`, `>&`, `<&`, `<>`, `>|`, `<<`, `<<<`; returns the number of a here-document.
    fn read_redirection(&mut self) -> Option<usize> {
        if self.peek(0) == Some(b'<') && self.peek(1) == Some(b'<') {
            let (here, end) = here_operator(self.text, self.at + 2);
            let is_string = self.peek(2) == Some(b'<');
            self.at = end;
            self.drops_word = is_string;
            let number = self.bodies.len() + self.pending.len();
            self.pending.push(here?);
            return Some(number);
        }
        self.at += 1;
        if matches!(self.peek(0), Some(b'>' | b'&' | b'|')) {
            self.at += 1;
        }
        self.drops_word = true;
        None
    }

    fn read_bodies(&mut self) {
        for here in std::mem::take(&mut self.pending) {
            let (end, next) = here_body(self.text, self.at, &here, false);
            let body = self.text.get(self.at..end).unwrap_or_default();
            self.bodies.push(body);
            self.at = next;
        }
    }
}

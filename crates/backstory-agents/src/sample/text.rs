//! Prose, code and command output, filled in from the tables of `words`.

use std::fmt::Write as _;

use super::random::Random;
use super::words::{
    ADJECTIVES, COMMANDS, GLUE, NOUNS, PYTHON, RUST, SENTENCES, SYLLABLES, TYPES, TYPESCRIPT, VERBS,
};

/// The language a generated project is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Rust,
    TypeScript,
    Python,
}

impl Language {
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Self::Rust => "rs",
            Self::TypeScript => "ts",
            Self::Python => "py",
        }
    }
}

/// Appends `template` with its placeholders filled in: `%n` noun, `%v` verb, `%a` adjective, `%f` function, `%T` and `%N` type
/// names of one and two words, `%t` a built-in type, `%p` path, `%d` and `%D` numbers, `%x` digit, `%h` hexadecimal,
/// `%s` a few words, `%S` a sentence, `%L` a line of a server's log.
pub(crate) fn fill(random: &mut Random, template: &str, out: &mut String) {
    let mut rest = template;
    while let Some(position) = memchr::memchr(b'%', rest.as_bytes()) {
        out.push_str(&rest[..position]);
        let placeholder = rest.as_bytes().get(position + 1).copied().unwrap_or(b'%');
        place(random, placeholder, out);
        rest = rest.get(position + 2..).unwrap_or("");
    }
    out.push_str(rest);
}

/// `template` filled in, as a text of its own.
pub(crate) fn filled(random: &mut Random, template: &str) -> String {
    let mut out = String::with_capacity(template.len() * 2);
    fill(random, template, &mut out);
    out
}

/// Paragraphs of prose, about `length` bytes.
pub(crate) fn prose(random: &mut Random, length: usize) -> String {
    let mut out = String::with_capacity(length + 200);
    let mut sentences = 0;
    while out.len() < length {
        if sentences > 0 {
            let separator: &str = random.pick(&[" ", "\n\n", "\n- "]);
            out.push_str(separator);
        }
        sentence(random, &mut out);
        sentences += 1;
    }
    out
}

/// A source file of about `length` bytes.
pub(crate) fn code(random: &mut Random, language: Language, length: usize) -> String {
    let mut out = String::with_capacity(length + 400);
    while out.len() < length {
        out.push_str(&function(random, language));
    }
    out
}

/// One function, with an empty line after it.
pub(crate) fn function(random: &mut Random, language: Language) -> String {
    let (head, lines, tail) = match language {
        Language::Rust => (
            "/// %S\npub fn %f(&self, %n: &%T) -> Result<%t> {\n",
            RUST,
            "    Ok(%n)\n}\n\n",
        ),
        Language::TypeScript => (
            "/** %S */\nexport async function %f(%n: %T, %n: number): Promise<%T> {\n",
            TYPESCRIPT,
            "    return %n;\n}\n\n",
        ),
        Language::Python => (
            "def %f(self, %n: %T) -> %T:\n    \"\"\"%S\"\"\"\n",
            PYTHON,
            "    return %n\n\n\n",
        ),
    };
    let mut out = String::with_capacity(600);
    fill(random, head, &mut out);
    for _ in 0..random.between(2, 9) {
        out.push_str("    ");
        let line = random.pick(lines);
        fill(random, line, &mut out);
        out.push('\n');
    }
    fill(random, tail, &mut out);
    out
}

/// A command that can be run again and again, with about the same output.
pub(crate) struct Command {
    pub(crate) line: String,
    body: String,
    success: &'static str,
    failure: &'static str,
}

impl Command {
    pub(crate) fn new(random: &mut Random) -> Self {
        let (command, line, most, success, failure) = *random.any(COMMANDS);
        let mut body = String::new();
        for _ in 0..random.between(1, most) {
            fill(random, line, &mut body);
        }
        Self {
            line: filled(random, command),
            body,
            success,
            failure,
        }
    }

    /// What it prints this time, and its exit code.
    pub(crate) fn run(&self, random: &mut Random) -> (String, i32) {
        let fails = !self.failure.is_empty() && random.percent(18);
        let mut output = self.body.clone();
        fill(
            random,
            if fails { self.failure } else { self.success },
            &mut output,
        );
        (output, i32::from(fails))
    }
}

fn sentence(random: &mut Random, out: &mut String) {
    let template = random.pick(SENTENCES);
    let start = out.len();
    fill(random, template, out);
    if let Some(first) = out.get_mut(start..start + 1) {
        first.make_ascii_uppercase();
    }
}

fn phrase(random: &mut Random, out: &mut String) {
    for position in 0..random.between(4, 11) {
        if position > 0 {
            out.push(' ');
        }
        let words = match random.below(8) {
            0..3 => &GLUE,
            3..6 => {
                noun(random, out);
                continue;
            }
            6 => &VERBS,
            _ => &ADJECTIVES,
        };
        out.push_str(random.pick(words));
    }
}

/// A noun: every third one is a name of the user's own, made of syllables. In real logs most words are rare ones, and without
/// them every search would be one for words that are everywhere.
fn noun(random: &mut Random, out: &mut String) {
    if random.below(3) > 0 {
        out.push_str(random.pick(&NOUNS));
        return;
    }
    let magnitude = random.between(4, 16);
    // As many draws fall between 1,000 and 2,000 as between 16,000 and 32,000: the frequency of a word goes with its rank.
    let mut rank = (1 << magnitude) + random.below(1 << magnitude);
    while rank > 0 {
        out.push_str(SYLLABLES[(rank % SYLLABLES.len() as u64) as usize]);
        rank /= SYLLABLES.len() as u64;
    }
}

fn place(random: &mut Random, placeholder: u8, out: &mut String) {
    match placeholder {
        b'n' => noun(random, out),
        b'v' => out.push_str(random.pick(&VERBS)),
        b'a' => out.push_str(random.pick(&ADJECTIVES)),
        b't' => out.push_str(random.pick(&TYPES)),
        b'f' => {
            out.push_str(random.pick(&VERBS));
            out.push('_');
            out.push_str(random.pick(&NOUNS));
        }
        b'T' => capitalised(random.pick(&NOUNS), out),
        b'N' => {
            capitalised(random.pick(&NOUNS), out);
            capitalised(random.pick(&NOUNS), out);
        }
        b'p' => fill(random, "src/%n/%n.rs", out),
        b'd' => number(random.between(1, 99), out),
        b'D' => number(random.between(100, 9999), out),
        b'x' => number(random.between(1, 9), out),
        b'h' => {
            let _ = write!(out, "{:08x}", random.next() as u32);
        }
        b's' => phrase(random, out),
        b'S' => sentence(random, out),
        b'L' => fill(
            random,
            "2026-0%x-1%x 1%x:3%x:1%x INFO %n::%n: %s request_id=%h status=200 elapsed=%dms",
            out,
        ),
        other => out.push(other as char),
    }
}

fn number(number: u64, out: &mut String) {
    let _ = write!(out, "{number}");
}

/// `order_map` as `OrderMap`.
fn capitalised(word: &str, out: &mut String) {
    for part in word.split('_') {
        let mut letters = part.chars();
        out.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        out.push_str(letters.as_str());
    }
}

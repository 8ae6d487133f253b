//! The plain name in a path of Rust or C++.

use std::ops::Range;

/// What a function is called.
pub(super) struct Name<'t> {
    /// `f` for `<a::T as b::U<V>>::f::{{closure}}`, `void n::f<int>(int) const` and `n::f (a=1)`; all of it where there is no name.
    pub(super) function: &'t str,
    /// The same with what it is in, but neither with what it takes nor with what it returns.
    pub(super) qualified: &'t str,
}

/// A part between two `::`.
#[derive(Default)]
struct Segment {
    start: usize,
    /// Where generics or arguments begin.
    end: Option<usize>,
    after_closure: bool,
}

pub(super) fn name(path: &str) -> Name<'_> {
    let bytes = path.as_bytes();
    // Where the path begins, and the last part of it that has a name.
    let (mut begin, mut last) = (0, 0..0);
    let mut segment = Segment::default();
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(&byte) = bytes.get(at) {
        if depth == 0 && !byte.is_ascii_alphanumeric() && segment.is_operator(path, at) {
            let end = at + sign(bytes.get(at..).unwrap_or_default());
            // What is called is the closure, which goes by the function that it stands in.
            let closure = segment.after_closure && byte == b'(' && !last.is_empty();
            if !closure {
                last = segment.start..end;
            }
            return named(path, begin, last);
        }
        match byte {
            b':' if depth == 0 && bytes.get(at + 1) == Some(&b':') => {
                let part = segment.part(path, at);
                at += 2;
                segment = Segment {
                    start: at,
                    end: None,
                    after_closure: part.is_empty(),
                };
                if !part.is_empty() {
                    last = part;
                }
                continue;
            }
            b' ' if depth == 0 => {
                let arguments = bytes.get(at + 1) == Some(&b'(');
                // What comes after arguments is ` const`.
                if arguments || (segment.end.is_some() && bytes.get(at - 1) == Some(&b')')) {
                    break;
                }
                // What came was what the function returns.
                (begin, last) = (at + 1, 0..0);
                segment = Segment {
                    start: begin,
                    ..Segment::default()
                };
            }
            b'<' | b'(' | b'[' | b'{' => {
                segment.end.get_or_insert(at);
                depth += 1;
            }
            b'>' if at > 0 && bytes.get(at - 1) == Some(&b'-') => {}
            b'>' | b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    let part = segment.part(path, at);
    match part.is_empty() {
        true => named(path, begin, last),
        false => named(path, begin, part),
    }
}

fn named(path: &str, begin: usize, function: Range<usize>) -> Name<'_> {
    let end = function.end;
    match path.get(function).filter(|function| !function.is_empty()) {
        Some(function) => Name {
            function,
            qualified: path.get(begin..end).unwrap_or(function),
        },
        None => Name {
            function: path,
            qualified: path,
        },
    }
}

impl Segment {
    /// Empty for what has no name of its own.
    fn part(&self, path: &str, at: usize) -> Range<usize> {
        let part = path.get(self.start..self.end.unwrap_or(at));
        // Compilers add `.cold` and `.part.0`.
        let part = part.and_then(|part| part.split(['.', '@']).next());
        let part = part.unwrap_or_default().trim_end();
        let hash = part
            .strip_prefix('h')
            .is_some_and(|hex| hex.len() == 16 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match hash || part.starts_with("$_") {
            true => self.start..self.start,
            false => self.start..self.start + part.len(),
        }
    }

    fn is_operator(&self, path: &str, at: usize) -> bool {
        path.get(self.start..at) == Some("operator")
    }
}

/// How long the sign after `operator` is.
fn sign(rest: &[u8]) -> usize {
    let length =
        |allowed: fn(&u8) -> bool| rest.iter().skip(1).take_while(|byte| allowed(byte)).count() + 1;
    match rest {
        [b'(', b')', ..] => 2,
        [b' ', ..] => length(u8::is_ascii_alphabetic),
        _ => length(|byte| b"+-*/%^&|~!=<>,[]".contains(byte)),
    }
}

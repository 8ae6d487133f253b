//! From bytes to an outline, within bounds.

use std::cell::RefCell;
use std::ops::ControlFlow;

use tree_sitter::{ParseOptions, Parser, Tree};

use crate::language::Language;
use crate::model::{Outline, Skipped};
use crate::{resolve, walk};

/// Larger files are no source that people write.
pub const MAX_BYTES: usize = 4 << 20;
/// Small files may have lines as long as they like.
const SMALL: usize = 64 << 10;
/// Lines of people are shorter than this on average.
const LONG_LINE: usize = 400;
/// Comparisons and shifts leave brackets open, but not so many.
const MAX_UNCLOSED: usize = 3_000;
/// How far into a file a zero byte makes it binary.
const BINARY_PREFIX: usize = 8 << 10;

thread_local! {
    /// A parser keeps its memory for the next file.
    static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
}

/// Looks into a file.
///
/// # Errors
/// When the file is not what people write, with the reason.
pub fn outline(language: &Language, bytes: &[u8]) -> Result<Outline, Skipped> {
    let source = accept(bytes)?;
    let Some(tree) = parse(language, source) else {
        return Err(Skipped::TooComplex);
    };
    let Some(compiled) = language.compiled() else {
        return Err(Skipped::TooComplex);
    };
    let found = walk::walk(language, compiled, &tree, source);
    Ok(resolve::resolve(language, found))
}

fn accept(bytes: &[u8]) -> Result<&str, Skipped> {
    if bytes.len() > MAX_BYTES {
        return Err(Skipped::TooLarge);
    }
    let prefix = bytes.get(..BINARY_PREFIX).unwrap_or(bytes);
    if prefix.contains(&0) {
        return Err(Skipped::Binary);
    }
    let source = std::str::from_utf8(bytes).map_err(|_| Skipped::NotUtf8)?;
    if unclosed(bytes) > MAX_UNCLOSED {
        return Err(Skipped::TooComplex);
    }
    if source.len() > SMALL {
        let lines = bytes.iter().filter(|byte| **byte == b'\n').count() + 1;
        if source.len() / lines > LONG_LINE {
            return Err(Skipped::Minified);
        }
    }
    Ok(source)
}

/// How many brackets more are opened than closed, at most. Parsers try every meaning of `a<a<a<…`, in ever more memory, and
/// counting their steps does not see it.
fn unclosed(bytes: &[u8]) -> usize {
    let (mut open, mut most) = (0_usize, 0);
    for byte in bytes {
        match byte {
            b'(' | b'[' | b'{' | b'<' => open += 1,
            b')' | b']' | b'}' | b'>' => open = open.saturating_sub(1),
            _ => {}
        }
        most = most.max(open);
    }
    most
}

/// Parsing is linear on what people write, but recovery from errors is not. Steps are counted, not time, so that the same file
/// always has the same outcome.
fn parse(language: &Language, source: &str) -> Option<Tree> {
    let grammar = &language.compiled()?.grammar;
    let mut steps = source.len() / 20 + 2_000;
    let mut progress = |_: &tree_sitter::ParseState| {
        steps = steps.saturating_sub(1);
        match steps {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    };
    let bytes = source.as_bytes();
    let mut read = |offset: usize, _| bytes.get(offset..).unwrap_or_default();
    let options = ParseOptions::new().progress_callback(&mut progress);
    PARSER.with_borrow_mut(|parser| {
        parser.set_language(grammar).ok()?;
        // Without this, a file that was given up would be gone on with.
        parser.reset();
        parser.parse_with_options(&mut read, None, Some(options))
    })
}

//! From bytes to an outline, within bounds.

use std::cell::RefCell;
use std::ops::{ControlFlow, Range};

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use crate::header::next;
use crate::language::Language;
use crate::model::{Outline, Skipped, Symbol};
use crate::{resolve, walk};

/// Larger files are no source that people write.
pub const MAX_BYTES: usize = 4 << 20;
/// Small files may have lines as long as they like.
const SMALL: usize = 64 << 10;
/// Lines of people are shorter than this on average.
const LONG_LINE: usize = 400;
/// Words and signs in a file. Generated tables have more, and each can take a quarter of a kilobyte while it is parsed.
const MAX_PIECES: usize = 700_000;
/// Brackets in brackets. Strings leave some open, but not so many.
const MAX_BRACKETS: usize = 3_000;
/// Open `<` in a statement. Parsers try every meaning of `a<a<a<…`, in ever more memory, and counting their steps does not see it.
const MAX_ANGLES: usize = 300;
/// A hundred moves of the parser are a step. Files of people take a step for 30 bytes or more.
const BYTES_A_STEP: usize = 40;
/// Small files may take a few steps more, and large ones no more than this.
const STEPS: Range<usize> = 1_000..12_000;
/// Larger files have to begin well.
const LARGE: usize = 128 << 10;
/// So much of them is parsed before the rest.
const BEGINNING: usize = 16 << 10;
/// There, no more than one of so many words and signs may be an error, for each can take as long as a thousand moves.
const PIECES_AN_ERROR: usize = 4;
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
    let source = accept_bytes(language, bytes)?;
    let tree = parse(language, source, None).ok_or(Skipped::TooComplex)?;
    Ok(tree_outline(language, &tree, source, true))
}

/// Finds the symbols of a text, without calls.
///
/// # Errors
/// As [`outline`].
pub fn text_symbols(language: &Language, source: &str) -> Result<Vec<Symbol>, Skipped> {
    accept_text(language, source)?;
    let tree = parse(language, source, None).ok_or(Skipped::TooComplex)?;
    Ok(tree_outline(language, &tree, source, false).symbols)
}

/// What a tree holds; without calls it takes half of the time.
pub(crate) fn tree_outline(
    language: &Language,
    tree: &Tree,
    source: &str,
    with_calls: bool,
) -> Outline {
    match language.compiled() {
        Some(compiled) => {
            let found = walk::walk(language, compiled, tree, source, with_calls);
            resolve::resolve(language, &compiled.builtins, found)
        }
        // Nothing is parsed in a language whose table does not fit its grammar.
        None => Outline::default(),
    }
}

/// The text of a file, if it is what people write.
fn accept_bytes<'t>(language: &Language, bytes: &'t [u8]) -> Result<&'t str, Skipped> {
    if bytes.len() > MAX_BYTES {
        return Err(Skipped::TooLarge);
    }
    if is_binary(bytes) {
        return Err(Skipped::Binary);
    }
    let source = std::str::from_utf8(bytes).map_err(|_| Skipped::NotUtf8)?;
    accept_text(language, source)?;
    Ok(source)
}

fn is_binary(bytes: &[u8]) -> bool {
    let prefix = bytes.get(..BINARY_PREFIX).unwrap_or(bytes);
    prefix.contains(&0)
}

/// Refuses a text that people do not write.
pub(crate) fn accept_text(language: &Language, source: &str) -> Result<(), Skipped> {
    let bytes = source.as_bytes();
    if bytes.len() > MAX_BYTES {
        return Err(Skipped::TooLarge);
    }
    if is_binary(bytes) {
        return Err(Skipped::Binary);
    }
    if source.len() > SMALL {
        let lines = bytes.iter().filter(|byte| **byte == b'\n').count() + 1;
        if source.len() / lines > LONG_LINE {
            return Err(Skipped::Minified);
        }
    }
    if cannot_be_complex(bytes) {
        return Ok(());
    }
    let shape = shape(bytes);
    let angles = language.angle_brackets && shape.angles > MAX_ANGLES;
    if shape.pieces > MAX_PIECES || shape.brackets > MAX_BRACKETS || angles {
        return Err(Skipped::TooComplex);
    }
    Ok(())
}

/// Whether a text is too short, or has too few brackets, to be over a limit however they are nested. Counting single bytes is a
/// tenth of the work of [`shape`].
fn cannot_be_complex(bytes: &[u8]) -> bool {
    let count = |is_counted: fn(u8) -> bool| -> usize {
        let counts = bytes.chunks(255).map(|chunk| {
            let counted = chunk.iter().map(|byte| u8::from(is_counted(*byte)));
            usize::from(counted.sum::<u8>())
        });
        counts.sum()
    };
    bytes.len() <= MAX_PIECES
        && count(|byte| matches!(byte, b'(' | b'[' | b'{')) <= MAX_BRACKETS
        && count(|byte| byte == b'<') <= MAX_ANGLES
}

/// What can be said of a file before it is parsed.
#[derive(Default)]
struct Shape {
    pieces: usize,
    /// The most that were open at once.
    brackets: usize,
    angles: usize,
}

fn shape(bytes: &[u8]) -> Shape {
    let mut shape = Shape::default();
    let (mut brackets, mut angles) = (0_usize, 0_usize);
    let mut before = b'\n';
    for &byte in bytes {
        let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii();
        let piece = match word(byte) {
            true => !word(before),
            false => byte.is_ascii_punctuation(),
        };
        shape.pieces += usize::from(piece);
        match byte {
            b'(' | b'[' => brackets += 1,
            b')' | b']' => brackets = brackets.saturating_sub(1),
            b'{' => (brackets, angles) = (brackets + 1, 0),
            b'}' => (brackets, angles) = (brackets.saturating_sub(1), 0),
            b';' => angles = 0,
            // Shifts are no brackets, but the two at the end of `A<B<C>>` are.
            b'<' if before == b'<' => angles = angles.saturating_sub(1),
            b'<' => angles += 1,
            b'>' if !matches!(before, b'-' | b'=') => angles = angles.saturating_sub(1),
            _ => {}
        }
        shape.brackets = shape.brackets.max(brackets);
        shape.angles = shape.angles.max(angles);
        before = byte;
    }
    shape
}

/// Parsing is linear on what people write, but recovery from errors is not. Steps and errors are counted, not time, so that the same
/// file always has the same outcome. How many errors there are shows only when a tree is there, so only the beginning of a large file is parsed at first.
pub(crate) fn parse(language: &Language, source: &str, before: Option<&Tree>) -> Option<Tree> {
    let bytes = source.as_bytes();
    let mut steps = (bytes.len() / BYTES_A_STEP + STEPS.start).min(STEPS.end);
    let rest = bytes.get(BEGINNING..).unwrap_or_default();
    let line = rest.iter().position(|byte| *byte == b'\n');
    if let Some(line) = line.filter(|_| bytes.len() > LARGE && before.is_none()) {
        let beginning = bytes.get(..BEGINNING + line).unwrap_or_default();
        let errors = errors(&tree(language, beginning, None, &mut steps)?);
        if errors * PIECES_AN_ERROR > shape(beginning).pieces {
            return None;
        }
    }
    tree(language, bytes, before, &mut steps)
}

fn tree(
    language: &Language,
    bytes: &[u8],
    before: Option<&Tree>,
    steps: &mut usize,
) -> Option<Tree> {
    let grammar = &language.compiled()?.grammar;
    let mut progress = |_: &ParseState| {
        *steps = steps.saturating_sub(1);
        match *steps {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    };
    let mut read = |offset: usize, _| bytes.get(offset..).unwrap_or_default();
    let options = ParseOptions::new().progress_callback(&mut progress);
    PARSER.with_borrow_mut(|parser| {
        parser.set_language(grammar).ok()?;
        // Without this, a file that was given up would be gone on with.
        parser.reset();
        parser.parse_with_options(&mut read, before, Some(options))
    })
}

/// How often what is there is not what could be there.
fn errors(tree: &Tree) -> usize {
    let mut cursor = tree.walk();
    let mut count = 0;
    loop {
        let node = cursor.node();
        if node.is_error() {
            count += 1 + loose(node);
        }
        count += usize::from(node.is_missing());
        let descended = node.has_error() && cursor.goto_first_child();
        if !descended && !next(&mut cursor) {
            return count;
        }
    }
}

/// Tokens of an error that follow each other. In what is only not closed yet, such as a macro, they may.
fn loose(error: Node<'_>) -> usize {
    let mut cursor = error.walk();
    let (mut count, mut after_token) = (0, false);
    let mut more = cursor.goto_first_child();
    while more {
        let child = cursor.node();
        if matches!(child.kind(), "(" | "[" | "{") {
            return 0;
        }
        let token = child.child_count() == 0 && child.kind() != ",";
        count += usize::from(token && after_token);
        after_token = token;
        more = cursor.goto_next_sibling();
    }
    count
}

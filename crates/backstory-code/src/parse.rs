//! From bytes to an outline, within bounds.

use std::cell::RefCell;
use std::ops::ControlFlow;

use similar::{Algorithm, DiffTag, capture_diff_slices};
use tree_sitter::{InputEdit, ParseOptions, Parser, Point, Tree};

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
    let tree = parse(language, source, None).ok_or(Skipped::TooComplex)?;
    Ok(look(language, &tree, source, true))
}

/// A text and its syntax tree, for whoever looks at what becomes of it.
pub struct Parsed {
    language: &'static Language,
    text: String,
    tree: Tree,
}

impl Parsed {
    /// Parses a text.
    ///
    /// # Errors
    /// When it is not what people write, with the reason.
    pub fn new(language: &'static Language, text: String) -> Result<Self, Skipped> {
        accept(text.as_bytes())?;
        let tree = parse(language, &text, None).ok_or(Skipped::TooComplex)?;
        Ok(Parsed {
            language,
            text,
            tree,
        })
    }

    /// Parses what became of the text; what is the same is not parsed again.
    ///
    /// # Errors
    /// As [`Parsed::new`].
    pub fn then(&self, text: String) -> Result<Self, Skipped> {
        accept(text.as_bytes())?;
        let mut tree = self.tree.clone();
        // From the last to the first, so that those before stay where they are.
        for edit in differences(&self.text, &text).iter().rev() {
            tree.edit(edit);
        }
        match parse(self.language, &text, Some(&tree)) {
            Some(tree) if !tree.root_node().has_error() => Ok(Parsed {
                language: self.language,
                text,
                tree,
            }),
            // How errors are got over depends on what was there before, and must not.
            _ => Parsed::new(self.language, text),
        }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it defines, without calls.
    pub fn symbols(&self) -> Outline {
        look(self.language, &self.tree, &self.text, false)
    }

    /// What it defines and calls.
    pub fn outline(&self) -> Outline {
        look(self.language, &self.tree, &self.text, true)
    }
}

fn look(language: &Language, tree: &Tree, source: &str, with_calls: bool) -> Outline {
    match language.compiled() {
        Some(compiled) => {
            let found = walk::walk(language, compiled, tree, source, with_calls);
            resolve::resolve(language, found)
        }
        // Nothing is parsed in a language whose table does not fit its grammar.
        None => Outline::default(),
    }
}

/// The stretches of lines that differ between two texts, each as if those before it were not there.
fn differences(old: &str, new: &str) -> Vec<InputEdit> {
    let lines = |text: &str| -> Vec<usize> {
        let ends = text.split_inclusive('\n').scan(0, |end, line| {
            *end += line.len();
            Some(*end)
        });
        std::iter::once(0).chain(ends).collect()
    };
    let (old_at, new_at) = (lines(old), lines(new));
    let (old_lines, new_lines): (Vec<&str>, Vec<&str>) = (
        old.split_inclusive('\n').collect(),
        new.split_inclusive('\n').collect(),
    );
    let mut edits = Vec::new();
    for op in capture_diff_slices(Algorithm::Patience, &old_lines, &new_lines) {
        if op.tag() == DiffTag::Equal {
            continue;
        }
        let (from, to) = (old_at[op.old_range().start], old_at[op.old_range().end]);
        let written = &new[new_at[op.new_range().start]..new_at[op.new_range().end]];
        let start = point(old, from);
        let rows = written.matches('\n').count();
        let last = written.rfind('\n').map_or(0, |newline| newline + 1);
        let mut end = Point {
            row: start.row + rows,
            column: written.len() - last,
        };
        if rows == 0 {
            end.column += start.column;
        }
        edits.push(InputEdit {
            start_byte: from,
            old_end_byte: to,
            new_end_byte: from + written.len(),
            start_position: start,
            old_end_position: point(old, to),
            new_end_position: end,
        });
    }
    edits
}

fn point(text: &str, offset: usize) -> Point {
    let before = &text.as_bytes()[..offset];
    let column = before
        .iter()
        .rev()
        .take_while(|byte| **byte != b'\n')
        .count();
    Point {
        row: before.iter().filter(|byte| **byte == b'\n').count(),
        column,
    }
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
fn parse(language: &Language, source: &str, before: Option<&Tree>) -> Option<Tree> {
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
        parser.parse_with_options(&mut read, before, Some(options))
    })
}

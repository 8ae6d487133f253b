//! A text on its way through time: what is the same is not parsed again.

use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices};
use tree_sitter::{InputEdit, Point, Tree};

use crate::language::Language;
use crate::model::{Outline, Skipped};
use crate::parse::{accept, look, parse};

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
        accept(language, text.as_bytes())?;
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
        accept(self.language, text.as_bytes())?;
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

    /// What it defines and calls.
    pub fn outline(&self) -> Outline {
        look(self.language, &self.tree, &self.text, true)
    }

    /// What it defines, without calls.
    pub fn symbols(&self) -> Outline {
        look(self.language, &self.tree, &self.text, false)
    }
}

/// Texts that differ in more lines than this are not compared: up to here that takes 50 ms, whatever the lines are.
const MAX_DIFFERING_LINES: usize = 40_000;

/// Telling the tree of more stretches than this takes longer than to parse the text anew: each is looked for among all nodes.
const MAX_STRETCHES: usize = 100;

/// The lines that differ, old and new; of texts that differ in many places, all between the first and the last of them.
fn stretches(old: &[&str], new: &[&str]) -> Vec<(Range<usize>, Range<usize>)> {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let ends = old_rest.iter().rev().zip(new_rest.iter().rev());
    let end = ends.take_while(|(a, b)| a == b).count();
    let (removed, added) = (old_rest.len() - end, new_rest.len() - end);
    if removed + added > MAX_DIFFERING_LINES {
        return vec![(start..start + removed, start..start + added)];
    }
    let ops = capture_diff_slices(Algorithm::Patience, old, new);
    let differ = ops.iter().filter(|op| op.tag() != DiffTag::Equal);
    let stretches: Vec<_> = differ.map(|op| (op.old_range(), op.new_range())).collect();
    match (stretches.first(), stretches.last()) {
        (Some(first), Some(last)) if stretches.len() > MAX_STRETCHES => {
            vec![(first.0.start..last.0.end, first.1.start..last.1.end)]
        }
        _ => stretches,
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
    for (old_range, new_range) in stretches(&old_lines, &new_lines) {
        let (from, to) = (old_at[old_range.start], old_at[old_range.end]);
        let written = &new[new_at[new_range.start]..new_at[new_range.end]];
        let start = line_start(&old_lines, old_range.start);
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
            old_end_position: line_start(&old_lines, old_range.end),
            new_end_position: end,
        });
    }
    edits
}

/// The beginning of a line, or the end of the text behind its last line, which may lack its newline.
fn line_start(lines: &[&str], line: usize) -> Point {
    match lines.last() {
        Some(last) if line == lines.len() && !last.ends_with('\n') => Point {
            row: line - 1,
            column: last.len(),
        },
        _ => Point {
            row: line,
            column: 0,
        },
    }
}

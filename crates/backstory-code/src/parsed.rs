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

    /// What it defines, without calls.
    pub fn symbols(&self) -> Outline {
        look(self.language, &self.tree, &self.text, false)
    }
}

/// Comparing takes as long as there are pairs of lines, when none is like another.
const MOST_PAIRS: usize = 16 << 20;

/// The lines that differ, old and new; of texts that have little in common, all between their first and last difference.
fn stretches(old: &[&str], new: &[&str]) -> Vec<(Range<usize>, Range<usize>)> {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let ends = old_rest.iter().rev().zip(new_rest.iter().rev());
    let end = ends.take_while(|(a, b)| a == b).count();
    let (removed, added) = (old_rest.len() - end, new_rest.len() - end);
    if removed.saturating_mul(added) > MOST_PAIRS {
        return vec![(start..start + removed, start..start + added)];
    }
    let ops = capture_diff_slices(Algorithm::Patience, old, new);
    let differ = ops.iter().filter(|op| op.tag() != DiffTag::Equal);
    differ.map(|op| (op.old_range(), op.new_range())).collect()
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

//! A text on its way through time: what is the same is not parsed again.

use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices};
use tree_sitter::{InputEdit, Point, Tree};

use crate::language::Language;
use crate::model::{Outline, Skipped};
use crate::parse::{accept_text, parse, tree_outline};

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
        accept_text(language, &text)?;
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
        accept_text(self.language, &text)?;
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
        tree_outline(self.language, &self.tree, &self.text, false)
    }

    /// What it defines and calls.
    pub fn outline(&self) -> Outline {
        tree_outline(self.language, &self.tree, &self.text, true)
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
    let all = || vec![(start..start + removed, start..start + added)];
    if removed == 0 || added == 0 || removed + added > MAX_DIFFERING_LINES {
        return all();
    }
    let ops = capture_diff_slices(
        Algorithm::Patience,
        &old_rest[..removed],
        &new_rest[..added],
    );
    let differ = ops.iter().filter(|op| op.tag() != DiffTag::Equal);
    let moved = |range: Range<usize>| range.start + start..range.end + start;
    let stretches: Vec<_> = differ
        .map(|op| (moved(op.old_range()), moved(op.new_range())))
        .collect();
    match stretches.len() > MAX_STRETCHES {
        true => all(),
        false => stretches,
    }
}

/// The stretches of lines that differ between two texts, each as if those before it were not there.
fn differences(old: &str, new: &str) -> Vec<InputEdit> {
    if old == new {
        return Vec::new();
    }
    let (old_lines, new_lines): (Vec<&str>, Vec<&str>) = (
        old.split_inclusive('\n').collect(),
        new.split_inclusive('\n').collect(),
    );
    let mut edits = Vec::new();
    let (mut old_at, mut new_at) = (LineStart::default(), LineStart::default());
    for (old_range, new_range) in stretches(&old_lines, &new_lines) {
        let from = old_at.move_to(&old_lines, old_range.start);
        let to = old_at.move_to(&old_lines, old_range.end);
        let written_from = new_at.move_to(&new_lines, new_range.start);
        let written_to = new_at.move_to(&new_lines, new_range.end);
        let written = &new[written_from..written_to];
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

/// Where a line begins; moves forward only.
#[derive(Default)]
struct LineStart {
    line: usize,
    byte: usize,
}

impl LineStart {
    /// Returns the first byte of a line that is not before the last one.
    fn move_to(&mut self, lines: &[&str], line: usize) -> usize {
        let passed = lines[self.line..line].iter();
        self.byte += passed.map(|line| line.len()).sum::<usize>();
        self.line = line;
        self.byte
    }
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

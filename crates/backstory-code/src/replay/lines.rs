//! Texts as lists of lines, each with the step that last wrote it.

use std::cell::Cell;
use std::hash::BuildHasher;

use backstory_event::{Hunk, HunkLine};
use hashbrown::{DefaultHashBuilder, HashTable};
use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Texts that differ in more lines than this are not compared: all lines of the new one count as written. Up to here a
/// comparison takes at most 0.2 s, whatever the lines are (Myers with bounded splits; its histogram is quadratic when every
/// second line differs).
const MAX_DIFFERING_LINES: usize = 100_000;

/// Line comparisons that are spent on locating edits, however few lines they have.
const BASE_COMPARISONS: u64 = if cfg!(test) { 500_000 } else { 50_000_000 };
/// Further line comparisons for each line that was interned, so that the work stays linear in the size of the log.
const COMPARISONS_PER_LINE: u64 = 500;

/// A line: what it says, and the step that wrote it; `None` when no agent did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// Number of its text.
    pub id: u32,
    /// The step.
    pub by: Option<u32>,
}

/// Gives equal lines equal numbers, and limits how long edits are searched for in them.
#[derive(Default)]
pub struct Interner {
    /// The numbers of lines by what they say.
    ids: HashTable<u32>,
    hashing: DefaultHashBuilder,
    /// What all lines say, one behind the other, and where each of them ends.
    texts: String,
    ends: Vec<usize>,
    /// Lines that were asked for, repeated ones included.
    interned: u64,
    /// Line comparisons made to locate edits.
    compared: Cell<u64>,
}

impl Interner {
    /// Returns the number of a line.
    pub fn id(&mut self, text: &str) -> u32 {
        let text = text.strip_suffix('\r').unwrap_or(text);
        self.interned += 1;
        let (texts, ends, hashing) = (&self.texts, &self.ends, &self.hashing);
        let said = |id: &u32| line_text(texts, ends, *id);
        let hash = hashing.hash_one(text);
        if let Some(id) = self.ids.find(hash, |id| said(id) == text) {
            return *id;
        }
        let id = ends.len() as u32;
        self.ids
            .insert_unique(hash, id, |id| hashing.hash_one(said(id)));
        self.texts.push_str(text);
        self.ends.push(self.texts.len());
        id
    }

    /// Returns the numbers of the lines of a text.
    pub fn lines(&mut self, text: &str) -> Vec<u32> {
        text.lines().map(|line| self.id(line)).collect()
    }

    /// Returns the text of a line.
    pub fn text(&self, id: u32) -> &str {
        line_text(&self.texts, &self.ends, id)
    }

    /// Counts comparisons of lines. Returns false when they are too many for the size of the edits: whoever searches stops
    /// then, and the edit's place counts as not found.
    pub fn count_comparisons(&self, lines: usize) -> bool {
        let compared = self.compared.get().saturating_add(lines as u64);
        let most = BASE_COMPARISONS + COMPARISONS_PER_LINE.saturating_mul(self.interned);
        let fits = compared <= most;
        if fits {
            self.compared.set(compared);
        }
        fits
    }

    /// Comparisons made to locate edits, and the most that may be made.
    #[cfg(test)]
    pub(super) fn comparisons(&self) -> (u64, u64) {
        let most = BASE_COMPARISONS + COMPARISONS_PER_LINE * self.interned;
        (self.compared.get(), most)
    }

    /// Returns lines as one text.
    pub fn whole(&self, lines: &[Line]) -> String {
        let mut whole = String::new();
        for line in lines {
            whole.push_str(self.text(line.id));
            whole.push('\n');
        }
        whole
    }

    /// Whether a line says anything that tells it from others.
    pub(crate) fn tells(&self, id: u32) -> bool {
        self.text(id)
            .chars()
            .filter(|c| c.is_alphanumeric())
            .count()
            > 1
    }
}

fn line_text<'t>(texts: &'t str, ends: &[usize], id: u32) -> &'t str {
    let end = ends.get(id as usize).copied().unwrap_or(0);
    let start = (id as usize)
        .checked_sub(1)
        .and_then(|before| ends.get(before));
    texts.get(start.copied().unwrap_or(0)..end).unwrap_or("")
}

/// A hunk by numbers: what it looks for, and what it writes.
pub(crate) struct Replacement {
    /// The lines that were there.
    pub(crate) old: Vec<u32>,
    /// Stretches in their order: so many lines kept, then so many removed, then these added.
    pub(crate) stretches: Vec<(usize, usize, Vec<u32>)>,
}

impl Replacement {
    pub(crate) fn of(hunk: &Hunk, interner: &mut Interner) -> Self {
        let mut old = Vec::new();
        let mut stretches = vec![(0, 0, Vec::new())];
        for line in &hunk.lines {
            let Some(last) = stretches.last_mut() else {
                break;
            };
            match line {
                HunkLine::Kept(text) => {
                    old.push(interner.id(text));
                    if last.1 == 0 && last.2.is_empty() {
                        last.0 += 1;
                    } else {
                        stretches.push((1, 0, Vec::new()));
                    }
                }
                HunkLine::Removed(text) => {
                    old.push(interner.id(text));
                    last.1 += 1;
                }
                HunkLine::Added(text) => last.2.push(interner.id(text)),
            }
        }
        Replacement { old, stretches }
    }

    /// Without the empty line that it ends with, if it is kept: patches have one too many at the end of a file.
    pub(crate) fn without_last(&self, interner: &Interner) -> Option<Self> {
        let last = self.old.last().filter(|id| interner.text(**id).is_empty());
        let (kept, removed, added) = self.stretches.last()?;
        if last.is_none() || *kept == 0 || *removed > 0 || !added.is_empty() {
            return None;
        }
        let mut shorter = Replacement {
            old: self.old[..self.old.len() - 1].to_vec(),
            stretches: self.stretches.clone(),
        };
        if let Some(last) = shorter.stretches.last_mut() {
            last.0 -= 1;
        }
        Some(shorter)
    }

    /// What becomes of the lines that were looked for.
    pub(crate) fn apply(&self, found: &[Line], step: u32) -> Vec<Line> {
        let mut written = Vec::new();
        let mut rest = found;
        for (kept, removed, added) in &self.stretches {
            let (before, after) = rest.split_at((*kept).min(rest.len()));
            let (gone, after) = after.split_at((*removed).min(after.len()));
            written.extend_from_slice(before);
            written.extend(rewritten(gone, added, Some(step)));
            rest = after;
        }
        written
    }
}

/// A text that took the place of another: lines that both have keep who wrote them, others are by the step.
pub(crate) fn rewritten(old: &[Line], new: &[u32], by: Option<u32>) -> Vec<Line> {
    let mut lines: Vec<Line> = new.iter().map(|id| Line { id: *id, by }).collect();
    for (old_at, new_at, length) in same(old, new) {
        for offset in 0..length {
            lines[new_at + offset].by = old[old_at + offset].by;
        }
    }
    lines
}

/// Fills in who wrote the lines that nobody is known for, from a text that shares lines with this one.
pub fn filled(lines: &mut [Line], from: &[Line]) {
    let ids: Vec<u32> = lines.iter().map(|line| line.id).collect();
    for (from_at, at, length) in same(from, &ids) {
        for offset in 0..length {
            let line = &mut lines[at + offset];
            line.by = line.by.or(from[from_at + offset].by);
        }
    }
}

/// The runs that two texts share, in order: where in the one, where in the other, how long.
fn same(old: &[Line], new: &[u32]) -> Vec<(usize, usize, usize)> {
    let old: Vec<u32> = old.iter().map(|line| line.id).collect();
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let pairs = old_rest.iter().rev().zip(new_rest.iter().rev());
    let tail = pairs.take_while(|(a, b)| a == b).count();
    let old_middle = &old_rest[..old_rest.len() - tail];
    let new_middle = &new_rest[..new_rest.len() - tail];
    let mut runs = vec![(0, 0, head)];
    let differing = old_middle.len() + new_middle.len();
    if !old_middle.is_empty() && !new_middle.is_empty() && differing <= MAX_DIFFERING_LINES {
        for op in capture_diff_slices(Algorithm::Myers, old_middle, new_middle) {
            if let DiffOp::Equal {
                old_index,
                new_index,
                len,
            } = op
            {
                runs.push((head + old_index, head + new_index, len));
            }
        }
    }
    runs.push((old.len() - tail, new.len() - tail, tail));
    runs
}

//! One file on its way through time.

use std::collections::HashMap;

use backstory_event::{Change, FileEdit, Hunk, Substitution};

use super::lines::{Interner, Line, Replacement, rewritten};

/// A hunk that nearly fits is looked for this far from where most of its lines are.
const NEAR: usize = 3;

/// Texts over this size are not searched for strings; nor are larger ones made by replacing strings everywhere. Source files
/// of this size are not parsed either.
const MAX_TEXT_BYTES: usize = 4 << 20;

/// Searching and copying this many bytes takes about as long as comparing two lines.
const BYTES_PER_COMPARISON: usize = 8;

/// A file as far as it is known.
#[derive(Default)]
pub struct Lane {
    /// Its text; `None` until the logs tell it.
    pub text: Option<Vec<Line>>,
    /// What was written to it at places that could not be found.
    loose: Vec<Fragment>,
    /// The step that changed it last.
    pub last: u32,
}

/// Lines that a step left behind, each with whether the step wrote it.
struct Fragment {
    step: u32,
    lines: Vec<(u32, bool)>,
}

impl Lane {
    /// Does what a step did to the file.
    pub fn apply(&mut self, edit: &FileEdit, step: u32, interner: &mut Interner) {
        self.last = step;
        if let Some(before) = &edit.before {
            let before = interner.lines(before);
            self.synchronise(&before, interner);
        }
        match &edit.change {
            Change::Written(text) => {
                let new = interner.lines(text);
                let old = self.text.take().unwrap_or_default();
                self.text = Some(rewritten(&old, &new, Some(step)));
                self.loose.clear();
            }
            Change::Deleted => {
                self.text = Some(Vec::new());
                self.loose.clear();
            }
            Change::Hunks(hunks) => self.hunks(hunks, step, interner),
            Change::Strings(strings) => {
                for string in strings {
                    self.string(string, step, interner);
                }
            }
        }
    }

    /// Returns the whole text, if it is known.
    pub fn whole(&self, interner: &Interner) -> Option<String> {
        self.text.as_ref().map(|lines| interner.whole(lines))
    }

    /// Returns the number of pieces that were written to it at places that could not be found.
    pub fn loose(&self) -> usize {
        self.loose.len()
    }

    /// Takes a text for the file's, whatever was thought to be in it.
    pub fn synchronise(&mut self, text: &[u32], interner: &Interner) {
        let old = self.text.take().unwrap_or_default();
        let mut lines = rewritten(&old, text, None);
        self.settle(&mut lines, interner);
        self.text = Some(lines);
        self.loose.clear();
    }

    /// Finds what was left loose, the newest first: as a whole where it is there once, else those lines that are there once.
    pub fn settle(&self, lines: &mut [Line], interner: &Interner) {
        if self.loose.is_empty() {
            return;
        }
        let mut places: HashMap<u32, Vec<usize>> = HashMap::new();
        for (at, line) in lines.iter().enumerate() {
            places.entry(line.id).or_default().push(at);
        }
        for fragment in self.loose.iter().rev() {
            let write = |line: &mut Line| {
                if line.by.is_none_or(|by| by < fragment.step) {
                    line.by = Some(fragment.step);
                }
            };
            let whole: Vec<u32> = fragment.lines.iter().map(|(id, _)| *id).collect();
            let rarest = fragment.lines.iter().enumerate();
            let rarest = rarest
                .filter(|(_, (id, _))| interner.tells(*id))
                .map(|(offset, (id, _))| (offset, places.get(id).map_or(&[][..], Vec::as_slice)))
                .min_by_key(|(_, places)| places.len());
            let Some((offset, starts)) = rarest else {
                continue;
            };
            let mut fitting = starts.iter().filter_map(|at| at.checked_sub(offset));
            let fits = |at| matches_at(lines, at, &whole, interner);
            let first = first_match(&mut fitting, fits);
            if let Some(at) = first
                && first_match(fitting, fits).is_none()
            {
                for (offset, (_, added)) in fragment.lines.iter().enumerate() {
                    if *added {
                        write(&mut lines[at + offset]);
                    }
                }
                continue;
            }
            for (id, _) in fragment.lines.iter().filter(|(_, added)| *added) {
                if let Some([at]) = places.get(id).map(Vec::as_slice)
                    && interner.tells(*id)
                {
                    write(&mut lines[*at]);
                }
            }
        }
    }

    fn hunks(&mut self, hunks: &[Hunk], step: u32, interner: &mut Interner) {
        let mut cursor = 0;
        let mut moved = 0isize;
        for hunk in hunks {
            let replacement = Replacement::of(hunk, interner);
            let Some(text) = &mut self.text else {
                self.loose.push(fragment(&replacement, step));
                continue;
            };
            let expected = hunk
                .line
                .and_then(|line| line.saturating_sub(1).checked_add_signed(moved));
            let shorter = replacement.without_last(interner);
            let found = locate(text, hunk, &replacement, cursor, expected, interner)
                .map(|at| (at, &replacement))
                .or_else(|| {
                    let shorter = shorter.as_ref()?;
                    let at = locate(text, hunk, shorter, cursor, expected, interner)?;
                    Some((at, shorter))
                })
                .or_else(|| {
                    let at = mend(text, &replacement.old, interner)?;
                    Some((at, &replacement))
                });
            let Some((at, replacement)) = found else {
                self.loose.push(fragment(&replacement, step));
                continue;
            };
            let end = at + replacement.old.len();
            let written = replacement.apply(&text[at..end], step);
            cursor = at + written.len();
            moved += written.len() as isize - replacement.old.len() as isize;
            text.splice(at..end, written);
        }
    }

    fn string(&mut self, string: &Substitution, step: u32, interner: &mut Interner) {
        if let Some(text) = &mut self.text
            && substitute(text, string, step, interner).is_some()
        {
            return;
        }
        let old: Vec<Line> = interner
            .lines(&string.old)
            .into_iter()
            .map(|id| Line { id, by: None })
            .collect();
        let new = interner.lines(&string.new);
        let lines = rewritten(&old, &new, Some(step));
        self.loose.push(Fragment {
            step,
            lines: lines
                .iter()
                .map(|line| (line.id, line.by.is_some()))
                .collect(),
        });
    }
}

fn fragment(replacement: &Replacement, step: u32) -> Fragment {
    let old = replacement.old.iter().map(|id| Line { id: *id, by: None });
    let lines = replacement.apply(&old.collect::<Vec<_>>(), step);
    Fragment {
        step,
        lines: lines
            .iter()
            .map(|line| (line.id, line.by.is_some()))
            .collect(),
    }
}

/// Returns whether these lines are at a place; `None` when too much has been compared to look any further.
fn matches_at(lines: &[Line], at: usize, ids: &[u32], interner: &Interner) -> Option<bool> {
    let Some(found) = lines.get(at..at + ids.len()) else {
        return Some(false);
    };
    let same = found.iter().zip(ids);
    let same = same.take_while(|(line, id)| line.id == **id).count();
    interner
        .count_comparisons(same + 1)
        .then_some(same == ids.len())
}

/// Returns the first of these places where the lines are.
fn first_match(
    mut places: impl Iterator<Item = usize>,
    matches: impl Fn(usize) -> Option<bool>,
) -> Option<usize> {
    places.find_map(|at| match matches(at) {
        Some(true) => Some(Some(at)),
        Some(false) => None,
        None => Some(None),
    })?
}

/// Returns the place that is nearest to the expected one where these lines are, the earlier one of two.
fn nearest(text: &[Line], ids: &[u32], expected: usize, interner: &Interner) -> Option<usize> {
    let last = text.len().checked_sub(ids.len())?;
    let start = expected.min(last);
    let around = (1..=last).flat_map(|distance| {
        let before = start.checked_sub(distance);
        let after = start.checked_add(distance).filter(|at| *at <= last);
        [before, after].into_iter().flatten()
    });
    first_match(std::iter::once(start).chain(around), |at| {
        matches_at(text, at, ids, interner)
    })
}

/// Where a hunk belongs: where its number says, else where its lines are, as the tools look for them: exactly, then without
/// spaces at the end, then without any around.
fn locate(
    text: &[Line],
    hunk: &Hunk,
    replacement: &Replacement,
    cursor: usize,
    expected: Option<usize>,
    interner: &Interner,
) -> Option<usize> {
    let old = &replacement.old;
    let last = text.len().checked_sub(old.len())?;
    if old.is_empty() {
        // Nothing to look for: what is only added goes to the end.
        return Some(expected.map_or(text.len(), |at| at.min(text.len())));
    }
    if let Some(at) = expected {
        return nearest(text, old, at, interner);
    }
    let looks: [fn(&str) -> &str; 3] = [|line| line, str::trim_end, str::trim];
    let alike = |look: fn(&str) -> &str, a: u32, b: u32| {
        a == b || look(interner.text(a)) == look(interner.text(b))
    };
    let mut from = cursor;
    for above in &hunk.after {
        let found = looks.iter().find_map(|look| {
            let rest = text.iter().enumerate().skip(from);
            rest.map(|(at, line)| (at, interner.text(line.id)))
                .take_while(|_| interner.count_comparisons(1))
                .find(|(_, line)| look(line) == look(above))
        });
        from = found.map_or(from, |(at, _)| at + 1);
    }
    let mut starts = vec![if hunk.at_end { last } else { from }, from, 0];
    starts.dedup();
    starts.iter().find_map(|start| {
        looks.iter().find_map(|look| {
            first_match(*start..=last, |at| {
                let found = text[at..].iter().zip(old);
                let same = found.take_while(|(line, id)| alike(*look, line.id, **id));
                let same = same.count();
                interner
                    .count_comparisons(same + 1)
                    .then_some(same == old.len())
            })
        })
    })
}

/// Brings the text in line with what a hunk found, when most of its lines are close together somewhere: the others were changed
/// outside. Gives where the hunk then belongs.
fn mend(text: &mut Vec<Line>, old: &[u32], interner: &Interner) -> Option<usize> {
    if !interner.count_comparisons(text.len()) {
        return None;
    }
    let mut places: HashMap<u32, Vec<usize>> = HashMap::new();
    for (offset, id) in old
        .iter()
        .enumerate()
        .filter(|(_, id)| interner.tells(**id))
    {
        places.entry(*id).or_default().push(offset);
    }
    let telling = places.len();
    // Where the hunk would begin, by each line that is also in the text.
    let mut votes: Vec<(usize, usize, usize)> = Vec::new();
    for (at, line) in text.iter().enumerate() {
        if let Some([offset]) = places.get(&line.id).map(Vec::as_slice)
            && let Some(start) = at.checked_sub(*offset)
        {
            votes.push((start, at, *offset));
        }
    }
    let near = |start: usize| {
        votes
            .iter()
            .filter(move |(other, ..)| other.abs_diff(start) <= NEAR)
    };
    let mut starts: Vec<usize> = votes.iter().map(|(start, ..)| *start).collect();
    starts.sort_unstable();
    let votes_near = |start: usize| {
        let from = starts.partition_point(|other| *other < start.saturating_sub(NEAR));
        let to = starts.partition_point(|other| *other <= start.saturating_add(NEAR));
        to - from
    };
    let (start, ..) = *votes
        .iter()
        .take(1000)
        .max_by_key(|(start, ..)| votes_near(*start))?;
    if near(start).count() * 2 <= telling {
        return None;
    }
    let first = near(start).map(|(_, at, offset)| at - offset).min()?;
    let end = near(start)
        .map(|(_, at, offset)| at + old.len() - offset)
        .max()?;
    let end = end.min(text.len());
    let first = first.min(end);
    let mended = rewritten(&text[first..end], old, None);
    text.splice(first..end, mended);
    Some(first)
}

/// Replaces a string in a text; `None` when it is not there, or there in several places and only one is meant.
fn substitute(
    text: &mut Vec<Line>,
    string: &Substitution,
    step: u32,
    interner: &mut Interner,
) -> Option<()> {
    let old = string.old.replace("\r\n", "\n");
    if old.is_empty() || !interner.count_comparisons(text.len()) {
        return None;
    }
    let whole = interner.whole(text);
    let bytes = whole.len();
    if bytes > MAX_TEXT_BYTES || !interner.count_comparisons(bytes / BYTES_PER_COMPARISON) {
        return None;
    }
    if string.all {
        let places = whole.matches(&old).count();
        if places == 0 || places.saturating_mul(string.new.len()) > MAX_TEXT_BYTES {
            return None;
        }
        let new = interner.lines(&whole.replace(&old, &string.new));
        *text = rewritten(text, &new, Some(step));
        return Some(());
    }
    let mut found = whole.match_indices(&old);
    let (start, _) = found.next()?;
    if found.next().is_some() {
        return None;
    }
    let mut end = start + old.len();
    // What is replaced by nothing takes its newline with it.
    if string.new.is_empty() && !old.ends_with('\n') && whole[end..].starts_with('\n') {
        end += 1;
    }
    let first_start = whole[..start].rfind('\n').map_or(0, |at| at + 1);
    let last_end = whole[end..]
        .find('\n')
        .map_or(whole.len(), |at| end + at + 1);
    let first = whole[..start].matches('\n').count();
    let count = whole[first_start..last_end].lines().count();
    let region = [
        &whole[first_start..start],
        &string.new,
        &whole[end..last_end],
    ]
    .concat();
    let new = interner.lines(&region);
    let range = first..(first + count).min(text.len());
    let written = rewritten(text.get(range.clone())?, &new, Some(step));
    text.splice(range, written);
    Some(())
}

//! Telling agents of approved patterns, in a block of a file that they read: AGENTS.md, CLAUDE.md, a skill.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use backstory_event::TimeMs;

use super::block::{self, CLOSE, OPEN};
use super::{Catalogue, Entry, PatternKind, PublishTarget, skill};
use crate::error::{Error, Result};
use crate::hidden::one_line;
use crate::trusted::{read_regular_file, resolve_in_repository};

/// Maximum length of a file that a block is written into: agents read it whole at every start.
const MAX_TARGET_BYTES: u64 = 16 << 20;

const NOTE: &str = "<!-- Written by `backstory patterns publish`; edits in here are lost. -->";
/// Tells that the file is to go with the block.
pub(super) const NOTE_MADE: &str = "<!-- Written by `backstory patterns publish`, which made this file; edits in here are lost. -->";
const HEADING: &str = "What earlier sessions of coding agents ran into, and what worked:";

/// Form of a publication.
#[derive(Debug, Clone, Copy)]
pub struct PublishOptions {
    /// Maximum length of the block.
    pub limit_bytes: usize,
    /// True if procedures become skills, files of their own.
    pub as_skills: bool,
    /// True if nothing is written.
    pub is_dry_run: bool,
}

/// What a publication did, or would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// Number of approved patterns.
    pub approved: usize,
    /// The patterns that the file tells of now.
    pub ids: Vec<String>,
    /// How many did not fit.
    pub left_out: usize,
    /// Whether the file had to be changed.
    pub changed: bool,
    /// Lines that it loses and gains, with `-` or `+` before each.
    pub diff: Vec<String>,
}

/// What taking a block out did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unpublished {
    /// There was none.
    Nothing,
    /// It is out, and the rest is as it was.
    Block,
    /// There was nothing else in a file that publishing had made, so that is gone too.
    File,
}

impl Catalogue {
    /// Writes the approved patterns into the block of a file, as many as have room, and records which.
    pub fn publish(
        &mut self,
        target: &PublishTarget,
        options: PublishOptions,
        now: TimeMs,
    ) -> Result<Published> {
        let mut approved = self.approved();
        approved.retain(|entry| !options.as_skills || !skill::is_procedure(entry));
        let (published, change) = plan_block(&target.path, &approved, options.limit_bytes)?;
        if !options.is_dry_run {
            change.write()?;
            self.record(&target.name, target.project.as_deref(), &published.ids, now)?;
        }
        Ok(published)
    }

    /// Takes the block out of a file.
    pub fn unpublish(&mut self, target: &PublishTarget, now: TimeMs) -> Result<Unpublished> {
        let done = remove_block(&target.path)?;
        self.record(&target.name, None, &[], now)?;
        Ok(done)
    }
}

/// Change of a file that is not made yet.
pub(super) enum PlannedChange {
    /// The file stays as it is.
    Nothing,
    /// The block is taken out of the file at this path.
    RemoveBlock(PathBuf),
    /// The file that really lies here gets this content.
    Write(PathBuf, Vec<u8>),
}

impl PlannedChange {
    /// Makes the change.
    pub(super) fn write(&self) -> Result<()> {
        match self {
            PlannedChange::Nothing => Ok(()),
            PlannedChange::RemoveBlock(path) => remove_block(path).map(drop),
            PlannedChange::Write(path, text) => crate::write_whole(path, text),
        }
    }
}

/// Plans these patterns for the block of a file, the first ones first, in at most so many bytes. Without any, the block is taken out.
pub(super) fn plan_block(
    path: &Path,
    entries: &[&Entry],
    limit_bytes: usize,
) -> Result<(Published, PlannedChange)> {
    if entries.is_empty() {
        let (_, before) = read(path)?;
        let before = before.unwrap_or_default();
        let refuse = |reason: String| Error::Publish {
            path: path.to_path_buf(),
            reason,
        };
        let place = block::find(&before).map_err(refuse)?;
        let change = match place {
            Some(_) => PlannedChange::RemoveBlock(path.to_path_buf()),
            None => PlannedChange::Nothing,
        };
        let published = Published {
            approved: 0,
            ids: Vec::new(),
            left_out: 0,
            changed: place.is_some(),
            diff: place.map_or_else(Vec::new, |place| line_diff(&before[place], b"")),
        };
        return Ok((published, change));
    }
    let refuse = |reason: String| Error::Publish {
        path: path.to_path_buf(),
        reason,
    };
    let (real, before) = read(path)?;
    let file = before.as_deref().unwrap_or_default();
    let place = block::find(file).map_err(refuse)?;
    let made = match &place {
        Some(place) => is_made(&file[place.clone()]),
        None => before.is_none(),
    };
    // Of the file as it would be without the block, which may have brought a line ending along.
    let outside = place.clone().map(|place| block::remove(file, place));
    let newline = block::newline(outside.as_deref().unwrap_or(file));
    let (text, ids) = render(entries, limit_bytes, newline, made);
    if ids.is_empty() {
        return Err(refuse(format!("no pattern fits into {limit_bytes} bytes")));
    }
    let after = match place {
        Some(place) => [&file[..place.start], text.as_bytes(), &file[place.end..]].concat(),
        None => block::append(file, &text),
    };
    let changed = before.as_deref() != Some(&after);
    let published = Published {
        approved: entries.len(),
        left_out: entries.len() - ids.len(),
        ids,
        changed,
        diff: line_diff(before.as_deref().unwrap_or_default(), &after),
    };
    let change = match changed {
        true => PlannedChange::Write(real, after),
        false => PlannedChange::Nothing,
    };
    Ok((published, change))
}

/// Returns the lines between the first and the last one that differ, old ones with `-` and new ones with `+` before them.
pub(super) fn line_diff(before: &[u8], after: &[u8]) -> Vec<String> {
    let lines = |text: &[u8]| -> Vec<String> {
        let text = String::from_utf8_lossy(text).into_owned();
        text.lines().map(str::to_string).collect()
    };
    let (old, new) = (lines(before), lines(after));
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[start..], &new[start..]);
    let same_end = (old.iter().rev().zip(new.iter().rev()))
        .take_while(|(a, b)| a == b)
        .count();
    let removed = old[..old.len() - same_end].iter();
    let added = new[..new.len() - same_end].iter();
    let removed = removed.map(|line| format!("-{line}"));
    removed
        .chain(added.map(|line| format!("+{line}")))
        .collect()
}

/// Takes the block out of a file, which is then as it was before.
pub(super) fn remove_block(path: &Path) -> Result<Unpublished> {
    let (real, Some(file)) = read(path)? else {
        return Ok(Unpublished::Nothing);
    };
    let place = block::find(&file).map_err(|reason| Error::Publish {
        path: path.to_path_buf(),
        reason,
    })?;
    let Some(place) = place else {
        return Ok(Unpublished::Nothing);
    };
    let made = is_made(&file[place.clone()]);
    let rest = block::remove(&file, place);
    crate::write_whole(&real, &rest)?;
    let is_empty = rest.is_empty() || skill::is_front_matter_alone(&rest);
    if made && is_empty && !path.is_symlink() {
        std::fs::remove_file(path).map_err(|source| Error::Unwritable {
            path: path.to_path_buf(),
            source,
        })?;
        if !rest.is_empty() {
            // The folder of a skill is named after it; one that holds something else stays.
            path.parent().map(std::fs::remove_dir);
        }
        return Ok(Unpublished::File);
    }
    Ok(Unpublished::Block)
}

/// Writes the lines of these patterns anew in the block of a file; those without an entry are removed. A block without lines goes. Returns whether
/// the file was changed.
pub(super) fn rewrite_lines(path: &Path, entries: &HashMap<&str, Option<&Entry>>) -> Result<bool> {
    match rewritten_lines(path, entries)? {
        None => Ok(false),
        Some(RewrittenBlock::Empty) => Ok(remove_block(path)? != Unpublished::Nothing),
        Some(RewrittenBlock::File { path, text }) => {
            crate::write_whole(&path, &text)?;
            Ok(true)
        }
    }
}

/// What becomes of a file with a block when lines of it are written anew.
pub(super) enum RewrittenBlock {
    /// The block has no lines any more.
    Empty,
    /// The new text of the file that the path leads to.
    File { path: PathBuf, text: Vec<u8> },
}

/// Returns what [`rewrite_lines`] would make of a file; `None` when it would stay as it is.
pub(super) fn rewritten_lines(
    path: &Path,
    entries: &HashMap<&str, Option<&Entry>>,
) -> Result<Option<RewrittenBlock>> {
    let refuse = |reason: String| Error::Publish {
        path: path.to_path_buf(),
        reason,
    };
    let (real, Some(file)) = read(path)? else {
        return Ok(None);
    };
    let Some(place) = block::find(&file).map_err(refuse)? else {
        return Ok(None);
    };
    let mut text = Vec::new();
    let mut others = 0;
    for line in file[place.clone()].split_inclusive(|byte| *byte == b'\n') {
        let known = entries.iter().find(|(id, _)| is_line_of(line, id));
        match known {
            Some((_, Some(entry))) => {
                let ending = &line[line.trim_ascii_end().len()..];
                text.extend_from_slice(line_of(entry).as_bytes());
                text.extend_from_slice(ending);
                others += 1;
            }
            Some((_, None)) => {}
            None => {
                others += usize::from(line.starts_with(b"- "));
                text.extend_from_slice(line);
            }
        }
    }
    if text == file[place.clone()] {
        return Ok(None);
    }
    if others == 0 {
        return Ok(Some(RewrittenBlock::Empty));
    }
    let after = [&file[..place.start], &text, &file[place.end..]].concat();
    Ok(Some(RewrittenBlock::File {
        path: real,
        text: after,
    }))
}

/// Returns whether a line of a block is the one of a pattern.
fn is_line_of(line: &[u8], id: &str) -> bool {
    let end = format!(" ({})", harmless(id));
    line.starts_with(b"- ") && line.trim_ascii_end().ends_with(end.as_bytes())
}

/// Where the file really lies and what is in it; `None` when there is none yet, but there could be.
pub(super) fn read(path: &Path) -> Result<(PathBuf, Option<Vec<u8>>)> {
    let wrong = |reason: String| Error::Publish {
        path: path.to_path_buf(),
        reason,
    };
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.is_dir()) {
        return Err(wrong("its folder is not there".to_string()));
    }
    let real = resolve_in_repository(path).map_err(|error| wrong(error.to_string()))?;
    match read_regular_file(&real, MAX_TARGET_BYTES) {
        // UTF-16, or no text at all.
        Ok(file) if file.contains(&0) => Err(wrong("it is no UTF-8 text".to_string())),
        Ok(file) => Ok((real, Some(file))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok((real, None)),
        Err(error) => Err(wrong(format!(
            "{error}: move it away, or name another file"
        ))),
    }
}

pub(super) fn is_made(block: &[u8]) -> bool {
    let mut lines = block.split(|byte| *byte == b'\n');
    lines.any(|line| line.trim_ascii() == NOTE_MADE.as_bytes())
}

/// The block, and the patterns that fit into it.
fn render(
    entries: &[&Entry],
    limit_bytes: usize,
    newline: &str,
    made: bool,
) -> (String, Vec<String>) {
    let note = if made { NOTE_MADE } else { NOTE };
    let mut text = [OPEN, note, HEADING, "", ""].join(newline);
    let mut ids = Vec::new();
    for entry in entries {
        let line = line_of(entry) + newline;
        if text.len() + line.len() + CLOSE.len() <= limit_bytes {
            text.push_str(&line);
            ids.push(entry.id.clone());
        }
    }
    text.push_str(CLOSE);
    (text, ids)
}

/// Returns the instruction that agents get, with how often it was found.
pub(super) fn line_of(entry: &Entry) -> String {
    let (title, advice) = (harmless(&entry.title), harmless(&entry.advice));
    let sentences = match entry.kind {
        // What to do says what worked.
        PatternKind::Success if !advice.is_empty() => vec![advice],
        _ => vec![title, advice],
    };
    let mut line = "-".to_string();
    for sentence in sentences.iter().filter(|sentence| !sentence.is_empty()) {
        line.push(' ');
        line.push_str(sentence);
        if !sentence.ends_with(['.', '!', '?']) {
            line.push('.');
        }
    }
    let seen = &entry.seen;
    if seen.frequency > 0 {
        let (times, sessions) = (
            counted(seen.frequency, "time"),
            counted(seen.sessions, "session"),
        );
        line.push_str(&format!(" Seen {times} in {sessions}."));
    }
    format!("{line} ({})", harmless(&entry.id))
}

fn counted(number: u64, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

/// Returns text in one line that opens nothing that would hide what follows.
pub(super) fn harmless(text: &str) -> String {
    let mut shown = one_line(text);
    // Comments and the marks of our own context; what is left of them is only text.
    shown = shown.replace("-->", "--&gt;");
    for open in ["<!--", "<backstory", "</backstory"] {
        shown = shown.replace(open, &format!("&lt;{}", &open[1..]));
    }
    shown
}

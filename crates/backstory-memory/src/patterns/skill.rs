//! Approved procedures as skills: a file of its own each, which agents read when they need it.

use std::path::Path;

use backstory_event::TimeMs;

use super::block::{self, CLOSE, OPEN};
use super::publish::{NOTE_MADE, PlannedChange, is_made, line_diff, line_of, read};
use super::{Catalogue, Entry, PatternKind, PublishTarget};
use crate::error::{Error, Result};
use crate::trusted::resolve_in_repository;

/// Folder of a repository in which agents look for skills.
const SKILLS_FOLDER: &str = ".agents/skills";

/// Maximum length of a skill's name, which is its folder's name, too.
const MAX_NAME_BYTES: usize = 64;

/// Beginning of the titles of procedures.
const PROCEDURE: &str = "before a commit: ";

const DESCRIPTION: &str = "Checks to run before a commit in this repository, in the order in which they passed in earlier sessions. Use before committing.";

/// Skill that was written, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedSkill {
    /// The pattern.
    pub id: String,
    /// Its file, as people know it.
    pub target: String,
    /// Whether the file had to be changed.
    pub changed: bool,
    /// Lines that it loses and gains, with `-` or `+` before each.
    pub diff: Vec<String>,
}

impl Catalogue {
    /// Writes approved procedures as skills of a repository, and records it.
    pub fn publish_skills(
        &mut self,
        repository: &Path,
        home: &Path,
        is_dry_run: bool,
        now: TimeMs,
    ) -> Result<Vec<PublishedSkill>> {
        let approved = self.approved().into_iter();
        let procedures: Vec<Entry> = approved
            .filter(|entry| is_procedure(entry))
            .cloned()
            .collect();
        let mut skills = Vec::new();
        for entry in procedures {
            let name = skill_name(&entry);
            let path = repository.join(SKILLS_FOLDER).join(&name).join("SKILL.md");
            let wrong = |reason: String| Error::Publish {
                path: path.clone(),
                reason,
            };
            let real = resolve_in_repository(&path).map_err(|error| wrong(error.to_string()))?;
            let before = match real.exists() {
                true => read(&path)?.1,
                false => None,
            };
            let known = before.as_deref().unwrap_or_default();
            let place = block::find(known).map_err(wrong)?;
            if before.is_some() && !place.is_some_and(|place| is_made(&known[place])) {
                return Err(wrong(
                    "it was not written by Backstory: move it away first".to_string(),
                ));
            }
            let after = skill_text(&name, &entry);
            let diff = line_diff(known, after.as_bytes());
            let changed = known != after.as_bytes();
            if !is_dry_run {
                if changed {
                    let folder = real.parent().unwrap_or(&real);
                    std::fs::create_dir_all(folder).map_err(|source| Error::Unwritable {
                        path: folder.to_path_buf(),
                        source,
                    })?;
                    PlannedChange::Write(real, after.into_bytes()).write()?;
                }
                let target = PublishTarget::new(&path, home);
                let ids = [entry.id.clone()];
                self.record(&target.name, target.project.as_deref(), &ids, now)?;
            }
            skills.push(PublishedSkill {
                id: entry.id,
                target: format!("{SKILLS_FOLDER}/{name}/SKILL.md"),
                changed,
                diff,
            });
        }
        Ok(skills)
    }
}

/// Returns whether a pattern is a procedure whose order matters.
pub(super) fn is_procedure(entry: &Entry) -> bool {
    entry.kind == PatternKind::Success && entry.title.starts_with(PROCEDURE)
}

/// Returns the name of a skill: small letters, digits and hyphens, and the pattern's id, so that no two are the same.
fn skill_name(entry: &Entry) -> String {
    let plain = |text: &str| {
        let letters = text.chars().map(|letter| match letter {
            letter if letter.is_ascii_alphanumeric() => letter.to_ascii_lowercase(),
            _ => '-',
        });
        let spaced: String = letters.collect();
        let words: Vec<&str> = spaced.split('-').filter(|word| !word.is_empty()).collect();
        words.join("-")
    };
    let id = plain(&entry.id);
    let id = &id[..id.len().min(MAX_NAME_BYTES / 2)];
    let words = plain(&entry.title);
    let room = MAX_NAME_BYTES - id.len() - 1;
    let words = words[..words.len().min(room)].trim_end_matches('-');
    format!("{words}-{id}")
}

fn head(name: &str) -> String {
    format!("---\nname: {name}\ndescription: {DESCRIPTION}\n---\n")
}

fn skill_text(name: &str, entry: &Entry) -> String {
    let line = line_of(entry);
    let head = head(name);
    format!(
        "{head}{OPEN}\n{NOTE_MADE}\nStop at the first check that fails, and mend that before the next.\n\n{line}\n{CLOSE}\n"
    )
}

/// Returns whether a file has nothing but the head of a skill.
pub(super) fn is_head_alone(file: &[u8]) -> bool {
    let text = String::from_utf8_lossy(file);
    let name = text.strip_prefix("---\nname: ");
    let name = name.and_then(|rest| rest.lines().next());
    name.is_some_and(|name| text.trim_end() == head(name).trim_end())
}

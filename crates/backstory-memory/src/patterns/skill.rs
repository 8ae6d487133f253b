//! Approved procedures as skills: a file of its own each, which agents read when they need it.

use std::path::Path;

use backstory_event::TimeMs;

use super::block::{self, CLOSE, OPEN};
use super::publish::{NOTE_MADE, PlannedChange, is_made, line_diff, line_of, read, remove_block};
use super::{Catalogue, Entry, PatternKind, PublishTarget};
use crate::error::{Error, Result};
use crate::trusted::resolve_in_repository;

/// Folder of a repository in which agents look for skills.
const SKILLS_FOLDER: &str = ".agents/skills";

/// Maximum length of a skill's name, which is its folder's name, too.
const MAX_NAME_BYTES: usize = 64;

/// Beginning of the names of skills.
const NAME_PREFIX: &str = "before-a-commit-";

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
    /// True if the skill was removed: its pattern is no approved procedure any more.
    pub is_removed: bool,
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
        let mut skills = self.remove_old_skills(repository, is_dry_run, &procedures, now)?;
        for entry in procedures {
            let name = skill_name(&entry.id);
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
            let after = match place {
                None if before.is_none() => {
                    (front_matter(&name) + &skill_block(&entry) + "\n").into_bytes()
                }
                // What people added around the block stays.
                Some(place) if is_made(&known[place.clone()]) => {
                    let block = skill_block(&entry);
                    [&known[..place.start], block.as_bytes(), &known[place.end..]].concat()
                }
                _ => {
                    let reason = "it was not written by Backstory: move it away first";
                    return Err(wrong(reason.to_string()));
                }
            };
            let diff = line_diff(known, &after);
            let changed = known != after;
            if !is_dry_run {
                if changed {
                    let folder = real.parent().unwrap_or(&real);
                    std::fs::create_dir_all(folder).map_err(|source| Error::Unwritable {
                        path: folder.to_path_buf(),
                        source,
                    })?;
                    PlannedChange::Write(real, after).write()?;
                }
                let target = PublishTarget::new(&path, home);
                let ids = [entry.id.clone()];
                self.record(&target.name, target.project.as_deref(), &ids, now)?;
            }
            skills.push(PublishedSkill {
                id: entry.id,
                target: format!("{SKILLS_FOLDER}/{name}/SKILL.md"),
                changed,
                is_removed: false,
                diff,
            });
        }
        Ok(skills)
    }

    /// Takes back the skills of a repository whose patterns are no approved procedures any more.
    fn remove_old_skills(
        &mut self,
        repository: &Path,
        is_dry_run: bool,
        current: &[Entry],
        now: TimeMs,
    ) -> Result<Vec<PublishedSkill>> {
        let mut removed = Vec::new();
        let is_current = |entry: &Entry| current.iter().any(|known| known.id == entry.id);
        let old = self.entries().iter().filter(|entry| !is_current(entry));
        let mut old_targets: Vec<(String, String)> = Vec::new();
        for entry in old {
            let below = format!("{SKILLS_FOLDER}/{}/SKILL.md", skill_name(&entry.id));
            let known = entry.published.iter();
            let known = known.filter(|published| published.target.ends_with(&below));
            old_targets.extend(known.map(|published| (entry.id.clone(), published.target.clone())));
        }
        for (id, target) in old_targets {
            let below = format!("{SKILLS_FOLDER}/{}/SKILL.md", skill_name(&id));
            let path = repository.join(&below);
            let (_, Some(before)) = (match path.exists() {
                true => read(&path)?,
                false => continue,
            }) else {
                continue;
            };
            if !is_dry_run {
                remove_block(&path)?;
                self.record(&target, None, &[], now)?;
            }
            removed.push(PublishedSkill {
                id,
                target: below,
                changed: true,
                is_removed: true,
                diff: line_diff(&before, b""),
            });
        }
        Ok(removed)
    }
}

/// Returns whether a pattern is a procedure whose order matters.
pub(super) fn is_procedure(entry: &Entry) -> bool {
    entry.kind == PatternKind::Success && entry.title.starts_with(PROCEDURE)
}

/// Returns the name of a skill: small letters, digits and hyphens. It has nothing of the pattern but its id, and stays when that is edited.
fn skill_name(id: &str) -> String {
    let letters = id.chars().map(|letter| match letter {
        letter if letter.is_ascii_alphanumeric() => letter.to_ascii_lowercase(),
        _ => '-',
    });
    let plain: String = letters.take(MAX_NAME_BYTES - NAME_PREFIX.len()).collect();
    format!("{NAME_PREFIX}{}", plain.trim_matches('-'))
}

fn front_matter(name: &str) -> String {
    format!("---\nname: {name}\ndescription: {DESCRIPTION}\n---\n")
}

fn skill_block(entry: &Entry) -> String {
    let line = line_of(entry);
    format!(
        "{OPEN}\n{NOTE_MADE}\nStop at the first check that fails, and mend that before the next.\n\n{line}\n{CLOSE}"
    )
}

/// Returns whether a file has nothing but the front matter of a skill.
pub(super) fn is_front_matter_alone(file: &[u8]) -> bool {
    let text = String::from_utf8_lossy(file);
    let name = text.strip_prefix("---\nname: ");
    let name = name.and_then(|rest| rest.lines().next());
    name.is_some_and(|name| text.trim_end() == front_matter(name).trim_end())
}

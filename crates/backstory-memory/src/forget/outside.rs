//! Files beside the store that repeat what sessions said: the pattern catalogue, published blocks, the spool, the event log.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use backstory_store::SessionHead;
use serde::{Deserialize, Serialize};

use super::proof::Probes;
use super::sieve::Names;
use crate::capture::{Capture, Spool};
use crate::error::{Error, Result};
use crate::patterns::{EntryChange, published_files, rewrite_block};
use crate::trusted::read_whole;
use crate::{Memory, write_private};

/// Where else than in the store sessions leave text. Places that are not given are not looked at.
#[derive(Debug, Clone, Default)]
pub struct ForgetPlaces {
    /// The folder of the pattern catalogue.
    pub catalogue: Option<PathBuf>,
    /// The user's home folder, which names of published files refer to.
    pub user_home: Option<PathBuf>,
    /// The folder the user is in: published files are looked for around it and around the folders of sessions.
    pub here: Option<PathBuf>,
    /// Where captures wait.
    pub spool: Option<Spool>,
}

/// What forgetting would change outside of the store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForgetPlan {
    /// Files of the catalogue that would be rewritten or removed.
    pub catalogue: Vec<PathBuf>,
    /// Files that agents read, with a published block that quotes the sessions.
    pub published: Vec<PathBuf>,
    /// Published files that were not found on this machine, as the catalogue names them.
    pub missing: Vec<String>,
}

/// A file that still has text, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// The file.
    pub path: PathBuf,
    /// Why it was not changed.
    pub reason: String,
}

/// What is about to be forgotten, kept in the store until it is: a process that is killed leaves the rest to the next one.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Intent {
    /// Rows and ids of the sessions.
    pub(super) sessions: Vec<(i64, String)>,
    pub(super) catalogue: Option<PathBuf>,
    /// Published files that the user allowed to change.
    pub(super) published: Vec<PathBuf>,
    pub(super) spool: Vec<PathBuf>,
}

impl Memory {
    /// Returns what forgetting sessions would change outside of the store.
    pub fn plan_forget(
        &self,
        sessions: &[SessionHead],
        places: &ForgetPlaces,
    ) -> Result<ForgetPlan> {
        let Some(catalogue) = &places.catalogue else {
            return Ok(ForgetPlan::default());
        };
        let changes = self.entry_changes(catalogue, sessions)?;
        let mut folders: Vec<PathBuf> = self
            .store
            .known_folders()?
            .into_iter()
            .map(PathBuf::from)
            .collect();
        folders.extend(places.here.clone());
        let (published, missing) = published_files(&changes, &folders, places.user_home.as_deref());
        Ok(ForgetPlan {
            catalogue: changes.into_iter().map(|change| change.path).collect(),
            published: published.into_keys().collect(),
            missing,
        })
    }

    /// Takes what sessions said out of all files beside the store. What cannot be changed is left and named: it must not keep the
    /// store from forgetting.
    pub(super) fn forget_outside(
        &mut self,
        sessions: &[SessionHead],
        intent: &Intent,
        names: &Names,
        probes: &Probes,
    ) -> Result<Vec<Leftover>> {
        let mut left = Vec::new();
        if let Some(folder) = &intent.catalogue {
            match self.entry_changes(folder, sessions) {
                Ok(changes) => left.extend(change_catalogue(&changes, &intent.published)),
                Err(error) => left.push(Leftover {
                    path: folder.clone(),
                    reason: error.to_string(),
                }),
            }
        }
        for path in intent.spool.iter().flat_map(|folder| files_in(folder)) {
            if let Err(error) = clean_capture(&path, names, probes) {
                left.push(Leftover {
                    path,
                    reason: error.to_string(),
                });
            }
        }
        self.forget_lines(|line| names.masked(line).is_some() || probes.has_word(line))?;
        Ok(left)
    }
}

/// Changes published blocks first: stopped in between, the catalogue still tells what is to be done.
fn change_catalogue(changes: &[EntryChange], published: &[PathBuf]) -> Vec<Leftover> {
    let blocks = published
        .iter()
        .map(|path| (path, rewrite_block(path, changes)));
    let entries = changes.iter().map(|change| (&change.path, change.apply()));
    let failed = blocks.chain(entries).filter_map(|(path, result)| {
        Some(Leftover {
            path: path.clone(),
            reason: result.err()?.to_string(),
        })
    });
    failed.collect()
}

/// Removes a waiting capture of a forgotten session, masks its id in one of another. Of files that nobody can read only those stay
/// that say nothing of it.
fn clean_capture(path: &Path, names: &Names, probes: &Probes) -> Result<()> {
    let failed = |source| Error::Path {
        path: path.to_path_buf(),
        source,
    };
    let bytes = match read_whole(path) {
        Ok(bytes) => bytes,
        // Another process was faster.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    let capture: Option<Capture> = serde_json::from_slice(&bytes).ok();
    let is_gone = match &capture {
        Some(capture) => {
            let session = capture.input.session.as_deref();
            session.is_some_and(|session| names.has(capture.input.agent.name(), session))
        }
        None => names.masked(&bytes).is_some() || probes.has_word(&bytes),
    };
    if is_gone {
        return match std::fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(error)),
            _ => Ok(()),
        };
    }
    match names.masked(&bytes) {
        Some(masked) => write_private(path, &masked),
        None => Ok(()),
    }
}

/// Returns the files in a folder.
pub(super) fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    files.map(|entry| entry.path()).collect()
}

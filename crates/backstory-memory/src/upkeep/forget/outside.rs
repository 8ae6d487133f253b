//! Files beside the store that repeat what sessions said: the pattern catalogue, published blocks, the spool, the event log, verdicts
//! about digests.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use backstory_event::SessionId;
use backstory_store::SessionHead;
use serde::{Deserialize, Serialize};

use super::existing;
use super::proof::Probes;
use super::sieve::Names;
use crate::capture::{Capture, Spool};
use crate::digest::{DigestVerdict, VerdictsLock};
use crate::error::{Error, Result};
use crate::event_log::logged_sessions;
use crate::import::discover::Problem;
use crate::patterns::{EntryChange, published_files, rewrite_block};
use crate::read::unless_damaged;
use crate::trusted::read_whole;
use crate::{Upkeep, write_private};

/// Places outside of the store that have text of sessions. Places that are not given are not searched.
#[derive(Debug, Clone, Default)]
pub struct ForgetPlaces {
    /// The folder of the pattern catalogue.
    pub catalogue: Option<PathBuf>,
    /// The user's home folder, which names of published files refer to.
    pub user_home: Option<PathBuf>,
    /// The folder the user is in: published files are looked for around it and around the folders of sessions.
    pub here: Option<PathBuf>,
    /// Spool of captures.
    pub spool: Option<Spool>,
}

/// Files outside of the store that forgetting would change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForgetPlan {
    /// Files of the catalogue that would be rewritten or removed.
    pub catalogue: Vec<PathBuf>,
    /// Files that agents read, with a published block that quotes the sessions.
    pub published: Vec<PathBuf>,
    /// Published files that were not found on this machine, as the catalogue names them.
    pub missing: Vec<String>,
    /// Files of the catalogue that may quote the sessions and would stay as they are.
    pub refused: Vec<Leftover>,
    /// The agents' own logs, which would stay as they are.
    pub agent_logs: Vec<PathBuf>,
}

/// A file that still has text, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leftover {
    /// The file.
    pub path: PathBuf,
    /// Reason why it was not changed.
    pub reason: String,
}

/// Sessions to be forgotten, kept in the store until nothing of them is left: a process that is killed leaves the rest to the next one.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Intent {
    /// Rows and ids of the sessions.
    pub(super) sessions: Vec<(SessionId, String)>,
    pub(super) catalogue: Option<PathBuf>,
    /// Published files that the user allowed to change.
    pub(super) published: Vec<PathBuf>,
    pub(super) spool: Vec<PathBuf>,
    /// Published files that the user did not allow to change.
    #[serde(default)]
    pub(super) declined: Vec<PathBuf>,
    /// Published files that were not found.
    #[serde(default)]
    pub(super) missing: Vec<String>,
    /// Files that could not be changed; known once the sessions are gone.
    #[serde(default)]
    pub(super) left: Vec<Leftover>,
    /// Logs that the sessions were read from; known once the sessions are gone.
    #[serde(default)]
    pub(super) agent_logs: Vec<PathBuf>,
}

impl Intent {
    /// Returns the ids of the sessions.
    pub(super) fn ids(&self) -> Vec<String> {
        self.sessions.iter().map(|(_, id)| id.clone()).collect()
    }

    /// Returns files that could not or must not be changed.
    pub(super) fn all_left(&self) -> Vec<Leftover> {
        let declined = self.declined.iter().map(|path| Leftover {
            path: path.clone(),
            reason: "you declined to rewrite its published block".to_string(),
        });
        self.left.iter().cloned().chain(declined).collect()
    }
}

/// Kind of a file or folder that repeats what sessions said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ForgetPlace {
    /// The database.
    Database,
    /// The full-text index.
    Index,
    /// The vectors of a model.
    Vectors,
    /// A file of the pattern catalogue.
    Catalogue,
    /// A file that agents read, with a published block.
    #[serde(rename = "published file")]
    PublishedFile,
    /// A capture that waits.
    Spool,
    /// A file of the event log.
    #[serde(rename = "event log")]
    EventLog,
    /// The file with verdicts about digests.
    Verdicts,
}

impl ForgetPlace {
    /// Name in JSON and in listings.
    pub fn name(self) -> &'static str {
        match self {
            ForgetPlace::Database => "database",
            ForgetPlace::Index => "index",
            ForgetPlace::Vectors => "vectors",
            ForgetPlace::Catalogue => "catalogue",
            ForgetPlace::PublishedFile => "published file",
            ForgetPlace::Spool => "spool",
            ForgetPlace::EventLog => "event log",
            ForgetPlace::Verdicts => "verdicts",
        }
    }
}

/// A file or folder that was written anew or removed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RewrittenFile {
    /// Kind.
    pub place: ForgetPlace,
    /// The file or folder.
    pub path: PathBuf,
    /// True if it was removed.
    #[serde(rename = "removed")]
    pub is_removed: bool,
}

impl RewrittenFile {
    /// Takes note of a file as it is now.
    pub(super) fn new(place: ForgetPlace, path: PathBuf) -> Self {
        let is_removed = !path.exists();
        RewrittenFile {
            place,
            path,
            is_removed,
        }
    }
}

/// Report about files beside the store.
#[derive(Debug, Default)]
pub(super) struct OutsideReport {
    pub(super) left: Vec<Leftover>,
    pub(super) rewritten: Vec<RewrittenFile>,
}

impl OutsideReport {
    /// Adds what became of a file: whether it was changed, or why it could not be.
    fn add(&mut self, place: ForgetPlace, path: &Path, changed: Result<bool>) {
        let path = path.to_path_buf();
        match changed {
            Ok(true) => self.rewritten.push(RewrittenFile::new(place, path)),
            Ok(false) => {}
            Err(error) => self.left.push(Leftover {
                reason: reason_without_path(&error, &path),
                path,
            }),
        }
    }
}

/// Returns why something could not be done to a file, without naming the file once more.
fn reason_without_path(error: &Error, path: &Path) -> String {
    match error {
        Error::Path { path: of, source } if of == path => format!("it cannot be read: {source}"),
        Error::Unwritable { path: of, source } if of == path => {
            format!("it cannot be written: {source}")
        }
        Error::Catalogue { path: of, reason } | Error::Publish { path: of, reason }
            if of == path =>
        {
            reason.clone()
        }
        error => error.to_string(),
    }
}

impl Upkeep<'_> {
    /// Returns what forgetting sessions would change outside of the store.
    pub fn plan_forget(
        &self,
        sessions: &[SessionHead],
        places: &ForgetPlaces,
    ) -> Result<ForgetPlan> {
        let rows: Vec<SessionId> = sessions.iter().map(|session| session.id).collect();
        let logs = self.memory.store.logs_of_sessions(&rows)?.into_iter();
        let agent_logs = existing(logs.map(PathBuf::from).collect());
        let Some(catalogue) = &places.catalogue else {
            return Ok(ForgetPlan {
                agent_logs,
                ..ForgetPlan::default()
            });
        };
        let (changes, problems) = match self.memory.patterns().entry_changes(catalogue, sessions) {
            Ok(changes) => changes,
            // The real run names what it cannot change and goes on, so this must not stop here either.
            Err(error) => {
                let reason = reason_without_path(&error, catalogue);
                let path = catalogue.clone();
                (Vec::new(), vec![Problem { path, reason }])
            }
        };
        let mut refused = Vec::new();
        if !problems.is_empty() {
            let names = Names::new(sessions);
            let probes = Probes::new(&self.memory.store, sessions, &names)?;
            refused = refused_files(problems, &names, &probes);
        }
        let mut folders: Vec<PathBuf> = self
            .memory
            .store
            .known_folders()?
            .into_iter()
            .map(PathBuf::from)
            .collect();
        folders.extend(places.here.clone());
        let (published, missing) = published_files(&changes, &folders, places.user_home.as_deref());
        Ok(ForgetPlan {
            catalogue: changes.into_iter().map(|change| change.path).collect(),
            published,
            missing,
            refused,
            agent_logs,
        })
    }

    /// Takes what sessions said out of all files beside the store. What cannot be changed is left and named: it must not keep the
    /// store from forgetting.
    pub(super) fn forget_outside(
        &self,
        sessions: &[SessionHead],
        intent: &Intent,
        names: &Names,
        probes: &Probes,
        lock: &VerdictsLock,
    ) -> Result<OutsideReport> {
        let mut report = OutsideReport::default();
        if let Some(folder) = &intent.catalogue {
            match self.memory.patterns().entry_changes(folder, sessions) {
                Ok((changes, problems)) => {
                    change_catalogue(&changes, &intent.published, &mut report);
                    report.left.extend(refused_files(problems, names, probes));
                }
                Err(error) => report.add(ForgetPlace::Catalogue, folder, Err(error)),
            }
        }
        for path in intent.spool.iter().flat_map(|folder| files_in(folder)) {
            let changed = clean_capture(&path, names, probes);
            report.add(ForgetPlace::Spool, &path, changed);
        }
        for path in self.forget_lines(|line| is_logged_of(line, names, probes))? {
            report.add(ForgetPlace::EventLog, &path, Ok(true));
        }
        let verdicts = self.memory.digest_verdicts();
        let changed = verdicts.change_lines(lock, |line| self.clean_verdict(line, names, probes));
        report.add(ForgetPlace::Verdicts, &verdicts.path(), changed);
        Ok(report)
    }

    /// Removes the verdicts about a forgotten session; of another one, texts with words that its own notes do not have, and ids.
    fn clean_verdict(
        &self,
        line: String,
        names: &Names,
        probes: &Probes,
    ) -> Result<Option<String>> {
        let is_quoted = |line: &str| {
            names.masked(line.as_bytes()).is_some() || probes.has_word(line.as_bytes())
        };
        let Ok(verdict) = serde_json::from_str::<DigestVerdict>(&line) else {
            return Ok((!is_quoted(&line)).then_some(line));
        };
        if names.has_session(&verdict.agent, &verdict.session) {
            return Ok(None);
        }
        if !is_quoted(&line) {
            return Ok(Some(line));
        }
        let notes = self.notes_of(&verdict)?;
        let mut kept = verdict;
        kept.retain_texts(|text| !probes.has_word_beyond(text.as_bytes(), &notes));
        let json = serde_json::to_string(&kept).map_err(std::io::Error::from)?;
        let masked = names.masked(json.as_bytes());
        let masked = masked.and_then(|masked| String::from_utf8(masked).ok());
        Ok(Some(masked.unwrap_or(json)))
    }

    /// Returns the stored notes of a judged session; nothing when there are none.
    fn notes_of(&self, verdict: &DigestVerdict) -> Result<Vec<u8>> {
        let rows = self.memory.store.find_sessions(&verdict.session)?;
        let row = rows.into_iter().find(|row| row.name() == verdict.name());
        let Some(row) = row else {
            return Ok(Vec::new());
        };
        let digest = unless_damaged(&self.memory.store, self.memory.store.digest(row.id))?;
        Ok(digest.map(|digest| digest.notes).unwrap_or_default())
    }
}

/// Returns whether a line of the event log, or the data of one of its rows, tells of the sessions.
pub(super) fn is_logged_of(json: &[u8], names: &Names, probes: &Probes) -> bool {
    let ids = logged_sessions(json);
    names.masked(json).is_some() || probes.has_word(json) || ids.iter().any(|id| names.has_id(id))
}

/// Returns files of the catalogue that were refused and may quote the sessions: those that do, and those that nobody can read.
fn refused_files(problems: Vec<Problem>, names: &Names, probes: &Probes) -> Vec<Leftover> {
    let quotes = |problem: &Problem| match read_whole(&problem.path) {
        Ok(bytes) => names.masked(&bytes).is_some() || probes.has_word(&bytes),
        Err(error) => error.kind() != ErrorKind::NotFound,
    };
    let quoting = problems.into_iter().filter(quotes);
    let left = quoting.map(|Problem { path, reason }| Leftover {
        reason: format!("it is not read: {reason}"),
        path,
    });
    left.collect()
}

/// Changes published blocks first: stopped in between, the catalogue still tells what is to be done.
fn change_catalogue(changes: &[EntryChange], published: &[PathBuf], report: &mut OutsideReport) {
    for path in published {
        report.add(
            ForgetPlace::PublishedFile,
            path,
            rewrite_block(path, changes),
        );
    }
    for change in changes {
        let changed = change.apply().map(|()| true);
        report.add(ForgetPlace::Catalogue, &change.path, changed);
    }
}

/// Removes a waiting capture of a forgotten session, masks its id in one of another. Of files that nobody can read only those stay
/// that say nothing of it. Returns whether the file was changed or removed.
fn clean_capture(path: &Path, names: &Names, probes: &Probes) -> Result<bool> {
    let failed = |source| Error::Path {
        path: path.to_path_buf(),
        source,
    };
    let bytes = match read_whole(path) {
        Ok(bytes) => bytes,
        // Another process was faster.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(failed(error)),
    };
    let capture: Option<Capture> = serde_json::from_slice(&bytes).ok();
    let is_gone = match &capture {
        Some(capture) => {
            let session = capture.input.session.as_deref();
            session.is_some_and(|session| names.has_session(capture.input.agent.name, session))
        }
        None => names.masked(&bytes).is_some() || probes.has_word(&bytes),
    };
    if is_gone {
        return match std::fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(error)),
            _ => Ok(true),
        };
    }
    match names.masked(&bytes) {
        Some(masked) => write_private(path, &masked).map(|()| true),
        None => Ok(false),
    }
}

/// Returns the files in a folder.
pub(super) fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    files.map(|entry| entry.path()).collect()
}

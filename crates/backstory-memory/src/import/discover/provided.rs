//! Logs that lie inside of another file, such as a columnar one. Who opens that file gives their bytes.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use backstory_agents::LogAgent;
use backstory_store::Store;

use super::{Found, Glance, Walk, fingerprint};
use crate::error::Result;
use crate::path_text::{CONTAINER_MARK, path_text};
use crate::redaction::stored_path;
use crate::trusted::{LogOrigin, open_log};

/// Longer paths are no paths.
const MAX_PATH_BYTES: usize = 4096;

/// Bytes that are compared at once.
const COMPARED_BYTES: u64 = 1 << 20;

/// A log that lies inside of another file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvidedLog {
    /// Name of the agent that wrote it.
    pub agent: String,
    /// The file that it lies in, as an absolute path.
    pub container: PathBuf,
    /// Its own path, before it came there: readers take ids from it. Nothing is opened there.
    pub path: String,
    /// File with its bytes, in a folder of the caller's own. Its name does not matter unless it ends in `.zst`.
    pub file: PathBuf,
}

impl ProvidedLog {
    /// The path that a store knows it by: container, `!`, own path.
    pub fn stored_path(&self) -> String {
        let slash = if self.path.starts_with('/') { "" } else { "/" };
        format!("{}!{slash}{}", path_text(&self.container), self.path)
    }
}

impl Walk<'_> {
    /// Finds provided logs. Those whose bytes the store has, by their own path or from any container, are unchanged.
    pub(super) fn provided(&mut self, logs: &[ProvidedLog]) -> Result<()> {
        let mut copies: HashMap<String, Vec<String>> = HashMap::new();
        for key in self.known.keys().filter(|_| !logs.is_empty()) {
            let path = key.rsplit_once(CONTAINER_MARK);
            let path = path.map_or(key.clone(), |(_, path)| format!("/{path}"));
            copies.entry(path).or_default().push(key.clone());
        }
        for log in logs {
            let path = log.stored_path();
            if path.len() > MAX_PATH_BYTES || path.contains(char::is_control) {
                self.problem(&log.container, &"the name of a log in it is no path");
                continue;
            }
            match self.provided_log(log, &path, &copies) {
                Ok(Ok(Some(found))) => {
                    self.files.insert(found.key.clone(), found);
                }
                Ok(Ok(None)) => {}
                Ok(Err(reason)) => self.problem(Path::new(&path), &reason),
                Err(error) => return Err(error),
            }
        }
        // As beside each other on disk: one that another one holds better is left alone.
        let superseding: Vec<String> = logs
            .iter()
            .filter_map(|log| {
                let known = LogAgent::find(&log.agent)?;
                let key = stored_path(self.redactor, &log.stored_path());
                let other = known.reader.superseded_by(Path::new(&key))?;
                let other = self.files.get(other.to_str()?)?;
                (other.fingerprint.size > 0).then_some(key)
            })
            .collect();
        for key in superseding {
            self.files.remove(&key);
        }
        Ok(())
    }

    /// Finds one of them; `None` when it is not wanted. The inner error is why it cannot be read.
    fn provided_log(
        &self,
        log: &ProvidedLog,
        path: &str,
        copies: &HashMap<String, Vec<String>>,
    ) -> Result<std::result::Result<Option<Found>, String>> {
        let Some(known) = LogAgent::find(&log.agent) else {
            return Ok(Err(format!("the agent {:?} is not known", log.agent)));
        };
        if !self.wanted(known) {
            return Ok(Ok(None));
        }
        let opened = open_log(&log.file, LogOrigin::User).and_then(|file| file.metadata());
        let glance = opened.and_then(|metadata| {
            let glance = Glance::take(&log.file, metadata.len(), LogOrigin::User)?;
            Ok((fingerprint(&metadata), glance))
        });
        let (fingerprint, glance) = match glance {
            Ok(found) => found,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let key = stored_path(self.redactor, path);
        let named = Path::new(&key);
        let reader = known.reader;
        let recognised = || reader.recognises(named, &glance.head);
        let Some(shape) = reader.named(named).or_else(recognised) else {
            return Ok(Err(format!("it is no log of {}", known.agent.name)));
        };
        let mut unchanged = false;
        if let Some(store) = self.store {
            unchanged = !self.known.contains_key(&key)
                && store.has_forgotten(known.agent.name, &key).unwrap_or(true);
            let own_path = key.rsplit_once(CONTAINER_MARK);
            let own_path = own_path.map_or(String::new(), |(_, path)| format!("/{path}"));
            let copies = copies.get(&own_path).into_iter().flatten();
            for copy in copies {
                unchanged = unchanged || is_stored(store, copy, &log.file)?;
            }
        }
        Ok(Ok(Some(Found {
            path: log.file.clone(),
            agent: known.agent,
            reader,
            shape,
            origin: LogOrigin::User,
            fingerprint,
            unchanged,
            order: glance.order(reader),
            key,
        })))
    }
}

/// Returns whether a stored log begins with all the bytes of a file.
fn is_stored(store: &Store, path: &str, file: &Path) -> Result<bool> {
    let Some(cursor) = store.cursor(path)? else {
        return Ok(false);
    };
    let mut bytes = store.bytes();
    let mut at = 0;
    // What cannot be read of either is imported, which says why.
    let Ok(mut file) = open_log(file, LogOrigin::User) else {
        return Ok(false);
    };
    loop {
        let mut piece = Vec::new();
        match file.by_ref().take(COMPARED_BYTES).read_to_end(&mut piece) {
            Ok(0) => return Ok(at > 0),
            Ok(_) => {}
            Err(_) => return Ok(false),
        }
        match bytes.read(cursor.stream, at, piece.len() as u64) {
            Ok(stored) if stored == piece => at += piece.len() as u64,
            _ => return Ok(false),
        }
    }
}

#[cfg(test)]
mod tests;

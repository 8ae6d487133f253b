//! The redactor of a store, and paths without secrets.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use backstory_redact::{RULES, Redactor};
use backstory_store::{Project, Store};

use crate::Memory;
use crate::error::Result;
use crate::path_text::path_text;
use crate::random::random_key;

/// The setting that the key of a store's redactor is made of.
pub(crate) const KEY_SETTING: &str = "redaction-key";

/// The setting that says that something was stored without redaction.
const UNREDACTED_SETTING: &str = "stored-unredacted";

impl Memory {
    /// Notes that something is stored without redaction.
    pub(crate) fn mark_unredacted(&self) -> Result<()> {
        match self.store.kept(UNREDACTED_SETTING)? {
            Some(_) => Ok(()),
            None => Ok(self.store.keep(UNREDACTED_SETTING, b"1")?),
        }
    }

    /// Returns whether anything was ever stored without redaction. What was is not redacted later.
    pub fn has_unredacted(&self) -> Result<bool> {
        Ok(self.store.kept(UNREDACTED_SETTING)?.is_some())
    }

    /// Returns a redactor for files that are made of the store, with the store's key, if it has one. Writes nothing.
    pub fn export_redactor(&self) -> Result<Redactor> {
        redactor_of_store(Some(&self.store))
    }
}

/// Returns the redactor of a store that may not be there, or have no key yet. Writes nothing.
pub(crate) fn redactor_of_store(store: Option<&Store>) -> Result<Redactor> {
    let value = match store {
        Some(store) => store.kept(KEY_SETTING)?,
        None => None,
    };
    let key = value.map_or_else(random_key, |value| *blake3::hash(&value).as_bytes());
    Ok(Redactor::new(key))
}

/// Returns a path as it may be stored; without a redactor it stays as it is.
pub(crate) fn stored_path(redactor: Option<&Redactor>, path: &str) -> String {
    match redactor {
        Some(redactor) => redactor.redact_path(path).into_owned(),
        None => path.to_string(),
    }
}

/// Returns a text as it may be stored; without a redactor it stays as it is.
pub(crate) fn stored_text(redactor: Option<&Redactor>, text: String) -> String {
    let redacted = redactor.map(|redactor| redactor.redact(text.as_bytes(), &[]).bytes);
    match redacted {
        Some(Cow::Owned(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
        _ => text,
    }
}

/// Returns an id or a path with markers in place of its secrets. The hashes of the markers are those of no store: the text is for comparing.
pub fn redact_name(name: &str) -> String {
    let redactor = Redactor::new([0; 32]);
    stored_text(Some(&redactor), stored_path(Some(&redactor), name))
}

/// Returns a path as it may be shown.
pub(crate) fn shown_path(redactor: Option<&Redactor>, path: &Path) -> PathBuf {
    PathBuf::from(stored_path(redactor, &path_text(path)))
}

/// Redacts the paths that a store has from before the rules knew what is in them.
pub(crate) fn redact_stored_paths(store: &Store, redactor: &Redactor) -> Result<()> {
    let mut rules = blake3::Hasher::new();
    for rule in RULES {
        rules.update(rule.id.as_bytes());
    }
    let redact = |path: &str| match redactor.redact_path(path) {
        Cow::Owned(redacted) => Some(redacted),
        Cow::Borrowed(_) => None,
    };
    Ok(store.redact_paths(rules.finalize().as_bytes(), redact)?)
}

/// A project as it may be stored.
pub(crate) fn redacted_project(project: Project, redactor: &Redactor) -> Project {
    let redacted = |text: String| redactor.redact_path(&text).into_owned();
    Project {
        root: redacted(project.root),
        remote: project.remote.map(redacted),
    }
}

//! The redactor of a store, if the user wants secrets redacted.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use backstory_session::redact::{RULES, Redactor};
use backstory_store::{Project, Store};

use crate::error::Result;
use crate::path_text::path_text;
use crate::sweep::random_key;

/// The setting that the key of a store's redactor is made of.
pub(crate) const KEY_SETTING: &str = "redaction-key";

/// A redactor, or none where nothing is redacted.
pub(crate) struct OptionalRedactor(Option<Redactor>);

impl OptionalRedactor {
    /// A redactor with this key; without one nothing is redacted.
    pub(crate) fn new(key: Option<[u8; 32]>) -> Self {
        OptionalRedactor(key.map(Redactor::new))
    }

    /// The redactor of a store that may not be there, or have no key yet. Writes nothing.
    pub(crate) fn of_store(store: Option<&Store>) -> Result<Self> {
        let value = match store {
            Some(store) => store.kept(KEY_SETTING)?,
            None => None,
        };
        let key = value.map_or_else(random_key, |value| *blake3::hash(&value).as_bytes());
        Ok(OptionalRedactor::new(Some(key)))
    }

    /// The redactor; `None` when nothing is to be redacted.
    pub(crate) fn get(&self) -> Option<&Redactor> {
        self.0.as_ref()
    }

    /// A path as it may be stored and shown.
    pub(crate) fn path_name(&self, path: &str) -> String {
        match self.get() {
            Some(redactor) => redactor.redact_path(path).into_owned(),
            None => path.to_string(),
        }
    }

    /// A path as it may be shown.
    pub(crate) fn shown_path(&self, path: &Path) -> PathBuf {
        PathBuf::from(self.path_name(&path_text(path)))
    }
}

/// Redacts the paths that a store has from before the rules knew what is in them.
pub(crate) fn redact_stored_paths(store: &mut Store, redactor: &OptionalRedactor) -> Result<()> {
    let Some(redactor) = redactor.get() else {
        return Ok(());
    };
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

//! Reading logs without a store that lasts.

use std::ops::Deref;
use std::path::Path;
use std::time::Instant;

use backstory_redact::Redactor;
use backstory_store::Store;

use crate::Memory;
use crate::digest;
use crate::error::Result;
use crate::import::discover::discover;
use crate::import::sweep::{ImportOptions, ImportReport, Progress};
use crate::redaction::redactor_of_store;
use crate::temporary::TemporaryFolder;

/// A memory of some logs in a private temporary folder, which goes when this is dropped. Sessions and their events are read from it as
/// from any other [`Memory`]; it has no full-text index, no digests and no code history.
pub struct LogMemory {
    // Closed before its folder is removed.
    memory: Memory,
    report: ImportReport,
    redactor: Option<Redactor>,
    _folder: TemporaryFolder,
}

impl LogMemory {
    /// Returns the report of the import, with [files that could not be read](ImportReport::problems). [`Upkeep::skipped`](crate::Upkeep::skipped) has the records that were skipped.
    pub fn report(&self) -> &ImportReport {
        &self.report
    }

    /// Returns the redactor of the logs, if secrets were redacted.
    pub fn redactor(&self) -> Option<Redactor> {
        self.redactor
    }
}

impl Deref for LogMemory {
    type Target = Memory;

    fn deref(&self) -> &Memory {
        &self.memory
    }
}

/// Reads logs into a temporary folder below `parent`, redacted if the options say so: with the key of the store in `key_home`, so that a
/// secret has the same marker here and there, or with a random one if there is no such store. It takes about a fifth of the size of the
/// logs there. [`ImportOptions::retain`] does not matter.
pub fn read_logs(
    parent: &Path,
    key_home: Option<&Path>,
    options: &ImportOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<LogMemory> {
    let started = Instant::now();
    let folder = TemporaryFolder::create(parent)?;
    let store = Store::open_temporary(folder.path())?;
    let memory = Memory::of(folder.path(), store);
    let redactor = match options.redact {
        true => {
            // A damaged one is no reason not to read logs.
            let keys = key_home.and_then(|home| Store::open_untouched(home).ok().flatten());
            Some(redactor_of_store(keys.as_ref())?)
        }
        false => None,
    };
    let discovery = discover(&options.sources, None, folder.path(), redactor.as_ref())?;
    let mut report = memory.import_only(options, &discovery, redactor.as_ref(), progress)?;
    memory.store.settle_titles()?;
    digest::settle_titles(folder.path(), &memory.store)?;
    report.seconds = started.elapsed().as_secs_f64();
    Ok(LogMemory {
        memory,
        report,
        redactor,
        _folder: folder,
    })
}

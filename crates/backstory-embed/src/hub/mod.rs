//! Fetches a model's files from the public hub: the one thing in this crate that needs a network, and only when it is called.
//!
//! Every file is written beside its place as `.part`, goes on from there after an interruption, and gets its name only when its
//! checksum is the one that the hub (or, where it is known, the catalogue) names.

mod catalogue;
mod checksum;
mod download;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;
use std::time::Duration;

pub use self::catalogue::{CATALOGUE, Entry, HubFile};
use crate::{Error, Result};

/// Where the models of the catalogue are published.
pub const HUB: &str = "https://huggingface.co";

/// How long to wait before the second attempt; twice as long before each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// How far a download is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The file that is being fetched.
    pub file: &'a str,
    /// How many of its bytes have arrived.
    pub done: u64,
    /// How many there are, where the hub says so.
    pub total: Option<u64>,
}

/// The model of a name, in any case.
pub fn find(name: &str) -> Option<&'static Entry> {
    CATALOGUE
        .iter()
        .find(|entry| entry.name.eq_ignore_ascii_case(name))
}

/// Fetches the files of a model into a folder that [`crate::import()`] takes. Files that are there are left as they are.
pub fn pull(
    entry: &Entry,
    hub_url: &str,
    folder: &Path,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<()> {
    let agent = download::agent(ureq::Proxy::try_from_env());
    pull_with(&agent, entry, hub_url, folder, progress, FIRST_PAUSE)
}

fn pull_with(
    agent: &ureq::Agent,
    entry: &Entry,
    hub_url: &str,
    folder: &Path,
    progress: &mut dyn FnMut(Progress<'_>),
    pause: Duration,
) -> Result<()> {
    for file in entry.files {
        let target = folder.join(file.name);
        if let Ok(metadata) = fs::metadata(&target) {
            progress(Progress {
                file: file.name,
                done: metadata.len(),
                total: Some(metadata.len()),
            });
            continue;
        }
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(|error| Error::io(parent, error))?;
        }
        let url = format!(
            "{}/{}/resolve/{}/{}",
            hub_url.trim_end_matches('/'),
            entry.repository,
            entry.revision,
            file.name
        );
        download::fetch(agent, &url, file, &target, progress, pause)?;
    }
    Ok(())
}

//! What the database knows of the index: the seal.

use std::io::Read;
use std::path::Path;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use super::{IndexError, LAYOUT, generation_folder};
use crate::error::Result;
use crate::lag::{ConsumerId, Lag, clear_lag};
use crate::open::Store;
use crate::private;
use crate::settings::keep;

/// Where the database keeps the seal.
const SETTING: &str = "index-seal";

/// How the current generation of the index looked after its last commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seal {
    layout: u32,
    /// Which generation; also the name of its folder.
    pub(super) generation: u64,
    files: Vec<SealedFile>,
    /// Hash of the file in which Tantivy names the segments of the last commit, each by a random id: no other index has the same. `None`
    /// in seals of older versions.
    #[serde(default)]
    meta: Option<String>,
}

/// A file cannot be changed by ordinary means without one of these changing too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SealedFile {
    name: String,
    size: u64,
    modified_ns: u128,
    #[serde(default)]
    changed_ns: i128,
    #[serde(default)]
    inode: u64,
}

impl Seal {
    /// Seals the files of a generation as they are now.
    pub(super) fn of(index: &Path, generation: u64) -> Result<Seal, IndexError> {
        let files = list_files(index, generation)?;
        Ok(Seal {
            layout: LAYOUT,
            generation,
            files,
            meta: Some(hash_meta(&generation_folder(index, generation))?),
        })
    }

    /// Whether the files look as they did when they were sealed; an error when one is somebody else's.
    pub(super) fn compare_files(&self, index: &Path) -> Result<bool, IndexError> {
        Ok(list_files(index, self.generation)? == self.files)
    }

    /// Hash of the last sealed commit, which the next one names as its predecessor.
    pub(super) fn meta(&self) -> Option<&str> {
        self.meta.as_deref()
    }

    /// Refuses an index that is not the sealed one: that of another store, or an older one of this store. The commit after the sealed
    /// one is accepted, for a writer may have been stopped before it could store the seal.
    pub(super) fn check_identity(
        &self,
        index: &Path,
        predecessor: Option<&str>,
    ) -> Result<(), IndexError> {
        let found = hash_meta(&generation_folder(index, self.generation))?;
        match self.meta() {
            Some(sealed) if found == sealed || predecessor == Some(sealed) => Ok(()),
            _ => Err(IndexError::Damaged(
                "it is not the index that was made from this database".to_string(),
            )),
        }
    }

    /// Whether it seals an index as this program writes it.
    pub(super) fn is_current_layout(&self) -> bool {
        self.layout == LAYOUT
    }

    /// Whether the files look as they did when they were sealed.
    pub fn looks_whole(&self, index: &Path) -> bool {
        self.is_current_layout() && self.compare_files(index).unwrap_or(false)
    }

    /// Removes other generations. Readers that still have one open keep it until they close it.
    pub fn remove_other_generations(&self, index: &Path) {
        let current = self.generation.to_string();
        for entry in std::fs::read_dir(index).into_iter().flatten().flatten() {
            if entry.file_name() != *current {
                // What cannot be removed now will be the next time.
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }

    /// The generation after this one.
    pub(super) fn next(seal: Option<&Seal>) -> u64 {
        seal.map_or(1, |seal| seal.generation + 1)
    }
}

fn unreadable(error: &std::io::Error) -> IndexError {
    IndexError::Damaged(error.to_string())
}

/// Lists the files of a generation by their looks. Refuses files of somebody else, links and special files: none of those was written
/// by us.
fn list_files(index: &Path, generation: u64) -> Result<Vec<SealedFile>, IndexError> {
    let folder = generation_folder(index, generation);
    private::check_owner(&folder).map_err(|error| unreadable(&error))?;
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(|error| unreadable(&error))? {
        let entry = entry.map_err(|error| unreadable(&error))?;
        let metadata = entry.metadata().map_err(|error| unreadable(&error))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        private::check_own_file(&metadata)
            .map_err(|error| IndexError::Damaged(format!("{name}: {error}")))?;
        if !name.ends_with(".lock") && !name.ends_with(".new") {
            files.push(SealedFile::of(name, &metadata));
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

fn hash_meta(generation: &Path) -> Result<String, IndexError> {
    let path = generation.join("meta.json");
    let mut bytes = Vec::new();
    private::open_regular(&path)
        .and_then(|mut file| file.read_to_end(&mut bytes))
        .map_err(|error| unreadable(&error))?;
    Ok(blake3::hash(&bytes).to_hex().to_string())
}

impl SealedFile {
    fn of(name: String, metadata: &std::fs::Metadata) -> Self {
        let modified = metadata.modified().ok();
        let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        #[cfg(unix)]
        let (changed_ns, inode) = {
            use std::os::unix::fs::MetadataExt;
            let seconds = i128::from(metadata.ctime()) * 1_000_000_000;
            (seconds + i128::from(metadata.ctime_nsec()), metadata.ino())
        };
        #[cfg(not(unix))]
        let (changed_ns, inode) = (0, 0);
        SealedFile {
            name,
            size: metadata.len(),
            modified_ns: modified.map_or(0, |time| time.as_nanos()),
            changed_ns,
            inode,
        }
    }
}

impl Store {
    /// The seal of the current index; `None` when there is no index.
    pub fn seal(&self) -> Result<Option<Seal>> {
        let value = self.kept(SETTING)?;
        Ok(value.and_then(|value| serde_json::from_slice(&value).ok()))
    }

    /// Takes note that the index of this seal has these sessions, except for what changed meanwhile.
    pub fn settle_index(&self, seal: &Seal, consumer: ConsumerId, indexed: &[Lag]) -> Result<()> {
        let transaction = self.connection.unchecked_transaction()?;
        clear_lag(&transaction, consumer, indexed)?;
        let value = serde_json::to_vec(seal).unwrap_or_default();
        keep(&transaction, SETTING, &value)?;
        Ok(transaction.commit()?)
    }
}

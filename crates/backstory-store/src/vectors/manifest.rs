//! The manifest: which segments a folder's set of vectors consists of.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use twox_hash::XxHash3_64;

use super::layout::{EXTENSION, Entry, Model, VERSION};
use super::{Result, VectorError, damaged, on, write};
use crate::private::check_owner;

const MAGIC: &[u8; 8] = b"BSTRYVEC";
const HEAD_BYTES: usize = 8 + 4 + 4 + 32 + 8;
const ENTRY_BYTES: usize = 24;
const HASH_BYTES: usize = 8;

/// Segments double in size, so no set has more than a few dozen.
const MOST_BYTES: u64 = 1 << 20;

/// Which segments a set consists of, oldest rows first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Manifest {
    pub(super) model: Model,
    /// The number of the next segment.
    pub(super) next: u64,
    pub(super) entries: Vec<Entry>,
}

impl Manifest {
    pub(super) fn path(folder: &Path) -> PathBuf {
        folder.join("manifest")
    }

    /// Reads a folder's manifest; `None` when the folder is not there or holds nothing.
    pub(super) fn read(folder: &Path) -> Result<Option<Self>> {
        let path = Self::path(folder);
        for path in [folder, path.as_path()] {
            check_owner(path).map_err(|error| damaged(path, error.to_string()))?;
        }
        match std::fs::metadata(&path) {
            Ok(metadata) if metadata.is_file() && metadata.len() <= MOST_BYTES => {
                let bytes = std::fs::read(&path).map_err(on(&path))?;
                Self::parse(&bytes, &path).map(Some)
            }
            Ok(_) => Err(damaged(&path, "it is no manifest")),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // The manifest is written before the first segment, so a segment without one has lost it.
                if segments(folder)?.is_empty() {
                    Ok(None)
                } else {
                    Err(damaged(&path, "it is missing"))
                }
            }
            Err(error) => Err(on(&path)(error)),
        }
    }

    /// Like [`Manifest::read`], but only for this model.
    pub(super) fn read_for(folder: &Path, model: &Model) -> Result<Option<Self>> {
        let manifest = Self::read(folder)?;
        if manifest
            .as_ref()
            .is_some_and(|manifest| manifest.model != *model)
        {
            let path = Self::path(folder);
            return Err(VectorError::OtherModel { path });
        }
        Ok(manifest)
    }

    /// Puts this manifest in the place of the one that is there, in one step.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        let path = Self::path(folder);
        let temporary = Self::temporary(folder);
        let mut file = write::create(&temporary)?;
        file.write_all(&self.bytes()).map_err(on(&temporary))?;
        file.sync_all().map_err(on(&temporary))?;
        drop(file);
        std::fs::rename(&temporary, &path).map_err(on(&path))?;
        // Without this, a power cut could bring the old manifest back after the segments that it names were removed. Folders cannot
        // be opened everywhere; where they cannot, the file system sees to it.
        #[cfg(unix)]
        std::fs::File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(on(folder))?;
        Ok(())
    }

    /// The manifest while it is being written.
    pub(super) fn temporary(folder: &Path) -> PathBuf {
        folder.join("manifest.new")
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&self.model.dimensions.to_le_bytes());
        bytes.extend_from_slice(&self.model.id);
        bytes.extend_from_slice(&self.next.to_le_bytes());
        for entry in &self.entries {
            for number in [entry.number, entry.rows, entry.hash] {
                bytes.extend_from_slice(&number.to_le_bytes());
            }
        }
        let hash = XxHash3_64::oneshot(&bytes);
        bytes.extend_from_slice(&hash.to_le_bytes());
        bytes
    }

    fn parse(bytes: &[u8], path: &Path) -> Result<Self> {
        let fault = |what: &str| Err(damaged(path, what));
        let Some((content, hash)) = bytes.split_last_chunk::<HASH_BYTES>() else {
            return fault("it is too short");
        };
        if XxHash3_64::oneshot(content) != u64::from_le_bytes(*hash) {
            return fault("its content does not fit its hash");
        }
        let Some((head, entries)) = content.split_first_chunk::<HEAD_BYTES>() else {
            return fault("it is too short");
        };
        let (entries, []) = entries.as_chunks::<ENTRY_BYTES>() else {
            return fault("it ends within an entry");
        };
        let mut head = Fields(head);
        if head.take() != *MAGIC || u32::from_le_bytes(head.take()) != VERSION {
            return fault("another version of the program wrote it");
        }
        let dimensions = u32::from_le_bytes(head.take());
        let id = head.take();
        Ok(Manifest {
            model: Model { id, dimensions },
            next: u64::from_le_bytes(head.take()),
            entries: entries.iter().map(|entry| read_entry(entry)).collect(),
        })
    }
}

fn read_entry(bytes: &[u8]) -> Entry {
    let mut fields = Fields(bytes);
    Entry {
        number: u64::from_le_bytes(fields.take()),
        rows: u64::from_le_bytes(fields.take()),
        hash: u64::from_le_bytes(fields.take()),
    }
}

/// Takes one field after the other; what is beyond the end is zero.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const LENGTH: usize>(&mut self) -> [u8; LENGTH] {
        let Some((field, rest)) = self.0.split_first_chunk() else {
            return [0; LENGTH];
        };
        self.0 = rest;
        *field
    }
}

/// The segments in a folder, whether a manifest names them or not.
pub(super) fn segments(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(on(folder)(error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(on(folder))?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == EXTENSION)
        {
            paths.push(path);
        }
    }
    Ok(paths)
}

//! Bytes that wait in a temporary file until they are needed again. Its name is removed as soon as it is made, so a kill leaves nothing behind.

use std::fs::File;
use std::io::{Read, Result, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Bytes that are kept in memory: a file is only made when there are more.
const MAX_MEMORY_BYTES: usize = if cfg!(test) { 64 } else { 1 << 20 };

/// Byte strings in the order in which they were added: the last ones in memory, those before in a temporary file.
pub(super) struct SpillFile {
    folder: PathBuf,
    max_bytes: u64,
    file: Option<Mutex<File>>,
    /// Bytes in the file.
    spilled: u64,
    memory: Vec<u8>,
}

/// Where a byte string lies.
#[derive(Clone, Copy)]
pub(super) struct Place {
    offset: u64,
    length: usize,
}

impl SpillFile {
    /// Keeps up to this number of bytes; the file is made in this folder.
    pub(super) fn new(folder: PathBuf, max_bytes: u64) -> Self {
        SpillFile {
            folder,
            max_bytes,
            file: None,
            spilled: 0,
            memory: Vec::new(),
        }
    }

    /// Adds bytes; `None` if there is no room for them.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<Option<Place>> {
        let offset = self.spilled + self.memory.len() as u64;
        if offset + bytes.len() as u64 > self.max_bytes {
            return Ok(None);
        }
        if !self.memory.is_empty() && self.memory.len() + bytes.len() > MAX_MEMORY_BYTES {
            self.spill()?;
        }
        self.memory.extend_from_slice(bytes);
        let length = bytes.len();
        Ok(Some(Place { offset, length }))
    }

    fn spill(&mut self) -> Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(Mutex::new(tempfile::tempfile_in(&self.folder)?)),
        };
        let file = file.get_mut().unwrap_or_else(PoisonError::into_inner);
        // Where a write that failed began, not where it ended.
        file.seek(SeekFrom::Start(self.spilled))?;
        file.write_all(&self.memory)?;
        self.spilled += self.memory.len() as u64;
        self.memory.clear();
        Ok(())
    }

    /// Returns bytes that were added.
    pub(super) fn read(&self, place: Place) -> Result<Vec<u8>> {
        if let Some(start) = place.offset.checked_sub(self.spilled) {
            let start = start as usize;
            let bytes = self.memory.get(start..start + place.length);
            return bytes
                .map(<[u8]>::to_vec)
                .ok_or_else(|| std::io::ErrorKind::UnexpectedEof.into());
        }
        let Some(file) = &self.file else {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        };
        let mut bytes = vec![0; place.length];
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(place.offset))?;
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_what_was_added_from_memory_and_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut spill = SpillFile::new(folder.path().to_path_buf(), 10_000);
        let texts: Vec<Vec<u8>> = (0..50u8)
            .map(|number| vec![number; usize::from(number) * 3])
            .collect();
        let places: Vec<Place> = texts
            .iter()
            .map(|text| spill.append(text).unwrap().unwrap())
            .collect();
        assert!(spill.spilled > 0 && !spill.memory.is_empty());
        for (text, place) in texts.iter().zip(&places).rev() {
            assert_eq!(&spill.read(*place).unwrap(), text);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn refuses_more_than_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let mut spill = SpillFile::new(folder.path().to_path_buf(), 100);
        assert!(spill.append(&[1; 90]).unwrap().is_some());
        assert!(spill.append(&[2; 20]).unwrap().is_none());
        assert!(spill.append(&[3; 10]).unwrap().is_some());
    }

    #[test]
    fn goes_on_when_the_file_cannot_be_made() {
        let folder = tempfile::tempdir().unwrap();
        let mut spill = SpillFile::new(folder.path().join("missing"), 1000);
        let first = spill.append(&[1; 60]).unwrap().unwrap();
        assert!(spill.append(&[2; 60]).is_err());
        assert_eq!(spill.read(first).unwrap(), [1; 60]);
    }
}

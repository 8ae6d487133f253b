//! The folder that Tantivy writes to: private files, our own locks.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, Lock, META_LOCK, MmapDirectory,
    TerminatingWrite, WatchCallback, WatchHandle,
};

use crate::private::{ExpectedType, find_wrong_type};

/// Held for a moment by a reader that opens the files a commit names and by a writer that removes files no commit names.
const OPENING_LOCK: &str = "opening.lock";

/// Tantivy's own writer.
type WritePtr = BufWriter<Box<dyn TerminatingWrite + Send + Sync>>;

/// A folder of one index. Reads are memory-mapped by Tantivy; what is written is readable by the user alone.
#[derive(Clone, Debug)]
pub(super) struct IndexDirectory {
    mapped: MmapDirectory,
    folder: PathBuf,
}

impl IndexDirectory {
    pub(super) fn open(folder: &Path) -> tantivy::Result<Self> {
        Ok(IndexDirectory {
            mapped: MmapDirectory::open(folder)?,
            folder: folder.to_path_buf(),
        })
    }

    /// Refuses a pipe or device, which Tantivy would wait for.
    fn require_regular(&self, path: &Path) -> Result<(), OpenReadError> {
        let whole = self.folder.join(path);
        match find_wrong_type(&whole, ExpectedType::File) {
            None => Ok(()),
            Some(found) => Err(OpenReadError::wrap_io_error(
                io::Error::new(io::ErrorKind::InvalidData, format!("it is {found}")),
                path.to_path_buf(),
            )),
        }
    }
}

impl Directory for IndexDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.require_regular(path)?;
        self.mapped.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.mapped.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.mapped.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let file = private(OpenOptions::new().write(true).create_new(true))
            .open(self.folder.join(path))
            .map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => {
                    OpenWriteError::FileAlreadyExists(path.to_path_buf())
                }
                _ => OpenWriteError::wrap_io_error(error, path.to_path_buf()),
            })?;
        Ok(BufWriter::new(Box::new(DurableFile(file))))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.require_regular(path)?;
        let mut data = self.mapped.atomic_read(path)?;
        let length = data.len().saturating_sub(CHECKSUM);
        if data.get(length..) != Some(&checksum(&data[..length])[..]) {
            let error = io::Error::new(io::ErrorKind::InvalidData, "it is not what was written");
            return Err(OpenReadError::wrap_io_error(error, path.to_path_buf()));
        }
        data.truncate(length);
        Ok(data)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        let aside = self.folder.join(path).with_extension("new");
        let mut file =
            private(OpenOptions::new().write(true).create(true).truncate(true)).open(&aside)?;
        file.write_all(data)?;
        file.write_all(&checksum(data))?;
        file.sync_all()?;
        std::fs::rename(aside, self.folder.join(path))
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.mapped.sync_directory()
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        // That there is one writer is the caller's care.
        if lock.filepath != META_LOCK.filepath {
            return Ok(Box::new(()).into());
        }
        self.require_regular(Path::new(OPENING_LOCK))
            .map_err(|error| LockError::wrap_io_error(io::Error::other(error)))?;
        // A folder that may only be read has no writer either, so nothing need be locked there.
        let opened = private(OpenOptions::new().append(true).create(true))
            .open(self.folder.join(OPENING_LOCK));
        let Ok(file) = opened else {
            return Ok(Box::new(()).into());
        };
        file.lock().map_err(LockError::wrap_io_error)?;
        Ok(Box::new(file).into())
    }

    fn watch(&self, _: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}

/// Tantivy gives every file a checksum but for the two small ones that it rewrites: they end with one of ours.
fn checksum(data: &[u8]) -> [u8; CHECKSUM] {
    *blake3::hash(data).as_bytes()
}

const CHECKSUM: usize = blake3::OUT_LEN;

/// A file that is on the disk when Tantivy is done with it: a seal vouches for it later by its size and times alone.
struct DurableFile(File);

impl Write for DurableFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl TerminatingWrite for DurableFile {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.0.sync_data()
    }
}

fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

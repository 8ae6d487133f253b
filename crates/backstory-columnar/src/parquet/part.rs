//! Files that appear whole or not at all, and the lock by which writers wait for each other.

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use ::parquet::errors::Result as ParquetResult;

use super::column::Value;
use super::footer::PartContent;
use super::schema::Table;
use super::table_writer::TableWriter;
use crate::error::{Error, Result};

/// End of the name of a file that is being written. It begins with a dot, so that no pattern for parts finds it.
const NEW_SUFFIX: &str = ".backstory-new";

/// A file of a table on its way: written beside its place and renamed over it. It is removed when it is dropped before.
pub(super) struct PartWriter {
    target: PathBuf,
    new: PathBuf,
    table: Table,
    writer: Option<TableWriter>,
    is_done: bool,
}

impl PartWriter {
    /// Begins the file; makes its folder if there is none.
    pub(super) fn create(target: &Path, table: Table) -> Result<Self> {
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder).map_err(Error::io(folder))?;
        }
        let new = beside(target, NEW_SUFFIX);
        let file = create_new(&new, target).map_err(Error::io(&new))?;
        let mut part = PartWriter {
            target: target.to_owned(),
            new,
            table,
            writer: None,
            is_done: false,
        };
        part.writer = Some(TableWriter::new(table, file).map_err(Error::parquet(target))?);
        Ok(part)
    }

    pub(super) fn push_row<const N: usize>(&mut self, row: [Value; N]) -> Result<()> {
        let pushed: ParquetResult<()> = self
            .writer
            .as_mut()
            .map_or(Ok(()), |writer| writer.push_row(row));
        pushed.map_err(Error::parquet(&self.target))
    }

    /// Completes the file and puts it in its place; returns the numbers of rows and bytes.
    pub(super) fn finish(mut self, content: &PartContent) -> Result<(u64, u64)> {
        debug_assert_eq!(content.table, self.table);
        let Some(writer) = self.writer.take() else {
            return Ok((0, 0));
        };
        let (file, rows) = writer
            .finish(content.to_metadata())
            .map_err(Error::parquet(&self.target))?;
        file.sync_all().map_err(Error::io(&self.new))?;
        let bytes = file.metadata().map_err(Error::io(&self.new))?.len();
        fs::rename(&self.new, &self.target).map_err(Error::io(&self.target))?;
        self.is_done = true;
        sync_folder(&self.target);
        Ok((rows, bytes))
    }
}

impl Drop for PartWriter {
    fn drop(&mut self) {
        if !self.is_done {
            // The next writer tries again.
            let _ = fs::remove_file(&self.new);
        }
    }
}

fn beside(target: &Path, suffix: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(suffix);
    target.with_file_name(name)
}

/// Creates the new version: for nobody else to read, unless the old one is.
fn create_new(new: &Path, target: &Path) -> std::io::Result<File> {
    // Left by a process that was killed; writers hold a lock.
    match fs::remove_file(new) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
        let old_mode = fs::metadata(target).map(|old| old.mode() & 0o777);
        options.mode(old_mode.unwrap_or(0o600));
    }
    #[cfg(not(unix))]
    let _ = target;
    options.open(new)
}

/// Makes the names in a folder durable, or a power cut might bring an old file back; not every system can.
fn sync_folder(target: &Path) {
    let folder = target
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let _ = File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all());
}

/// A lock that one writer holds at a time.
pub(super) struct WriteLock {
    path: PathBuf,
    _file: File,
}

impl WriteLock {
    /// Waits until no other process writes to this file or folder.
    pub(super) fn wait_for(target: &Path) -> Result<Self> {
        let path = match target.is_dir() {
            true => target.join(".backstory-lock"),
            false => beside(target, ".backstory-lock"),
        };
        loop {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(false);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::custom_flags(
                &mut options,
                rustix::fs::OFlags::NOFOLLOW.bits() as i32,
            );
            let file = options.open(&path).map_err(Error::io(&path))?;
            file.lock().map_err(Error::io(&path))?;
            // The one before removes it.
            if is_at(&file, &path) {
                return Ok(WriteLock { path, _file: file });
            }
        }
    }
}

impl Drop for WriteLock {
    fn drop(&mut self) {
        // One that stays is locked by the next writer.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |found: fs::Metadata| (found.dev(), found.ino());
    let named = fs::symlink_metadata(path).map(place).ok();
    named.is_some() && named == file.metadata().map(place).ok()
}

#[cfg(not(unix))]
fn is_at(_file: &File, path: &Path) -> bool {
    path.exists()
}

//! Opening files that may be anything, and creating folders for private ones.

use std::fs::{self, File, OpenOptions};
use std::path::Path;

use crate::error::{Error, Result};

/// Opens a regular file for reading. A pipe is refused at once instead of waiting for its writer.
pub(crate) fn open_regular_file(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NONBLOCK.bits() as i32,
    );
    let file = options.open(path).map_err(Error::io(path))?;
    match file.metadata().map_err(Error::io(path))?.is_file() {
        true => Ok(file),
        false => Err(Error::BadTarget {
            path: path.to_owned(),
            what: "is not a regular file".to_string(),
        }),
    }
}

/// Creates a folder that nobody else can read, unless it is there.
pub(crate) fn create_private_folder(folder: &Path) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(Error::io(folder))
}

//! Folders for files with what sessions said.

use std::fs;
use std::path::Path;

use crate::error::{Error, Result};

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

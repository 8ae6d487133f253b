//! Reading a user's file with all that can be wrong with it, and writing or removing it.

use std::path::Path;

use backstory_store::private::{self, ExpectedType};

use super::hooks::Without;
use crate::trusted;

/// What is in a file; `None` when there is none.
pub(super) fn read(path: &Path) -> Result<Option<String>, String> {
    match private::find_wrong_type(path, ExpectedType::File) {
        Some(found) => Err(format!("it is {found}")),
        None => trusted::read_settings(path).map_err(|error| error.to_string()),
    }
}

/// Whether a file that is there may not be changed.
pub(super) fn is_read_only(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().readonly())
}

/// How many folders would have to be made for a file.
pub(super) fn missing_folders(path: &Path) -> usize {
    let folders = path.ancestors().skip(1);
    let missing = folders.take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
    missing.count()
}

/// Brings a file to what it is to be.
pub(super) fn write(path: &Path, after: &Without) -> crate::Result<()> {
    let folders = match after {
        Without::Text(text) => return crate::whole::write_private(path, text.as_bytes()),
        // Who made a link wants something to be there.
        Without::Gone(_) if path.is_symlink() => {
            return crate::whole::write_private(path, b"{}\n");
        }
        Without::Gone(folders) => *folders,
    };
    std::fs::remove_file(path).map_err(|source| crate::Error::Unwritable {
        path: path.to_path_buf(),
        source,
    })?;
    for folder in path.ancestors().skip(1).take(folders) {
        // One that is not empty stays, and so do those above it.
        if std::fs::remove_dir(folder).is_err() {
            break;
        }
    }
    Ok(())
}

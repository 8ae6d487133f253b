//! Reading a user's file with all that can be wrong with it, and writing or removing it.

use std::io::ErrorKind;
use std::path::Path;

use super::hooks::Without;
use super::scan::line_of;

/// No file of settings is larger.
const LARGEST: u64 = 16 << 20;

/// What is in a file; `None` when there is none.
pub(super) fn read(path: &Path) -> Result<Option<String>, String> {
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return match path.is_symlink() {
                true => Err("it is a link that leads nowhere".to_string()),
                false => Ok(None),
            };
        }
        Err(error) => return Err(error.to_string()),
    };
    if metadata.is_dir() {
        return Err("it is a folder".to_string());
    }
    if !metadata.is_file() {
        return Err("it is no ordinary file".to_string());
    }
    if metadata.len() > LARGEST {
        return Err("it is larger than 16 MiB".to_string());
    }
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let line = line_of(error.as_bytes(), error.utf8_error().valid_up_to());
        format!("line {line}: it is no UTF-8 text")
    })?;
    Ok(Some(text))
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

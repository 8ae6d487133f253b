//! Opening files and folders that somebody else may have put there: without following links, judged by what was opened.
//!
//! A path says nothing about who wrote what lies there, and looking before opening leaves time to exchange it. So everything here
//! opens first, without following a link in the last component and without waiting for a FIFO, and asks the descriptor then:
//! a regular file or a folder, owned by the user of this process, and not writable by anybody else.

#[cfg(not(unix))]
mod other;
#[cfg(test)]
#[cfg(unix)]
mod tests;
#[cfg(unix)]
mod unix;

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;

#[cfg(not(unix))]
use self::other as system;
#[cfg(unix)]
use self::unix as system;

pub use self::system::Folder;

/// Access that others may have to a file or folder of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privacy {
    /// Nobody else may read, write or enter it.
    Private,
    /// Nobody else may write it. A group whose only member is the user counts as the user.
    OnlyWeWrite,
}

/// Opens a file for reading. Refuses links, anything but a regular file, files of other users and files that others can write.
pub fn open_file(path: &Path, privacy: Privacy) -> io::Result<File> {
    system::open_file(path, privacy)
}

/// Opens a file that decides what this program does, such as its configuration. Links of ours and of root are followed. Refuses
/// anything but a regular file, files of other users than root, and files that others can write.
pub fn open_settings(path: &Path) -> io::Result<File> {
    system::open_settings(path)
}

/// Type that a file in the store must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedType {
    /// A regular file, or a link to one.
    File,
    /// A folder, or a link to one.
    Folder,
}

/// Checks that something in the store is ours and has the type that it must have; links of ours to such are followed. Returns the name of
/// another type; `None` when all is well or there is nothing.
pub fn check_entry(path: &Path, expected: ExpectedType) -> io::Result<Option<&'static str>> {
    let Ok(found) = std::fs::symlink_metadata(path) else {
        return Ok(None);
    };
    if found.is_symlink() {
        // One that leads nowhere yet would be written through.
        check_owner(path)?;
        return Ok(find_wrong_type(path, expected));
    }
    system::judge_owner(&found)?;
    Ok(name_wrong_type(found.file_type(), expected))
}

/// Checks that a file that only this program writes is a regular file and ours, by its own metadata and not that of what it leads to.
pub(crate) fn check_own_file(metadata: &std::fs::Metadata) -> io::Result<()> {
    if !metadata.is_file() {
        return Err(refused("it is not a regular file"));
    }
    system::judge_owner(metadata)
}

/// Returns the name of the type of a file that has another type than expected; `None` when it has that type or is not there.
pub fn find_wrong_type(path: &Path, expected: ExpectedType) -> Option<&'static str> {
    name_wrong_type(std::fs::metadata(path).ok()?.file_type(), expected)
}

fn name_wrong_type(found: std::fs::FileType, expected: ExpectedType) -> Option<&'static str> {
    let is_expected = match expected {
        ExpectedType::File => found.is_file(),
        ExpectedType::Folder => found.is_dir(),
    };
    if is_expected {
        return None;
    }
    Some(match found {
        found if found.is_file() => "a regular file",
        found if found.is_dir() => "a folder",
        found => system::special_type(found),
    })
}

/// Opens a regular file for reading, whoever owns it; links are followed. Never waits for a FIFO or a device.
pub fn open_regular(path: &Path) -> io::Result<File> {
    system::open_regular(path)
}

/// Checks that a socket is ours and that nobody else can enter its folder.
pub fn check_socket(path: &Path) -> io::Result<()> {
    system::check_socket(path)
}

/// Makes a folder that nobody else can enter, or narrows the mode of an existing one with all that is in it. A folder is refused
/// if it belongs to somebody else, if it has something of somebody else in it, or something that is not expected there, and if
/// it cannot be narrowed. A private folder costs one `lstat`.
pub fn make_private_folder(path: &Path, is_expected: fn(&OsStr) -> bool) -> io::Result<()> {
    if system::is_private(path)? {
        return Ok(());
    }
    if !path.exists() {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path)?;
        // Somebody else may have made it in the meantime.
        if system::is_private(path)? {
            return Ok(());
        }
    }
    system::narrow_folder(path, is_expected)
}

/// Like [`make_private_folder`], for readers: nothing is made, and a folder that others can only read is good enough where its mode
/// cannot be changed, as on a read-only file system.
pub fn check_private_folder(path: &Path, is_expected: fn(&OsStr) -> bool) -> io::Result<()> {
    if system::is_private(path)? || !path.exists() {
        return Ok(());
    }
    match system::narrow_folder(path, is_expected) {
        Err(_) if system::check_owner(path).is_ok() && !system::is_writable_by_others(path) => {
            Ok(())
        }
        narrowed => narrowed,
    }
}

/// Returns whether there is a file or folder; an error when it belongs to somebody else.
pub fn check_owner(path: &Path) -> io::Result<bool> {
    match system::check_owner(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        checked => checked.map(|()| true),
    }
}

fn refused(reason: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, reason.into())
}

//! Reading files that somebody else may have put there.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::fcntl::OFlag;

/// Opens a regular file for reading. Anything else is an error: a pipe or device would block or never end.
pub(crate) fn open_regular_file(path: &Path) -> Result<File> {
    let refused = || Error::new(ErrorKind::InvalidInput, "not a regular file");
    // Before it is opened: opening a device can have effects of its own.
    if !std::fs::metadata(path)?.is_file() {
        return Err(refused());
    }
    let file = OpenOptions::new()
        .read(true)
        // The path may lead to a pipe by now.
        .custom_flags((OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits())
        .open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(refused()),
    }
}

/// Reads a regular file of at most this many bytes.
pub(crate) fn read_regular_file(path: &Path, max_bytes: u64) -> Result<Vec<u8>> {
    let file = open_regular_file(path)?;
    let expected = file.metadata()?.len().min(max_bytes);
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or_default());
    file.take(max_bytes.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        let message = format!("larger than {max_bytes} bytes");
        return Err(Error::new(ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_within_the_limit_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let plain = folder.path().join("plain");
        std::fs::write(&plain, "four").unwrap();
        let linked = folder.path().join("linked");
        std::os::unix::fs::symlink(&plain, &linked).unwrap();
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let check =
            |path: &Path, max_bytes: u64, expected: std::result::Result<&str, ErrorKind>| {
                let read = read_regular_file(path, max_bytes);
                let read = read.map(|bytes| String::from_utf8(bytes).unwrap());
                assert_eq!(
                    read.as_deref().map_err(Error::kind),
                    expected,
                    "{}",
                    path.display()
                );
            };
        check(&plain, 4, Ok("four"));
        check(&linked, 4, Ok("four"));
        check(&plain, 3, Err(ErrorKind::FileTooLarge));
        check(&pipe, 4, Err(ErrorKind::InvalidInput));
        check(folder.path(), 4, Err(ErrorKind::InvalidInput));
        check(Path::new("/dev/zero"), 4, Err(ErrorKind::InvalidInput));
        check(&folder.path().join("gone"), 4, Err(ErrorKind::NotFound));
    }
}

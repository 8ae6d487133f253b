//! Everything that is opened outside the store and that somebody else could have put there: spools, sockets, logs that hooks name,
//! folders of plugins. Nothing else in this crate or above it opens such files. The checks are those of [`backstory_store::private`].

use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use backstory_store::is_store_entry;
use backstory_store::private::{Folder, Privacy};
pub use backstory_store::private::{check_socket, open_file, open_regular};
use backstory_store::private::{make_private_folder, open_settings};

use crate::import::discover::Sources;

/// Maximum length of a file of settings.
const MAX_SETTINGS_BYTES: u64 = 16 << 20;

/// Where the right to read a log comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogOrigin {
    /// The user typed its path, or it lies in a folder of an agent.
    User,
    /// A hook named it, so it may lie anywhere.
    Hook,
}

/// State of a log that a hook named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamedLog {
    /// There is none.
    Missing,
    /// It is ours, and only we can write it.
    Trusted,
    /// It is there and must not be read, for this reason.
    Refused(String),
}

/// Looks at a log that a hook named.
pub fn check_named_log(path: &Path) -> NamedLog {
    if !path.is_absolute() {
        return NamedLog::Refused("it is not an absolute path".to_string());
    }
    match open_log(path, LogOrigin::Hook) {
        Ok(_) => NamedLog::Trusted,
        Err(error) if error.kind() == io::ErrorKind::NotFound => NamedLog::Missing,
        Err(error) => NamedLog::Refused(error.to_string()),
    }
}

/// Returns what to sweep to read a log that a hook named; `None` when it is not there yet. The error is why it must not be read, without
/// its path, which may have a secret in it.
pub fn sources_of_named_log(path: &Path, agent: &str) -> Result<Option<Sources>, String> {
    match check_named_log(path) {
        NamedLog::Missing => Ok(None),
        NamedLog::Trusted => Ok(Some(Sources::named_by_hook(path.to_path_buf(), agent))),
        NamedLog::Refused(reason) => Err(format!("the agent's log is not read: {reason}")),
    }
}

/// Opens a log for reading.
pub(crate) fn open_log(path: &Path, origin: LogOrigin) -> io::Result<File> {
    match origin {
        LogOrigin::User => open_regular(path),
        LogOrigin::Hook => open_file(path, Privacy::OnlyWeWrite),
    }
}

/// Returns whether a folder is ours and nobody else can enter it. A link is none: whoever made it can lead it elsewhere.
pub fn is_private_folder(path: &Path) -> bool {
    Folder::open(path, Privacy::Private).is_ok()
}

/// Checks that the folder of a store can be written to as a sweep would: it is ours, and nobody else can enter it. Its mode is
/// narrowed if that is all it takes.
pub fn check_store_folder(path: &Path) -> Result<(), String> {
    if !path.exists() {
        return Ok(());
    }
    match make_private_folder(path, is_store_entry) {
        // Errors of the system, as of a read-only file system, have nothing inside: they do not say that it is not private.
        Err(error) if error.get_ref().is_some() => Err(error.to_string()),
        _ => Ok(()),
    }
}

/// Reads a small file that we wrote for ourselves; `None` when there is none, or it is not ours, or larger than this.
pub fn read_own_file(path: &Path, max_bytes: u64) -> Option<Vec<u8>> {
    let file = open_file(path, Privacy::OnlyWeWrite).ok()?;
    read_at_most(&file, max_bytes).ok()?
}

/// Reads a text that decides what this program or an agent does: our configuration, agents' settings, the pattern catalogue, units
/// of the scheduler. `None` when there is none. Refuses a file that somebody else owns or can write; see
/// [`backstory_store::private::open_settings`].
pub fn read_settings(path: &Path) -> io::Result<Option<String>> {
    let file = match open_settings(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
            return Ok(None);
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "it is a link that leads nowhere",
            ));
        }
        Err(error) => return Err(error),
    };
    let bytes = read_at_most(&file, MAX_SETTINGS_BYTES)?.ok_or_else(|| {
        let message = format!("it is larger than {} MiB", MAX_SETTINGS_BYTES >> 20);
        io::Error::new(io::ErrorKind::FileTooLarge, message)
    })?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let message = format!("line {line}: it is no UTF-8 text");
        io::Error::new(io::ErrorKind::InvalidData, message)
    })?;
    Ok(Some(text))
}

/// Reads a file to its end; `None` when it is longer than this.
pub(crate) fn read_at_most(file: &File, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    file.take(max_bytes.saturating_add(1))
        .read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= max_bytes).then_some(bytes))
}

/// Reads a regular file of at most this many bytes, whoever owns it. Anything else is an error: a pipe or device would block or never
/// end.
pub fn read_regular_file(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    // Looked at first: opening a device can have effects of its own. Judged again once it is open.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "it is not a regular file",
        ));
    }
    read_at_most(&open_regular(path)?, max_bytes)?.ok_or_else(|| {
        let limit = match max_bytes >> 20 {
            0 => format!("{max_bytes} bytes"),
            mebibytes => format!("{mebibytes} MiB"),
        };
        let message = format!("it is larger than {limit}");
        io::Error::new(io::ErrorKind::FileTooLarge, message)
    })
}

/// Reads a regular file that this program wrote as a whole, whatever its length. A pipe or device is an error.
pub(crate) fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns where a file really lies that is to be read or changed in a checkout. Links of the file and of folders on the way to it are
/// followed only within every repository around it and, outside of any, within its own folder: a clone brings links along, and they may
/// lead to any file of the user. The file need not be there.
pub(crate) fn resolve_in_repository(path: &Path) -> io::Result<PathBuf> {
    let path = resolve_parent_steps(&std::path::absolute(path)?)?;
    let folder = path.parent().unwrap_or(&path);
    let mut roots: Vec<&Path> = folder
        .ancestors()
        .filter(|folder| folder.join(".git").exists())
        .collect();
    if roots.is_empty() {
        roots.push(folder);
    }
    let mut real = path.clone();
    for root in roots {
        real = resolve_below(root, &path)?;
    }
    Ok(real)
}

/// Returns where a file below a folder really lies. Links that lead out of the folder, or to the files of git, are refused. The file
/// need not be there.
pub(crate) fn resolve_below(root: &Path, path: &Path) -> io::Result<PathBuf> {
    let refuse = |reason: String| Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
    let existing = path
        .ancestors()
        .find(|part| part.symlink_metadata().is_ok())
        .unwrap_or(path);
    let Ok(real) = std::fs::canonicalize(existing) else {
        return refuse("it is a link that leads nowhere".to_string());
    };
    let real = match path.strip_prefix(existing) {
        Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
        _ => real,
    };
    // What is made below a root that is not there yet cannot be a link.
    let Ok(real_root) = std::fs::canonicalize(root) else {
        return Ok(real);
    };
    let Ok(below) = real.strip_prefix(&real_root) else {
        return refuse(format!(
            "a link leads out of {} to {}: replace the link by a file, or name the file that it leads to",
            root.display(),
            real.display()
        ));
    };
    let is_git = |part: Component<'_>| part.as_os_str().eq_ignore_ascii_case(".git");
    if below.components().any(is_git) {
        return refuse(format!(
            "it leads to {}, a file of git: replace the link by a file",
            real.display()
        ));
    }
    Ok(real)
}

/// Replaces everything up to the last `..` by where it leads: a user who typed `..` means the folder that the system finds there.
fn resolve_parent_steps(path: &Path) -> io::Result<PathBuf> {
    let parts: Vec<Component<'_>> = path.components().collect();
    let last = parts.iter().rposition(|part| *part == Component::ParentDir);
    let Some(last) = last else {
        return Ok(path.to_path_buf());
    };
    let typed: PathBuf = parts[..=last].iter().collect();
    let rest: PathBuf = parts[last + 1..].iter().collect();
    Ok(std::fs::canonicalize(typed)?.join(rest))
}

/// Checks that nobody else can change a file below a folder that the user typed, and everything on the way to it: whoever can
/// decides what runs. What is not there yet does not matter. The error is the part that is not ours, and why.
pub(crate) fn check_below(root: &Path, path: &Path) -> Result<(), (PathBuf, String)> {
    let privacy = Privacy::OnlyWeWrite;
    let mut shown = root.to_path_buf();
    let mut folder = match unless_missing(Folder::open_typed(root, privacy)) {
        Ok(Some(folder)) => folder,
        Ok(None) => return Ok(()),
        Err(reason) => return Err((shown, reason)),
    };
    let mut names = path.components().peekable();
    while let Some(Component::Normal(name)) = names.next() {
        shown.push(name);
        let next = match names.peek() {
            Some(_) => unless_missing(folder.open_folder(name, privacy)),
            None => unless_missing(folder.open_file(name, privacy)).map(|_| None),
        };
        match next {
            Ok(Some(next)) => folder = next,
            Ok(None) => return Ok(()),
            Err(reason) => return Err((shown, reason)),
        }
    }
    Ok(())
}

fn unless_missing<T>(opened: io::Result<T>) -> Result<Option<T>, String> {
    match opened {
        Ok(opened) => Ok(Some(opened)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]
mod tests {
    use std::fs::{Permissions, create_dir_all, set_permissions, write};
    use std::os::unix::fs::{PermissionsExt, symlink};

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
            |path: &Path, max_bytes: u64, expected: std::result::Result<&str, io::ErrorKind>| {
                let read = read_regular_file(path, max_bytes);
                let read = read.map(|bytes| String::from_utf8(bytes).unwrap());
                assert_eq!(
                    read.as_deref().map_err(io::Error::kind),
                    expected,
                    "{}",
                    path.display()
                );
            };
        check(&plain, 4, Ok("four"));
        check(&linked, 4, Ok("four"));
        check(&plain, 3, Err(io::ErrorKind::FileTooLarge));
        check(&pipe, 4, Err(io::ErrorKind::PermissionDenied));
        check(folder.path(), 4, Err(io::ErrorKind::PermissionDenied));
        check(
            Path::new("/dev/zero"),
            4,
            Err(io::ErrorKind::PermissionDenied),
        );
        check(&folder.path().join("gone"), 4, Err(io::ErrorKind::NotFound));
    }

    #[test]
    fn a_log_that_a_hook_named_is_read_only_if_nobody_else_can_write_it() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log.jsonl");
        let set_mode = |mode| set_permissions(&log, Permissions::from_mode(mode)).unwrap();
        assert_eq!(check_named_log(&log), NamedLog::Missing);
        write(&log, "{}\n").unwrap();
        set_mode(0o644);
        assert_eq!(check_named_log(&log), NamedLog::Trusted);
        set_mode(0o646);
        assert!(matches!(check_named_log(&log), NamedLog::Refused(_)));
        set_mode(0o600);
        let link = folder.path().join("link.jsonl");
        symlink(&log, &link).unwrap();
        assert!(matches!(check_named_log(&link), NamedLog::Refused(_)));
        assert!(matches!(
            check_named_log(Path::new("log.jsonl")),
            NamedLog::Refused(_)
        ));
        // Folders on the way to it may be links: many people keep their settings elsewhere.
        let elsewhere = folder.path().join("elsewhere");
        symlink(folder.path(), &elsewhere).unwrap();
        let log = elsewhere.join("log.jsonl");
        assert_eq!(check_named_log(&log), NamedLog::Trusted);
    }

    #[test]
    fn nothing_on_the_way_below_a_typed_folder_may_be_changed_by_others() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("plugin");
        let path = Path::new("inner/hooks/hooks.json");
        check_below(&root, path).unwrap();
        create_dir_all(root.join("inner/hooks")).unwrap();
        check_below(&root, path).unwrap();
        write(root.join(path), "{}").unwrap();
        check_below(&root, path).unwrap();
        for wide in ["", "inner", "inner/hooks", "inner/hooks/hooks.json"] {
            let wide = root.join(wide);
            let before = std::fs::metadata(&wide).unwrap().permissions();
            set_permissions(&wide, Permissions::from_mode(0o777)).unwrap();
            let (refused, reason) = check_below(&root, path).unwrap_err();
            assert_eq!(refused.components().count(), wide.components().count());
            assert!(reason.contains("others can write it"), "{reason}");
            set_permissions(&wide, before).unwrap();
        }
        std::fs::rename(root.join("inner"), folder.path().join("target")).unwrap();
        symlink(folder.path().join("target"), root.join("inner")).unwrap();
        let (refused, _) = check_below(&root, path).unwrap_err();
        assert_eq!(refused, root.join("inner"));
    }
}

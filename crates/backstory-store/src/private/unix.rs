//! The checks, where files have owners and modes.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::{Gid, Group, Uid, User};
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, chmodat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::{Privacy, refused};

/// Folders below a store are never nested deeper.
const MAX_LEVELS: usize = 16;

const READ_FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);
const READ_FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

pub(super) fn open_file(path: &Path, privacy: Privacy) -> io::Result<File> {
    let opened = openat(CWD, path, READ_FILE | OFlags::NOFOLLOW, Mode::empty());
    let file = File::from(opened.map_err(open_error)?);
    judge_file(&file.metadata()?, privacy)?;
    Ok(file)
}

pub(super) fn open_settings(path: &Path) -> io::Result<File> {
    // A link that is exchanged after this still leads to a file of ours, or is refused.
    check_link(&std::fs::symlink_metadata(path)?)?;
    let file = open_regular(path)?;
    let metadata = file.metadata()?;
    // Root can change everything of ours, and links to system-wide settings are common.
    if metadata.uid() != 0 {
        judge_owner(&metadata)?;
    }
    judge_mode(&metadata, Privacy::OnlyWeWrite)?;
    Ok(file)
}

pub(super) fn special_type(found: std::fs::FileType) -> &'static str {
    match found {
        found if found.is_fifo() => "a FIFO",
        found if found.is_socket() => "a socket",
        found if found.is_block_device() || found.is_char_device() => "a device",
        _ => "neither a file nor a folder",
    }
}

pub(super) fn open_regular(path: &Path) -> io::Result<File> {
    let opened = openat(CWD, path, READ_FILE, Mode::empty());
    let file = File::from(opened.map_err(|error| match error {
        // A socket, or a device that nothing drives.
        Errno::NXIO | Errno::NODEV => refused("it is not a regular file"),
        error => error.into(),
    })?);
    if !file.metadata()?.is_file() {
        return Err(refused("it is not a regular file"));
    }
    Ok(file)
}

pub(super) fn check_socket(path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    Folder::open(folder, Privacy::Private)?;
    let metadata = std::fs::symlink_metadata(path)?;
    if !metadata.file_type().is_socket() {
        return Err(refused("it is not a socket"));
    }
    judge_owner(&metadata)
}

/// A folder that was checked; its files are opened relative to it, whatever its path leads to meanwhile.
#[derive(Debug)]
pub struct Folder {
    descriptor: File,
    path: PathBuf,
}

impl Folder {
    /// Opens a folder. Refuses links, folders of other users and folders that others can write, or enter if it is to be private.
    pub fn open(path: &Path, privacy: Privacy) -> io::Result<Self> {
        Folder::open_with(path, OFlags::NOFOLLOW, privacy)
    }

    /// Like [`Folder::open`], for a path that the user typed: it may be a link.
    pub fn open_typed(path: &Path, privacy: Privacy) -> io::Result<Self> {
        Folder::open_with(path, OFlags::empty(), privacy)
    }

    fn open_with(path: &Path, flags: OFlags, privacy: Privacy) -> io::Result<Self> {
        let opened = openat(CWD, path, READ_FOLDER | flags, Mode::empty());
        let descriptor = File::from(opened.map_err(open_error)?);
        judge_access(&descriptor.metadata()?, privacy)?;
        Ok(Folder {
            descriptor,
            path: path.to_path_buf(),
        })
    }

    /// Opens a folder in this one, with the same checks.
    pub fn open_folder(&self, name: &OsStr, privacy: Privacy) -> io::Result<Self> {
        let flags = READ_FOLDER | OFlags::NOFOLLOW;
        let opened = openat(&self.descriptor, name, flags, Mode::empty());
        let descriptor = File::from(opened.map_err(open_error)?);
        judge_access(&descriptor.metadata()?, privacy)?;
        Ok(Folder {
            descriptor,
            path: self.path.join(name),
        })
    }

    /// Opens a file in this folder for reading, checked like [`open_file`](super::open_file).
    pub fn open_file(&self, name: &OsStr, privacy: Privacy) -> io::Result<File> {
        let flags = READ_FILE | OFlags::NOFOLLOW;
        let opened = openat(&self.descriptor, name, flags, Mode::empty());
        let file = File::from(opened.map_err(open_error)?);
        judge_file(&file.metadata()?, privacy)?;
        Ok(file)
    }

    /// Makes a new file in this folder that only we can read.
    pub fn create_file(&self, name: &OsStr) -> io::Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        Ok(openat(&self.descriptor, name, flags, mode)?.into())
    }

    /// Renames a file in this folder.
    pub fn rename_file(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.descriptor, from, &self.descriptor, to)?)
    }

    /// Removes a file of this folder.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.descriptor, name, AtFlags::empty())?)
    }

    /// Names of everything in this folder, in no order.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.descriptor)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(OsStr::from_bytes(name).to_os_string());
            }
        }
        Ok(names)
    }

    /// Path that the folder was opened under.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Whether a folder is ours and nobody else can enter it. An error when a link of somebody else leads to it.
pub(super) fn is_private(path: &Path) -> io::Result<bool> {
    let metadata = match std::fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => {
            check_link(&metadata)?;
            match std::fs::metadata(path) {
                Ok(metadata) => metadata,
                Err(_) => return Ok(false),
            }
        }
        Ok(metadata) => metadata,
        Err(_) => return Ok(false),
    };
    let is_ours = metadata.uid() == geteuid().as_raw();
    Ok(metadata.is_dir() && is_ours && metadata.mode() & 0o077 == 0)
}

pub(super) fn check_owner(path: &Path) -> io::Result<()> {
    let metadata = std::fs::symlink_metadata(path)?;
    if !metadata.is_symlink() {
        return judge_owner(&metadata);
    }
    check_link(&metadata)?;
    judge_owner(&std::fs::metadata(path)?)
}

pub(super) fn is_writable_by_others(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.mode() & 0o022 != 0)
}

/// Whoever made a link can lead it elsewhere. Root can do that anyway.
fn check_link(metadata: &Metadata) -> io::Result<()> {
    match metadata.uid() {
        0 => Ok(()),
        _ => judge_owner(metadata),
    }
}

/// Takes the access of others to a folder and everything in it away.
pub(super) fn narrow_folder(path: &Path, is_expected: fn(&OsStr) -> bool) -> io::Result<()> {
    let opened = openat(CWD, path, READ_FOLDER, Mode::empty()).map_err(open_error)?;
    let folder = File::from(opened);
    let before = folder.metadata()?;
    judge_owner(&before)?;
    // Else a home folder that somebody took for a store would be closed to all others, or the root folder to everybody.
    let found = Dir::read_from(&folder)?;
    for entry in found {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." && !is_expected(name) {
            let mode = before.mode() & 0o777;
            return Err(refused(format!(
                "others can enter it (mode {mode:03o}), and it has something else in it, {}: `chmod 700` it, or use a folder of its own",
                name.display()
            )));
        }
    }
    // Whatever others could put there must not be taken for ours once the mode does not show any more that they could.
    check_contents(&folder, Path::new(""), false, 0)?;
    folder.set_permissions(Permissions::from_mode(0o700))?;
    if folder.metadata()?.mode() & 0o077 != 0 {
        let mode = before.mode() & 0o777;
        return Err(refused(format!(
            "others can enter it (mode {mode:03o}), and the file system does not let that be changed"
        )));
    }
    let checked = check_contents(&folder, Path::new(""), true, 0);
    if checked.is_err() {
        // So that the next process looks again.
        folder.set_permissions(Permissions::from_mode(before.mode() & 0o7777))?;
    }
    checked
}

/// Checks that all below a folder is ours, and takes the access of others to it away if it is to be narrowed.
fn check_contents(folder: &File, below: &Path, narrow: bool, level: usize) -> io::Result<()> {
    if level > MAX_LEVELS {
        return Err(refused("it has too many folders within folders"));
    }
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let shown = below.join(OsStr::from_bytes(name.to_bytes()));
        let found = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => found,
            Err(Errno::NOENT) => continue,
            Err(error) => return Err(error.into()),
        };
        if found.st_uid != geteuid().as_raw() {
            return Err(refused(format!(
                "{} in it belongs to user {}: remove it if you do not know it",
                shown.display(),
                found.st_uid
            )));
        }
        let kind = FileType::from_raw_mode(found.st_mode);
        let mode = Mode::from_raw_mode(found.st_mode);
        let others = Mode::RWXG | Mode::RWXO;
        if narrow && mode.intersects(others) && kind != FileType::Symlink {
            chmodat(folder, name, mode - others, AtFlags::empty())?;
        }
        if kind == FileType::Directory {
            let flags = READ_FOLDER | OFlags::NOFOLLOW;
            let inner = File::from(openat(folder, name, flags, Mode::empty())?);
            check_contents(&inner, &shown, narrow, level + 1)?;
        }
    }
    Ok(())
}

fn judge_file(metadata: &Metadata, privacy: Privacy) -> io::Result<()> {
    if !metadata.is_file() {
        return Err(refused("it is not a regular file"));
    }
    judge_access(metadata, privacy)
}

fn judge_access(metadata: &Metadata, privacy: Privacy) -> io::Result<()> {
    judge_owner(metadata)?;
    judge_mode(metadata, privacy)
}

fn judge_mode(metadata: &Metadata, privacy: Privacy) -> io::Result<()> {
    let mode = metadata.mode() & 0o777;
    let (mut wide, remedy) = match privacy {
        Privacy::Private => (mode & 0o077, "go-rwx"),
        Privacy::OnlyWeWrite => (mode & 0o022, "go-w"),
    };
    // With a umask of 002 every file is writable by the group, which has only the user in it then.
    if privacy == Privacy::OnlyWeWrite && wide & 0o020 != 0 && is_own_group(metadata.gid()) {
        wide &= !0o020;
    }
    if wide == 0 {
        return Ok(());
    }
    let verb = if wide & 0o022 == 0 { "read" } else { "write" };
    Err(refused(format!(
        "others can {verb} it (mode {mode:03o}): `chmod {remedy}` if you trust it"
    )))
}

pub(super) fn judge_owner(metadata: &Metadata) -> io::Result<()> {
    let (owner, user) = (metadata.uid(), geteuid().as_raw());
    if owner == user {
        return Ok(());
    }
    Err(refused(format!(
        "it belongs to user {owner}, not to you (user {user})"
    )))
}

/// Whether a group is the user's own: the primary one, named like the user, without other members.
fn is_own_group(group: u32) -> bool {
    let user = User::from_uid(Uid::effective()).ok().flatten();
    let Some(user) = user.filter(|user| user.gid == Gid::from_raw(group)) else {
        return false;
    };
    let group = Group::from_gid(user.gid).ok().flatten();
    group.is_some_and(|group| {
        group.name == user.name && group.mem.iter().all(|member| *member == user.name)
    })
}

/// The error of opening something without following links, in words.
fn open_error(error: Errno) -> io::Error {
    match error {
        // Of a folder that is a link, Linux says that it is no folder.
        Errno::LOOP | Errno::MLINK => refused("it is a symbolic link"),
        Errno::NOTDIR => refused("it is a symbolic link or not a folder"),
        Errno::NXIO => refused("it is not a regular file"),
        error => error.into(),
    }
}

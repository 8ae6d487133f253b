//! Files of the worker: in the store's folder, and its socket elsewhere when it does not fit there.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use backstory_memory::trusted::{is_private_folder, read_own_file};
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

/// An address has room for 108 bytes on Linux, 104 on macOS, and some systems want less.
const MAX_SOCKET_PATH_BYTES: usize = 100;

/// Size of the largest info file of a worker that is read.
const MAX_INFO_BYTES: u64 = 64 << 10;

/// The files of one store's worker.
#[derive(Debug, Clone)]
pub struct WorkerFiles {
    /// The store's folder.
    folder: PathBuf,
    /// Folders for what lives only as long as a process.
    runtime_homes: Vec<PathBuf>,
}

/// Process, version, socket and start of a worker, which it writes to a file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct WorkerInfo {
    /// Its process.
    pub pid: i32,
    /// Its version.
    pub version: String,
    /// Its socket.
    pub socket: PathBuf,
    /// Time of its start, RFC 3339.
    pub started_at: String,
}

impl WorkerFiles {
    /// Returns the place of a store's worker; creates nothing. Sockets may lie in the runtime homes, the first one that is private.
    pub fn new(store: &Path, runtime_homes: Vec<PathBuf>) -> Self {
        // The same store by another name has the same worker.
        let folder = std::fs::canonicalize(store);
        WorkerFiles {
            folder: folder.unwrap_or_else(|_| store.to_path_buf()),
            runtime_homes,
        }
    }

    /// The file whose lock the worker holds.
    pub fn lock(&self) -> PathBuf {
        self.folder.join("worker.lock")
    }

    fn pid(&self) -> PathBuf {
        self.folder.join("worker.pid")
    }

    fn info(&self) -> PathBuf {
        self.folder.join("worker.info")
    }

    /// Returns the paths that a socket may have, the best one first. Only folders that nobody else can enter count: there are systems that do
    /// not look at the mode of a socket.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = PathBuf> {
        let own = is_private_folder(&self.folder).then(|| self.folder.join("worker.sock"));
        let hash = hash(&self.folder);
        let elsewhere = runtime_folders(&self.runtime_homes)
            .map(move |folder| folder.join(format!("{hash:016x}.sock")));
        // What is no text cannot be told in JSON.
        own.into_iter()
            .chain(elsewhere)
            .filter(|path| path.to_str().is_some())
            .filter(|path| path.as_os_str().len() <= MAX_SOCKET_PATH_BYTES)
    }

    /// Returns the info that the worker wrote, whether it still lives or not.
    pub fn read_info(&self) -> Option<WorkerInfo> {
        let text = read_own_file(&self.info(), MAX_INFO_BYTES)?;
        serde_json::from_slice(&text).ok()
    }

    /// Writes pid and info. Only the holder of the lock may.
    pub fn write_info(&self, info: &WorkerInfo) -> io::Result<()> {
        write_private(&self.pid(), format!("{}\n", info.pid).as_bytes())?;
        let text = serde_json::to_vec(info).map_err(io::Error::from)?;
        write_private(&self.info(), &text)
    }

    /// Removes the files of a worker, this one or one that was killed. Only the holder of the lock may.
    pub(super) fn clean(&self) {
        // The socket of a killed worker may be elsewhere than ours would be.
        let told = self.read_info().map(|info| info.socket);
        let is_ours = |path: &PathBuf| {
            path.extension()
                .is_some_and(|extension| extension == "sock")
        };
        let own = self.folder.join("worker.sock");
        for path in told.into_iter().filter(is_ours).chain([own]) {
            let _ = std::fs::remove_file(path);
        }
        for path in [self.info(), self.pid()] {
            let _ = std::fs::remove_file(beside(&path));
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Returns the folders where a store's captures may wait when its own cannot be written to; none of these is made here.
pub fn spool_folders(store: &Path, runtime_homes: Vec<PathBuf>) -> Vec<PathBuf> {
    let folder = std::fs::canonicalize(store);
    let hash = hash(folder.as_deref().unwrap_or(store));
    let homes = runtime_homes.into_iter();
    let spool = |home: PathBuf| PathBuf::from(format!("{}-{hash:016x}.spool", home.display()));
    homes.map(spool).collect()
}

/// Returns a hash of a folder's path, as a short name.
fn hash(folder: &Path) -> u64 {
    XxHash3_64::oneshot(folder.as_os_str().as_encoded_bytes())
}

fn runtime_folders(homes: &[PathBuf]) -> impl Iterator<Item = &PathBuf> {
    homes.iter().filter(|folder| {
        // One that is there already is looked at like any other.
        let _ = DirBuilder::new().mode(0o700).create(folder);
        is_private_folder(folder)
    })
}

/// Device and inode of a file.
pub(super) type Identity = (u64, u64);

pub(super) fn identity(path: &Path) -> Option<Identity> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// A file that was opened under a name, to see whether that name is still its own.
#[derive(Debug, Clone)]
pub(super) struct Known {
    path: PathBuf,
    identity: Option<Identity>,
}

impl Known {
    pub(super) fn new(path: PathBuf, file: &File) -> Self {
        let metadata = file.metadata().ok();
        let identity = metadata.map(|metadata| (metadata.dev(), metadata.ino()));
        Known { path, identity }
    }

    /// Returns whether the path still leads to the same file.
    pub(super) fn is_there(&self) -> bool {
        self.identity.is_some() && identity(&self.path) == self.identity
    }
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

/// Writes a file for nobody else to read, whole or not at all.
fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = beside(path);
    let _ = std::fs::remove_file(&new);
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new)?;
    file.write_all(bytes)?;
    std::fs::rename(&new, path)
}

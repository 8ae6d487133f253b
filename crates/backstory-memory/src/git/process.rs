//! Running git so that nothing of the repository runs, for a limited time.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

use super::metadata::is_safe_for_git;

/// Settings that name programs or lead to running some. The commands in use read few of them; the others are here so that this does
/// not depend on the version of git. Filters and drivers have names of the repository's choice and cannot be listed: no command in use
/// may touch them.
const SAFE_SETTINGS: &[&str] = &[
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.editor=false",
    "sequence.editor=false",
    "core.askPass=false",
    "core.sshCommand=false",
    "core.gitProxy=false",
    "core.alternateRefsCommand=false",
    "core.attributesFile=/dev/null",
    "credential.helper=",
    "diff.external=false",
    "log.showSignature=false",
    "gpg.program=false",
    "gpg.openpgp.program=false",
    "gpg.x509.program=false",
    "gpg.ssh.program=false",
    "gpg.ssh.defaultKeyCommand=false",
    "protocol.allow=never",
    "uploadpack.packObjectsHook=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "maintenance.auto=false",
    "gc.auto=0",
    // Folders that only look like a repository are none.
    "safe.bareRepository=explicit",
    // Larger files are not unpacked to find renames.
    "core.bigFileThreshold=1m",
];

/// The whole environment of git, besides `HOME`, `XDG_CONFIG_HOME`, `PATH` and what depends on the worktree.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_ASKPASS", "false"),
    ("GIT_EDITOR", "false"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    // A partial clone would fetch missing objects.
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_SSH_COMMAND", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LC_ALL", "C"),
    ("SSH_ASKPASS", "false"),
];

/// Where programs are looked for when `PATH` is not set.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Limit for the private memory of git, without the packs that it maps: many times what the history of one file takes.
#[cfg(any(target_os = "linux", target_os = "android"))]
const MAX_MEMORY_BYTES: u64 = 2 << 30;

/// How soon a cancelled command is ended.
const CANCEL_POLL: Duration = Duration::from_millis(2);

/// Until when commands may run.
#[derive(Debug, Clone)]
pub(super) struct Deadline {
    at: Instant,
    is_cancelled: Arc<AtomicBool>,
}

impl Deadline {
    pub(super) fn after(time: Duration) -> Self {
        Deadline {
            at: Instant::now() + time,
            is_cancelled: Arc::default(),
        }
    }

    pub(super) fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    pub(super) fn remaining(&self) -> Duration {
        match self.is_cancelled.load(Ordering::Relaxed) {
            true => Duration::ZERO,
            false => self.at.saturating_duration_since(Instant::now()),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.remaining().is_zero()
    }
}

/// Git for one worktree.
pub(super) struct Git {
    program: PathBuf,
    root: PathBuf,
    search_path: OsString,
}

impl Git {
    /// `root` is the top folder of a worktree that the user is in or has named. `None` when git is not installed, or would read
    /// something without end there.
    pub(super) fn in_worktree(root: &Path) -> Option<Self> {
        if !is_safe_for_git(root) {
            return None;
        }
        let folders = program_folders(Some(root));
        Some(Git {
            program: program_in(&folders, "git", Some(root))?,
            root: root.to_path_buf(),
            search_path: std::env::join_paths(folders).ok()?,
        })
    }

    /// The top folder of the worktree.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Starts a plumbing command.
    pub(super) fn start<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Option<GitProcess> {
        self.start_with_input(arguments, Stdio::null())
    }

    /// Starts a plumbing command that reads the output of another one.
    pub(super) fn start_after<A: AsRef<OsStr>>(
        &self,
        mut input: GitProcess,
        arguments: &[A],
    ) -> Option<(GitProcess, GitProcess)> {
        let stdout = input.stdout.take()?;
        let process = self.start_with_input(arguments, stdout.into())?;
        Some((input, process))
    }

    fn start_with_input<A: AsRef<OsStr>>(
        &self,
        arguments: &[A],
        input: Stdio,
    ) -> Option<GitProcess> {
        let mut command = Command::new(&self.program);
        command
            .args(["--no-pager", "--no-optional-locks", "-C"])
            .arg(&self.root)
            .args(SAFE_SETTINGS.iter().flat_map(|setting| ["-c", setting]))
            .args(arguments)
            // Libraries are not loaded out of the worktree either.
            .current_dir("/")
            .env_clear()
            .envs(ENVIRONMENT.iter().copied())
            .env("PATH", &self.search_path)
            // Whatever `core.worktree` says. `GIT_DIR` stays unset, for git then trusts any owner of the repository.
            .env("GIT_WORK_TREE", &self.root)
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0);
        if let Some(above) = self.root.parent() {
            command.env("GIT_CEILING_DIRECTORIES", above);
        }
        // For `safe.directory` and `core.excludesFile` of the user.
        for name in ["HOME", "XDG_CONFIG_HOME"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        let mut child = command.spawn().ok()?;
        limit_memory(&child);
        Some(GitProcess {
            stdout: child.stdout.take(),
            child,
        })
    }
}

/// A running command. It ends, with all that it started, when this is dropped.
pub(super) struct GitProcess {
    child: Child,
    stdout: Option<ChildStdout>,
}

impl GitProcess {
    /// Appends the next output; `false` when there is no more, or no more time.
    pub(super) fn read_more(&mut self, deadline: &Deadline, output: &mut Vec<u8>) -> bool {
        let Some(stdout) = &mut self.stdout else {
            return false;
        };
        loop {
            let remaining = deadline.remaining();
            if remaining.is_zero() {
                return false;
            }
            // Rounded up, so that the last of it is not spent polling without a pause.
            let wait = remaining.min(CANCEL_POLL) + Duration::from_millis(1);
            let wait = Timespec::try_from(wait).unwrap_or_default();
            let mut waited_for = [PollFd::new(stdout, PollFlags::IN)];
            match poll(&mut waited_for, Some(&wait)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => break,
                Err(_) => return false,
            }
        }
        let mut buffer = [0; 64 << 10];
        match stdout.read(&mut buffer) {
            Ok(count) => {
                output.extend_from_slice(buffer.get(..count).unwrap_or_default());
                count > 0
            }
            Err(_) => false,
        }
    }

    /// Returns the output, or the beginning of it when there is more than this or it takes too long.
    pub(super) fn read_all(mut self, deadline: &Deadline, max_bytes: usize) -> Vec<u8> {
        let mut output = Vec::new();
        while output.len() < max_bytes && self.read_more(deadline, &mut output) {}
        output
    }
}

impl Drop for GitProcess {
    fn drop(&mut self) {
        // The number of the group is not used again before the child is waited for.
        if let Some(group) = process_id(&self.child) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

fn process_id(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// Limits the memory of a process; what it does in the first instant is not limited. A limit that cannot be set is no error: git ends
/// at its time limit, too.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn limit_memory(child: &Child) {
    use rustix::process::{Resource, Rlimit, prlimit};
    let limit = Rlimit {
        current: Some(MAX_MEMORY_BYTES),
        maximum: Some(MAX_MEMORY_BYTES),
    };
    let _ = process_id(child).map(|child| prlimit(Some(child), Resource::Data, limit));
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn limit_memory(_child: &Child) {}

/// Finds a program in the absolute folders of `PATH`: a relative one, such as `.`, would be looked for in whatever repository the user
/// is in.
pub fn find_program(name: &str) -> Option<PathBuf> {
    program_in(&program_folders(None), name, None)
}

fn program_folders(outside: Option<&Path>) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute() && !is_within(folder, outside))
        .collect()
}

fn program_in(folders: &[PathBuf], name: &str, outside: Option<&Path>) -> Option<PathBuf> {
    let paths = folders.iter().map(|folder| folder.join(name));
    paths
        .filter(|path| {
            std::fs::metadata(path)
                .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
        })
        .find(|path| !is_within(path, outside))
}

fn is_within(path: &Path, folder: Option<&Path>) -> bool {
    folder.is_some_and(|folder| {
        let real = std::fs::canonicalize(path);
        path.starts_with(folder) || real.is_ok_and(|real| real.starts_with(folder))
    })
}

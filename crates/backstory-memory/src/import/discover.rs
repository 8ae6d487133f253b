//! Finding source files: which there are, and which changed since they were read.

mod provided;

use std::collections::{HashMap, HashSet};
use std::fs::Metadata;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use backstory_agents::{Agent, LogAgent, Places, Reader, Shape};
use backstory_event::TimeMs;
use backstory_redact::Redactor;
use backstory_store::{Fingerprint, Store};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::path_text::path_text;
use crate::redaction::{shown_path, stored_path};
use crate::serde_text;
use crate::trusted::{LogOrigin, open_log};

pub use self::provided::ProvidedLog;

/// Deeper folders hold no logs; a limit keeps a hostile tree from being walked for ever.
const MOST_LEVELS: usize = 24;

/// Bytes at the beginning and the end of a new file that are read to recognise it.
const GLANCE_BYTES: u64 = 64 << 10;

/// Sources of logs.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// Folders of known agents; only files named as that agent names its logs are looked at.
    pub roots: Vec<(&'static str, PathBuf)>,
    /// Files and folders of any agent, told apart by content.
    pub paths: Vec<PathBuf>,
    /// Logs that hooks named, told apart by content and read only if nobody else can write them.
    pub named: Vec<PathBuf>,
    /// Logs that lie inside of other files.
    pub provided: Vec<ProvidedLog>,
    /// Only of this agent.
    pub agent: Option<String>,
}

impl Sources {
    /// The folders where all known agents keep their logs.
    pub fn known(places: &Places<'_>) -> Self {
        let roots = LogAgent::all().flat_map(|known| {
            let roots = known.reader.roots(places).into_iter();
            roots.map(move |root| (known.agent.name, root))
        });
        Sources {
            roots: roots.collect(),
            ..Sources::default()
        }
    }

    /// A log that a hook of this agent named.
    pub fn named_by_hook(log: PathBuf, agent: &str) -> Self {
        Sources {
            named: vec![log],
            agent: Some(agent.to_string()),
            ..Sources::default()
        }
    }

    /// These files and folders, of whatever agent.
    pub fn paths<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Self {
        Sources {
            paths: paths.into_iter().map(Into::into).collect(),
            ..Sources::default()
        }
    }
}

/// A source file that was found.
#[derive(Clone)]
pub struct Found {
    /// The file to open.
    pub path: PathBuf,
    /// The name it is kept under: the path without secrets and without the suffix of a compressed copy.
    pub key: String,
    /// Agent that wrote it.
    agent: &'static Agent,
    /// Reads it.
    pub(crate) reader: &'static dyn Reader,
    /// Shape of the file.
    pub(crate) shape: Shape,
    /// Permission to read it.
    pub(crate) origin: LogOrigin,
    /// Size and times at which it was found.
    pub fingerprint: Fingerprint,
    /// True if it was read before and has not changed since.
    pub unchanged: bool,
    /// Sorts new files by the times in them, so that of two files that share history the older one is read first.
    order: (TimeMs, TimeMs),
}

impl Found {
    /// Name of the agent that wrote it.
    pub fn agent(&self) -> &'static str {
        self.agent.name
    }

    /// The path as it may be shown.
    pub fn shown_path(&self) -> PathBuf {
        if path_text(&self.path).starts_with(&self.key) && self.path.to_str().is_some() {
            self.path.clone()
        } else {
            PathBuf::from(&self.key)
        }
    }
}

/// Something that could not be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The file or folder, without secrets.
    #[serde(serialize_with = "serde_text::serialize_path")]
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

/// Result of discovery: all source files, in the order in which they are to be read.
pub(crate) struct Discovery {
    pub(crate) files: Vec<Found>,
    pub(crate) problems: Vec<Problem>,
}

/// Looks for source files. `store` knows those that were read before, `own` is its folder, never looked into.
pub(crate) fn discover(
    sources: &Sources,
    store: Option<&Store>,
    own: &Path,
    redactor: Option<&Redactor>,
) -> Result<Discovery> {
    if let Some(agent) = &sources.agent
        && backstory_agents::reader(agent).is_none()
    {
        return Err(Error::UnknownAgent(agent.clone()));
    }
    let mut walk = Walk {
        sources,
        store,
        known: store
            .map(Store::fingerprints)
            .transpose()?
            .unwrap_or_default(),
        own,
        own_identity: std::fs::metadata(own).ok().and_then(|own| identity(&own)),
        redactor,
        files: HashMap::new(),
        problems: Vec::new(),
        walked: HashSet::new(),
        seen: HashSet::new(),
        links: Vec::new(),
    };
    for (agent, root) in &sources.roots {
        if let Some(known) = LogAgent::find(agent)
            && walk.wanted(known)
        {
            walk.folder(root, Some(known), Way::default());
        }
    }
    for path in &sources.paths {
        let metadata = std::fs::metadata(path).map_err(|source| Error::Path {
            path: path.clone(),
            source,
        })?;
        if metadata.is_dir() {
            walk.folder(path, None, Way::default());
        } else if metadata.is_file() {
            walk.file(path, &metadata, None, LogOrigin::User, Way::default());
        } else {
            let source = std::io::Error::other("neither a file nor a folder");
            return Err(Error::Path {
                path: path.clone(),
                source,
            });
        }
    }
    walk.follow_links();
    for path in &sources.named {
        match open_log(path, LogOrigin::Hook).and_then(|file| file.metadata()) {
            Ok(metadata) => walk.file(path, &metadata, None, LogOrigin::Hook, Way::default()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => walk.problem(path, &error),
        }
    }
    walk.provided(&sources.provided)?;
    let mut files: Vec<Found> = walk.files.into_values().collect();
    files.sort_by(|one, other| (one.order, &one.key).cmp(&(other.order, &other.key)));
    Ok(Discovery {
        files,
        problems: walk.problems,
    })
}

/// Way by which a walk came to a file or folder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Way {
    /// Number of folders below where the walk began.
    level: usize,
    /// True if there was a link on the way.
    is_linked: bool,
}

/// Device and inode.
type Identity = (u64, u64);

/// A link that is followed when everything else was found.
struct Link {
    path: PathBuf,
    agent: Option<LogAgent>,
    level: usize,
}

struct Walk<'a> {
    sources: &'a Sources,
    store: Option<&'a Store>,
    known: HashMap<String, Fingerprint>,
    own: &'a Path,
    own_identity: Option<Identity>,
    redactor: Option<&'a Redactor>,
    files: HashMap<String, Found>,
    problems: Vec<Problem>,
    /// Folders that were looked into, for an agent or for all of them.
    walked: HashSet<(Option<&'static str>, Identity)>,
    /// Files that were looked at.
    seen: HashSet<Identity>,
    links: Vec<Link>,
}

impl Walk<'_> {
    fn wanted(&self, known: LogAgent) -> bool {
        let agent = self.sources.agent.as_deref();
        agent.is_none_or(|agent| Agent::find(agent) == Some(known.agent))
    }

    fn problem(&mut self, path: &Path, reason: &dyn std::fmt::Display) {
        self.problems.push(Problem {
            path: shown_path(self.redactor, path),
            reason: reason.to_string(),
        });
    }

    /// Walks a folder. Links are followed afterwards, so that a file that can be reached without one is known by its own name.
    fn folder(&mut self, folder: &Path, agent: Option<LogAgent>, way: Way) {
        if folder == self.own {
            return;
        }
        if way.level > MOST_LEVELS {
            let reason = format!(
                "it lies more than {MOST_LEVELS} folders deep: name it, as in `backstory sweep PATH`"
            );
            return self.problem(folder, &reason);
        }
        let name = agent.map(|known| known.agent.name);
        let identity = std::fs::metadata(folder)
            .ok()
            .and_then(|folder| identity(&folder));
        if let Some(identity) = identity
            && (Some(identity) == self.own_identity || !self.walked.insert((name, identity)))
        {
            return;
        }
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            // An agent that was never used has no folder.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
            Err(error) => return self.problem(folder, &error),
        };
        let below = Way {
            level: way.level + 1,
            ..way
        };
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.problem(folder, &error);
                    continue;
                }
            };
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => self.folder(&path, agent, below),
                Ok(kind) if kind.is_file() && has_log_name(&path, agent) => {
                    match entry.metadata() {
                        Ok(metadata) => {
                            self.file(&path, &metadata, agent, LogOrigin::User, below);
                        }
                        Err(error) => self.problem(&path, &error),
                    }
                }
                Ok(kind) if kind.is_symlink() => self.links.push(Link {
                    path,
                    agent,
                    level: below.level,
                }),
                Ok(_) => {}
                Err(error) => self.problem(&path, &error),
            }
        }
    }

    /// Follows the links that were found, in the order of their names, and those behind them. They must lead to files and folders of
    /// the user, which are read once, however many ways lead to them.
    fn follow_links(&mut self) {
        while !self.links.is_empty() {
            let mut links = std::mem::take(&mut self.links);
            links.sort_by(|one, other| one.path.cmp(&other.path));
            for link in links {
                self.follow_link(&link);
            }
        }
    }

    fn follow_link(&mut self, link: &Link) {
        let (path, agent) = (&link.path, link.agent);
        let way = Way {
            level: link.level,
            is_linked: true,
        };
        let has_log_name = has_log_name(path, agent);
        let target = match std::fs::metadata(path) {
            Ok(target) => target,
            Err(error) if has_log_name => {
                let reason = format!("it is a link that leads nowhere ({error}): remove it");
                return self.problem(path, &reason);
            }
            Err(_) => return,
        };
        let is_log = target.is_file() && has_log_name;
        if !is_log && !target.is_dir() {
            return;
        }
        let Some(identity) = identity(&target).filter(|_| is_own(&target)) else {
            let reason = "it is a link to something of another user, which is not followed: copy the logs, or name \
                          them, as in `backstory sweep PATH`";
            return self.problem(path, &reason);
        };
        if target.is_dir() {
            self.folder(path, agent, way);
        } else if !self.seen.contains(&identity) {
            self.file(path, &target, agent, LogOrigin::User, way);
        }
    }

    /// Returns whether a file of this name was read before and has not changed since.
    fn is_unchanged(&self, key: &str, fingerprint: &Fingerprint) -> bool {
        let known = self.known.get(key);
        known.is_some_and(|known| known.is_unchanged(fingerprint))
    }

    fn file(
        &mut self,
        path: &Path,
        metadata: &Metadata,
        agent: Option<LogAgent>,
        origin: LogOrigin,
        way: Way,
    ) {
        self.seen.extend(identity(metadata));
        let shown = path_text(path);
        let path_name = shown.strip_suffix(".zst").unwrap_or(&shown);
        let fingerprint = fingerprint(metadata);
        let unchanged = self.is_unchanged(path_name, &fingerprint);
        let glance = if unchanged {
            Glance::default()
        } else {
            match Glance::take(path, metadata.len(), origin) {
                Ok(seen) => seen,
                // The name of one that was forgotten is not told either.
                Err(_) if self.is_forgotten(path_name, agent) => return,
                Err(error) => return self.problem(path, &error),
            }
        };
        let named = Path::new(&*shown);
        let with_shape = |known: LogAgent| Some((known, known.reader.named(named)?));
        let agent_and_shape = match agent {
            // Whatever else lies where a link leads is not taken for a log.
            Some(known) if way.is_linked && !unchanged && !glance.head.is_empty() => {
                let shape = known.reader.recognises(named, &glance.head);
                if shape.is_none() {
                    let agent = known.agent.name;
                    let reason =
                        format!("a link leads to it, and it is no log of {agent}: remove the link");
                    return self.problem(path, &reason);
                }
                with_shape(known)
            }
            Some(known) => with_shape(known),
            // A file that did not change was recognised before; by which reader, nobody needs to know now.
            None if unchanged => LogAgent::all().next().map(|known| (known, Shape::Lines)),
            None => LogAgent::all()
                .filter(|known| self.wanted(*known))
                .find_map(|known| Some((known, known.reader.recognises(named, &glance.head)?))),
        };
        let Some((LogAgent { agent, reader }, shape)) = agent_and_shape else {
            return;
        };
        let order = match unchanged {
            true => (TimeMs::MIN, TimeMs::MIN),
            false => glance.order(reader),
        };
        if reader
            .superseded_by(path)
            .is_some_and(|other| other.metadata().is_ok_and(|metadata| metadata.len() > 0))
        {
            return;
        }
        // What is known by its path has no secret in it: nothing is searched while nothing is new.
        let key = if self.known.contains_key(path_name) {
            path_name.to_string()
        } else {
            stored_path(self.redactor, path_name)
        };
        // One that was forgotten is never read again, however it grew.
        let unchanged = unchanged
            || self.is_unchanged(&key, &fingerprint)
            || !self.known.contains_key(&key)
                && self
                    .store
                    .is_some_and(|store| store.has_forgotten(agent.name, &key).unwrap_or(true));
        let found = Found {
            path: path.to_path_buf(),
            key: key.clone(),
            agent,
            reader,
            shape,
            origin,
            fingerprint,
            unchanged,
            order,
        };
        if let Some(other) = self.files.get(&key)
            && is_another_log(&other.path, path)
        {
            let reason = format!("it has the same name as {}: rename it", other.key);
            return self.problem(path, &reason);
        }
        self.files.insert(key, found);
    }

    /// Returns whether a log was forgotten, whichever agent wrote it.
    fn is_forgotten(&self, path_name: &str, agent: Option<LogAgent>) -> bool {
        let Some(store) = self.store else {
            return false;
        };
        let key = stored_path(self.redactor, path_name);
        let is_meant = |known: &LogAgent| agent.is_none_or(|agent| agent.agent == known.agent);
        let mut agents = LogAgent::all().filter(is_meant);
        agents.any(|known| store.has_forgotten(known.agent.name, &key).unwrap_or(true))
    }
}

/// Returns whether two paths with the same name in the store are two logs: not one log and its compressed copy.
fn is_another_log(one: &Path, other: &Path) -> bool {
    let is_compressed = |path: &Path| path.extension().is_some_and(|extension| extension == "zst");
    one != other && is_compressed(one) == is_compressed(other)
}

/// Returns whether a file is named as an agent names its logs, or as any could.
fn has_log_name(path: &Path, agent: Option<LogAgent>) -> bool {
    let text = path_text(path);
    match agent {
        Some(known) => known.reader.named(Path::new(&*text)).is_some(),
        None => looks_like_log(Path::new(&*text)),
    }
}

/// Returns device and inode of a file or folder; `None` where the system does not say.
fn identity(metadata: &Metadata) -> Option<Identity> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Some((metadata.dev(), metadata.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        None
    }
}

/// Returns whether a file or folder belongs to the user of this process.
pub(crate) fn is_own(metadata: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        metadata.uid() == rustix::process::geteuid().as_raw()
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        false
    }
}

/// Returns whether a file of unknown origin is worth opening.
fn looks_like_log(path: &Path) -> bool {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    [".jsonl", ".jsonl.zst", ".json"]
        .iter()
        .any(|suffix| name.ends_with(suffix))
        || LogAgent::all().any(|known| known.reader.named(path).is_some())
}

/// The beginning of a file, and its end where that is apart from it.
#[derive(Default)]
struct Glance {
    head: Vec<u8>,
    tail: Vec<u8>,
    /// True if only the beginning can be read.
    is_compressed: bool,
}

impl Glance {
    fn take(path: &Path, size: u64, origin: LogOrigin) -> std::io::Result<Self> {
        let mut file = open_log(path, origin)?;
        let mut glance = Glance::default();
        if path.extension().is_some_and(|extension| extension == "zst") {
            glance.is_compressed = true;
            // One that is damaged further on shows when it is read; here only what can be seen counts.
            let read = zstd::stream::read::Decoder::new(file)?
                .take(GLANCE_BYTES)
                .read_to_end(&mut glance.head);
            if let Err(error) = read
                && glance.head.is_empty()
            {
                let reason = format!("it cannot be decompressed: {error}");
                return Err(std::io::Error::new(error.kind(), reason));
            }
            return Ok(glance);
        }
        file.by_ref()
            .take(GLANCE_BYTES)
            .read_to_end(&mut glance.head)?;
        if size > GLANCE_BYTES {
            file.seek(SeekFrom::Start(size.saturating_sub(GLANCE_BYTES)))?;
            file.take(GLANCE_BYTES).read_to_end(&mut glance.tail)?;
        }
        Ok(glance)
    }

    /// The first and the last time in the file.
    fn order(&self, reader: &dyn Reader) -> (TimeMs, TimeMs) {
        let (first, last) = reader.times(&self.head);
        let first = first.unwrap_or(TimeMs::MAX);
        if self.is_compressed {
            return (first, first);
        }
        let (_, last_of_tail) = reader.times(&self.tail);
        (first, last_of_tail.or(last).unwrap_or(first))
    }
}

/// Returns size, times and inode, by which a change of a file is noticed.
pub(crate) fn fingerprint(metadata: &Metadata) -> Fingerprint {
    let modified = metadata
        .modified()
        .ok()
        .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let modified_ns = modified
        .and_then(|time| i64::try_from(time.as_nanos()).ok())
        .unwrap_or(0);
    #[cfg(unix)]
    let (device, inode, changed_ns) = {
        use std::os::unix::fs::MetadataExt;
        let seconds = metadata.ctime().saturating_mul(1_000_000_000);
        let changed_ns = seconds.saturating_add(metadata.ctime_nsec());
        (metadata.dev(), metadata.ino(), changed_ns)
    };
    #[cfg(not(unix))]
    let (device, inode, changed_ns) = (0, 0, 0);
    Fingerprint {
        device,
        inode,
        size: metadata.len(),
        modified_ns,
        changed_ns,
    }
}

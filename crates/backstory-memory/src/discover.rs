//! Finding source files: which there are, and which changed since they were read.

use std::collections::HashMap;
use std::fs::Metadata;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use backstory_session::{Places, READERS, Reader, Shape};
use backstory_store::{Fingerprint, Store};

use crate::error::{Error, Result};
use crate::redaction::OptionalRedactor;
use crate::trusted::{LogOrigin, open_log};

/// Deeper folders hold no logs; a limit keeps a hostile tree from being walked for ever.
const MOST_LEVELS: usize = 24;

/// How much of the beginning and the end of a new file is looked at.
const GLANCE_BYTES: u64 = 64 << 10;

/// Where to look for logs.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// Folders of known agents; only files named as that agent names its logs are looked at.
    pub roots: Vec<(&'static str, PathBuf)>,
    /// Files and folders of any agent, told apart by content.
    pub paths: Vec<PathBuf>,
    /// Logs that hooks named, told apart by content and read only if nobody else can write them.
    pub named: Vec<PathBuf>,
    /// Only of this agent.
    pub agent: Option<String>,
}

impl Sources {
    /// The folders where all known agents keep their logs.
    pub fn known(places: &Places<'_>) -> Self {
        let roots = READERS.iter().flat_map(|reader| {
            reader
                .roots(places)
                .into_iter()
                .map(|root| (reader.agent(), root))
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
    /// Who wrote it.
    pub(crate) reader: &'static dyn Reader,
    /// How it is laid out.
    pub(crate) shape: Shape,
    /// Why it may be read.
    pub(crate) origin: LogOrigin,
    /// What it looked like when it was found.
    pub fingerprint: Fingerprint,
    /// Whether it was read before and has not changed since.
    pub unchanged: bool,
    /// Sorts new files by the times in them, so that of two files that share history the older one is read first.
    order: (i64, i64),
}

impl Found {
    /// The agent that wrote it.
    pub fn agent(&self) -> &'static str {
        self.reader.agent()
    }

    /// The path as it may be shown.
    pub fn shown_path(&self) -> PathBuf {
        if self.path.to_string_lossy().starts_with(&self.key) {
            self.path.clone()
        } else {
            PathBuf::from(&self.key)
        }
    }
}

/// Something that could not be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file or folder, without secrets.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

/// What discovery found: all source files, in the order in which they are to be read.
pub(crate) struct Discovery {
    pub(crate) files: Vec<Found>,
    pub(crate) problems: Vec<Problem>,
}

/// Looks for source files. `store` knows those that were read before, `own` is its folder, never looked into.
pub(crate) fn discover(
    sources: &Sources,
    store: Option<&Store>,
    own: &Path,
    redactor: &OptionalRedactor,
) -> Result<Discovery> {
    if let Some(agent) = &sources.agent
        && backstory_session::reader(agent).is_none()
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
        redactor,
        files: HashMap::new(),
        problems: Vec::new(),
    };
    for (agent, root) in &sources.roots {
        if let Some(reader) = backstory_session::reader(agent)
            && walk.wanted(reader)
        {
            walk.folder(root, Some(reader), 0);
        }
    }
    for path in &sources.paths {
        let metadata = std::fs::metadata(path).map_err(|source| Error::Path {
            path: path.clone(),
            source,
        })?;
        if metadata.is_dir() {
            walk.folder(path, None, 0);
        } else if metadata.is_file() {
            walk.file(path, &metadata, None, LogOrigin::User);
        } else {
            let source = std::io::Error::other("neither a file nor a folder");
            return Err(Error::Path {
                path: path.clone(),
                source,
            });
        }
    }
    for path in &sources.named {
        match open_log(path, LogOrigin::Hook).and_then(|file| file.metadata()) {
            Ok(metadata) => walk.file(path, &metadata, None, LogOrigin::Hook),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => walk.problem(path, &error),
        }
    }
    let mut files: Vec<Found> = walk.files.into_values().collect();
    files.sort_by(|one, other| (one.order, &one.key).cmp(&(other.order, &other.key)));
    Ok(Discovery {
        files,
        problems: walk.problems,
    })
}

struct Walk<'a> {
    sources: &'a Sources,
    store: Option<&'a Store>,
    known: HashMap<String, Fingerprint>,
    own: &'a Path,
    redactor: &'a OptionalRedactor,
    files: HashMap<String, Found>,
    problems: Vec<Problem>,
}

impl Walk<'_> {
    fn wanted(&self, reader: &dyn Reader) -> bool {
        self.sources
            .agent
            .as_deref()
            .is_none_or(|agent| agent == reader.agent())
    }

    fn problem(&mut self, path: &Path, reason: &std::io::Error) {
        self.problems.push(Problem {
            path: self.redactor.shown_path(path),
            reason: reason.to_string(),
        });
    }

    /// Walks a folder. Links are not followed: a log folder must not lead out of itself, nor in circles.
    fn folder(&mut self, folder: &Path, reader: Option<&'static dyn Reader>, level: usize) {
        if folder == self.own || level > MOST_LEVELS {
            return;
        }
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            // An agent that was never used has no folder.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
            Err(error) => return self.problem(folder, &error),
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
                Ok(kind) if kind.is_dir() => self.folder(&path, reader, level + 1),
                Ok(kind) if kind.is_file() => {
                    let named = reader.map_or_else(
                        || looks_like_log(&path),
                        |reader| reader.named(&path).is_some(),
                    );
                    if named {
                        match entry.metadata() {
                            Ok(metadata) => self.file(&path, &metadata, reader, LogOrigin::User),
                            Err(error) => self.problem(&path, &error),
                        }
                    }
                }
                Ok(_) => {}
                Err(error) => self.problem(&path, &error),
            }
        }
    }

    /// Whether a file of this name was read before and looks as it did then.
    fn is_unchanged(&self, key: &str, fingerprint: &Fingerprint) -> bool {
        let known = self.known.get(key);
        known.is_some_and(|known| known.is_unchanged(fingerprint))
    }

    fn file(
        &mut self,
        path: &Path,
        metadata: &Metadata,
        reader: Option<&'static dyn Reader>,
        origin: LogOrigin,
    ) {
        let shown = path.to_string_lossy();
        let path_name = shown.strip_suffix(".zst").unwrap_or(&shown);
        let fingerprint = fingerprint(metadata);
        let unchanged = self.is_unchanged(path_name, &fingerprint);
        let (head, order) = if unchanged {
            (Vec::new(), (i64::MIN, i64::MIN))
        } else {
            match glance(path, metadata.len(), origin) {
                Ok(seen) => seen,
                Err(error) => return self.problem(path, &error),
            }
        };
        let reader_and_shape = match reader {
            Some(reader) => reader.named(path).map(|shape| (reader, shape)),
            // A file that did not change was recognised before; by which reader, nobody needs to know now.
            None if unchanged => READERS.first().map(|reader| (*reader, Shape::Lines)),
            None => READERS
                .iter()
                .filter(|reader| self.wanted(**reader))
                .find_map(|reader| Some((*reader, reader.recognises(path, &head)?))),
        };
        let Some((reader, shape)) = reader_and_shape else {
            return;
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
            self.redactor.path_name(path_name)
        };
        // One that was forgotten is never read again, however it grew.
        let unchanged = unchanged
            || self.is_unchanged(&key, &fingerprint)
            || !self.known.contains_key(&key)
                && self
                    .store
                    .is_some_and(|store| store.has_forgotten(reader.agent(), &key).unwrap_or(true));
        let found = Found {
            path: path.to_path_buf(),
            key: key.clone(),
            reader,
            shape,
            origin,
            fingerprint,
            unchanged,
            order,
        };
        self.files.insert(key, found);
    }
}

/// Whether a file of unknown origin is worth opening.
fn looks_like_log(path: &Path) -> bool {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    [".jsonl", ".jsonl.zst", ".json"]
        .iter()
        .any(|suffix| name.ends_with(suffix))
}

/// Reads the beginning of a file, and the first and last time that it names near its beginning and end.
fn glance(path: &Path, size: u64, origin: LogOrigin) -> std::io::Result<(Vec<u8>, (i64, i64))> {
    let mut file = open_log(path, origin)?;
    let mut head = Vec::new();
    if path.extension().is_some_and(|extension| extension == "zst") {
        // A damaged archive shows when it is read; here only what can be seen counts.
        let _ = zstd::stream::read::Decoder::new(file)?
            .take(GLANCE_BYTES)
            .read_to_end(&mut head);
        let first = first_time(&head).unwrap_or(i64::MAX);
        return Ok((head, (first, first)));
    }
    file.by_ref().take(GLANCE_BYTES).read_to_end(&mut head)?;
    let mut tail = Vec::new();
    if size > GLANCE_BYTES {
        file.seek(SeekFrom::Start(size.saturating_sub(GLANCE_BYTES)))?;
        file.take(GLANCE_BYTES).read_to_end(&mut tail)?;
    }
    let first = first_time(&head).unwrap_or(i64::MAX);
    let last = last_time(&tail)
        .or_else(|| last_time(&head))
        .unwrap_or(first);
    Ok((head, (first, last)))
}

const TIME_MARK: &[u8] = b"\"timestamp\":\"";

fn first_time(bytes: &[u8]) -> Option<i64> {
    memchr::memmem::find(bytes, TIME_MARK).and_then(|at| time_at(bytes, at))
}

fn last_time(bytes: &[u8]) -> Option<i64> {
    memchr::memmem::rfind(bytes, TIME_MARK).and_then(|at| time_at(bytes, at))
}

fn time_at(bytes: &[u8], mark: usize) -> Option<i64> {
    let text = &bytes[mark + TIME_MARK.len()..];
    let end = memchr::memchr(b'"', text)?;
    let time: jiff::Timestamp = std::str::from_utf8(&text[..end]).ok()?.parse().ok()?;
    Some(time.as_millisecond())
}

/// What tells whether a file changed.
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

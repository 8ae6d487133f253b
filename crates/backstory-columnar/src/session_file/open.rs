//! Opening session files.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use backstory_memory::WrittenRecord;
use hdf5_pure::{AttrValue, FileAccessProperties, Group, WriteMarkPolicy};

use super::attributes::text_attribute;
use super::limits::{CheckError, CheckedShape, check_dataset};
use super::logged_records::LoggedRecords;
use super::read::Session;
use super::schema::{SCHEMA_VERSION, SESSIONS};
use crate::error::{Error, Result};
use crate::files::open_regular_file;
use crate::hdf5::SharedSource;
use crate::hdf5::object::{LinkTarget, NamedLink, ObjectHeader, root_address};

/// Bytes that reading one object may take beyond twice the file.
const READ_SLACK_BYTES: u64 = 64 << 20;
/// Rows that a file may have besides one for every fourth byte. Rows of zeros take no space, so that only this bounds them.
const EXTRA_ROWS: u64 = 1 << 16;

/// Session file opened for reading. What is read is never more than the file can hold, whatever it claims.
pub struct SessionFile {
    path: PathBuf,
    file: hdf5_pure::File,
    pub(super) source: SharedSource,
    /// Records of all logs, once they were read.
    pub(super) logged: OnceLock<LoggedRecords>,
}

impl SessionFile {
    /// Opens a file. One that is being written, or was left unclosed, is read as far as it is written.
    pub fn open(path: &Path) -> Result<SessionFile> {
        Self::from_file(path, open_regular_file(path)?)
    }

    /// Reads a file whose bytes are in memory.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<SessionFile> {
        Self::from_source(Path::new("(bytes)"), SharedSource::from_bytes(bytes))
    }

    /// Opens a file that is open already.
    pub(super) fn from_file(path: &Path, file: File) -> Result<SessionFile> {
        Self::from_source(
            path,
            SharedSource::from_file(file).map_err(Error::io(path))?,
        )
    }

    fn from_source(path: &Path, source: SharedSource) -> Result<SessionFile> {
        if source.file_bytes() == 0 {
            return Err(Error::Empty {
                path: path.to_owned(),
            });
        }
        let properties =
            FileAccessProperties::new().with_write_mark_policy(WriteMarkPolicy::AllowSnapshot);
        source.allow_bytes(READ_SLACK_BYTES);
        let file = hdf5_pure::File::from_source_with_options(source.clone(), properties).map_err(
            |source| Error::Format {
                path: path.to_owned(),
                place: "the superblock".into(),
                source: Box::new(source),
            },
        )?;
        let opened = SessionFile {
            path: path.to_owned(),
            file,
            source,
            logged: OnceLock::new(),
        };
        let attributes = opened.group_attributes(&opened.root_group(), "/")?;
        match attributes.get("schema_version").and_then(AttrValue::as_i64) {
            Some(SCHEMA_VERSION) => Ok(opened),
            Some(version) => Err(opened.not_session_file(&format!(
                "schema_version is {version}, and only {SCHEMA_VERSION} is known"
            ))),
            None => Err(opened.not_session_file("there is no attribute schema_version")),
        }
    }

    /// Path that the file was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the Python package wrote the file, whose source is the agent whose logs it reads, and which repeats an answer's tokens in each of its rows.
    ///
    /// # Errors
    /// If the attribute cannot be read.
    pub fn repeats_usage(&self) -> Result<bool> {
        Ok(self.source()?.starts_with(WrittenRecord::AGENT))
    }

    /// Attribute `source`: the program that began the file.
    pub fn source(&self) -> Result<String> {
        let attributes = self.group_attributes(&self.root_group(), "/")?;
        Ok(text_attribute(&attributes, "source"))
    }

    /// Returns all sessions, sorted by name.
    pub fn all_sessions(&self) -> Result<Vec<Session<'_>>> {
        let groups = self.session_groups()?.into_iter();
        Ok(groups
            .map(|(id, group)| Session::new(self, id, group))
            .collect())
    }

    /// Returns all sessions but those that are another name of one before: hard links can give an object thousands of names.
    pub(crate) fn distinct_sessions(&self) -> Result<Vec<Session<'_>>> {
        let addresses = self.session_addresses().unwrap_or_default();
        let mut seen = HashSet::new();
        let mut sessions = self.all_sessions()?;
        sessions.retain(|session| {
            let address = addresses.get(session.id());
            address.is_none_or(|address| seen.insert(*address))
        });
        Ok(sessions)
    }

    /// Returns the addresses of sessions by their names; `None` when the links to them are stored in an unusual form.
    fn session_addresses(&self) -> Option<HashMap<String, u64>> {
        self.start_operation();
        let links =
            |address| ObjectHeader::read_at(&self.source, address)?.read_links(&self.source);
        let object = |link: NamedLink| match link.target {
            LinkTarget::Object(address) => Some((link.name, address)),
            _ => None,
        };
        let root = links(root_address(&self.source)?)?;
        let (_, sessions) = root
            .into_iter()
            .filter_map(object)
            .find(|link| link.0 == SESSIONS)?;
        self.start_operation();
        Some(links(sessions)?.into_iter().filter_map(object).collect())
    }

    /// Returns the session with this name.
    pub fn session(&self, id: &str) -> Result<Session<'_>> {
        let missing = || Error::NoSession {
            path: self.path.clone(),
            id: id.to_owned(),
        };
        if id.is_empty() || id == "." || id.contains('/') {
            return Err(missing());
        }
        let sessions = self
            .child_group(&self.root_group(), SESSIONS, SESSIONS)?
            .ok_or_else(missing)?;
        let group = self
            .child_group(&sessions, id, &format!("{SESSIONS}/{id}"))?
            .ok_or_else(missing)?;
        Ok(Session::new(self, id.to_owned(), group))
    }

    pub(super) fn session_groups(&self) -> Result<Vec<(String, Group)>> {
        let Some(sessions) = self.child_group(&self.root_group(), SESSIONS, SESSIONS)? else {
            return Ok(Vec::new());
        };
        let mut groups = self.child_groups(&sessions, SESSIONS)?;
        groups.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(groups)
    }

    pub(super) fn root_group(&self) -> Group {
        self.file.root()
    }

    pub(super) fn file_bytes(&self) -> u64 {
        self.source.file_bytes()
    }

    /// Rows that a table of the file can have.
    pub(super) fn max_rows(&self) -> u64 {
        self.file_bytes() / 4 + EXTRA_ROWS
    }

    /// Allows the next operation to read each byte of the file about twice.
    pub(super) fn start_operation(&self) {
        self.source.allow_bytes(
            self.file_bytes()
                .saturating_mul(2)
                .saturating_add(READ_SLACK_BYTES),
        );
    }

    /// Returns a subgroup, or `None` when there is none of that name.
    pub(super) fn child_group(
        &self,
        parent: &Group,
        name: &str,
        place: &str,
    ) -> Result<Option<Group>> {
        self.start_operation();
        match parent.group(name) {
            Ok(group) => Ok(Some(group)),
            Err(hdf5_pure::Error::Format(hdf5_pure::FormatError::PathNotFound(_))) => Ok(None),
            Err(error) => Err(self.format_error(place, error)),
        }
    }

    pub(super) fn child_groups(&self, parent: &Group, place: &str) -> Result<Vec<(String, Group)>> {
        self.start_operation();
        Ok(parent
            .iter_groups()
            .map_err(|error| self.format_error(place, error))?
            .collect())
    }

    pub(super) fn child_datasets(
        &self,
        parent: &Group,
        place: &str,
    ) -> Result<Vec<(String, hdf5_pure::Dataset)>> {
        self.start_operation();
        Ok(parent
            .iter_datasets()
            .map_err(|error| self.format_error(place, error))?
            .collect())
    }

    pub(super) fn group_attributes(
        &self,
        group: &Group,
        place: &str,
    ) -> Result<HashMap<String, AttrValue>> {
        self.start_operation();
        group
            .attrs()
            .map_err(|error| self.format_error(place, error))
    }

    pub(super) fn check_shape(
        &self,
        dataset: &hdf5_pure::Dataset,
        place: &str,
    ) -> Result<CheckedShape> {
        check_dataset(dataset, self.file_bytes()).map_err(|error| match error {
            CheckError::Format(error) => self.format_error(place, error),
            CheckError::Impossible(what) => self.damaged_error(place, what),
        })
    }

    /// Checks that all elements of a dataset may be read at once.
    pub(super) fn check_fits_memory(&self, shape: &CheckedShape, place: &str) -> Result<()> {
        match shape.fits_memory() {
            true => Ok(()),
            false => {
                Err(self.damaged_error(place, "most of its chunks are not in the file".into()))
            }
        }
    }

    pub(super) fn format_error(&self, place: &str, source: hdf5_pure::Error) -> Error {
        Error::Format {
            path: self.path.clone(),
            place: place.to_owned(),
            source: Box::new(source),
        }
    }

    pub(super) fn damaged_error(&self, place: &str, what: String) -> Error {
        Error::Damaged {
            path: self.path.clone(),
            place: place.to_owned(),
            what,
        }
    }

    fn not_session_file(&self, what: &str) -> Error {
        Error::NotSessionFile {
            path: self.path.clone(),
            what: what.to_owned(),
        }
    }
}

impl std::fmt::Debug for SessionFile {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("SessionFile")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

//! Writing session files: a new one, or a rebuilt one with all that the old one holds.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use backstory_memory::Redactor;
use hdf5_pure::Group;

use super::columns::Columns;
use super::copy::Copier;
use super::logged_records::LoggedRecords;
use super::merge::{UnchangedRows, merge_session};
use super::open::SessionFile;
use super::read::{RowCounts, Session};
use super::reuse::{CALL_CONTENTS, MESSAGE_CONTENTS};
use super::save::{CarriedMembers, SessionWriter};
use super::schema::{
    ARTIFACTS, CALL_COLUMNS, MESSAGE_COLUMNS, MESSAGES, RESULT_DATA, ROWS_USED, SCHEMA_VERSION,
    SESSION_GROUPS, SESSIONS, TOOL_CALLS,
};
use crate::error::{Error, Result};
use crate::hdf5::FileWriter;
use crate::hdf5::group::Link;
use crate::redaction::{comparable_ids, is_unredacted, redacted_id};
use crate::replacement::{NewVersion, WriteLock, lock_old_version, resolve_target};
use crate::rows::{
    Artifact, AttributeValue, Message, SessionAttributes, SessionColumns, link_name,
};
use crate::session_columns::STATE_ATTRIBUTE;

/// Options of writing a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteOptions {
    /// Threads that compress; 0 is one.
    pub threads: usize,
    /// Redacts the rows of a session that the old file has unredacted, where the new ones are redacted.
    pub redactor: Option<Redactor>,
}

/// Result of writing a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteReport {
    /// Sessions that were given.
    pub sessions: u64,
    /// Sessions of the old file that were not among them.
    pub carried_over: u64,
    /// Messages of the sessions that were given, with those that only the old file had.
    pub messages: u64,
    /// Tool calls of the sessions that were given, with those that only the old file had.
    pub tool_calls: u64,
    /// Size of the file.
    pub file_bytes: u64,
}

/// Writes sessions to `path`: a new file, or a rebuilt one that also has everything that the old one holds.
///
/// The file at `path` is replaced at once when all is written and durable; until then, and if anything fails, it stays as it was. Another
/// writer waits. A session is in memory only while it is written. `source` is the attribute of that name of a new file.
///
/// # Errors
/// If a session cannot be provided or written, if the old file is damaged or has something that cannot be carried over, or the system refuses.
pub fn write_sessions<I>(
    path: &Path,
    source: &str,
    sessions: I,
    options: &WriteOptions,
) -> Result<WriteReport>
where
    I: IntoIterator<Item = Result<SessionColumns>>,
{
    let target = resolve_target(path)?;
    let _lock = WriteLock::acquire(&target)?;
    let locked = lock_old_version(&target)?;
    let old = match &locked {
        Some(file) => {
            let file = file.try_clone().map_err(Error::io(&target))?;
            let old = SessionFile::from_file(&target, file).map_err(Error::into_target_error)?;
            old.check_unlisted()?;
            old.check_carry_over(&old.root_group(), "", 0, &mut 0)?;
            Some(old)
        }
        None => None,
    };
    let new = NewVersion::create(&target)?;
    let out = FileWriter::create(new.file(), options.threads).map_err(Error::io(&target))?;
    let mut rebuild = Rebuild {
        target: &target,
        old: old.as_ref(),
        out,
        links: Vec::new(),
        redactor: options.redactor,
        report: WriteReport::default(),
    };
    rebuild.write_all(source, sessions)?;
    let report = rebuild.report;
    drop(rebuild);
    new.replace_target()?;
    Ok(report)
}

struct Rebuild<'a, W: std::io::Write + std::io::Seek> {
    target: &'a Path,
    old: Option<&'a SessionFile>,
    out: FileWriter<W>,
    links: Vec<Link>,
    redactor: Option<Redactor>,
    report: WriteReport,
}

impl<W: std::io::Write + std::io::Seek> Rebuild<'_, W> {
    fn write_all<I>(&mut self, source: &str, sessions: I) -> Result<()>
    where
        I: IntoIterator<Item = Result<SessionColumns>>,
    {
        let mut left: HashMap<String, Group> = HashMap::new();
        if let Some(old) = self.old {
            left = old.session_groups()?.into_iter().collect();
        }
        let mut written = HashSet::new();
        for session in sessions {
            let session = session?;
            check_columns(&session)?;
            let id = session.id.clone();
            if !written.insert(id.clone()) {
                return Err(Error::BadColumns {
                    id,
                    what: "it was given twice".into(),
                });
            }
            let old = match self.old {
                Some(file) => {
                    let renamed = session
                        .replaced
                        .iter()
                        .find(|name| left.contains_key(*name));
                    let name = renamed.unwrap_or(&session.id).clone();
                    let group = left.remove(&name);
                    group.map(|group| Session::new(file, name, group))
                }
                None => None,
            };
            if let Some(old) = &old
                && is_other_session(&session.attributes, &old.attributes()?)
            {
                return Err(self.other_session(old.id()));
            }
            self.write_session(session, old)?;
        }
        let mut left: Vec<_> = left.into_iter().collect();
        left.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for (id, group) in left {
            if written.contains(&id) {
                return Err(self.other_session(&id));
            }
            let address = self
                .copier()?
                .copy_group(&group, &format!("{SESSIONS}/{id}"))?;
            self.links.push((id, address));
            self.report.carried_over += 1;
        }
        self.write_root(source)
    }

    /// Error of a session whose name another one got since its place was chosen.
    fn other_session(&self, name: &str) -> Error {
        Error::BadTarget {
            path: self.target.to_owned(),
            what: format!("has another session named \"{name}\" now: try again"),
        }
    }

    fn write_session(
        &mut self,
        mut session: SessionColumns,
        old: Option<Session<'_>>,
    ) -> Result<()> {
        let mut carried = CarriedMembers::default();
        if let Some(old) = old {
            let columns = SessionColumns {
                id: String::new(),
                attributes: old.attributes()?,
                messages: old.messages(0..u64::MAX)?,
                tool_calls: old.tool_calls(0..u64::MAX)?,
                artifacts: Vec::new(),
                logs: old.read_logs()?,
                ..SessionColumns::default()
            };
            let mut logged = LoggedRecords::default();
            let is_others = |row: &Message| row.seq == 0 && !row.uuid.is_empty();
            if columns.messages.iter().any(is_others) {
                logged.add_logs(&session.logs);
                old.file().logged_records()?;
            }
            let in_file = old.file().logged.get();
            let is_logged =
                |id: &str| logged.contains(id) || in_file.is_some_and(|file| file.contains(id));
            let unchanged = merge_session(&mut session, columns, self.redactor.as_ref(), is_logged);
            check_columns(&session)?;
            carried = self.carry_members(&old, &session)?;
            self.reuse_chunks(&old, &session, &unchanged, &mut carried)?;
        }
        self.report.sessions += 1;
        self.report.messages += session.messages.len() as u64;
        self.report.tool_calls += session.tool_calls.len() as u64;
        let counts = RowCounts {
            messages: session.messages.len() as u64,
            tool_calls: session.tool_calls.len() as u64,
            artifacts: (session.artifacts.len() + carried.artifacts.len()) as u64,
        };
        add_counts_to_state(&mut session.attributes, counts);
        let address = SessionWriter { out: &mut self.out }
            .write_session(&session, carried)
            .map_err(Error::io(self.target))?;
        self.links.push((session.id, address));
        Ok(())
    }

    fn copier(&mut self) -> Result<Copier<'_, W>> {
        match self.old {
            Some(old) => Ok(Copier {
                old,
                out: &mut self.out,
                target: self.target,
            }),
            None => Err(Error::BadTarget {
                path: self.target.to_owned(),
                what: "has no old version".into(),
            }),
        }
    }

    /// Copies what an old session has besides the columns.
    fn carry_members(&mut self, old: &Session<'_>, new: &SessionColumns) -> Result<CarriedMembers> {
        let place = old.place();
        let file = old.file();
        let mut carried = CarriedMembers {
            session: self.copier()?.copy_members(
                old.group(),
                &place,
                &name_set(&SESSION_GROUPS),
            )?,
            ..Default::default()
        };
        let messages = format!("{place}/{MESSAGES}");
        if let Some(group) = file.child_group(old.group(), MESSAGES, &messages)? {
            carried.messages.links =
                self.copier()?
                    .copy_members(&group, &messages, &name_set(&MESSAGE_COLUMNS))?;
            carried.messages.attributes =
                self.copier()?
                    .copy_attributes(&group, &messages, &[ROWS_USED])?;
        }
        let calls = format!("{place}/{TOOL_CALLS}");
        if let Some(group) = file.child_group(old.group(), TOOL_CALLS, &calls)? {
            let mut known = name_set(&CALL_COLUMNS);
            known.insert(RESULT_DATA);
            carried.tool_calls.links = self.copier()?.copy_members(&group, &calls, &known)?;
            carried.tool_calls.attributes =
                self.copier()?
                    .copy_attributes(&group, &calls, &[ROWS_USED])?;
            let results = format!("{calls}/{RESULT_DATA}");
            if let Some(results_group) = file.child_group(&group, RESULT_DATA, &results)? {
                carried.result_data = Some(self.copier()?.copy_group(&results_group, &results)?);
            }
        }
        let artifacts = format!("{place}/{ARTIFACTS}");
        if let Some(group) = file.child_group(old.group(), ARTIFACTS, &artifacts)? {
            // Names of ours have ids of records in them, and their origins those of calls.
            let old_attributes = old.attributes()?;
            let comparable_id = comparable_ids(&new.attributes, &old_attributes);
            let written = new.artifacts.iter();
            let written: HashSet<_> = written.map(|row| comparable_id(&row.name)).collect();
            let mut replaced = Vec::new();
            let is_other = is_unredacted(&old_attributes) != is_unredacted(&new.attributes);
            if is_other || self.redactor.is_some() {
                // Artifacts of records whose ids have secrets are named otherwise.
                let is_same = |old: &Artifact, new: &Artifact| {
                    old.bytes == new.bytes
                        && comparable_id(&old.origin) == comparable_id(&new.origin)
                };
                let redactor = self.redactor.as_ref();
                let is_carried = |name: &str| !written.contains(&comparable_id(name));
                let mut removed = old.artifacts_named(is_carried)?;
                removed.retain(|row| {
                    redactor.is_some_and(|redactor| has_secret(row, redactor))
                        || (is_other
                            && !row.origin.is_empty()
                            && new.artifacts.iter().any(|new| is_same(row, new)))
                });
                replaced.extend(removed.into_iter().map(|artifact| artifact.name));
            }
            for (name, _) in file.child_datasets(&group, &artifacts)? {
                if written.contains(&comparable_id(&name)) {
                    replaced.push(name);
                }
            }
            let replaced = replaced.iter().map(String::as_str).collect();
            carried.artifacts = self.copier()?.copy_members(&group, &artifacts, &replaced)?;
        }
        Ok(carried)
    }

    /// Copies chunks of contents that did not change.
    fn reuse_chunks(
        &mut self,
        old: &Session<'_>,
        new: &SessionColumns,
        unchanged: &UnchangedRows,
        carried: &mut CarriedMembers,
    ) -> Result<()> {
        let rows = new.messages[..unchanged.messages].iter();
        let lengths: Vec<_> = rows.map(|row| [row.text.len(), row.json.len()]).collect();
        if let Some(columns) = Columns::open(old, MESSAGES)? {
            carried.messages.chunks =
                self.copier()?
                    .copy_leading_chunks(&columns, &MESSAGE_CONTENTS, &lengths)?;
        }
        let rows = new.tool_calls[..unchanged.tool_calls].iter();
        let lengths: Vec<_> = rows.map(|row| [row.args.len(), row.result.len()]).collect();
        if let Some(columns) = Columns::open(old, TOOL_CALLS)? {
            carried.tool_calls.chunks =
                self.copier()?
                    .copy_leading_chunks(&columns, &CALL_CONTENTS, &lengths)?;
        }
        Ok(())
    }

    fn write_root(&mut self, source: &str) -> Result<()> {
        let mut links = Vec::new();
        let mut attributes = Vec::new();
        let mut session_attributes = Vec::new();
        if let Some(old) = self.old {
            let root = old.root_group();
            links = self
                .copier()?
                .copy_members(&root, "", &HashSet::from([SESSIONS]))?;
            attributes = self
                .copier()?
                .copy_attributes(&root, "/", &["schema_version"])?;
            if let Some(sessions) = old.child_group(&root, SESSIONS, SESSIONS)? {
                session_attributes = self.copier()?.copy_attributes(&sessions, SESSIONS, &[])?;
            }
        }
        let io = Error::io(self.target);
        let written = (|| {
            if !attributes
                .iter()
                .any(|attribute| attribute.name == "source")
            {
                attributes.push(
                    self.out
                        .encode_attribute("source", &AttributeValue::Text(source.to_owned()))?,
                );
            }
            attributes.push(
                self.out
                    .encode_attribute("schema_version", &AttributeValue::Integer(SCHEMA_VERSION))?,
            );
            let sessions = self.out.write_group(&self.links, &session_attributes)?;
            links.push((SESSIONS.to_owned(), sessions));
            let root = self.out.write_group(&links, &attributes)?;
            self.out.finish(root)
        })();
        self.report.file_bytes = written.map_err(io)?;
        Ok(())
    }
}

/// Adds the counts to the state of a session: what others add changes it.
fn add_counts_to_state(attributes: &mut SessionAttributes, counts: RowCounts) {
    for (name, value) in &mut attributes.other {
        if let (STATE_ATTRIBUTE, AttributeValue::Text(state)) = (name.as_str(), value) {
            *state = counts.state_with(state);
        }
    }
}

/// Returns whether two versions are known to be of different sessions. Files of others name no agent, and not always the id.
fn is_other_session(new: &SessionAttributes, old: &SessionAttributes) -> bool {
    let has_other_agent = !new.agent.is_empty() && !old.agent.is_empty() && new.agent != old.agent;
    let ids = new.session_id_original.as_ref();
    let ids = ids.zip(old.session_id_original.as_ref());
    has_other_agent
        || ids.is_some_and(|(new, old)| new != old && redacted_id(new) != redacted_id(old))
}

fn name_set<'a>(names: &[&'a str]) -> HashSet<&'a str> {
    names.iter().copied().collect()
}

/// Returns whether an artifact has a secret in its bytes, or in what it is known by.
fn has_secret(artifact: &Artifact, redactor: &Redactor) -> bool {
    let texts = [&artifact.name, &artifact.origin];
    texts.iter().any(|text| redacted_id(text) != **text)
        || redactor.redact(&artifact.bytes, &[]).count > 0
}

/// Checks what the file format demands of columns.
fn check_columns(session: &SessionColumns) -> Result<()> {
    let bad = |what: String| {
        Err(Error::BadColumns {
            id: session.id.clone(),
            what,
        })
    };
    if link_name(&session.id) != session.id {
        return bad("its id must not be empty or contain \"/\"".into());
    }
    let mut seen = HashSet::new();
    for artifact in &session.artifacts {
        if link_name(&artifact.name) != artifact.name || !seen.insert(&artifact.name) {
            return bad(format!(
                "\"{}\" is not the name of one artifact",
                artifact.name
            ));
        }
    }
    let mut lengths = session
        .messages
        .iter()
        .filter_map(|row| row.embedding.as_ref().map(Vec::len));
    if let Some(first) = lengths.next()
        && (first == 0 || lengths.any(|length| length != first))
    {
        return bad("its embeddings do not all have the same length".into());
    }
    if let Some(log) = session
        .logs
        .iter()
        .find(|log| !log.rows.is_sorted_by_key(|(offset, _)| *offset))
    {
        return bad(format!(
            "rows of its log {} are not in the order of offsets",
            log.path
        ));
    }
    Ok(())
}

//! What `inspect` shows of sessions.
//!
//! Sessions in the form that the writer gives them are summed up by reading a few headers and one column; of a file of 134 sessions that takes
//! an eighth of the time that `hdf5-pure` takes. It reads all others.

use super::attributes::set_known_text;
use super::columns::Columns;
use super::open::SessionFile;
use super::read::{Session, usage_from};
use super::schema::{
    ARTIFACTS, LOG, MESSAGES, ROWS_USED, SESSIONS, TOOL_CALLS, USAGE_FIELDS, usage_type,
};
use crate::error::Result;
use crate::hdf5::SharedSource;
use crate::hdf5::header::LAYOUT;
use crate::hdf5::object::{
    AttributeKind, LinkTarget, NamedLink, ObjectHeader, PackedRows, Unpacker, root_address,
};
use crate::hdf5::texts::TextReader;
use crate::rows::{AttributeValue, SessionAttributes, TokenUsage, link_name};

/// What a file tells about one of its sessions without its content.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionSummary {
    /// Name of the session's group.
    pub id: String,
    /// Attributes of the session.
    pub attributes: SessionAttributes,
    /// Number of messages.
    pub messages: u64,
    /// Number of tool calls.
    pub tool_calls: u64,
    /// Number of artifacts.
    pub artifacts: u64,
    /// Number of log files.
    pub logs: u64,
    /// Tokens of all messages.
    pub usage: TokenUsage,
}

impl SessionFile {
    /// Returns the names of all sessions, sorted.
    pub fn session_ids(&self) -> Result<Vec<String>> {
        if let Some(sessions) = self.list_sessions() {
            return Ok(sessions.into_iter().map(|(id, _)| id).collect());
        }
        let groups = self.session_groups()?.into_iter();
        Ok(groups.map(|(id, _)| id).collect())
    }

    /// Returns a summary of every session, sorted by name. Content is not read.
    pub fn sessions(&self) -> Result<Vec<SessionSummary>> {
        let mut reader = SummaryReader::new(self);
        let Some(sessions) = self.list_sessions() else {
            let sessions = self.all_sessions()?;
            return sessions.iter().map(Session::open_summary).collect();
        };
        let summaries =
            sessions
                .into_iter()
                .map(|(id, header)| match reader.read_summary(&id, &header) {
                    Some(summary) => Ok(summary),
                    None => self.session(&id)?.open_summary(),
                });
        summaries.collect()
    }

    /// Links of all sessions and of other members beside them.
    fn session_links(&self) -> Option<Vec<NamedLink>> {
        self.start_operation();
        let source = &self.source;
        let root = ObjectHeader::read_at(source, root_address(source)?)?;
        match find_link(&root.read_links(source)?, SESSIONS) {
            Found::Nothing => Some(Vec::new()),
            Found::Object(address) => ObjectHeader::read_at(source, address)?.read_links(source),
            Found::Other => None,
        }
    }

    /// Returns the groups of all sessions, sorted by name.
    fn list_sessions(&self) -> Option<Vec<(String, ObjectHeader)>> {
        let mut groups = Vec::new();
        for link in self.session_links()? {
            let LinkTarget::Object(address) = link.target else {
                continue;
            };
            let header = ObjectHeader::read_at(&self.source, address)?;
            if header.is_group() {
                groups.push((link.name, header));
            }
        }
        groups.sort_by(|a, b| a.0.cmp(&b.0));
        let is_unique = groups.windows(2).all(|pair| pair[0].0 != pair[1].0);
        let has_ids = groups.iter().all(|(id, _)| link_name(id) == *id);
        (is_unique && has_ids).then_some(groups)
    }
}

impl Session<'_> {
    /// Returns counts, attributes and token sums.
    pub fn summary(&self) -> Result<SessionSummary> {
        match self.read_summary() {
            Some(summary) => Ok(summary),
            None => self.open_summary(),
        }
    }

    fn read_summary(&self) -> Option<SessionSummary> {
        let Found::Object(address) = find_link(&self.file().session_links()?, self.id()) else {
            return None;
        };
        let header = ObjectHeader::read_at(&self.file().source, address)?;
        SummaryReader::new(self.file()).read_summary(self.id(), &header)
    }

    /// Returns the summary as `hdf5-pure` reads it, for files of any form.
    pub(super) fn open_summary(&self) -> Result<SessionSummary> {
        let attributes = self.attributes()?;
        let messages = Columns::open(self, MESSAGES)?;
        let tool_calls = Columns::open(self, TOOL_CALLS)?;
        Ok(SessionSummary {
            id: self.id().to_owned(),
            attributes,
            messages: messages.as_ref().map_or(Ok(0), Columns::message_rows)?,
            tool_calls: tool_calls.as_ref().map_or(Ok(0), Columns::call_rows)?,
            artifacts: self.artifact_count()?,
            logs: self.log_count()?,
            usage: messages
                .as_ref()
                .map_or(Ok(TokenUsage::default()), Columns::sum_usage)?,
        })
    }
}

/// Result of looking for a member.
enum Found {
    Nothing,
    Object(u64),
    /// Link of another kind, or several of that name.
    Other,
}

fn find_link(links: &[NamedLink], name: &str) -> Found {
    let mut same = links.iter().filter(|link| link.name == name);
    match (same.next().map(|link| link.target), same.next()) {
        (None, _) => Found::Nothing,
        (Some(LinkTarget::Object(address)), None) => Found::Object(address),
        _ => Found::Other,
    }
}

/// Reader of sessions in the form that the writer gives them. It returns `None` for those of another form.
struct SummaryReader<'a> {
    file: &'a SessionFile,
    source: &'a SharedSource,
    unpacker: Unpacker,
}

impl<'a> SummaryReader<'a> {
    fn new(file: &'a SessionFile) -> Self {
        Self {
            file,
            source: &file.source,
            unpacker: Unpacker::new(),
        }
    }

    fn read_summary(&mut self, id: &str, session: &ObjectHeader) -> Option<SessionSummary> {
        self.file.start_operation();
        let members = session.read_links(self.source)?;
        let messages = self.open_group(&members, MESSAGES)?;
        let tool_calls = self.open_group(&members, TOOL_CALLS)?;
        Some(SessionSummary {
            id: id.to_owned(),
            attributes: self.read_attributes(session)?,
            messages: self.count_rows(&messages, "uuid")?,
            tool_calls: self.count_rows(&tool_calls, "tool_use_id")?,
            artifacts: self.count_datasets(&self.open_group(&members, ARTIFACTS)?)?,
            logs: self.count_logs(&self.open_group(&members, LOG)?)?,
            usage: self.sum_usage(&messages)?,
        })
    }

    /// Opens a member of a session. One that does not exist has no members.
    fn open_group(&self, members: &[NamedLink], name: &str) -> Option<OpenGroup> {
        match find_link(members, name) {
            Found::Nothing => Some(OpenGroup::default()),
            Found::Object(address) => {
                let header = ObjectHeader::read_at(self.source, address)?;
                let links = header.read_links(self.source)?;
                let is_group = header.is_group();
                is_group.then_some(OpenGroup {
                    header: Some(header),
                    links,
                })
            }
            Found::Other => None,
        }
    }

    fn open_member(&self, group: &OpenGroup, name: &str) -> Option<Option<ObjectHeader>> {
        match find_link(&group.links, name) {
            Found::Nothing => Some(None),
            Found::Object(address) => {
                let header = ObjectHeader::read_at(self.source, address)?;
                header.has_message(LAYOUT).then_some(Some(header))
            }
            Found::Other => None,
        }
    }

    /// Number of rows, if the group tells the same as its first column. Else, rows at the end may be unused.
    fn count_rows(&self, group: &OpenGroup, column: &str) -> Option<u64> {
        let Some(header) = &group.header else {
            return Some(0);
        };
        let rows = match self.open_member(group, column)? {
            Some(dataset) => dataset.row_count()?,
            None => return Some(0),
        };
        let attributes = header.read_attributes(self.source)?;
        let told = attributes.iter().find(|one| one.name == ROWS_USED)?;
        let is_told = told.scalar()? == AttributeKind::Integer(i64::try_from(rows).ok()?);
        (is_told && rows <= self.file.max_rows()).then_some(rows)
    }

    fn count_datasets(&self, group: &OpenGroup) -> Option<u64> {
        let mut count = 0;
        for link in &group.links {
            if let LinkTarget::Object(address) = link.target {
                let header = ObjectHeader::read_at(self.source, address)?;
                count += u64::from(header.has_message(LAYOUT));
            }
        }
        Some(count)
    }

    /// Number of logs: datasets `0`, `1` and so on that tell a length.
    fn count_logs(&self, group: &OpenGroup) -> Option<u64> {
        let mut count = 0;
        while let Some(log) = self.open_member(group, &count.to_string())? {
            let attributes = log.read_attributes(self.source)?;
            let Some(length) = attributes.iter().find(|one| one.name == "length") else {
                break;
            };
            match length.scalar()? {
                AttributeKind::Integer(length) if length >= 0 => count += 1,
                _ => return None,
            }
        }
        Some(count)
    }

    fn sum_usage(&mut self, messages: &OpenGroup) -> Option<TokenUsage> {
        let mut sum = TokenUsage::default();
        let Some(header) = self.open_member(messages, "usage")? else {
            return Some(sum);
        };
        let rows = PackedRows::open(self.source, &header, &usage_type())?;
        rows.visit_elements(self.source, &mut self.unpacker, |element| {
            let mut values = [0; USAGE_FIELDS.len()];
            for (value, bytes) in values.iter_mut().zip(element.as_chunks::<8>().0) {
                *value = i64::from_le_bytes(*bytes);
            }
            sum.add_usage(&usage_from(values));
        })?;
        Some(sum)
    }

    fn read_attributes(&self, session: &ObjectHeader) -> Option<SessionAttributes> {
        let mut texts = TextReader::new(self.source);
        let mut attributes = SessionAttributes::default();
        let mut seen = Vec::new();
        for attribute in session.read_attributes(self.source)? {
            let value = match attribute.scalar()? {
                AttributeKind::Integer(number) => AttributeValue::Integer(number),
                AttributeKind::Float(number) => AttributeValue::Float(number),
                AttributeKind::Text(element) => {
                    AttributeValue::Text(texts.read_texts(element).ok()?.pop()?)
                }
            };
            if seen.contains(&attribute.name) {
                return None;
            }
            seen.push(attribute.name.clone());
            match value {
                AttributeValue::Text(text)
                    if set_known_text(&mut attributes, &attribute.name, &text) => {}
                AttributeValue::Float(number) if attribute.name == "created_at" => {
                    attributes.created_at = number;
                }
                _ if attribute.name == "created_at" => return None,
                value => attributes.other.push((attribute.name, value)),
            }
        }
        attributes.other.sort_by(|a, b| a.0.cmp(&b.0));
        Some(attributes)
    }
}

/// Group with its links, or none.
#[derive(Default)]
struct OpenGroup {
    header: Option<ObjectHeader>,
    links: Vec<NamedLink>,
}

//! Requests for searches.

use std::path::{Path, PathBuf};

use backstory_agents::Agent;
use backstory_event::TimeMs;
use backstory_store::MetaEquals;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use super::{Mode, Query, SearchFilter, SearchOptions};
use crate::error::{Error, Result};
use crate::import::project::project_root;
use crate::time_text::parse_time;
use crate::{Memory, rfc3339};

/// A search as it is typed: filters are texts, and stand in the query as well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchRequest {
    /// The query, or the regular expression.
    #[serde(alias = "q")]
    pub query: String,
    /// True if the query is a regular expression, in which nothing is a filter. No worker is asked for one.
    #[serde(skip)]
    pub regex: bool,
    /// Mode: keyword, semantic or hybrid.
    pub mode: Mode,
    /// Agent, by its name or an alias.
    pub agent: Option<String>,
    /// Project: a folder or a name.
    pub project: Option<String>,
    /// Git branch.
    pub branch: Option<String>,
    /// Only turns at or after this time.
    pub since: Option<String>,
    /// Only turns at or before this time.
    pub until: Option<String>,
    /// True to leave out headless sessions.
    pub people: bool,
    /// Values of the agent's own record, as `KEY=VALUE`.
    pub meta: Vec<String>,
    /// Role of the speaker, or a kind of event.
    pub role: Option<String>,
    /// Tool.
    pub tool: Option<String>,
    /// End of the path of a touched file.
    pub file: Option<String>,
    /// Session, by the beginning of its id.
    pub session: Option<String>,
    /// True if headless sessions count as much as others.
    pub all: bool,
    /// Maximum number of hits; 0 is no limit.
    pub limit: usize,
    /// Folder of the user: its project comes first, and paths are relative to it.
    #[serde(rename = "cwd")]
    pub folder: Option<PathBuf>,
    /// Embedding model.
    pub model: Option<String>,
    /// True if the command `search` asks: it prints the parts for the terminal, and rebuilds what is lost.
    pub for_search: bool,
}

impl Default for SearchRequest {
    fn default() -> Self {
        SearchRequest {
            query: String::new(),
            regex: false,
            mode: Mode::Hybrid,
            agent: None,
            project: None,
            branch: None,
            since: None,
            until: None,
            people: false,
            meta: Vec::new(),
            role: None,
            tool: None,
            file: None,
            session: None,
            all: false,
            limit: 10,
            folder: None,
            model: None,
            for_search: false,
        }
    }
}

impl SearchRequest {
    /// Returns the request with everything settled that depends on who asks, as the worker has another folder, and maybe another time
    /// zone: times are absolute, and a project is its root.
    pub fn settled(&self, now: TimeMs, zone: &TimeZone) -> Result<SearchRequest> {
        // What stands in the query is settled as well: a field counts more than it.
        let mut query = Query::parse(&self.query);
        let mut typed = |name: &str, field: &Option<String>| query.take_filter(name, field);
        let time = |text: Option<String>| -> Result<Option<String>> {
            let Some(text) = text else { return Ok(None) };
            let at = rfc3339(Some(parse_time(&text, now, zone)?));
            at.map(Some).ok_or(Error::InvalidTime(text))
        };
        let project = typed("project", &self.project);
        let folder = self.folder.as_deref();
        Ok(SearchRequest {
            project: project.map(|project| project_filter(&project, folder)),
            since: time(typed("since", &self.since))?,
            until: time(typed("until", &self.until))?,
            ..self.clone()
        })
    }

    /// Returns the query and the options that the request means at `now` in a time zone. A filter in the query counts like the field of
    /// that name.
    pub(super) fn resolve(
        &self,
        memory: &Memory,
        now: TimeMs,
        zone: &TimeZone,
    ) -> Result<(Query, SearchOptions)> {
        let mut query = Query::parse(if self.regex { "" } else { &self.query });
        if let Some(filter) = query.excluded_filters.first() {
            return Err(Error::ExcludedFilter(filter.clone()));
        }
        let mut meta_equals = parse_meta_filters(&self.meta)?;
        for (key, value) in &query.meta {
            meta_equals.push(parse_meta_filter(key, value)?);
        }
        let mut typed = |name: &str, field: &Option<String>| query.take_filter(name, field);
        let time = |text: Option<String>| text.map(|text| parse_time(&text, now, zone)).transpose();
        let known = |name: String| match Agent::find(&name) {
            Some(agent) => Ok(agent.name.to_string()),
            None => Err(Error::UnknownAgent(name)),
        };
        let folder = self.folder.as_deref();
        let agent = typed("agent", &self.agent);
        let project = typed("project", &self.project);
        let session = typed("session", &self.session);
        let filter = SearchFilter {
            agent: agent.map(known).transpose()?,
            project: project.map(|project| project_filter(&project, folder)),
            branch: typed("branch", &self.branch),
            since: time(typed("since", &self.since))?,
            until: time(typed("until", &self.until))?,
            role: typed("role", &self.role),
            tool: typed("tool", &self.tool),
            file: typed("file", &self.file),
            sessions: session
                .map(|session| memory.sessions().row(&session).map(|row| vec![row.id]))
                .transpose()?,
            people_only: self.people,
            meta_equals,
        };
        let options = SearchOptions {
            each_turn: filter.sessions.is_some(),
            filter,
            own_project: folder.map(|folder| project_root(folder).to_string_lossy().into_owned()),
            headless_count_fully: self.all,
            limit: self.limit,
            mode: self.mode,
            model: self.model.clone(),
        };
        Ok((query, options))
    }
}

impl Query {
    /// Takes the filter of a name out of the query, and returns the given value or else that of the query.
    fn take_filter(&mut self, name: &str, given: &Option<String>) -> Option<String> {
        let at = self.filters.iter().position(|(field, _)| *field == name);
        let in_query = at.map(|at| self.filters.remove(at).1);
        given.clone().or(in_query)
    }
}

/// Returns a folder as the root of its project, seen from another folder, or a name as it is.
pub fn project_filter(text: &str, folder: Option<&Path>) -> String {
    if text == "." || text.contains(['/', '\\']) {
        let path = folder.unwrap_or(Path::new("")).join(text);
        let path = std::path::absolute(&path).unwrap_or(path);
        return project_root(&path).to_string_lossy().into_owned();
    }
    text.to_string()
}

/// Parses filters by the agent's own record of a session, as `KEY=VALUE`.
pub fn parse_meta_filters(typed: &[String]) -> Result<Vec<MetaEquals>> {
    let filter = |typed: &String| match typed.split_once('=') {
        Some((key, value)) => parse_meta_filter(key, value),
        None => Err(Error::InvalidMeta(typed.clone())),
    };
    typed.iter().map(filter).collect()
}

fn parse_meta_filter(key: &str, value: &str) -> Result<MetaEquals> {
    MetaEquals::new(key, value).ok_or_else(|| Error::InvalidMetaKey(key.to_string()))
}

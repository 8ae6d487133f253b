//! A search on its way to the worker and back: what was typed, as parameters.
//!
//! What depends on who asks is settled before: the worker has another folder, maybe another time zone and configuration.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use backstory_memory::{Memory, Query, SearchAnswer, log_event};
use clap::ValueEnum;

use super::super::sessions::project_filter_from;
use super::{by_query, typed};
use crate::cli::{FilterArgs, Mode, SearchArgs};
use crate::error::Error;
use crate::output::{parse_time, rfc3339};
use crate::setting::{Setting, now};
use crate::worker::{Place, Question, ask, version};

/// A worker that has not answered after this is busy, and searching here is faster.
const ANSWER_WITHIN: Duration = Duration::from_millis(300);

/// What a client of the worker wants to know.
pub(crate) struct SearchQuestion {
    arguments: SearchArgs,
    /// Where the client is.
    folder: Option<PathBuf>,
    /// The model to compare with: that of the worker's configuration, none, or one by its name.
    model: Option<Option<String>>,
    /// Whether it is `search` that asks: it shows people more than stands in the document, and makes anew what is lost.
    for_search: bool,
}

impl SearchQuestion {
    /// Reads parameters, which are named like the options.
    pub(crate) fn parse(parameters: &[(String, String)]) -> Result<Self, Error> {
        let mut question = SearchQuestion {
            arguments: no_arguments(),
            folder: None,
            model: None,
            for_search: false,
        };
        for (name, value) in parameters {
            question.set(name, value).map_err(|wrong| {
                Error::usage(wrong).hint("parameters are named like the options of `search`")
            })?;
        }
        Ok(question)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let wrong = || format!("{value:?} is no value of {name}");
        let arguments = &mut self.arguments;
        let filter = &mut arguments.filter;
        let text = || Some(value.to_string());
        let is_on = || value.parse::<bool>().map_err(|_| wrong());
        match name {
            "q" | "query" => arguments.query = vec![value.to_string()],
            "limit" => arguments.limit = value.parse().map_err(|_| wrong())?,
            "mode" => arguments.mode = Mode::from_str(value, false).map_err(|_| wrong())?,
            "agent" => filter.agent = text(),
            "project" => filter.project = text(),
            "branch" => filter.branch = text(),
            "since" => filter.since = text(),
            "until" => filter.until = text(),
            "people" => filter.people = is_on()?,
            "meta" => filter.meta.push(value.to_string()),
            "role" => arguments.role = text(),
            "tool" => arguments.tool = text(),
            "file" => arguments.file = text(),
            "session" => arguments.session = text(),
            "all" => arguments.all = is_on()?,
            "cwd" => self.folder = Some(PathBuf::from(value)).filter(|folder| folder.is_absolute()),
            "model" => self.model = Some(text().filter(|name| !name.is_empty())),
            "for_search" => self.for_search = is_on()?,
            _ => return Err(format!("there is no parameter {name:?}")),
        }
        Ok(())
    }
}

fn no_arguments() -> SearchArgs {
    SearchArgs {
        query: Vec::new(),
        mode: Mode::Hybrid,
        filter: FilterArgs {
            agent: None,
            project: None,
            branch: None,
            since: None,
            until: None,
            people: false,
            meta: Vec::new(),
        },
        role: None,
        tool: None,
        file: None,
        session: None,
        regex: false,
        all: false,
        limit: 10,
        json: true,
    }
}

/// Answers a question of a client of the store at `home`, with the model of the configuration if it names none; `None` when something is lost and `search` had
/// better look itself, tell so and make it anew.
pub(crate) fn answer(
    memory: &Memory,
    home: &Path,
    configured: impl FnOnce() -> Option<String>,
    question: &SearchQuestion,
) -> Result<Option<SearchAnswer>, Error> {
    let started = Instant::now();
    let model = question.model.clone().unwrap_or_else(configured);
    let folder = question.folder.as_deref();
    let answer = by_query(memory, model.as_deref(), &question.arguments, folder)?;
    let mut found = SearchAnswer::new(memory, &answer);
    if !question.for_search {
        let event = found.query_event(false, now()).with("by", "worker");
        log_event(home, &event.taking(started.elapsed()));
        let found = found.without_terminal_parts();
        return Ok(Some(found.taking(started.elapsed())));
    }
    if answer.index_is_lost || answer.vectors_are_lost {
        return Ok(None);
    }
    found.told_of_models = memory.upkeep().was_told("models").ok();
    Ok(Some(found.taking(started.elapsed())))
}

/// Asks the store's worker; `None` when there is none of this version, or it has no answer in time. What is wrong with the
/// question comes out when it is answered here.
pub(super) fn ask_worker(setting: &Setting, arguments: &SearchArgs) -> Option<SearchAnswer> {
    if arguments.regex {
        return None;
    }
    let worker = Place::of(setting).read_info()?;
    if worker.version != version() {
        return None;
    }
    let question = Question {
        method: "GET",
        path: "/api/search",
        parameters: &parameters(setting, arguments)?,
        body: b"",
        within: ANSWER_WITHIN,
    };
    let answer = ask(&worker, &question)?;
    if answer.status != 200 || answer.version != version() {
        return None;
    }
    serde_json::from_slice(&answer.body).ok()
}

/// What was typed, as parameters; `None` when it cannot be said so.
fn parameters(setting: &Setting, arguments: &SearchArgs) -> Option<Vec<(&'static str, String)>> {
    let folder = std::env::current_dir().ok()?;
    let filter = &arguments.filter;
    // What stands in the query is settled as well: a parameter counts more than it.
    let mut query = Query::parse(&arguments.query.join(" "));
    let mut typed = |name: &str, option: &Option<String>| typed(&mut query, name, option);
    let time = |text: String| rfc3339(Some(parse_time(&text, now()).ok()?));
    let project = typed("project", &filter.project);
    let (since, until) = (typed("since", &filter.since), typed("until", &filter.until));
    let mut parameters = vec![
        ("q", arguments.query.join(" ")),
        ("limit", arguments.limit.to_string()),
        ("mode", arguments.mode.name().to_string()),
        ("people", filter.people.to_string()),
        ("all", arguments.all.to_string()),
        ("cwd", folder.to_str()?.to_string()),
        ("model", setting.config.model.clone().unwrap_or_default()),
        ("for_search", "true".to_string()),
    ];
    if let Some(project) = project {
        parameters.push(("project", project_filter_from(&project, Some(&folder))));
    }
    for (name, given) in [("since", since), ("until", until)] {
        if let Some(text) = given {
            parameters.push((name, time(text)?));
        }
    }
    let others = [
        ("agent", &filter.agent),
        ("branch", &filter.branch),
        ("role", &arguments.role),
        ("tool", &arguments.tool),
        ("file", &arguments.file),
        ("session", &arguments.session),
    ];
    for (name, given) in others {
        parameters.extend(given.clone().map(|value| (name, value)));
    }
    let meta = filter.meta.iter();
    parameters.extend(meta.map(|value| ("meta", value.clone())));
    Some(parameters)
}

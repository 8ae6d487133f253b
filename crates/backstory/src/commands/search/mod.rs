//! `search`.
//!
//! Asks the store's worker when there is one, which has index and model ready, and else does it here; what is shown is the same.

mod found;
#[cfg(unix)]
mod question;

use std::path::Path;
use std::time::Instant;

use backstory_memory::{
    Agent, Answer, EventType, LogEvent, Memory, Query, SearchAnswer, SearchFilter, SearchOptions,
    log_event,
};
use serde_json::Value;

use self::found::print_text;
#[cfg(unix)]
pub(crate) use self::question::{SearchQuestion, answer};
use super::sessions::{meta_filter, meta_filters, project_filter_from};
use crate::cli::{Mode, SearchArgs};
use crate::error::{Error, ErrorKind};
use crate::output::{parse_time, print_json, progress_bar, talk, warn};
use crate::setting::{Setting, now};

pub(super) fn run(setting: &Setting, arguments: &SearchArgs) -> Result<(), Error> {
    let started = Instant::now();
    if arguments.mode == Mode::Semantic && setting.config.model.is_none() {
        return Err(Error::usage("search by meaning needs a model")
            .hint("`backstory model list` shows some; `--mode keyword` needs none"));
    }
    #[cfg(unix)]
    let answered = question::ask_worker(setting, arguments);
    #[cfg(not(unix))]
    let answered = None;
    let (answer, lost) = match answered {
        Some(answer) => (answer, None),
        None => {
            let answered = search_here(setting, arguments);
            let answered = answered.inspect_err(|error| log_failure(setting, arguments, error));
            let (answer, found) = answered?;
            (answer, Some(found))
        }
    };
    for warning in &answer.warnings {
        warn(warning);
    }
    let (count, told) = (answer.hits.len(), answer.told_of_models);
    let event = answer
        .query_event(arguments.regex, now())
        .with("by", if lost.is_none() { "worker" } else { "itself" })
        .taking(started.elapsed());
    if arguments.json {
        print_json(&answer.without_terminal_parts().taking(started.elapsed()))?;
    } else {
        print_text(&answer)?;
    }
    if arguments.mode == Mode::Hybrid && setting.config.model.is_none() && !arguments.regex {
        tell_once(setting, told)?;
    }
    log_event(&setting.store, &event);
    let _ = lost.map(|found| renew(setting, &found));
    if count == 0 {
        Err(Error::silent())
    } else {
        Ok(())
    }
}

/// Logs a search that failed, without its message: that may quote what was looked for.
fn log_failure(setting: &Setting, arguments: &SearchArgs, error: &Error) {
    let mode = if arguments.regex {
        "regex"
    } else {
        arguments.mode.name()
    };
    let event = LogEvent::new(EventType::SearchQuery, now())
        .with("type", mode)
        .with("result_count", 0)
        .with("top_score", Value::Null)
        .failed(Some(match error.kind() {
            ErrorKind::Usage => "wrong usage",
            ErrorKind::NotFound | ErrorKind::Silent => "not found",
            _ => "internal",
        }));
    log_event(&setting.store, &event);
}

fn search_here(setting: &Setting, arguments: &SearchArgs) -> Result<(SearchAnswer, Answer), Error> {
    let memory = setting.memory()?;
    let folder = std::env::current_dir().ok();
    let model = setting.config.model.as_deref();
    let found = match arguments.regex {
        true => by_regex(&memory, model, arguments, folder.as_deref()),
        false => by_query(&memory, model, arguments, folder.as_deref()),
    }?;
    let mut answer = SearchAnswer::new(&memory, &found);
    answer.told_of_models = memory.upkeep().was_told("models").ok();
    Ok((answer, found))
}

/// Searches as someone in `folder` would.
fn by_query(
    memory: &Memory,
    model: Option<&str>,
    arguments: &SearchArgs,
    folder: Option<&Path>,
) -> Result<Answer, Error> {
    let mut query = Query::parse(&arguments.query.join(" "));
    let options = options(memory, model, arguments, &mut query, folder)?;
    Ok(memory.search().run(&query, &options)?)
}

fn by_regex(
    memory: &Memory,
    model: Option<&str>,
    arguments: &SearchArgs,
    folder: Option<&Path>,
) -> Result<Answer, Error> {
    // Nothing in a regular expression is a filter.
    let options = options(memory, model, arguments, &mut Query::parse(""), folder)?;
    let pattern = arguments.query.join(" ");
    let bar = progress_bar("looking through [{bar:30}] {pos}/{len} sessions");
    let answer = memory
        .search()
        .run_regex(&pattern, &options, &mut |done, all| {
            bar.set_length(all as u64);
            bar.set_position(done as u64);
        });
    bar.finish_and_clear();
    Ok(answer?)
}

/// A filter as it was typed: the option, or what stands in the query, which is taken out of it.
fn typed(query: &mut Query, name: &str, option: &Option<String>) -> Option<String> {
    let at = query.filters.iter().position(|(field, _)| *field == name);
    let in_query = at.map(|at| query.filters.remove(at).1);
    option.clone().or(in_query)
}

/// What was typed, as the library understands it. A filter in the query counts like the option of that name.
fn options(
    memory: &Memory,
    model: Option<&str>,
    arguments: &SearchArgs,
    query: &mut Query,
    folder: Option<&Path>,
) -> Result<SearchOptions, Error> {
    if let Some(filter) = query.excluded_filters.first() {
        let message = format!("a filter cannot be excluded: -{filter}");
        let hint = "a minus leaves out turns with a word or \"quoted words\"";
        return Err(Error::usage(message).hint(hint));
    }
    let mut meta_equals = meta_filters(&arguments.filter.meta)?;
    for (key, value) in &query.meta {
        meta_equals.push(meta_filter(key, value)?);
    }
    let mut typed = |name: &str, option: &Option<String>| typed(query, name, option);
    let time = |text: Option<String>| text.map(|text| parse_time(&text, now())).transpose();
    let agent = typed("agent", &arguments.filter.agent);
    let known = |name: String| match Agent::find(&name) {
        Some(agent) => Ok(agent.name.to_string()),
        None => Err(backstory_memory::Error::UnknownAgent(name)),
    };
    let project = typed("project", &arguments.filter.project);
    let session = typed("session", &arguments.session);
    let filter = SearchFilter {
        agent: agent.map(known).transpose()?,
        project: project.map(|project| project_filter_from(&project, folder)),
        branch: typed("branch", &arguments.filter.branch),
        since: time(typed("since", &arguments.filter.since))?,
        until: time(typed("until", &arguments.filter.until))?,
        role: typed("role", &arguments.role),
        tool: typed("tool", &arguments.tool),
        file: typed("file", &arguments.file),
        sessions: session
            .map(|session| memory.sessions().row(&session).map(|row| vec![row.id]))
            .transpose()?,
        people_only: arguments.filter.people,
        meta_equals,
    };
    Ok(SearchOptions {
        each_turn: filter.sessions.is_some(),
        filter,
        own_project: folder.map(|folder| {
            backstory_memory::project_root(folder)
                .to_string_lossy()
                .into_owned()
        }),
        machines_count: arguments.all,
        limit: arguments.limit,
        mode: arguments.mode.into(),
        model: model.map(str::to_string),
    })
}

/// Says that there is more to be had, the first time; `told` is whether that was, if it is known.
fn tell_once(setting: &Setting, told: Option<bool>) -> Result<(), Error> {
    let told = match told {
        Some(told) => told,
        None => Memory::open_existing(&setting.store)?
            .is_some_and(|memory| memory.upkeep().was_told("models").unwrap_or(true)),
    };
    if told {
        return Ok(());
    }
    talk(
        "searched by words only: with a model (`backstory model list`) search goes by meaning too",
    );
    // A store that cannot be written to is told again.
    let _ = Memory::open(&setting.store).and_then(|memory| memory.upkeep().remember_told("models"));
    Ok(())
}

/// Makes anew what is lost, after the answer is out. Search works without it, only slower or by words alone; why it cannot be
/// made, `sweep`, `embed` and `doctor` tell.
fn renew(setting: &Setting, answer: &Answer) -> backstory_memory::Result<()> {
    if !answer.index_is_lost && !answer.vectors_are_lost {
        return Ok(());
    }
    let memory = Memory::open(&setting.store)?;
    if answer.index_is_lost {
        memory.search().refresh_index(true, &mut |_, _| {})?;
        talk("the index has been made anew");
    }
    if answer.vectors_are_lost
        && let Some(model) = &setting.config.model
    {
        // A row that does not fit its checksum shows only when it is compared.
        memory.models().drop_vectors(model)?;
        memory.models().embed(model, &mut |_| {})?;
        talk("the vectors have been made anew");
    }
    Ok(())
}

//! `search`.
//!
//! Asks the store's worker when there is one, which has index and model ready, and else does it here; what is shown is the same.

mod found;
#[cfg(unix)]
mod question;

use std::time::Instant;

use backstory_memory::search::{SearchRecord, SearchRequest};
use backstory_memory::{EventLog, EventType, LogEvent, Memory};
use jiff::tz::TimeZone;
use serde_json::Value;

use self::found::print_text;
use crate::cli::{Mode, SearchArgs};
use crate::error::{Error, ErrorKind};
use crate::output::{print_json, progress_bar, talk, warn};
use crate::setting::{Setting, now};

pub(super) fn run(setting: &Setting, arguments: &SearchArgs) -> Result<(), Error> {
    let started = Instant::now();
    if arguments.mode == Mode::Semantic && setting.config.model.is_none() {
        return Err(Error::usage("search by meaning needs a model")
            .hint("`backstory model list` shows some; `--mode keyword` needs none"));
    }
    let request = request(setting, arguments);
    #[cfg(unix)]
    let answered = question::ask_worker(setting, &request);
    #[cfg(not(unix))]
    let answered = None;
    let by = if answered.is_some() {
        "worker"
    } else {
        "itself"
    };
    let answer = match answered {
        Some(answer) => answer,
        None => search_here(setting, &request)
            .inspect_err(|error| log_failure(setting, arguments, error))?,
    };
    for warning in &answer.warnings {
        warn(warning);
    }
    let event = answer
        .query_event(arguments.regex, now())
        .with("by", by)
        .taking(started.elapsed());
    if arguments.json {
        let document = answer.clone().without_terminal_parts();
        print_json(&document.taking(started.elapsed()))?;
    } else {
        print_text(&answer)?;
    }
    if answer.suggests_model(&request) {
        talk(
            "searched by words only: with a model (`backstory model list`) search goes by meaning too",
        );
        // A store that cannot be written to is told again.
        let _ =
            Memory::open(&setting.store).and_then(|memory| memory.upkeep().remember_told("models"));
    }
    EventLog::of_store(&setting.store).append(&[event]);
    let _ = rebuild(setting, &answer);
    if answer.hits.is_empty() {
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
    EventLog::of_store(&setting.store).append(&[event]);
}

fn search_here(setting: &Setting, request: &SearchRequest) -> Result<SearchRecord, Error> {
    let memory = setting.memory()?;
    let bar = progress_bar("looking through [{bar:30}] {pos}/{len} sessions");
    let zone = TimeZone::system();
    let answer = memory
        .search()
        .answer(request, now(), &zone, &mut |done, all| {
            bar.set_length(all as u64);
            bar.set_position(done as u64);
        });
    bar.finish_and_clear();
    Ok(answer?)
}

/// Returns the request that was typed.
fn request(setting: &Setting, arguments: &SearchArgs) -> SearchRequest {
    let filter = arguments.filter.clone();
    SearchRequest {
        query: arguments.query.join(" "),
        regex: arguments.regex,
        mode: arguments.mode.into(),
        agent: filter.agent,
        project: filter.project,
        branch: filter.branch,
        since: filter.since,
        until: filter.until,
        people: filter.people,
        meta: filter.meta,
        role: arguments.role.clone(),
        tool: arguments.tool.clone(),
        file: arguments.file.clone(),
        session: arguments.session.clone(),
        all: arguments.all,
        limit: arguments.limit,
        folder: std::env::current_dir().ok(),
        model: setting.config.model.clone(),
        for_search: true,
    }
}

/// Rebuilds what is lost, after the answer is out. Search works without it, only slower or by words alone; why it cannot be
/// rebuilt, `sweep`, `embed` and `doctor` tell.
fn rebuild(setting: &Setting, answer: &SearchRecord) -> backstory_memory::Result<()> {
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
        memory.models().rebuild(model)?;
        talk("the vectors have been made anew");
    }
    Ok(())
}

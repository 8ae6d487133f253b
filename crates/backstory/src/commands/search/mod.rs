//! `search`.
//!
//! Asks the store's worker when there is one, which has index and model ready, and else does it here; what is shown is the same.

mod found;
#[cfg(unix)]
mod question;

use std::time::Instant;

use backstory_memory::{
    Answer, EventType, LogEvent, Memory, SearchAnswer, SearchRequest, log_event,
};
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
    let request = request(setting, arguments);
    let found = match arguments.regex {
        true => by_regex(&memory, &request)?,
        false => {
            let (query, options) = request.resolve(&memory, now(), &TimeZone::system())?;
            memory.search().run(&query, &options)?
        }
    };
    let mut answer = SearchAnswer::new(&memory, &found);
    answer.told_of_models = memory.upkeep().was_told("models").ok();
    Ok((answer, found))
}

fn by_regex(memory: &Memory, request: &SearchRequest) -> Result<Answer, Error> {
    let options = request.regex_options(memory, now(), &TimeZone::system())?;
    let bar = progress_bar("looking through [{bar:30}] {pos}/{len} sessions");
    let answer = memory
        .search()
        .run_regex(&request.query, &options, &mut |done, all| {
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
    }
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

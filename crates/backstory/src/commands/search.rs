//! `search`.

use std::io::{IsTerminal, Write};
use std::time::Instant;

use backstory_memory::{Answer, Hit, Memory, Query, SearchFilter, SearchOptions};
use serde_json::{Value, json};

use super::sessions::{project_filter, short_id};
use crate::cli::{Mode, SearchArgs};
use crate::error::Error;
use crate::output::{
    BOLD, DIM, GREEN, YELLOW, harmless, local_time, parse_time, print_json, progress_bar, rfc3339,
    stdout, talk, warn,
};
use crate::setting::{Setting, now};

pub(super) fn run(setting: &Setting, arguments: &SearchArgs) -> Result<(), Error> {
    let started = Instant::now();
    if arguments.mode == Mode::Semantic && setting.config.model.is_none() {
        return Err(Error::usage("search by meaning needs a model")
            .hint("`backstory model list` shows some; `--mode keyword` needs none"));
    }
    let mut memory = setting.memory()?;
    // Nothing in a regular expression is a filter.
    let typed = if arguments.regex {
        String::new()
    } else {
        arguments.query.join(" ")
    };
    let mut query = Query::parse(&typed);
    let options = options(&memory, setting.config.model.clone(), arguments, &mut query)?;
    let answer = if arguments.regex {
        by_regex(&memory, &arguments.query.join(" "), &options)?
    } else {
        memory.search(&query, &options)?
    };
    let took_ms = started.elapsed().as_secs_f64() * 1000.0;
    for warning in &answer.warnings {
        warn(warning);
    }
    if arguments.json {
        print_json(&answer_json(&answer, took_ms))?;
    } else {
        print(&answer)?;
    }
    if arguments.mode == Mode::Hybrid && setting.config.model.is_none() && !arguments.regex {
        tell_once(setting)?;
    }
    let _ = renew(setting, &answer);
    if answer.hits.is_empty() {
        Err(Error::silent())
    } else {
        Ok(())
    }
}

fn by_regex(memory: &Memory, pattern: &str, options: &SearchOptions) -> Result<Answer, Error> {
    let bar = progress_bar("looking through [{bar:30}] {pos}/{len} sessions");
    let answer = memory.search_regex(pattern, options, &mut |done, all| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    Ok(answer?)
}

/// What was typed, as the library understands it. A filter in the query counts like the option of that name.
fn options(
    memory: &Memory,
    model: Option<String>,
    arguments: &SearchArgs,
    query: &mut Query,
) -> Result<SearchOptions, Error> {
    let mut typed = |name: &str, option: &Option<String>| {
        let at = query.filters.iter().position(|(field, _)| *field == name);
        let in_query = at.map(|at| query.filters.remove(at).1);
        option.clone().or(in_query)
    };
    let time = |text: Option<String>| text.map(|text| parse_time(&text, now())).transpose();
    let project = typed("project", &arguments.filter.project);
    let session = typed("session", &arguments.session);
    let filter = SearchFilter {
        agent: typed("agent", &arguments.filter.agent),
        project: project.as_deref().map(project_filter),
        branch: typed("branch", &arguments.filter.branch),
        since: time(typed("since", &arguments.filter.since))?,
        until: time(typed("until", &arguments.filter.until))?,
        role: typed("role", &arguments.role),
        tool: typed("tool", &arguments.tool),
        file: typed("file", &arguments.file),
        sessions: session
            .map(|session| memory.session(&session).map(|row| vec![row.id]))
            .transpose()?,
        people_only: arguments.filter.people,
    };
    if let Some(agent) = &filter.agent
        && backstory_session::reader(agent).is_none()
    {
        return Err(backstory_memory::Error::UnknownAgent(agent.clone()).into());
    }
    Ok(SearchOptions {
        each_turn: filter.sessions.is_some(),
        filter,
        own_project: std::env::current_dir().ok().map(|folder| {
            backstory_memory::project_root(&folder)
                .to_string_lossy()
                .into_owned()
        }),
        machines_count: arguments.all,
        limit: arguments.limit,
        mode: arguments.mode.into(),
        model,
    })
}

/// Says that there is more to be had, the first time.
fn tell_once(setting: &Setting) -> Result<(), Error> {
    if Memory::open_existing(&setting.store)?
        .is_some_and(|memory| memory.was_told("models").unwrap_or(true))
    {
        return Ok(());
    }
    talk(
        "searched by words only: with a model (`backstory model list`) search goes by meaning too",
    );
    // A store that cannot be written to is told again.
    let _ = Memory::open(&setting.store).and_then(|memory| memory.remember_told("models"));
    Ok(())
}

/// Makes anew what is lost, after the answer is out. Search works without it, only slower or by words alone; why it cannot be
/// made, `sweep`, `embed` and `doctor` tell.
fn renew(setting: &Setting, answer: &Answer) -> backstory_memory::Result<()> {
    if !answer.index_is_lost && !answer.vectors_are_lost {
        return Ok(());
    }
    let mut memory = Memory::open(&setting.store)?;
    if answer.index_is_lost {
        memory.refresh_index(true, &mut |_, _| {})?;
        talk("the index has been made anew");
    }
    if answer.vectors_are_lost
        && let Some(model) = &setting.config.model
    {
        // A row that does not fit its checksum shows only when it is compared.
        memory.drop_vectors(model)?;
        memory.embed(model, &mut |_| {})?;
        talk("the vectors have been made anew");
    }
    Ok(())
}

fn answer_json(answer: &Answer, took_ms: f64) -> Value {
    let hits: Vec<Value> = answer.hits.iter().map(hit_json).collect();
    json!({
        "hits": hits,
        "took_ms": (took_ms * 1000.0).round() / 1000.0,
        "mode": answer.mode.name(),
        "warnings": answer.warnings,
    })
}

fn hit_json(hit: &Hit) -> Value {
    json!({
        "session": hit.session.session,
        "agent": hit.session.agent,
        "turn": hit.turn,
        "event": hit.event,
        "score": hit.score,
        "confident": hit.confident,
        "project": hit.session.project,
        "branch": hit.session.branch,
        "timestamp": rfc3339(hit.at.or(hit.session.ended_at)),
        "role": hit.kind.role(),
        "kind": hit.kind.name(),
        "snippet": hit.snippet.marked("**", "**"),
        "title": hit.session.title,
        "machine": hit.session.machine,
        "more_turns": hit.more,
    })
}

fn print(answer: &Answer) -> Result<(), Error> {
    let mut out = stdout();
    if answer.hits.is_empty() {
        writeln!(out, "nothing found")?;
    } else if answer.mode != backstory_memory::Mode::Semantic
        && !answer.hits.iter().any(|hit| hit.confident)
    {
        writeln!(
            out,
            "{YELLOW}no session seems to be about this; the nearest are:{YELLOW:#}\n"
        )?;
    }
    let whole = !std::io::stdout().is_terminal();
    for hit in &answer.hits {
        let id = if whole {
            hit.session.session.clone()
        } else {
            short_id(&hit.session.session)
        };
        let title = harmless(hit.session.title.as_deref().unwrap_or("-"));
        let project = hit.session.project.as_deref().map_or("-", |project| {
            project.rsplit(['/', '\\']).next().unwrap_or(project)
        });
        writeln!(
            out,
            "{GREEN}{id}#{}{GREEN:#}  {BOLD}{title}{BOLD:#}",
            hit.turn
        )?;
        write!(
            out,
            "    {DIM}{}  {}  {}  {}{DIM:#}",
            local_time(hit.at.or(hit.session.ended_at)),
            hit.session.agent,
            harmless(project),
            hit.kind.name().replace('_', " "),
        )?;
        if !hit.more.is_empty() {
            let turns: Vec<String> = hit.more.iter().map(|turn| format!("#{turn}")).collect();
            write!(out, "  {DIM}also {}{DIM:#}", turns.join(" "))?;
        }
        let (on, off) = (format!("{BOLD}{YELLOW}"), format!("{YELLOW:#}{BOLD:#}"));
        writeln!(out, "\n    {}\n", hit.snippet.marked(&on, &off))?;
    }
    out.flush()?;
    Ok(())
}

//! `sessions`.

use std::io::{IsTerminal, Write};
use std::path::Path;

use backstory_memory::{Agent, AnswerRows, SessionFilter, SessionRow};
use serde_json::{Value, json};

use super::damage::{find_damage, print_answer, report_damage};
use crate::cli::SessionsArgs;
use crate::error::Error;
use crate::output::{
    local_time, one_line, parse_time, print_table, rfc3339, short_number, stdout, table, usage_json,
};
use crate::setting::{Setting, now};

/// How much of a title is shown in the list.
const TITLE_CHARACTERS: usize = 60;

pub(super) fn run(setting: &Setting, arguments: &SessionsArgs) -> Result<(), Error> {
    let memory = setting.memory()?;
    let time = |text: &Option<String>| {
        text.as_deref()
            .map(|text| parse_time(text, now()))
            .transpose()
    };
    let filter = SessionFilter {
        agent: arguments.filter.agent.clone(),
        project: arguments.filter.project.as_deref().map(project_filter),
        branch: arguments.filter.branch.clone(),
        since: time(&arguments.filter.since)?,
        until: time(&arguments.filter.until)?,
        parent: arguments
            .parent
            .as_deref()
            .map(|parent| Ok::<_, Error>(memory.session(parent)?.session))
            .transpose()?,
        people_only: arguments.filter.people,
        limit: arguments.limit,
    };
    let rows = memory.sessions(&filter)?;
    let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
    let damage = find_damage(&memory, &AnswerRows::SessionList(&ids))?;
    if arguments.json {
        let sessions: Vec<Value> = rows.iter().map(session_json).collect();
        let answer = json!({ "sessions": sessions });
        print_answer(answer, &damage)?;
        return report_damage(&memory, &damage);
    }
    let mut out = stdout();
    if rows.is_empty() {
        writeln!(out, "no session matches")?;
    } else {
        // In a pipe ids stand whole, for the next program needs them.
        let whole = !std::io::stdout().is_terminal();
        let mut table = table(&[
            "session", "agent", "active", "project", "turns", "tokens", "outcome", "title",
        ]);
        for row in &rows {
            table.add_row(cells(row, whole));
        }
        print_table(&mut out, &table)?;
    }
    out.flush()?;
    report_damage(&memory, &damage)
}

fn cells(row: &SessionRow, whole: bool) -> [String; 8] {
    let title = one_line(row.title.as_deref().unwrap_or("-"));
    let title = match row.parent_kind.as_deref() {
        Some("subagent") => format!("↳ {title}"),
        Some(_) => format!("⑂ {title}"),
        None => title,
    };
    let project = row.project.as_deref().map_or("-", |project| {
        project.rsplit(['/', '\\']).next().unwrap_or(project)
    });
    [
        if whole {
            row.session.clone()
        } else {
            short_id(&row.session)
        },
        row.agent.clone(),
        local_time(row.ended_at),
        one_line(project),
        (row.turns + row.live_turns).to_string(),
        short_number(row.usage.total()),
        row.outcome.clone().unwrap_or_else(|| "-".to_string()),
        title.chars().take(TITLE_CHARACTERS).collect(),
    ]
}

/// Enough of an id to name the session: ids that begin with a time need more of it.
pub(super) fn short_id(id: &str) -> String {
    let (main, child) = id
        .split_once('/')
        .map_or((id, None), |(main, child)| (main, Some(child)));
    let main: String = main.chars().take(13).collect();
    child.map_or_else(
        || main.clone(),
        |child| format!("{main}…/{}", child.chars().take(14).collect::<String>()),
    )
}

/// A folder as the project's root would be written, or a name as it is.
pub(super) fn project_filter(text: &str) -> String {
    project_filter_from(text, None)
}

/// The same, as someone in another folder than ours would mean it.
pub(super) fn project_filter_from(text: &str, folder: Option<&Path>) -> String {
    if text == "." || text.contains(['/', '\\']) {
        let path = folder.unwrap_or(Path::new("")).join(text);
        let path = std::path::absolute(&path).unwrap_or(path);
        return backstory_memory::project_root(&path)
            .to_string_lossy()
            .into_owned();
    }
    text.to_string()
}

/// The shell command that continues a session in its agent.
fn resume_command(row: &SessionRow) -> Option<String> {
    let resume = Agent::find(&row.agent)?.resume?;
    resume.shell_command(&row.session, row.cwd.as_deref())
}

/// A session for machines.
pub(super) fn session_json(row: &SessionRow) -> Value {
    json!({
        "session": row.session,
        "agent": row.agent,
        "title": row.title,
        "project": row.project,
        "cwd": row.cwd,
        "branch": row.branch,
        "started_at": rfc3339(row.started_at),
        "ended_at": rfc3339(row.ended_at),
        "turns": row.turns + row.live_turns,
        "events": row.events + row.live_events,
        "models": row.models,
        "usage": usage_json(&row.usage),
        "outcome": row.outcome.as_deref().unwrap_or("unknown"),
        "pinned": row.pinned,
        "evicted": row.evicted > 0,
        "evicted_at": rfc3339(row.evicted_at),
        "parent": row.parent,
        "parent_kind": row.parent_kind,
        "parent_seq": row.parent_seq,
        "machine": row.machine,
        "captured_at": rfc3339(row.captured_at),
        "closed_at": rfc3339(row.closed_at),
        "resume": resume_command(row),
    })
}

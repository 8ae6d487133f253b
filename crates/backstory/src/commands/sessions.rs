//! `sessions`.

use std::io::{IsTerminal, Write};

use backstory_memory::read::SessionList;
use backstory_memory::search::parse_meta_filters;
use backstory_memory::upkeep::AnswerRows;
use backstory_memory::{SessionFilter, SessionId, SessionRow};

use super::damage::report_damage;
use crate::cli::{FilterArgs, SessionsArgs};
use crate::error::Error;
use crate::naming::short_id;
use crate::output::{
    local_time, one_line, parse_time, print_json, print_table, short_number, stdout, table,
};
use crate::setting::{Setting, now};

/// How much of a title is shown in the list.
const TITLE_CHARACTERS: usize = 60;

pub(super) fn run(setting: &Setting, arguments: &SessionsArgs) -> Result<(), Error> {
    let memory = setting.memory()?;
    let filter = SessionFilter {
        parent: arguments
            .parent
            .as_deref()
            .map(|parent| Ok::<_, Error>(memory.sessions().row(parent)?.session))
            .transpose()?,
        limit: arguments.limit,
        ..session_filter(&arguments.filter)?
    };
    let rows = memory.sessions().list(&filter)?;
    let ids: Vec<SessionId> = rows.iter().map(|row| row.id).collect();
    let listed = AnswerRows::SessionList(&ids);
    if arguments.json {
        let sessions = rows.into_iter();
        let records = sessions.map(|row| memory.sessions().open(row).record(now()));
        let sessions = records.collect::<Result<_, _>>()?;
        let list = (memory.upkeep()).with_damage(SessionList { sessions }, Some(&listed))?;
        print_json(&list)?;
        return report_damage(&list);
    }
    let damage = memory.upkeep().with_damage((), Some(&listed))?;
    let mut out = stdout();
    if rows.is_empty() {
        writeln!(out, "no session matches")?;
    } else {
        // In a pipe ids stand whole, for the next program needs them.
        let is_terminal = std::io::stdout().is_terminal();
        let mut table = table(&[
            "session", "agent", "active", "project", "turns", "tokens", "outcome", "title",
        ]);
        for row in &rows {
            let id = match is_terminal {
                true => short_id(&memory, &row.agent, &row.session),
                false => row.session.clone(),
            };
            table.add_row(cells(row, id));
        }
        print_table(&mut out, &table)?;
    }
    out.flush()?;
    report_damage(&damage)
}

/// Returns the sessions that were asked for, all of them.
pub(super) fn session_filter(asked: &FilterArgs) -> Result<SessionFilter, Error> {
    let time = |text: &Option<String>| {
        text.as_deref()
            .map(|text| parse_time(text, now()))
            .transpose()
    };
    Ok(SessionFilter {
        agent: asked.agent.clone(),
        project: asked.project.as_deref().map(project_filter),
        branch: asked.branch.clone(),
        since: time(&asked.since)?,
        until: time(&asked.until)?,
        parent: None,
        people_only: asked.people,
        meta_equals: parse_meta_filters(&asked.meta)?,
        limit: 0,
    })
}

fn cells(row: &SessionRow, id: String) -> [String; 8] {
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
        id,
        row.agent.clone(),
        local_time(row.ended_at),
        one_line(project),
        (row.turns + row.live_turns).to_string(),
        short_number(row.usage.total()),
        row.outcome.clone().unwrap_or_else(|| "-".to_string()),
        title.chars().take(TITLE_CHARACTERS).collect(),
    ]
}

/// A folder as the project's root would be written, or a name as it is.
pub(super) fn project_filter(text: &str) -> String {
    backstory_memory::search::project_filter(text, None)
}

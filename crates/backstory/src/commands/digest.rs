//! `digest`.

use std::io::Write;

use backstory_memory::Memory;
use backstory_memory::digest::{Digest, FileChange, Outcome, SessionSummary, Statement};

use super::damage::report_damage;
use crate::cli::DigestArgs;
use crate::error::Error;
use crate::naming::short_id;
use crate::output::{
    BOLD, DIM, GREEN, RED, YELLOW, counted, local_time, one_line, print_json, short_number, stdout,
};
use crate::setting::{Setting, now};

/// So many changed files are listed for people.
const MOST_FILES: usize = 25;

pub(super) fn run(setting: &Setting, arguments: &DigestArgs) -> Result<(), Error> {
    let memory = setting.memory()?;
    let session = memory.sessions().find(&arguments.session)?;
    if arguments.json {
        let digest = session.digest_record(now())?;
        print_json(&digest)?;
        return report_damage(&digest);
    }
    let digest = session.digest()?;
    print_text(&memory, &digest)?;
    report_damage(&digest)
}

fn print_text(memory: &Memory, digest: &Digest) -> Result<(), Error> {
    let mut out = stdout();
    let session = &digest.session;
    let title = one_line(session.title.as_deref().unwrap_or("untitled"));
    let colour = match digest.outcome {
        Outcome::Success => GREEN,
        Outcome::Partial => YELLOW,
        Outcome::Failed | Outcome::Abandoned => RED,
        Outcome::Unknown => DIM,
    };
    writeln!(
        out,
        "{BOLD}{title}{BOLD:#}  {colour}{}{colour:#}",
        digest.outcome.name()
    )?;
    let project = session
        .project
        .as_deref()
        .map_or(String::new(), |project| format!(" · {}", one_line(project)));
    writeln!(
        out,
        "{DIM}{} · {}{project} · {} to {} · {} in {}, {} tokens{DIM:#}",
        short_id(memory, &session.agent, &session.session),
        session.agent,
        local_time(session.started_at),
        local_time(session.ended_at),
        counted(session.events + session.live_events, "event"),
        counted(session.turns + session.live_turns, "turn"),
        short_number(digest.usage.total()),
    )?;
    if let Some(summary) = &digest.summary {
        print_summary(&mut out, summary)?;
    }
    let root = session.project.as_deref().unwrap_or_default();
    let mut files: Vec<Statement> = digest
        .files
        .iter()
        .take(MOST_FILES)
        .map(|file| changed(file, root))
        .collect();
    if digest.files.len() > MOST_FILES {
        files.push(Statement {
            text: format!("and {} more", digest.files.len() - MOST_FILES),
            turn: None,
            events: Vec::new(),
        });
    }
    let parts = [
        ("Goal", &digest.goal),
        ("Why", &digest.reasons),
        ("Done", &digest.done),
        ("Files", &files),
        ("Errors", &digest.errors),
        ("Decided", &digest.decisions),
        ("Next", &digest.next_steps),
    ];
    for (heading, statements) in parts {
        if statements.is_empty() {
            continue;
        }
        writeln!(out, "\n{BOLD}{heading}{BOLD:#}")?;
        for statement in statements {
            let text = one_line(&statement.text);
            writeln!(out, "  {text}  {DIM}{}{DIM:#}", cited(statement))?;
        }
    }
    out.flush()?;
    Ok(())
}

/// What a model wrote, apart from what the log tells.
fn print_summary(out: &mut impl Write, summary: &SessionSummary) -> Result<(), Error> {
    writeln!(
        out,
        "\n{BOLD}Summary{BOLD:#}  {DIM}written by a model{DIM:#}"
    )?;
    let more = [("learned: ", &summary.learned), ("next: ", &summary.next)];
    let more = more
        .into_iter()
        .filter_map(|(what, text)| Some((what, text.as_ref()?)));
    let all = [("", &summary.title), ("", &summary.summary)];
    for (what, text) in all.into_iter().chain(more) {
        writeln!(out, "  {what}{}", one_line(text))?;
    }
    Ok(())
}

/// A changed file, by its path within the project.
fn changed(file: &FileChange, root: &str) -> Statement {
    let within = file.path.strip_prefix(root).filter(|_| !root.is_empty());
    let path = within.map_or(file.path.as_str(), |path| {
        path.trim_start_matches(['/', '\\'])
    });
    let text = match file.events.len() {
        1 => path.to_string(),
        times => format!("{path} ({times} times)"),
    };
    Statement {
        text,
        turn: None,
        events: file.events.clone(),
    }
}

/// Where a statement comes from: the turn if it is of one, else the events.
fn cited(statement: &Statement) -> String {
    match (statement.turn, &statement.events[..]) {
        (Some(turn), _) => format!("#{turn}"),
        (None, []) => String::new(),
        (None, [one]) => format!("event {one}"),
        (None, [first, .., last]) => format!("events {first} to {last}"),
    }
}

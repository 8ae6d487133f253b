//! `digest`.

use std::io::Write;

use backstory_event::Seq;
use backstory_memory::{
    AnswerRows, Digest, FileChange, Memory, Outcome, SessionSummary, Statement,
};
use serde_json::{Value, json};

use super::damage::{find_damage, print_answer, report_damage};
use super::sessions::session_json;
use crate::cli::DigestArgs;
use crate::error::Error;
use crate::naming::short_id;
use crate::output::{
    BOLD, DIM, GREEN, RED, YELLOW, counted, local_time, one_line, short_number, stdout, usage_json,
};
use crate::setting::Setting;

/// So many changed files are listed for people.
const MOST_FILES: usize = 25;

pub(super) fn run(setting: &Setting, arguments: &DigestArgs) -> Result<(), Error> {
    let memory = setting.memory()?;
    let digest = memory.sessions().find(&arguments.session)?.digest()?;
    let damage = find_damage(&memory, &AnswerRows::SessionWithNotes(digest.session.id))?;
    if arguments.json {
        let answer = digest_json(&memory, &digest)?;
        print_answer(answer, &damage)
    } else {
        print_text(&memory, &digest)
    }?;
    report_damage(&memory, &damage)
}

/// A digest for machines.
pub(crate) fn digest_json(memory: &Memory, digest: &Digest) -> Result<Value, Error> {
    let mut value = session_json(memory, &digest.session)?;
    let goal: Vec<&str> = digest.goal.iter().map(|said| said.text.as_str()).collect();
    let goal_events: Vec<Seq> = digest
        .goal
        .iter()
        .flat_map(|said| said.events.clone())
        .collect();
    let duration = digest.session.ended_at.zip(digest.session.started_at);
    let more = json!({
        "goal": goal.join("\n"),
        "goal_events": goal_events,
        "outcome": digest.outcome.name(),
        "reasons": digest.reasons,
        "done": digest.done,
        "files": digest.files,
        "errors": digest.errors,
        "decisions": digest.decisions,
        "next_steps": digest.next_steps,
        "duration_seconds": duration.map(|(end, start)| end.since(start) / 1000),
        "usage": usage_json(&digest.usage),
    });
    if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
        value.extend(more);
        if let Some(summary) = &digest.summary {
            value.insert("summary".to_string(), json!(summary));
        }
    }
    Ok(value)
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

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

/// Maximum number of changed files that are named without `--full`.
const MAX_FILES_IN_LINE: usize = 4;

pub(super) fn run(setting: &Setting, arguments: &DigestArgs) -> Result<(), Error> {
    let memory = setting.memory()?;
    let session = memory.sessions().find(&arguments.session)?;
    if arguments.json {
        let digest = session.digest_record(now())?;
        print_json(&digest)?;
        return report_damage(&digest);
    }
    let digest = session.digest()?;
    print_text(&memory, &digest, arguments.full)?;
    report_damage(&digest)
}

fn print_text(memory: &Memory, digest: &Digest, is_full: bool) -> Result<(), Error> {
    let mut out = stdout();
    let session = &digest.session;
    let title = one_line(session.title.as_deref().unwrap_or("untitled"));
    let colour = match digest.outcome {
        Outcome::Success => GREEN,
        Outcome::Partial | Outcome::Planned | Outcome::Running => YELLOW,
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
    for (what, other) in [
        ("carries out the plan of", &digest.plan.plan_of),
        ("its plan was carried out by", &digest.plan.carried_out_by),
    ] {
        if let Some(other) = other {
            let id = short_id(memory, &session.agent, other);
            writeln!(out, "{DIM}{what} {id}{DIM:#}")?;
        }
    }
    if let Some(headline) = &digest.headline {
        writeln!(out, "\n{}", one_line(&headline.text))?;
    }
    if let Some(summary) = &digest.summary {
        print_summary(&mut out, summary, is_full)?;
    }
    let root = session.project.as_deref().unwrap_or_default();
    let files = changed_files(&digest.files, root, is_full);
    let mut parts = vec![
        Part::new("Outcome", &digest.reasons, 1),
        Part::new("Done", &digest.done, 5),
        Part::new("Decided", &digest.decisions, 4),
        Part::new("Open", &digest.next_steps, 2),
        Part::new("Files", &files, 1),
    ];
    if is_full {
        parts.insert(0, Part::new("Goal", &digest.goal, 0));
        parts.push(Part::new("Errors", &digest.errors, 0));
    } else {
        parts.push(Part::new("Problems", &digest.problems, 2));
    }
    for part in parts {
        part.print(&mut out, is_full)?;
    }
    out.flush()?;
    Ok(())
}

/// A kind of statements, and how many of them are shown without `--full`.
struct Part<'a> {
    heading: &'static str,
    statements: &'a [Statement],
    shown: usize,
}

impl<'a> Part<'a> {
    fn new(heading: &'static str, statements: &'a [Statement], shown: usize) -> Self {
        Part {
            heading,
            statements,
            shown,
        }
    }

    /// Prints the statements behind their heading. If there are too many: the first ones of those that are in the order of their weight, else
    /// the last ones.
    fn print(&self, out: &mut impl Write, is_full: bool) -> Result<(), Error> {
        let shown = if is_full { usize::MAX } else { self.shown };
        let left_out = match self.heading {
            // Further reasons say nothing that is not elsewhere.
            "Outcome" => 0,
            _ => self.statements.len().saturating_sub(shown),
        };
        let statements = match self.heading {
            "Outcome" | "Done" => &self.statements[..self.statements.len().min(shown)],
            _ => &self.statements[left_out..],
        };
        let more = match left_out {
            0 => String::new(),
            count => format!("  {DIM}({count} more with --full){DIM:#}"),
        };
        for (number, statement) in statements.iter().enumerate() {
            let heading = if number == 0 { self.heading } else { "" };
            let text = one_line(&statement.text);
            let text = if is_full { text } else { shortened(&text) };
            let is_last = number + 1 == statements.len();
            let more = if is_last { more.as_str() } else { "" };
            writeln!(
                out,
                "{BOLD}{heading:<9}{BOLD:#}{text}  {DIM}{}{DIM:#}{more}",
                cited(statement)
            )?;
        }
        Ok(())
    }
}

/// Longest statement without `--full`, in characters.
const MAX_STATEMENT_CHARACTERS: usize = 200;

fn shortened(text: &str) -> String {
    if text.chars().count() <= MAX_STATEMENT_CHARACTERS {
        return text.to_string();
    }
    let cut: String = text.chars().take(MAX_STATEMENT_CHARACTERS - 1).collect();
    format!("{}…", cut.trim_end())
}

/// Returns the changed files: with `--full` one a line, else those that were changed most on one line.
fn changed_files(files: &[FileChange], root: &str, is_full: bool) -> Vec<Statement> {
    if is_full {
        return files.iter().map(|file| changed(file, root)).collect();
    }
    let mut most: Vec<&FileChange> = files.iter().collect();
    most.sort_by_key(|file| std::cmp::Reverse(file.events.len()));
    let names: Vec<String> = most
        .iter()
        .take(MAX_FILES_IN_LINE)
        .map(|file| changed(file, root).text)
        .collect();
    let more = match files.len().saturating_sub(names.len()) {
        0 => String::new(),
        count => format!(", and {count} more"),
    };
    let line = Statement {
        text: format!("{}{more}", names.join(", ")),
        turn: None,
        events: Vec::new(),
    };
    if files.is_empty() {
        Vec::new()
    } else {
        vec![line]
    }
}

/// What a model wrote, apart from what the log tells.
fn print_summary(
    out: &mut impl Write,
    summary: &SessionSummary,
    is_full: bool,
) -> Result<(), Error> {
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
        let line = format!("{what}{}", one_line(text));
        let line = if is_full { line } else { shortened(&line) };
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

/// A changed file, by its path within the project.
fn changed(file: &FileChange, root: &str) -> Statement {
    let within = file.path.strip_prefix(root);
    // A folder beside the root may begin with its name.
    let within = within.filter(|path| !root.is_empty() && path.starts_with(['/', '\\']));
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

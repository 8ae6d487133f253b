//! Search results as people see them, whoever did the search.

use std::io::{IsTerminal, Write};

use backstory_event::TimeMs;
use backstory_memory::Mode;
use backstory_memory::search::{HitRecord, SearchRecord, Snippet};
use jiff::Timestamp;

use crate::error::Error;
use crate::output::{BOLD, DIM, GREEN, YELLOW, local_time, one_line, stdout};

/// Prints an answer that has the parts for the terminal.
pub(super) fn print_text(answer: &SearchRecord) -> Result<(), Error> {
    let mut out = stdout();
    if answer.hits.is_empty() {
        writeln!(out, "nothing found")?;
    } else if answer.mode != Mode::Semantic && !answer.hits.iter().any(|hit| hit.confident) {
        writeln!(
            out,
            "{YELLOW}no session seems to be about this; the nearest are:{YELLOW:#}\n"
        )?;
    }
    // In a pipe ids stand whole, for the next program needs them.
    let is_terminal = std::io::stdout().is_terminal();
    for hit in &answer.hits {
        print_hit(&mut out, hit, is_terminal)?;
    }
    out.flush()?;
    Ok(())
}

fn print_hit(out: &mut impl Write, hit: &HitRecord, is_terminal: bool) -> Result<(), Error> {
    let short = hit.short_id.as_deref().filter(|_| is_terminal);
    let id = one_line(short.unwrap_or(&hit.session));
    let title = one_line(hit.title.as_deref().unwrap_or("-"));
    let project = hit.project.as_deref().map_or("-", |project| {
        project.rsplit(['/', '\\']).next().unwrap_or(project)
    });
    writeln!(
        out,
        "{GREEN}{id}#{}{GREEN:#}  {BOLD}{title}{BOLD:#}",
        hit.turn
    )?;
    let at = hit.timestamp.as_deref().and_then(|at| at.parse().ok());
    write!(
        out,
        "    {DIM}{}  {}  {}  {}{DIM:#}",
        local_time(at.map(|at: Timestamp| TimeMs::new(at.as_millisecond()))),
        hit.agent,
        one_line(project),
        hit.kind.replace('_', " "),
    )?;
    if !hit.more_turns.is_empty() {
        let turns = hit.more_turns.iter().map(|turn| format!("#{turn}"));
        let turns: Vec<String> = turns.collect();
        write!(out, "  {DIM}also {}{DIM:#}", turns.join(" "))?;
    }
    let (text, marks) = hit.plain.clone().unwrap_or_default();
    let (on, off) = (format!("{BOLD}{YELLOW}"), format!("{YELLOW:#}{BOLD:#}"));
    let snippet = Snippet { text, marks };
    writeln!(out, "\n    {}\n", snippet.marked(&on, &off))?;
    Ok(())
}

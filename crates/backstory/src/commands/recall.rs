//! `fix` and `how`.

use std::io::{Read, Write};

use backstory_event::TurnNo;
use backstory_memory::Memory;
use backstory_memory::recall::{Fix, FixAttempt};

use super::damage::report_damage;
use super::sessions::project_filter;
use crate::cli::{FixArgs, HowArgs};
use crate::error::Error;
use crate::naming::short_id;
use crate::output::{BOLD, DIM, counted, local_time, one_line, print_json, stdout, talk};
use crate::setting::Setting;

/// Maximum number of bytes that are read from standard input: errors stand at the end, but nobody pipes more.
const MAX_INPUT_BYTES: u64 = 4 << 20;

pub(super) fn fix(setting: &Setting, arguments: &FixArgs) -> Result<(), Error> {
    let text = match arguments.text.as_slice() {
        [only] if only == "-" => input()?,
        words => words.join(" "),
    };
    if text.trim().is_empty() {
        return Err(Error::usage("no error to look for").hint(
            "give its words, or pipe the output of the command: `make 2>&1 | backstory fix`",
        ));
    }
    let memory = setting.memory()?;
    let project = arguments.project.as_deref().map(project_filter);
    let fixes = memory
        .recall()
        .fixes(&text, project.as_deref(), arguments.limit)?;
    if arguments.json {
        print_json(&fixes)?;
        return report_damage(&fixes);
    }
    let mut out = stdout();
    for fix in &fixes.fixes {
        print_fix(&mut out, &memory, fix)?;
    }
    out.flush()?;
    if fixes.fixes.is_empty() {
        talk("no earlier session had an error like this and got rid of it");
    }
    report_damage(&fixes)
}

fn print_fix(out: &mut impl Write, memory: &Memory, fix: &Fix) -> Result<(), Error> {
    writeln!(out, "{BOLD}{}{BOLD:#}", one_line(&fix.error))?;
    let id = cited(memory, &fix.agent, &fix.session, fix.turn);
    let sessions = match fix.sessions {
        1 => String::new(),
        count => format!(" · {}", counted(count, "session")),
    };
    writeln!(
        out,
        "  {DIM}{} · {}{}{sessions} · {id}{DIM:#}",
        local_time(fix.at),
        fix.agent,
        (fix.project.as_deref()).map_or(String::new(), |root| format!(" · {}", one_line(root))),
    )?;
    writeln!(out, "  failed:       {}", one_line(&fix.failed_command))?;
    let attempt = attempt_text(&fix.fixed_by, fix.project.as_deref());
    if !attempt.is_empty() {
        writeln!(out, "  fixed by:     {attempt}")?;
    }
    if fix.passed_command != fix.failed_command {
        writeln!(out, "  then worked:  {}", one_line(&fix.passed_command))?;
    }
    if let Some(explanation) = &fix.explanation {
        writeln!(out, "  agent said:   {}", one_line(explanation))?;
    }
    for attempt in &fix.did_not_help {
        let attempt = attempt_text(attempt, fix.project.as_deref());
        writeln!(out, "  did not help: {attempt}")?;
    }
    Ok(())
}

/// Returns an attempt in words, its files by their paths in the project.
fn attempt_text(attempt: &FixAttempt, root: Option<&str>) -> String {
    let files = attempt.files.iter().map(|path| {
        let within = root.and_then(|root| path.strip_prefix(root)?.strip_prefix(['/', '\\']));
        format!("edit of {}", one_line(within.unwrap_or(path)))
    });
    let commands = attempt
        .commands
        .iter()
        .map(|command| format!("`{}`", one_line(command)));
    files.chain(commands).collect::<Vec<_>>().join(", ")
}

pub(super) fn how(setting: &Setting, arguments: &HowArgs) -> Result<(), Error> {
    let memory = setting.memory()?;
    let project = arguments.project.as_deref().map(project_filter);
    let words: Vec<String> = (arguments.words.iter())
        .flat_map(|words| words.split_whitespace().map(str::to_string))
        .collect();
    let commands = memory
        .recall()
        .commands(&words, project.as_deref(), arguments.limit)?;
    if arguments.json {
        print_json(&commands)?;
        return report_damage(&commands);
    }
    let mut out = stdout();
    for known in &commands.commands {
        let failed = match known.failed {
            0 => String::new(),
            count => format!(", failed {}", counted(count, "time")),
        };
        let id = cited(&memory, &known.agent, &known.session, known.turn);
        writeln!(out, "{BOLD}{}{BOLD:#}", one_line(&known.command))?;
        writeln!(
            out,
            "  {DIM}worked {} in {}{failed}, last {} · {id}{DIM:#}",
            counted(known.worked, "time"),
            counted(known.sessions, "session"),
            local_time(known.at),
        )?;
    }
    out.flush()?;
    if commands.commands.is_empty() {
        talk("no command with these words worked in an earlier session");
    }
    report_damage(&commands)
}

fn cited(memory: &Memory, agent: &str, session: &str, turn: TurnNo) -> String {
    format!("{}#{turn}", short_id(memory, agent, session))
}

fn input() -> Result<String, Error> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(MAX_INPUT_BYTES)
        .read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

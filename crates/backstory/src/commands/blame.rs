//! `blame`.

use std::io::Write;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use backstory_memory::Memory;
use backstory_memory::code::{Blame, BlamedTurn};

use super::damage::report_damage;
use crate::cli::BlameArgs;
use crate::error::{Error, ErrorKind};
use crate::naming::{cite_turn, short_prompt};
use crate::output::{BOLD, DIM, GREEN, harmless, local_time, print_json, stdout};
use crate::setting::Setting;

pub(super) fn run(setting: &Setting, arguments: &BlameArgs) -> Result<(), Error> {
    let (file, range) = file_and_range(&arguments.file)?;
    let memory = setting.memory()?;
    let blame = memory.code().blame(&file)?;
    let last = blame.lines.len();
    let range = match range {
        Some(range) if *range.end() > last => {
            return Err(Error::usage(format!(
                "{} has {last} {}",
                file.display(),
                if last == 1 { "line" } else { "lines" }
            )));
        }
        Some(range) => range,
        None => 1..=last,
    };
    if arguments.json {
        print_json(&blame.map(|blame| blame.line_records(range.clone())))?;
    } else {
        print_text(&memory, &blame, range.clone())?;
    }
    report_damage(&blame)?;
    let by_agents = |number: usize| {
        let line = blame.lines.get(number - 1);
        line.is_some_and(|line| line.turn.is_some())
    };
    if range.into_iter().any(by_agents) {
        return Ok(());
    }
    Err(if arguments.json {
        Error::silent()
    } else {
        let message = format!("no line of {} is known to be by an agent", arguments.file);
        Error::new(ErrorKind::NotFound, message)
            .hint("`backstory sweep` takes in what is new in the agents' logs")
    })
}

/// Splits what was typed. A name with a colon in it is a name as long as there is such a file.
fn file_and_range(typed: &str) -> Result<(PathBuf, Option<RangeInclusive<usize>>), Error> {
    let found = |path: &str| {
        let path = Path::new(path);
        if path.is_dir() {
            return Err(
                Error::usage(format!("{} is a folder", path.display())).hint("name one file of it")
            );
        }
        Ok(path.exists().then(|| path.to_path_buf()))
    };
    if let Some(file) = found(typed)? {
        return Ok((file, None));
    }
    let none = |file: &str| Error::new(ErrorKind::NotFound, format!("there is no file {file}"));
    let Some((name, lines)) = typed.rsplit_once(':') else {
        return Err(none(typed));
    };
    let file = found(name)?.ok_or_else(|| none(typed))?;
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let wrong = || {
        Error::usage(format!("{lines:?} names no lines"))
            .hint("write FILE:10 or FILE:10-20; lines count from 1")
    };
    let first: usize = first.trim().parse().map_err(|_| wrong())?;
    let last: usize = last.trim().parse().map_err(|_| wrong())?;
    if first == 0 || last < first {
        return Err(wrong());
    }
    Ok((file, Some(first..=last)))
}

fn print_text(memory: &Memory, blame: &Blame, range: RangeInclusive<usize>) -> Result<(), Error> {
    let mut out = stdout();
    let name = |turn: &BlamedTurn| cite_turn(memory, &turn.agent, &turn.session, Some(turn.turn));
    let names: Vec<String> = blame.turns.iter().map(name).collect();
    let wide = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
    let name_width = wide(&mut names.iter().map(String::len));
    let agent_width = wide(&mut blame.turns.iter().map(|turn| turn.agent.len()));
    let number_width = range.end().to_string().len();
    let mut shown: Vec<usize> = Vec::new();
    let mut before = None;
    for number in range {
        let Some(line) = blame.lines.get(number - 1) else {
            break;
        };
        let (mut name, mut agent, mut date) = (String::new(), String::new(), String::new());
        // Only the first line of several by the same turn names it.
        if let Some(turn) = line.turn.filter(|turn| before != Some(Some(*turn))) {
            name.clone_from(&names[turn]);
            agent.clone_from(&blame.turns[turn].agent);
            date = local_time(line.at).chars().take(10).collect();
            if !shown.contains(&turn) {
                shown.push(turn);
            }
        }
        before = Some(line.turn);
        let text = harmless(&line.text);
        let bar = if line.turn.is_some() { "│" } else { " " };
        let row = format!(
            "{DIM}{number:>number_width$}{DIM:#}  {BOLD}{name:<name_width$}{BOLD:#}  \
             {GREEN}{agent:<agent_width$}{GREEN:#}  {DIM}{date:<10} {bar}{DIM:#} {text}"
        );
        writeln!(out, "{}", row.trim_end())?;
    }
    if !shown.is_empty() {
        writeln!(out)?;
    }
    for turn in shown {
        let prompt = short_prompt(blame.turns[turn].prompt.as_deref());
        let name = &names[turn];
        writeln!(out, "{BOLD}{name:<name_width$}{BOLD:#}  {prompt}")?;
    }
    out.flush()?;
    Ok(())
}

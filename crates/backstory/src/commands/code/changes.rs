//! `changes`.

use std::io::Write;

use backstory_memory::Memory;
use backstory_memory::code::SymbolKind;
use backstory_memory::code::{ChangeFilter, ChangeList, TurnChanges};

use super::{moment, sign};
use crate::cli::ChangesArgs;
use crate::commands::damage::report_damage;
use crate::error::{Error, ErrorKind};
use crate::naming::{cite_turn, short_prompt};
use crate::output::{BOLD, DIM, GREEN, local_time, one_line, print_json, stdout};
use crate::setting::Setting;

pub(in crate::commands) fn run(setting: &Setting, arguments: &ChangesArgs) -> Result<(), Error> {
    let memory = setting.memory()?;
    let session = match &arguments.session {
        Some(session) => Some(memory.sessions().row(session)?.id),
        None => None,
    };
    let since = match &arguments.since {
        Some(since) => Some(moment(&memory, since)?),
        None => None,
    };
    let turns = memory.code().changes(&ChangeFilter {
        session,
        since,
        path: arguments.file.clone(),
        limit: arguments.limit,
    })?;
    if arguments.json {
        print_json(&turns.map(|turns| ChangeList::new(turns)))?;
    } else {
        print_text(&memory, &turns)?;
    }
    report_damage(&turns)?;
    if turns.is_empty() {
        return Err(match arguments.json {
            true => Error::silent(),
            false => Error::new(
                ErrorKind::NotFound,
                "no agent is known to have changed such a function",
            )
            .hint("`backstory sweep` takes in what is new in the agents' logs"),
        });
    }
    Ok(())
}

fn print_text(memory: &Memory, turns: &[TurnChanges]) -> Result<(), Error> {
    let mut out = stdout();
    let mut first = true;
    for turn in turns {
        if !std::mem::take(&mut first) {
            writeln!(out)?;
        }
        writeln!(
            out,
            "{BOLD}{}{BOLD:#}  {GREEN}{}{GREEN:#}  {DIM}{}{DIM:#}  {}",
            cite_turn(
                memory,
                &turn.session.agent,
                &turn.session.session,
                turn.turn
            ),
            turn.session.agent,
            local_time(turn.at),
            short_prompt(turn.prompt.as_deref()),
        )?;
        for file in &turn.files {
            writeln!(out, "  {} {}", sign(file.change), one_line(&file.name))?;
            for symbol in &file.symbols {
                let earlier = match &symbol.earlier {
                    Some(earlier) => format!(", was {}", one_line(earlier)),
                    None => String::new(),
                };
                let kind = symbol.kind.map_or("", SymbolKind::name).replace('_', " ");
                writeln!(
                    out,
                    "      {} {}  {DIM}{kind}{earlier}{DIM:#}",
                    sign(symbol.change),
                    one_line(&symbol.name)
                )?;
            }
        }
    }
    out.flush()?;
    Ok(())
}

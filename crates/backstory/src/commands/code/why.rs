//! `why`.

use std::io::Write;

use backstory_memory::Memory;
use backstory_memory::code::SymbolKind;
use backstory_memory::code::{SymbolHistories, SymbolLife};

use crate::cli::WhyArgs;
use crate::commands::damage::report_damage;
use crate::error::{Error, ErrorKind};
use crate::naming::{cite_turn, short_prompt};
use crate::output::{BOLD, DIM, GREEN, local_time, one_line, print_json, stdout};
use crate::setting::Setting;

pub(in crate::commands) fn run(setting: &Setting, arguments: &WhyArgs) -> Result<(), Error> {
    let memory = setting.memory()?;
    let lives = memory
        .code()
        .history(&arguments.name, arguments.file.as_deref())?;
    if arguments.json {
        print_json(&lives.map(|lives| SymbolHistories { symbols: lives }))?;
    } else {
        print_text(&memory, &lives)?;
    }
    report_damage(&lives)?;
    if lives.is_empty() {
        let message = format!("no agent is known to have changed {}", arguments.name);
        return Err(match arguments.json {
            true => Error::silent(),
            false => Error::new(ErrorKind::NotFound, message)
                .hint("`backstory changes` lists what agents changed"),
        });
    }
    Ok(())
}

fn print_text(memory: &Memory, lives: &[SymbolLife]) -> Result<(), Error> {
    let mut out = stdout();
    let mut first = true;
    for life in lives {
        if !std::mem::take(&mut first) {
            writeln!(out)?;
        }
        let kind = life.kind.map_or("", SymbolKind::name).replace('_', " ");
        writeln!(
            out,
            "{BOLD}{}{BOLD:#}  {DIM}{kind} in {}{DIM:#}",
            one_line(&life.name),
            one_line(&life.file)
        )?;
        for event in &life.changes {
            let earlier = match &event.earlier {
                Some(earlier) => format!(", was {}", one_line(earlier)),
                None => String::new(),
            };
            writeln!(
                out,
                "  {DIM}{}{DIM:#}  {:<8}  {BOLD}{}{BOLD:#}  {GREEN}{}{GREEN:#}  {}{DIM}{earlier}{DIM:#}",
                local_time(event.at),
                event.change.name(),
                cite_turn(
                    memory,
                    &event.session.agent,
                    &event.session.session,
                    event.turn
                ),
                event.session.agent,
                short_prompt(event.prompt.as_deref()),
            )?;
        }
    }
    out.flush()?;
    Ok(())
}

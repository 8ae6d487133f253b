//! `queue`: what hooks captured, and what is to be done about it.

use std::io::Write;

use backstory_memory::Memory;
use backstory_memory::capture::{ItemFilter, ItemState};
use backstory_memory::capture::{QueueRecord, omitted_bytes};
use serde_json::json;

use super::damage::report_damage;
use super::sweep::drain_spool;
use crate::cli::{QueueAction, QueueArgs};
use crate::error::{Error, ErrorKind};
use crate::naming::short_id;
use crate::output::{
    BOLD, DIM, GREEN, RED, counted, grouped, local_time, one_line, print_json, say, stdout,
};
use crate::setting::{Setting, now};

pub(super) fn run(setting: &Setting, arguments: &QueueArgs) -> Result<(), Error> {
    let memory = setting.memory_to_write()?;
    drain_spool(setting, &memory)?;
    match arguments.action {
        None => list(&memory, arguments),
        Some(QueueAction::Retry { id }) => {
            let count = memory.captures().retry(id)?;
            if let Some(id) = id.filter(|_| count == 0) {
                let message = format!("item {id} is not there, or is done already");
                return Err(Error::new(ErrorKind::NotFound, message)
                    .hint("`backstory queue --limit 0` lists all items"));
            }
            if arguments.json {
                return print_json(&json!({"retried": count}));
            }
            say(&format!("{} to be tried again", items(count as u64)))
        }
        Some(QueueAction::Run) => {
            let report = memory
                .captures()
                .work(&setting.import_options(&[], None), now())?;
            if arguments.json {
                return print_json(&report);
            }
            let (done, raw, later) = (
                grouped(report.done),
                grouped(report.raw),
                grouped(report.later),
            );
            say(&format!(
                "{done} done, {raw} kept as captured, {later} to be tried again"
            ))
        }
    }
}

fn list(memory: &Memory, arguments: &QueueArgs) -> Result<(), Error> {
    let filter = ItemFilter {
        state: arguments.state.map(ItemState::from),
        limit: arguments.limit,
        ..ItemFilter::default()
    };
    let found = memory.captures().items(&filter)?;
    let sessions = memory
        .sessions()
        .heads(found.iter().filter_map(|item| item.session))?;
    let counts = memory.captures().item_counts()?;
    if arguments.json {
        print_json(&QueueRecord::new(&found, &sessions, counts))?;
        return report_damage(&memory.upkeep().with_damage((), None)?);
    }
    let mut out = stdout();
    for (state, count) in ItemState::ALL.iter().zip(counts) {
        write!(out, "{BOLD}{}{BOLD:#} {}  ", grouped(count), state.name())?;
    }
    writeln!(out)?;
    for item in &found {
        let session = item.session.and_then(|row| sessions.get(&row));
        let colour = match item.state {
            ItemState::Failed => RED,
            ItemState::Done => GREEN,
            _ => DIM,
        };
        writeln!(
            out,
            "{:>6}  {colour}{:<10}{colour:#}  {:<8}  {DIM}{}{DIM:#}  {:<12} {}{}{}",
            item.id,
            item.state.name(),
            item.kind.name().replace('_', " "),
            local_time(Some(item.at)),
            session.map_or("-", |session| session.agent.as_str()),
            session.map_or_else(
                || "-".to_string(),
                |session| short_id(memory, &session.agent, &session.session)
            ),
            omitted_bytes(item).map_or_else(String::new, |bytes| format!(
                "  {} not kept: the agent's log has them",
                counted(bytes, "byte")
            )),
            item.last_error
                .as_deref()
                .map_or_else(String::new, |error| format!("  {}", one_line(error))),
        )?;
    }
    out.flush()?;
    report_damage(&memory.upkeep().with_damage((), None)?)
}

fn items(count: u64) -> String {
    if count == 1 {
        "1 item is".to_string()
    } else {
        format!("{} items are", grouped(count))
    }
}

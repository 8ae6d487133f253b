//! `usage`.

use std::io::Write;

use backstory_memory::{Usage, UsageBy};
use jiff::tz::TimeZone;

use super::damage::report_damage;
use crate::cli::{By, UsageArgs};
use crate::error::Error;
use crate::output::{grouped, one_line, print_json, print_table, stdout, table};
use crate::setting::Setting;

pub(super) fn run(setting: &Setting, arguments: &UsageArgs) -> Result<(), Error> {
    let memory = setting.memory()?;
    let (by, name) = match arguments.by {
        By::Daily => (UsageBy::Day, "day"),
        By::Monthly => (UsageBy::Month, "month"),
        By::Session => (UsageBy::Session, "session"),
        By::Model => (UsageBy::Model, "model"),
        By::Project => (UsageBy::Project, "project"),
    };
    let zone = if arguments.utc {
        TimeZone::UTC
    } else {
        TimeZone::system()
    };
    let mut usage = memory
        .usage()
        .table(by, &zone, arguments.agent.as_deref())?;
    let skipped = match arguments.limit {
        0 => 0,
        limit => usage.entries.len().saturating_sub(limit),
    };
    usage.entries.drain(..skipped);
    let usage = memory.upkeep().with_damage(usage, None)?;
    if arguments.json {
        print_json(&usage)?;
        return report_damage(&usage);
    }
    let mut out = stdout();
    let mut table = table(&[
        name,
        "input",
        "output",
        "cache read",
        "cache write",
        "reasoning",
        "total",
    ]);
    for entry in &usage.entries {
        table.add_row(cells(&one_line(&entry.key), &entry.usage));
    }
    table.add_row(cells("total", &usage.totals));
    table.align_numbers();
    print_table(&mut out, &table)?;
    out.flush()?;
    report_damage(&usage)
}

fn cells(key: &str, usage: &Usage) -> [String; 7] {
    [
        key.to_string(),
        grouped(usage.input),
        grouped(usage.output),
        grouped(usage.cache_read),
        grouped(usage.cache_write),
        grouped(usage.reasoning),
        grouped(usage.total()),
    ]
}

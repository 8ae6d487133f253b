//! `retain`.

use std::io::Write;

use backstory_memory::upkeep::RetainReport;
use backstory_memory::{Memory, container_of_log};
use serde_json::json;

use crate::cli::RetainArgs;
use crate::error::Error;
use crate::naming::short_id;
use crate::output::{
    RED, YELLOW, counted, local_time, print_json, print_table, short_bytes, stdout, table, talk,
};
use crate::setting::Setting;

pub(super) fn run(setting: &Setting, arguments: &RetainArgs) -> Result<(), Error> {
    if let Some(session) = &arguments.restore {
        return restore(setting, session, arguments.json);
    }
    let pins = [(&arguments.pin, true), (&arguments.unpin, false)];
    for (session, pinned) in pins {
        if let Some(session) = session {
            return pin(setting, session, pinned, arguments.json);
        }
    }
    let options = setting.retain_options();
    let memory = match arguments.dry_run {
        true => setting.memory_untouched()?,
        false => setting.memory_to_write()?,
    };
    let report = match arguments.dry_run {
        true => memory.upkeep().retain_plan(&options)?,
        false => memory.upkeep().retain(&options)?,
    };
    if arguments.json {
        return print_json(&report);
    }
    let mut out = stdout();
    if arguments.dry_run && !report.evictions.is_empty() {
        print_plan(&memory, &mut out, &report)?;
    } else {
        print_retention(&mut out, &report)?;
    }
    let takes = if arguments.dry_run {
        "would take about"
    } else {
        "takes"
    };
    writeln!(
        out,
        "{} {takes} {}, {} of it what was distilled",
        setting.store.display(),
        short_bytes(report.final_usage_bytes),
        short_bytes(report.distilled_bytes)
    )?;
    out.flush()?;
    Ok(())
}

fn pin(setting: &Setting, session: &str, pinned: bool, json: bool) -> Result<(), Error> {
    let session = setting.memory_to_write()?.upkeep().pin(session, pinned)?;
    if json {
        return print_json(&json!({"session": session, "pinned": pinned}));
    }
    let what = if pinned {
        "is never evicted"
    } else {
        "can be evicted like others"
    };
    talk(&format!("session {session} {what} from now on"));
    Ok(())
}

fn restore(setting: &Setting, session: &str, json: bool) -> Result<(), Error> {
    let (session, files) = setting.memory_to_write()?.upkeep().restore(session)?;
    if json {
        return print_json(&json!({"session": session, "pinned": true, "files": files}));
    }
    let containers: Vec<_> = files.iter().map(|file| container_of_log(file)).collect();
    let reads = match containers.iter().flatten().next() {
        // Sweeps that are not told so do not look into such files.
        Some(container) if containers.iter().all(Option::is_some) => {
            format!("`backstory sweep {}` reads", container.display())
        }
        _ => "the next sweep reads".to_string(),
    };
    talk(&format!(
        "{reads} session {session} anew from {}; it is pinned now, or it would be evicted again",
        files.join(", ")
    ));
    Ok(())
}

/// What retention did, for people; nothing when there is nothing to say.
pub(super) fn print_retention(out: &mut impl Write, report: &RetainReport) -> Result<(), Error> {
    if !report.evictions.is_empty() {
        writeln!(
            out,
            "the text of {} was evicted, which freed {}",
            counted(report.evictions.len() as u64, "session"),
            short_bytes(report.freed_bytes)
        )?;
    }
    for lost in report.lost() {
        writeln!(
            out,
            "{RED}lost:{RED:#} session {} was not analysed when the hard cap left no choice",
            lost.session
        )?;
    }
    for alert in &report.alerts {
        writeln!(out, "{YELLOW}note:{YELLOW:#} {alert}")?;
    }
    Ok(())
}

fn print_plan(memory: &Memory, out: &mut impl Write, report: &RetainReport) -> Result<(), Error> {
    let mut rows = table(&["session", "agent", "active", "bytes", "why", "analysed"]);
    for eviction in &report.evictions {
        rows.add_row([
            short_id(memory, &eviction.agent, &eviction.session),
            eviction.agent.clone(),
            local_time(eviction.at),
            short_bytes(eviction.bytes),
            eviction.pass.name().to_string(),
            if eviction.analysed { "yes" } else { "no: lost" }.to_string(),
        ]);
    }
    print_table(out, &rows)?;
    for alert in &report.alerts {
        writeln!(out, "{YELLOW}note:{YELLOW:#} {alert}")?;
    }
    Ok(())
}

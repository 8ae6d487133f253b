//! `watch`: sweeps whenever a log changes.

use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use backstory_memory::{ImportOptions, Memory};
use notify::{RecursiveMode, Watcher};

use super::sweep::catch_up;
use crate::cli::WatchArgs;
use crate::error::{Error, ErrorKind};
use crate::output::{DIM, counted, local_time, print_json_line, short_bytes, stdout, warn};
use crate::setting::{Setting, now};

/// An agent writes several records at once; they are taken in together.
const SETTLE: Duration = Duration::from_millis(200);
/// For folders that come into being later, and for file systems that tell nothing.
const LOOK_ANYWAY: Duration = Duration::from_secs(60);

pub(super) fn run(setting: &Setting, arguments: &WatchArgs) -> Result<(), Error> {
    let mut options = setting.import_options(&[], arguments.agent.as_deref());
    let memory = Memory::open(&setting.store)?;
    let (sender, changes) = mpsc::channel();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Reading a log tells of itself; only writes matter.
        if event.is_ok_and(|event| !event.kind.is_access()) {
            let _ = sender.send(());
        }
    })
    .map_err(|error| Error::new(ErrorKind::Internal, format!("cannot watch files: {error}")))?;
    let roots: Vec<PathBuf> = options
        .sources
        .roots
        .iter()
        .map(|(_, root)| root.clone())
        .collect();
    let mut watched: Vec<PathBuf> = Vec::new();
    loop {
        for root in &roots {
            if !watched.iter().any(|known| known == root)
                && watcher.watch(root, RecursiveMode::Recursive).is_ok()
            {
                watched.push(root.clone());
            }
        }
        options.retain = setting.retain_options();
        sweep(&memory, &options, arguments.json)?;
        if let Some(problem) = catch_up(setting, &memory)?.model_problem {
            warn(&problem);
        }
        match changes.recv_timeout(LOOK_ANYWAY) {
            Ok(()) => while changes.recv_timeout(SETTLE).is_ok() {},
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

fn sweep(memory: &Memory, options: &ImportOptions, json: bool) -> Result<(), Error> {
    let report = memory.import(options, &mut |_| {})?;
    if report.bytes_read == 0 {
        return Ok(());
    }
    if json {
        return print_json_line(&report);
    }
    let mut out = stdout();
    let files = counted(report.ingested, "file");
    let events = counted(report.events, "event");
    let time = local_time(Some(now()));
    writeln!(
        out,
        "{DIM}{time}{DIM:#} {files}, {events}, {}",
        short_bytes(report.bytes_read)
    )?;
    out.flush()?;
    Ok(())
}

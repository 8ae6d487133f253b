//! Imports what is new every second and prints the end of the session that was active last: `cargo run --example update -- MEMORY LOGS…`.
#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use std::time::Duration;

use backstory_memory::{ImportOptions, Memory, SessionFilter, Sources};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut paths = std::env::args_os().skip(1);
    let memory = Memory::open(paths.next().ok_or("no folder for the memory")?.as_ref())?;
    let options = ImportOptions::new(Sources::paths(paths));
    loop {
        // Files that did not change are not opened; of one that grew only the new lines are read.
        let report = memory.import(&options, &mut |_| {})?;
        let mut sessions = memory.sessions().list(&SessionFilter::default())?;
        if report.events > 0 && !sessions.is_empty() {
            let latest = memory.sessions().open(sessions.swap_remove(0));
            for event in latest.tail(report.events.min(5))? {
                println!("{} {}", event.event.kind.name(), event.text());
            }
        }
        std::thread::sleep(Duration::from_secs(1));
    }
}

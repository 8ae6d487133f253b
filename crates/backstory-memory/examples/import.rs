//! Imports agents' logs into a memory and lists its sessions: `cargo run --example import -- MEMORY LOGS…`.
#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use std::error::Error;

use backstory_memory::{ImportOptions, Memory, SessionFilter, Sources};

fn main() -> Result<(), Box<dyn Error>> {
    let mut paths = std::env::args_os().skip(1);
    let memory = Memory::open(paths.next().ok_or("no folder for the memory")?.as_ref())?;
    // Which agent wrote a log shows in the log. Secrets are redacted before anything is stored.
    let options = ImportOptions::new(Sources::paths(paths));
    let report = memory.import(&options, &mut |_| {})?;
    println!("{} files, {} events", report.ingested, report.events);
    for session in memory.sessions().list(&SessionFilter::default())? {
        let title = session.title.as_deref().unwrap_or("untitled");
        println!("{} {} turns: {title}", session.session, session.turns);
    }
    Ok(())
}

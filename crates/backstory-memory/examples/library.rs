//! Backstory as a library, on one page: sweep logs into a memory, sweep again, list sessions, search, read one's end.
//!
//! ```text
//! cargo run -p backstory-memory --example library
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use std::error::Error;
use std::fs;
use std::path::Path;

use backstory_agents::sample;
use backstory_memory::{
    Memory, Query, SearchOptions, SessionFilter, Sources, SweepOptions, TimeMs,
};

/// When the last of the sample sessions ends: 1 June 2026, noon.
const END: TimeMs = TimeMs::new(1_780_315_200_000);

fn main() -> Result<(), Box<dyn Error>> {
    // A folder to play in; it vanishes at the end. Your own logs are not touched: nothing is read that is not named here.
    let folder = tempfile::tempdir()?;
    let logs = folder.path().join("logs");
    write_sample_logs(&logs)?;

    // A memory is a folder too. Opening it makes it if there is none.
    let mut memory = Memory::open(&folder.path().join("memory"))?;

    // Sweeping takes in what is new. Which agent wrote which file shows in the files; secrets are taken out on the way.
    // The closure is called now and then with how far it is: that is where a progress bar would go.
    let options = SweepOptions::new(Sources::paths([&logs]));
    let first = memory.sweep(&options, &mut |_progress| {})?;
    println!(
        "first sweep:  {} files processed, {} skipped, {} events",
        first.ingested, first.skipped_unchanged, first.events
    );

    // Sweeping again costs next to nothing: files that did not change are not even opened. So sweep as often as you like.
    let second = memory.sweep(&options, &mut |_progress| {})?;
    println!(
        "second sweep: {} files processed, {} skipped, {} events",
        second.ingested, second.skipped_unchanged, second.events
    );

    // Sessions, the latest first. A filter narrows them down to an agent, a project, a branch, a time.
    let sessions = memory.sessions(&SessionFilter::default())?;
    println!("\n{} sessions:", sessions.len());
    for session in &sessions {
        let title = session.title.as_deref().unwrap_or("untitled");
        println!(
            "  {:<11} {:>2} turns {:>3} events  {title}",
            session.agent, session.turns, session.events
        );
    }

    // Search: words, "phrases", AND, OR, -not, prefix*. What was swept is findable at once.
    let options = SearchOptions {
        limit: 3,
        ..SearchOptions::default()
    };
    println!("\nabout docker:");
    for hit in memory
        .search(&Query::parse("docker build fails"), &options)?
        .hits
    {
        println!(
            "  {}#{}  {}",
            hit.session.session,
            hit.turn,
            hit.snippet.marked("*", "*")
        );
    }

    // The end of a session: only the few blocks that hold it are decompressed, however long the session is.
    if let Some(session) = sessions.first() {
        println!("\nhow {} ended:", session.session);
        for event in memory.tail(session, 5)? {
            let first_line = event.text().lines().next().unwrap_or_default();
            let first_line: String = first_line.chars().take(90).collect();
            println!("  {:<11} {first_line}", event.event.kind.name());
        }
    }
    Ok(())
}

/// Writes a few days of made-up work with three agents, laid out as their logs are in a home folder.
fn write_sample_logs(home: &Path) -> std::io::Result<()> {
    for file in sample::story(END) {
        let path = home.join(file.path);
        fs::create_dir_all(path.parent().unwrap_or(home))?;
        fs::write(path, file.bytes)?;
    }
    Ok(())
}

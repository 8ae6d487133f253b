//! The stack traces in the text on stdin, and how fast they were found.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "that is what it is for"
)]

use std::io::Read;
use std::time::{Duration, Instant};

use backstory_code::traces;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    // The first time makes the searcher.
    traces("");
    let mut spent = Duration::MAX;
    let mut found = Vec::new();
    for _ in 0..5 {
        let start = Instant::now();
        found = traces(&text);
        spent = spent.min(start.elapsed());
    }
    for trace in &found {
        println!();
        for frame in trace {
            let file = frame.file.as_deref().unwrap_or("?");
            let line = frame.line.unwrap_or_default();
            println!("{} ({file}:{line}) {}", frame.function, frame.qualified);
        }
    }
    let megabytes = text.len() as f64 / 1e6;
    let speed = megabytes / spent.as_secs_f64();
    eprintln!("{megabytes:.1} MB, {} traces: {speed:.0} MB/s", found.len());
    Ok(())
}

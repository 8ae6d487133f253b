//! Outlines of files as lines of JSON, and how fast they were made. For `bench/code`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "that is what it is for")]

use std::io::BufRead;
use std::path::Path;
use std::time::{Duration, Instant};

use backstory_code::{Language, outline};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut bytes, mut spent) = (0, Duration::ZERO);
    for path in std::io::stdin().lock().lines() {
        let path = path?;
        let Some(language) = Language::of_path(Path::new(&path)) else {
            continue;
        };
        let source = std::fs::read(&path)?;
        let start = Instant::now();
        let outline = outline(language, &source);
        spent += start.elapsed();
        bytes += source.len();
        let line = match outline {
            Ok(outline) => serde_json::json!({ "path": path, "outline": outline }),
            Err(skipped) => serde_json::json!({ "path": path, "skipped": skipped.reason() }),
        };
        println!("{line}");
    }
    let speed = bytes as f64 / 1e6 / spent.as_secs_f64();
    eprintln!("{:.1} MB in {:.1} s: {speed:.1} MB/s", bytes as f64 / 1e6, spent.as_secs_f64());
    Ok(())
}

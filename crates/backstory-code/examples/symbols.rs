//! Outlines of files as lines of JSON, and how fast they were made. For `bench/code`.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "that is what it is for"
)]

use std::io::BufRead;
use std::path::Path;
use std::sync::LazyLock;
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
        let start = spent_so_far();
        let outline = outline(language, &source);
        spent += spent_so_far().saturating_sub(start);
        bytes += source.len();
        let line = match outline {
            Ok(outline) => serde_json::json!({ "path": path, "outline": outline }),
            Err(skipped) => serde_json::json!({ "path": path, "skipped": skipped.reason() }),
        };
        println!("{line}");
    }
    let speed = bytes as f64 / 1e6 / spent.as_secs_f64();
    eprintln!(
        "{:.1} MB in {:.1} s: {speed:.1} MB/s",
        bytes as f64 / 1e6,
        spent.as_secs_f64()
    );
    Ok(())
}

/// The time that this program had a core; other programs are not to count. Where Linux does not tell, time as it goes by.
fn spent_so_far() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|told| told.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

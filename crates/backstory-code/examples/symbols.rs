//! Outlines of files as lines of JSON, and how fast they were made. For `bench/code`.
#![allow(clippy::print_stderr, reason = "that is what it is for")]

use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use backstory_code::{Language, Outline, outline};
use serde::Serialize;

#[derive(Serialize)]
struct Line<'a> {
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outline: Option<&'a Outline>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut bytes, mut spent) = (0, Duration::ZERO);
    let mut output = std::io::BufWriter::new(std::io::stdout().lock());
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
        let line = Line {
            path: &path,
            skipped: outline.as_ref().err().map(|skipped| skipped.reason()),
            outline: outline.as_ref().ok(),
        };
        serde_json::to_writer(&mut output, &line)?;
        output.write_all(b"\n")?;
    }
    output.flush()?;
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

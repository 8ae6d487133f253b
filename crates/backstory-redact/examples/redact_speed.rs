//! Measures redaction: ordinary logs, and the slowest of all hostile texts that we can make up. `bench/redact` runs it.
//!
//! ```text
//! redact_speed            generated logs
//! redact_speed FILE…      real logs
//! ```

#![allow(
    clippy::print_stdout,
    reason = "what it measures goes to standard output"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use backstory_agents::sample;
use backstory_redact::{RULES, Redactor, hostile_pieces, repeat_to};

/// Length in bytes of the texts by which the slowest are chosen, and of those that are measured.
const SCREENED_BYTES: usize = 16 * 1024;
const MEASURED_BYTES: usize = 1024 * 1024;
/// Number of texts that are measured at full length.
const MEASURED_TEXTS: usize = 40;
/// Number of runs, of which the fastest counts: the others were disturbed.
const RUNS: usize = 3;
/// Times from which on processor time is exact enough to be used.
const SHORTEST_COUNTED: Duration = Duration::from_millis(50);
/// Length in bytes of the generated logs.
const GENERATED_BYTES: u64 = 32_000_000;

fn main() -> std::io::Result<()> {
    let redactor = Redactor::new([7; 32]);
    let mut logs = Vec::new();
    for path in std::env::args_os().skip(1) {
        logs.push(std::fs::read(path)?);
    }
    if logs.is_empty() {
        logs = sample::logs(1, GENERATED_BYTES)
            .map(|file| file.bytes)
            .collect();
    }
    let length: usize = logs.iter().map(Vec::len).sum();
    let ordinary = fastest(RUNS, || {
        for log in &logs {
            black_box(redactor.redact(log, &[]).count);
        }
    });
    let (worst, piece, tried) = worst_text(&redactor);

    println!("| redaction | |");
    println!("|:--|--:|");
    println!(
        "| ordinary logs, {:.0} MB | {:.0} MB/s, {:.4} s/MiB |",
        length as f64 / 1e6,
        length as f64 / 1e6 / ordinary.as_secs_f64(),
        per_mebibyte(ordinary, length)
    );
    let shown: String = piece.chars().take(60).collect();
    println!("| slowest of {tried} hostile texts: `{shown:?}` repeated | {worst:.3} s/MiB |");
    Ok(())
}

/// Seconds per MiB of the slowest hostile text, the piece that it repeats, and the number of texts tried.
fn worst_text(redactor: &Redactor) -> (f64, String, usize) {
    let measure = |piece: &str, length: usize, runs: usize| {
        let text = repeat_to(piece, length);
        let time = fastest(runs, || {
            black_box(redactor.redact(text.as_bytes(), &[]).count);
        });
        per_mebibyte(time, text.len())
    };
    let pieces: Vec<String> = RULES.iter().flat_map(hostile_pieces).collect();
    let mut screened: Vec<(f64, &String)> = pieces
        .iter()
        .map(|piece| (measure(piece, SCREENED_BYTES, 2), piece))
        .collect();
    screened.sort_by(|one, other| other.0.total_cmp(&one.0));
    screened
        .iter()
        .take(MEASURED_TEXTS)
        .map(|(_, piece)| (measure(piece, MEASURED_BYTES, RUNS), (*piece).clone()))
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map_or((0.0, String::new(), 0), |(worst, piece)| {
            (worst, piece, pieces.len())
        })
}

fn per_mebibyte(time: Duration, bytes: usize) -> f64 {
    time.as_secs_f64() * MEASURED_BYTES as f64 / bytes.max(1) as f64
}

fn fastest(runs: usize, mut work: impl FnMut()) -> Duration {
    (0..runs)
        .map(|_| {
            let (start, processor) = (Instant::now(), processor_time());
            work();
            let waited = start.elapsed();
            match (processor, processor_time()) {
                (Some(before), Some(after)) if waited > SHORTEST_COUNTED => after - before,
                _ => waited,
            }
        })
        .min()
        .unwrap_or_default()
}

/// Processor time of this thread, which a busy machine does not lengthen. Known on Linux only, and only to a few milliseconds.
fn processor_time() -> Option<Duration> {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = statistics.split(' ').next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

//! What to measure a sweep against, and how.
//!
//! ```text
//! baseline cat FOLDER…      reads every file below, and nothing else
//! baseline json FOLDER…     also checks that every line is JSON, with serde_json, keeping nothing
//! baseline value FOLDER…    also makes a serde_json::Value of every line
//! baseline run -- COMMAND…  runs a command, its output thrown away, and measures it as a whole process
//! ```
//!
//! One thread, no cleverness: these are the floors that everybody knows. The answer is one line of JSON.
#![allow(
    clippy::print_stdout,
    clippy::exit,
    reason = "a program that answers on its output"
)]

use std::error::Error;
use std::ffi::OsString;
use std::fs::{self, File};
use std::hint::black_box;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::de::IgnoredAny;
use serde_json::{Value, json};

const USAGE: &str = "usage: baseline cat|json|value FOLDER…, or baseline run -- COMMAND…";

/// As much as is read at once.
const BUFFER_BYTES: usize = 256 << 10;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let what = arguments.next().unwrap_or_default();
    let rest: Vec<OsString> = arguments.collect();
    let answer = match (what.to_str(), rest.as_slice()) {
        (Some("run"), [dashes, command, arguments @ ..]) if dashes == "--" => {
            run(command, arguments)?
        }
        (Some("cat"), [_, ..]) => pass(&rest, read_only)?,
        (Some("json"), [_, ..]) => pass(&rest, |file| {
            each_line(file, |line| {
                drop(serde_json::from_slice::<IgnoredAny>(line));
            })
        })?,
        (Some("value"), [_, ..]) => pass(&rest, |file| {
            each_line(file, |line| {
                drop(black_box(serde_json::from_slice::<Value>(line)));
            })
        })?,
        _ => return Err(USAGE.into()),
    };
    println!("{answer}");
    Ok(())
}

/// Goes over all files below some folders and measures how long that takes.
fn pass(
    folders: &[OsString],
    each: impl Fn(&mut File) -> std::io::Result<u64>,
) -> std::io::Result<Value> {
    let started = Instant::now();
    let mut waiting: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
    let (mut files, mut bytes) = (0_u64, 0);
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            for entry in fs::read_dir(&path)? {
                waiting.push(entry?.path());
            }
        } else {
            files += 1;
            bytes += each(&mut File::open(&path)?)?;
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    Ok(
        json!({ "files": files, "bytes": bytes, "seconds": seconds, "megabytes_per_second": bytes as f64 / 1e6 / seconds }),
    )
}

fn read_only(file: &mut File) -> std::io::Result<u64> {
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut total = 0;
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(total),
            read => total += black_box(&buffer[..read]).len() as u64,
        }
    }
}

fn each_line(file: &mut File, parse: impl Fn(&[u8])) -> std::io::Result<u64> {
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
    let mut line = Vec::new();
    let mut total = 0;
    while reader.read_until(b'\n', &mut line)? > 0 {
        parse(&line);
        total += line.len() as u64;
        line.clear();
    }
    Ok(total)
}

/// Runs a command from start to end.
fn run(command: &OsString, arguments: &[OsString]) -> Result<Value, Box<dyn Error>> {
    let mut command = Command::new(command);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let over = AtomicBool::new(false);
    let over = &over;
    let (seconds, peak, status) = std::thread::scope(|scope| -> std::io::Result<_> {
        let started = Instant::now();
        let mut child = command.spawn()?;
        let status_file = PathBuf::from(format!("/proc/{}/status", child.id()));
        let watcher = scope.spawn(move || watch_peak(&status_file, over));
        let status = child.wait();
        let seconds = started.elapsed().as_secs_f64();
        over.store(true, Ordering::Relaxed);
        Ok((seconds, watcher.join().unwrap_or(0), status?))
    })?;
    let answer = json!({ "seconds": seconds, "cpu_seconds": children_cpu_seconds(), "peak_rss_bytes": peak });
    if !status.success() {
        println!("{answer}");
        std::process::exit(status.code().unwrap_or(1));
    }
    Ok(answer)
}

/// The largest memory of a running process. Nothing can be asked when it is over, so it is asked every millisecond; a peak in the
/// very last one is missed.
fn watch_peak(status_file: &Path, over: &AtomicBool) -> u64 {
    let mut peak = 0;
    while !over.load(Ordering::Relaxed) {
        peak = peak.max(resident_peak(status_file).unwrap_or(0));
        std::thread::sleep(Duration::from_millis(1));
    }
    peak
}

fn resident_peak(status_file: &Path) -> Option<u64> {
    let status = fs::read_to_string(status_file).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim()
        .strip_suffix("kB")?
        .trim()
        .parse::<u64>()
        .ok()
        .map(|kilobytes| kilobytes * 1024)
}

/// The processor time, user and system, of all children that are over; hundredths of a second are all that Linux tells here.
fn children_cpu_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program is in parentheses and may hold anything; the fields after it are counted from the third one on.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field - 3)?.parse::<f64>().ok();
    Some((ticks(16)? + ticks(17)?) / 100.0)
}

//! Writes made-up logs to measure with: `generate_logs MEGABYTES FOLDER [SEED]`.
//!
//! The folder becomes a home folder with `.claude`, `.codex` and `.grok` in it. The same seed gives the same bytes everywhere, so
//! numbers can be compared; other seeds add other sessions to the same folder.
#![allow(clippy::print_stdout, reason = "it says what it wrote")]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use backstory_agents::sample;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(megabytes), Some(folder)) = (arguments.next(), arguments.next()) else {
        return Err("usage: generate_logs MEGABYTES FOLDER [SEED]".into());
    };
    let megabytes: u64 = megabytes.to_string_lossy().parse()?;
    let seed = arguments
        .next()
        .map_or(Ok(1), |seed| seed.to_string_lossy().parse())?;
    let folder = PathBuf::from(folder);
    let (mut files, mut bytes) = (0_u64, 0_u64);
    for file in sample::logs(seed, megabytes * 1_000_000) {
        write(&folder.join(file.path), &file.bytes)?;
        files += 1;
        bytes += file.bytes.len() as u64;
    }
    println!("{{\"files\":{files},\"bytes\":{bytes}}}");
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, bytes)
}

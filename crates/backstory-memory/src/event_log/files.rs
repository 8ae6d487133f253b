//! The files of the log: today's, and one for each day before.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use backstory_redact::Redactor;
use backstory_store::private::{ExpectedType, check_entry, check_private_folder};
use backstory_store::{LoggedEvent, is_store_entry};

use super::line::{read_line, write_line};
use super::{DAY_MS, DAYS_KEPT, LogEvent};
use crate::random::random_key;
use crate::trusted::open_regular;

/// Number of lines that are read at once.
pub(super) const LINES_AT_ONCE: usize = 4096;

/// Length of the longest line; one that is longer is not written.
const MAX_LINE_BYTES: usize = 64 << 10;

/// Adds lines to today's file, all by one write.
pub(super) fn append(home: &Path, events: &[LogEvent]) -> std::io::Result<()> {
    let lines = lines_of(events)?;
    let Some(at) = events.iter().map(|event| event.at).max() else {
        return Ok(());
    };
    // In a folder that others can write to, the log could be a link to any file of ours.
    check_private_folder(home, is_store_entry)?;
    let current = current_file(home);
    // Whoever could write to the folder before may have left a link to any file of ours, or a file of theirs to read along.
    check_entry(&log_folder(home), ExpectedType::Folder)?;
    if check_entry(&current, ExpectedType::File)?.is_some() {
        // Opening a pipe would wait for somebody to read it.
        return Err(std::io::Error::other("it is not a regular file"));
    }
    let found = std::fs::metadata(&current);
    let written_on = found
        .and_then(|file| file.modified())
        .ok()
        .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok())
        .map(|time| time.as_millis() as i64 / DAY_MS);
    if written_on.is_some_and(|day| day < at.get() / DAY_MS) {
        rotate(home, &current, written_on.unwrap_or_default());
    }
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let opened = options.open(&current).or_else(|error| {
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        // Only below a store that is there.
        builder.create(log_folder(home)).map_err(|_| error)?;
        options.open(&current)
    });
    opened?.write_all(&lines)
}

fn lines_of(events: &[LogEvent]) -> std::io::Result<Vec<u8>> {
    let redactor = Redactor::new(random_key());
    let mut lines = Vec::new();
    for event in events {
        let line = write_line(event, &redactor)?;
        if line.len() <= MAX_LINE_BYTES {
            lines.extend_from_slice(&line);
        }
    }
    Ok(lines)
}

fn log_folder(home: &Path) -> PathBuf {
    home.join("logs")
}

/// The file of today.
pub(super) fn current_file(home: &Path) -> PathBuf {
    log_folder(home).join("events.jsonl")
}

/// The file of a day that is over.
pub(super) fn file_of_day(home: &Path, day: &str) -> PathBuf {
    log_folder(home).join(format!("events-{day}.jsonl"))
}

/// All files, the oldest first.
pub(super) fn all_files(home: &Path) -> Vec<PathBuf> {
    let days = days(home).into_iter();
    let files = days.map(|day| file_of_day(home, &day));
    files.chain([current_file(home)]).collect()
}

/// Renames the current file to that of its day without replacing an existing file, then deletes the oldest files.
fn rotate(home: &Path, current: &Path, day: i64) {
    let Ok(at) = jiff::Timestamp::from_millisecond(day * DAY_MS) else {
        return;
    };
    let name = at.strftime("%Y-%m-%d").to_string();
    let link = |current: &Path, aside: &Path| std::fs::hard_link(current, aside);
    if put_aside(current, &file_of_day(home, &name), link).is_err() {
        return;
    }
    let days = days(home);
    for old in days.iter().take(days.len().saturating_sub(DAYS_KEPT)) {
        let _ = std::fs::remove_file(file_of_day(home, old));
    }
}

/// Renames a file unless there is one of the other name. `link` makes a second name of a file, if there is none.
pub(super) fn put_aside(
    current: &Path,
    aside: &Path,
    link: impl Fn(&Path, &Path) -> std::io::Result<()>,
) -> std::io::Result<()> {
    // A rename would replace what another process has put there a moment ago.
    match link(current, aside) {
        Ok(()) => std::fs::remove_file(current),
        // A process was killed before it removed the first name.
        Err(_) if is_same_file(current, aside) => std::fs::remove_file(current),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Err(error),
        // Not every file system has links: exFAT, some network mounts.
        Err(error) if aside.try_exists()? => Err(error),
        Err(_) => std::fs::rename(current, aside),
    }
}

#[cfg(unix)]
fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |path: &Path| std::fs::symlink_metadata(path).map(|file| (file.dev(), file.ino()));
    matches!((place(one), place(other)), (Ok(one), Ok(other)) if one == other)
}

#[cfg(not(unix))]
fn is_same_file(_one: &Path, _other: &Path) -> bool {
    false
}

/// The days whose files were put aside, the oldest first.
pub(super) fn days(home: &Path) -> Vec<String> {
    let names = std::fs::read_dir(log_folder(home))
        .into_iter()
        .flatten()
        .flatten();
    let mut days: Vec<String> = names
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some(
                name.strip_prefix("events-")?
                    .strip_suffix(".jsonl")?
                    .to_string(),
            )
        })
        .collect();
    days.sort();
    days
}

/// Reads whole lines of a file from an offset on; returns their events and the offset behind them. What is no event is passed over.
pub(super) fn read_lines(path: &Path, from: u64) -> std::io::Result<(Vec<LoggedEvent>, u64)> {
    let mut file = open_regular(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut reader = BufReader::new(file);
    let (mut events, mut offset, mut line) = (Vec::new(), from, Vec::new());
    while events.len() < LINES_AT_ONCE {
        line.clear();
        let read = reader.read_until(b'\n', &mut line)?;
        if line.last() != Some(&b'\n') {
            break;
        }
        offset += read as u64;
        events.extend(read_line(&line));
    }
    Ok((events, offset))
}

/// Reads the last bytes of a file, from the beginning of a line on.
pub(super) fn read_tail(path: &Path, most_bytes: u64) -> std::io::Result<Vec<u8>> {
    let mut file = open_regular(path)?;
    let from = file.metadata()?.len().saturating_sub(most_bytes);
    file.seek(SeekFrom::Start(from))?;
    let mut tail = Vec::new();
    file.take(most_bytes).read_to_end(&mut tail)?;
    if from > 0 {
        let line = tail.iter().position(|byte| *byte == b'\n');
        tail.drain(..line.map_or(tail.len(), |end| end + 1));
    }
    Ok(tail)
}

//! The event log: what the machinery did, a line of JSON each, in a file a day; whoever has time takes the lines over into the
//! database. Logging costs its caller one short write and never fails it.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use backstory_store::private::{ExpectedType, check_entry, check_private_folder};
use backstory_store::{LoggedEvent, LoggedRun, is_store_entry};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Memory;
use crate::error::Result;
use crate::trusted::{open_regular, read_whole};
use crate::whole::write_private;

/// How many days are kept.
const DAYS_KEPT: usize = 30;
const DAY_MS: i64 = 24 * 3600 * 1000;

/// How many lines are taken over in one transaction.
const TAKEN_AT_ONCE: usize = 4096;

/// A longer line is not ours.
const LONGEST_LINE: u64 = 64 << 10;

/// The setting that says how far the files have been taken over.
const CURSOR: &str = "event-log-cursor";

/// Something that was done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LogEvent {
    /// When, in unix milliseconds.
    #[serde(with = "time")]
    pub at: i64,
    /// What, as `hook.capture`: the part of the program, and what it did.
    pub name: String,
    /// For which agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// How long it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_us: Option<u64>,
    /// How many tokens it used or gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Everything else.
    #[serde(flatten)]
    pub detail: Map<String, Value>,
}

impl LogEvent {
    /// Something that was done at this time.
    pub fn new(name: &str, at: i64) -> Self {
        LogEvent {
            at,
            name: name.to_string(),
            ..LogEvent::default()
        }
    }

    /// Says more about it.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.detail.insert(name.to_string(), value.into());
        self
    }
}

impl From<LogEvent> for LoggedEvent {
    fn from(event: LogEvent) -> Self {
        LoggedEvent {
            at: event.at,
            name: event.name,
            agent: event.agent,
            duration_us: event.duration_us,
            tokens: event.tokens,
            detail: (!event.detail.is_empty()).then(|| Value::Object(event.detail).to_string()),
        }
    }
}

/// Times stand in the files as people read them.
mod time {
    use serde::{Deserialize, Deserializer, Serializer, de, ser};

    pub(super) fn serialize<S: Serializer>(at: &i64, serializer: S) -> Result<S::Ok, S::Error> {
        let time = jiff::Timestamp::from_millisecond(*at).map_err(ser::Error::custom)?;
        serializer.collect_str(&time)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
        let text = String::deserialize(from)?;
        let time: jiff::Timestamp = text.parse().map_err(de::Error::custom)?;
        Ok(time.as_millisecond())
    }
}

/// Adds a line to the log of a store. A store that is not there gets none, and nothing that goes wrong here matters to the caller.
pub fn log_event(home: &Path, event: &LogEvent) {
    let _ = append(home, event);
}

fn append(home: &Path, event: &LogEvent) -> std::io::Result<()> {
    // In a folder that others can write to, the log could be a link to any file of ours.
    check_private_folder(home, is_store_entry)?;
    let current = current(home);
    let mut line = serde_json::to_vec(event)?;
    line.push(b'\n');
    if line.len() as u64 > LONGEST_LINE {
        return Ok(());
    }
    // Whoever could write to the folder before may have left a link to any file of ours, or a file of theirs to read along.
    check_entry(&folder(home), ExpectedType::Folder)?;
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
    if written_on.is_some_and(|day| day < event.at / DAY_MS) {
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
        builder.create(folder(home)).map_err(|_| error)?;
        options.open(&current)
    });
    opened?.write_all(&line)
}

fn folder(home: &Path) -> PathBuf {
    home.join("logs")
}

fn current(home: &Path) -> PathBuf {
    folder(home).join("events.jsonl")
}

fn of_day(home: &Path, day: &str) -> PathBuf {
    folder(home).join(format!("events-{day}.jsonl"))
}

/// Puts the file of a day aside and removes the oldest. If two do so at once, one of them finds nothing to rename.
fn rotate(home: &Path, current: &Path, day: i64) {
    let Ok(at) = jiff::Timestamp::from_millisecond(day * DAY_MS) else {
        return;
    };
    let name = at.strftime("%Y-%m-%d").to_string();
    let aside = of_day(home, &name);
    if aside.exists() || std::fs::rename(current, &aside).is_err() {
        return;
    }
    let days = days(home);
    for old in days.iter().take(days.len().saturating_sub(DAYS_KEPT)) {
        let _ = std::fs::remove_file(of_day(home, old));
    }
}

/// The days whose files were put aside, the oldest first.
fn days(home: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder(home))
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

/// How far the files have been taken over: the file, known by its inode, and the bytes of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Cursor {
    inode: u64,
    offset: u64,
}

impl Memory {
    /// Takes what the files say over into the database.
    pub fn take_over_log(&mut self, now: i64) -> Result<usize> {
        let mut taken = 0;
        while let Some((events, cursor)) = self.untaken(self.cursor()?) {
            let json = serde_json::to_vec(&cursor).unwrap_or_default();
            let events: Vec<LoggedEvent> = events.into_iter().map(LoggedEvent::from).collect();
            self.store.log_events(&events, (CURSOR, &json))?;
            taken += events.len();
        }
        if taken > 0 {
            self.store.prune_log(now - DAYS_KEPT as i64 * DAY_MS)?;
        }
        Ok(taken)
    }

    /// Takes the lines out of all files that are about something, and returns the files that had some. Lines that come in at the
    /// same moment may be lost.
    pub(crate) fn forget_lines(
        &mut self,
        is_about: impl Fn(&[u8]) -> bool,
    ) -> Result<Vec<PathBuf>> {
        let mut rewritten = Vec::new();
        self.take_over_log(0)?;
        let files = days(&self.home)
            .into_iter()
            .map(|day| of_day(&self.home, &day));
        for path in files.chain([current(&self.home)]) {
            let Ok(bytes) = read_whole(&path) else {
                continue;
            };
            let lines = bytes.split_inclusive(|byte| *byte == b'\n');
            let kept: Vec<&[u8]> = lines.filter(|line| !is_about(line)).collect();
            let kept = kept.concat();
            if kept.len() < bytes.len() {
                write_private(&path, &kept)?;
                rewritten.push(path);
            }
        }
        // All that is left has been taken over, though the files are others now.
        let path = current(&self.home);
        let cursor = Cursor {
            inode: inode(&path).unwrap_or_default(),
            offset: std::fs::metadata(&path).map_or(0, |file| file.len()),
        };
        let json = serde_json::to_vec(&cursor).unwrap_or_default();
        self.store.keep(CURSOR, &json)?;
        Ok(rewritten)
    }

    /// When each thing was last done, what only the files know included.
    pub fn logged_runs(&self) -> Result<Vec<LoggedRun>> {
        let mut runs = self.store.logged_runs()?;
        let mut cursor = self.cursor()?;
        while let Some((events, behind)) = self.untaken(cursor) {
            cursor = behind;
            for event in events {
                let of = event.detail.get("event").and_then(Value::as_str);
                let known = runs.iter_mut().find(|run| {
                    (run.name == event.name && run.agent == event.agent)
                        && run.event.as_deref() == of
                });
                match known {
                    Some(run) => {
                        run.last_at = run.last_at.max(event.at);
                        run.count += 1;
                    }
                    None => runs.push(LoggedRun {
                        event: of.map(str::to_string),
                        name: event.name,
                        agent: event.agent,
                        last_at: event.at,
                        count: 1,
                    }),
                }
            }
        }
        Ok(runs)
    }

    /// How far the database has what the files say.
    fn cursor(&self) -> Result<Cursor> {
        let kept = self.store.kept(CURSOR)?;
        let cursor = kept.and_then(|json| serde_json::from_slice(&json).ok());
        Ok(cursor.unwrap_or_default())
    }

    /// The next lines behind a cursor, and the cursor behind them; `None` at the end.
    fn untaken(&self, mut cursor: Cursor) -> Option<(Vec<LogEvent>, Cursor)> {
        let days = days(&self.home).into_iter();
        let files = days.map(|day| of_day(&self.home, &day));
        let files: Vec<PathBuf> = files.chain([current(&self.home)]).collect();
        let known = files
            .iter()
            .position(|path| inode(path) == Some(cursor.inode));
        for path in files.iter().skip(known.unwrap_or(0)) {
            let Some(number) = inode(path) else { continue };
            if number != cursor.inode {
                cursor = Cursor {
                    inode: number,
                    offset: 0,
                };
            }
            let (events, offset) = lines(path, cursor.offset).unwrap_or_default();
            if offset > cursor.offset {
                cursor.offset = offset;
                return Some((events, cursor));
            }
        }
        None
    }
}

#[cfg(unix)]
fn inode(path: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|file| file.ino())
}

#[cfg(not(unix))]
fn inode(path: &Path) -> Option<u64> {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    path.exists().then(|| path.hash(&mut hasher))?;
    Some(hasher.finish() >> 1)
}

/// Whole lines of a file from an offset on, and the offset behind them. What is no event is passed over.
fn lines(path: &Path, from: u64) -> std::io::Result<(Vec<LogEvent>, u64)> {
    let mut file = open_regular(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut reader = BufReader::new(file);
    let (mut events, mut offset, mut line) = (Vec::new(), from, Vec::new());
    while events.len() < TAKEN_AT_ONCE {
        line.clear();
        let read = reader.read_until(b'\n', &mut line)?;
        if line.last() != Some(&b'\n') {
            break;
        }
        offset += read as u64;
        events.extend(serde_json::from_slice::<LogEvent>(&line));
    }
    Ok((events, offset))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

    use std::fs::File;
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::trial::{DAY, NOW, Trial};

    fn log(trial: &Trial, name: &str, at: i64) {
        log_event(
            &trial.store(),
            &LogEvent::new(name, at).with("event", "Stop"),
        );
        // As if it had been written when it says.
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(at as u64);
        let file = File::options().append(true).open(current(&trial.store()));
        file.unwrap().set_modified(time).unwrap();
    }

    /// When each thing was last done, in days before now.
    fn runs(trial: &Trial) -> Vec<(String, i64, u64)> {
        let runs = trial.memory.logged_runs().unwrap().into_iter();
        runs.map(|run| (run.name, (NOW - run.last_at) / DAY, run.count))
            .collect()
    }

    /// In a folder that others can write, the log could be a link of theirs to any file of ours.
    #[cfg(unix)]
    #[test]
    fn a_store_that_is_refused_gets_no_line() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (store, ours) = (folder.path().join("store"), folder.path().join("ours"));
        std::fs::create_dir_all(store.join("logs")).unwrap();
        std::fs::write(&ours, "ours").unwrap();
        symlink(&ours, current(&store)).unwrap();
        // It cannot be narrowed: it is no store.
        std::fs::write(store.join("letter.txt"), "").unwrap();
        let wide = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(&store, wide).unwrap();
        log_event(&store, &LogEvent::new("hook.capture", NOW));
        assert_eq!(std::fs::read_to_string(&ours).unwrap(), "ours");
        let private = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(&store, private).unwrap();
        log_event(&store, &LogEvent::new("hook.capture", NOW));
        assert!(std::fs::read_to_string(&ours).unwrap().len() > 4);
    }

    #[test]
    fn a_file_a_day_is_put_aside_and_thirty_are_kept() {
        let trial = Trial::new();
        for day in (0..40).rev() {
            log(&trial, "hook.capture", NOW - day * DAY);
        }
        let days = days(&trial.store());
        assert_eq!(days.len(), 30);
        assert_eq!(days.first().map(String::as_str), Some("2026-05-02"));
        let last = std::fs::read_to_string(current(&trial.store())).unwrap();
        assert_eq!(last.lines().count(), 1);
        assert!(
            last.starts_with(
                r#"{"at":"2026-06-01T00:00:00Z","name":"hook.capture","event":"Stop"}"#
            )
        );
    }

    #[test]
    fn lines_are_taken_over_once_whatever_is_put_aside_meanwhile() {
        let mut trial = Trial::new();
        log(&trial, "hook.capture", NOW - 2 * DAY);
        assert_eq!(runs(&trial), [("hook.capture".to_string(), 2, 1)]);
        assert_eq!(trial.memory.take_over_log(NOW).unwrap(), 1);
        log(&trial, "hook.capture", NOW - 2 * DAY);
        log(&trial, "search.query", NOW - DAY);
        log(&trial, "hook.capture", NOW);
        assert_eq!(trial.memory.take_over_log(NOW).unwrap(), 3);
        assert_eq!(trial.memory.take_over_log(NOW).unwrap(), 0);
        let expected = [
            ("hook.capture".to_string(), 0, 3),
            ("search.query".to_string(), 1, 1),
        ];
        assert_eq!(runs(&trial), expected);
    }

    #[test]
    fn the_last_run_is_known_however_many_lines_were_not_taken_over() {
        let trial = Trial::new();
        log(&trial, "hook.capture", NOW - DAY);
        let line = serde_json::to_string(&LogEvent::new("search.query", NOW)).unwrap() + "\n";
        log(&trial, "search.query", NOW);
        let file = File::options().append(true).open(current(&trial.store()));
        let lines = line.repeat(2 * TAKEN_AT_ONCE);
        file.unwrap().write_all(lines.as_bytes()).unwrap();
        log(&trial, "hook.capture", NOW);
        assert_eq!(runs(&trial)[0], ("hook.capture".to_string(), 0, 2));
    }

    #[test]
    fn what_is_no_event_is_passed_over_and_half_a_line_waits() {
        let mut trial = Trial::new();
        log(&trial, "hook.capture", NOW);
        let path = current(&trial.store());
        let append = |text: &str| {
            let file = File::options().append(true).open(&path);
            file.unwrap().write_all(text.as_bytes()).unwrap();
        };
        append("\0garbage\n{\"at\":3}\n{\"at\":\"2026-06-01T00:00:00Z\",");
        assert_eq!(trial.memory.take_over_log(NOW).unwrap(), 1);
        append("\"name\":\"late\"}\n");
        assert_eq!(trial.memory.take_over_log(NOW).unwrap(), 1);
    }

    #[test]
    fn what_is_forgotten_is_gone_and_nothing_else_is_told_twice() {
        let mut trial = Trial::new();
        for (name, day) in [
            ("old.kept", 1),
            ("old.gone", 1),
            ("new.kept", 0),
            ("new.gone", 0),
        ] {
            log(&trial, name, NOW - day * DAY);
        }
        let is_about = |line: &[u8]| memchr::memmem::find(line, b".gone").is_some();
        trial.memory.forget_lines(is_about).unwrap();
        assert_eq!(trial.memory.take_over_log(NOW).unwrap(), 0);
        log(&trial, "new.kept", NOW);
        assert_eq!(trial.memory.take_over_log(NOW).unwrap(), 1);
        let files = [
            of_day(&trial.store(), "2026-05-31"),
            current(&trial.store()),
        ];
        let lines = files.map(|path| std::fs::read_to_string(path).unwrap().lines().count());
        assert_eq!(lines, [1, 2]);
    }

    #[test]
    fn nothing_is_made_where_no_store_is() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("store");
        log_event(&home, &LogEvent::new("hook.capture", NOW));
        assert!(!home.exists());
    }
}

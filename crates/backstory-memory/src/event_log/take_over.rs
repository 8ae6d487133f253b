//! Taking the lines of the files over into the database.

use std::path::{Path, PathBuf};

use backstory_event::TimeMs;
use backstory_store::{LogCursor, LoggedEvent, LoggedRun};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::files::{all_files, current_file, read_lines};
use super::{DAY_MS, DAYS_KEPT};
use crate::Upkeep;
use crate::error::Result;
use crate::trusted::read_whole;
use crate::whole::write_private;

/// The setting that says how far the files have been taken over.
const CURSOR: &str = "event-log-cursor";

/// How far the files have been taken over: the file, known by its inode, and the bytes of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Cursor {
    inode: u64,
    offset: u64,
}

impl Upkeep<'_> {
    /// Takes what the files say over into the database; returns the number of events.
    pub fn take_over_log(&self, now: TimeMs) -> Result<usize> {
        let mut taken = 0;
        loop {
            let kept = self.memory.store.kept(CURSOR)?;
            let Some((events, cursor)) = self.untaken(parse_cursor(kept.as_deref())) else {
                break;
            };
            let moved = LogCursor {
                name: CURSOR,
                before: kept.as_deref(),
                after: &serde_json::to_vec(&cursor).unwrap_or_default(),
            };
            if self.memory.store.log_events(&events, &moved)? {
                taken += events.len();
            }
        }
        // Looking through all rows takes time, so once a day is enough.
        let oldest = now.minus_ms(DAYS_KEPT as i64 * DAY_MS);
        let first = self.memory.store.first_logged_at()?;
        if taken > 0 && first.is_some_and(|first| first < oldest.minus_ms(DAY_MS)) {
            self.memory.store.prune_log(oldest)?;
        }
        Ok(taken)
    }

    /// Takes the lines out of all files that are about something, and returns the files that had some. Lines that come in at the
    /// same moment may be lost.
    pub(crate) fn forget_lines(&self, is_about: impl Fn(&[u8]) -> bool) -> Result<Vec<PathBuf>> {
        let mut rewritten = Vec::new();
        self.take_over_log(TimeMs::ZERO)?;
        for path in all_files(&self.memory.home) {
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
        let path = current_file(&self.memory.home);
        let cursor = Cursor {
            inode: inode(&path).unwrap_or_default(),
            offset: std::fs::metadata(&path).map_or(0, |file| file.len()),
        };
        let json = serde_json::to_vec(&cursor).unwrap_or_default();
        self.memory.store.keep(CURSOR, &json)?;
        Ok(rewritten)
    }

    /// When each thing was last done, what only the files know included.
    pub fn logged_runs(&self) -> Result<Vec<LoggedRun>> {
        let mut runs = self.memory.store.logged_runs()?;
        let mut cursor = parse_cursor(self.memory.store.kept(CURSOR)?.as_deref());
        while let Some((events, behind)) = self.untaken(cursor) {
            cursor = behind;
            for logged in events {
                let event = event_of(&logged);
                let known = runs.iter_mut().find(|run| {
                    (run.event_type == logged.event_type && run.agent == logged.agent)
                        && run.event == event
                });
                match known {
                    Some(run) => {
                        run.last_at = run.last_at.max(logged.at);
                        run.count += 1;
                    }
                    None => runs.push(LoggedRun {
                        event,
                        event_type: logged.event_type,
                        agent: logged.agent,
                        last_at: logged.at,
                        count: 1,
                    }),
                }
            }
        }
        Ok(runs)
    }

    /// The next lines behind a cursor, and the cursor behind them; `None` at the end.
    fn untaken(&self, mut cursor: Cursor) -> Option<(Vec<LoggedEvent>, Cursor)> {
        let files = all_files(&self.memory.home);
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
            let (events, offset) = read_lines(path, cursor.offset).unwrap_or_default();
            if offset > cursor.offset {
                cursor.offset = offset;
                return Some((events, cursor));
            }
        }
        None
    }
}

fn parse_cursor(kept: Option<&[u8]>) -> Cursor {
    let cursor = kept.and_then(|json| serde_json::from_slice(json).ok());
    cursor.unwrap_or_default()
}

/// The event that a hook was called for.
fn event_of(logged: &LoggedEvent) -> Option<String> {
    let data: Value = serde_json::from_str(logged.data.as_deref()?).ok()?;
    data["event"].as_str().map(str::to_string)
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

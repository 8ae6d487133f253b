//! Records of the logs that a file holds, by their ids.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use backstory_memory::{LoggedResponse, WrittenRecord};
use memchr::memchr;

use super::limits::max_log_bytes;
use super::open::SessionFile;
use super::read::Session;
use crate::error::Result;
use crate::rows::LogFile;

/// Length of a line of which the id is not read.
const MAX_LINE_BYTES: usize = 64 << 20;

/// Ids of the records of logs. Not every record has a row: a thought that the provider withheld has no event.
#[derive(Debug, Default)]
pub(super) struct LoggedRecords {
    ids: HashSet<String>,
}

impl LoggedRecords {
    /// Returns whether a log has the record with this id.
    pub(super) fn contains(&self, id: &str) -> bool {
        self.ids.contains(id)
    }

    /// Adds the records of logs that are in memory.
    pub(super) fn add_logs(&mut self, logs: &[LogFile]) {
        for log in logs.iter().filter(|log| log.agent == WrittenRecord::AGENT) {
            log.bytes
                .split(|byte| *byte == b'\n')
                .for_each(|line| self.add_line(line));
        }
    }

    fn add_line(&mut self, line: &[u8]) {
        self.ids.extend(WrittenRecord::id_of_line(line));
    }
}

/// Calls a function with every line of a log that is written to it.
struct LogLines<F> {
    each_line: F,
    /// Beginning of a line whose end was not written yet.
    line: Vec<u8>,
}

impl<F: FnMut(&[u8])> LogLines<F> {
    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        (self.each_line)(&line);
    }
}

impl<F: FnMut(&[u8])> Write for LogLines<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while let Some(end) = memchr(b'\n', rest) {
            if self.line.is_empty() {
                (self.each_line)(&rest[..end]);
            } else {
                self.line.extend_from_slice(&rest[..end]);
                self.end_line();
            }
            rest = &rest[end + 1..];
        }
        if self.line.len() + rest.len() <= MAX_LINE_BYTES {
            self.line.extend_from_slice(rest);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Session<'_> {
    /// Calls a function with every line of the session's logs, as far as `bytes_left` allows. Damaged logs end early: whoever reads a log
    /// reports the damage.
    fn visit_log_lines(&self, bytes_left: &mut u64, mut each_line: impl FnMut(&[u8])) {
        for log in self.logs().unwrap_or_default() {
            if log.agent != WrittenRecord::AGENT || log.length > *bytes_left {
                continue;
            }
            *bytes_left -= log.length;
            let mut lines = LogLines {
                each_line: &mut each_line,
                line: Vec::new(),
            };
            let _ = self.unpack_log(&log, &mut lines);
            lines.end_line();
        }
    }

    /// Returns the responses that records of the session's logs belong to, by the ids of the records.
    pub(crate) fn logged_responses(&self) -> HashMap<String, LoggedResponse> {
        let mut responses = HashMap::new();
        let mut bytes_left = max_log_bytes(self.file().file_bytes());
        self.visit_log_lines(&mut bytes_left, |line| {
            responses.extend(WrittenRecord::response_of_line(line));
        });
        responses
    }
}

impl SessionFile {
    /// Returns the records of all logs in the file, read when they are asked for first. Those of a damaged log are left out: whoever reads
    /// the log reports the damage.
    pub(super) fn logged_records(&self) -> Result<&LoggedRecords> {
        if let Some(records) = self.logged.get() {
            return Ok(records);
        }
        let mut records = LoggedRecords::default();
        let mut bytes_left = max_log_bytes(self.file_bytes());
        for session in self.distinct_sessions()? {
            session.visit_log_lines(&mut bytes_left, |line| records.add_line(line));
        }
        Ok(self.logged.get_or_init(|| records))
    }
}

//! Log files in a session: zstd frames that use the content of rows as prefix, so that what the columns hold takes no space again.

use std::io::{self, Write};
use std::ops::Range;

use hdf5_pure::AttrValue;
use memchr::memrchr;
use zstd::zstd_safe::{CCtx, CParameter, DCtx, get_error_name};

use super::columns::Columns;
use super::limits::max_content_bytes;
use super::read::Session;
use super::schema::{CONTENT_FIELDS, FRAME_FIELDS, LOG, MESSAGES};
use crate::error::{Error, Result};
use crate::rows::{LogFile, Message};

/// Bytes of log in a frame; the frame ends at the last newline before.
const FRAME_BYTES: usize = 4 << 20;
/// Bytes that are searched beyond for a newline when a line is longer than a frame.
const MAX_FRAME_BYTES: usize = 2 * FRAME_BYTES;
/// Bytes of row contents that a frame may refer to. Rows hold text and JSON, together about twice the log.
const MAX_PREFIX_BYTES: u64 = 32 << 20;
/// Window that reaches the whole prefix.
const MAX_WINDOW_LOG: u32 = 26;
const LEVEL: i32 = 3;
/// Largest frame and prefix that are read.
const MAX_READ_BYTES: u64 = 64 << 20;

/// Log file stored in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogInfo {
    /// Path of the log.
    pub path: String,
    /// Name of the agent that wrote it.
    pub agent: String,
    /// Number of bytes of the log.
    pub length: u64,
    pub(super) name: String,
}

/// Frame to be written: a range of the log, and the rows whose contents are its prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FramePlan {
    pub(super) raw: Range<usize>,
    pub(super) rows: Range<usize>,
}

/// Divides a log into frames. `content_ends` has the offset after each row's content.
pub(super) fn plan_frames(log: &LogFile, content_ends: &[u64]) -> Vec<FramePlan> {
    let mut plans = Vec::new();
    let mut start = 0;
    let mut next_row = 0;
    while start < log.bytes.len() {
        let end = frame_end(&log.bytes, start);
        let first = next_row;
        while log.rows.get(next_row).is_some_and(|(offset, _)| *offset < end as u64) {
            next_row += 1;
        }
        plans.push(FramePlan { raw: start..end, rows: prefix_rows(&log.rows[first..next_row], content_ends) });
        start = end;
    }
    plans
}

fn frame_end(bytes: &[u8], start: usize) -> usize {
    let rest = &bytes[start..];
    if rest.len() <= FRAME_BYTES {
        return bytes.len();
    }
    if let Some(newline) = memrchr(b'\n', &rest[..FRAME_BYTES]) {
        return start + newline + 1;
    }
    let most = rest.len().min(MAX_FRAME_BYTES);
    memchr::memchr(b'\n', &rest[FRAME_BYTES..most]).map_or(start + most, |newline| start + FRAME_BYTES + newline + 1)
}

/// Rows from the first to the last that a frame has, as far as their contents are no more than a prefix may be.
fn prefix_rows(rows: &[(u64, u32)], content_ends: &[u64]) -> Range<usize> {
    let known = rows.iter().map(|(_, row)| *row as usize).filter(|row| *row < content_ends.len());
    let Some((first, last)) = known.fold(None, |range: Option<(usize, usize)>, row| Some(range.map_or((row, row), |(first, last)| (first.min(row), last.max(row))))) else {
        return 0..0;
    };
    let start = content_start(content_ends, first);
    let count = content_ends[first..=last].partition_point(|end| end - start <= MAX_PREFIX_BYTES);
    first..first + count
}

fn content_start(content_ends: &[u64], row: usize) -> u64 {
    row.checked_sub(1).and_then(|before| content_ends.get(before)).copied().unwrap_or(0)
}

/// Returns the frame and the range of `content_bytes` that it refers to.
pub(super) fn pack_frame(log: &LogFile, plan: &FramePlan, messages: &[Message], content_ends: &[u64]) -> io::Result<(Vec<u8>, Range<u64>)> {
    let raw = &log.bytes[plan.raw.clone()];
    let mut prefix = Vec::new();
    for message in &messages[plan.rows.clone()] {
        prefix.extend_from_slice(message.text.as_bytes());
        prefix.extend_from_slice(message.json.as_bytes());
    }
    let start = content_start(content_ends, plan.rows.start);
    let range = if prefix.is_empty() { 0..0 } else { start..start + prefix.len() as u64 };
    let fail = |code| io::Error::other(get_error_name(code));
    let window = (prefix.len() + raw.len()).max(1024).next_power_of_two().ilog2().min(MAX_WINDOW_LOG);
    let mut context = CCtx::create();
    let parameters = [
        CParameter::CompressionLevel(LEVEL),
        CParameter::WindowLog(window),
        CParameter::EnableLongDistanceMatching(true),
        CParameter::ContentSizeFlag(true),
        CParameter::ChecksumFlag(true),
    ];
    for parameter in parameters {
        context.set_parameter(parameter).map_err(fail)?;
    }
    context.ref_prefix(&prefix).map_err(fail)?;
    let mut packed = Vec::with_capacity(zstd::zstd_safe::compress_bound(raw.len()));
    context.compress2(&mut packed, raw).map_err(fail)?;
    Ok((packed, range))
}

/// Frame of a stored log.
struct StoredFrame {
    raw_length: u64,
    packed: Range<u64>,
    prefix: Range<u64>,
}

impl<'a> Session<'a> {
    /// Number of log files.
    pub(super) fn log_count(&self) -> Result<u64> {
        Ok(self.logs()?.len() as u64)
    }

    /// Returns the log files that the session holds. [`Session::unpack_log`] gives their bytes.
    pub fn logs(&self) -> Result<Vec<LogInfo>> {
        match Columns::open(self, LOG)? {
            Some(columns) => self.log_infos(&columns),
            None => Ok(Vec::new()),
        }
    }

    fn log_infos(&self, columns: &Columns<'a>) -> Result<Vec<LogInfo>> {
        let mut logs = Vec::new();
        for name in (0_u32..).map(|number| number.to_string()) {
            let attributes = columns.dataset_attributes(&name)?;
            let Some(length) = attributes.get("length").and_then(AttrValue::as_u64) else {
                break;
            };
            let text = |name: &str| attributes.get(name).and_then(AttrValue::as_str).unwrap_or_default().to_owned();
            logs.push(LogInfo { path: text("path"), agent: text("agent"), length, name });
        }
        Ok(logs)
    }

    /// Writes the bytes of a log file to `out`, a frame at a time, and returns their number.
    pub fn unpack_log(&self, log: &LogInfo, out: &mut dyn Write) -> Result<u64> {
        let Some(columns) = Columns::open(self, LOG)? else {
            return Err(Error::NoSession { path: self.file().path().to_owned(), id: self.id().to_owned() });
        };
        let messages = Columns::open(self, MESSAGES)?;
        let frames = self.log_frames(&columns, messages.as_ref(), log)?;
        for frame in &frames {
            let raw = self.unpack_frame(&columns, messages.as_ref(), log, frame)?;
            out.write_all(&raw).map_err(Error::io(self.file().path()))?;
        }
        Ok(log.length)
    }

    /// Reads the index of a log and checks all its sizes.
    fn log_frames(&self, columns: &Columns<'a>, messages: Option<&Columns<'a>>, log: &LogInfo) -> Result<Vec<StoredFrame>> {
        let index = format!("{}_index", log.name);
        let damaged = |what: &str| self.file().damaged(&format!("{}/{}", columns.place(), log.name), what.to_owned());
        let packed_bytes = columns.dataset_rows(&log.name)?;
        let content_bytes = messages.map_or(Ok(0), |messages| messages.dataset_rows("content_bytes"))?;
        let count = columns.dataset_rows(&index)?;
        // A frame has at least 9 bytes.
        if count > packed_bytes / 9 {
            return Err(damaged("it has more frames than bytes"));
        }
        let mut frames = Vec::new();
        let (mut raw_total, mut packed_end, mut prefix_total) = (0_u64, 0_u64, 0_u64);
        for values in columns.fields(&index, 0..count, FRAME_FIELDS)? {
            let [raw_length, packed_length, prefix_start, prefix_length] = values.map(|value| value as u64);
            let packed = packed_end..packed_end.saturating_add(packed_length);
            let prefix = prefix_start..prefix_start.saturating_add(prefix_length);
            raw_total = raw_total.saturating_add(raw_length);
            prefix_total = prefix_total.saturating_add(prefix_length);
            if raw_length > MAX_READ_BYTES || prefix_length > MAX_READ_BYTES || packed.end > packed_bytes || prefix.end > content_bytes {
                return Err(damaged("a frame is larger than it can be"));
            }
            packed_end = packed.end;
            frames.push(StoredFrame { raw_length, packed, prefix });
        }
        if raw_total != log.length || raw_total > max_content_bytes(self.file().file_bytes()) {
            return Err(damaged("its frames do not have the length that it tells"));
        }
        if prefix_total > content_bytes.saturating_mul(4).saturating_add(MAX_READ_BYTES) {
            return Err(damaged("its frames refer to the same rows too often"));
        }
        Ok(frames)
    }

    fn unpack_frame(&self, columns: &Columns<'a>, messages: Option<&Columns<'a>>, log: &LogInfo, frame: &StoredFrame) -> Result<Vec<u8>> {
        let packed = columns.raw_rows(&log.name, frame.packed.clone())?;
        let prefix = match messages {
            Some(messages) if !frame.prefix.is_empty() => messages.raw_rows("content_bytes", frame.prefix.clone())?,
            _ => Vec::new(),
        };
        let mut raw = Vec::with_capacity(frame.raw_length as usize);
        let mut context = DCtx::create();
        let unpacked = context.ref_prefix(&prefix).and_then(|_| context.decompress(&mut raw, &packed));
        let place = || format!("{}/{}", columns.place(), log.name);
        match unpacked {
            Ok(length) if length as u64 == frame.raw_length => Ok(raw),
            Ok(_) => Err(self.file().damaged(&place(), "a frame does not have the length that it tells".into())),
            Err(code) => Err(self.file().damaged(&place(), format!("a frame cannot be unpacked: {}", get_error_name(code)))),
        }
    }

    /// Reads all log files. Rows are told by the frame that refers to them.
    pub(super) fn read_logs(&self) -> Result<Vec<LogFile>> {
        let Some(columns) = Columns::open(self, LOG)? else {
            return Ok(Vec::new());
        };
        let messages = Columns::open(self, MESSAGES)?;
        let mut starts = Vec::new();
        let mut logs = Vec::new();
        for log in self.log_infos(&columns)? {
            if let Some(messages) = messages.as_ref().filter(|_| starts.is_empty()) {
                let rows = messages.message_rows()?;
                starts = messages.fields("content_index", 0..rows, CONTENT_FIELDS)?.into_iter().map(|range| range[0] as u64).collect();
            }
            let mut file = LogFile { path: log.path.clone(), agent: log.agent.clone(), ..LogFile::default() };
            for frame in self.log_frames(&columns, messages.as_ref(), &log)? {
                let offset = file.bytes.len() as u64;
                let first = starts.partition_point(|start| *start < frame.prefix.start);
                let rows = starts[first..].iter().take_while(|start| frame.prefix.contains(start)).count();
                file.rows.extend((first..first + rows).map(|row| (offset, row as u32)));
                file.bytes.extend(self.unpack_frame(&columns, messages.as_ref(), &log, &frame)?);
            }
            logs.push(file);
        }
        Ok(logs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_end_at_newlines_and_know_their_rows() {
        let line = [vec![b'x'; 1 << 20], vec![b'\n']].concat();
        let log = LogFile { bytes: line.repeat(5), rows: (0..5).map(|row| (u64::from(row) * ((1 << 20) + 1), row)).collect(), ..LogFile::default() };
        let ends = [10, 20, 30, 40, 50];
        let plans = plan_frames(&log, &ends);
        let seen: Vec<_> = plans.iter().map(|plan| (plan.raw.len() / line.len(), plan.rows.clone())).collect();
        assert_eq!(seen, [(3, 0..3), (2, 3..5)]);
    }

    #[test]
    fn a_line_longer_than_a_frame_is_cut() {
        let log = LogFile { bytes: vec![b'x'; 20 << 20], rows: vec![(0, 7)], ..LogFile::default() };
        let lengths: Vec<_> = plan_frames(&log, &[5]).iter().map(|plan| plan.raw.len() >> 20).collect();
        assert_eq!(lengths, [8, 8, 4], "and a row that does not exist is no prefix");
    }
}

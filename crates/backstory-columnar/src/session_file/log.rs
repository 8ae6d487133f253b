//! Log files in a session: zstd frames that use the content of rows as prefix, so that what the columns hold takes no space again.

use std::io::Write;
use std::ops::Range;

use hdf5_pure::AttrValue;
use zstd::zstd_safe::{DCtx, get_error_name};

use super::attributes::text_attribute;
use super::columns::Columns;
use super::limits::max_log_bytes;
use super::read::Session;
use super::schema::{CONTENT_FIELDS, FRAME_FIELDS, MESSAGES};
use crate::error::{Error, Result};
use crate::rows::LogFile;

/// Largest frame and prefix that are read.
const MAX_READ_BYTES: u64 = 64 << 20;
/// Rows of frames that any session may have, besides four for each of its rows. Of frames with more, the first and the last row are known.
const EXTRA_FRAME_ROWS: usize = 1 << 16;

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
        match self.log_columns()? {
            Some(columns) => self.log_infos(columns),
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
            logs.push(LogInfo {
                path: text_attribute(&attributes, "path"),
                agent: text_attribute(&attributes, "agent"),
                length,
                name,
            });
        }
        Ok(logs)
    }

    /// Writes the bytes of a log file to `out`, a frame at a time, and returns their number.
    pub fn unpack_log(&self, log: &LogInfo, out: &mut dyn Write) -> Result<u64> {
        let Some(columns) = self.log_columns()? else {
            return Err(Error::NoSession {
                path: self.file().path().to_owned(),
                id: self.id().to_owned(),
            });
        };
        let messages = Columns::open(self, MESSAGES)?;
        let frames = self.log_frames(columns, messages.as_ref(), log)?;
        for frame in &frames {
            let raw = self.unpack_frame(columns, messages.as_ref(), log, frame)?;
            out.write_all(&raw).map_err(Error::io(self.file().path()))?;
        }
        Ok(log.length)
    }

    /// Reads the index of a log and checks all its sizes.
    fn log_frames(
        &self,
        columns: &Columns<'a>,
        messages: Option<&Columns<'a>>,
        log: &LogInfo,
    ) -> Result<Vec<StoredFrame>> {
        let index = format!("{}_index", log.name);
        let damaged = |what: &str| {
            self.file().damaged_error(
                &format!("{}/{}", columns.place(), log.name),
                what.to_owned(),
            )
        };
        let packed_bytes = columns.dataset_rows(&log.name)?;
        let content_bytes =
            messages.map_or(Ok(0), |messages| messages.dataset_rows("content_bytes"))?;
        let count = columns.dataset_rows(&index)?;
        // A frame has at least 9 bytes.
        if count > packed_bytes / 9 {
            return Err(damaged("it has more frames than bytes"));
        }
        let mut frames = Vec::new();
        let (mut raw_total, mut packed_end, mut prefix_total) = (0_u64, 0_u64, 0_u64);
        for values in columns.read_fields(&index, 0..count, FRAME_FIELDS)? {
            let [raw_length, packed_length, prefix_start, prefix_length] =
                values.map(|value| value as u64);
            let packed = packed_end..packed_end.saturating_add(packed_length);
            let prefix = prefix_start..prefix_start.saturating_add(prefix_length);
            raw_total = raw_total.saturating_add(raw_length);
            prefix_total = prefix_total.saturating_add(prefix_length);
            if raw_length > MAX_READ_BYTES
                || prefix_length > MAX_READ_BYTES
                || packed.end > packed_bytes
                || prefix.end > content_bytes
            {
                return Err(damaged("a frame is larger than it can be"));
            }
            packed_end = packed.end;
            frames.push(StoredFrame {
                raw_length,
                packed,
                prefix,
            });
        }
        if raw_total != log.length {
            return Err(damaged(
                "the length of its frames is not that of its attribute",
            ));
        }
        if raw_total > max_log_bytes(self.file().file_bytes()) {
            return Err(damaged("it is too long for a file of this size"));
        }
        if prefix_total
            > content_bytes
                .saturating_mul(4)
                .saturating_add(MAX_READ_BYTES)
        {
            return Err(damaged("its frames refer to the same rows too often"));
        }
        Ok(frames)
    }

    fn unpack_frame(
        &self,
        columns: &Columns<'a>,
        messages: Option<&Columns<'a>>,
        log: &LogInfo,
        frame: &StoredFrame,
    ) -> Result<Vec<u8>> {
        let packed = columns.read_raw_rows(&log.name, frame.packed.clone())?;
        let prefix = match messages {
            Some(messages) if !frame.prefix.is_empty() => {
                messages.read_raw_rows("content_bytes", frame.prefix.clone())?
            }
            _ => Vec::new(),
        };
        let mut raw = Vec::with_capacity(frame.raw_length as usize);
        let mut context = DCtx::create();
        let unpacked = context
            .ref_prefix(&prefix)
            .and_then(|_| context.decompress(&mut raw, &packed));
        let place = || format!("{}/{}", columns.place(), log.name);
        match unpacked {
            Ok(length) if length as u64 == frame.raw_length => Ok(raw),
            Ok(_) => Err(self.file().damaged_error(
                &place(),
                "the length of a frame is not that of the index".into(),
            )),
            Err(code) => Err(self.file().damaged_error(
                &place(),
                format!("a frame cannot be unpacked: {}", get_error_name(code)),
            )),
        }
    }

    /// Reads all log files. Rows are known by the frame that refers to them.
    pub(super) fn read_logs(&self) -> Result<Vec<LogFile>> {
        let Some(columns) = self.log_columns()? else {
            return Ok(Vec::new());
        };
        let messages = Columns::open(self, MESSAGES)?;
        let mut starts = Vec::new();
        // Frames are as many as a file claims, and all can refer to the same rows.
        let mut rows_left = 0;
        let mut logs = Vec::new();
        let infos = self.log_infos(columns)?;
        // A frame of equal bytes expands 30,000 times, and all logs are in memory together.
        let total = infos
            .iter()
            .fold(0_u64, |total, log| total.saturating_add(log.length));
        if total > max_log_bytes(self.file().file_bytes()) {
            let what = "they are too long for a file of this size".to_owned();
            return Err(self.file().damaged_error(columns.place(), what));
        }
        for log in infos {
            if let Some(messages) = messages.as_ref().filter(|_| starts.is_empty()) {
                let rows = messages.message_rows()?;
                starts = messages
                    .read_fields("content_index", 0..rows, CONTENT_FIELDS)?
                    .into_iter()
                    .map(|range| range[0] as u64)
                    .collect();
                rows_left = starts.len() * 4 + EXTRA_FRAME_ROWS;
            }
            let mut file = LogFile {
                path: log.path.clone(),
                agent: log.agent.clone(),
                ..LogFile::default()
            };
            for frame in self.log_frames(columns, messages.as_ref(), &log)? {
                let offset = file.bytes.len() as u64;
                let first = starts.partition_point(|start| *start < frame.prefix.start);
                let end = starts.partition_point(|start| *start < frame.prefix.end);
                // Rows are what a frame is packed with, and those between need not be known for that.
                let count = end.saturating_sub(first);
                let step = match count <= rows_left {
                    true => 1,
                    false => count - 1,
                };
                let rows = (first..end).step_by(step.max(1)).take(rows_left);
                let known = file.rows.len();
                file.rows.extend(rows.map(|row| (offset, row as u32)));
                rows_left -= file.rows.len() - known;
                file.bytes
                    .extend(self.unpack_frame(columns, messages.as_ref(), &log, &frame)?);
            }
            logs.push(file);
        }
        Ok(logs)
    }
}

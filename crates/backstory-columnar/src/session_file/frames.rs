//! Dividing a log into frames, and packing them.

use std::io;
use std::ops::Range;

use memchr::{memchr, memrchr};
use zstd::zstd_safe::{CCtx, CParameter, compress_bound, get_error_name};

use crate::rows::{LogFile, Message};

/// Bytes of log in a frame; the frame ends at the last newline before.
const FRAME_BYTES: usize = 4 << 20;
/// Bytes that are searched beyond for a newline when a line is longer than a frame.
const MAX_FRAME_BYTES: usize = 2 * FRAME_BYTES;
/// Bytes of row contents that a frame may refer to. Rows hold text and JSON, together about twice the log.
const MAX_PREFIX_BYTES: u64 = 32 << 20;
/// Window that reaches the whole prefix.
const MAX_WINDOW_LOG: u32 = 26;
/// Level 6 leaves a twelfth less, and takes a tenth more time for the whole file.
const ZSTD_LEVEL: i32 = 3;
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
        while log
            .rows
            .get(next_row)
            .is_some_and(|(offset, _)| *offset < end as u64)
        {
            next_row += 1;
        }
        plans.push(FramePlan {
            raw: start..end,
            rows: prefix_rows(&log.rows[first..next_row], content_ends),
        });
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
    memchr(b'\n', &rest[FRAME_BYTES..most])
        .map_or(start + most, |newline| start + FRAME_BYTES + newline + 1)
}

/// Rows from the first to the last that a frame has, as far as their contents are no more than a prefix may be.
fn prefix_rows(rows: &[(u64, u32)], content_ends: &[u64]) -> Range<usize> {
    let known = rows
        .iter()
        .map(|(_, row)| *row as usize)
        .filter(|row| *row < content_ends.len());
    let Some((first, last)) = known.fold(None, |range: Option<(usize, usize)>, row| {
        Some(range.map_or((row, row), |(first, last)| (first.min(row), last.max(row))))
    }) else {
        return 0..0;
    };
    let start = content_start(content_ends, first);
    let count = content_ends[first..=last].partition_point(|end| end - start <= MAX_PREFIX_BYTES);
    first..first + count
}

fn content_start(content_ends: &[u64], row: usize) -> u64 {
    row.checked_sub(1)
        .and_then(|before| content_ends.get(before))
        .copied()
        .unwrap_or(0)
}

/// Returns the frame and the range of `content_bytes` that it refers to.
pub(super) fn pack_frame(
    log: &LogFile,
    plan: &FramePlan,
    messages: &[Message],
    content_ends: &[u64],
) -> io::Result<(Vec<u8>, Range<u64>)> {
    let raw = &log.bytes[plan.raw.clone()];
    let mut prefix = Vec::new();
    for message in &messages[plan.rows.clone()] {
        prefix.extend_from_slice(message.text.as_bytes());
        prefix.extend_from_slice(message.json.as_bytes());
    }
    let start = content_start(content_ends, plan.rows.start);
    let range = if prefix.is_empty() {
        0..0
    } else {
        start..start + prefix.len() as u64
    };
    let fail = |code| io::Error::other(get_error_name(code));
    let window = (prefix.len() + raw.len())
        .max(1024)
        .next_power_of_two()
        .ilog2()
        .min(MAX_WINDOW_LOG);
    let mut context = CCtx::create();
    let parameters = [
        CParameter::CompressionLevel(ZSTD_LEVEL),
        CParameter::WindowLog(window),
        CParameter::EnableLongDistanceMatching(true),
        CParameter::ContentSizeFlag(true),
        CParameter::ChecksumFlag(true),
    ];
    for parameter in parameters {
        context.set_parameter(parameter).map_err(fail)?;
    }
    context.ref_prefix(&prefix).map_err(fail)?;
    let mut packed = Vec::with_capacity(compress_bound(raw.len()));
    context.compress2(&mut packed, raw).map_err(fail)?;
    Ok((packed, range))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_end_at_newlines_and_know_their_rows() {
        let line = [vec![b'x'; 1 << 20], vec![b'\n']].concat();
        let log = LogFile {
            bytes: line.repeat(5),
            rows: (0..5)
                .map(|row| (u64::from(row) * ((1 << 20) + 1), row))
                .collect(),
            ..LogFile::default()
        };
        let ends = [10, 20, 30, 40, 50];
        let plans = plan_frames(&log, &ends);
        let seen: Vec<_> = plans
            .iter()
            .map(|plan| (plan.raw.len() / line.len(), plan.rows.clone()))
            .collect();
        assert_eq!(seen, [(3, 0..3), (2, 3..5)]);
    }

    #[test]
    fn a_line_longer_than_a_frame_is_cut() {
        let log = LogFile {
            bytes: vec![b'x'; 20 << 20],
            rows: vec![(0, 7)],
            ..LogFile::default()
        };
        let lengths: Vec<_> = plan_frames(&log, &[5])
            .iter()
            .map(|plan| plan.raw.len() >> 20)
            .collect();
        assert_eq!(
            lengths,
            [8, 8, 4],
            "and a row that does not exist is no prefix"
        );
    }
}

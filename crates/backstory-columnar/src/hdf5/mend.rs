//! Rewrites object headers of libhdf5 so that `hdf5-pure` 0.47 can parse them.
//!
//! libhdf5 2.0 writes layout messages of version 5, which differs from version 4 only in how large chunks may be, and all versions store
//! sizes such as 65,536 in three bytes, where `hdf5-pure` knows one, two, four and eight.

use super::checksum::lookup3;
use super::cursor::little_endian;
use super::header::{CONTINUATION, LAYOUT};

const NIL: u8 = 0;
const CHUNKED: u8 = 2;
const CONTINUATION_BYTES: usize = 16;

/// Result of rewriting a block of an object header.
pub(super) struct MendedBlock {
    /// The block, of the same length.
    pub(super) bytes: Vec<u8>,
    /// Continuation block that messages were moved to because they no longer fit.
    pub(super) moved: Option<Vec<u8>>,
    /// Addresses of further blocks of the same header.
    pub(super) continuations: Vec<u64>,
    /// Length of the creation order that each message has.
    pub(super) order_bytes: usize,
}

/// Returns the length of a whole object header of version 2 that begins with `bytes`, with that of its prefix.
pub(super) fn header_lengths(bytes: &[u8]) -> Option<(usize, usize)> {
    if !bytes.starts_with(b"OHDR\x02") {
        return None;
    }
    let flags = *bytes.get(5)?;
    let mut prefix = 6;
    if flags & 0x20 != 0 {
        prefix += 16;
    }
    if flags & 0x10 != 0 {
        prefix += 4;
    }
    let width = 1 << (flags & 3);
    let size = little_endian(bytes.get(prefix..prefix + width)?);
    prefix += width;
    let total = usize::try_from(size)
        .ok()?
        .checked_add(prefix)?
        .checked_add(4)?;
    Some((total, prefix))
}

/// Rewrites a whole object header. `moved_to` is the address that moved messages would get.
pub(super) fn mend_header(bytes: &[u8], moved_to: u64) -> Option<MendedBlock> {
    let (total, prefix) = header_lengths(bytes)?;
    if total != bytes.len() {
        return None;
    }
    let order_bytes = if bytes[5] & 4 != 0 { 2 } else { 0 };
    mend_block(bytes, prefix, order_bytes, moved_to)
}

/// Rewrites a continuation block of a header whose messages have a creation order of `order_bytes`.
pub(super) fn mend_continuation(
    bytes: &[u8],
    order_bytes: usize,
    moved_to: u64,
) -> Option<MendedBlock> {
    if bytes.starts_with(b"OCHK") {
        mend_block(bytes, 4, order_bytes, moved_to)
    } else {
        None
    }
}

/// Returns `None` for a block that is damaged: the reader reports what is wrong with it.
fn mend_block(
    bytes: &[u8],
    prefix: usize,
    order_bytes: usize,
    moved_to: u64,
) -> Option<MendedBlock> {
    let end = bytes.len().checked_sub(4)?;
    let message_header = 4 + order_bytes;
    let mut messages = Vec::new();
    let mut continuations = Vec::new();
    let mut changed = false;
    let mut at = prefix;
    while at + message_header <= end {
        let kind = bytes[at];
        let length = usize::from(bytes[at + 1]) | usize::from(bytes[at + 2]) << 8;
        let body_start = at + message_header;
        let body = bytes
            .get(body_start..body_start + length)
            .filter(|_| body_start + length <= end)?;
        at = body_start + length;
        if kind == NIL {
            continue;
        }
        if kind == CONTINUATION && length >= 8 {
            continuations.push(little_endian(&body[..8]));
        }
        let mended = if kind == LAYOUT {
            mend_layout(body)
        } else {
            None
        };
        changed |= mended.is_some();
        let body = mended.as_deref().unwrap_or(body);
        messages.push(kind);
        messages.extend_from_slice(&u16::try_from(body.len()).ok()?.to_le_bytes());
        messages.extend_from_slice(&bytes[body_start - message_header + 3..body_start]);
        messages.extend_from_slice(body);
    }
    if !changed {
        return Some(MendedBlock {
            bytes: bytes.to_vec(),
            moved: None,
            continuations,
            order_bytes,
        });
    }
    // Resealing must not hide damage. What is not changed, the reader checks.
    if lookup3(&bytes[..end]).to_le_bytes() != bytes[end..] {
        return None;
    }
    let room = end - prefix;
    let mut moved = None;
    if messages.len() > room {
        let mut block = b"OCHK".to_vec();
        block.append(&mut messages);
        let checksum = lookup3(&block);
        block.extend_from_slice(&checksum.to_le_bytes());
        if message_header + CONTINUATION_BYTES > room {
            return None;
        }
        messages.extend_from_slice(&[CONTINUATION, CONTINUATION_BYTES as u8, 0, 0]);
        messages.resize(message_header, 0);
        messages.extend_from_slice(&moved_to.to_le_bytes());
        messages.extend_from_slice(&(block.len() as u64).to_le_bytes());
        continuations.clear();
        moved = Some(block);
    }
    let mut mended = bytes[..prefix].to_vec();
    mended.append(&mut messages);
    let free = end - mended.len();
    if free >= message_header {
        mended.extend_from_slice(&[NIL]);
        mended.extend_from_slice(&u16::try_from(free - message_header).ok()?.to_le_bytes());
    }
    mended.resize(end, 0);
    let checksum = lookup3(&mended);
    mended.extend_from_slice(&checksum.to_le_bytes());
    Some(MendedBlock {
        bytes: mended,
        moved,
        continuations,
        order_bytes,
    })
}

/// Returns the layout message as `hdf5-pure` knows it, or `None` when it does already.
fn mend_layout(body: &[u8]) -> Option<Vec<u8>> {
    let version = *body.first()?;
    if !(4..=5).contains(&version) {
        return None;
    }
    let chunked = body.get(1) == Some(&CHUNKED);
    let (ranks, width) = (usize::from(*body.get(3)?), usize::from(*body.get(4)?));
    let widened = match width {
        _ if !chunked => width,
        3 => 4,
        5..=7 => 8,
        _ => width,
    };
    if version == 4 && widened == width {
        return None;
    }
    let mut mended = body.to_vec();
    mended[0] = 4;
    if widened != width {
        let sizes = body.get(5..5 + ranks * width)?;
        mended.truncate(4);
        mended.push(widened as u8);
        for size in sizes.chunks_exact(width) {
            mended.extend_from_slice(size);
            mended.resize(mended.len() + widened - width, 0);
        }
        mended.extend_from_slice(&body[5 + ranks * width..]);
    }
    Some(mended)
}

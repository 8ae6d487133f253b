//! Whether SQLite's journal is whole.
//!
//! SQLite leaves out everything from the first frame on whose checksum does not fit: right for a write that was interrupted, but a
//! damaged frame takes all later transactions with it, and nobody is told.

use std::io::Read;
use std::path::Path;

/// Length of the header of a journal, and of that of a frame.
const HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;

/// The byte from which on a journal cannot be read although something was committed there; `None` when it is whole.
pub(crate) fn first_damaged_byte(journal: &Path) -> Option<u64> {
    let mut bytes = Vec::new();
    let mut file = crate::private::open_regular(journal).ok()?;
    file.read_to_end(&mut bytes).ok()?;
    if bytes.len() < HEADER_BYTES {
        return None;
    }
    let page = number(&bytes, 8)? as usize;
    let salts = bytes.get(16..24)?;
    let little = number(&bytes, 0)? & 1 == 0;
    let mut sums = checksum(little, (0, 0), bytes.get(..24)?);
    if sums != (number(&bytes, 24)?, number(&bytes, 28)?) {
        return Some(0);
    }
    let frames = bytes
        .get(HEADER_BYTES..)?
        .chunks_exact(FRAME_HEADER_BYTES.checked_add(page)?);
    let mut damaged = None;
    let mut start = HEADER_BYTES as u64;
    for frame in frames {
        let (header, data) = frame.split_at(FRAME_HEADER_BYTES);
        sums = checksum(little, sums, header.get(..8)?);
        sums = checksum(little, sums, data);
        // What lies behind the end has other salts: it is left from an earlier round.
        let is_current = header.get(8..16)? == salts;
        let is_sound = is_current && sums == (number(header, 16)?, number(header, 20)?);
        if damaged.is_none() && !is_sound {
            damaged = Some(start);
        }
        let is_commit = number(header, 4)? != 0;
        if damaged.is_some() && is_current && is_commit {
            return damaged;
        }
        start += frame.len() as u64;
    }
    None
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_be_bytes(bytes))
}

/// SQLite's checksum of a journal, which goes on from that of what is before.
fn checksum(little: bool, (mut first, mut second): (u32, u32), bytes: &[u8]) -> (u32, u32) {
    for pair in bytes.as_chunks::<8>().0 {
        let [a, b, c, d, e, f, g, h] = *pair;
        let read = |bytes| {
            if little {
                u32::from_le_bytes(bytes)
            } else {
                u32::from_be_bytes(bytes)
            }
        };
        first = first.wrapping_add(read([a, b, c, d])).wrapping_add(second);
        second = second.wrapping_add(read([e, f, g, h])).wrapping_add(first);
    }
    (first, second)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;
    use crate::open::{PAGE_BYTES, Store};

    #[test]
    fn every_flipped_bit_of_a_journal_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        store.checkpoint().unwrap();
        for number in 0..5 {
            store.keep(&format!("name {number}"), b"value").unwrap();
        }
        let journal = folder.path().join("backstory.db-wal");
        let whole = std::fs::read(&journal).unwrap();
        assert_eq!(first_damaged_byte(&journal), None);
        let copy = folder.path().join("copy");
        for at in (0..whole.len()).step_by(911) {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << (at % 8);
            std::fs::write(&copy, damaged).unwrap();
            assert!(first_damaged_byte(&copy).is_some(), "{at}");
        }
        // A frame that is gone altogether, with others behind it.
        let mut damaged = whole.clone();
        damaged[HEADER_BYTES..HEADER_BYTES + FRAME_HEADER_BYTES + PAGE_BYTES as usize].fill(0);
        std::fs::write(&copy, damaged).unwrap();
        assert_eq!(first_damaged_byte(&copy), Some(HEADER_BYTES as u64));
        // An interrupted write is no damage.
        for length in [0, 31, 4_000, whole.len() - 1] {
            std::fs::write(&copy, &whole[..length]).unwrap();
            assert_eq!(first_damaged_byte(&copy), None, "{length}");
        }
    }
}

//! What fuzzing and the tests of damaged files do with bytes.

use std::io;

use super::open::SessionFile;
use crate::error::Result;
use crate::hdf5::checksum::lookup3;

/// Gives every block of metadata its checksum again, so that damage in it is not found by that.
pub fn reseal_checksums(bytes: &mut [u8]) {
    for start in 0..bytes.len().saturating_sub(16) {
        let end = match &bytes[start..start + 4] {
            b"\x89HDF" => start + 44,
            b"OHDR" => {
                let width = 1 << (bytes[start + 5] & 3);
                let Some(size) = bytes.get(start + 6..start + 6 + width) else {
                    continue;
                };
                let size = size
                    .iter()
                    .rev()
                    .fold(0_usize, |size, byte| size << 8 | usize::from(*byte));
                (start + 6 + width).saturating_add(size)
            }
            b"EAHD" => start + 68,
            // As many elements as the header before tells the size of.
            b"EAIB" => start + 14 + 248 + 4 * usize::from(bytes[start.saturating_sub(66)]),
            _ => continue,
        };
        if end.saturating_add(4) <= bytes.len() {
            let checksum = lookup3(&bytes[start..end]);
            bytes[end..end + 4].copy_from_slice(&checksum.to_le_bytes());
        }
    }
}

/// Reads everything that a file of these bytes holds, as fuzzing does.
///
/// # Errors
/// If the bytes are not a whole session file.
pub fn check_bytes(bytes: &[u8]) -> Result<usize> {
    let file = SessionFile::from_bytes(bytes.to_vec())?;
    let mut rows = 0;
    let mut failed = None;
    for summary in file.sessions()? {
        rows += summary.messages as usize;
        let session = file.session(&summary.id)?;
        let read = session.tail(5).and_then(|_| session.read()).and_then(|_| {
            session
                .logs()?
                .iter()
                .try_for_each(|log| session.unpack_log(log, &mut io::sink()).map(|_| ()))
        });
        failed = failed.or(read.err());
    }
    failed.map_or(Ok(rows), Err)
}

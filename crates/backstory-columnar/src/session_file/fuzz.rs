//! Reading and resealing of damaged files, for fuzzing and tests.

use std::io;
use std::ops::Range;

use super::open::SessionFile;
use crate::error::Result;
use crate::hdf5::checksum::lookup3;
use crate::hdf5::cursor::little_endian;

/// Recomputes the checksum of every block of metadata, so that damage in it is not found by that.
pub fn reseal_checksums(bytes: &mut [u8]) {
    for start in 0..bytes.len().saturating_sub(16) {
        let end = match &bytes[start..start + 4] {
            b"\x89HDF" => start + 44,
            b"OHDR" => {
                let width = 1 << (bytes[start + 5] & 3);
                let Some(size) = bytes.get(start + 6..start + 6 + width) else {
                    continue;
                };
                let size = little_endian(size) as usize;
                (start + 6 + width).saturating_add(size)
            }
            b"EAHD" => start + 68,
            // The header before has the size of the elements.
            b"EAIB" => start + 14 + 248 + 4 * usize::from(bytes[start.saturating_sub(66)]),
            _ => continue,
        };
        if end.saturating_add(4) <= bytes.len() {
            let checksum = lookup3(&bytes[start..end]);
            bytes[end..end + 4].copy_from_slice(&checksum.to_le_bytes());
        }
    }
}

/// Signatures of blocks that end with a checksum.
const SEALED_SIGNATURES: [&[u8; 4]; 14] = [
    b"\x89HDF", b"OHDR", b"OCHK", b"FRHP", b"FHIB", b"FHDB", b"BTHD", b"BTIN", b"BTLF", b"EAHD",
    b"EAIB", b"EASB", b"EADB", b"FADB",
];
/// Longest block whose checksum is searched.
const MAX_SEALED_BYTES: usize = 8192;

/// Finds the blocks of an undamaged file that end with their checksum, without it, whichever program wrote them.
pub fn find_sealed_blocks(bytes: &[u8]) -> Vec<Range<usize>> {
    let starts = (0..bytes.len().saturating_sub(8)).filter(|start| {
        let signature = bytes[*start..].first_chunk::<4>();
        signature.is_some_and(|signature| SEALED_SIGNATURES.contains(&signature))
    });
    let block_at = |start: usize| {
        let last = bytes.len().saturating_sub(4).min(start + MAX_SEALED_BYTES);
        let end = (start + 6..=last).find(|end| {
            let checksum = bytes[*end..].first_chunk::<4>();
            checksum == Some(&lookup3(&bytes[start..*end]).to_le_bytes())
        });
        end.map(|end| start..end)
    };
    starts.filter_map(block_at).collect()
}

/// Recomputes the checksums of blocks at these places, as far as they are still there.
pub fn reseal_blocks(bytes: &mut [u8], blocks: &[Range<usize>]) {
    for block in blocks {
        if let Some(content) = bytes.get(block.clone()) {
            let checksum = lookup3(content);
            if let Some(place) = bytes.get_mut(block.end..block.end + 4) {
                place.copy_from_slice(&checksum.to_le_bytes());
            }
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

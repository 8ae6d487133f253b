//! The hash of what was read of a source file. It can go on where an earlier sweep stopped, from its value and the bytes of one
//! piece, so a log that grows line by line is not read again.

use std::fs::File;
use std::hash::Hasher as _;
use std::io::{Read, Seek, SeekFrom};

use twox_hash::xxhash3_64::Hasher;

/// Length of the pieces that are hashed each for itself; the last one is read again when a file has grown.
const PIECE_BYTES: usize = 64 << 10;

/// Bytes of a file that are read at once to be hashed.
const READ_BYTES: usize = 256 << 10;

/// Hash of the beginning of a file: of the hashes of its whole pieces, and of what follows them.
#[derive(Clone, Default)]
pub(crate) struct ContentHasher {
    /// Hash of the hashes of all whole pieces.
    pieces: u64,
    rest: Hasher,
    rest_length: usize,
}

impl ContentHasher {
    /// Hashes the first bytes of a file. `None` when it has fewer.
    pub(crate) fn of_file(file: &mut File, length: u64) -> std::io::Result<Option<Self>> {
        let mut hasher = ContentHasher::default();
        let mut buffer = vec![0; READ_BYTES];
        let mut left = length;
        file.seek(SeekFrom::Start(0))?;
        while left > 0 {
            let wanted = left.min(READ_BYTES as u64) as usize;
            let Some(room) = buffer.get_mut(..wanted) else {
                break;
            };
            let read = match file.read(room) {
                Ok(0) => return Ok(None),
                Ok(read) => read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let bytes = &room[..read];
            hasher.update(bytes);
            left -= read as u64;
            if bytes.iter().all(|byte| *byte == 0) {
                let zeros = skip_hole(file, left)?;
                hasher.update_zeros(zeros);
                left -= zeros;
            }
        }
        Ok(Some(hasher))
    }

    /// Goes on from a stored value; `rest` are the bytes behind the last whole piece. `None` when they are not those that were
    /// hashed.
    pub(crate) fn resume(value: &[u8; 16], rest: &[u8]) -> Option<Self> {
        let (pieces, _) = value.split_first_chunk::<8>()?;
        let mut hasher = ContentHasher {
            pieces: u64::from_le_bytes(*pieces),
            ..ContentHasher::default()
        };
        hasher.update(rest);
        (hasher.value() == *value).then_some(hasher)
    }

    /// Length of what [`ContentHasher::resume`] needs of so many bytes.
    pub(crate) fn rest_length(length: u64) -> u64 {
        length % PIECE_BYTES as u64
    }

    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (piece, after) = bytes.split_at(bytes.len().min(PIECE_BYTES - self.rest_length));
            bytes = after;
            if piece.len() == PIECE_BYTES {
                self.end_piece(Hasher::oneshot(piece));
                continue;
            }
            self.rest.write(piece);
            self.rest_length += piece.len();
            if self.rest_length == PIECE_BYTES {
                let piece = std::mem::take(&mut self.rest).finish();
                self.rest_length = 0;
                self.end_piece(piece);
            }
        }
    }

    /// Like [`ContentHasher::update`] with so many zeros, which takes no time worth mentioning.
    pub(crate) fn update_zeros(&mut self, length: u64) {
        let zeros = [0; PIECE_BYTES];
        let to_border = ((PIECE_BYTES - self.rest_length) as u64 % PIECE_BYTES as u64).min(length);
        self.update(&zeros[..to_border as usize]);
        let left = length - to_border;
        let hash = Hasher::oneshot(&zeros);
        for _ in 0..left / PIECE_BYTES as u64 {
            self.end_piece(hash);
        }
        self.update(&zeros[..(left % PIECE_BYTES as u64) as usize]);
    }

    /// Hash of all bytes so far.
    pub(crate) fn value(&self) -> [u8; 16] {
        let (pieces, rest) = (self.pieces, self.rest.finish());
        let mut value = [0; 16];
        value[..8].copy_from_slice(&pieces.to_le_bytes());
        value[8..].copy_from_slice(&rest.to_le_bytes());
        value
    }

    fn end_piece(&mut self, hash: u64) {
        self.pieces = Hasher::oneshot_with_seed(self.pieces, &hash.to_le_bytes());
    }
}

/// Passes over a hole in a sparse file, at most so many bytes. Returns how many, all of them zeros.
#[cfg(any(target_os = "linux", target_os = "macos"))]
pub(crate) fn skip_hole(file: &mut File, most: u64) -> std::io::Result<u64> {
    let at = file.stream_position()?;
    let end = at.saturating_add(most);
    let data = match rustix::fs::seek(&*file, rustix::fs::SeekFrom::Data(at)) {
        Ok(data) => data.min(end),
        // No data follows.
        Err(rustix::io::Errno::NXIO) => end.min(file.metadata()?.len().max(at)),
        // The file system does not know.
        Err(_) => at,
    };
    file.seek(SeekFrom::Start(data))?;
    Ok(data - at)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub(crate) fn skip_hole(_: &mut File, _: u64) -> std::io::Result<u64> {
    Ok(0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_hash_is_the_same_however_the_bytes_come() {
        let bytes: Vec<u8> = (0..300_000_u32)
            .map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        let mut whole = ContentHasher::default();
        whole.update(&bytes);
        for step in [1, 7, 4_096, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1] {
            let mut hasher = ContentHasher::default();
            let mut length = 0;
            for piece in bytes.chunks(step).take(20_000) {
                let rest = ContentHasher::rest_length(length as u64) as usize;
                // As a sweep that stops and goes on.
                if step > 7 {
                    let rest = &bytes[length - rest..length];
                    hasher = ContentHasher::resume(&hasher.value(), rest).unwrap();
                }
                hasher.update(piece);
                length += piece.len();
            }
            let mut expected = ContentHasher::default();
            expected.update(&bytes[..length]);
            assert_eq!(hasher.value(), expected.value(), "{step}");
        }
        let mut other = bytes.clone();
        other[100] ^= 1;
        let mut hasher = ContentHasher::default();
        hasher.update(&other);
        assert_ne!(hasher.value(), whole.value());
        let rest = ContentHasher::rest_length(bytes.len() as u64) as usize;
        assert!(ContentHasher::resume(&whole.value(), &bytes[bytes.len() - rest..]).is_some());
        assert!(ContentHasher::resume(&whole.value(), &bytes[..rest]).is_none());
    }

    #[test]
    fn zeros_of_a_hole_are_zeros() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"begin").unwrap();
        file.set_len(3 << 20).unwrap();
        file.seek(SeekFrom::End(0)).unwrap();
        file.write_all(b"end").unwrap();
        let length = (3 << 20) + 3;
        let mut read = vec![0; length];
        file.seek(SeekFrom::Start(0)).unwrap();
        file.read_exact(&mut read).unwrap();
        let mut plain = ContentHasher::default();
        plain.update(&read);
        let hashed = ContentHasher::of_file(&mut file, length as u64).unwrap();
        assert_eq!(hashed.unwrap().value(), plain.value());
        assert!(
            ContentHasher::of_file(&mut file, 4 << 20)
                .unwrap()
                .is_none()
        );
        for before in [0, 5, PIECE_BYTES] {
            let (mut zeros, mut bytes) = (ContentHasher::default(), ContentHasher::default());
            zeros.update(&vec![1; before]);
            bytes.update(&vec![1; before]);
            zeros.update_zeros(200_000);
            bytes.update(&vec![0; 200_000]);
            assert_eq!(zeros.value(), bytes.value());
        }
    }
}

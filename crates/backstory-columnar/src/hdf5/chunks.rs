//! Chunks of a column: cut, shuffled and compressed on several threads, in order.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use flate2::{Compress, Compression, FlushCompress, Status};

/// Level that the package and h5py examples use; higher ones take several times as long for 1 to 2 %.
pub(crate) const DEFLATE_LEVEL: u32 = 4;

/// Applies `map` to all `items` on up to `threads` threads and returns the results in order.
pub(crate) fn map_in_order<T: Sync, R: Send>(
    threads: usize,
    items: &[T],
    map: impl Fn(&T) -> io::Result<R> + Sync,
) -> io::Result<Vec<R>> {
    let threads = threads.min(items.len());
    if threads <= 1 {
        return items.iter().map(map).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || -> io::Result<Vec<(usize, R)>> {
        let mut done = Vec::new();
        loop {
            let position = next.fetch_add(1, Ordering::Relaxed);
            match items.get(position) {
                Some(item) => done.push((position, map(item)?)),
                None => return Ok(done),
            }
        }
    };
    let mut results: Vec<(usize, R)> = Vec::with_capacity(items.len());
    std::thread::scope(|scope| -> io::Result<()> {
        let helpers: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        results.extend(work()?);
        for helper in helpers {
            results.extend(
                helper
                    .join()
                    .map_err(|_| io::Error::other("a compression thread ended abnormally"))??,
            );
        }
        Ok(())
    })?;
    results.sort_unstable_by_key(|(position, _)| *position);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

/// Bytes that lie in several places, cut into chunks.
pub(crate) struct ChunkCutter<'a> {
    pieces: &'a [&'a [u8]],
    piece: usize,
    offset: usize,
}

impl<'a> ChunkCutter<'a> {
    pub(crate) fn new(pieces: &'a [&'a [u8]]) -> Self {
        Self {
            pieces,
            piece: 0,
            offset: 0,
        }
    }

    /// Leaves out the next `bytes`.
    pub(crate) fn skip_bytes(&mut self, mut bytes: usize) {
        while let Some(piece) = self.pieces.get(self.piece) {
            let rest = piece.len() - self.offset;
            if bytes < rest {
                self.offset += bytes;
                return;
            }
            bytes -= rest;
            self.piece += 1;
            self.offset = 0;
        }
    }

    /// Returns the next `size` bytes, filled up with zeros at the end, or `None` when there are none left.
    pub(crate) fn next_chunk(&mut self, size: usize) -> Option<Vec<u8>> {
        let mut chunk = Vec::with_capacity(size);
        while let Some(piece) = self.pieces.get(self.piece) {
            let rest = &piece[self.offset..];
            let taken = rest.len().min(size - chunk.len());
            chunk.extend_from_slice(&rest[..taken]);
            self.offset += taken;
            if self.offset == piece.len() {
                self.piece += 1;
                self.offset = 0;
            }
            if chunk.len() == size {
                break;
            }
        }
        if chunk.is_empty() {
            return None;
        }
        chunk.resize(size, 0);
        Some(chunk)
    }
}

/// Orders the bytes of elements by their place in the element.
pub(crate) fn shuffle_bytes(bytes: &[u8], element: usize) -> Vec<u8> {
    let count = bytes.len() / element;
    let mut shuffled = vec![0; bytes.len()];
    for (row, value) in bytes.chunks_exact(element).enumerate() {
        for (place, byte) in value.iter().enumerate() {
            shuffled[place * count + row] = *byte;
        }
    }
    let rest = count * element;
    shuffled[rest..].copy_from_slice(&bytes[rest..]);
    shuffled
}

/// Compresses `bytes` as a zlib stream.
pub(crate) fn deflate_bytes(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut compress = Compress::new(Compression::new(DEFLATE_LEVEL), true);
    let mut packed = Vec::with_capacity(bytes.len() / 2 + 128);
    loop {
        let consumed = compress.total_in() as usize;
        let status = compress
            .compress_vec(&bytes[consumed..], &mut packed, FlushCompress::Finish)
            .map_err(io::Error::other)?;
        if status == Status::StreamEnd {
            return Ok(packed);
        }
        packed.reserve(packed.capacity().max(128));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_cut_across_pieces_and_filled_up() {
        let mut cutter = ChunkCutter::new(&[b"ab", b"", b"cdefg", b"h"]);
        let cut: Vec<String> = std::iter::from_fn(|| cutter.next_chunk(3))
            .map(|chunk| String::from_utf8(chunk).unwrap())
            .collect();
        assert_eq!(cut, ["abc", "def", "gh\0"]);
        for (skipped, next) in [(0, "abc"), (2, "cde"), (5, "fgh"), (7, "h\0\0")] {
            let mut cutter = ChunkCutter::new(&[b"ab", b"", b"cdefg", b"h"]);
            cutter.skip_bytes(skipped);
            assert_eq!(cutter.next_chunk(3).unwrap(), next.as_bytes());
        }
    }

    #[test]
    fn shuffling_orders_by_place() {
        assert_eq!(shuffle_bytes(b"abcABC123", 3), b"aA1bB2cC3");
        assert_eq!(shuffle_bytes(b"abcd", 1), b"abcd");
    }

    #[test]
    fn results_keep_their_order_on_several_threads() {
        let items: Vec<u32> = (0..1000).collect();
        let doubled = map_in_order(4, &items, |item| Ok(item * 2)).unwrap();
        assert!(
            doubled
                .iter()
                .enumerate()
                .all(|(position, value)| *value == 2 * position as u32)
        );
        assert!(
            map_in_order(4, &items, |item| if *item == 500 {
                Err(io::Error::other("x"))
            } else {
                Ok(())
            })
            .is_err()
        );
    }
}

//! Byte source for `hdf5-pure`: reads blocks of a file, mends object headers, and stops when more is read than an operation may need.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hdf5_pure::{FormatError, Source};

use super::mend::{MendedBlock, header_lengths, mend_continuation, mend_header};

/// Size of the blocks that small reads are served from.
const BLOCK_BYTES: u64 = 8 * 1024;
/// Blocks held: the header, index and text blocks of one session. Each has one place, so that finding it takes no search.
const MAX_BLOCKS: usize = 64;
/// Object headers mended at most; a session has about 25.
const MAX_HEADER_BYTES: usize = 1 << 20;
/// Bits of the largest number of elements of an extensible array; HDF5 writes 32.
const MAX_ARRAY_BITS: u8 = 64;
/// Super blocks whose data blocks the index of an extensible array has itself; HDF5 writes 4.
const MAX_DIRECT_SUPER_BLOCKS: u8 = 16;
/// Addresses of blocks that exist in memory only.
const VIRTUAL_START: u64 = 1 << 62;

/// Storage of the bytes.
enum Storage {
    File(File),
    Memory(Vec<u8>),
}

/// Source of the bytes of a file whose object headers are mended.
pub(crate) struct MendedSource {
    storage: Storage,
    length: u64,
    state: Mutex<SourceState>,
    allowance: AtomicU64,
    #[cfg(test)]
    reads: AtomicU64,
}

#[derive(Default)]
struct SourceState {
    /// Blocks with their number, by what is left of it when divided by the number of places.
    blocks: Vec<Option<(u64, Arc<[u8]>)>>,
    /// Length of the creation order in the messages of continuation blocks, by their address.
    continuations: HashMap<u64, usize>,
    /// Continuation blocks that were made here, by their address, and addresses by the block that they continue.
    virtual_blocks: HashMap<u64, Arc<[u8]>>,
    virtual_addresses: HashMap<u64, u64>,
}

/// [`MendedSource`] that `hdf5-pure` and we read from.
#[derive(Clone)]
pub(crate) struct SharedSource(Arc<MendedSource>);

impl SharedSource {
    /// Reads from an open file.
    pub(crate) fn from_file(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self::new(Storage::File(file), length))
    }

    /// Reads from memory.
    pub(crate) fn from_bytes(bytes: Vec<u8>) -> Self {
        let length = bytes.len() as u64;
        Self::new(Storage::Memory(bytes), length)
    }

    fn new(storage: Storage, length: u64) -> Self {
        let state = Mutex::default();
        Self(Arc::new(MendedSource {
            storage,
            length,
            state,
            allowance: AtomicU64::new(0),
            #[cfg(test)]
            reads: AtomicU64::new(0),
        }))
    }

    /// Number of bytes of the file.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.0.length
    }

    /// Number of reads so far.
    #[cfg(test)]
    pub(crate) fn read_count(&self) -> u64 {
        self.0.reads.load(Ordering::Relaxed)
    }

    /// Allows the next operation to read up to `bytes`. A file that makes it read more, by references to the same bytes, is refused.
    pub(crate) fn allow_bytes(&self, bytes: u64) {
        self.0.allowance.store(bytes, Ordering::Relaxed);
    }

    /// Reads `length` bytes at `offset`.
    pub(crate) fn read_bytes(&self, offset: u64, length: usize) -> Result<Vec<u8>, FormatError> {
        self.0.read_plain(offset, length)
    }
}

impl Source for SharedSource {
    fn len(&self) -> u64 {
        self.0.length
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), FormatError> {
        let bytes = self.0.read_plain(offset, buf.len())?;
        buf.copy_from_slice(&bytes);
        Ok(())
    }

    fn read_exact_at(&self, offset: u64, len: usize) -> Result<Vec<u8>, FormatError> {
        self.0.read_plain(offset, len)
    }

    fn read_metadata_at(&self, offset: u64, len: usize) -> Result<Vec<u8>, FormatError> {
        self.0.read_mended(offset, len)
    }
}

/// Refuses the header of an extensible array that describes more blocks than any file has: `hdf5-pure` takes memory for them.
fn check_array_header(bytes: &[u8]) -> Result<(), FormatError> {
    let is_possible = match bytes {
        [
            b'E',
            b'A',
            b'H',
            b'D',
            _,
            _,
            _,
            element_bits,
            _,
            _,
            direct_blocks,
            ..,
        ] => *element_bits <= MAX_ARRAY_BITS && *direct_blocks <= MAX_DIRECT_SUPER_BLOCKS,
        _ => true,
    };
    match is_possible {
        true => Ok(()),
        false => Err(FormatError::Source(
            "the index of a dataset has more blocks than any file: it is damaged or made to exhaust memory".into(),
        )),
    }
}

impl MendedSource {
    fn lock_state(&self) -> MutexGuard<'_, SourceState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads metadata; a whole object header or continuation block is mended.
    fn read_mended(&self, offset: u64, len: usize) -> Result<Vec<u8>, FormatError> {
        if offset >= VIRTUAL_START {
            let found = self.lock_state().virtual_blocks.get(&offset).cloned();
            return found
                .filter(|block| block.len() == len)
                .map(|block| block.to_vec())
                .ok_or_else(|| self.end_of_file(offset, len));
        }
        let bytes = self.read_plain(offset, len)?;
        check_array_header(&bytes)?;
        if len > MAX_HEADER_BYTES {
            return Ok(bytes);
        }
        let is_header = header_lengths(&bytes).is_some_and(|(total, _)| total == len);
        let mut state = self.lock_state();
        let order_bytes = state.continuations.get(&offset).copied();
        if !is_header && order_bytes.is_none() {
            return Ok(bytes);
        }
        let moved_to = state
            .virtual_addresses
            .get(&offset)
            .copied()
            .unwrap_or(VIRTUAL_START + ((state.virtual_blocks.len() as u64) << 32));
        let mended = match order_bytes {
            _ if is_header => mend_header(&bytes, moved_to),
            Some(order) => mend_continuation(&bytes, order, moved_to),
            None => None,
        };
        let Some(MendedBlock {
            bytes: mended,
            moved,
            continuations,
            order_bytes,
        }) = mended
        else {
            return Ok(bytes);
        };
        for address in continuations {
            state.continuations.insert(address, order_bytes);
        }
        if let Some(block) = moved {
            state.virtual_blocks.insert(moved_to, block.into());
            state.virtual_addresses.insert(offset, moved_to);
        }
        Ok(mended)
    }

    fn read_plain(&self, offset: u64, len: usize) -> Result<Vec<u8>, FormatError> {
        #[cfg(test)]
        self.reads.fetch_add(1, Ordering::Relaxed);
        let end = offset
            .checked_add(len as u64)
            .filter(|end| *end <= self.length)
            .ok_or_else(|| self.end_of_file(offset, len))?;
        let left = self.allowance.load(Ordering::Relaxed);
        // A fixed cost for each read bounds the time that many small ones take.
        let Some(left) = left.checked_sub(len as u64 + 64) else {
            return Err(FormatError::Source("the file refers to the same bytes too often: it is damaged or made to exhaust memory".into()));
        };
        self.allowance.store(left, Ordering::Relaxed);
        let file = match &self.storage {
            Storage::Memory(bytes) => return Ok(bytes[offset as usize..end as usize].to_vec()),
            Storage::File(file) => file,
        };
        let mut bytes = vec![0; len];
        if len as u64 > BLOCK_BYTES {
            read_file(file, offset, &mut bytes)?;
            return Ok(bytes);
        }
        let mut done = 0;
        while done < len {
            let at = offset + done as u64;
            let block = self.cached_block(file, at / BLOCK_BYTES)?;
            let from = (at % BLOCK_BYTES) as usize;
            let taken = (len - done).min(block.len().saturating_sub(from));
            if taken == 0 {
                return Err(self.end_of_file(offset, len));
            }
            bytes[done..done + taken].copy_from_slice(&block[from..from + taken]);
            done += taken;
        }
        Ok(bytes)
    }

    fn cached_block(&self, file: &File, number: u64) -> Result<Arc<[u8]>, FormatError> {
        let mut state = self.lock_state();
        state.blocks.resize(MAX_BLOCKS, None);
        let place = &mut state.blocks[(number % MAX_BLOCKS as u64) as usize];
        if let Some((held, block)) = place
            && *held == number
        {
            return Ok(Arc::clone(block));
        }
        let start = number * BLOCK_BYTES;
        let mut bytes = vec![0; BLOCK_BYTES.min(self.length.saturating_sub(start)) as usize];
        read_file(file, start, &mut bytes)?;
        let block: Arc<[u8]> = bytes.into();
        *place = Some((number, Arc::clone(&block)));
        Ok(block)
    }

    fn end_of_file(&self, offset: u64, len: usize) -> FormatError {
        let expected = usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .saturating_add(len);
        FormatError::UnexpectedEof {
            expected,
            available: usize::try_from(self.length).unwrap_or(usize::MAX),
        }
    }
}

#[cfg(unix)]
fn read_file(file: &File, offset: u64, bytes: &mut [u8]) -> Result<(), FormatError> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
        .map_err(|error| FormatError::Source(error.to_string()))
}

#[cfg(windows)]
fn read_file(file: &File, offset: u64, bytes: &mut [u8]) -> Result<(), FormatError> {
    let mut done = 0;
    while done < bytes.len() {
        match std::os::windows::fs::FileExt::seek_read(
            file,
            &mut bytes[done..],
            offset + done as u64,
        ) {
            Ok(0) => return Err(FormatError::Source("the file ends early".into())),
            Ok(count) => done += count,
            Err(error) => return Err(FormatError::Source(error.to_string())),
        }
    }
    Ok(())
}

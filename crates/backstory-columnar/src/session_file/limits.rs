//! Limits for files of others: every size is checked before memory is taken for it.

use hdf5_pure::{Dataset, Layout};

/// Most that deflate can expand, with room for rounding.
const MAX_EXPANSION: u64 = 1040;
const SLACK_BYTES: u64 = 1 << 20;
/// Bytes of logs that any file may have.
const MAX_REPETITIVE_LOG_BYTES: u64 = 256 << 20;
/// Bytes of chunks that are not stored, of a dataset that is read at once.
const MAX_SPARSE_BYTES: u64 = 64 << 20;
/// Largest chunk that is read; those of session files have up to 64 KiB, of embeddings 1 MiB.
const MAX_CHUNK_BYTES: u64 = 16 << 20;
/// Bytes that filters may add to a chunk.
const CHUNK_OVERHEAD_BYTES: u64 = 1 << 12;
/// Filters of which one run is understood: each run of deflate could expand the output of another.
const COMPRESSION_FILTERS: [u16; 2] = [1, 32000];
/// Filters that are read: deflate, shuffle, fletcher32, LZF.
const KNOWN_FILTERS: [u16; 4] = [1, 2, 3, 32000];

/// Shape of a dataset whose size was found to be possible.
#[derive(Clone, Debug)]
pub(super) struct CheckedShape {
    pub(super) dims: Vec<u64>,
    pub(super) element_bytes: u64,
    /// Bytes of all elements of one row.
    pub(super) row_bytes: u64,
    pub(super) chunk_rows: Option<u64>,
    /// Bytes that the elements take in the file, at most.
    stored_bytes: u64,
}

impl CheckedShape {
    pub(super) fn row_count(&self) -> u64 {
        self.dims.first().copied().unwrap_or(1)
    }

    /// Returns whether all elements may be read at once. Chunks that are not stored read as zeros, of which a small file can have any number.
    pub(super) fn fits_memory(&self) -> bool {
        let most = self.stored_bytes.saturating_mul(MAX_EXPANSION);
        self.row_count().saturating_mul(self.row_bytes) <= most.saturating_add(MAX_SPARSE_BYTES)
    }
}

/// Bytes that the elements of a file of `file_bytes` can have at most.
pub(super) fn max_content_bytes(file_bytes: u64) -> u64 {
    file_bytes
        .saturating_mul(MAX_EXPANSION)
        .saturating_add(SLACK_BYTES)
}

/// Bytes of logs that a file of `file_bytes` can have at most. Logs that repeat themselves are packed better than deflate can.
pub(crate) fn max_log_bytes(file_bytes: u64) -> u64 {
    max_content_bytes(file_bytes).saturating_add(MAX_REPETITIVE_LOG_BYTES)
}

/// Returns the shape of a dataset, or what is impossible about it.
pub(super) fn check_dataset(
    dataset: &Dataset,
    file_bytes: u64,
) -> Result<CheckedShape, CheckError> {
    let dims = dataset.shape()?;
    let element_bytes = u64::from(dataset.datatype()?.type_size());
    let product = |sizes: &[u64]| {
        sizes
            .iter()
            .try_fold(element_bytes, |bytes, size| bytes.checked_mul(*size))
    };
    let total = product(&dims).filter(|total| *total <= max_content_bytes(file_bytes));
    // There may be no rows, of any size.
    let row_bytes = product(dims.get(1..).unwrap_or_default());
    let (Some(_), Some(row_bytes)) = (total, row_bytes) else {
        return Err(CheckError::Impossible(format!(
            "{dims:?} elements of {element_bytes} bytes cannot be in a file of {file_bytes} bytes"
        )));
    };
    let mut stored_bytes = file_bytes;
    let chunk_rows = match dataset.layout()? {
        Layout::Chunked { chunk_shape, .. } => {
            if product(&chunk_shape).is_none_or(|bytes| bytes == 0 || bytes > MAX_CHUNK_BYTES) {
                return Err(CheckError::Impossible(format!(
                    "chunks of {chunk_shape:?} elements are larger than {} MiB",
                    MAX_CHUNK_BYTES >> 20
                )));
            }
            stored_bytes = check_chunks(dataset, product(&chunk_shape).unwrap_or(0), file_bytes)?;
            chunk_shape.first().copied()
        }
        Layout::Virtual => {
            return Err(CheckError::Impossible(
                "its elements are in other files".into(),
            ));
        }
        _ => None,
    };
    let filters = dataset.filters();
    let compressions = filters
        .iter()
        .filter(|id| COMPRESSION_FILTERS.contains(id))
        .count();
    if compressions > 1
        || filters.len() > KNOWN_FILTERS.len()
        || filters.iter().any(|id| !KNOWN_FILTERS.contains(id))
    {
        return Err(CheckError::Impossible(format!(
            "its filters {filters:?} are not understood"
        )));
    }
    Ok(CheckedShape {
        dims,
        element_bytes,
        row_bytes,
        chunk_rows,
        stored_bytes,
    })
}

/// Checks that the stored chunks of a dataset lie in the file and are not longer than they can be; returns the bytes of all of them.
fn check_chunks(dataset: &Dataset, chunk_bytes: u64, file_bytes: u64) -> Result<u64, CheckError> {
    let mut stored_bytes = 0_u64;
    // What does not compress is stored with a little around it.
    let longest = chunk_bytes + chunk_bytes / 8 + CHUNK_OVERHEAD_BYTES;
    for chunk in dataset.chunks()? {
        let end = chunk.address.checked_add(chunk.storage_size);
        if chunk.storage_size > longest || end.is_none_or(|end| end > file_bytes) {
            return Err(CheckError::Impossible(format!(
                "a chunk of {chunk_bytes} bytes is stored as {} bytes at {}",
                chunk.storage_size, chunk.address
            )));
        }
        stored_bytes = stored_bytes.saturating_add(chunk.storage_size);
    }
    Ok(stored_bytes)
}

/// Reason why a dataset is not read.
pub(super) enum CheckError {
    Format(hdf5_pure::Error),
    Impossible(String),
}

impl From<hdf5_pure::Error> for CheckError {
    fn from(error: hdf5_pure::Error) -> Self {
        CheckError::Format(error)
    }
}

//! Reading of an extensible array as far as the index block refers to its data blocks itself.

use super::super::cursor::ByteCursor;
use super::super::index::{
    DIRECT_DATA_BLOCKS, DIRECT_SUPER_BLOCKS, ElementFormat, HEADER_BYTES, INDEX_BLOCK_ELEMENTS,
    PARAMETERS, SUPER_BLOCKS, StoredChunk, block_counts,
};
use super::super::{SharedSource, UNDEFINED_ADDRESS};
use super::header::is_sealed;

/// Chunks that are found without super blocks.
pub(super) const MAX_INDEXED_CHUNKS: u64 = 244;
/// Signature, version, client and address of the header of a block.
const BLOCK_PREFIX_BYTES: usize = 14;

/// Returns the places of the first `count` chunks, which have `chunk_bytes` before filters.
pub(super) fn read_chunk_index(
    source: &SharedSource,
    address: u64,
    chunk_bytes: u64,
    count: u64,
) -> Option<Vec<Option<StoredChunk>>> {
    let format = ElementFormat::new(chunk_bytes, true);
    let bytes = source.read_bytes(address, HEADER_BYTES as usize).ok()?;
    let mut header = ByteCursor(&bytes);
    if !is_sealed(&bytes) || header.take_bytes(6)? != b"EAHD\0\x01" {
        return None;
    }
    let element_bytes = header.take_length(1)?;
    let [bits, in_index, pointers, in_block, page_bits] = PARAMETERS;
    if element_bytes != format.element_bytes()
        || header.take_bytes(5)? != [bits, in_index, in_block, pointers, page_bits]
    {
        return None;
    }
    header.take_bytes(6 * 8)?;
    let index_block = header.take_number(8)?;
    if index_block == UNDEFINED_ADDRESS {
        return Some(vec![None; count as usize]);
    }
    let pointer_count = DIRECT_DATA_BLOCKS + (SUPER_BLOCKS - DIRECT_SUPER_BLOCKS) as usize;
    let elements_bytes = INDEX_BLOCK_ELEMENTS as usize * element_bytes;
    let length = BLOCK_PREFIX_BYTES + elements_bytes + pointer_count * 8 + 4;
    let bytes = read_block(source, index_block, length, b"EAIB", address)?;
    let mut block = ByteCursor(bytes.get(BLOCK_PREFIX_BYTES..)?);
    let mut chunks = Vec::with_capacity(count as usize);
    read_elements(block.take_bytes(elements_bytes)?, format, &mut chunks)?;
    for super_block in 0..DIRECT_SUPER_BLOCKS {
        let (blocks, elements) = block_counts(super_block);
        for _ in 0..blocks {
            let data_block = block.take_number(8)?;
            if chunks.len() as u64 >= count {
                continue;
            }
            if data_block == UNDEFINED_ADDRESS {
                chunks.resize(chunks.len() + elements as usize, None);
                continue;
            }
            // After the prefix comes the number of its first element, in as many bytes as the largest index has.
            let start = BLOCK_PREFIX_BYTES + usize::from(bits) / 8;
            let length = start + elements as usize * element_bytes;
            let bytes = read_block(source, data_block, length + 4, b"EADB", address)?;
            read_elements(bytes.get(start..length)?, format, &mut chunks)?;
        }
    }
    chunks.resize(count as usize, None);
    Some(chunks)
}

/// Reads a sealed block that belongs to the header at an address.
fn read_block(
    source: &SharedSource,
    address: u64,
    length: usize,
    signature: &[u8; 4],
    header: u64,
) -> Option<Vec<u8>> {
    let bytes = source.read_bytes(address, length).ok()?;
    let mut block = ByteCursor(&bytes);
    let is_right = is_sealed(&bytes)
        && block.take_bytes(4)? == signature
        && block.take_bytes(2)? == [0, 1]
        && block.take_number(8)? == header;
    is_right.then_some(bytes)
}

fn read_elements(
    bytes: &[u8],
    format: ElementFormat,
    chunks: &mut Vec<Option<StoredChunk>>,
) -> Option<()> {
    for element in bytes.chunks_exact(format.element_bytes()) {
        let mut element = ByteCursor(element);
        let chunk = StoredChunk {
            address: element.take_number(8)?,
            size: element.take_number(format.element_bytes() - 12)?,
            filter_mask: element.take_number(4)? as u32,
        };
        chunks.push((chunk.address != UNDEFINED_ADDRESS).then_some(chunk));
    }
    Some(())
}

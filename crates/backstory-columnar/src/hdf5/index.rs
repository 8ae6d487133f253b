//! Extensible array: the index of the chunks of a dataset that can grow along its first dimension.
//!
//! The first four elements lie in the index block. Further ones lie in data blocks; these belong to super blocks of which each pair is twice
//! as large as the one before. The index block refers to the data blocks of the first four super blocks itself. Data blocks of more than
//! 1,024 elements are divided into pages.

use super::UNDEFINED_ADDRESS;
use super::checksum::lookup3;

/// Parameters that libhdf5 uses, in the order of the layout message: bits of the largest index, elements in the index block, data blocks of
/// the smallest super block that has a block of its own, elements of the smallest data block, bits of the elements of a page.
pub(crate) const PARAMETERS: [u8; 5] = [32, 4, 4, 16, 10];

pub(crate) const INDEX_BLOCK_ELEMENTS: u64 = 4;
const MIN_BLOCK_ELEMENTS: u64 = 16;
const PAGE_ELEMENTS: u64 = 1024;
/// Super blocks of which the index block refers to the data blocks itself, and the number of those.
pub(crate) const DIRECT_SUPER_BLOCKS: u32 = 4;
pub(crate) const DIRECT_DATA_BLOCKS: usize = 6;
pub(crate) const SUPER_BLOCKS: u32 = 29;
pub(crate) const HEADER_BYTES: u64 = 72;

/// Place of a stored chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredChunk {
    pub(crate) address: u64,
    pub(crate) size: u64,
    /// Filters that were not applied.
    pub(crate) filter_mask: u32,
}

/// Encoding of the elements: with the chunk's size in that many bytes when chunks are filtered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ElementFormat {
    size_bytes: Option<usize>,
}

impl ElementFormat {
    /// Returns the encoding for chunks of `chunk_bytes` before filters.
    pub(crate) fn new(chunk_bytes: u64, filtered: bool) -> Self {
        let size_bytes = (1 + (chunk_bytes.max(1).ilog2() as usize + 8) / 8).min(8);
        Self {
            size_bytes: filtered.then_some(size_bytes),
        }
    }

    pub(crate) fn element_bytes(self) -> usize {
        8 + self.size_bytes.map_or(0, |bytes| bytes + 4)
    }

    fn push_element(self, chunk: Option<&StoredChunk>, out: &mut Vec<u8>) {
        let empty = StoredChunk {
            address: UNDEFINED_ADDRESS,
            size: 0,
            filter_mask: 0,
        };
        let chunk = chunk.unwrap_or(&empty);
        out.extend_from_slice(&chunk.address.to_le_bytes());
        if let Some(bytes) = self.size_bytes {
            out.extend_from_slice(&chunk.size.to_le_bytes()[..bytes]);
            out.extend_from_slice(&chunk.filter_mask.to_le_bytes());
        }
    }
}

/// Number of data blocks of a super block, and of elements in each.
pub(crate) fn block_counts(super_block: u32) -> (u64, u64) {
    (
        1 << (super_block / 2),
        (1 << super_block.div_ceil(2)) * MIN_BLOCK_ELEMENTS,
    )
}

/// Builds the index of `chunks`, to be stored at `address`. `None` is a chunk that is not stored: it reads as zeros.
pub(crate) fn build_index(
    address: u64,
    format: ElementFormat,
    chunks: &[Option<StoredChunk>],
) -> Vec<u8> {
    let mut builder = IndexBuilder {
        base: address,
        format,
        bytes: Vec::new(),
        data_blocks: (0, 0),
        super_blocks: (0, 0),
        elements: 0,
    };
    builder.build_blocks(chunks);
    builder.bytes
}

struct IndexBuilder {
    base: u64,
    format: ElementFormat,
    bytes: Vec<u8>,
    /// Number and bytes of the blocks written.
    data_blocks: (u64, u64),
    super_blocks: (u64, u64),
    /// Elements for which there is room.
    elements: u64,
}

impl IndexBuilder {
    fn build_blocks(&mut self, chunks: &[Option<StoredChunk>]) {
        let index_bytes = 14
            + INDEX_BLOCK_ELEMENTS as usize * self.format.element_bytes()
            + (DIRECT_DATA_BLOCKS + (SUPER_BLOCKS - DIRECT_SUPER_BLOCKS) as usize) * 8
            + 4;
        self.bytes.resize(HEADER_BYTES as usize + index_bytes, 0);
        self.elements = INDEX_BLOCK_ELEMENTS;

        let mut index = self.start_block(b"EAIB", None);
        for position in 0..INDEX_BLOCK_ELEMENTS as usize {
            self.format
                .push_element(chunks.get(position).and_then(Option::as_ref), &mut index);
        }
        // Blocks count elements from after those of the index block.
        let chunk_count = chunks.len() as u64;
        let chunks = element_range(chunks, INDEX_BLOCK_ELEMENTS, u64::from(u32::MAX));
        let mut offset = 0;
        for super_block in 0..SUPER_BLOCKS {
            let (blocks, length) = block_counts(super_block);
            let elements = element_range(chunks, offset, blocks * length);
            if super_block < DIRECT_SUPER_BLOCKS {
                for block in 0..blocks {
                    let at = self.write_data_block(
                        offset + block * length,
                        element_range(elements, block * length, length),
                        length,
                    );
                    index.extend_from_slice(&at.to_le_bytes());
                }
            } else {
                let at = self.write_super_block(offset, elements, blocks, length);
                index.extend_from_slice(&at.to_le_bytes());
            }
            offset += blocks * length;
        }
        seal_block(&mut index);
        let header = self.header_block(chunk_count);
        self.bytes[..header.len()].copy_from_slice(&header);
        self.bytes[header.len()..header.len() + index.len()].copy_from_slice(&index);
    }

    fn header_block(&self, chunks: u64) -> Vec<u8> {
        let mut header = b"EAHD\0".to_vec();
        header.push(u8::from(self.format.size_bytes.is_some()));
        header.push(self.format.element_bytes() as u8);
        let [
            index_bits,
            index_elements,
            pointers,
            block_elements,
            page_bits,
        ] = PARAMETERS;
        header.extend_from_slice(&[
            index_bits,
            index_elements,
            block_elements,
            pointers,
            page_bits,
        ]);
        let counts = [
            self.super_blocks.0,
            self.super_blocks.1,
            self.data_blocks.0,
            self.data_blocks.1,
            chunks,
            self.elements,
        ];
        for count in counts {
            header.extend_from_slice(&count.to_le_bytes());
        }
        header.extend_from_slice(&(self.base + HEADER_BYTES).to_le_bytes());
        seal_block(&mut header);
        header
    }

    fn start_block(&self, signature: &[u8; 4], offset: Option<u64>) -> Vec<u8> {
        let mut block = signature.to_vec();
        block.extend_from_slice(&[0, u8::from(self.format.size_bytes.is_some())]);
        block.extend_from_slice(&self.base.to_le_bytes());
        if let Some(offset) = offset {
            block.extend_from_slice(&(offset as u32).to_le_bytes());
        }
        block
    }

    /// Appends a super block with its data blocks. One without elements is not stored.
    fn write_super_block(
        &mut self,
        offset: u64,
        elements: &[Option<StoredChunk>],
        blocks: u64,
        length: u64,
    ) -> u64 {
        if elements.iter().all(Option::is_none) {
            return UNDEFINED_ADDRESS;
        }
        let mut places = Vec::new();
        let pages = if length > PAGE_ELEMENTS {
            length / PAGE_ELEMENTS
        } else {
            0
        };
        let mut initialized = vec![0_u8; (blocks * pages.div_ceil(8)) as usize];
        for block in 0..blocks {
            let at = self.write_data_block(
                offset + block * length,
                element_range(elements, block * length, length),
                length,
            );
            if at != UNDEFINED_ADDRESS {
                for page in block * pages..(block + 1) * pages {
                    initialized[page as usize / 8] |= 0x80 >> (page % 8);
                }
            }
            places.extend_from_slice(&at.to_le_bytes());
        }
        let mut block = self.start_block(b"EASB", Some(offset));
        block.extend_from_slice(&initialized);
        block.extend_from_slice(&places);
        seal_block(&mut block);
        self.super_blocks.0 += 1;
        self.super_blocks.1 += block.len() as u64;
        self.append_block(&block)
    }

    /// Appends a data block of `length` elements, of which those beyond `elements` are unset. One without elements is not stored.
    fn write_data_block(
        &mut self,
        offset: u64,
        elements: &[Option<StoredChunk>],
        length: u64,
    ) -> u64 {
        if elements.iter().all(Option::is_none) {
            return UNDEFINED_ADDRESS;
        }
        let mut block = self.start_block(b"EADB", Some(offset));
        let set = |position: u64| elements.get(position as usize).and_then(Option::as_ref);
        if length > PAGE_ELEMENTS {
            seal_block(&mut block);
            for page in 0..length / PAGE_ELEMENTS {
                let start = block.len();
                for position in page * PAGE_ELEMENTS..(page + 1) * PAGE_ELEMENTS {
                    self.format.push_element(set(position), &mut block);
                }
                let checksum = lookup3(&block[start..]);
                block.extend_from_slice(&checksum.to_le_bytes());
            }
        } else {
            for position in 0..length {
                self.format.push_element(set(position), &mut block);
            }
            seal_block(&mut block);
        }
        self.data_blocks.0 += 1;
        self.data_blocks.1 += block.len() as u64;
        self.elements += length;
        self.append_block(&block)
    }

    fn append_block(&mut self, block: &[u8]) -> u64 {
        let at = self.base + self.bytes.len() as u64;
        self.bytes.extend_from_slice(block);
        at
    }
}

/// Elements `start..start + length` of `chunks`, as far as they exist.
fn element_range(
    chunks: &[Option<StoredChunk>],
    start: u64,
    length: u64,
) -> &[Option<StoredChunk>] {
    let from = chunks.len().min(start as usize);
    &chunks[from..chunks.len().min((start + length) as usize)]
}

fn seal_block(block: &mut Vec<u8>) {
    let checksum = lookup3(block);
    block.extend_from_slice(&checksum.to_le_bytes());
}

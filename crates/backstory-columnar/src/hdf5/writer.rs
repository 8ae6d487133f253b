//! Writer of a file: datasets and groups, members first.

use std::io::{self, Seek, Write};

use super::checksum::lookup3;
use super::chunks::{ChunkCutter, deflate_bytes, map_in_order, shuffle_bytes};
use super::datatype::{EncodedType, double_type, integer_type, text_type};
use super::group::{Link, push_links};
use super::header::{
    DATASPACE, DATATYPE, EncodedAttribute, FILL_VALUE, FILTERS, HeaderBuilder, LAYOUT,
    dataspace_message,
};
use super::heap::{TextHeap, TextReference};
use super::index::{ElementFormat, PARAMETERS, StoredChunk, build_index};
use super::output::Output;
use super::{UNDEFINED_ADDRESS, header};
use crate::rows::AttributeValue;

const SUPERBLOCK_BYTES: usize = 48;
/// Bytes of chunks that are compressed at once by each thread; bounds what is held in memory.
const MAX_BATCH_BYTES_PER_THREAD: usize = 2 << 20;
/// Bytes for which starting threads takes longer than it saves.
const MIN_THREADED_BYTES: usize = 256 * 1024;
pub(crate) const DEFLATE_FILTER: u16 = 1;
pub(crate) const SHUFFLE_FILTER: u16 = 2;

/// Filter that chunks go through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Filter {
    pub(crate) id: u16,
    pub(crate) optional: bool,
    pub(crate) values: Vec<u32>,
}

impl Filter {
    /// Shuffle (unless elements are references) and gzip, as the package configures them.
    pub(crate) fn package_filters(element: &EncodedType) -> Vec<Filter> {
        let shuffle = Filter {
            id: SHUFFLE_FILTER,
            optional: true,
            values: vec![element.size as u32],
        };
        let deflate = Filter {
            id: DEFLATE_FILTER,
            optional: true,
            values: vec![super::chunks::DEFLATE_LEVEL],
        };
        if element.is_text {
            vec![deflate]
        } else {
            vec![shuffle, deflate]
        }
    }
}

/// Storage of the elements of a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    /// In one piece of a fixed size.
    Contiguous,
    /// In chunks of `rows` whole rows; the first dimension is unlimited.
    Chunked { rows: u64, filters: Vec<Filter> },
}

/// Type, shape and storage of a dataset.
#[derive(Clone, Debug)]
pub(crate) struct DatasetLayout {
    pub(crate) datatype: EncodedType,
    pub(crate) dims: Vec<u64>,
    pub(crate) storage: Storage,
}

impl DatasetLayout {
    /// Bytes of one row: an element with all dimensions but the first.
    pub(crate) fn row_bytes(&self) -> u64 {
        self.dims
            .iter()
            .skip(1)
            .fold(self.datatype.size as u64, |bytes, size| {
                bytes.saturating_mul(*size)
            })
    }
}

/// Writer of an HDF5 file.
pub(crate) struct FileWriter<W: Write + Seek> {
    out: Output<W>,
    heap: TextHeap,
    threads: usize,
}

impl<W: Write + Seek> FileWriter<W> {
    /// Begins a file in `inner`, which must be empty.
    pub(crate) fn create(inner: W, threads: usize) -> io::Result<Self> {
        let mut out = Output::new(inner);
        out.reserve_bytes(SUPERBLOCK_BYTES)?;
        Ok(Self {
            out,
            heap: TextHeap::new(),
            threads: threads.max(1),
        })
    }

    /// Number of threads for compression.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Stores a text and returns the element that refers to it.
    pub(crate) fn text_reference(&mut self, text: &str) -> io::Result<TextReference> {
        self.heap.store_text(text, &mut self.out)
    }

    /// Encodes an attribute, whose texts go to the heap.
    pub(crate) fn encode_attribute(
        &mut self,
        name: &str,
        value: &AttributeValue,
    ) -> io::Result<EncodedAttribute> {
        let (datatype, elements, data) = match value {
            AttributeValue::Text(text) => (text_type(), None, self.text_reference(text)?.to_vec()),
            AttributeValue::Integer(number) => {
                (integer_type(8, true), None, number.to_le_bytes().to_vec())
            }
            AttributeValue::Float(number) => (double_type(), None, number.to_le_bytes().to_vec()),
            AttributeValue::Texts(texts) => {
                let mut data = Vec::new();
                for text in texts {
                    data.extend_from_slice(&self.text_reference(text)?);
                }
                (text_type(), Some(texts.len() as u64), data)
            }
            AttributeValue::Encoded {
                datatype,
                elements,
                data,
            } => {
                let size = data.len() / elements.unwrap_or(1).max(1) as usize;
                (
                    EncodedType {
                        bytes: datatype.clone(),
                        size,
                        is_text: false,
                    },
                    *elements,
                    data.clone(),
                )
            }
        };
        Ok(EncodedAttribute {
            name: name.to_owned(),
            datatype,
            elements,
            data,
        })
    }

    /// Writes a dataset whose elements are the bytes of `pieces`, and returns its address.
    pub(crate) fn write_dataset(
        &mut self,
        layout: &DatasetLayout,
        pieces: &[&[u8]],
        attributes: &[EncodedAttribute],
    ) -> io::Result<u64> {
        match &layout.storage {
            Storage::Contiguous => {
                let length: u64 = pieces.iter().map(|piece| piece.len() as u64).sum();
                let address = if length == 0 {
                    UNDEFINED_ADDRESS
                } else {
                    self.out.end_address()
                };
                for piece in pieces {
                    self.out.append_bytes(piece)?;
                }
                self.write_contiguous_header(layout, address, length, attributes)
            }
            Storage::Chunked { .. } => {
                self.write_further_chunks(layout, Vec::new(), pieces, attributes)
            }
        }
    }

    /// Writes a dataset whose elements are the bytes of `pieces` and whose first `chunks` are stored already.
    pub(crate) fn write_further_chunks(
        &mut self,
        layout: &DatasetLayout,
        mut chunks: Vec<Option<StoredChunk>>,
        pieces: &[&[u8]],
        attributes: &[EncodedAttribute],
    ) -> io::Result<u64> {
        let Storage::Chunked { rows, filters } = &layout.storage else {
            return Err(io::Error::other("chunks of a contiguous dataset"));
        };
        let chunk_bytes = usize::try_from(rows * layout.row_bytes()).map_err(io::Error::other)?;
        let mut cutter = ChunkCutter::new(pieces);
        cutter.skip_bytes(chunks.len() * chunk_bytes);
        let batch = (self.threads * MAX_BATCH_BYTES_PER_THREAD / chunk_bytes.max(1)).max(1);
        loop {
            let cut: Vec<Vec<u8>> = std::iter::from_fn(|| cutter.next_chunk(chunk_bytes))
                .take(batch)
                .collect();
            if cut.is_empty() {
                break;
            }
            let is_small = cut.len() * chunk_bytes < MIN_THREADED_BYTES;
            let threads = if is_small { 1 } else { self.threads };
            for packed in map_in_order(threads, &cut, |chunk| filter_chunk(chunk, filters))? {
                chunks.push(match packed {
                    None => None,
                    Some(packed) => Some(self.append_chunk(&packed, 0)?),
                });
            }
        }
        self.write_chunked(layout, &chunks, attributes)
    }

    /// Appends a chunk that already went through the filters.
    pub(crate) fn append_chunk(
        &mut self,
        packed: &[u8],
        filter_mask: u32,
    ) -> io::Result<StoredChunk> {
        Ok(StoredChunk {
            address: self.out.append_bytes(packed)?,
            size: packed.len() as u64,
            filter_mask,
        })
    }

    /// Writes index and header of a dataset whose chunks are stored, and returns its address.
    pub(crate) fn write_chunked(
        &mut self,
        layout: &DatasetLayout,
        chunks: &[Option<StoredChunk>],
        attributes: &[EncodedAttribute],
    ) -> io::Result<u64> {
        let Storage::Chunked { rows, filters } = &layout.storage else {
            return Err(io::Error::other("chunks of a contiguous dataset"));
        };
        let stored = chunks
            .iter()
            .rposition(Option::is_some)
            .map_or(0, |last| last + 1);
        let index = if stored == 0 {
            UNDEFINED_ADDRESS
        } else {
            let format = ElementFormat::new(rows * layout.row_bytes(), !filters.is_empty());
            let index = build_index(self.out.end_address(), format, &chunks[..stored]);
            self.out.append_bytes(&index)?
        };
        let mut max = layout.dims.clone();
        max[0] = UNDEFINED_ADDRESS;
        let mut header = HeaderBuilder::default();
        header.push_message(DATASPACE, 0, &dataspace_message(&layout.dims, Some(&max)))?;
        header.push_message(DATATYPE, header::CONSTANT, &layout.datatype.bytes)?;
        header.push_message(
            FILL_VALUE,
            header::CONSTANT,
            &[3, if layout.datatype.is_text { 3 } else { 11 }],
        )?;
        if !filters.is_empty() {
            header.push_message(FILTERS, header::CONSTANT, &filter_message(filters))?;
        }
        let chunk_dims: Vec<u64> = [*rows]
            .into_iter()
            .chain(layout.dims.iter().skip(1).copied())
            .chain([layout.datatype.size as u64])
            .collect();
        let width = chunk_dims
            .iter()
            .map(|size| (size.max(&1).ilog2() as usize + 8) / 8)
            .max()
            .unwrap_or(1);
        let mut body = vec![4, 2, 0, chunk_dims.len() as u8, width as u8];
        for size in &chunk_dims {
            body.extend_from_slice(&size.to_le_bytes()[..width]);
        }
        body.push(4);
        body.extend_from_slice(&PARAMETERS);
        body.extend_from_slice(&index.to_le_bytes());
        header.push_message(LAYOUT, 0, &body)?;
        header.push_attributes(attributes)?;
        // Room for hdf5-pure to be given sizes of three bytes in four.
        let gap = if width == 3 {
            chunk_dims.len().min(3)
        } else {
            0
        };
        self.out.append_bytes(&header.finish(gap))
    }

    /// Writes the header of a contiguous dataset whose bytes are stored, and returns its address.
    fn write_contiguous_header(
        &mut self,
        layout: &DatasetLayout,
        address: u64,
        length: u64,
        attributes: &[EncodedAttribute],
    ) -> io::Result<u64> {
        let mut header = HeaderBuilder::default();
        header.push_message(DATASPACE, 0, &dataspace_message(&layout.dims, None))?;
        header.push_message(DATATYPE, header::CONSTANT, &layout.datatype.bytes)?;
        header.push_message(FILL_VALUE, header::CONSTANT, &[3, 10])?;
        let mut body = vec![4, 1];
        body.extend_from_slice(&address.to_le_bytes());
        body.extend_from_slice(&length.to_le_bytes());
        header.push_message(LAYOUT, 0, &body)?;
        header.push_attributes(attributes)?;
        self.out.append_bytes(&header.finish(0))
    }

    /// Writes a group of members that are stored, and returns its address.
    pub(crate) fn write_group(
        &mut self,
        links: &[Link],
        attributes: &[EncodedAttribute],
    ) -> io::Result<u64> {
        let mut header = HeaderBuilder::default();
        push_links(&mut header, links, &mut self.out)?;
        header.push_attributes(attributes)?;
        self.out.append_bytes(&header.finish(0))
    }

    /// Completes the file, whose root group is at `root`, and returns its size.
    pub(crate) fn finish(&mut self, root: u64) -> io::Result<u64> {
        self.heap.finish_collection(&mut self.out)?;
        let mut superblock = b"\x89HDF\r\n\x1a\n\x03\x08\x08\0".to_vec();
        for value in [0, UNDEFINED_ADDRESS, self.out.end_address(), root] {
            superblock.extend_from_slice(&value.to_le_bytes());
        }
        let checksum = lookup3(&superblock);
        superblock.extend_from_slice(&checksum.to_le_bytes());
        self.out.overwrite_bytes(0, &superblock)?;
        self.out.flush()?;
        Ok(self.out.end_address())
    }
}

/// Returns the message of a pipeline of filters.
pub(crate) fn filter_message(filters: &[Filter]) -> Vec<u8> {
    let mut body = vec![2, filters.len() as u8];
    for filter in filters {
        body.extend_from_slice(&filter.id.to_le_bytes());
        if filter.id >= 256 {
            body.extend_from_slice(&[0, 0]);
        }
        body.extend_from_slice(&u16::from(filter.optional).to_le_bytes());
        body.extend_from_slice(&(filter.values.len() as u16).to_le_bytes());
        for value in &filter.values {
            body.extend_from_slice(&value.to_le_bytes());
        }
    }
    body
}

/// Applies shuffle and gzip. A chunk of zeros is not stored.
fn filter_chunk(chunk: &[u8], filters: &[Filter]) -> io::Result<Option<Vec<u8>>> {
    if chunk.iter().all(|byte| *byte == 0) {
        return Ok(None);
    }
    let mut bytes = std::borrow::Cow::Borrowed(chunk);
    for filter in filters {
        bytes = match (filter.id, &filter.values[..]) {
            (SHUFFLE_FILTER, [1]) => bytes,
            (SHUFFLE_FILTER, [element]) => shuffle_bytes(&bytes, *element as usize).into(),
            (DEFLATE_FILTER, _) => deflate_bytes(&bytes)?.into(),
            _ => {
                return Err(io::Error::new(
                    io::ErrorKind::Unsupported,
                    format!("filter {} cannot be applied", filter.id),
                ));
            }
        };
    }
    Ok(Some(bytes.into_owned()))
}

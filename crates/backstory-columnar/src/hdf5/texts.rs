//! Texts of variable-length elements, read from the global heap.

use std::collections::HashMap;

use hdf5_pure::FormatError;

use super::SharedSource;
use super::cursor::little_endian;

/// Collections larger than this hold one text that is read by itself.
const MAX_COLLECTION_BYTES: u64 = 64 << 20;

/// Place of a text in the file, by its number in a collection.
struct TextPlace {
    index: u32,
    offset: u64,
    length: u64,
}

/// Places of the texts in collections that were read, sorted by their numbers.
pub(crate) struct TextReader<'a> {
    source: &'a SharedSource,
    collections: HashMap<u64, Vec<TextPlace>>,
}

impl<'a> TextReader<'a> {
    pub(crate) fn new(source: &'a SharedSource) -> Self {
        Self {
            source,
            collections: HashMap::new(),
        }
    }

    /// Returns the text that each element refers to. Bytes that are not UTF-8 are replaced.
    pub(crate) fn read_texts(&mut self, elements: &[u8]) -> Result<Vec<String>, FormatError> {
        elements
            .as_chunks::<16>()
            .0
            .iter()
            .map(|element| self.read_text(element))
            .collect()
    }

    fn read_text(&mut self, element: &[u8; 16]) -> Result<String, FormatError> {
        let (length, address, index) = (
            little_endian(&element[..4]),
            little_endian(&element[4..12]),
            little_endian(&element[12..]) as u32,
        );
        if length == 0 {
            return Ok(String::new());
        }
        if !self.collections.contains_key(&address) {
            let places = self.read_collection(address)?;
            self.collections.insert(address, places);
        }
        let place = self.collections.get(&address).and_then(|places| {
            let found = places.binary_search_by_key(&index, |place| place.index);
            places.get(found.ok()?)
        });
        let &TextPlace {
            offset,
            length: size,
            ..
        } = place.ok_or_else(|| {
            FormatError::VlDataError(format!("there is no text {index} in the heap at {address}"))
        })?;
        if length > size {
            return Err(FormatError::VlDataError(format!(
                "text {index} in the heap at {address} has {size} bytes, not {length}"
            )));
        }
        let bytes = self.source.read_bytes(offset, length as usize)?;
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// Returns the places of all texts of a collection.
    fn read_collection(&self, address: u64) -> Result<Vec<TextPlace>, FormatError> {
        let bad = |what: &str| FormatError::VlDataError(format!("heap at {address}: {what}"));
        let header = self.source.read_bytes(address, 16)?;
        if !header.starts_with(b"GCOL\x01") {
            return Err(bad("no collection of texts is there"));
        }
        let size = little_endian(&header[8..16]);
        if size < 32 || size > self.source.file_bytes() {
            return Err(bad("its size is not possible"));
        }
        let mut places = Vec::new();
        let whole = if size <= MAX_COLLECTION_BYTES {
            Some(self.source.read_bytes(address, size as usize)?)
        } else {
            None
        };
        let mut at = 16;
        while at + 16 <= size {
            let read;
            let object = match &whole {
                Some(bytes) => &bytes[at as usize..at as usize + 16],
                None => {
                    read = self.source.read_bytes(address + at, 16)?;
                    &read
                }
            };
            let index = little_endian(&object[..2]) as u32;
            let length = little_endian(&object[8..16]);
            if index == 0 {
                break;
            }
            let next = at
                .checked_add(16)
                .and_then(|start| start.checked_add(length))
                .filter(|end| *end <= size)
                .ok_or_else(|| bad("a text reaches beyond its end"))?;
            places.push(TextPlace {
                index,
                offset: address + at + 16,
                length,
            });
            at = next.next_multiple_of(8);
        }
        places.sort_by_key(|place| place.index);
        Ok(places)
    }
}

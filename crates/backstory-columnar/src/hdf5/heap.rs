//! Global heap: collections of texts that variable-length elements refer to.
//!
//! Every element has a text of its own, also where texts are equal: libhdf5 frees the text of an element that is overwritten.

use std::io::{self, Seek, Write};

use super::output::Output;

/// Smallest collection that libhdf5 accepts, and the size of the first.
const MIN_COLLECTION_BYTES: usize = 4096;
/// Size up to which each collection is twice as large as the one before. A reader loads a whole collection for one text.
const MAX_COLLECTION_BYTES: usize = 8 * 1024;
const COLLECTION_HEADER_BYTES: usize = 16;
const OBJECT_HEADER_BYTES: usize = 16;
/// Element of a variable-length dataset: length, address of the collection, index in it.
pub(crate) type TextReference = [u8; 16];

/// Writer of the texts of a file.
pub(crate) struct TextHeap {
    open: Option<Collection>,
    next_size: usize,
}

struct Collection {
    address: u64,
    size: usize,
    bytes: Vec<u8>,
    objects: u16,
}

impl TextHeap {
    pub(crate) fn new() -> Self {
        Self {
            open: None,
            next_size: MIN_COLLECTION_BYTES,
        }
    }

    /// Writes the collection that is not full yet.
    pub(crate) fn finish_collection<W: Write + Seek>(
        &mut self,
        out: &mut Output<W>,
    ) -> io::Result<()> {
        match self.open.take() {
            Some(collection) => collection.write_to(out),
            None => Ok(()),
        }
    }

    /// Stores `text` and returns the element that refers to it. An empty text needs no place.
    pub(crate) fn store_text<W: Write + Seek>(
        &mut self,
        text: &str,
        out: &mut Output<W>,
    ) -> io::Result<TextReference> {
        if text.is_empty() {
            return Ok([0; 16]);
        }
        let length = u32::try_from(text.len()).map_err(|_| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                "a text column holds at most 4 GiB in one row",
            )
        })?;
        let need = OBJECT_HEADER_BYTES + text.len().next_multiple_of(8);
        if need > MAX_COLLECTION_BYTES / 2 {
            let size = (COLLECTION_HEADER_BYTES + need).max(MIN_COLLECTION_BYTES);
            let mut own = Collection::reserve_collection(size, out)?;
            let reference = own.push_text(text, length);
            own.write_to(out)?;
            return Ok(reference);
        }
        let fits =
            |open: &Collection| open.bytes.len() + need <= open.size && open.objects < u16::MAX - 1;
        if !self.open.as_ref().is_some_and(fits) {
            self.finish_collection(out)?;
            while COLLECTION_HEADER_BYTES + need > self.next_size {
                self.next_size *= 2;
            }
        }
        let open = match &mut self.open {
            Some(open) => open,
            none => {
                let size = self.next_size;
                self.next_size = (size * 2).min(MAX_COLLECTION_BYTES);
                none.insert(Collection::reserve_collection(size, out)?)
            }
        };
        Ok(open.push_text(text, length))
    }
}

impl Collection {
    fn reserve_collection<W: Write + Seek>(size: usize, out: &mut Output<W>) -> io::Result<Self> {
        let address = out.reserve_bytes(size)?;
        let mut bytes = Vec::with_capacity(size);
        bytes.extend_from_slice(b"GCOL\x01\0\0\0");
        bytes.extend_from_slice(&(size as u64).to_le_bytes());
        Ok(Self {
            address,
            size,
            bytes,
            objects: 0,
        })
    }

    fn push_text(&mut self, text: &str, length: u32) -> TextReference {
        self.objects += 1;
        self.bytes.extend_from_slice(&self.objects.to_le_bytes());
        self.bytes.extend_from_slice(&[0; 6]);
        self.bytes
            .extend_from_slice(&u64::from(length).to_le_bytes());
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let mut reference = [0; 16];
        reference[..4].copy_from_slice(&length.to_le_bytes());
        reference[4..12].copy_from_slice(&self.address.to_le_bytes());
        reference[12..].copy_from_slice(&u32::from(self.objects).to_le_bytes());
        reference
    }

    fn write_to<W: Write + Seek>(mut self, out: &mut Output<W>) -> io::Result<()> {
        let free = self.size - self.bytes.len();
        if free >= OBJECT_HEADER_BYTES {
            self.bytes.extend_from_slice(&[0; 8]);
            self.bytes.extend_from_slice(&(free as u64).to_le_bytes());
        }
        out.overwrite_bytes(self.address, &self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn every_text_has_its_place_and_empty_ones_have_none() {
        let mut out = Output::new(Cursor::new(Vec::new()));
        let mut heap = TextHeap::new();
        let user = heap.store_text("user", &mut out).unwrap();
        assert_eq!(heap.store_text("", &mut out).unwrap(), [0; 16]);
        assert_ne!(heap.store_text("assistant", &mut out).unwrap(), user);
        assert_ne!(heap.store_text("user", &mut out).unwrap(), user);
        heap.finish_collection(&mut out).unwrap();
        let bytes = out.into_inner().unwrap().into_inner();
        assert_eq!(bytes.len(), 4096);
        assert_eq!(&bytes[..8], b"GCOL\x01\0\0\0");
        assert_eq!(&bytes[32..36], b"user");
        assert_eq!(&bytes[56..65], b"assistant");
        assert_eq!(
            u64::from_le_bytes(bytes[104..112].try_into().unwrap()),
            4096 - 96,
            "the rest is free space"
        );
    }

    #[test]
    fn collections_grow_and_a_long_text_has_its_own() {
        let mut out = Output::new(Cursor::new(Vec::new()));
        let mut heap = TextHeap::new();
        let mut addresses = Vec::new();
        for number in 0..4000 {
            let reference = heap.store_text(&format!("{number:036}"), &mut out).unwrap();
            addresses.push(u64::from_le_bytes(reference[4..12].try_into().unwrap()));
        }
        addresses.dedup();
        assert_eq!(addresses[..5], [0, 4096, 12288, 20480, 28672]);
        let long = heap.store_text(&"x".repeat(100_000), &mut out).unwrap();
        assert_eq!(u32::from_le_bytes(long[..4].try_into().unwrap()), 100_000);
        heap.finish_collection(&mut out).unwrap();
    }
}

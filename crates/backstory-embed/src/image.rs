//! The one form in which tables are used: sections behind a header, in memory or in `model.bin`.
//!
//! Nothing is unpacked when an image is opened: a tokenizer of 276,000 pieces is ready as soon as the header has been looked at.
//! The header holds, in little-endian numbers: the magic, the version, how many sections there are, a BLAKE3 hash of everything
//! behind the hash, the length of the image, and kind, offset and length of every section. Sections start at multiples of 64.
//!
//! Opening checks that the sections lie within the image. Their content is checked where it is used; whether every byte is as it
//! was written is the business of [`Image::verify`], which reads all of it.

use std::ops::Range;
use std::path::Path;

use crate::map::Bytes;
use crate::{Error, Result};

const MAGIC: &[u8; 8] = b"BackEmbd";
const VERSION: u32 = 1;
const CHECKSUM: Range<usize> = 16..48;
const LENGTH: Range<usize> = 48..56;
const ENTRIES: usize = 56;
const ENTRY: usize = 24;
const ALIGNMENT: usize = 64;
const MOST_SECTIONS: usize = 32;

/// What a section holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Section {
    /// How text is prepared and cut, in JSON.
    Settings = 1,
    /// The tokens' bytes, one after the other.
    Strings = 2,
    /// Where each token starts in them, and where the last one ends.
    Offsets = 3,
    /// The hash table from a token's bytes to its number.
    Slots = 4,
    /// The hash table from a pair of tokens to the token that replaces it.
    Merges = 5,
    /// The logarithmic probability of each token.
    Scores = 6,
    /// The replacements of a precompiled normaliser.
    Charsmap = 7,
    /// The vectors.
    Table = 8,
    /// Which vector each token has, where tokens share them.
    Rows = 9,
    /// What each token's vector is multiplied with.
    Factors = 10,
    /// What the table is, in JSON.
    Shape = 11,
    /// A bit for the hash of every start of a token.
    Prefixes = 12,
}

/// Collects the sections of an image.
#[derive(Default)]
pub(crate) struct Builder {
    sections: Vec<(Section, Vec<u8>)>,
}

impl Builder {
    pub(crate) fn add(&mut self, section: Section, bytes: Vec<u8>) {
        self.sections.push((section, bytes));
    }

    /// The image, whole.
    pub(crate) fn finish(self) -> Vec<u8> {
        let mut image =
            vec![0; (ENTRIES + self.sections.len() * ENTRY).next_multiple_of(ALIGNMENT)];
        image[..8].copy_from_slice(MAGIC);
        image[8..12].copy_from_slice(&VERSION.to_le_bytes());
        image[12..16].copy_from_slice(&(self.sections.len() as u32).to_le_bytes());
        for (index, (section, bytes)) in self.sections.into_iter().enumerate() {
            let entry = ENTRIES + index * ENTRY;
            let offset = image.len() as u64;
            image[entry..entry + 4].copy_from_slice(&(section as u32).to_le_bytes());
            image[entry + 8..entry + 16].copy_from_slice(&offset.to_le_bytes());
            image[entry + 16..entry + 24].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
            image.extend_from_slice(&bytes);
            image.resize(image.len().next_multiple_of(ALIGNMENT), 0);
        }
        let length = image.len() as u64;
        image[LENGTH].copy_from_slice(&length.to_le_bytes());
        let checksum = blake3::hash(&image[CHECKSUM.end..]);
        image[CHECKSUM].copy_from_slice(checksum.as_bytes());
        image
    }
}

/// Sections, ready to be used in place.
pub(crate) struct Image {
    bytes: Bytes,
    sections: Vec<(u32, Range<usize>)>,
}

impl Image {
    /// Opens a file.
    pub(crate) fn open(path: &Path) -> Result<Image> {
        Image::new(Bytes::map(path)?).map_err(|reason| Error::malformed(path, reason))
    }

    /// Opens an image in memory.
    pub(crate) fn from_bytes(bytes: Vec<u8>) -> Result<Image, String> {
        Image::new(Bytes::Owned(bytes))
    }

    fn new(bytes: Bytes) -> Result<Image, String> {
        if bytes.get(..8) != Some(MAGIC.as_slice()) {
            return Err("it is no compiled model".to_owned());
        }
        let version = u32_at(&bytes, 8).unwrap_or(0);
        if version != VERSION {
            return Err(format!(
                "it has format {version}, this program knows format {VERSION}; import the model again"
            ));
        }
        if u64_at(&bytes, LENGTH.start) != Some(bytes.len() as u64) {
            return Err("it is cut short or too long".to_owned());
        }
        let count = u32_at(&bytes, 12).unwrap_or(0) as usize;
        if count > MOST_SECTIONS {
            return Err("its header is damaged".to_owned());
        }
        let mut sections: Vec<(u32, Range<usize>)> = Vec::with_capacity(count);
        for index in 0..count {
            let range = entry(&bytes, ENTRIES + index * ENTRY);
            let Some((kind, range)) = range else {
                return Err("its header is damaged".to_owned());
            };
            if sections.iter().any(|(known, _)| *known == kind) {
                return Err("it has a section twice".to_owned());
            }
            sections.push((kind, range));
        }
        Ok(Image { bytes, sections })
    }

    /// The bytes of a section; none where the image does not have it.
    pub(crate) fn section(&self, section: Section) -> &[u8] {
        let is_wanted = |(kind, _): &&(u32, Range<usize>)| *kind == section as u32;
        let range = self.sections.iter().find(is_wanted);
        range
            .and_then(|(_, range)| self.bytes.get(range.clone()))
            .unwrap_or_default()
    }

    /// Reads everything and says whether it is what was written.
    pub(crate) fn verify(&self) -> bool {
        let hash = self.bytes.get(CHECKSUM.end..).map(blake3::hash);
        self.bytes.get(CHECKSUM) == hash.as_ref().map(|hash| hash.as_bytes().as_slice())
    }
}

fn entry(bytes: &[u8], at: usize) -> Option<(u32, Range<usize>)> {
    let kind = u32_at(bytes, at)?;
    let offset = usize::try_from(u64_at(bytes, at + 8)?).ok()?;
    let length = usize::try_from(u64_at(bytes, at + 16)?).ok()?;
    let end = offset.checked_add(length)?;
    (end <= bytes.len()).then_some((kind, offset..end))
}

/// The number at a place, if the bytes reach that far.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(four.try_into().ok()?))
}

/// The number at a place, if the bytes reach that far.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let eight = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(eight.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> Vec<u8> {
        let mut builder = Builder::default();
        builder.add(Section::Strings, b"abc".to_vec());
        builder.add(Section::Table, vec![7; 100]);
        builder.finish()
    }

    #[test]
    fn gives_sections_back() {
        let image = Image::from_bytes(image()).unwrap();
        assert_eq!(image.section(Section::Strings), b"abc");
        assert_eq!(image.section(Section::Table), [7; 100]);
        assert!(image.section(Section::Merges).is_empty());
        assert!(image.verify());
    }

    #[test]
    fn refuses_what_it_cannot_use() {
        let good = image();
        let refusal = |bytes: Vec<u8>| Image::from_bytes(bytes).err().unwrap();
        assert!(refusal(good[..good.len() - 1].to_vec()).contains("cut short"));
        assert!(refusal(b"PK\x03\x04".to_vec()).contains("no compiled model"));
        let mut newer = good.clone();
        newer[8] = 2;
        assert!(refusal(newer).contains("import the model again"));
        let mut far = good.clone();
        far[ENTRIES + 8..ENTRIES + 16].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(refusal(far).contains("header is damaged"));
        let mut twice = good;
        twice[ENTRIES] = Section::Table as u8;
        assert!(refusal(twice).contains("twice"));
    }

    #[test]
    fn notices_a_changed_byte() {
        let mut bytes = image();
        let last = bytes.len() - 60;
        bytes[last] ^= 1;
        assert!(!Image::from_bytes(bytes).unwrap().verify());
    }
}

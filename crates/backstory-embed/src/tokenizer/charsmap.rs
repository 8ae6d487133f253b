//! The precompiled normaliser of SentencePiece: a double-array trie of what is replaced, and the replacements.
//!
//! The section holds the length of the trie in bytes, the trie in 32-bit units and the replacements, each ended by a zero byte. A
//! unit has, from the top: the offset to its children, whether that is to be shifted further, whether a value follows, and the
//! byte that leads to it.

use unicode_segmentation::UnicodeSegmentation;

use crate::image::u32_at;

/// Longer graphemes are looked up character by character.
const LONGEST_GRAPHEME: usize = 5;

/// Replacements, ready to be used in place.
#[derive(Clone, Copy)]
pub(crate) struct Charsmap<'a> {
    trie: &'a [u8],
    replacements: &'a [u8],
}

impl<'a> Charsmap<'a> {
    /// Finds the parts of a section. What they hold is checked as it is used.
    pub(crate) fn new(bytes: &'a [u8]) -> Option<Self> {
        let length = u32_at(bytes, 0)? as usize;
        let trie = bytes.get(4..length.checked_add(4)?)?;
        let replacements = bytes.get(4 + length..)?;
        Some(Charsmap { trie, replacements })
    }

    /// The text with everything replaced that has a replacement.
    pub(crate) fn normalize(&self, text: &str) -> String {
        let mut normalized = String::with_capacity(text.len());
        if text.is_ascii() {
            // Graphemes are dear to find, and here there is only one of more than a character.
            let mut rest = text;
            while !rest.is_empty() {
                let length = if rest.starts_with("\r\n") { 2 } else { 1 };
                self.grapheme(&rest[..length], &mut normalized);
                rest = &rest[length..];
            }
        } else {
            for grapheme in text.graphemes(true) {
                self.grapheme(grapheme, &mut normalized);
            }
        }
        normalized
    }

    fn grapheme(&self, grapheme: &str, normalized: &mut String) {
        if grapheme.len() <= LONGEST_GRAPHEME
            && let Some(replacement) = self.find(grapheme)
        {
            normalized.push_str(replacement);
            return;
        }
        for (at, character) in grapheme.char_indices() {
            match self.find(&grapheme[at..at + character.len_utf8()]) {
                Some(replacement) => normalized.push_str(replacement),
                None => normalized.push(character),
            }
        }
    }

    /// The replacement of the shortest entry that the text starts with.
    fn find(&self, text: &str) -> Option<&'a str> {
        let mut place = offset(self.unit(0)?);
        for byte in text.bytes().take_while(|byte| *byte != 0) {
            place ^= byte as usize;
            let unit = self.unit(place)?;
            if unit & (1 << 31 | 0xff) != u32::from(byte) {
                return None;
            }
            place ^= offset(unit);
            if unit >> 8 & 1 == 1 {
                let start = self.unit(place)? & !(1 << 31);
                let rest = self.replacements.get(start as usize..)?;
                let end = rest.iter().position(|byte| *byte == 0);
                return std::str::from_utf8(&rest[..end.unwrap_or(rest.len())]).ok();
            }
        }
        None
    }

    fn unit(&self, place: usize) -> Option<u32> {
        u32_at(self.trie, place.checked_mul(4)?)
    }
}

fn offset(unit: u32) -> usize {
    ((unit >> 10) << ((unit & (1 << 9)) >> 6)) as usize
}

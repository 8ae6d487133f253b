//! Tokens by their bytes: an open-addressing hash table that is used where it lies.

use crate::image::{Builder, Image, Section, u32_at};

/// Ids above this are refused: a table by id would be large for nothing.
pub(crate) const MOST_TOKENS: usize = 1 << 22;

/// A slot is the low half of the hash and the id plus one; zero stands for an empty slot.
const SLOT: usize = 8;

/// The state of a hash that grows byte by byte, so that all the prefixes of a piece cost one pass over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Hash(u64);

impl Hash {
    pub(crate) fn new() -> Self {
        Hash(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) fn with(self, bytes: &[u8]) -> Self {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        Hash(bytes.iter().fold(self.0, step))
    }

    /// Where a search starts in a table of 2^`bits` slots.
    fn slot(self, bits: u32) -> usize {
        (self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)) as usize
    }

    /// The byte and the bit of a prefix in a filter of 2^`bits` bits.
    fn bit(self, bits: u32) -> (usize, u8) {
        let bit = self.0.wrapping_mul(0xd6e8_feb8_6659_fd93) >> (64 - bits);
        ((bit / 8) as usize, 1 << (bit % 8))
    }
}

/// The tokens of an image.
#[derive(Clone, Copy)]
pub(crate) struct Vocabulary<'a> {
    strings: &'a [u8],
    offsets: &'a [u8],
    slots: &'a [u8],
    bits: u32,
    prefixes: &'a [u8],
}

impl<'a> Vocabulary<'a> {
    /// The vocabulary of an image, if the image has one that can be used.
    pub(crate) fn new(image: &'a Image) -> Option<Self> {
        let slots = image.section(Section::Slots);
        let count = slots.len() / SLOT;
        let offsets = image.section(Section::Offsets);
        let fits = slots.len().is_multiple_of(SLOT)
            && count.is_power_of_two()
            && count > 1
            && offsets.len().is_multiple_of(4)
            && (4..=4 * (MOST_TOKENS + 1)).contains(&offsets.len());
        let prefixes = image.section(Section::Prefixes);
        let fits = fits && (prefixes.is_empty() || prefixes.len().is_power_of_two());
        fits.then(|| Vocabulary {
            strings: image.section(Section::Strings),
            offsets,
            slots,
            bits: count.trailing_zeros(),
            prefixes,
        })
    }

    /// How many ids there are.
    pub(crate) fn len(&self) -> usize {
        self.offsets.len() / 4 - 1
    }

    /// The token with these bytes.
    pub(crate) fn find(&self, token: &[u8]) -> Option<u32> {
        self.find_parts(b"", token, Hash::new().with(token))
    }

    /// The token made of two parts, by the hash of both.
    pub(crate) fn find_parts(&self, prefix: &[u8], rest: &[u8], hash: Hash) -> Option<u32> {
        let mask = (1 << self.bits) - 1;
        let mut slot = hash.slot(self.bits);
        for _ in 0..=mask {
            // The low half is the tag, the high one the id plus one.
            let content = u64::from_le_bytes(*self.slots.as_chunks::<SLOT>().0.get(slot)?);
            let id = ((content >> 32) as u32).checked_sub(1)?;
            if content as u32 == hash.0 as u32 && self.bytes(id)?.strip_prefix(prefix) == Some(rest)
            {
                return Some(id);
            }
            slot = (slot + 1) & mask;
        }
        None
    }

    /// Whether there may be a token that starts with what was hashed and goes on.
    pub(crate) fn may_go_on(&self, hash: Hash) -> bool {
        if self.prefixes.is_empty() {
            return true;
        }
        let (byte, bit) = hash.bit(self.prefixes.len().trailing_zeros() + 3);
        self.prefixes.get(byte).is_none_or(|byte| byte & bit != 0)
    }

    fn bytes(&self, id: u32) -> Option<&'a [u8]> {
        let at = (id as usize).checked_mul(4)?;
        let start = u32_at(self.offsets, at)? as usize;
        let end = u32_at(self.offsets, at + 4)? as usize;
        self.strings.get(start..end)
    }
}

/// Lays a vocabulary out. `count` is one more than the highest id; ids without bytes are found by nobody, and of two tokens with the
/// same bytes the later one is found.
pub(crate) fn build(tokens: &[(Vec<u8>, u32)], count: usize, builder: &mut Builder) {
    let mut by_id: Vec<&[u8]> = vec![&[]; count];
    for (bytes, id) in tokens {
        if let Some(place) = by_id.get_mut(*id as usize) {
            *place = bytes;
        }
    }
    let mut strings = Vec::new();
    let mut offsets = Vec::with_capacity(4 * (count + 1));
    for bytes in &by_id {
        offsets.extend_from_slice(&(strings.len() as u32).to_le_bytes());
        strings.extend_from_slice(bytes);
    }
    offsets.extend_from_slice(&(strings.len() as u32).to_le_bytes());

    // At most half full, so that a search ends after a slot or two.
    let slots = (2 * count).next_power_of_two().max(2);
    let bits = slots.trailing_zeros();
    let mut table: Vec<(u32, u32)> = vec![(0, 0); slots];
    for (id, bytes) in by_id.iter().enumerate() {
        if bytes.is_empty() {
            continue;
        }
        let hash = Hash::new().with(bytes);
        let mut slot = hash.slot(bits);
        while table[slot].1 != 0 && by_id[table[slot].1 as usize - 1] != *bytes {
            slot = (slot + 1) & (slots - 1);
        }
        table[slot] = (hash.0 as u32, id as u32 + 1);
    }
    let numbers = table.iter().flat_map(|(tag, id)| [*tag, *id]);
    builder.add(Section::Slots, numbers.flat_map(u32::to_le_bytes).collect());
    builder.add(Section::Strings, strings);
    builder.add(Section::Offsets, offsets);
}

/// Lays out which prefixes tokens have, for algorithms that try ever longer ones. Most places in a text are the start of few tokens,
/// and looking for all up to the longest takes three times as long.
pub(crate) fn build_prefixes(tokens: &[(Vec<u8>, u32)], builder: &mut Builder) {
    let hashes = tokens
        .iter()
        .filter_map(|(bytes, _)| std::str::from_utf8(bytes).ok());
    let mut hashes: Vec<Hash> = hashes.flat_map(prefixes).collect();
    hashes.sort_unstable();
    hashes.dedup();
    let bytes = hashes.len().next_power_of_two().max(8);
    let mut filter = vec![0; bytes];
    for hash in hashes {
        let (byte, bit) = hash.bit(bytes.trailing_zeros() + 3);
        filter[byte] |= bit;
    }
    builder.add(Section::Prefixes, filter);
}

/// The hash of every start of a token, but not of the whole.
fn prefixes(token: &str) -> impl Iterator<Item = Hash> {
    let ends = token.char_indices().map(|(at, _)| at).skip(1);
    ends.scan((0, Hash::new()), |(before, hash), end| {
        *hash = hash.with(&token.as_bytes()[*before..end]);
        *before = end;
        Some(*hash)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_every_token_and_nothing_else() {
        let mut tokens: Vec<(Vec<u8>, u32)> = (0..5000)
            .map(|n: u32| (format!("t{}", n * 7).into_bytes(), n))
            .collect();
        tokens.push((b"##x".to_vec(), 6000));
        let mut builder = Builder::default();
        build(&tokens, 6001, &mut builder);
        build_prefixes(&tokens, &mut builder);
        let image = Image::from_bytes(builder.finish()).unwrap();
        let vocabulary = Vocabulary::new(&image).unwrap();
        assert_eq!(vocabulary.len(), 6001);
        for (bytes, id) in &tokens {
            assert_eq!(vocabulary.find(bytes), Some(*id));
        }
        let hash = Hash::new().with(b"##").with(b"x");
        assert_eq!(vocabulary.find_parts(b"##", b"x", hash), Some(6000));
        assert_eq!(
            vocabulary.find_parts(b"", b"x", Hash::new().with(b"x")),
            None
        );
        assert_eq!(vocabulary.find(b""), None);
        assert_eq!(vocabulary.find(b"t1"), None);
        assert!(vocabulary.may_go_on(Hash::new().with(b"t349")));
        assert!(vocabulary.may_go_on(Hash::new().with(b"##")));
        assert!(!vocabulary.may_go_on(Hash::new().with(b"x")));
    }
}

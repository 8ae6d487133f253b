//! Byte-pair encoding: neighbours are merged, those first that were learnt first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::vocabulary::Vocabulary;
use crate::image::{Builder, Image, Section};

/// A slot is the pair, the rank plus one (zero for an empty slot) and the token that replaces the pair.
const SLOT: usize = 16;

/// The merges of an image.
#[derive(Clone, Copy)]
pub(crate) struct Merges<'a> {
    slots: &'a [u8],
    bits: u32,
    tokens: u32,
}

impl<'a> Merges<'a> {
    /// The merges of an image, if it has any that can be used.
    pub(crate) fn new(image: &'a Image, vocabulary: &Vocabulary<'_>) -> Option<Self> {
        let slots = image.section(Section::Merges);
        let count = slots.len() / SLOT;
        let fits = slots.len().is_multiple_of(SLOT) && count.is_power_of_two() && count > 1;
        fits.then(|| Merges {
            slots,
            bits: count.trailing_zeros(),
            tokens: vocabulary.len() as u32,
        })
    }

    /// The rank of a merge, and what it makes.
    fn find(&self, left: u32, right: u32) -> Option<(u32, u32)> {
        let mask = (1 << self.bits) - 1;
        let pair = pair(left, right);
        let mut slot = start(pair, self.bits);
        for _ in 0..=mask {
            let content = u128::from_le_bytes(*self.slots.as_chunks::<SLOT>().0.get(slot)?);
            let rank = ((content >> 64) as u32).checked_sub(1)?;
            if content as u64 == pair {
                let made = (content >> 96) as u32;
                return (made < self.tokens).then_some((rank, made));
            }
            slot = (slot + 1) & mask;
        }
        None
    }
}

/// A pair as it lies in a slot, the left token first.
fn pair(left: u32, right: u32) -> u64 {
    u64::from(right) << 32 | u64::from(left)
}

fn start(pair: u64, bits: u32) -> usize {
    (pair.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)) as usize
}

/// Lays merges out: pairs of tokens with what they become, by rank. Of a pair that comes twice the later one counts.
pub(crate) fn build(merges: &[(u32, u32, u32)], builder: &mut Builder) {
    let slots = (2 * merges.len()).next_power_of_two().max(2);
    let bits = slots.trailing_zeros();
    let mut table: Vec<[u32; 4]> = vec![[0; 4]; slots];
    for (rank, (left, right, made)) in merges.iter().enumerate() {
        let mut slot = start(pair(*left, *right), bits);
        while table[slot][2] != 0 && table[slot][..2] != [*left, *right] {
            slot = (slot + 1) & (slots - 1);
        }
        table[slot] = [*left, *right, rank as u32 + 1, *made];
    }
    let numbers = table.into_iter().flatten();
    builder.add(
        Section::Merges,
        numbers.flat_map(u32::to_le_bytes).collect(),
    );
}

/// What is needed while a piece is merged; kept from piece to piece.
#[derive(Default)]
pub(crate) struct Scratch {
    symbols: Vec<Symbol>,
    queue: BinaryHeap<Reverse<(u32, u32, u32)>>,
}

struct Symbol {
    token: u32,
    before: u32,
    after: u32,
    merged: bool,
}

/// Stands for "no neighbour".
const NONE: u32 = u32::MAX;

impl Scratch {
    /// Puts a token at the end of the piece that is to be merged.
    pub(crate) fn push(&mut self, token: u32) {
        let at = self.symbols.len() as u32;
        if let Some(last) = self.symbols.last_mut() {
            last.after = at;
        }
        self.symbols.push(Symbol {
            token,
            before: at.checked_sub(1).unwrap_or(NONE),
            after: NONE,
            merged: false,
        });
    }

    /// Merges what was pushed and moves it to `tokens`.
    pub(crate) fn merge(&mut self, merges: Merges<'_>, tokens: &mut Vec<u32>) {
        self.queue.clear();
        for at in 0..self.symbols.len() {
            self.offer(merges, at as u32);
        }
        while let Some(Reverse((_, at, made))) = self.queue.pop() {
            let symbol = &self.symbols[at as usize];
            if symbol.merged || symbol.after == NONE {
                continue;
            }
            // The neighbours may have been merged since this was put into the queue.
            let right = &self.symbols[symbol.after as usize];
            let now = merges.find(symbol.token, right.token);
            if now.is_none_or(|(_, now)| now != made) {
                continue;
            }
            let (gone, after, before) = (symbol.after, right.after, symbol.before);
            self.symbols[gone as usize].merged = true;
            self.symbols[at as usize].token = made;
            self.symbols[at as usize].after = after;
            if let Some(next) = self.symbols.get_mut(after as usize) {
                next.before = at;
            }
            self.offer(merges, before);
            self.offer(merges, at);
        }
        let kept = self.symbols.drain(..).filter(|symbol| !symbol.merged);
        tokens.extend(kept.map(|symbol| symbol.token));
    }

    /// Puts the merge of a symbol with the next one into the queue, if there is one.
    fn offer(&mut self, merges: Merges<'_>, at: u32) {
        let Some(symbol) = self.symbols.get(at as usize) else {
            return;
        };
        let Some(next) = self.symbols.get(symbol.after as usize) else {
            return;
        };
        if let Some((rank, made)) = merges.find(symbol.token, next.token) {
            self.queue.push(Reverse((rank, at, made)));
        }
    }
}

//! Scores blocks with AVX2, 32 rows at a time.
//!
//! The plain variant takes twenty times as long, more than a search may.

#![allow(
    unsafe_code,
    reason = "the instructions may only run where the processor has them, which is asked before each run"
)]

use std::arch::x86_64::*;

use super::{BLOCK_ROWS, Scores, Table};

pub(super) fn runs_here() -> bool {
    is_x86_feature_detected!("avx2")
}

pub(super) fn score(
    table: &Table,
    blocks: &[u8],
    floor: u16,
    scores: &mut [Scores],
    reached: &mut [u32],
) {
    if !runs_here() {
        return super::plain::score(table, blocks, floor, scores, reached);
    }
    // SAFETY: the processor has AVX2, asked the line before.
    unsafe { score_with_avx2(table, blocks, floor, scores, reached) }
}

pub(super) fn dot(query: &[i16], row: &[u8]) -> i64 {
    if !runs_here() {
        return super::plain::dot(query, row);
    }
    // SAFETY: the processor has AVX2, asked the line before.
    unsafe { dot_with_avx2(query, row) }
}

/// The compiler makes the plain code more than twice as fast when it may use these instructions.
#[target_feature(enable = "avx2")]
fn dot_with_avx2(query: &[i16], row: &[u8]) -> i64 {
    super::plain::dot(query, row)
}

#[target_feature(enable = "avx2")]
fn score_with_avx2(
    table: &Table,
    blocks: &[u8],
    floor: u16,
    scores: &mut [Scores],
    reached: &mut [u32],
) {
    // Codes are a multiple of eight bytes, so two columns can be taken at a time and no nibble is left over.
    let nibbles = table.nibbles().as_chunks::<4>().0;
    let floor = _mm256_set1_epi16(floor.cast_signed());
    let bytes = (nibbles.len() * 2 * BLOCK_ROWS).max(1);
    let mut results = scores.iter_mut().zip(reached);
    // Two blocks at a time need each entry of the table only once.
    let mut pairs = blocks.chunks_exact(2 * bytes);
    for pair in &mut pairs {
        let (left, right) = pair.split_at(bytes);
        let sums = sums(nibbles, [left, right]);
        for (sums, result) in sums.into_iter().zip(&mut results) {
            finish(sums, floor, result);
        }
    }
    for (block, result) in pairs.remainder().chunks_exact(bytes).zip(results) {
        let [sums] = sums(nibbles, [block]);
        finish(sums, floor, result);
    }
}

/// The sums of the 32 rows of each block, of rows 0 to 7 and 16 to 23, and of rows 8 to 15 and 24 to 31.
#[target_feature(enable = "avx2")]
#[inline]
fn sums<const BLOCKS: usize>(
    nibbles: &[[[u8; 16]; 4]],
    blocks: [&[u8]; BLOCKS],
) -> [[__m256i; 2]; BLOCKS] {
    let mask = _mm256_set1_epi8(15);
    let mut both = [_mm256_setzero_si256(); BLOCKS];
    let mut odd = [_mm256_setzero_si256(); BLOCKS];
    let blocks =
        blocks.map(|block| &block.as_chunks::<BLOCK_ROWS>().0.as_chunks::<2>().0[..nibbles.len()]);
    for (at, entries) in nibbles.iter().enumerate() {
        let [table0, table1, table2, table3] = entries.each_ref().map(|entries| spread(entries));
        for block in 0..BLOCKS {
            let [first, second] = blocks[block][at].each_ref().map(|column| load(column));
            let add0 = _mm256_shuffle_epi8(table0, _mm256_and_si256(first, mask));
            let add1 = _mm256_shuffle_epi8(
                table1,
                _mm256_and_si256(_mm256_srli_epi16::<4>(first), mask),
            );
            let add2 = _mm256_shuffle_epi8(table2, _mm256_and_si256(second, mask));
            let add3 = _mm256_shuffle_epi8(
                table3,
                _mm256_and_si256(_mm256_srli_epi16::<4>(second), mask),
            );
            // Four entries fit a byte.
            let add = _mm256_add_epi8(_mm256_add_epi8(add0, add1), _mm256_add_epi8(add2, add3));
            // Read as 16-bit numbers, each holds an even row in its lower half and an odd one in its upper half. The odd rows
            // are added up on their own; what they have put into the other sum is taken away at the end.
            both[block] = _mm256_add_epi16(both[block], add);
            odd[block] = _mm256_add_epi16(odd[block], _mm256_srli_epi16::<8>(add));
        }
    }
    std::array::from_fn(|block| {
        let even = _mm256_sub_epi16(both[block], _mm256_slli_epi16::<8>(odd[block]));
        [
            _mm256_unpacklo_epi16(even, odd[block]),
            _mm256_unpackhi_epi16(even, odd[block]),
        ]
    })
}

#[target_feature(enable = "avx2")]
#[inline]
fn finish([low, high]: [__m256i; 2], floor: __m256i, (scores, reached): (&mut Scores, &mut u32)) {
    // Of 16-bit numbers without a sign, one is at least the other when it is the larger of the two.
    let low_reached = _mm256_cmpeq_epi16(_mm256_max_epu16(low, floor), low);
    let high_reached = _mm256_cmpeq_epi16(_mm256_max_epu16(high, floor), high);
    *reached = _mm256_movemask_epi8(_mm256_packs_epi16(low_reached, high_reached)).cast_unsigned();
    if *reached != 0 {
        store(scores, low, high);
    }
}

#[target_feature(enable = "avx2")]
fn load(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: reads the 32 bytes that the reference names; they may lie anywhere.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

/// The same sixteen bytes in both halves.
#[target_feature(enable = "avx2")]
fn spread(bytes: &[u8; 16]) -> __m256i {
    // SAFETY: reads the 16 bytes that the reference names; they may lie anywhere.
    _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
}

#[target_feature(enable = "avx2")]
fn store(scores: &mut Scores, low: __m256i, high: __m256i) {
    let [first, second] = scores.as_chunks_mut::<16>().0 else {
        return;
    };
    // SAFETY: each writes the 32 bytes of sixteen scores that the reference names; they may lie anywhere.
    unsafe {
        _mm256_storeu_si256(
            first.as_mut_ptr().cast(),
            _mm256_permute2x128_si256::<0x20>(low, high),
        );
        _mm256_storeu_si256(
            second.as_mut_ptr().cast(),
            _mm256_permute2x128_si256::<0x31>(low, high),
        );
    }
}

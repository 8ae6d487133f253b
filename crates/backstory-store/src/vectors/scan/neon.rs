//! Scores blocks with NEON, 32 rows at a time.

#![allow(
    unsafe_code,
    reason = "the instructions may only run where the processor has them, which is asked before each run"
)]

use std::arch::aarch64::*;
use std::arch::is_aarch64_feature_detected;

use super::{BLOCK_ROWS, Scores, Table};

pub(super) fn runs_here() -> bool {
    is_aarch64_feature_detected!("neon")
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
    // SAFETY: the processor has NEON, asked the line before.
    unsafe { score_with_neon(table, blocks, floor, scores, reached) }
}

#[target_feature(enable = "neon")]
fn score_with_neon(
    table: &Table,
    blocks: &[u8],
    floor: u16,
    scores: &mut [Scores],
    reached: &mut [u32],
) {
    // Codes are a multiple of eight bytes, so two columns can be taken at a time and no nibble is left over.
    let nibbles = table.nibbles().as_chunks::<4>().0;
    let blocks = blocks.chunks_exact((nibbles.len() * 2 * BLOCK_ROWS).max(1));
    for ((block, scores), reached) in blocks.zip(scores).zip(reached) {
        let columns = block.as_chunks::<BLOCK_ROWS>().0.as_chunks::<2>().0;
        let sums = sums(nibbles, columns);
        let mut bits = 0;
        for (at, sums) in sums.into_iter().enumerate() {
            bits |= u32::from(reached_bits(sums, floor)) << (at * 8);
        }
        *reached = bits;
        if bits != 0 {
            store(scores, sums);
        }
    }
}

/// The sums of the 32 rows of a block, eight at a time.
#[target_feature(enable = "neon")]
fn sums(nibbles: &[[[u8; 16]; 4]], columns: &[[[u8; BLOCK_ROWS]; 2]]) -> [uint16x8_t; 4] {
    let mask = vdupq_n_u8(15);
    let mut sums = [vdupq_n_u16(0); 4];
    for (column, entries) in columns.iter().zip(nibbles) {
        let [table0, table1, table2, table3] = entries.each_ref().map(|entries| load(entries));
        for half in 0..2 {
            let [first, second] = column
                .each_ref()
                .map(|column| load(&column.as_chunks().0[half]));
            let add0 = vqtbl1q_u8(table0, vandq_u8(first, mask));
            let add1 = vqtbl1q_u8(table1, vshrq_n_u8::<4>(first));
            let add2 = vqtbl1q_u8(table2, vandq_u8(second, mask));
            let add3 = vqtbl1q_u8(table3, vshrq_n_u8::<4>(second));
            // Four entries fit a byte.
            let add = vaddq_u8(vaddq_u8(add0, add1), vaddq_u8(add2, add3));
            sums[half * 2] = vaddw_u8(sums[half * 2], vget_low_u8(add));
            sums[half * 2 + 1] = vaddw_high_u8(sums[half * 2 + 1], add);
        }
    }
    sums
}

/// A bit for each of eight rows: whether it has at least `floor`.
#[target_feature(enable = "neon")]
fn reached_bits(sums: uint16x8_t, floor: u16) -> u8 {
    let reached = vmovn_u16(vcgeq_u16(sums, vdupq_n_u16(floor)));
    let weights = vcreate_u8(0x8040_2010_0804_0201);
    vaddv_u8(vand_u8(reached, weights))
}

#[target_feature(enable = "neon")]
fn load(bytes: &[u8; 16]) -> uint8x16_t {
    // SAFETY: reads the 16 bytes that the reference names; they may lie anywhere.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

#[target_feature(enable = "neon")]
fn store(scores: &mut Scores, sums: [uint16x8_t; 4]) {
    for (scores, sums) in scores.as_chunks_mut::<8>().0.iter_mut().zip(sums) {
        // SAFETY: writes the eight scores that the reference names; they may lie anywhere.
        unsafe { vst1q_u16(scores.as_mut_ptr(), sums) }
    }
}

//! Scores without special instructions.

use super::{BLOCK_ROWS, Scores, Table};

pub(super) fn score(
    table: &Table,
    blocks: &[u8],
    floor: u16,
    scores: &mut [Scores],
    reached: &mut [u32],
) {
    let nibbles = table.nibbles();
    let blocks = blocks.chunks_exact((nibbles.len() / 2 * BLOCK_ROWS).max(1));
    for ((block, scores), reached) in blocks.zip(scores).zip(reached) {
        *scores = [0; BLOCK_ROWS];
        let columns = block.as_chunks::<BLOCK_ROWS>().0;
        for (column, [low, high]) in columns.iter().zip(nibbles.as_chunks().0) {
            for (score, byte) in scores.iter_mut().zip(column) {
                *score += u16::from(low[usize::from(byte & 15)])
                    + u16::from(high[usize::from(byte >> 4)]);
            }
        }
        *reached =
            (scores.iter().rev()).fold(0, |bits, score| bits << 1 | u32::from(*score >= floor));
    }
}

/// Written so that the compiler makes vector instructions of it, those of the function that it ends up in.
#[inline(always)]
pub(super) fn dot(query: &[i16], row: &[u8]) -> i64 {
    let Some((upper, lower)) = row.split_at_checked(query.len()) else {
        return 0;
    };
    let (left, right) = query.split_at(query.len() / 2);
    let upper = sum(query, upper, u8::cast_signed);
    let lower = sum(left, lower, |byte| (byte << 4).cast_signed() >> 4)
        + sum(right, lower, |byte| byte.cast_signed() >> 4);
    i64::from(upper) * 16 + i64::from(lower)
}

#[inline(always)]
fn sum(query: &[i16], row: &[u8], value: impl Fn(u8) -> i8) -> i32 {
    let products = query
        .iter()
        .zip(row)
        .map(|(query, byte)| i32::from(*query) * i32::from(value(*byte)));
    products.sum()
}

//! What each value of each nibble of a code adds to the score of a row.

use super::super::shape::Shape;

/// The table of one query: sixteen entries for each nibble of a code.
#[derive(Debug)]
pub(in super::super) struct Table {
    entries: Vec<u8>,
    most: u16,
}

impl Table {
    /// Entries are this large at most: four of them fit a byte, which halves the work of adding up, and those of 4,096 dimensions
    /// fit sixteen bits. On real vectors the rounding costs nothing next to that of the codes.
    pub(super) const MOST_ENTRY: u8 = 63;

    /// Makes the table of a query that was turned as the rows were.
    pub(in super::super) fn new(shape: &Shape, query: &[f32]) -> Self {
        let sums: Vec<[f32; 16]> = (0..shape.code_bytes() * 2)
            .map(|nibble| sums(shape, query, nibble))
            .collect();
        let lowest = |sums: &[f32; 16]| sums.iter().copied().fold(f32::INFINITY, f32::min);
        let highest = |sums: &[f32; 16]| sums.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let widest = sums
            .iter()
            .map(|sums| highest(sums) - lowest(sums))
            .fold(f32::MIN_POSITIVE, f32::max);
        let scale = f32::from(Self::MOST_ENTRY) / widest;
        // Each nibble's entries start at zero: what is taken away is the same for every row.
        let entries = sums
            .iter()
            .flat_map(|sums| {
                let lowest = lowest(sums);
                sums.map(|sum| ((sum - lowest) * scale).round() as u8)
            })
            .collect();
        Table::of_entries(entries)
    }

    pub(super) fn of_entries(entries: Vec<u8>) -> Self {
        let most = entries
            .chunks_exact(16)
            .map(|nibble| u16::from(nibble.iter().copied().max().unwrap_or_default()))
            .sum();
        Table { entries, most }
    }

    /// The highest score that a row could get.
    pub(in super::super) fn most(&self) -> u16 {
        self.most
    }

    /// The entries of each nibble, in the order of the code.
    pub(super) fn nibbles(&self) -> &[[u8; 16]] {
        self.entries.as_chunks().0
    }
}

/// What the sixteen values of one nibble add.
fn sums(shape: &Shape, query: &[f32], nibble: usize) -> [f32; 16] {
    let each = 4 / shape.bits();
    let middle = (shape.levels() - 1) as f32 / 2.0;
    std::array::from_fn(|value| {
        (0..each)
            .map(|at| {
                let level = (value >> (at * shape.bits())) & (shape.levels() - 1);
                // Dimensions beyond the last one only fill the code up.
                let weight = query.get(nibble * each + at).copied().unwrap_or_default();
                weight * (level as f32 - middle)
            })
            .sum()
    })
}

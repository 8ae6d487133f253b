//! Keeps the best of many scores as they come.
//!
//! Scores are small whole numbers, so counting how often each came tells the lowest one that still matters, and most rows are left out
//! without being compared with another.

use std::cmp::Reverse;

/// Scores are counted in about this many classes.
const CLASSES: u32 = 4096;

/// The best rows so far.
#[derive(Debug)]
pub(super) struct Selection {
    limit: usize,
    /// By how many bits a score is shortened to get its class.
    shift: u32,
    counts: Vec<u32>,
    /// The lowest class that a further row must have.
    class: usize,
    /// How many rows of this class or a higher one there are.
    within: usize,
    /// Rows and their scores, in the order in which they came: that of their numbers.
    rows: Vec<(u32, u16)>,
}

impl Selection {
    /// For the best `limit` rows, at least one, with scores up to `most`.
    pub(super) fn new(limit: usize, most: u16) -> Self {
        let mut shift = 0;
        while u32::from(most) >> shift >= CLASSES {
            shift += 1;
        }
        Selection {
            limit: limit.max(1),
            shift,
            counts: vec![0; usize::from(most >> shift) + 1],
            class: 0,
            within: 0,
            rows: Vec::new(),
        }
    }

    /// The lowest score that a further row must have.
    pub(super) fn floor(&self) -> u16 {
        u16::try_from(self.class << self.shift).unwrap_or(u16::MAX)
    }

    /// Adds a row, unless its score is too low.
    pub(super) fn offer(&mut self, row: u32, score: u16) {
        let class = usize::from(score >> self.shift);
        if class < self.class || class >= self.counts.len() {
            return;
        }
        self.rows.push((row, score));
        self.counts[class] += 1;
        self.within += 1;
        // When there are enough rows of a class and above, a further one of that class would come after them all.
        while self.within >= self.limit {
            self.within -= self.counts[self.class] as usize;
            self.class += 1;
        }
    }

    /// The best rows, best first; within a class in the order in which they came.
    pub(super) fn finish(self) -> Vec<u32> {
        let mut left = self.limit - self.within;
        let mut chosen = self.rows;
        chosen.retain(|(_, score)| {
            let class = usize::from(score >> self.shift);
            if class + 1 == self.class && left > 0 {
                left -= 1;
                return true;
            }
            class >= self.class
        });
        chosen.sort_unstable_by_key(|(row, score)| (Reverse(score >> self.shift), *row));
        chosen.iter().map(|(row, _)| *row).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn selects_what_sorting_selects(
            limit in 1usize..20,
            most in prop_oneof![Just(30u16), Just(5000), Just(64_000)],
            scores in proptest::collection::vec(any::<u16>(), 0..200),
        ) {
            let scores: Vec<u16> = scores.iter().map(|score| score % (most + 1)).collect();
            let mut selection = Selection::new(limit, most);
            let shift = selection.shift;
            for (row, score) in scores.iter().enumerate() {
                // A scan leaves out what is below the floor.
                if *score >= selection.floor() {
                    selection.offer(row as u32, *score);
                }
            }
            let mut expected: Vec<u32> = (0..scores.len() as u32).collect();
            expected.sort_by_key(|row| Reverse(scores[*row as usize] >> shift));
            expected.truncate(limit);
            prop_assert_eq!(selection.finish(), expected);
        }
    }
}

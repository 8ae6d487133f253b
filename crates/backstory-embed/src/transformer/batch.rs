//! Texts that go through a network together, and how the vectors of their tokens become one vector for each.

use std::ops::Range;

use super::numbers;

/// How many tokens are run together. Larger batches were not faster, and with smaller ones all threads have something to do.
const TOKENS: usize = 256;

/// The tokens of some texts, one text behind the other.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) ids: Vec<u32>,
    pub(super) texts: Vec<Range<usize>>,
}

/// How the vectors of tokens become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pooling {
    /// Their mean.
    Mean,
    /// The vector of the first token.
    First,
    /// The vector of the last token.
    Last,
}

/// Puts texts together, in their order.
pub(super) fn batches(texts: impl Iterator<Item = Vec<u32>>) -> Vec<Batch> {
    let mut batches: Vec<Batch> = Vec::new();
    for text in texts {
        let fits = |batch: &&Batch| batch.ids.len() + text.len() <= TOKENS;
        if batches.last().filter(fits).is_none() {
            batches.push(Batch::default());
        }
        if let Some(batch) = batches.last_mut() {
            batch.push(&text);
        }
    }
    batches
}

impl Batch {
    fn push(&mut self, text: &[u32]) {
        let start = self.ids.len();
        self.ids.extend_from_slice(text);
        self.texts.push(start..self.ids.len());
    }

    /// The position of each token within its text.
    pub(super) fn positions(&self) -> impl Iterator<Item = usize> {
        self.texts.iter().flat_map(|text| 0..text.len())
    }

    /// One vector for each text, given one for each token.
    pub(super) fn pool(&self, values: &[f32], pooling: Pooling) -> Vec<f32> {
        let width = values.len() / self.ids.len().max(1);
        let row = |token: usize| &values[token * width..(token + 1) * width];
        let mut pooled = Vec::with_capacity(self.texts.len() * width);
        for text in &self.texts {
            match pooling {
                Pooling::First => pooled.extend_from_slice(row(text.start)),
                Pooling::Last => pooled.extend_from_slice(row(text.end - 1)),
                Pooling::Mean => {
                    let mut sum = vec![0.0; width];
                    text.clone()
                        .for_each(|token| numbers::add(&mut sum, row(token)));
                    pooled.extend(sum.iter().map(|value| value / text.len() as f32));
                }
            }
        }
        pooled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_put_together_in_their_order() {
        let texts = [
            vec![1; 100],
            vec![2; 156],
            vec![3; 13],
            vec![4; 2_000],
            vec![5; 1],
        ];
        let batches = batches(texts.iter().cloned());
        let lengths: Vec<Vec<usize>> = batches
            .iter()
            .map(|batch| batch.texts.iter().map(Range::len).collect())
            .collect();
        assert_eq!(lengths, [vec![100, 156], vec![13], vec![2_000], vec![1]]);
        let ids: Vec<u32> = batches
            .iter()
            .flat_map(|batch| batch.ids.iter().copied())
            .collect();
        assert_eq!(ids, texts.concat());
        assert_eq!(batches[0].positions().nth(101), Some(1));
    }

    #[test]
    fn pools_each_text_for_itself() {
        let [batch] = &batches([vec![7, 7], vec![7, 7, 7]].into_iter())[..] else {
            unreachable!()
        };
        let values: Vec<f32> = (0..10).map(|value| value as f32).collect();
        assert_eq!(batch.pool(&values, Pooling::Mean), [1.0, 2.0, 6.0, 7.0]);
        assert_eq!(batch.pool(&values, Pooling::First), [0.0, 1.0, 4.0, 5.0]);
        assert_eq!(batch.pool(&values, Pooling::Last), [2.0, 3.0, 8.0, 9.0]);
    }
}

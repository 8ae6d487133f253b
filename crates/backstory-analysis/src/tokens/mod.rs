//! Counts of tokens, without a vocabulary.
//!
//! Reading the vocabulary of a tokenizer takes longer than a hook may. But most of what a tokenizer does is cutting: `o200k_base`
//! first cuts a text into words, numbers and punctuation by a fixed pattern, and nine in ten of these pieces are one token. So
//! `cut.rs` cuts exactly as the pattern does, and `cost.rs` estimates the tokens of a piece by what kind it is, how long it is
//! and which three characters in a row it has, with the fitted numbers of `rates.rs`.
//!
//! Of a few hundred tokens and more the estimate is within some percent, whatever the text is; of a single word it is a guess. What is
//! repeated a hundred times repeats its error: a list of paths below one odd folder can be a tenth off.

mod cost;
mod cut;
mod rates;
#[cfg(test)]
mod tests;
mod triples;

/// Estimates the number of tokens of a text for `o200k_base`: 0 only for an empty text, never more than it has bytes.
pub fn count_tokens(text: &str) -> usize {
    let cost: u64 = cut::pieces(text).map(|piece| cost::of(&piece)).sum();
    // A budget is better kept than filled.
    usize::try_from(cost.div_ceil(rates::TOKEN.unsigned_abs().into())).unwrap_or(usize::MAX)
}

//! Lays the model of a `tokenizer.json` out: its vocabulary, merges and scores.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::settings::{Algorithm, Splitter};
use super::vocabulary::MOST_TOKENS;
use super::{bpe, bytelevel, vocabulary};
use crate::image::{Builder, Section};

/// The part of the file that is the model; which fields count depends on its type.
#[derive(Deserialize)]
pub(super) struct ModelJson<'a> {
    pub(super) r#type: Option<String>,
    #[serde(borrow)]
    vocab: &'a RawValue,
    #[serde(borrow)]
    pub(super) merges: Option<&'a RawValue>,
    unk_token: Option<String>,
    unk_id: Option<u32>,
    continuing_subword_prefix: Option<String>,
    end_of_word_suffix: Option<String>,
    max_input_chars_per_word: Option<usize>,
    dropout: Option<f64>,
    #[serde(default)]
    fuse_unk: bool,
    #[serde(default)]
    byte_fallback: bool,
    #[serde(default)]
    ignore_merges: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum MergeJson {
    Joined(String),
    Pair(String, String),
}

/// The model of a `tokenizer.json`, and what else decides its tables.
pub(super) struct Model<'a> {
    pub(super) json: ModelJson<'a>,
    /// Tokens that text never becomes.
    pub(super) special: &'a BTreeMap<String, u32>,
    /// The highest id of an added token.
    pub(super) added: Option<u32>,
}

impl Model<'_> {
    pub(super) fn word_piece(&self, builder: &mut Builder) -> Result<Algorithm, String> {
        let vocabulary = self.map()?;
        let tokens = self.tokens(&vocabulary, |token| token.as_bytes().to_vec());
        vocabulary::build(&tokens, self.count(&vocabulary)?, builder);
        vocabulary::build_prefixes(&tokens, builder);
        let unknown = self.json.unk_token.as_deref().unwrap_or("[UNK]");
        Ok(Algorithm::WordPiece {
            unknown: self.unknown(unknown, &vocabulary)?,
            prefix: self
                .json
                .continuing_subword_prefix
                .clone()
                .unwrap_or("##".to_owned()),
            most_characters: self.json.max_input_chars_per_word.unwrap_or(100),
            longest: longest(&tokens),
        })
    }

    pub(super) fn bpe(
        &self,
        byte_level: bool,
        splitters: &mut Vec<Splitter>,
        builder: &mut Builder,
    ) -> Result<Algorithm, String> {
        let is_set = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
        if is_set(&self.json.continuing_subword_prefix) || is_set(&self.json.end_of_word_suffix) {
            return Err("its tokens are marked within words, which is not known".to_owned());
        }
        if self.json.dropout.is_some_and(|dropout| dropout > 0.0) {
            return Err("it leaves merges out at random".to_owned());
        }
        let vocabulary = self.map()?;
        let bytes = |token: &str| match byte_level.then(|| bytelevel::decode(token)).flatten() {
            Some(bytes) => bytes,
            None => token.as_bytes().to_vec(),
        };
        let tokens = self.tokens(&vocabulary, bytes);
        vocabulary::build(&tokens, self.count(&vocabulary)?, builder);

        let merges = self.json.merges.ok_or("it has no merges")?;
        let merges: Vec<MergeJson> =
            serde_json::from_str(merges.get()).map_err(|error| error.to_string())?;
        // Where no token has a space in its middle, merging word by word gives the same, and much sooner.
        let mut by_word = !byte_level && !self.json.ignore_merges && vocabulary.contains_key(MARK);
        let mut rows = Vec::with_capacity(merges.len());
        let mut made = String::new();
        for merge in &merges {
            let (left, right) = match merge {
                MergeJson::Joined(joined) => joined
                    .split_once(' ')
                    .ok_or_else(|| format!("the merge {joined:?} is no pair"))?,
                MergeJson::Pair(left, right) => (left.as_str(), right.as_str()),
            };
            made.clear();
            made.push_str(left);
            made.push_str(right);
            let id = |token: &str| {
                let id = vocabulary.get(token).copied();
                id.ok_or_else(|| {
                    format!("the merge of {left:?} and {right:?} needs a token that is not there")
                })
            };
            rows.push((id(left)?, id(right)?, id(&made)?));
            if made.trim_start_matches(MARK).contains(MARK) {
                by_word = false;
            }
        }
        bpe::build(&rows, builder);
        if by_word {
            splitters.extend(MARK.chars().map(Splitter::Before));
        }
        let unknown = self.json.unk_token.as_deref();
        Ok(Algorithm::Bpe {
            unknown: unknown
                .map(|token| self.unknown(token, &vocabulary))
                .transpose()?,
            fuse_unknown: self.json.fuse_unk,
            byte_fallback: self.json.byte_fallback,
            byte_level,
            ignore_merges: self.json.ignore_merges,
        })
    }

    pub(super) fn unigram(&self, builder: &mut Builder) -> Result<Algorithm, String> {
        let vocabulary: Vec<(String, f64)> =
            serde_json::from_str(self.json.vocab.get()).map_err(|error| error.to_string())?;
        let tokens: Vec<(Vec<u8>, u32)> = vocabulary
            .iter()
            .zip(0..)
            .filter(|((token, _), _)| !self.special.contains_key(token))
            .map(|((token, _), id)| (token.as_bytes().to_vec(), id))
            .collect();
        let count = self.highest(vocabulary.len())?;
        vocabulary::build(&tokens, count, builder);
        vocabulary::build_prefixes(&tokens, builder);
        let scores = vocabulary
            .iter()
            .flat_map(|(_, score)| score.to_bits().to_le_bytes());
        builder.add(Section::Scores, scores.collect());
        let unknown = self.json.unk_id.filter(|id| (*id as usize) < count);
        if unknown != self.json.unk_id {
            return Err("its unknown token is not there".to_owned());
        }
        let lowest = vocabulary
            .iter()
            .map(|(_, score)| *score)
            .fold(f64::INFINITY, f64::min);
        Ok(Algorithm::Unigram {
            unknown,
            byte_fallback: self.json.byte_fallback,
            lowest_score: if lowest.is_finite() { lowest } else { 0.0 },
            longest: longest(&tokens),
        })
    }

    /// The tokens that text can become.
    fn tokens(
        &self,
        vocabulary: &HashMap<String, u32>,
        bytes: impl Fn(&str) -> Vec<u8>,
    ) -> Vec<(Vec<u8>, u32)> {
        let plain = vocabulary
            .iter()
            .filter(|(token, _)| !self.special.contains_key(*token));
        plain.map(|(token, id)| (bytes(token), *id)).collect()
    }

    fn map(&self) -> Result<HashMap<String, u32>, String> {
        serde_json::from_str(self.json.vocab.get()).map_err(|error| error.to_string())
    }

    fn unknown(&self, token: &str, vocabulary: &HashMap<String, u32>) -> Result<u32, String> {
        let id = vocabulary.get(token).or(self.special.get(token));
        id.copied()
            .ok_or_else(|| format!("its unknown token {token:?} is not there"))
    }

    fn count(&self, vocabulary: &HashMap<String, u32>) -> Result<usize, String> {
        self.highest(
            vocabulary
                .values()
                .max()
                .map_or(0, |highest| *highest as usize + 1),
        )
    }

    /// One more than the highest id of a model or added token.
    fn highest(&self, of_model: usize) -> Result<usize, String> {
        let count = of_model.max(self.added.map_or(0, |id| id as usize + 1));
        match count {
            0 => Err("it has no tokens".to_owned()),
            count if count > MOST_TOKENS => {
                Err(format!("it has ids up to {count}, which is too many"))
            }
            count => Ok(count),
        }
    }
}

/// How SentencePiece shows a space.
const MARK: &str = "▁";

fn longest(tokens: &[(Vec<u8>, u32)]) -> usize {
    tokens
        .iter()
        .map(|(bytes, _)| bytes.len())
        .max()
        .unwrap_or(0)
}

//! How a tokenizer prepares and cuts text: what is kept of a `tokenizer.json` beside its tables.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Everything of a tokenizer that is small.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Settings {
    /// What is done to the text, in this order.
    pub(crate) normalizers: Vec<Normalizer>,
    /// How it is cut before tokens are looked for, in this order.
    pub(crate) splitters: Vec<Splitter>,
    /// How a piece becomes tokens.
    pub(crate) algorithm: Algorithm,
    /// Tokens that text never becomes, for they mark something: the start, the end, a gap.
    pub(crate) special: BTreeMap<String, u32>,
}

/// A change to the whole text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Normalizer {
    /// The four steps of BERT.
    Bert {
        clean: bool,
        space_ideographs: bool,
        strip_accents: bool,
        lowercase: bool,
    },
    /// Puts something before a text that is not empty.
    Prepend(String),
    /// Replaces every occurrence.
    Replace { from: String, to: String },
    /// Replaces every run of two or more spaces.
    ReplaceSpaces(String),
    /// Canonical composition.
    Nfc,
    /// Canonical decomposition.
    Nfd,
    /// Compatibility composition.
    Nfkc,
    /// Compatibility decomposition.
    Nfkd,
    /// Lower case, character by character.
    Lowercase,
    /// Drops combining marks.
    StripAccents,
    /// Drops white space at the ends.
    Strip { left: bool, right: bool },
    /// The replacements in the section of that name.
    Charsmap,
}

/// A way to cut text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Splitter {
    /// At white space, and around every punctuation mark.
    Bert,
    /// At white space.
    Whitespace,
    /// Shows spaces as a visible mark and cuts before each mark.
    Metaspace {
        mark: char,
        prepend: Prepend,
        split: bool,
    },
    /// Puts a space before a piece that has none.
    PrefixSpace,
    /// Into words with the space before them, by a known pattern.
    Words(Pattern),
    /// Before each such character that does not follow another. Only where no token has it in its middle, so that it changes nothing
    /// but the time it takes.
    Before(char),
}

/// Which pieces get a mark put before them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Prepend {
    Always,
    First,
    Never,
}

/// The patterns of byte-level tokenizers. They are matched by hand, see `pattern.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Pattern {
    /// That of GPT-2.
    Gpt2,
    /// That of Qwen (one digit at a time) and Llama 3 (three).
    Digits(u8),
}

/// How a piece becomes tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Algorithm {
    /// The longest token first.
    WordPiece {
        unknown: u32,
        /// What tokens within a word start with.
        prefix: String,
        /// Words of more characters are unknown.
        most_characters: usize,
        /// The longest token in bytes.
        longest: usize,
    },
    /// Pairs merged in the order in which they were learnt.
    Bpe {
        unknown: Option<u32>,
        fuse_unknown: bool,
        /// Whether a character without a token becomes its bytes.
        byte_fallback: bool,
        /// Whether tokens are bytes rather than characters.
        byte_level: bool,
        /// Whether a piece that is a token is left whole.
        ignore_merges: bool,
    },
    /// The most probable sequence.
    Unigram {
        unknown: Option<u32>,
        byte_fallback: bool,
        lowest_score: f64,
        /// The longest token in bytes.
        longest: usize,
    },
}

impl Algorithm {
    /// The token of what has no token.
    pub(crate) fn unknown(&self) -> Option<u32> {
        match self {
            Algorithm::WordPiece { unknown, .. } => Some(*unknown),
            Algorithm::Bpe { unknown, .. } | Algorithm::Unigram { unknown, .. } => *unknown,
        }
    }
}

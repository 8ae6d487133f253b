//! From text to the numbers of its tokens.
//!
//! Reads the `tokenizer.json` of the Hugging Face tokenizers, as far as embedding models need it: WordPiece after BERT's
//! normaliser, byte-pair encoding in the manner of SentencePiece and of GPT-2, and Unigram. The tables are used in the form that
//! `model.bin` has (see `image.rs`), whether they come from there or from a `tokenizer.json`.
//!
//! Text is text: a `[CLS]` or `</s>` within it never becomes the special token of that name. Otherwise the tokens are those of the
//! `tokenizers` package, except around characters that its older Unicode tables do not know: what is punctuation there, and in
//! which order combining marks stand.

mod bpe;
mod bytelevel;
mod category;
mod charsmap;
mod json;
mod normalize;
mod pattern;
mod settings;
mod split;
mod tables;
#[cfg(test)]
mod tests;
mod unigram;
mod vocabulary;
mod wordpiece;

use std::path::Path;
use std::sync::Arc;

use self::bpe::Merges;
use self::charsmap::Charsmap;
use self::settings::{Algorithm, Normalizer, Settings};
use self::unigram::Unigram;
use self::vocabulary::Vocabulary;
use crate::image::{Builder, Image, Section};
use crate::{Error, Result};

/// Cuts text into the tokens of a model.
pub struct Tokenizer {
    image: Arc<Image>,
    settings: Settings,
    length: usize,
    /// The tokens of single bytes, where the algorithm has use for them.
    bytes: Box<[Option<u32>; 256]>,
    /// The tokens of single characters, for byte-pair encoding starts with them.
    ascii: Box<[Option<u32>; 128]>,
}

impl Tokenizer {
    /// Reads a Hugging Face `tokenizer.json`. Errors name the file so.
    pub fn from_json(json: &[u8]) -> Result<Tokenizer> {
        let read = || {
            let mut builder = Builder::default();
            compile(json, &mut builder)?;
            Tokenizer::from_image(Arc::new(Image::from_bytes(builder.finish())?))
        };
        read().map_err(|reason| Error::malformed(Path::new("tokenizer.json"), reason))
    }

    /// Uses the sections of an image; the error says what is wrong with them.
    pub(crate) fn from_image(image: Arc<Image>) -> Result<Tokenizer, String> {
        let settings: Settings = serde_json::from_slice(image.section(Section::Settings))
            .map_err(|error| format!("its tokenizer is damaged: {error}"))?;
        let damaged = || "its tokenizer is damaged".to_owned();
        let vocabulary = Vocabulary::new(&image).ok_or_else(damaged)?;
        let length = vocabulary.len();
        let highest = settings.algorithm.unknown().into_iter();
        if highest
            .chain(settings.special.values().copied())
            .any(|id| id as usize >= length)
        {
            return Err(damaged());
        }
        let has_charsmap = Charsmap::new(image.section(Section::Charsmap)).is_some();
        if settings.normalizers.contains(&Normalizer::Charsmap) && !has_charsmap {
            return Err(damaged());
        }
        let is_bpe = matches!(settings.algorithm, Algorithm::Bpe { .. });
        if is_bpe && Merges::new(&image, &vocabulary).is_none() {
            return Err(damaged());
        }
        let mut bytes = Box::new([None; 256]);
        for (byte, token) in (0..=255).zip(bytes.iter_mut()) {
            *token = match &settings.algorithm {
                Algorithm::Bpe {
                    byte_level: true, ..
                } => vocabulary.find(&[byte]),
                Algorithm::Bpe {
                    byte_fallback: true,
                    ..
                }
                | Algorithm::Unigram {
                    byte_fallback: true,
                    ..
                } => vocabulary.find(format!("<0x{byte:02X}>").as_bytes()),
                _ => None,
            };
        }
        let mut ascii = Box::new([None; 128]);
        if is_bpe {
            for (character, token) in (0..128).zip(ascii.iter_mut()) {
                *token = vocabulary.find(&[character]);
            }
        }
        Ok(Tokenizer {
            image,
            ascii,
            settings,
            length,
            bytes,
        })
    }

    /// The tokens of a text, without special tokens.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let mut tokens = Vec::new();
        let Some(vocabulary) = Vocabulary::new(&self.image) else {
            return tokens;
        };
        let charsmap = Charsmap::new(self.image.section(Section::Charsmap));
        let text = normalize::normalize(&self.settings.normalizers, charsmap, text);
        let mut bpe = bpe::Scratch::default();
        let mut unigram = unigram::Scratch::default();
        split::split(
            &self.settings.splitters,
            &text,
            true,
            &mut |piece| match &self.settings.algorithm {
                Algorithm::WordPiece { .. } => {
                    self.encode_word_piece(vocabulary, piece, &mut tokens);
                }
                Algorithm::Bpe { .. } => {
                    self.encode_bpe(vocabulary, piece, &mut bpe, &mut tokens);
                }
                Algorithm::Unigram { .. } => {
                    self.encode_unigram(vocabulary, piece, &mut unigram, &mut tokens);
                }
            },
        );
        tokens
    }

    /// The number of a token, special ones included.
    pub fn id(&self, token: &str) -> Option<u32> {
        if let Some(id) = self.settings.special.get(token) {
            return Some(*id);
        }
        let is_byte_level = matches!(
            self.settings.algorithm,
            Algorithm::Bpe {
                byte_level: true,
                ..
            }
        );
        let bytes = is_byte_level.then(|| bytelevel::decode(token)).flatten();
        Vocabulary::new(&self.image)?.find(bytes.as_deref().unwrap_or(token.as_bytes()))
    }

    /// One more than the highest number of a token.
    #[allow(clippy::len_without_is_empty)] // There is always a token.
    pub fn len(&self) -> usize {
        self.length
    }

    /// The token that stands for what has none.
    pub(crate) fn unknown(&self) -> Option<u32> {
        self.settings.algorithm.unknown()
    }

    fn encode_word_piece(&self, vocabulary: Vocabulary<'_>, piece: &str, tokens: &mut Vec<u32>) {
        if let Algorithm::WordPiece {
            unknown,
            prefix,
            most_characters,
            longest,
        } = &self.settings.algorithm
        {
            let settings = (*unknown, prefix.as_str(), *most_characters, *longest);
            wordpiece::encode(vocabulary, piece, settings, tokens);
        }
    }

    fn encode_unigram(
        &self,
        vocabulary: Vocabulary<'_>,
        piece: &str,
        scratch: &mut unigram::Scratch,
        tokens: &mut Vec<u32>,
    ) {
        if let Algorithm::Unigram {
            unknown,
            byte_fallback,
            lowest_score,
            longest,
        } = &self.settings.algorithm
        {
            let unigram = Unigram {
                vocabulary,
                scores: self.image.section(Section::Scores),
                unknown: *unknown,
                bytes: byte_fallback.then_some(&self.bytes),
                lowest_score: *lowest_score,
                longest: *longest,
            };
            unigram.encode(piece, scratch, tokens);
        }
    }

    fn encode_bpe(
        &self,
        vocabulary: Vocabulary<'_>,
        piece: &str,
        scratch: &mut bpe::Scratch,
        tokens: &mut Vec<u32>,
    ) {
        let Algorithm::Bpe {
            unknown,
            fuse_unknown,
            byte_fallback,
            byte_level,
            ignore_merges,
        } = &self.settings.algorithm
        else {
            return;
        };
        if *ignore_merges && let Some(token) = vocabulary.find(piece.as_bytes()) {
            tokens.push(token);
            return;
        }
        let mut is_after_unknown = false;
        for (at, character) in piece.char_indices() {
            let bytes = &piece.as_bytes()[at..at + character.len_utf8()];
            let of_byte = |byte: &u8| self.bytes[usize::from(*byte)];
            if *byte_level {
                bytes
                    .iter()
                    .filter_map(of_byte)
                    .for_each(|token| scratch.push(token));
                continue;
            }
            let token = match self.ascii.get(character as usize) {
                Some(token) => *token,
                None => vocabulary.find(bytes),
            };
            if let Some(token) = token {
                scratch.push(token);
                is_after_unknown = false;
                continue;
            }
            if *byte_fallback && bytes.iter().all(|byte| of_byte(byte).is_some()) {
                bytes
                    .iter()
                    .filter_map(of_byte)
                    .for_each(|token| scratch.push(token));
                continue;
            }
            if let Some(unknown) = unknown
                && !(*fuse_unknown && is_after_unknown)
            {
                scratch.push(*unknown);
                is_after_unknown = true;
            }
        }
        if let Some(merges) = Merges::new(&self.image, &vocabulary) {
            scratch.merge(merges, tokens);
        }
    }
}

/// Lays a `tokenizer.json` out as sections of an image; the error says what is wrong with it.
pub(crate) fn compile(json: &[u8], builder: &mut Builder) -> Result<(), String> {
    json::compile(json, builder)
}

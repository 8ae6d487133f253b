//! Reads a Hugging Face `tokenizer.json` and lays it out as an image.
//!
//! What the file asks for and this crate does not know is an error that names it: a tokenizer that is nearly right gives vectors
//! that are quietly wrong. Truncation, padding, post-processing and decoding do not concern plain tokens and are not looked at.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::pattern;
use super::settings::{Normalizer, Pattern, Prepend, Settings, Splitter};
use super::tables::{Model, ModelJson};
use crate::image::{Builder, Section};

#[derive(Deserialize)]
struct File<'a> {
    #[serde(default)]
    added_tokens: Vec<AddedToken>,
    normalizer: Option<NormalizerJson>,
    pre_tokenizer: Option<PreTokenizerJson>,
    #[serde(borrow)]
    model: ModelJson<'a>,
}

#[derive(Deserialize)]
struct AddedToken {
    id: u32,
    content: String,
    #[serde(default)]
    special: bool,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum NormalizerJson {
    Sequence {
        normalizers: Vec<NormalizerJson>,
    },
    BertNormalizer {
        clean_text: bool,
        handle_chinese_chars: bool,
        strip_accents: Option<bool>,
        lowercase: bool,
    },
    Prepend {
        prepend: String,
    },
    Replace {
        pattern: PatternJson,
        content: String,
    },
    #[serde(rename = "NFC")]
    Nfc,
    #[serde(rename = "NFD")]
    Nfd,
    #[serde(rename = "NFKC")]
    Nfkc,
    #[serde(rename = "NFKD")]
    Nfkd,
    Lowercase,
    StripAccents,
    Strip {
        strip_left: bool,
        strip_right: bool,
    },
    Precompiled {
        precompiled_charsmap: String,
    },
}

#[derive(Deserialize)]
enum PatternJson {
    String(String),
    Regex(String),
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum PreTokenizerJson {
    Sequence {
        pretokenizers: Vec<PreTokenizerJson>,
    },
    BertPreTokenizer,
    WhitespaceSplit,
    Metaspace {
        replacement: char,
        prepend_scheme: Option<Prepend>,
        add_prefix_space: Option<bool>,
        split: Option<bool>,
    },
    ByteLevel {
        add_prefix_space: bool,
        use_regex: Option<bool>,
    },
    Split {
        pattern: PatternJson,
        behavior: String,
        #[serde(default)]
        invert: bool,
    },
}

/// The image of a tokenizer; the error says what is wrong with the file.
pub(crate) fn compile(json: &[u8], builder: &mut Builder) -> Result<(), String> {
    let file: File<'_> = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    let mut normalizers = Vec::new();
    if let Some(normalizer) = file.normalizer {
        add_normalizer(normalizer, &mut normalizers, builder)?;
    }
    let mut splitters = Vec::new();
    let mut byte_level = false;
    if let Some(pre_tokenizer) = file.pre_tokenizer {
        add_splitter(pre_tokenizer, &mut splitters, &mut byte_level)?;
    }
    let special: BTreeMap<String, u32> = file
        .added_tokens
        .iter()
        .filter(|token| token.special)
        .map(|token| (token.content.clone(), token.id))
        .collect();
    let added = file.added_tokens.iter().map(|token| token.id).max();

    let kind = file.model.r#type.clone();
    let kind = kind.as_deref().or(file.model.merges.map(|_| "BPE"));
    if byte_level && kind != Some("BPE") {
        return Err("it cuts text into bytes for a model that is not BPE".to_owned());
    }
    let model = Model {
        json: file.model,
        special: &special,
        added,
    };
    let algorithm = match kind {
        Some("WordPiece") => model.word_piece(builder)?,
        Some("BPE") => model.bpe(byte_level, &mut splitters, builder)?,
        Some("Unigram") => model.unigram(builder)?,
        other => {
            return Err(format!(
                "its model is of type {other:?}, which is not known"
            ));
        }
    };
    let settings = Settings {
        normalizers,
        splitters,
        algorithm,
        special,
    };
    let settings = serde_json::to_vec(&settings).map_err(|error| error.to_string())?;
    builder.add(Section::Settings, settings);
    Ok(())
}

fn add_normalizer(
    json: NormalizerJson,
    normalizers: &mut Vec<Normalizer>,
    builder: &mut Builder,
) -> Result<(), String> {
    let normalizer = match json {
        NormalizerJson::Sequence { normalizers: inner } => {
            for normalizer in inner {
                add_normalizer(normalizer, normalizers, builder)?;
            }
            return Ok(());
        }
        NormalizerJson::BertNormalizer {
            clean_text,
            handle_chinese_chars,
            strip_accents,
            lowercase,
        } => Normalizer::Bert {
            clean: clean_text,
            space_ideographs: handle_chinese_chars,
            strip_accents: strip_accents.unwrap_or(lowercase),
            lowercase,
        },
        NormalizerJson::Prepend { prepend } => Normalizer::Prepend(prepend),
        NormalizerJson::Replace { pattern, content } => match pattern {
            PatternJson::String(from) if !from.is_empty() => {
                Normalizer::Replace { from, to: content }
            }
            PatternJson::Regex(regex) if regex == " {2,}" => Normalizer::ReplaceSpaces(content),
            PatternJson::String(unknown) | PatternJson::Regex(unknown) => {
                return Err(format!("it replaces {unknown:?}, which is not known"));
            }
        },
        NormalizerJson::Nfc => Normalizer::Nfc,
        NormalizerJson::Nfd => Normalizer::Nfd,
        NormalizerJson::Nfkc => Normalizer::Nfkc,
        NormalizerJson::Nfkd => Normalizer::Nfkd,
        NormalizerJson::Lowercase => Normalizer::Lowercase,
        NormalizerJson::StripAccents => Normalizer::StripAccents,
        NormalizerJson::Strip {
            strip_left,
            strip_right,
        } => Normalizer::Strip {
            left: strip_left,
            right: strip_right,
        },
        NormalizerJson::Precompiled {
            precompiled_charsmap,
        } => {
            if normalizers.contains(&Normalizer::Charsmap) {
                return Err("it has two precompiled normalisers".to_owned());
            }
            let bytes = data_encoding::BASE64
                .decode(precompiled_charsmap.as_bytes())
                .map_err(|error| format!("its precompiled normaliser is damaged: {error}"))?;
            super::charsmap::Charsmap::new(&bytes)
                .ok_or("its precompiled normaliser is cut short")?;
            builder.add(Section::Charsmap, bytes);
            Normalizer::Charsmap
        }
    };
    normalizers.push(normalizer);
    Ok(())
}

fn add_splitter(
    json: PreTokenizerJson,
    splitters: &mut Vec<Splitter>,
    byte_level: &mut bool,
) -> Result<(), String> {
    if *byte_level {
        return Err("it cuts text after turning it into bytes".to_owned());
    }
    let splitter = match json {
        PreTokenizerJson::Sequence { pretokenizers } => {
            for pre_tokenizer in pretokenizers {
                add_splitter(pre_tokenizer, splitters, byte_level)?;
            }
            return Ok(());
        }
        PreTokenizerJson::BertPreTokenizer => Splitter::Bert,
        PreTokenizerJson::WhitespaceSplit => Splitter::Whitespace,
        PreTokenizerJson::Metaspace {
            replacement,
            prepend_scheme,
            add_prefix_space,
            split,
        } => Splitter::Metaspace {
            mark: replacement,
            prepend: match (prepend_scheme, add_prefix_space) {
                (Some(scheme), _) => scheme,
                (None, Some(false)) => Prepend::Never,
                (None, _) => Prepend::Always,
            },
            split: split.unwrap_or(true),
        },
        PreTokenizerJson::ByteLevel {
            add_prefix_space,
            use_regex,
        } => {
            *byte_level = true;
            if add_prefix_space {
                splitters.push(Splitter::PrefixSpace);
            }
            if !use_regex.unwrap_or(true) {
                return Ok(());
            }
            Splitter::Words(Pattern::Gpt2)
        }
        PreTokenizerJson::Split {
            pattern: PatternJson::Regex(expression),
            behavior,
            invert,
        } => match pattern::by_expression(&expression) {
            // The patterns match everything, so that keeping what matches and keeping all of it is the same.
            Some(pattern) if behavior == "Isolated" || behavior == "Removed" && invert => {
                Splitter::Words(pattern)
            }
            _ => {
                return Err(format!(
                    "it cuts text at {expression:?}, which is not known"
                ));
            }
        },
        PreTokenizerJson::Split { .. } => {
            return Err("it cuts text at a fixed string, which is not known".to_owned());
        }
    };
    splitters.push(splitter);
    Ok(())
}

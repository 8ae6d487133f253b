//! What is done to a text before it is cut.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::category::{is_control, is_ideograph, is_nonspacing_mark};
use super::charsmap::Charsmap;
use super::settings::Normalizer;

/// The text after all the steps.
pub(crate) fn normalize<'a>(
    normalizers: &[Normalizer],
    charsmap: Option<Charsmap<'_>>,
    text: &'a str,
) -> Cow<'a, str> {
    let mut text = Cow::Borrowed(text);
    for normalizer in normalizers {
        if let Some(changed) = step(normalizer, charsmap, &text) {
            text = Cow::Owned(changed);
        }
    }
    text
}

/// The text after a step, or nothing where the step leaves it as it is.
fn step(normalizer: &Normalizer, charsmap: Option<Charsmap<'_>>, text: &str) -> Option<String> {
    let is_ascii = text.is_ascii();
    match normalizer {
        Normalizer::Bert {
            clean,
            space_ideographs,
            strip_accents,
            lowercase,
        } => {
            let cleaned = if *clean {
                clean_text(text)
            } else {
                text.into()
            };
            let spaced = if *space_ideographs && !is_ascii {
                space_out(&cleaned)
            } else {
                cleaned
            };
            let stripped = if *strip_accents && !is_ascii {
                spaced.nfd().filter(|c| !is_nonspacing_mark(*c)).collect()
            } else {
                spaced
            };
            Some(if *lowercase {
                lower(&stripped)
            } else {
                stripped
            })
        }
        Normalizer::Prepend(prefix) => (!text.is_empty()).then(|| format!("{prefix}{text}")),
        Normalizer::Replace { from, to } => text
            .contains(from.as_str())
            .then(|| text.replace(from.as_str(), to)),
        Normalizer::ReplaceSpaces(to) => text.contains("  ").then(|| replace_spaces(text, to)),
        Normalizer::Nfc => (!is_ascii).then(|| text.nfc().collect()),
        Normalizer::Nfd => (!is_ascii).then(|| text.nfd().collect()),
        Normalizer::Nfkc => (!is_ascii).then(|| text.nfkc().collect()),
        Normalizer::Nfkd => (!is_ascii).then(|| text.nfkd().collect()),
        Normalizer::Lowercase => Some(lower(text)),
        Normalizer::StripAccents => {
            (!is_ascii).then(|| text.chars().filter(|c| !is_combining_mark(*c)).collect())
        }
        Normalizer::Strip { left, right } => {
            let text = if *left { text.trim_start() } else { text };
            let text = if *right { text.trim_end() } else { text };
            Some(text.to_owned())
        }
        Normalizer::Charsmap => charsmap.map(|charsmap| charsmap.normalize(text)),
    }
}

fn clean_text(text: &str) -> String {
    let kept = |c: &char| *c != '\u{fffd}' && !is_control(*c);
    let spaced = |c: char| if c.is_whitespace() { ' ' } else { c };
    text.chars().filter(kept).map(spaced).collect()
}

fn space_out(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len());
    for character in text.chars() {
        if is_ideograph(character) {
            spaced.extend([' ', character, ' ']);
        } else {
            spaced.push(character);
        }
    }
    spaced
}

/// Character by character: the tokenizers know nothing of a sigma at the end of a word.
fn lower(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().flat_map(char::to_lowercase).collect()
}

fn replace_spaces(text: &str, to: &str) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("  ") {
        replaced.push_str(&rest[..start]);
        replaced.push_str(to);
        rest = rest[start..].trim_start_matches(' ');
    }
    replaced.push_str(rest);
    replaced
}

//! Cost of a piece, in parts of a token.

use super::cut::{Piece, Word};
use super::rates::{
    CONTRACTION, EACH, FIRST, LONGER_SIGNS, LONGER_SPACE, LONGER_WORD, SIGN_BEFORE, SIGNS, SPACE,
    SPACE_BEFORE, SYMBOL, TOKEN, WITH_ACCENT, WORDS,
};
use super::triples::TRIPLES;

/// Longer ones than this have a rate for each character more.
const LONGEST: usize = 16;

/// Codes in triples for the beginning of a word, the beginning of punctuation, and the end of both.
const WORD_BEGINS: u32 = 1;
const SIGNS_BEGIN: u32 = 3;
const ENDS: u32 = 2;

/// The cost of a piece: one token at least, one for each of its bytes at most.
pub(super) fn of(piece: &Piece<'_>) -> u64 {
    let (more, bytes) = match piece {
        // All numbers of up to three digits are tokens.
        Piece::Number => (0, 1),
        Piece::Word(word) => (of_word(word), word.letters.len()),
        Piece::Punctuation(signs) => (of_punctuation(signs), signs.len()),
        Piece::Space(space) => (of_space(space), space.len()),
    };
    let most = times(TOKEN, bytes.saturating_sub(1));
    (i64::from(TOKEN) + more.clamp(0, most)).unsigned_abs()
}

fn of_word(word: &Word<'_>) -> i64 {
    let letters = word.letters;
    let traits = match letters.is_ascii() {
        // Capitals come first.
        true => Traits {
            script: Some(LATIN),
            count: letters.len(),
            upper: letters.bytes().take_while(u8::is_ascii_uppercase).count(),
            beyond_ascii: 0,
        },
        false => Traits::of(letters),
    };
    let count = traits.count;
    let mut cost = match word.before {
        None | Some(' ') => 0,
        Some(sign) => {
            let length = usize::from(count > 3) + usize::from(count > 6);
            i64::from(SIGN_BEFORE[sign_index(sign)][length])
        }
    };
    if word.is_contracted {
        cost += i64::from(CONTRACTION);
    }
    let before = match word.before {
        None => 0,
        Some(' ') => 1,
        Some(_) => 2,
    };
    let Some(script) = traits.script.filter(|script| *script < ALPHABETS) else {
        return cost + of_characters(letters, before == 1);
    };
    let shape = match traits.upper {
        0 => 0,
        1 if letters.starts_with(char::is_uppercase) => 1,
        upper if upper == count => 2,
        _ => 3,
    };
    cost += i64::from(WORDS[(script * 3 + before) * 4 + shape][count.min(LONGEST)]);
    if count > LONGEST {
        cost += times(LONGER_WORD[usize::from(shape > 1)], count - LONGEST);
    }
    if script == LATIN {
        cost += times(WITH_ACCENT, traits.beyond_ascii);
    }
    // Words in capitals are other tokens than the same words in small letters; others share what they have in common.
    let small = if shape == 2 { 0 } else { 0x20 };
    match count {
        1 => cost,
        _ if traits.beyond_ascii == 0 => {
            let letters = letters.bytes().map(|letter| u32::from(letter | small));
            cost + of_triples(WORD_BEGINS, letters)
        }
        _ => {
            let fold = |letter: char| match letter.is_ascii() {
                true => u32::from(letter) | u32::from(small),
                false => u32::from(letter),
            };
            cost + of_triples(WORD_BEGINS, letters.chars().map(fold))
        }
    }
}

/// Traits of the letters of a word.
struct Traits {
    /// That of all of them.
    script: Option<usize>,
    count: usize,
    upper: usize,
    beyond_ascii: usize,
}

impl Traits {
    fn of(letters: &str) -> Self {
        let mut traits = Traits {
            script: letters.chars().next().map(script),
            count: 0,
            upper: 0,
            beyond_ascii: 0,
        };
        for letter in letters.chars() {
            traits.script = traits.script.filter(|before| *before == script(letter));
            traits.count += 1;
            traits.upper += usize::from(letter.is_uppercase());
            traits.beyond_ascii += usize::from(!letter.is_ascii());
        }
        traits
    }
}

/// Returns the cost of letters that form no words, or are of more than one script.
fn of_characters(letters: &str, is_after_space: bool) -> i64 {
    let first = letters.chars().next().map_or(LATIN, script);
    let mut cost = i64::from(FIRST[first]);
    if is_after_space {
        cost += i64::from(SPACE_BEFORE);
    }
    for character in letters.chars() {
        cost += i64::from(EACH[script(character)]);
        if !character.is_ascii() {
            cost += triple(u32::from(character));
        }
    }
    cost
}

fn of_punctuation(text: &str) -> i64 {
    let signs = text.strip_prefix(' ').unwrap_or(text);
    if signs.len() == 1 {
        return 0;
    }
    let (mut count, mut cost) = (0, 0);
    for sign in signs.chars() {
        count += 1;
        if !sign.is_ascii() {
            cost += i64::from(SYMBOL[symbol(sign)]);
        }
    }
    let has_space = usize::from(signs.len() < text.len());
    cost += i64::from(SIGNS[has_space][count.min(LONGEST)]);
    cost += times(LONGER_SIGNS, count.saturating_sub(LONGEST));
    cost + of_triples(SIGNS_BEGIN, signs.chars().map(u32::from))
}

fn of_space(text: &str) -> i64 {
    if text.len() == 1 {
        return 0;
    }
    let is_newline = |character: &char| matches!(character, '\n' | '\r');
    let count = text.chars().count();
    let newlines = text.chars().filter(is_newline).count();
    let kind = match newlines {
        _ if count == 1 => 0,
        0 => 1,
        _ if newlines == count => 2,
        _ => 3,
    };
    i64::from(SPACE[kind]) + times(LONGER_SPACE[kind], count.saturating_sub(LONGEST))
}

/// Returns the cost that all triples of characters add, with the beginning and the end.
fn of_triples(begins: u32, characters: impl Iterator<Item = u32>) -> i64 {
    let (mut before, mut last) = (0, begins);
    let mut cost = 0;
    for character in characters.chain([ENDS]) {
        if before != 0 {
            let window = before * 961 + last * 31 + character;
            cost += triple(window);
        }
        (before, last) = (last, character);
    }
    cost
}

/// There are more triples than rates; those that share one are seldom both frequent.
fn triple(window: u32) -> i64 {
    let at = window.wrapping_mul(0x9e37_79b1) >> (32 - TRIPLES.len().ilog2());
    (i64::from(TRIPLES[at as usize]) - 80) * i64::from(TOKEN / 32)
}

fn times(rate: i16, count: usize) -> i64 {
    i64::from(rate).saturating_mul(i64::try_from(count).unwrap_or(i64::MAX))
}

const LATIN: usize = 0;
/// Scripts below this one are of words between spaces, which have rates by length.
const ALPHABETS: usize = 3;

/// The script of a letter, as the rates are ordered.
fn script(letter: char) -> usize {
    match u32::from(letter) {
        0..=0x24f | 0x1e00..=0x1eff => LATIN,
        // Greek and Cyrillic; Hebrew and Arabic.
        0x370..=0x52f => 1,
        0x590..=0x8ff => 2,
        // The scripts of India and around, Thai.
        0x900..=0x109f => 3,
        // Hiragana, Katakana, Han, Hangul.
        0x3041..=0x309f => 4,
        0x30a0..=0x30ff | 0xff66..=0xff9f => 5,
        0x3005 | 0x3400..=0x9fff => 6,
        0xac00..=0xd7a3 => 7,
        _ => 8,
    }
}

/// The place of a sign that stands before a word.
fn sign_index(sign: char) -> usize {
    let from = |first: char, index: usize| sign as usize - first as usize + index;
    match sign {
        '!'..='/' => from('!', 0),
        ':'..='@' => from(':', 15),
        '['..='`' => from('[', 22),
        '{'..='~' => from('{', 28),
        '\t' => 32,
        _ => 33,
    }
}

/// The block of a sign that is not ASCII, as the rates are ordered.
fn symbol(sign: char) -> usize {
    match u32::from(sign) {
        0..=0xff => 0,
        // General punctuation; sub- and superscripts; arrows; mathematics; technical.
        0x2000..=0x206f => 1,
        0x2070..=0x218f => 2,
        0x2190..=0x21ff => 3,
        0x2200..=0x22ff => 4,
        0x2300..=0x24ff => 5,
        // Lines, blocks, shapes, dingbats, Braille.
        0x2500..=0x257f => 6,
        0x2580..=0x259f => 7,
        0x25a0..=0x25ff => 8,
        0x2600..=0x27bf => 9,
        0x2800..=0x28ff => 10,
        // Chinese and Japanese punctuation; what makes an emoji of a sign; wide forms.
        0x3000..=0x303f => 11,
        0xfe00..=0xfe0f => 12,
        0xff00..=0xffef => 13,
        0x1f000..=0x1faff => 14,
        0xe000..=0xffff => 15,
        0x10000.. => 16,
        _ => 17,
    }
}

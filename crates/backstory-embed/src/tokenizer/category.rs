//! What kind of character it is, in the terms of the tokenizers.

use unicode_general_category::{GeneralCategory as Category, get_general_category};

/// A control, format or private character that cleaning drops. Line breaks and tabs are white space instead.
pub(crate) fn is_control(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_control() && !matches!(character, '\t' | '\n' | '\r');
    }
    matches!(
        get_general_category(character),
        Category::Control | Category::Format | Category::PrivateUse
    )
}

/// Punctuation, and every ASCII sign that is neither letter nor digit.
pub(crate) fn is_punctuation(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_punctuation();
    }
    matches!(
        get_general_category(character),
        Category::ConnectorPunctuation
            | Category::DashPunctuation
            | Category::OpenPunctuation
            | Category::ClosePunctuation
            | Category::InitialPunctuation
            | Category::FinalPunctuation
            | Category::OtherPunctuation
    )
}

/// A mark that takes no room of its own.
pub(crate) fn is_nonspacing_mark(character: char) -> bool {
    !character.is_ascii() && get_general_category(character) == Category::NonspacingMark
}

/// A letter of any script.
pub(crate) fn is_letter(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_alphabetic();
    }
    matches!(
        get_general_category(character),
        Category::UppercaseLetter
            | Category::LowercaseLetter
            | Category::TitlecaseLetter
            | Category::ModifierLetter
            | Category::OtherLetter
    )
}

/// A digit or another number of any script.
pub(crate) fn is_number(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_digit();
    }
    matches!(
        get_general_category(character),
        Category::DecimalNumber | Category::LetterNumber | Category::OtherNumber
    )
}

/// An ideograph of Chinese, Japanese or Korean. The blocks are those that BERT knew.
pub(crate) fn is_ideograph(character: char) -> bool {
    matches!(
        character as u32,
        0x4E00..=0x9FFF
            | 0x3400..=0x4DBF
            | 0x20000..=0x2A6DF
            | 0x2A700..=0x2B73F
            | 0x2B740..=0x2B81F
            | 0x2B920..=0x2CEAF
            | 0xF900..=0xFAFF
            | 0x2F800..=0x2FA1F
    )
}

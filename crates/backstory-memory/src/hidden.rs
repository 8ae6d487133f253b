//! Hidden characters: those that steer a terminal, reorder text or are invisible. Which they are is defined where secrets
//! are looked for, for what hides here must not split a key there.
//!
//! Log text is written by strangers. What reaches a terminal or an agent goes through [`harmless`] or [`one_line`]; JSON goes
//! through [`escape_json`], which keeps its value.

use std::borrow::Cow;

pub use backstory_redact::is_hidden;

/// Returns the text without hidden characters. Line and paragraph separators become spaces. A joiner stays between two emoji or
/// between two letters of a script that needs it, an emoji selector behind an emoji.
pub fn harmless(text: &str) -> Cow<'_, str> {
    let Some(first) = first_hidden(text) else {
        return Cow::Borrowed(text);
    };
    let (clean, rest) = text.split_at(first);
    let mut shown = String::with_capacity(text.len());
    shown.push_str(clean);
    let mut characters = rest.chars().peekable();
    while let Some(character) = characters.next() {
        if !is_hidden(character) {
            shown.push(character);
            continue;
        }
        let before = shown.chars().next_back();
        match character {
            '\u{2028}' | '\u{2029}' => shown.push(' '),
            '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}'
                if is_joined(character, before, characters.peek().copied()) =>
            {
                shown.push(character);
            }
            _ => {}
        }
    }
    Cow::Owned(shown)
}

/// Returns the text in one line, without hidden characters and with single spaces.
pub fn one_line(text: &str) -> String {
    let shown = harmless(text);
    let mut line = String::with_capacity(shown.len());
    for word in shown.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// Returns JSON text with every hidden character written as `\uXXXX`, which has the same value.
///
/// The serializer escapes C0 controls itself; other hidden characters can stand only within strings.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    use std::fmt::Write;
    let Some(first) = first_hidden(json) else {
        return Cow::Borrowed(json);
    };
    let (clean, rest) = json.split_at(first);
    let mut escaped = String::with_capacity(json.len() + 64);
    escaped.push_str(clean);
    for character in rest.chars() {
        if is_hidden(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

fn first_hidden(text: &str) -> Option<usize> {
    let is_plain = |byte: &u8| matches!(byte, b'\n' | b'\t' | b' '..=b'~');
    if text.as_bytes().iter().all(is_plain) {
        return None;
    }
    text.char_indices()
        .find(|(_, character)| is_hidden(*character))
        .map(|(at, _)| at)
}

/// Returns whether a joiner or an emoji selector has a use between its neighbours.
fn is_joined(joiner: char, before: Option<char>, after: Option<char>) -> bool {
    let Some(before) = before else { return false };
    if matches!(joiner, '\u{fe0e}' | '\u{fe0f}') {
        let is_keycap = matches!(before, '0'..='9' | '#' | '*') && after == Some('\u{20e3}');
        return is_emoji(before) || is_keycap;
    }
    let Some(after) = after else { return false };
    let joins_emoji = (is_emoji(before) || before == '\u{fe0f}') && is_emoji(after);
    (joiner == '\u{200d}' && joins_emoji) || (needs_joiners(before) && needs_joiners(after))
}

fn is_emoji(character: char) -> bool {
    matches!(character,
        '©' | '®' | '‼' | '⁉' | '™' | 'ℹ' | '〰' | '〽' | '㊗' | '㊙' | '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}'
        | '\u{2460}'..='\u{24ff}' | '\u{25a0}'..='\u{27bf}' | '\u{2900}'..='\u{297f}' | '\u{2b00}'..='\u{2bff}'
        | '\u{1f000}'..='\u{1faff}')
}

/// Returns whether a character is of a script that spells words with joiners: Arabic and its relatives, the scripts of India,
/// Sri Lanka, Myanmar, Cambodia and Mongolia.
fn needs_joiners(character: char) -> bool {
    matches!(character,
        '\u{620}'..='\u{dff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{18af}' | '\u{a840}'..='\u{a877}'
        | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{11000}'..='\u{11fff}')
        && !is_hidden(character)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_general_category::{GeneralCategory, get_general_category};

    /// Format characters that can be seen: they stand before or around digits.
    const VISIBLE_FORMATS: &[char] = &[
        '\u{600}',
        '\u{601}',
        '\u{602}',
        '\u{603}',
        '\u{604}',
        '\u{605}',
        '\u{6dd}',
        '\u{70f}',
        '\u{890}',
        '\u{891}',
        '\u{8e2}',
        '\u{110bd}',
        '\u{110cd}',
    ];

    #[test]
    fn every_control_and_format_character_is_hidden() {
        for character in '\0'..=char::MAX {
            let category = get_general_category(character);
            let steers = matches!(
                category,
                GeneralCategory::Control
                    | GeneralCategory::Format
                    | GeneralCategory::LineSeparator
                    | GeneralCategory::ParagraphSeparator
            );
            let kept = matches!(character, '\n' | '\t') || VISIBLE_FORMATS.contains(&character);
            if steers {
                assert_eq!(is_hidden(character), !kept, "{:x}", character as u32);
            }
        }
        // No category tells these.
        for character in "\u{34f}\u{115f}\u{1160}\u{3164}\u{ffa0}\u{fe00}\u{fe0f}\u{e0100}\u{e01ef}\u{17b4}\u{180b}".chars() {
            assert!(is_hidden(character), "{:x}", character as u32);
        }
    }

    #[test]
    fn hidden_characters_go_and_text_stays() {
        for (text, shown) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("a\u{1b}[31mb\u{9b}2Jc\u{7f}\r\n", "a[31mb2Jc\n"),
            ("\u{202e}evil\u{2066}\u{200f}\u{61c}", "evil"),
            (
                "zero\u{200b}\u{200c}\u{200d}\u{2060}\u{feff}width\u{ad}",
                "zerowidth",
            ),
            (
                "tag\u{e0041}\u{e007f}s\u{e0101} a\u{fe0f}\u{fe01}b",
                "tags ab",
            ),
            ("x\u{2028}y\u{2029}z\u{85}", "x y z"),
            ("\u{3164}\u{ffa0}\u{115f}\u{1160}fillers", "fillers"),
            ("größer, 日本語, ✓ 한국어", "größer, 日本語, ✓ 한국어"),
        ] {
            assert_eq!(harmless(text), shown, "{text:?}");
        }
    }

    #[test]
    fn joiners_stay_where_words_and_emoji_need_them() {
        for text in [
            "👩\u{200d}💻 👍🏽 ❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3}",
            "می\u{200c}خواهم",
            "क्\u{200d}ष",
        ] {
            assert_eq!(harmless(text), text);
        }
        assert_eq!(harmless("👩\u{200d}\u{200d}💻"), "👩\u{200d}💻");
        assert_eq!(
            harmless("👩\u{200d}x 1\u{fe0f} ✓\u{fe0f}\u{fe0f}"),
            "👩x 1 ✓\u{fe0f}"
        );
        assert_eq!(
            harmless("می\u{200c}\u{200b}\u{200d}خ\u{200d}"),
            "می\u{200d}خ"
        );
    }

    #[test]
    fn escaped_json_has_the_same_value() {
        let text: String = ('\0'..=char::MAX)
            .filter(|character| is_hidden(*character))
            .collect();
        let value = serde_json::json!({ text.clone(): [text, "plain é"] });
        for json in [value.to_string(), format!("{value:#}")] {
            let escaped = escape_json(&json);
            assert!(!escaped.chars().any(is_hidden));
            assert_eq!(
                serde_json::from_str::<serde_json::Value>(&escaped).unwrap(),
                value
            );
        }
    }

    #[test]
    fn one_line_has_no_breaks() {
        assert_eq!(one_line(" a\u{1b}\n\nb\u{2028}\tc "), "a b c");
    }
}

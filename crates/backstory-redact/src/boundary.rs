//! Where a token may begin and end in text that was escaped any number of times.
//!
//! In a log `\nghp_…` is a line break and a token, though a letter stands right before the token; `\b` of a regex engine
//! cannot see that, so these checks are made by hand.

use super::examined::{count_leading, examined};

/// Number of bytes counted for a look at what stands before a token: at most so many are compared.
const BOUNDARY_BYTES: usize = 8;

/// Number of bytes before a token by which a name that it is glued to is told from data that it stands in.
const MAX_LOOKBEHIND_BYTES: usize = 32;
/// Number of changes between letters and digits, or from a small letter to a capital, from which on a run of bytes may be data.
const MIN_CLASS_CHANGES: usize = 3;
/// The same for a run as long as is looked at.
const MIN_LONG_CLASS_CHANGES: usize = 5;

/// Kind of text right before a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenPrefix {
    /// Nothing that could belong to it.
    None,
    /// A name and a hyphen or an underscore: `backup-`, `key_`.
    Separator,
    /// A name: `token`, `x`.
    Alphanumeric,
    /// A piece of base64 or an escape sequence, of which the token is a part.
    InsideData,
}

/// Returns what a token that begins at `at` is glued to.
pub(super) fn prefix_before(text: &[u8], at: usize) -> TokenPrefix {
    examined(BOUNDARY_BYTES);
    let Some((&last, before)) = text.get(..at).and_then(<[u8]>::split_last) else {
        return TokenPrefix::None;
    };
    let free_if = |is_free: bool| {
        if is_free {
            TokenPrefix::None
        } else {
            TokenPrefix::InsideData
        }
    };
    if text.get(at).is_some_and(u8::is_ascii_punctuation) {
        return free_if(last != b'\\');
    }
    match last {
        b'\\' => free_if(!begins_inside_escape(text, at)),
        b'+' | b'/' => free_if(!is_pure_word(text, at) || !inside_base64(before)),
        // A diff marker or a bullet at the start of a line is no part of the token, a hyphen within a word may be.
        b'-' | b'_' if before.last().is_some_and(u8::is_ascii_alphanumeric) => {
            if ends_escape(before) {
                TokenPrefix::None
            } else {
                TokenPrefix::Separator
            }
        }
        byte if byte.is_ascii_alphanumeric() => {
            if ends_escape(text.get(..at).unwrap_or_default()) {
                TokenPrefix::None
            } else {
                TokenPrefix::Alphanumeric
            }
        }
        _ => TokenPrefix::None,
    }
}

/// Whether what stands before `at` looks like base64, a hash or the like, and not like a name. Of the pairs in random base64 two in
/// five change class, of those in names hardly one in ten.
pub(super) fn is_inside_data(text: &[u8], at: usize) -> bool {
    let before = text
        .get(at.saturating_sub(MAX_LOOKBEHIND_BYTES)..at)
        .unwrap_or_default();
    let length = count_leading(before.iter().rev(), |byte| {
        byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte)
    });
    let run = before.get(before.len() - length..).unwrap_or_default();
    examined(length * 2);
    let class_changes = run.windows(2).filter(|pair| match pair {
        [a, b] if a.is_ascii_digit() => b.is_ascii_alphabetic(),
        [a, b] if a.is_ascii_alphabetic() => {
            b.is_ascii_digit() || a.is_ascii_lowercase() && b.is_ascii_uppercase()
        }
        _ => false,
    });
    let class_changes = class_changes.count();
    // A name of this length has something between its words; the base64 of zeros has not.
    class_changes >= MIN_CLASS_CHANGES && class_changes * 4 >= length
        || length == MAX_LOOKBEHIND_BYTES && class_changes >= MIN_LONG_CLASS_CHANGES
        || length == MAX_LOOKBEHIND_BYTES && !run.iter().any(|byte| matches!(byte, b'-' | b'_'))
}

/// Whether the word before `at` is a hash, a UUID or another id in hexadecimal digits, and not base64: of 12 characters of base64, one
/// run in 10^6 has no others.
pub(super) fn follows_hex_id(text: &[u8], at: usize) -> bool {
    const MIN_ID_BYTES: usize = 8;
    let before = text.get(..at).unwrap_or_default();
    let digits = before.iter().rev().take(MAX_LOOKBEHIND_BYTES);
    let length = count_leading(
        digits,
        |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-' | b'_'),
    );
    let rest = before.get(..before.len() - length).unwrap_or_default();
    let is_whole = length == MAX_LOOKBEHIND_BYTES
        || !rest.last().is_some_and(u8::is_ascii_alphanumeric)
        || ends_escape(rest);
    length >= MIN_ID_BYTES && is_whole
}

/// Whether what ends at `at` is not followed by more of the same word.
pub(super) fn ends_token(text: &[u8], at: usize) -> bool {
    !text.get(at).is_some_and(u8::is_ascii_alphanumeric)
}

/// Whether the byte at `at`, which has a backslash before it, is the letter of an escape sequence. After an even number of
/// backslashes it can still be one, of the text within the text.
fn begins_inside_escape(text: &[u8], at: usize) -> bool {
    text.get(at)
        .is_some_and(|byte| matches!(byte, b'"' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' | b'u'))
}

/// Moves `at`, the leftmost end of a walk over word characters, past the letters of an escape sequence the walk ran into.
pub(super) fn after_escape(text: &[u8], at: usize) -> usize {
    let backslash = at.checked_sub(1).and_then(|before| text.get(before)) == Some(&b'\\');
    match text.get(at) {
        Some(b'u') if backslash => at + 5,
        Some(b'b' | b'f' | b'n' | b'r' | b't') if backslash => at + 1,
        _ => after_colour(text, at),
    }
}

/// Moves `at` past the `32m` of a terminal colour.
fn after_colour(text: &[u8], at: usize) -> usize {
    let end = at
        + text
            .iter()
            .skip(at)
            .take(4)
            .take_while(|byte| byte.is_ascii_digit())
            .count()
        + 1;
    if text.get(..end).is_some_and(ends_colour) {
        end
    } else {
        at
    }
}

/// Whether `before` ends with an escape sequence, a terminal colour or a percent-encoded byte.
fn ends_escape(before: &[u8]) -> bool {
    match before {
        [.., b'\\', b'b' | b'f' | b'n' | b'r' | b't'] => true,
        [.., b'\\', b'u', a, b, c, d] => [a, b, c, d].iter().all(|byte| byte.is_ascii_hexdigit()),
        [.., b'%', a, b] => a.is_ascii_hexdigit() && b.is_ascii_hexdigit(),
        _ => ends_colour(before),
    }
}

/// Whether `before` ends with a terminal control sequence such as ESC `[1;32m`, in any of the ways ESC is written.
fn ends_colour(before: &[u8]) -> bool {
    let Some((b'm' | b'K' | b'J' | b'H' | b'G', rest)) = before.split_last() else {
        return false;
    };
    let parameters = count_leading(rest.iter().rev().take(16), |byte| {
        byte.is_ascii_digit() || byte == b';'
    });
    let Some(rest) = rest
        .get(..rest.len() - parameters)
        .and_then(|rest| rest.strip_suffix(b"["))
    else {
        return false;
    };
    rest.ends_with(b"\x1b")
        || ["\\u001b", "\\u001B", "\\x1b", "\\x1B", "\\033", "\\e"]
            .iter()
            .any(|escape| rest.ends_with(escape.as_bytes()))
}

/// Whether the token at `at` begins like base64 does, so that a `/` before it may belong to the same run.
fn is_pure_word(text: &[u8], at: usize) -> bool {
    text.iter().skip(at).take(5).all(u8::is_ascii_alphanumeric)
}

/// Whether `before` ends with what looks like a piece of a base64 text rather than of a path.
fn inside_base64(before: &[u8]) -> bool {
    let tail = before
        .get(before.len().saturating_sub(32)..)
        .unwrap_or_default();
    examined(tail.len());
    tail.len() == 32
        && tail
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
        && tail.iter().any(u8::is_ascii_uppercase)
        && tail.iter().any(u8::is_ascii_lowercase)
        && tail.iter().any(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: &str, expected: bool) {
        let text = format!("{before}token123");
        let glue = prefix_before(text.as_bytes(), before.len());
        assert_eq!(glue == TokenPrefix::None, expected, "{before:?}");
    }

    #[test]
    fn a_token_begins_after_anything_but_a_word() {
        for before in [
            "", " ", "\"", "\\\"", "=", "(", "é", "\n", "/", "@", "\n-", "\n+", "\\n-", "--",
        ] {
            check(before, true);
        }
        for before in ["a", "Z", "9", "a_", "a-", "x\\na", "mm"] {
            check(before, false);
        }
    }

    #[test]
    fn a_token_begins_after_an_escape_at_any_depth() {
        for before in [
            "\\n",
            "\\\\n",
            "\\\\\\\\n",
            "\\t",
            "\\r",
            "\\u00e9",
            "\\\\u2192",
            "%20",
            "%3D",
        ] {
            check(before, true);
        }
    }

    #[test]
    fn a_token_begins_after_a_colour() {
        for before in [
            "\x1b[32m",
            "\\u001b[1;32m",
            "\\\\u001b[0m",
            "\\x1b[m",
            "\\033[0m",
        ] {
            check(before, true);
        }
        check("[32m", false);
        check("array[3m", false);
    }

    #[test]
    fn the_letter_of_an_escape_is_no_token_start() {
        let text = br"\npm_and \\npm_ \\ghp_";
        assert_eq!(prefix_before(text, 1), TokenPrefix::InsideData);
        assert_eq!(prefix_before(text, 11), TokenPrefix::InsideData);
        assert_eq!(prefix_before(text, 18), TokenPrefix::None);
    }

    #[test]
    fn names_are_told_from_data() {
        for before in [
            "backup-",
            "the-backup-of-2026-11-17-in-eu-west-1-",
            "key_",
            "token",
            "myKey2",
            "the_backup_of_the_production_key",
        ] {
            assert!(!is_inside_data(before.as_bytes(), before.len()), "{before}");
        }
        for before in [
            "aGk3LmQpZ9rTyUwrtp2PsKdnfH7Jwq4c",
            "aGk3LmQpZ9rTyUwrtp2PsKdnfH7Jw_c-",
            "aGk3LmQpZ9rT",
            "3f2504e04f8911d39a0c0305e82c3301-",
            "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        ] {
            assert!(is_inside_data(before.as_bytes(), before.len()), "{before}");
        }
    }

    #[test]
    fn hexadecimal_ids_are_told_from_base64() {
        for (before, expected) in [
            ("4a7900966b69-", true),
            ("3f2504e04f8911d39a0c0305e82c3301-", true),
            ("3f2504e0-4f89-11d3-9a0c-0305e82c3301_", true),
            ("\\n4a7900966b69-", true),
            ("id=4a7900966b69-", true),
            ("4a7900966B69-", false),
            ("4a79-", false),
            ("aGk3LmQpZ9rT-", false),
        ] {
            let is_id = follows_hex_id(before.as_bytes(), before.len());
            assert_eq!(is_id, expected, "{before}");
        }
    }
}

//! Whether a value looks like a secret at all, rather than like a placeholder, a word or a piece of code.

use super::examined::examined;

/// Shannon entropy in bits per byte.
pub(super) fn entropy(value: &[u8]) -> f64 {
    examined(value.len());
    let mut counts = [0_u32; 256];
    for &byte in value {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let length = value.len() as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / length)
        .map(|share| -share * share.log2())
        .sum()
}

/// Whether a value stands in for a secret: a variable, a template, a mask, or a word that says so.
///
/// This is asked of every match, also of tokens with a prefix of their own, so it holds only what no real secret contains. In
/// long values only long words count: four letters happen to stand in a row in every thousandth key block.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    const ALWAYS: [&[u8]; 6] = [
        b"redacted",
        b"example",
        b"placeholder",
        b"abcdefghij",
        b"1234567890",
        b"xxxxxx",
    ];
    const IN_SHORT: [&[u8]; 14] = [
        b"your-",
        b"your_",
        b"<your",
        b"****",
        b"....",
        b"${",
        b"$(",
        b"{{",
        b"process.env",
        b"os.environ",
        b"import.meta",
        b"<",
        b"\xe2\x80\xa6",
        b"my-key",
    ];
    value.len() < 3
        || distinct(value) < 4
        || is_variable(value)
        || contains_any(value, &ALWAYS)
        || value.len() <= 40
            && (value
                .get(..4)
                .is_some_and(|start| start.eq_ignore_ascii_case(b"your"))
                || memchr::memmem::find(value, b"xxxx").is_some()
                || memchr::memmem::find(value, b"XXXX").is_some()
                || contains_any(value, &IN_SHORT))
}

/// `$NAME`, `$1`, `%(name)s`
fn is_variable(value: &[u8]) -> bool {
    matches!(value, [b'$' | b'%', second, ..] if second.is_ascii_alphanumeric() || matches!(second, b'{' | b'(' | b'_' | b'@'))
}

/// Whether someone wrote the value to show what goes there. Asked where only the name of a variable speaks for a secret.
///
/// A word such as `test` in it is not enough: hardly anything but such words must be in it.
pub(super) fn is_demonstration(value: &[u8]) -> bool {
    const ENOUGH: usize = 6;
    examined(value.len());
    let mut shown = false;
    // Letters and digits that are in none of the words.
    let mut left = 0;
    let mut rest = value;
    while let Some((first, after)) = rest.split_first() {
        if let Some(length) = longest_word(rest, demonstration_words(*first)) {
            shown = true;
            rest = rest.get(length..).unwrap_or_default();
        } else {
            left += usize::from(first.is_ascii_alphanumeric());
            rest = after;
        }
    }
    let counted = contains_any(value, &[b"123456", b"abc123"]);
    is_placeholder(value) || shown && left < ENOUGH || counted && left < 2 * ENOUGH
}

/// The words of which made-up values consist, by their first letter.
#[rustfmt::skip]
fn demonstration_words(first: u8) -> &'static [&'static [u8]] {
    match first.to_ascii_lowercase() {
        b'a' => &[b"admin", b"api", b"apikey"],
        b'b' => &[b"bar", b"baz"],
        b'c' => &[b"change", b"changeme"],
        b'd' => &[b"default", b"demo", b"dev", b"dummy"],
        b'f' => &[b"fake", b"foo", b"foobar"],
        b'h' => &[b"here"],
        b'i' => &[b"insert", b"invalid"],
        b'k' => &[b"key"],
        b'l' => &[b"local"],
        b'm' => &[b"mock", b"my", b"mysql"],
        b'n' => &[b"new"],
        b'o' => &[b"old"],
        b'p' => &[b"pass", b"passwd", b"password", b"postgres", b"pw"],
        b'r' => &[b"replace", b"root"],
        b's' => &[b"sample", b"secret", b"some", b"string", b"super"],
        b't' => &[b"test", b"testing", b"the", b"token"],
        b'u' => &[b"undefined", b"user"],
        b'v' => &[b"value"],
        b'w' => &[b"wrong"],
        _ => &[],
    }
}

/// Whether the value is a path, an address, a call or a dotted name: something that tells where a secret is, not the secret.
pub(super) fn is_reference(value: &[u8]) -> bool {
    examined(value.len() * 3);
    const PARTS: [&[u8]; 8] = [b"://", b"::", b"->", b"=>", b"()", b"](", b"/.", b"&&"];
    matches!(
        value,
        [b'/' | b'~' | b'@' | b'[' | b'{' | b'(', ..] | [b'.', b'/', ..] | [b'.', b'.', b'/', ..]
    ) || contains_any(value, &PARTS)
        || is_dotted_name(value)
        || is_image(value)
}

/// `config.database.password2`, `self.key`: identifiers joined by dots.
fn is_dotted_name(value: &[u8]) -> bool {
    value.contains(&b'.')
        && value.split(|byte| *byte == b'.').all(|part| {
            part.first()
                .is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_')
                && part
                    .iter()
                    .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte == b'-')
                && is_words(part)
        })
}

/// Whether the value is a base64 image or document, by the first bytes these have.
fn is_image(value: &[u8]) -> bool {
    ["iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR", "JVBERi0", "data:"]
        .iter()
        .any(|start| value.starts_with(start.as_bytes()))
}

/// Whether the value consists of words and numbers kept apart by punctuation or camel case: `new-password`, `claude-opus-4`.
pub(super) fn is_words(value: &[u8]) -> bool {
    examined(value.len() * 2);
    value
        .split(|byte| !byte.is_ascii_alphanumeric())
        .filter(|part| !part.is_empty())
        .all(|part| {
            part.iter().all(u8::is_ascii_digit)
                || part.iter().all(u8::is_ascii_alphabetic) && !is_jumbled(part)
        })
}

/// Whether most of the value is in runs of letters that can be words, and digits are not strewn all over it.
pub(super) fn is_mostly_words(value: &[u8]) -> bool {
    examined(value.len() * 3);
    let turns = value
        .windows(2)
        .filter(|pair| matches!(pair, [a, b] if a.is_ascii_digit() && b.is_ascii_alphabetic() || a.is_ascii_alphabetic() && b.is_ascii_digit()))
        .count();
    let in_words: usize = value
        .chunk_by(|a, b| {
            a.is_ascii_alphabetic()
                && b.is_ascii_alphabetic()
                && !(a.is_ascii_lowercase() && b.is_ascii_uppercase())
        })
        .filter(|run| run.len() >= 3 && run.iter().any(|byte| b"aeiouyAEIOUY".contains(byte)))
        .map(<[u8]>::len)
        .sum();
    is_words(value) || turns < 6 && in_words * 100 >= value.len() * 78
}

/// Whether letters change case the way they do in a random string and not in camel case, where capitals are few.
fn is_jumbled(letters: &[u8]) -> bool {
    let length = letters.len();
    let capitals = letters
        .iter()
        .filter(|byte| byte.is_ascii_uppercase())
        .count()
        * 100
        / length.max(1);
    // The longer the text, the surer half of its letters are capitals if it is random.
    match length {
        0..8 => false,
        8..20 => (30..=70).contains(&capitals),
        _ => (22..=78).contains(&capitals),
    }
}

/// Eight, four, four, four and twelve hexadecimal digits.
pub(super) fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(at, byte)| {
            if matches!(at, 8 | 13 | 18 | 23) {
                *byte == b'-'
            } else {
                byte.is_ascii_hexdigit()
            }
        })
}

/// How many of the four classes (small, capital, digit, other) the value has.
pub(super) fn classes(value: &[u8]) -> usize {
    examined(value.len());
    let mut seen = [false; 4];
    for byte in value {
        let [small, capital, digit, other] = &mut seen;
        *small |= byte.is_ascii_lowercase();
        *capital |= byte.is_ascii_uppercase();
        *digit |= byte.is_ascii_digit();
        *other |= !byte.is_ascii_alphanumeric();
    }
    seen.iter().filter(|seen| **seen).count()
}

fn distinct(value: &[u8]) -> usize {
    examined(value.len());
    let mut seen = [false; 256];
    value
        .iter()
        .filter(|byte| {
            seen.get_mut(usize::from(**byte))
                .is_some_and(|seen| !std::mem::replace(seen, true))
        })
        .count()
}

/// Whether one of `words`, which are in lower case, stands in `value` in any case.
pub(super) fn contains_any(value: &[u8], words: &[&[u8]]) -> bool {
    examined(value.len());
    let bit = |byte: u8| 1_u128 << (byte.to_ascii_lowercase() & 0x7f);
    let first_letters = words
        .iter()
        .filter_map(|word| word.first())
        .fold(0, |letters, first| letters | bit(*first));
    value.iter().enumerate().any(|(at, byte)| {
        first_letters & bit(*byte) != 0
            && longest_word(value.get(at..).unwrap_or_default(), words).is_some()
    })
}

/// The length of the longest of `words`, which are in lower case, that `value` begins with in any case.
fn longest_word(value: &[u8], words: &[&[u8]]) -> Option<usize> {
    let first = value.first().map(u8::to_ascii_lowercase);
    let starts = |word: &&&[u8]| {
        word.first().copied() == first
            && value
                .get(..word.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(word))
    };
    words.iter().filter(starts).map(|word| word.len()).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders() {
        for value in [
            "$TOKEN",
            "${TOKEN}",
            "<your-key>",
            "xxxxxxxx",
            "********",
            "{{ token }}",
            "process.env.KEY",
            "[REDACTED:a:b]",
            "aaaa",
        ] {
            assert!(is_placeholder(value.as_bytes()), "{value}");
        }
        assert!(!is_placeholder(b"kD83hf0aQz"));
    }

    #[test]
    fn words_and_jumble() {
        for value in [
            "new-password",
            "getUserToken",
            "claude-opus-4-5-20251101",
            "text-gray-500",
            "SOME_NAME",
        ] {
            assert!(is_words(value.as_bytes()), "{value}");
        }
        for value in [
            "kD83hf0aQz",
            "hunter2hunter",
            "aGkLmQpZrTyU",
            "aGkLmQpZrTyUwrtpPsKdnfHJwq",
        ] {
            assert!(!is_words(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn entropy_of_known_texts() {
        assert!(entropy(b"aaaa") < 0.01);
        assert!((entropy(b"abcdefgh") - 3.0).abs() < 0.01);
    }
}

//! Cutting texts between characters.

/// The beginning of a text, of at most so many bytes.
pub(crate) fn beginning(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The end of a text, of at most so many bytes.
pub(crate) fn ending(text: &str, bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// A text without the colours and other orders that terminals obey.
pub(crate) fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '\u{1b}' {
            plain.push(letter);
        } else if letters.next_if_eq(&'[').is_some() {
            // Up to the letter that names the order.
            while letters
                .next()
                .is_some_and(|letter| !letter.is_ascii_alphabetic())
            {}
        }
    }
    plain
}

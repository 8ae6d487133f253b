//! Credentials in HTTP headers: what follows the scheme in `Authorization: Bearer …`.

use std::ops::Range;

use super::assignment::assignment;
use super::plausible::{
    classes, entropy, is_demonstration, is_placeholder, is_reference, is_words,
};
use super::rule::Found;

const LONGEST: usize = 8 * 1024;

/// The credentials in an `Authorization` header whose name is at `hit`.
pub(super) fn authorization(text: &[u8], hit: &Range<usize>) -> Option<Found> {
    let found = assignment(text, hit)?;
    let value = text.get(found.value.start..)?;
    let scheme = value
        .iter()
        .take(16)
        .take_while(|byte| byte.is_ascii_alphabetic())
        .count();
    let scheme_name = value.get(..scheme)?;
    let known = [
        "bearer",
        "basic",
        "token",
        "apikey",
        "bot",
        "key",
        "negotiate",
        "splunk",
    ];
    if !known
        .iter()
        .any(|known| scheme_name.eq_ignore_ascii_case(known.as_bytes()))
        || value.get(scheme) != Some(&b' ')
    {
        return None;
    }
    let start = found.value.start + scheme + 1;
    let secret = credentials(text, start)?;
    // Behind the very name of the header even a short credential is one.
    let value = text.get(secret.clone())?;
    (value.len() >= 8
        && classes(value) >= 2
        && !is_placeholder(value)
        && !is_reference(value)
        && !is_words(value))
    .then(|| Found::plain(secret))
}

/// The token after the word `Bearer` alone, as in code and in curl commands cut in two.
pub(super) fn bearer(text: &[u8], hit: &Range<usize>) -> Option<Found> {
    let secret = credentials(text, hit.end)?;
    let value = text.get(secret.clone())?;
    let random = value.len() >= 20 && value.iter().any(u8::is_ascii_digit) && entropy(value) >= 3.5;
    (random && !is_demonstration(value) && !is_reference(value) && !is_words(value))
        .then(|| Found::plain(secret))
}

/// User and password of `Basic`, which must be the base64 of something with a colon in it.
pub(super) fn basic(text: &[u8], hit: &Range<usize>) -> Option<Found> {
    let secret = credentials(text, hit.end)?;
    is_user_and_password(text.get(secret.clone())?).then(|| Found::plain(secret))
}

/// User and password in a container registry's configuration: the value of `"auth"`.
pub(super) fn registry(text: &[u8], hit: &Range<usize>) -> Option<Found> {
    // The keyword has the quote behind the name in it, to be rarer.
    let found = assignment(text, &(hit.start..hit.start + b"auth".len()))?;
    (text.get(found.name)? == b"auth" && is_user_and_password(text.get(found.value.clone())?))
        .then(|| Found::plain(found.value))
}

/// Whether `value` is the base64 of `user:password`.
fn is_user_and_password(value: &[u8]) -> bool {
    let Some(decoded) = data_encoding::BASE64
        .decode(value)
        .or_else(|_| data_encoding::BASE64_NOPAD.decode(value))
        .ok()
    else {
        return false;
    };
    let Some(colon) = memchr::memchr(b':', &decoded) else {
        return false;
    };
    let printable = decoded.iter().all(|byte| (b' '..=b'~').contains(byte));
    let password = decoded.get(colon + 1..).unwrap_or_default();
    let user = decoded.get(..colon).unwrap_or_default();
    value.len() >= 8
        && printable
        && (password.len() >= 6 || user.len() >= 16)
        && !is_demonstration(&decoded)
}

/// User and password of a `.netrc` line, after `machine` at `hit`.
pub(super) fn netrc(text: &[u8], hit: &Range<usize>) -> Option<Found> {
    let rest = text.get(hit.end..)?;
    let window = rest.get(..rest.len().min(256))?;
    // On one line or several, the fields come in this order.
    let login = memchr::memmem::find(window, b"login ")?;
    let password = memchr::memmem::find(window.get(login..)?, b"password ")? + login;
    let string_end = window
        .iter()
        .position(|byte| *byte == b'"')
        .unwrap_or(window.len());
    let start = password + b"password ".len();
    let length = rest.get(start..)?.iter().take(256).position(|byte| {
        byte.is_ascii_whitespace()
            || byte.is_ascii_control()
            || matches!(byte, b'\\' | b'"' | b'\'')
    });
    let length = length.unwrap_or(rest.len() - start).min(256);
    let value = rest.get(start..start + length)?;
    (start < string_end
        && length >= 6
        && !is_placeholder(value)
        && !matches!(value, [b'<' | b'{' | b'[', ..]))
    .then(|| Found::plain(hit.end + start..hit.end + start + length))
}

/// A run of the characters that credentials are made of.
fn credentials(text: &[u8], start: usize) -> Option<Range<usize>> {
    let rest = text.get(start..)?;
    let length = rest
        .iter()
        .take(LONGEST)
        .take_while(|byte| {
            byte.is_ascii_alphanumeric()
                || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'=' | b':')
        })
        .count();
    // A call or a template follows, not the end of the credentials.
    let ends = !matches!(rest.get(length), Some(b'(' | b'{' | b'[' | b'$' | b'<'));
    (length > 0 && length < LONGEST && ends).then_some(start..start + length)
}

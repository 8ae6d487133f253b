//! Credentials in HTTP headers: what follows the scheme in `Authorization: Bearer …`.

use std::ops::Range;

use memchr::memmem;

use super::assignment::assignment;
use super::examined::{count_leading, examined};
use super::generic::is_random_key;
use super::plausible::{
    classes, entropy, is_demonstration, is_placeholder, is_reference, is_uuid, is_words,
};
use super::rule::Found;
use super::search::{Search, ValueMemo};

/// Length in bytes of the longest credential; cookies reach 4 KiB, tickets of Kerberos more.
const MAX_CREDENTIAL_BYTES: usize = 8 * 1024;
const MIN_BARE_CREDENTIAL_BYTES: usize = 16;
const MIN_SIGNATURE_BYTES: usize = 24;
/// Length in bytes within which the fields of a `.netrc` entry follow one another.
const MAX_NETRC_BYTES: usize = 256;

/// The credentials in an `Authorization` header whose name is at `hit`.
pub(super) fn authorization(search: &mut Search<'_>, hit: &Range<usize>) -> Option<Found> {
    let found = assignment(search, hit)?;
    let text = search.text;
    let value = text.get(found.value.start..)?;
    let scheme = count_leading(value.iter().take(16), |byte| {
        byte.is_ascii_alphabetic() || byte == b'-'
    });
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
        "ssws",
        "geniekey",
        "oauth",
        "zoho-oauthtoken",
    ];
    if value.get(scheme) != Some(&b' ') {
        // Without a scheme there is nothing but the credentials.
        let is_credential = |_: &mut ValueMemo, value: &[u8]| {
            value.len() >= MIN_BARE_CREDENTIAL_BYTES && !is_uuid(value) && is_random_key(value)
        };
        return search
            .judge_value(&found.value, is_credential)
            .then(|| Found::plain(found.value));
    }
    if !known
        .iter()
        .any(|known| scheme_name.eq_ignore_ascii_case(known.as_bytes()))
    {
        return None;
    }
    let start = found.value.start + scheme + 1;
    if search.progress.is_decided(start) {
        return None;
    }
    let secret = credentials(text, start)?;
    // Behind the very name of the header even a short credential is one.
    let is_credential = |_: &mut ValueMemo, value: &[u8]| {
        value.len() >= 8
            && classes(value) >= 2
            && !is_placeholder(value)
            && !is_reference(value)
            && !is_words(value)
    };
    search
        .judge_value(&secret, is_credential)
        .then(|| Found::plain(secret))
}

/// The value of a cookie whose name ends at `hit`. Sessions of agents have such names too; their ids are UUIDs.
pub(super) fn cookie_value(search: &mut Search<'_>, hit: &Range<usize>) -> Option<Found> {
    let secret = url_value(search, hit.end)?;
    let is_session = |_: &mut ValueMemo, value: &[u8]| {
        value.len() >= MIN_BARE_CREDENTIAL_BYTES
            && !is_uuid(value)
            && !value
                .iter()
                .all(|byte| byte.is_ascii_hexdigit() || *byte == b'-')
            && is_random_key(value)
    };
    search
        .judge_value(&secret, is_session)
        .then(|| Found::plain(secret))
}

/// The signature of a URL that whoever has it may use, behind the end of its parameter's name at `hit`.
pub(super) fn url_signature(search: &mut Search<'_>, hit: &Range<usize>) -> Option<Found> {
    let text = search.text;
    let before = text.get(..hit.start)?;
    let name = count_leading(before.iter().rev().take(24), |byte| {
        byte.is_ascii_alphanumeric() || byte == b'-'
    });
    let name = before.len() - name..before.len();
    let before_name = text.get(name.start.saturating_sub(6)..name.start)?;
    let is_parameter = matches!(before_name, [.., b'?' | b'&'])
        || before_name.ends_with(b"&amp;")
        || text.get(name.clone())?.starts_with(b"u0026") && before_name.ends_with(b"\\")
        || text.get(name)?.ends_with(b"CloudFront-S");
    if !is_parameter {
        return None;
    }
    let secret = url_value(search, hit.end)?;
    let is_signature = |_: &mut ValueMemo, value: &[u8]| {
        value.len() >= MIN_SIGNATURE_BYTES && !is_placeholder(value) && !is_words(value)
    };
    search
        .judge_value(&secret, is_signature)
        .then(|| Found::plain(secret))
}

/// A run of the characters that values in cookies and URLs are made of. Its end is remembered: names may stand in it again.
fn url_value(search: &mut Search<'_>, start: usize) -> Option<Range<usize>> {
    let text = search.text;
    let limit = start + MAX_CREDENTIAL_BYTES;
    let is_part = |at: usize| {
        text.get(at)
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || b"-._~+/=:%".contains(byte))
    };
    let run = &mut search.progress.run;
    let end = run.end(start, limit.min(text.len()), is_part);
    (start < end && end < limit).then_some(start..end)
}

/// The token after the word `Bearer` alone, as in code and in curl commands cut in two.
pub(super) fn bearer(search: &mut Search<'_>, hit: &Range<usize>) -> Option<Found> {
    let secret = credentials(search.text, hit.end)?;
    let value = search.text.get(secret.clone())?;
    let random = value.len() >= 20 && value.iter().any(u8::is_ascii_digit) && entropy(value) >= 3.5;
    (random && !is_demonstration(value) && !is_reference(value) && !is_words(value))
        .then(|| Found::plain(secret))
}

/// User and password of `Basic`, which must be the base64 of something with a colon in it.
pub(super) fn basic(search: &mut Search<'_>, hit: &Range<usize>) -> Option<Found> {
    let secret = credentials(search.text, hit.end)?;
    is_user_and_password(search.text.get(secret.clone())?).then(|| Found::plain(secret))
}

/// User and password in a container registry's configuration: the value of `"auth"`.
pub(super) fn registry(search: &mut Search<'_>, hit: &Range<usize>) -> Option<Found> {
    // The keyword has the quote behind the name in it, to be rarer.
    let name = count_leading(search.text.get(hit.clone())?.iter(), |byte| {
        byte.is_ascii_alphabetic() || byte == b'_'
    });
    let found = assignment(search, &(hit.start..hit.start + name))?;
    (matches!(search.text.get(found.name)?, b"auth" | b"_auth")
        && search.judge_value(&found.value, |_, value| is_user_and_password(value)))
    .then(|| Found::plain(found.value))
}

/// Whether `value` is the base64 of `user:password`.
fn is_user_and_password(value: &[u8]) -> bool {
    examined(value.len() * 3);
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

/// User and password of a `.netrc` line, after `machine` or `default login` at `hit`.
pub(super) fn netrc(search: &mut Search<'_>, hit: &Range<usize>) -> Option<Found> {
    let rest = search.text.get(hit.end..)?;
    let window = rest.get(..rest.len().min(MAX_NETRC_BYTES))?;
    // What stands behind the next machine is that one's.
    let window = window.get(..memmem::find(window, b"machine ").unwrap_or(window.len()))?;
    examined(window.len() * 4);
    // On one line or several, the fields come in this order.
    let login = match search.text.get(hit.clone())? {
        b"machine " => memmem::find(window, b"login ")?,
        _ => 0,
    };
    let password = memmem::find(window.get(login..)?, b"password ")? + login;
    let string_end = memchr::memchr(b'"', window).unwrap_or(window.len());
    let start = password + b"password ".len();
    let length = count_leading(rest.get(start..)?.iter().take(MAX_NETRC_BYTES), |byte| {
        !byte.is_ascii_whitespace()
            && !byte.is_ascii_control()
            && !matches!(byte, b'\\' | b'"' | b'\'')
    });
    let value = rest.get(start..start + length)?;
    (start < string_end
        && (6..MAX_NETRC_BYTES).contains(&length)
        && !is_placeholder(value)
        && !matches!(value, [b'<' | b'{' | b'[', ..]))
    .then(|| Found::plain(hit.end + start..hit.end + start + length))
}

/// A run of the characters that credentials are made of.
fn credentials(text: &[u8], start: usize) -> Option<Range<usize>> {
    let rest = text.get(start..)?;
    let length = count_leading(rest.iter().take(MAX_CREDENTIAL_BYTES), |byte| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'=' | b':')
    });
    // A call or a template follows, not the end of the credentials.
    let ends = !matches!(rest.get(length), Some(b'(' | b'{' | b'[' | b'$' | b'<'));
    (length > 0 && length < MAX_CREDENTIAL_BYTES && ends).then_some(start..start + length)
}

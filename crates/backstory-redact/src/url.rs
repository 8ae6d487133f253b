//! Passwords in URLs: `scheme://user:password@host`.

use std::ops::Range;

use memchr::memmem;

use super::examined::{count_leading, examined};
use super::plausible::{entropy, is_demonstration, is_mostly_words, is_placeholder};
use super::rule::Found;
use super::search::Search;

const LONGEST_USER: usize = 128;
const LONGEST_PASSWORD: usize = 512;
const SHORTEST_TOKEN: usize = 20;
const SHORTEST_SEED: usize = 16;
/// Length in bytes of the part of an `otpauth://` URL that is looked at.
const MAX_SEED_OFFSET_BYTES: usize = 320;

/// The password of the URL whose `://` is at `hit`.
pub(super) fn password(search: &mut Search<'_>, hit: &Range<usize>) -> Option<Found> {
    let rest = search.text.get(hit.end..)?;
    let user = count_leading(rest.iter().take(LONGEST_USER), |byte| {
        !ends_part(byte) && !matches!(byte, b':' | b'@')
    });
    if rest.get(user) != Some(&b':') {
        return None;
    }
    let after = rest.get(user + 1..)?;
    let length = count_leading(after.iter().take(LONGEST_PASSWORD), |byte| !ends_part(byte));
    // The host begins after the last `@`; the ones before belong to the password.
    let length = memchr::memrchr(b'@', after.get(..length)?)?;
    let secret = after.get(..length)?;
    let host = after.get(length + 1)?;
    let start = hit.end + user + 1;
    (host.is_ascii_alphanumeric() || matches!(host, b'[' | b'$' | b'{' | b'%') || *host >= 0x80)
        .then_some(())
        .filter(|()| is_secret(rest.get(..user).unwrap_or_default(), secret))
        .map(|()| Found::plain(start..start + length))
}

/// The user of the URL whose `://` is at `hit`, if that is a token: `https://<token>@host`, as in a Sentry DSN.
pub(super) fn user_token(search: &mut Search<'_>, hit: &Range<usize>) -> Option<Found> {
    let rest = search.text.get(hit.end..)?;
    let length = count_leading(rest.iter().take(LONGEST_USER), |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
    });
    let user = rest.get(..length)?;
    let host = rest.get(length + 1)?;
    (rest.get(length) == Some(&b'@')
        && host.is_ascii_alphanumeric()
        && (SHORTEST_TOKEN..LONGEST_USER).contains(&length)
        && user.iter().filter(|byte| byte.is_ascii_digit()).count() >= 3
        && entropy(user) >= 3.0
        && !is_demonstration(user)
        && !is_mostly_words(user))
    .then(|| Found::plain(hit.end..hit.end + length))
}

/// The seed in the `otpauth://` URL at `hit`, from which all one-time passwords are computed.
pub(super) fn one_time_seed(search: &mut Search<'_>, hit: &Range<usize>) -> Option<Found> {
    let rest = search.text.get(hit.end..)?;
    let length = count_leading(rest.iter().take(MAX_SEED_OFFSET_BYTES), |byte| {
        byte.is_ascii_graphic() && !b"\"'`\\<>[]".contains(&byte)
    });
    let parameters = rest.get(..length)?;
    // What stands behind the next one is that one's.
    let next = memmem::find(parameters, b"otpauth://").unwrap_or(length);
    examined(length * 2);
    let at = memmem::find(parameters.get(..next)?, b"secret=")? + b"secret=".len();
    let seed = count_leading(
        parameters.get(at..next)?.iter(),
        |byte| matches!(byte, b'A'..=b'Z' | b'a'..=b'z' | b'2'..=b'7'),
    );
    let start = hit.end + at;
    (seed >= SHORTEST_SEED).then(|| Found::plain(start..start + seed))
}

fn ends_part(byte: u8) -> bool {
    byte.is_ascii_whitespace()
        || byte.is_ascii_control()
        || matches!(
            byte,
            b'/' | b'"' | b'\'' | b'`' | b'\\' | b'<' | b'>' | b'?' | b'#' | b','
        )
}

/// Whether this is somebody's password, and not a template or what every tutorial writes there.
fn is_secret(user: &[u8], password: &[u8]) -> bool {
    const TUTORIAL: [&str; 19] = [
        "password",
        "passwd",
        "pass",
        "pw",
        "pwd",
        "secret",
        "token",
        "user",
        "username",
        "root",
        "admin",
        "postgres",
        "mysql",
        "guest",
        "test",
        "pass123",
        "password123",
        "mypassword",
        "x-oauth-basic",
    ];
    let template = matches!(password, [b'{' | b'$' | b'%' | b'*' | b'(' | b'[', ..]);
    let tutorial = TUTORIAL
        .iter()
        .any(|word| password.eq_ignore_ascii_case(word.as_bytes()));
    // After a port the `@` belongs to something else.
    let port = password.len() <= 5 && password.iter().all(u8::is_ascii_digit);
    let same = password.eq_ignore_ascii_case(user);
    !(is_placeholder(password) || template || tutorial || port || same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::{RuleProgress, ValueMemo};

    fn check(text: &str, expected: Option<&str>) {
        let at = text.find("://").unwrap();
        let mut search = Search {
            text: text.as_bytes(),
            values: &mut ValueMemo::default(),
            progress: &mut RuleProgress::default(),
        };
        assert_eq!(
            password(&mut search, &(at..at + 3)).map(|found| &text[found.range]),
            expected,
            "{text}"
        );
    }

    #[test]
    fn passwords() {
        check("postgres://app:kd8Hq2@db.internal:5432/x", Some("kd8Hq2"));
        check("redis://:kd8Hq2@localhost", Some("kd8Hq2"));
        check("https://me:kd8@q@c.example", Some("kd8@q"));
        check(r"https://me:kd8Hq2@c.example\n", Some("kd8Hq2"));
    }

    #[test]
    fn no_passwords() {
        for text in [
            "https://example.com/a:b@c",
            "http://localhost:3000",
            "http://localhost:3000/@vite/client",
            "postgres://user:password@localhost",
            "postgres://postgres:postgres@localhost",
            "postgres://u:${PASS}@h",
            "postgres://u:$PASS@h",
            "https://{user}:{token}@host",
            "ssh://git@host",
        ] {
            check(text, None);
        }
    }
}

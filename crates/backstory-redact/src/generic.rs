//! Values that only the name of their variable gives away: `DB_PASSWORD=…`, `"client_secret": "…"`.
//!
//! These rules see the most innocent text, so they ask the most: the name must end like a secret's, and the value must be a
//! literal that looks random (keys) or at least is neither a word nor code (passwords). A passphrase of plain words is missed.

use std::ops::Range;

use super::assignment::{Assignment, Separator, assignment};
use super::examined::{count_leading, examined};
use super::plausible::{
    classes, contains_any, entropy, is_demonstration, is_mostly_words, is_reference, is_uuid,
    is_words,
};
use super::rule::Found;
use super::search::{Search, ValueMemo};

const SHORTEST_PASSWORD: usize = 8;
/// In a `.env` file and in a shell there is nothing but the value.
const SHORTEST_ENVIRONMENT_PASSWORD: usize = 6;
const SHORTEST_KEY: usize = 12;
const SHORTEST_NAMED_KEY: usize = 24;

/// What the names of passwords end with.
const PASSWORD_NAMES: [&str; 5] = ["password", "passwd", "pwd", "passphrase", "passcode"];

/// A password assigned to a name that has the keyword at `hit` in it.
pub(super) fn password(search: &mut Search<'_>, hit: &Range<usize>) -> Option<Found> {
    let found = assignment_of(search, hit, &PASSWORD_NAMES).or_else(|| {
        let found = assignment_at(search, hit)?;
        let name = search.text.get(found.name.clone())?;
        // The word alone is too common to be trusted without quotes.
        let is_alone = name.eq_ignore_ascii_case(b"pass")
            && (found.quoted || is_environment(search.text, &found));
        (is_short_password_name(name) || is_alone).then_some(found)
    })?;
    let text = search.text;
    let is_password = |_: &mut ValueMemo, value: &[u8]| {
        let text_like =
            |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'(' | b')' | b'{' | b'}');
        let unlike_text =
            || classes(value) >= 2 && !value.iter().any(text_like) && !is_words(value);
        (found.quoted || is_bare_literal(text, &found) || is_yaml_variable(text, &found))
            && (unlike_text()
                || value.len() >= SHORTEST_PASSWORD && is_environment(text, &found)
                || is_small_word(text, &found))
            && !is_demonstration(value)
            && !is_reference(value)
    };
    let shortest = if is_environment(text, &found) {
        SHORTEST_ENVIRONMENT_PASSWORD
    } else {
        SHORTEST_PASSWORD
    };
    ((shortest..=128).contains(&found.value.len()) && search.judge_value(&found.value, is_password))
        .then(|| Found::plain(found.value))
}

/// Whether this is a quoted word of small letters: a poor password, but what else stands there? Labels and translations begin
/// with a capital, names of options have hyphens, and the words that are left are few.
fn is_small_word(text: &[u8], found: &Assignment) -> bool {
    const OTHERS: [&str; 14] = [
        "required",
        "optional",
        "disabled",
        "encrypted",
        "keychain",
        "unchanged",
        "protected",
        "username",
        "anonymous",
        "kerberos",
        "incorrect",
        "forgotten",
        "keepassxc",
        "bitwarden",
    ];
    let value = text.get(found.value.clone()).unwrap_or_default();
    let assigned = matches!(
        found.separator,
        Separator::Tight | Separator::Equals | Separator::Colon
    );
    (found.quoted && assigned || is_yaml_variable(text, found))
        && value.iter().all(u8::is_ascii_lowercase)
        && !OTHERS.iter().any(|other| other.as_bytes() == value)
}

/// Whether this is a line `NAME: value` of YAML that sets a variable of the environment.
fn is_yaml_variable(text: &[u8], found: &Assignment) -> bool {
    let name = text.get(found.name.clone()).unwrap_or_default();
    let next = text.get(found.value.end);
    found.separator == Separator::Colon
        && !found.broken
        && name.contains(&b'_')
        && !name.iter().any(u8::is_ascii_lowercase)
        && matches!(next, None | Some(b'\n' | b'\r' | b'\\' | b'"' | b'\x1b'))
}

/// Whether the last word of a name is `pass` or `pw`, as in `DB_PASS`, `smtp-pass`, `adminPw` and `dbpass`.
fn is_short_password_name(name: &[u8]) -> bool {
    const OWNERS: [&str; 17] = [
        "db", "sql", "smtp", "mail", "email", "user", "admin", "root", "auth", "ftp", "store",
        "key", "ldap", "redis", "login", "become", "ssh",
    ];
    let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit());
    let name = name.get(..name.len() - digits.count()).unwrap_or_default();
    ["pass", "pw"].iter().any(|word| {
        let Some((owner, last)) = name
            .len()
            .checked_sub(word.len())
            .filter(|owner| *owner > 0)
            .and_then(|owner| name.split_at_checked(owner))
        else {
            return false;
        };
        let apart = owner
            .last()
            .is_some_and(|before| matches!(before, b'_' | b'-' | b'.'));
        let camel = last.first().is_some_and(u8::is_ascii_uppercase)
            && owner.last().is_some_and(u8::is_ascii_lowercase);
        let owned = OWNERS
            .iter()
            .any(|known| owner.to_ascii_lowercase().ends_with(known.as_bytes()));
        last.eq_ignore_ascii_case(word.as_bytes()) && (apart || camel || owned)
    })
}

/// Whether this is a line of a `.env` file or a shell, where whatever follows `NAME=` is the value and never code.
fn is_environment(text: &[u8], found: &Assignment) -> bool {
    let name = text.get(found.name.clone()).unwrap_or_default();
    found.separator == Separator::Tight && !name.iter().any(u8::is_ascii_lowercase)
}

/// A key for an interface.
pub(super) fn api_key(search: &mut Search<'_>, hit: &Range<usize>) -> Option<Found> {
    let found = assignment_of(
        search,
        hit,
        &["apikey", "apitoken", "apisecret", "appkey", "apikeys"],
    )?;
    key(search, found)
}

/// Something called a secret.
pub(super) fn secret(search: &mut Search<'_>, hit: &Range<usize>) -> Option<Found> {
    let found = assignment_of(
        search,
        hit,
        &[
            "secret",
            "secretkey",
            "secretaccesskey",
            "secretkeybase",
            "secrettoken",
            "secretvalue",
        ],
    )?;
    key(search, found)
}

/// Something called a token.
pub(super) fn token(search: &mut Search<'_>, hit: &Range<usize>) -> Option<Found> {
    const PAGES: [&str; 8] = [
        "pagetoken",
        "nexttoken",
        "continuationtoken",
        "synctoken",
        "csrftoken",
        "xsrftoken",
        "cancellationtoken",
        "maxtoken",
    ];
    let found = assignment_of(search, hit, &["token"])?;
    let name = plain_name(search.text.get(found.name.clone())?);
    if PAGES.iter().any(|page| name.ends_with(page.as_bytes()))
        || is_uuid(search.text.get(found.value.clone())?)
    {
        return None;
    }
    key(search, found)
}

/// Something called a key of a secret kind, or a credential.
pub(super) fn credential(search: &mut Search<'_>, hit: &Range<usize>) -> Option<Found> {
    const NAMES: [&str; 14] = [
        "accesskey",
        "privatekey",
        "encryptionkey",
        "signingkey",
        "masterkey",
        "accountkey",
        "authkey",
        "servicekey",
        "rolekey",
        "sharedkey",
        "credential",
        "credentials",
        "connectionstring",
        "sharedaccesskey",
    ];
    let found = assignment_of(search, hit, &NAMES)?;
    key(search, found)
}

/// A long random value called the key of something, as in `chart_service_key: "…"`. Most keys are no secrets, so hashes,
/// identifiers and the names of keys that everybody may see do not count.
pub(super) fn named_key(search: &mut Search<'_>, hit: &Range<usize>) -> Option<Found> {
    const OPEN: [&[u8]; 27] = [
        b"public",
        b"cache",
        b"primary",
        b"foreign",
        b"partition",
        b"sort",
        b"object",
        b"row",
        b"hash",
        b"idempotency",
        b"event",
        b"session",
        b"query",
        b"index",
        b"unique",
        b"lookup",
        b"storage",
        b"dedup",
        b"group",
        b"message",
        b"map",
        b"react",
        b"file",
        b"item",
        b"state",
        b"prompt",
        b"s3",
    ];
    /// What other rules look for.
    const OTHERS: [&[u8]; 13] = [
        b"api", b"app", b"secret", b"access", b"private", b"master", b"signing", b"encrypt",
        b"account", b"auth", b"service", b"role", b"shared",
    ];
    let found = assignment_of(search, hit, &["key"])?;
    let name = search.text.get(found.name.clone())?;
    let known = || contains_any(name, &OPEN) || contains_any(name, &OTHERS);
    if name.len() < 6 || found.value.len() < SHORTEST_NAMED_KEY || known() {
        return None;
    }
    let text = search.text;
    let is_key = |memo: &mut ValueMemo, value: &[u8]| {
        let turns = value
            .windows(2)
            .filter(|pair| matches!(pair, [a, b] if a.is_ascii_digit() != b.is_ascii_digit()));
        (found.quoted || is_bare_literal(text, &found))
            && !value
                .iter()
                .all(|byte| byte.is_ascii_hexdigit() || *byte == b'-')
            && turns.count() >= 5
            && !value
                .iter()
                .any(|byte| matches!(byte, b'.' | b':' | b'@' | b'/'))
            && memo.is_random(&found.value, || is_random_key(value))
    };
    (found.value.len() <= 128 && search.judge_value(&found.value, is_key))
        .then(|| Found::plain(found.value))
}

fn key(search: &mut Search<'_>, found: Assignment) -> Option<Found> {
    let text = search.text;
    let is_key = |memo: &mut ValueMemo, value: &[u8]| {
        (found.quoted || is_bare_literal(text, &found))
            && memo.is_random(&found.value, || is_random_key(value))
    };
    ((SHORTEST_KEY..=1024).contains(&found.value.len()) && search.judge_value(&found.value, is_key))
        .then(|| Found::plain(found.value))
}

/// Whether a value looks like a key that a program made.
pub(super) fn is_random_key(value: &[u8]) -> bool {
    examined(value.len());
    let (mut alphabet, mut hexadecimal, mut letters, mut digits) = (true, true, 0, 0);
    for byte in value {
        alphabet &= byte.is_ascii_alphanumeric() || b"+/=_.~:@!$%^*#-".contains(byte);
        hexadecimal &= byte.is_ascii_hexdigit();
        letters += usize::from(byte.is_ascii_alphabetic());
        digits += usize::from(byte.is_ascii_digit());
    }
    // Sixteen symbols give a random text at most four bits, and a short one less.
    let enough: f64 = if hexadecimal { 3.0 } else { 3.5 };
    alphabet
        && letters >= 3
        && (digits >= 2 || classes(value) >= 4)
        && entropy(value) >= enough.min((value.len() as f64).log2() - 0.5)
        && !is_demonstration(value)
        && !is_reference(value)
        && !is_mostly_words(value)
}

/// The assignment around `hit`, if its name ends with one of `endings` (numbers behind it do not count).
fn assignment_of(
    search: &mut Search<'_>,
    hit: &Range<usize>,
    endings: &[&str],
) -> Option<Assignment> {
    let found = assignment_at(search, hit)?;
    let name = plain_name(search.text.get(found.name.clone())?);
    endings
        .iter()
        .any(|ending| name.ends_with(ending.as_bytes()))
        .then_some(found)
}

/// The assignment around `hit`.
fn assignment_at(search: &mut Search<'_>, hit: &Range<usize>) -> Option<Assignment> {
    // Some keywords have what follows the name in them, to be rarer.
    let keyword = search.text.get(hit.clone())?.iter();
    let name = count_leading(keyword, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
    });
    assignment(search, &(hit.start..hit.start + name))
}

/// The name in lower case, without what stands between its words and without numbers at its end.
fn plain_name(name: &[u8]) -> Vec<u8> {
    examined(name.len());
    let mut plain: Vec<u8> = name
        .iter()
        .filter(|byte| byte.is_ascii_alphanumeric())
        .map(u8::to_ascii_lowercase)
        .collect();
    while plain.last().is_some_and(u8::is_ascii_digit) {
        plain.pop();
    }
    plain
}

/// Whether a value without quotes is written out, as in a shell or a configuration file, and not an expression.
fn is_bare_literal(text: &[u8], found: &Assignment) -> bool {
    let value = text.get(found.value.clone()).unwrap_or_default();
    examined(value.len());
    let digits = value.iter().any(u8::is_ascii_digit) || is_environment(text, found);
    let next = text.get(found.value.end);
    // What an expression or another assignment goes on with.
    let goes_on = matches!(next, Some(b'(' | b'[' | b'{' | b'|'))
        || next == Some(&b'<') && found.separator != Separator::Tag
        || value.ends_with(b":")
        || value.ends_with(b"=") && value.len() < 24 && !is_base64(value);
    let spaced = matches!(
        found.separator,
        Separator::Equals | Separator::Comma | Separator::Prose
    );
    // On the next line there is more often the next thing than the value.
    let near = !found.broken || value.len() >= 16;
    digits && !goes_on && near && (!spaced || !is_mostly_words(value))
}

/// Whether a value is padded base64, as in a Kubernetes Secret.
fn is_base64(value: &[u8]) -> bool {
    examined(value.len());
    value.len() >= 8
        && data_encoding::BASE64.decode_len(value.len()).is_ok()
        && data_encoding::BASE64.decode(value).is_ok()
}

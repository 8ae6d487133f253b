//! JSON web keys: the members that make one private.

use std::ops::Range;

use super::examined::{count_leading, examined};
use super::private_key::base64_line;
use super::rule::Found;
use super::search::Search;

/// Length in bytes within which the members of a JSON web key stand, on either side of one.
const MAX_WEB_KEY_BYTES: usize = 4096;
/// Length in bytes of the shortest private member.
const MIN_WEB_KEY_BYTES: usize = 32;

/// The private members of the JSON web key in which `kty` stands at `hit`, from the first to the last: with any of them the others
/// can be computed.
pub(super) fn jwk_private_members(search: &mut Search<'_>, hit: &Range<usize>) -> Option<Found> {
    const MEMBERS: [&[u8]; 7] = [b"d", b"p", b"q", b"dp", b"dq", b"qi", b"k"];
    let text = search.text;
    if search.progress.is_decided(hit.start) {
        return None;
    }
    let before = text.get(hit.start.saturating_sub(MAX_WEB_KEY_BYTES)..hit.start)?;
    let is_inside = |byte: u8| !matches!(byte, b'{' | b'}');
    let start = hit.start - count_leading(before.iter().rev(), is_inside);
    let rest = text.get(hit.start..)?.iter().take(MAX_WEB_KEY_BYTES);
    let end = hit.start + count_leading(rest, is_inside);
    search.progress.decide(end);
    examined((end - start) * 2);
    // Nothing behind the object is looked at.
    let text = text.get(..end)?;
    let mut range: Option<Range<usize>> = None;
    let mut members = Vec::new();
    let mut at = start;
    while let Some(quote) = memchr::memchr(b'"', text.get(at..).unwrap_or_default()) {
        // A name, its quote, a colon and the quote of the value.
        let name = base64_line(text, at + quote + 1);
        at = name.end.max(at + quote + 1);
        let is_member = MEMBERS.contains(&text.get(name.clone()).unwrap_or_default());
        let value = skip_punctuation(text, name.end);
        let between = text.get(name.end..value).unwrap_or_default();
        if !is_member || !between.contains(&b':') {
            continue;
        }
        let length = count_leading(text.iter().skip(value), |byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'=' | b'+' | b'/')
        });
        if length >= MIN_WEB_KEY_BYTES {
            range = Some(range.map_or(value, |range| range.start)..value + length);
            members.extend_from_slice(text.get(value..value + length).unwrap_or_default());
        }
        at = value + length;
    }
    // Other members may stand between them; the secret is what is private.
    Some(Found {
        range: range?,
        value: Some(members),
    })
}

/// Past the quotes, backslashes, blanks and the colon between a name and a value.
fn skip_punctuation(text: &[u8], at: usize) -> usize {
    let rest = text.iter().skip(at).take(24);
    at + count_leading(rest, |byte| matches!(byte, b'"' | b'\\' | b':' | b' '))
}

//! Secrets in text that stands in several places and is read as one: the fragments of a stream.
//!
//! What was found is overwritten in place, byte by byte, because the fragments before may be stored already and everything that was
//! said of them names positions. The marker is spread over the fragments, so that it shows where they are joined again.
//!
//! A fragment may end in the middle of a secret that was long enough to be known. Its marker stands at the end then, and what the next
//! fragment begins with is the rest of the secret; it is overwritten too.

use std::ops::Range;

use super::private_key::rest_of_block;
use super::scan::ScanMemory;
use super::{MARKER, RULES, Redactor, unescape};

/// Number of times that a text is searched. Each time shows more of secrets that stand behind others.
const MAX_JOINED_ROUNDS: usize = 8;

/// What is written where a marker does not fit.
const MASK: u8 = b'*';

/// Rules whose secrets have several lines.
const BLOCK_RULES: [&str; 3] = ["private-key", "putty-private-key", "bare-private-key"];

/// What [`Redactor::redact_joined`] overwrote.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Overwritten {
    /// The parts of the text that changed, sorted and disjoint.
    pub ranges: Vec<Range<usize>>,
    /// How many secrets were found.
    pub count: usize,
}

impl Redactor {
    /// Overwrites every secret in `text`, which is the insides of JSON strings, one behind the other; `borders` are the places where one
    /// ends and the next begins, sorted. No byte is moved, and every string stays valid.
    #[must_use]
    pub fn redact_joined(&self, text: &mut [u8], borders: &[usize]) -> Overwritten {
        let mut overwritten = Overwritten::default();
        let mut memory = ScanMemory::default();
        for round in 1..=MAX_JOINED_ROUNDS {
            let findings = self.all_findings(text, &mut memory);
            let rests = rests(text, borders);
            if findings.is_empty() && rests.is_empty() {
                break;
            }
            overwritten.count += findings.len();
            let known = std::mem::take(&mut overwritten.ranges);
            for rest in rests {
                overwrite(text, &rest, None);
                overwritten.ranges.push(rest);
            }
            for finding in findings {
                let secret = text.get(finding.range.clone()).unwrap_or_default();
                let value = finding.value.unwrap_or_else(|| unescape(secret));
                // What is found although it was overwritten would be found again and again, so that no marker is left of it.
                let again = round == MAX_JOINED_ROUNDS || overlaps(&known, &finding.range);
                let marker = (!again).then(|| self.marker(finding.rule, &value));
                overwrite(text, &finding.range, marker.as_deref());
                overwritten.ranges.push(finding.range);
            }
            overwritten.ranges.extend(known);
            overwritten.ranges = joined(overwritten.ranges);
        }
        if !overwritten.ranges.is_empty() {
            overwritten.ranges = self.settled(text, borders, overwritten.ranges, &mut memory);
        }
        overwritten
    }

    /// The marker of a secret.
    pub(super) fn marker(&self, rule: usize, value: &[u8]) -> String {
        let id = RULES.get(rule).map_or("secret", |rule| rule.id);
        let hash = blake3::keyed_hash(&self.key, value);
        let short = hash.as_bytes().get(..4).unwrap_or_default();
        format!("{MARKER}{id}:{}]", data_encoding::HEXLOWER.encode(short))
    }

    /// Sees to it that each string is valid and has nothing in it that a rule would find in that string alone: a part of a marker may
    /// look like a value behind a name. Returns what was overwritten then.
    fn settled(
        &self,
        text: &mut [u8],
        borders: &[usize],
        mut ranges: Vec<Range<usize>>,
        memory: &mut ScanMemory,
    ) -> Vec<Range<usize>> {
        let ends = borders.iter().copied().chain([text.len()]);
        let starts = [0].into_iter().chain(borders.iter().copied());
        let mut whole = Vec::new();
        let mut from = 0;
        for (start, end) in starts.zip(ends) {
            while ranges.get(from).is_some_and(|range| range.end <= start) {
                from += 1;
            }
            let rest = ranges.get(from..).unwrap_or_default();
            let in_piece = rest.partition_point(|range| range.start < end);
            let in_piece = rest.get(..in_piece).unwrap_or_default();
            if in_piece.is_empty() {
                continue;
            }
            let piece = text.get(start..end).unwrap_or_default();
            if !self.all_findings(piece, memory).is_empty() {
                for part in in_piece {
                    overwrite(text, &(part.start.max(start)..part.end.min(end)), None);
                }
            }
            if !is_valid_inside(text.get(start..end).unwrap_or_default()) {
                overwrite(text, &(start..end), None);
                whole.push(start..end);
            }
        }
        ranges.append(&mut whole);
        joined(ranges)
    }
}

/// Sorts ranges and joins those that touch.
fn joined(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// Whether one of these sorted ranges has a byte in common with `range`.
fn overlaps(ranges: &[Range<usize>], range: &Range<usize>) -> bool {
    let at = ranges.partition_point(|known| known.end <= range.start);
    ranges.get(at).is_some_and(|known| known.start < range.end)
}

/// Whether these bytes, if they are text at all, can stand between the quotes of a JSON string.
fn is_valid_inside(inside: &[u8]) -> bool {
    let Ok(inside) = std::str::from_utf8(inside) else {
        return true;
    };
    // Not decoded: half of a surrogate pair is no damage.
    serde_json::from_str::<&serde_json::value::RawValue>(&format!("\"{inside}\"")).is_ok()
}

/// Writes a marker into a range if it fits, and fills it up.
fn overwrite(text: &mut [u8], range: &Range<usize>, marker: Option<&str>) {
    let Some(place) = text.get_mut(range.clone()) else {
        return;
    };
    place.fill(MASK);
    let short = "[REDACTED]";
    let fitting = marker
        .filter(|marker| marker.len() <= place.len())
        .or(marker
            .map(|_| short)
            .filter(|short| short.len() <= place.len()));
    match fitting {
        Some(marker) => place
            .iter_mut()
            .zip(marker.bytes())
            .for_each(|(byte, mark)| *byte = mark),
        // In brackets, so that it is known as the beginning of a secret that goes on.
        None if marker.is_some() && place.len() > 2 => {
            if let [first, .., last] = place {
                (*first, *last) = (b'[', b']');
            }
        }
        None => {}
    }
}

/// What goes on behind a marker in another fragment.
fn rests(text: &[u8], borders: &[usize]) -> Vec<Range<usize>> {
    let mut rests = Vec::new();
    for at in memchr::memchr_iter(b'[', text) {
        let Some((end, rule)) = marker_at(text, at) else {
            continue;
        };
        let start = end + count(text, end, |byte| byte == MASK);
        let run = count(text, start, goes_on);
        let mut stop = start + run;
        if !text
            .get(start..stop)
            .is_some_and(|run| run.iter().any(u8::is_ascii_alphanumeric))
        {
            stop = start;
        }
        if BLOCK_RULES.contains(&rule) || rule.is_empty() && is_in_block(text, at) {
            stop = rest_of_block(text, stop).unwrap_or(stop);
        }
        // Without a border in between, whoever redacted this fragment has seen all of it.
        let border = borders.partition_point(|border| *border < end);
        if stop > start && borders.get(border).is_some_and(|border| *border < stop) {
            rests.push(start..stop);
        }
    }
    rests
}

/// Whether the marker at `at`, which does not say of what, stands in a key block.
fn is_in_block(text: &[u8], at: usize) -> bool {
    const FIRST_LINES: usize = 256;
    let before = text
        .get(at.saturating_sub(FIRST_LINES)..at)
        .unwrap_or_default();
    let has = |mark: &str| memchr::memmem::rfind(before, mark.as_bytes()).is_some();
    has("PRIVATE KEY") || has("Private-Lines:")
}

/// The end of the marker that begins at `at`, and its rule.
fn marker_at(text: &[u8], at: usize) -> Option<(usize, &str)> {
    const LONGEST: usize = 96;
    let rest = text.get(at + 1..text.len().min(at + LONGEST))?;
    if !rest.starts_with(b"REDACTED") && !rest.starts_with(b"*") {
        return None;
    }
    let length = memchr::memchr(b']', rest)?;
    let inside = std::str::from_utf8(rest.get(..length)?).ok()?;
    let rule = if inside.bytes().all(|byte| byte == MASK) {
        ""
    } else {
        match inside
            .strip_prefix("REDACTED")?
            .split(':')
            .collect::<Vec<_>>()[..]
        {
            [""] => "",
            ["", rule, _] => rule,
            _ => return None,
        }
    };
    Some((at + 1 + length + 1, rule))
}

fn count(text: &[u8], from: usize, is_part: impl Fn(u8) -> bool) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    rest.iter().take_while(|byte| is_part(**byte)).count()
}

/// Whether a secret may go on with this byte, rather than ending before it. Nobody writes on behind a secret without a blank, a
/// quote or a bracket in between, but for the host behind a password.
fn goes_on(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\\\"'`<>()[]{}".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted;

    /// Numbers that look random and are the same every time.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, most: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            usize::try_from(self.0 >> 11).unwrap() % most.max(1)
        }
    }

    fn inside(text: &str) -> String {
        let quoted = serde_json::to_string(text).unwrap();
        quoted[1..quoted.len() - 1].to_owned()
    }

    /// What a text looks like that comes in these pieces, `together` of them at a time: the last ones are stored before the next come.
    fn streamed(redactor: &Redactor, pieces: &[&str], together: usize) -> Vec<Vec<u8>> {
        let mut stored: Vec<Vec<u8>> = Vec::new();
        for some in pieces.chunks(together) {
            for piece in some {
                // As the record is redacted that it stands in.
                let line = format!("{{\"text\":\"{}\",\"n\":1}}", inside(piece));
                let line = redactor.redact(line.as_bytes(), &[]).bytes.into_owned();
                stored.push(line[9..line.len() - 8].to_vec());
            }
            let mut text = stored.concat();
            let mut borders = Vec::new();
            for piece in &stored[..stored.len() - 1] {
                borders.push(borders.last().unwrap_or(&0) + piece.len());
            }
            let _ = redactor.redact_joined(&mut text, &borders);
            let mut from = 0;
            for piece in &mut stored {
                let end = from + piece.len();
                piece.copy_from_slice(&text[from..end]);
                from = end;
            }
        }
        stored
    }

    fn check(
        redactor: &Redactor,
        rule: &str,
        text: &str,
        secrets: &[String],
        pieces: &[&str],
        together: usize,
    ) {
        let stored = streamed(redactor, pieces, together);
        let joined = String::from_utf8(stored.concat()).unwrap();
        let shown = serde_json::from_str::<String>(&format!("\"{joined}\"")).unwrap();
        let whole = redactor.redact(text.as_bytes(), &[]).bytes;
        let whole = String::from_utf8_lossy(&whole);
        for secret in secrets {
            let part = secret.len().min(12);
            for at in 0..=secret.len() - part {
                let part = &secret[at..at + part];
                assert!(
                    !shown.contains(part) || whole.contains(part),
                    "{rule}: {part:?} of {text:?}\nin {shown:?}\ncut into {pieces:?}, {together} at a time"
                );
            }
        }
        for piece in &stored {
            let piece = std::str::from_utf8(piece).unwrap();
            let line = format!("{{\"text\":\"{piece}\",\"n\":1}}");
            assert!(
                serde_json::from_str::<serde_json::Value>(&line).is_ok(),
                "{line}"
            );
            let again = redactor.redact(line.as_bytes(), &[]);
            assert_eq!(again.count, 0, "{rule}: found again in {line}");
        }
        let mut again = stored.concat();
        let mut borders = Vec::new();
        for piece in &stored[..stored.len() - 1] {
            borders.push(borders.last().unwrap_or(&0) + piece.len());
        }
        let overwritten = redactor.redact_joined(&mut again, &borders);
        assert_eq!(overwritten, Overwritten::default(), "{rule}: {shown:?}");
    }

    fn cut<'a>(text: &'a str, places: &[usize]) -> Vec<&'a str> {
        let mut pieces = Vec::new();
        let mut from = 0;
        for &place in places {
            if place > from && text.is_char_boundary(place) {
                pieces.push(&text[from..place]);
                from = place;
            }
        }
        pieces.push(&text[from..]);
        pieces
    }

    #[test]
    fn a_secret_of_every_rule_is_found_however_it_is_cut() {
        let redactor = Redactor::new([3; 32]);
        let mut numbers = Numbers(0x9E37_79B9);
        for (rule, number) in RULES.iter().zip(0..) {
            for seed in 0..3 {
                let planted = planted(rule, number * 31 + seed);
                let text = format!("see «this»:\n{}\nand go on", planted.text);
                for pieces in [1, 2, 3, 8] {
                    let mut places: Vec<usize> =
                        (0..pieces).map(|_| numbers.below(text.len())).collect();
                    places.sort_unstable();
                    let pieces = cut(&text, &places);
                    for together in [1, 2, pieces.len()] {
                        check(
                            &redactor,
                            rule.id,
                            &text,
                            &planted.secrets,
                            &pieces,
                            together,
                        );
                    }
                }
                // A few characters at a time, as models write.
                for width in [1, 4] {
                    let places: Vec<usize> = (0..text.len()).step_by(width).collect();
                    let pieces = cut(&text, &places);
                    for together in [7, pieces.len()] {
                        check(
                            &redactor,
                            rule.id,
                            &text,
                            &planted.secrets,
                            &pieces,
                            together,
                        );
                    }
                }
            }
        }
    }

    fn joined_text(pieces: &[&str]) -> String {
        let redactor = Redactor::new([3; 32]);
        let stored = streamed(&redactor, pieces, pieces.len());
        String::from_utf8(stored.concat()).unwrap()
    }

    #[test]
    fn a_marker_is_spread_over_fragments_and_shows_when_they_are_joined() {
        let rule = RULES.iter().find(|rule| rule.id == "anthropic-api-key");
        let secret = planted(rule.unwrap(), 1).secrets.remove(0);
        let (first, second) = secret.split_at(20);
        let text = joined_text(&["the key is ", first, second, " now"]);
        assert!(
            text.starts_with("the key is [REDACTED:anthropic-api-key:"),
            "{text}"
        );
        assert!(text.ends_with("* now"), "{text}");
        assert_eq!(text.len(), "the key is  now".len() + secret.len());
    }

    #[test]
    fn what_is_no_secret_stays_whatever_stands_before_it() {
        for pieces in [
            &["the password", ": ", "it is asked for", " at the prompt"][..],
            &["see [RED", "ACTED] and ", "go on"],
            &["**", "bold", "** and [", "***", "] stars"],
            &["[link]", "(https://example.org/path)"],
            &["-----BEGIN CERT", "IFICATE-----\nMIIB"],
        ] {
            assert_eq!(joined_text(pieces), inside(&pieces.concat()));
        }
    }

    #[test]
    fn escapes_and_half_characters_at_borders() {
        let rule = RULES.iter().find(|rule| rule.id == "anthropic-api-key");
        let secret = planted(rule.unwrap(), 1).secrets.remove(0);
        let redactor = Redactor::new([3; 32]);
        let (first, second) = secret.split_at(17);
        for (before, border, after) in [
            ("\\ud83d", "\\ude00", ""),
            ("\\n", "", "\\n"),
            ("key=\\\"", "", "\\\""),
            ("\\\\", "", "\\\\n"),
        ] {
            let pieces = [
                before.to_string(),
                format!("{border} {first}"),
                format!("{second}{after}"),
            ];
            let mut text = pieces.concat().into_bytes();
            let borders = [pieces[0].len(), pieces[0].len() + pieces[1].len()];
            let overwritten = redactor.redact_joined(&mut text, &borders);
            assert_eq!(overwritten.count, 1, "{pieces:?}");
            let text = String::from_utf8(text).unwrap();
            assert!(!text.contains(&secret[..20]), "{text}");
            for piece in [
                &text[..borders[0]],
                &text[borders[0]..borders[1]],
                &text[borders[1]..],
            ] {
                assert!(is_valid_inside(piece.as_bytes()), "{piece}");
            }
        }
    }
}

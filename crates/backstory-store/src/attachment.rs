//! Finding images and documents in records, so that they can be kept once, outside the text.

use std::ops::Range;

use data_encoding::BASE64;
use memchr::memmem;

/// Shorter runs stay in the text: cutting one out costs a row.
const MIN_BYTES: usize = 4096;

/// Number of bytes that are decoded at once to see whether they are text: they stay in the processor's cache. A multiple of three.
const DECODED_PIECE_BYTES: usize = 12 << 10;

/// Number of `=` at the end of a payload.
const MAX_PADDING_BYTES: usize = 2;

/// Share of a payload in percent from which on it is text: in compressed data 38 of 100 bytes are printable.
const MIN_TEXT_PERCENT: usize = 60;

/// Where base64 payloads of images and documents lie in a chunk, in order: the run after `"data":"` or `;base64,`.
///
/// What is text stays where it is. Attachments are stored decoded and not redacted, and nothing may be stored plainer than the log has it.
pub fn find(chunk: &[u8]) -> Vec<Range<usize>> {
    // Most chunks have none: two quick looks tell.
    let may_have = ["base64", "image_generation"]
        .iter()
        .any(|mark| memmem::find(chunk, mark.as_bytes()).is_some());
    if !may_have {
        return Vec::new();
    }
    let mut found: Vec<Range<usize>> = Vec::new();
    for marker in ["\"data\":\"", "\"data\": \"", ";base64,", "\"result\":\""] {
        for start in memmem::find_iter(chunk, marker.as_bytes()).map(|at| at + marker.len()) {
            let run = chunk[start..]
                .iter()
                .take_while(|byte| is_base64(**byte))
                .count();
            let payload = &chunk[start..start + run];
            if run >= MIN_BYTES && run % 4 == 0 && !is_text_payload(payload) {
                found.push(start..start + run);
            }
        }
    }
    found.sort_by_key(|range| range.start);
    found.dedup_by_key(|range| range.start);
    found
}

/// The bytes that a payload stands for, if encoding them again gives exactly the same text.
pub fn decode(payload: &[u8]) -> Option<Vec<u8>> {
    if has_inner_padding(payload) {
        return None;
    }
    BASE64.decode(payload).ok()
}

/// Returns whether padding stands before the end. BASE64 refuses wrong padding and trailing bits, but not this, which it would not
/// encode back.
fn has_inner_padding(payload: &[u8]) -> bool {
    let padding = memchr::memchr(b'=', payload);
    padding.is_some_and(|at| at + MAX_PADDING_BYTES < payload.len())
}

/// The text of a decoded payload.
pub fn encode(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

/// Returns whether most of the bytes that a payload stands for are text, in any encoding. It is decoded in pieces, and no further
/// than it takes to know that it is binary.
pub fn is_text_payload(payload: &[u8]) -> bool {
    if has_inner_padding(payload) {
        return false;
    }
    let mut tally = TextTally::default();
    let mut buffer = vec![0; DECODED_PIECE_BYTES];
    let mut bytes_left = payload.len() / 4 * 3;
    for piece in payload.chunks(DECODED_PIECE_BYTES / 3 * 4) {
        let Ok(length) = BASE64.decode_len(piece.len()) else {
            return false;
        };
        let Some(decoded) = buffer.get_mut(..length) else {
            return false;
        };
        let Ok(written) = BASE64.decode_mut(piece, decoded) else {
            return false;
        };
        tally.add(decoded.get(..written).unwrap_or_default());
        bytes_left = bytes_left.saturating_sub(length);
        if !tally.may_be_text(bytes_left) {
            return false;
        }
    }
    tally.is_text()
}

/// What is known of the bytes of a payload up to a place.
#[derive(Default)]
struct TextTally {
    printable: usize,
    /// Bytes that are no zeros. Zeros do not count: archives and databases pad text with them, and UTF-16 is full of them.
    other_than_zero: usize,
    beyond_ascii: usize,
    is_no_utf8: bool,
    /// The beginning of a character that goes on in the next piece.
    utf8_rest: Vec<u8>,
}

impl TextTally {
    fn add(&mut self, bytes: &[u8]) {
        let is_printable = |byte: &&u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
        self.printable += bytes.iter().filter(is_printable).count();
        self.other_than_zero += bytes.iter().filter(|byte| **byte != 0).count();
        if self.is_no_utf8 {
            return;
        }
        self.beyond_ascii += bytes.iter().filter(|byte| !byte.is_ascii()).count();
        self.utf8_rest.extend_from_slice(bytes);
        let valid = match std::str::from_utf8(&self.utf8_rest) {
            Ok(text) => text.len(),
            Err(error) => {
                self.is_no_utf8 = error.error_len().is_some();
                error.valid_up_to()
            }
        };
        self.utf8_rest.drain(..valid);
    }

    fn text_bytes(&self) -> usize {
        match self.is_no_utf8 {
            true => self.printable,
            false => self.printable + self.beyond_ascii,
        }
    }

    /// Returns whether it is text if nothing follows.
    fn is_text(&mut self) -> bool {
        self.is_no_utf8 |= !self.utf8_rest.is_empty();
        self.text_bytes() > 0 && self.may_be_text(0)
    }

    /// Returns whether it is text if so many bytes behind are.
    fn may_be_text(&self, bytes_left: usize) -> bool {
        (self.text_bytes() + bytes_left) * 100
            >= (self.other_than_zero + bytes_left) * MIN_TEXT_PERCENT
    }
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_found_and_decode_to_themselves() {
        let image = encode(&[7; 6000]);
        let line = format!(
            r#"{{"source":{{"type":"base64","data":"{image}"}},"url":"data:image/png;base64,{image}","data":"short"}}"#
        );
        let found = find(line.as_bytes());
        assert_eq!(found.len(), 2);
        for range in found {
            let payload = &line.as_bytes()[range];
            assert_eq!(encode(&decode(payload).unwrap()).as_bytes(), payload);
        }
    }

    #[test]
    fn padding_within_a_payload_is_not_lost() {
        let payload = "iQ==".repeat(1500);
        assert_eq!(decode(payload.as_bytes()), None);
        let padded = format!("{}iQ==", "iVBO".repeat(1500));
        assert!(decode(padded.as_bytes()).is_some());
    }

    fn noise(count: usize) -> Vec<u8> {
        let mut state = 7_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        (0..count).map(|_| next()).collect()
    }

    /// What [`is_text_payload`] finds out in pieces.
    fn is_text(bytes: &[u8]) -> bool {
        let is_printable = |byte: &&u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
        let mut text = bytes.iter().filter(is_printable).count();
        if std::str::from_utf8(bytes).is_ok() {
            text += bytes.iter().filter(|byte| !byte.is_ascii()).count();
        }
        let zeros = bytes.iter().filter(|byte| **byte == 0).count();
        text > 0 && text * 100 >= (bytes.len() - zeros) * MIN_TEXT_PERCENT
    }

    #[test]
    fn a_payload_in_pieces_is_the_same_as_whole() {
        let parts: [Vec<u8>; 6] = [
            noise(30_000),
            vec![0; 13_000],
            b"PASSWORD=kD83hf0aQz\n".repeat(1400),
            "パスワード".repeat(3000).into_bytes(),
            vec![0x80; 7],
            b"x".to_vec(),
        ];
        let mut found = [0, 0];
        for number in 0..parts.len().pow(3) {
            let mut bytes = Vec::new();
            for place in 0..3_u32 {
                let part = &parts[number / parts.len().pow(place) % parts.len()];
                // Cut anywhere, also within a character.
                let length = part.len() * (number % 7 + 1) / 7;
                bytes.extend_from_slice(&part[..length]);
            }
            let payload = encode(&bytes);
            let expected = is_text(&bytes);
            assert_eq!(is_text_payload(payload.as_bytes()), expected, "{number}");
            found[usize::from(expected)] += 1;
        }
        assert!(found.iter().all(|count| *count > 40), "{found:?}");
        // Whatever comes first.
        let late = [noise(20_000), b"TOKEN=kD83hf0aQz\n".repeat(9000)].concat();
        assert!(is_text_payload(encode(&late).as_bytes()));
    }

    #[test]
    fn text_stays_in_the_chunk() {
        let env = "# .env\nTOKEN=kD83hf0aQz\n".repeat(300);
        let utf16: Vec<u8> = env.bytes().flat_map(|byte| [byte, 0]).collect();
        let padded = [env.as_bytes(), &[0; 9000]].concat();
        let commented = [b"\xff\xfe\x00", env.as_bytes(), &noise(900)].concat();
        for text in [
            env.as_bytes(),
            "パスワード".repeat(400).as_bytes(),
            &utf16,
            &padded,
            &commented,
        ] {
            let line = format!(r#"{{"type":"base64","data":"{}"}}"#, encode(text));
            assert!(find(line.as_bytes()).is_empty());
        }
        let image = [b"\x89PNG\r\n\x1a\n", &noise(9000)[..]].concat();
        for binary in [image, vec![0; 6000], noise(6000)] {
            let line = format!(r#"{{"type":"base64","data":"{}"}}"#, encode(&binary));
            assert_eq!(find(line.as_bytes()).len(), 1);
        }
    }
}

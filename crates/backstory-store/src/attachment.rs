//! Finding images and documents in records, so that they can be kept once, outside the text.

use std::ops::Range;

use data_encoding::BASE64;
use memchr::memmem;

/// Shorter runs stay in the text: cutting one out costs a row.
const MIN_BYTES: usize = 4096;

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
            let is_binary = || !decode(payload).is_some_and(|bytes| is_text(&bytes));
            if run >= MIN_BYTES && run % 4 == 0 && is_binary() {
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
    // BASE64 is strict: it refuses wrong padding and trailing bits, so what it decodes, it encodes back.
    BASE64.decode(payload).ok()
}

/// The text of a decoded payload.
pub fn encode(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

/// Returns whether most of these bytes are text, in any encoding. Zeros do not count: archives and databases pad text with them, and
/// UTF-16 is full of them.
pub fn is_text(bytes: &[u8]) -> bool {
    let is_printable = |byte: &&u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
    let mut text = bytes.iter().filter(is_printable).count();
    if std::str::from_utf8(bytes).is_ok() {
        text += bytes.iter().filter(|byte| !byte.is_ascii()).count();
    }
    let zeros = bytes.iter().filter(|byte| **byte == 0).count();
    text > 0 && text * 100 >= (bytes.len() - zeros) * MIN_TEXT_PERCENT
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
    fn text_stays_in_the_chunk() {
        let noise = |count: usize| -> Vec<u8> {
            let mut state = 7_u32;
            let mut next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            };
            (0..count).map(|_| next()).collect()
        };
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

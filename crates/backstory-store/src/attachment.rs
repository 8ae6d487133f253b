//! Finding images and documents in records, so that they can be kept once, outside the text.

use std::ops::Range;

use data_encoding::BASE64;
use memchr::memmem;

/// Shorter runs stay in the text: cutting one out costs a row.
const MIN_BYTES: usize = 4096;

/// Where base64 payloads of images and documents lie in a chunk, in order: the run after `"data":"` or `;base64,`.
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
            if run >= MIN_BYTES && run % 4 == 0 {
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
}

//! How byte-level tokenizers write bytes as characters.
//!
//! Bytes that are printable in Latin-1 stand for themselves, the others for the characters from U+0100 on, in order.

/// The bytes that a token of such a tokenizer stands for; nothing where it is written otherwise, as special tokens are.
pub(crate) fn decode(token: &str) -> Option<Vec<u8>> {
    token.chars().map(byte).collect()
}

fn byte(character: char) -> Option<u8> {
    let code = character as u32;
    match code {
        0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => Some(code as u8),
        // What is not printable: 0 to 20, 7F to A0, AD.
        0x100..=0x120 => Some((code - 0x100) as u8),
        0x121..=0x142 => Some((code - 0x121 + 0x7f) as u8),
        0x143 => Some(0xad),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_what_stands_for_bytes() {
        assert_eq!(decode("Ġthe").unwrap(), b" the");
        assert_eq!(decode("Ċ").unwrap(), b"\n");
        assert_eq!(decode("ł").unwrap(), [0xa0]);
        assert_eq!(decode("Ń").unwrap(), [0xad]);
        assert_eq!(decode("é").unwrap(), [0xe9]);
        assert_eq!(decode("▁"), None);
        let mut all: Vec<u8> = (0x21..0x144)
            .filter_map(|code| byte(char::from_u32(code)?))
            .collect();
        all.sort_unstable();
        assert_eq!(all, (0..=255).collect::<Vec<u8>>());
    }
}

//! Reads the two facts that importing needs from the header of a `.gguf` file: what the network is and how long its vectors are.

use std::path::Path;

use crate::image::{u32_at, u64_at};
use crate::map::Bytes;
use crate::{Error, Result};

/// More pairs are refused: no model has a hundredth of them.
const MOST_PAIRS: u64 = 100_000;

/// What a header says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// The kind of network, as `qwen3` or `nomic-bert`.
    pub(crate) architecture: String,
    /// The length of its vectors.
    pub(crate) dimensions: usize,
}

/// Reads the header of a file.
pub(crate) fn read(path: &Path) -> Result<Header> {
    let bytes = Bytes::map(path)?;
    if bytes.get(..4) != Some(b"GGUF") {
        return Err(Error::malformed(path, "it is no gguf file"));
    }
    header(&bytes).ok_or_else(|| {
        Error::malformed(
            path,
            "its header does not say what the model is, or it is damaged",
        )
    })
}

fn header(bytes: &[u8]) -> Option<Header> {
    let version = u32_at(bytes, 4)?;
    let pairs = u64_at(bytes, 16)?;
    if !(2..=3).contains(&version) || pairs > MOST_PAIRS {
        return None;
    }
    let mut at = 24;
    let mut architecture = None;
    let mut lengths: Vec<(&str, u64)> = Vec::new();
    for _ in 0..pairs {
        let key = std::str::from_utf8(string(bytes, &mut at)?).ok()?;
        let kind = u32_at(bytes, at)?;
        at += 4;
        if key == "general.architecture" && kind == STRING {
            architecture = std::str::from_utf8(string(bytes, &mut at)?).ok();
            continue;
        }
        if key.ends_with(".embedding_length") {
            let length = match kind {
                UINT32 | INT32 => u64::from(u32_at(bytes, at)?),
                UINT64 | INT64 => u64_at(bytes, at)?,
                _ => return None,
            };
            lengths.push((key, length));
        }
        skip(bytes, kind, &mut at)?;
    }
    let architecture = architecture?;
    let wanted = format!("{architecture}.embedding_length");
    let (_, length) = lengths.iter().find(|(key, _)| *key == wanted)?;
    Some(Header {
        architecture: architecture.to_owned(),
        dimensions: usize::try_from(*length).ok()?,
    })
}

const UINT32: u32 = 4;
const INT32: u32 = 5;
const STRING: u32 = 8;
const ARRAY: u32 = 9;
const UINT64: u32 = 10;
const INT64: u32 = 11;

fn string<'a>(bytes: &'a [u8], at: &mut usize) -> Option<&'a [u8]> {
    let length = usize::try_from(u64_at(bytes, *at)?).ok()?;
    let start = *at + 8;
    let end = start.checked_add(length)?;
    *at = end;
    bytes.get(start..end)
}

fn skip(bytes: &[u8], kind: u32, at: &mut usize) -> Option<()> {
    match kind {
        STRING => {
            string(bytes, at)?;
        }
        ARRAY => {
            let inner = u32_at(bytes, *at)?;
            let count = u64_at(bytes, *at + 4)?;
            *at += 12;
            if let Some(size) = size(inner) {
                let length = usize::try_from(count).ok()?.checked_mul(size)?;
                *at = at.checked_add(length).filter(|end| *end <= bytes.len())?;
            } else if inner == STRING {
                for _ in 0..count {
                    string(bytes, at)?;
                }
            } else {
                return None;
            }
        }
        kind => {
            let end = at.checked_add(size(kind)?);
            *at = end.filter(|end| *end <= bytes.len())?;
        }
    }
    Some(())
}

/// How many bytes a plain number has.
fn size(kind: u32) -> Option<usize> {
    Some(match kind {
        0 | 1 | 7 => 1,
        2 | 3 => 2,
        UINT32 | INT32 | 6 => 4,
        UINT64 | INT64 | 12 => 8,
        _ => return None,
    })
}

/// A file with these pairs and no tensors, for tests.
#[cfg(test)]
pub(crate) fn write(architecture: &str, dimensions: u32) -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let mut file = b"GGUF".to_vec();
    file.extend(3u32.to_le_bytes());
    file.extend(0u64.to_le_bytes());
    file.extend(3u64.to_le_bytes());
    file.extend(text("tokens"));
    file.extend(ARRAY.to_le_bytes());
    file.extend(STRING.to_le_bytes());
    file.extend(2u64.to_le_bytes());
    file.extend(text("a"));
    file.extend(text("b"));
    file.extend(text(&format!("{architecture}.embedding_length")));
    file.extend(UINT32.to_le_bytes());
    file.extend(dimensions.to_le_bytes());
    file.extend(text("general.architecture"));
    file.extend(STRING.to_le_bytes());
    file.extend(text(architecture));
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_architecture_and_length() {
        let expected = Header {
            architecture: "qwen3".to_owned(),
            dimensions: 1024,
        };
        assert_eq!(header(&write("qwen3", 1024)), Some(expected));
    }

    #[test]
    fn survives_what_is_cut_or_changed() {
        let file = write("qwen3", 1024);
        for length in 0..file.len() {
            assert_eq!(header(&file[..length]), None);
        }
        for at in 0..file.len() {
            let mut changed = file.clone();
            changed[at] = 0xff;
            let _ = header(&changed);
        }
    }
}

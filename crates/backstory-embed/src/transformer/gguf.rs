//! Where the tensors of a GGUF file lie, and what it says about the network.
//!
//! Candle has a reader, too. It divides by the alignment that the file states without a look at it, and it makes a string of each of
//! the 150,000 tokens of a vocabulary, which the tokenizer's own file gives us; this one passes over them.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use candle_core::quantized::GgmlDType;

use crate::map::Bytes;
use crate::{Error, Result};

use super::weights::{Kind, Stored};

/// A file.
pub(super) struct Gguf {
    bytes: Bytes,
    header: Header,
}

#[derive(Debug, Default)]
struct Header {
    settings: HashMap<String, Value>,
    tensors: HashMap<String, (Kind, Vec<usize>, Range<usize>)>,
}

/// One thing that a file says about its network.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Integer(u64),
    Real(f64),
    Text(String),
}

const MOST_DIMENSIONS: u32 = 4;

impl Gguf {
    /// Opens a file and checks that the tensors lie within it.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let bytes = Bytes::map(path)?;
        let mut reader = Reader {
            bytes: &bytes,
            at: 0,
        };
        let damaged = || Err("its header is cut short or damaged".to_owned());
        let header = header(&mut reader).unwrap_or_else(damaged);
        let header = header.map_err(|reason| Error::malformed(path, reason))?;
        Ok(Gguf { bytes, header })
    }

    /// What the file says under a name; nothing where that is a list.
    pub(super) fn setting(&self, name: &str) -> Option<&Value> {
        self.header.settings.get(name)
    }

    /// The tensor of a name.
    pub(super) fn tensor(&self, name: &str) -> Option<Stored<'_>> {
        let (kind, shape, range) = self.header.tensors.get(name)?;
        Some(Stored {
            kind: *kind,
            shape,
            bytes: self.bytes.get(range.clone())?,
        })
    }
}

/// Reads the header. Nothing where it is cut short.
fn header(reader: &mut Reader<'_>) -> Option<Result<Header, String>> {
    if reader.take(4)? != b"GGUF" {
        return Some(Err("it is no GGUF file".to_owned()));
    }
    let version = reader.u32()?;
    if !(2..=3).contains(&version) {
        return Some(Err(format!(
            "it has version {version} of GGUF, which is not known here"
        )));
    }
    let count = reader.u64()?;
    let mut header = Header::default();
    for _ in 0..reader.u64()? {
        let key = reader.text()?;
        let kind = reader.u32()?;
        if let Some(value) = reader.value(kind)? {
            header.settings.insert(key, value);
        }
    }
    let mut described = Vec::new();
    for _ in 0..count {
        let name = reader.text()?;
        let dimensions = reader.u32()?;
        if dimensions > MOST_DIMENSIONS {
            return Some(Err(format!(
                "its tensor {name} has {dimensions} dimensions"
            )));
        }
        let mut shape = Vec::new();
        for _ in 0..dimensions {
            shape.push(usize::try_from(reader.u64()?).ok()?);
        }
        // The file names the length of a row first.
        shape.reverse();
        described.push((name, shape, reader.u32()?, reader.u64()?));
    }
    // Candle uses blocks where they lie and insists on even addresses; the format promises more.
    let alignment = match header.settings.get("general.alignment") {
        None => 32,
        Some(Value::Integer(alignment)) if *alignment > 0 && alignment.is_multiple_of(8) => {
            usize::try_from(*alignment).ok()?
        }
        Some(_) => return Some(Err("its alignment is not a multiple of eight".to_owned())),
    };
    let start = reader.at.checked_next_multiple_of(alignment)?;
    for (name, shape, kind, offset) in described {
        let Some(kind) = kind_of(kind) else {
            return Some(Err(format!(
                "its tensor {name} is of the kind {kind}, which is not known here"
            )));
        };
        let place = usize::try_from(offset)
            .ok()
            .filter(|offset| offset.is_multiple_of(alignment))
            .and_then(|offset| start.checked_add(offset))
            .and_then(|first| Some(first..first.checked_add(kind.bytes(&shape)?)?))
            .filter(|place| place.end <= reader.bytes.len());
        let Some(place) = place else {
            return Some(Err(format!(
                "its tensor {name} does not lie within the file"
            )));
        };
        header.tensors.insert(name, (kind, shape, place));
    }
    Some(Ok(header))
}

fn kind_of(kind: u32) -> Option<Kind> {
    Some(match kind {
        0 => Kind::Single,
        1 => Kind::Half,
        30 => Kind::Brain,
        2 => Kind::Block(GgmlDType::Q4_0),
        3 => Kind::Block(GgmlDType::Q4_1),
        6 => Kind::Block(GgmlDType::Q5_0),
        7 => Kind::Block(GgmlDType::Q5_1),
        8 => Kind::Block(GgmlDType::Q8_0),
        10 => Kind::Block(GgmlDType::Q2K),
        11 => Kind::Block(GgmlDType::Q3K),
        12 => Kind::Block(GgmlDType::Q4K),
        13 => Kind::Block(GgmlDType::Q5K),
        14 => Kind::Block(GgmlDType::Q6K),
        _ => return None,
    })
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(count)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.u64()?).ok()?;
        Some(String::from_utf8_lossy(self.take(length)?).into_owned())
    }

    /// A value of a kind. Lists are passed over, and so are negative numbers: no field used here can be one.
    fn value(&mut self, kind: u32) -> Option<Option<Value>> {
        let integer = |value: i64| u64::try_from(value).ok().map(Value::Integer);
        Some(match kind {
            0 | 7 => Some(Value::Integer(self.array::<1>()?[0].into())),
            1 => integer(self.array().map(i8::from_le_bytes)?.into()),
            2 => Some(Value::Integer(self.array().map(u16::from_le_bytes)?.into())),
            3 => integer(self.array().map(i16::from_le_bytes)?.into()),
            4 => Some(Value::Integer(self.u32()?.into())),
            5 => integer(self.array().map(i32::from_le_bytes)?.into()),
            6 => Some(Value::Real(self.array().map(f32::from_le_bytes)?.into())),
            8 => Some(Value::Text(self.text()?)),
            9 => {
                self.pass_list()?;
                None
            }
            10 => Some(Value::Integer(self.u64()?)),
            11 => integer(self.array().map(i64::from_le_bytes)?),
            12 => Some(Value::Real(self.array().map(f64::from_le_bytes)?)),
            _ => return None,
        })
    }

    fn pass_list(&mut self) -> Option<()> {
        let kind = self.u32()?;
        let count = usize::try_from(self.u64()?).ok()?;
        let size = match kind {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            10..=12 => 8,
            8 => {
                for _ in 0..count {
                    let length = usize::try_from(self.u64()?).ok()?;
                    self.take(length)?;
                }
                return Some(());
            }
            // Lists of lists occur in no file of a network known here.
            _ => return None,
        };
        self.take(count.checked_mul(size)?).map(|_| ())
    }
}

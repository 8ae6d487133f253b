//! Reads `.safetensors` files: the length of a JSON header, the header, and the tensors' bytes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::image::u64_at;
use crate::map::Bytes;
use crate::{Error, Result};

/// Longer headers are refused, as the format's own library does.
const LONGEST_HEADER: u64 = 100_000_000;

/// A file of tensors.
pub(crate) struct Safetensors {
    bytes: Bytes,
    tensors: BTreeMap<String, (Kind, Vec<usize>, Range<usize>)>,
}

/// The kind of numbers in a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[allow(missing_docs)]
pub(crate) enum Kind {
    F64,
    F32,
    F16,
    #[serde(rename = "BF16")]
    Bf16,
    I64,
    I32,
    I8,
    U8,
    /// A kind that no table of ours is made of.
    #[serde(other)]
    Other,
}

impl Kind {
    /// How many bytes a number has; nothing where that is not known here.
    pub(crate) fn size(self) -> Option<usize> {
        Some(match self {
            Kind::F64 | Kind::I64 => 8,
            Kind::F32 | Kind::I32 => 4,
            Kind::F16 | Kind::Bf16 => 2,
            Kind::I8 | Kind::U8 => 1,
            Kind::Other => return None,
        })
    }
}

/// One tensor.
pub(crate) struct Tensor<'a> {
    pub(crate) kind: Kind,
    pub(crate) shape: &'a [usize],
    pub(crate) bytes: &'a [u8],
}

#[derive(Deserialize)]
struct Entry {
    dtype: Kind,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

impl Safetensors {
    /// Opens a file and checks that the tensors lie within it.
    pub(crate) fn open(path: &Path) -> Result<Safetensors> {
        Safetensors::new(Bytes::map(path)?).map_err(|reason| Error::malformed(path, reason))
    }

    fn new(bytes: Bytes) -> Result<Safetensors, String> {
        let length = u64_at(&bytes, 0).filter(|length| *length <= LONGEST_HEADER);
        let start = length.map_or(usize::MAX, |length| length as usize + 8);
        let header = bytes.get(8..start).ok_or("it is no safetensors file")?;
        let damaged = |error: serde_json::Error| format!("its header is damaged: {error}");
        let header: BTreeMap<String, &RawValue> =
            serde_json::from_slice(header).map_err(damaged)?;
        let mut tensors = BTreeMap::new();
        for (name, entry) in header {
            if name == "__metadata__" {
                continue;
            }
            let Entry {
                dtype,
                shape,
                data_offsets: (from, to),
            } = serde_json::from_str(entry.get()).map_err(damaged)?;
            let range = start.checked_add(from).zip(start.checked_add(to));
            let range = range.filter(|(from, to)| from <= to && *to <= bytes.len());
            let (from, to) =
                range.ok_or_else(|| format!("its tensor {name} lies outside of it"))?;
            let count = shape
                .iter()
                .try_fold(1usize, |count, side| count.checked_mul(*side));
            let size = dtype
                .size()
                .map(|size| count.and_then(|count| count.checked_mul(size)));
            if size.is_some_and(|size| size != Some(to - from)) {
                return Err(format!(
                    "its tensor {name} has not the size that its shape says"
                ));
            }
            tensors.insert(name, (dtype, shape, from..to));
        }
        Ok(Safetensors { bytes, tensors })
    }

    /// How many tensors there are.
    pub(crate) fn len(&self) -> usize {
        self.tensors.len()
    }

    /// The tensor of a name.
    pub(crate) fn tensor(&self, name: &str) -> Option<Tensor<'_>> {
        let (kind, shape, range) = self.tensors.get(name)?;
        Some(Tensor {
            kind: *kind,
            shape,
            bytes: self.bytes.get(range.clone())?,
        })
    }
}

/// The bytes of a file with these tensors, for tests.
#[cfg(test)]
pub(crate) fn write(tensors: &[(&str, &str, &[usize], Vec<u8>)]) -> Vec<u8> {
    let mut header = serde_json::Map::new();
    let mut data = Vec::new();
    header.insert("__metadata__".into(), serde_json::json!({"format": "pt"}));
    for (name, kind, shape, bytes) in tensors {
        let offsets = [data.len(), data.len() + bytes.len()];
        let entry = serde_json::json!({"dtype": kind, "shape": shape, "data_offsets": offsets});
        header.insert((*name).into(), entry);
        data.extend_from_slice(bytes);
    }
    let header = serde_json::to_vec(&header).unwrap();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header);
    file.extend(data);
    file
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: Vec<u8>) -> Result<Safetensors, String> {
        Safetensors::new(Bytes::Owned(bytes))
    }

    #[test]
    fn finds_tensors() {
        let file = write(&[
            ("a", "I8", &[2, 3], vec![1, 2, 3, 4, 5, 6]),
            ("b", "F8_E4M3", &[1], vec![9]),
        ]);
        let file = read(file).unwrap();
        let tensor = file.tensor("a").unwrap();
        assert_eq!(
            (tensor.kind, tensor.shape, tensor.bytes),
            (Kind::I8, &[2, 3][..], &[1, 2, 3, 4, 5, 6][..])
        );
        assert_eq!(file.tensor("b").unwrap().kind, Kind::Other);
        assert!(file.tensor("c").is_none());
    }

    #[test]
    fn refuses_tensors_that_cannot_be() {
        let reason = |bytes| read(bytes).err().unwrap();
        assert!(reason(write(&[("a", "F32", &[2], vec![0; 4])])).contains("size"));
        let mut short = write(&[("a", "F32", &[2], vec![0; 8])]);
        short.pop();
        assert!(reason(short).contains("outside"));
        assert!(reason(write(&[("a", "F32", &[usize::MAX, 2], vec![])])).contains("size"));
        assert!(reason(u64::MAX.to_le_bytes().to_vec()).contains("no safetensors"));
        assert!(reason(Vec::new()).contains("no safetensors"));
    }

    proptest! {
        #[test]
        fn survives_changed_bytes(at in 0usize..200, byte: u8, cut in 0usize..200) {
            let mut file = write(&[("a", "I8", &[2, 3], vec![1; 6]), ("b", "F16", &[4], vec![9; 8])]);
            if let Some(place) = file.get_mut(at) { *place = byte; }
            for bytes in [file[..cut.min(file.len())].to_vec(), file] {
                if let Ok(file) = read(bytes) { let _ = file.tensor("a"); }
            }
        }
    }
}

//! Attributes of sessions: those that are known, and those of other writers as they are written again.

use std::collections::HashMap;

use hdf5_pure::{AttrValue, Datatype};

use crate::hdf5::datatype::{double_type, encode_datatype, integer_type, single_type};
use crate::rows::{AttributeValue, SessionAttributes};

/// Returns the text of an attribute, empty when there is none.
pub(super) fn text_attribute(attributes: &HashMap<String, AttrValue>, name: &str) -> String {
    let text = attributes.get(name).and_then(AttrValue::as_str);
    text.unwrap_or_default().to_owned()
}

/// Sets a text that session files have; returns false for another name.
pub(super) fn set_known_text(attributes: &mut SessionAttributes, name: &str, text: &str) -> bool {
    let text = text.to_owned();
    match name {
        "agent" => attributes.agent = text,
        "model" => attributes.model = text,
        "summary" => attributes.summary = text,
        "cwd" => attributes.cwd = text,
        "git_branch" => attributes.git_branch = text,
        "agent_version" => attributes.agent_version = text,
        "permission_mode" => attributes.permission_mode = non_empty(text),
        "session_id_original" => attributes.session_id_original = Some(text),
        "missing" => attributes.missing = non_empty(text),
        "embedding_model" => attributes.embedding_model = non_empty(text),
        _ => return false,
    }
    true
}

/// Returns a text that is written although there is none.
fn non_empty(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// Returns an attribute as it is written again, or `None` when it cannot be.
pub(super) fn carried_attribute(
    value: &AttrValue,
    datatype: Option<&Datatype>,
) -> Option<AttributeValue> {
    fn list<T: Copy, const N: usize>(
        values: &[T],
        bytes: impl Fn(T) -> [u8; N],
    ) -> (Vec<u8>, Option<u64>) {
        (
            values.iter().flat_map(|value| bytes(*value)).collect(),
            Some(values.len() as u64),
        )
    }
    if let (Some(texts), false) = (value.as_strings(), value.as_str().is_some()) {
        return Some(AttributeValue::Texts(texts.to_vec()));
    }
    if let Some(text) = value.as_str() {
        return Some(AttributeValue::Text(text.to_owned()));
    }
    let (size, signed, (data, elements)) = match value {
        AttrValue::I64(number) => return Some(AttributeValue::Integer(*number)),
        AttrValue::F64(number) => return Some(AttributeValue::Float(*number)),
        AttrValue::I8(number) => (1, true, (number.to_le_bytes().to_vec(), None)),
        AttrValue::I16(number) => (2, true, (number.to_le_bytes().to_vec(), None)),
        AttrValue::I32(number) => (4, true, (number.to_le_bytes().to_vec(), None)),
        AttrValue::U8(number) => (1, false, (number.to_le_bytes().to_vec(), None)),
        AttrValue::U16(number) => (2, false, (number.to_le_bytes().to_vec(), None)),
        AttrValue::U32(number) => (4, false, (number.to_le_bytes().to_vec(), None)),
        AttrValue::U64(number) => (8, false, (number.to_le_bytes().to_vec(), None)),
        AttrValue::I8Array(numbers) => (1, true, list(numbers, i8::to_le_bytes)),
        AttrValue::I16Array(numbers) => (2, true, list(numbers, i16::to_le_bytes)),
        AttrValue::I32Array(numbers) => (4, true, list(numbers, i32::to_le_bytes)),
        AttrValue::I64Array(numbers) => (8, true, list(numbers, i64::to_le_bytes)),
        AttrValue::U8Array(numbers) => (1, false, list(numbers, u8::to_le_bytes)),
        AttrValue::U16Array(numbers) => (2, false, list(numbers, u16::to_le_bytes)),
        AttrValue::U32Array(numbers) => (4, false, list(numbers, u32::to_le_bytes)),
        AttrValue::U64Array(numbers) => (8, false, list(numbers, u64::to_le_bytes)),
        AttrValue::F32(number) => {
            return Some(AttributeValue::Encoded {
                datatype: single_type().bytes,
                elements: None,
                data: number.to_le_bytes().to_vec(),
            });
        }
        AttrValue::F32Array(numbers) => {
            let (data, elements) = list(numbers, f32::to_le_bytes);
            return Some(AttributeValue::Encoded {
                datatype: single_type().bytes,
                elements,
                data,
            });
        }
        AttrValue::F64Array(numbers) => {
            let (data, elements) = list(numbers, f64::to_le_bytes);
            return Some(AttributeValue::Encoded {
                datatype: double_type().bytes,
                elements,
                data,
            });
        }
        _ => return None,
    };
    // A truth value of h5py is an enumeration over a byte.
    let enumeration = datatype.filter(|datatype| matches!(datatype, Datatype::Enumeration { size: stored, .. } if *stored == size));
    let encoded = enumeration
        .and_then(encode_datatype)
        .unwrap_or_else(|| integer_type(size, signed));
    Some(AttributeValue::Encoded {
        datatype: encoded.bytes,
        elements,
        data,
    })
}

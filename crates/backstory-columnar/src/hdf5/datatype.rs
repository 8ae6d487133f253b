//! Datatype messages: the encoded form of the types that columns and attributes have.

use hdf5_pure::{CharacterSet, Datatype, DatatypeByteOrder, StringPadding};

/// Encoded datatype with the size of one element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EncodedType {
    pub(crate) bytes: Vec<u8>,
    pub(crate) size: usize,
    /// Elements are references into the global heap.
    pub(crate) is_text: bool,
}

/// Returns the type of integers of `size` bytes, little-endian.
pub(crate) fn integer_type(size: u32, signed: bool) -> EncodedType {
    let mut bytes = vec![0x10, u8::from(signed) << 3, 0, 0];
    bytes.extend_from_slice(&size.to_le_bytes());
    bytes.extend_from_slice(&[0, 0]);
    bytes.extend_from_slice(&(size as u16 * 8).to_le_bytes());
    EncodedType {
        bytes,
        size: size as usize,
        is_text: false,
    }
}

/// Returns the type of IEEE 754 numbers of 8 bytes.
pub(crate) fn double_type() -> EncodedType {
    let bytes = vec![
        0x11, 0x20, 63, 0, 8, 0, 0, 0, 0, 0, 64, 0, 52, 11, 0, 52, 0xff, 3, 0, 0,
    ];
    EncodedType {
        bytes,
        size: 8,
        is_text: false,
    }
}

/// Returns the type of IEEE 754 numbers of 4 bytes.
pub(crate) fn single_type() -> EncodedType {
    let bytes = vec![
        0x11, 0x20, 31, 0, 4, 0, 0, 0, 0, 0, 32, 0, 23, 8, 0, 23, 127, 0, 0, 0,
    ];
    EncodedType {
        bytes,
        size: 4,
        is_text: false,
    }
}

/// Returns the type of UTF-8 texts of any length, as h5py declares it.
pub(crate) fn text_type() -> EncodedType {
    let bytes = vec![
        0x19, 1, 1, 0, 16, 0, 0, 0, 0x10, 0, 0, 0, 1, 0, 0, 0, 0, 0, 8, 0,
    ];
    EncodedType {
        bytes,
        size: 16,
        is_text: true,
    }
}

/// Returns a compound of `members` without padding.
pub(crate) fn packed_compound(members: &[(&str, EncodedType)]) -> EncodedType {
    let size: usize = members.iter().map(|(_, member)| member.size).sum();
    let mut encoded = compound_start(members.len(), size as u32);
    let mut offset = 0;
    for (name, member) in members {
        push_member(
            &mut encoded,
            name,
            offset as u64,
            size as u32,
            &member.bytes,
        );
        offset += member.size;
    }
    EncodedType {
        bytes: encoded,
        size,
        is_text: false,
    }
}

fn compound_start(members: usize, size: u32) -> Vec<u8> {
    let mut bytes = vec![0x36, members as u8, (members >> 8) as u8, 0];
    bytes.extend_from_slice(&size.to_le_bytes());
    bytes
}

/// Version 3 stores the offset in as few bytes as the size of the compound needs.
fn push_member(bytes: &mut Vec<u8>, name: &str, offset: u64, size: u32, datatype: &[u8]) {
    bytes.extend_from_slice(name.as_bytes());
    bytes.push(0);
    let width = (u32::BITS - size.leading_zeros()).div_ceil(8).max(1) as usize;
    bytes.extend_from_slice(&offset.to_le_bytes()[..width]);
    bytes.extend_from_slice(datatype);
}

/// Encodes a type that was read from another file, or returns `None` when its values only make sense in that file (references,
/// sequences of any length) or it cannot be written.
pub(crate) fn encode_datatype(datatype: &Datatype) -> Option<EncodedType> {
    if matches!(
        datatype,
        Datatype::VariableLength {
            is_string: true,
            ..
        }
    ) {
        return Some(text_type());
    }
    let bytes = encode_fixed(datatype, 0)?;
    Some(EncodedType {
        bytes,
        size: datatype.type_size() as usize,
        is_text: false,
    })
}

/// Nesting of types beyond which a file is not carried over.
const MAX_TYPE_DEPTH: u32 = 8;

fn encode_fixed(datatype: &Datatype, depth: u32) -> Option<Vec<u8>> {
    if depth > MAX_TYPE_DEPTH {
        return None;
    }
    let start = |class: u8, bits: [u8; 3], size: u32| {
        let mut bytes = vec![class, bits[0], bits[1], bits[2]];
        bytes.extend_from_slice(&size.to_le_bytes());
        bytes
    };
    Some(match datatype {
        Datatype::FixedPoint {
            size,
            byte_order,
            layout,
        } => {
            let order = order_bit(*byte_order)?;
            let mut bytes = start(0x10, [order | u8::from(layout.signed) << 3, 0, 0], *size);
            bytes.extend_from_slice(&layout.bit_offset.to_le_bytes());
            bytes.extend_from_slice(&layout.bit_precision.to_le_bytes());
            bytes
        }
        Datatype::FloatingPoint {
            size,
            byte_order,
            layout,
        } => {
            let order = order_bit(*byte_order)?;
            let sign = layout.exponent_location.checked_add(layout.exponent_size)?;
            let mut bytes = start(0x11, [order | 0x20, sign, 0], *size);
            bytes.extend_from_slice(&layout.bit_offset.to_le_bytes());
            bytes.extend_from_slice(&layout.bit_precision.to_le_bytes());
            let places = [
                layout.exponent_location,
                layout.exponent_size,
                layout.mantissa_location,
                layout.mantissa_size,
            ];
            bytes.extend_from_slice(&places);
            bytes.extend_from_slice(&layout.exponent_bias.to_le_bytes());
            bytes
        }
        Datatype::String {
            size,
            padding,
            charset,
        } => {
            let padding = match padding {
                StringPadding::NullTerminate => 0,
                StringPadding::NullPad => 1,
                StringPadding::SpacePad => 2,
            };
            let charset = u8::from(*charset == CharacterSet::Utf8) << 4;
            start(0x13, [padding | charset, 0, 0], *size)
        }
        Datatype::BitField {
            size,
            byte_order,
            bit_offset,
            bit_precision,
        } => {
            let mut bytes = start(0x14, [order_bit(*byte_order)?, 0, 0], *size);
            bytes.extend_from_slice(&bit_offset.to_le_bytes());
            bytes.extend_from_slice(&bit_precision.to_le_bytes());
            bytes
        }
        Datatype::Opaque { size, tag } => {
            let padded = tag.len().checked_add(1)?.next_multiple_of(8);
            let mut bytes = start(0x15, [u8::try_from(padded).ok()?, 0, 0], *size);
            bytes.extend_from_slice(tag);
            bytes.resize(8 + padded, 0);
            bytes
        }
        Datatype::Compound { size, members } => {
            if members.is_empty() || members.len() > 0xffff {
                return None;
            }
            let mut bytes = compound_start(members.len(), *size);
            for member in members {
                let inner = encode_fixed(&member.datatype, depth + 1)?;
                push_member(&mut bytes, &member.name, member.byte_offset, *size, &inner);
            }
            bytes
        }
        Datatype::Enumeration {
            size,
            base_type,
            members,
        } => {
            if members.len() > 0xffff {
                return None;
            }
            let mut bytes = start(
                0x38,
                [members.len() as u8, (members.len() >> 8) as u8, 0],
                *size,
            );
            bytes.extend(encode_fixed(base_type, depth + 1)?);
            for member in members {
                bytes.extend_from_slice(member.name.as_bytes());
                bytes.push(0);
            }
            for member in members {
                bytes.extend_from_slice(&member.value);
            }
            bytes
        }
        Datatype::Array {
            base_type,
            dimensions,
        } => {
            let mut bytes = start(0x3a, [0; 3], datatype.type_size());
            bytes.push(u8::try_from(dimensions.len()).ok()?);
            for dimension in dimensions {
                bytes.extend_from_slice(&dimension.to_le_bytes());
            }
            bytes.extend(encode_fixed(base_type, depth + 1)?);
            bytes
        }
        _ => return None,
    })
}

fn order_bit(order: DatatypeByteOrder) -> Option<u8> {
    match order {
        DatatypeByteOrder::LittleEndian => Some(0),
        DatatypeByteOrder::BigEndian => Some(1),
        DatatypeByteOrder::Vax => None,
    }
}

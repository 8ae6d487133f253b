//! Attributes with their shape.

use super::super::SharedSource;
use super::super::cursor::{ByteCursor, little_endian};
use super::super::header::{ATTRIBUTE, ATTRIBUTE_INFO};
use super::dense::read_dense;
use super::header::ObjectHeader;

/// Type of B-tree records that refer to attributes by name, and the place of the heap id in them.
const ATTRIBUTE_RECORDS: (u8, usize) = (8, 0);
/// Place of the flags in such a record.
const RECORD_FLAGS: usize = 8;
const SHARED: u8 = 2;
/// Classes of types, and what follows in their encoding.
const INTEGER: (u8, &[u8]) = (0, &[8, 0, 0, 8, 0, 0, 0, 0, 0, 64, 0]);
const FLOAT: (u8, &[u8]) = (
    1,
    &[
        0x20, 63, 0, 8, 0, 0, 0, 0, 0, 64, 0, 52, 11, 0, 52, 0xff, 3, 0, 0,
    ],
);
const TEXT: (u8, &[u8]) = (
    9,
    &[1, 1, 0, 16, 0, 0, 0, 0x10, 0, 0, 0, 1, 0, 0, 0, 0, 0, 8, 0],
);

/// Attribute as stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attribute<'a> {
    pub(crate) name: &'a str,
    /// Number of dimensions.
    pub(crate) rank: u8,
    datatype: &'a [u8],
    data: &'a [u8],
}

/// Value of an attribute of one element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum AttributeKind<'a> {
    Integer(i64),
    Float(f64),
    /// Element that refers to a text.
    Text(&'a [u8; 16]),
}

impl<'a> Attribute<'a> {
    /// Returns the value of an attribute of one element, of those types that session files have.
    pub(crate) fn scalar_value(&self) -> Option<AttributeKind<'a>> {
        if self.rank != 0 {
            return None;
        }
        // The first byte also has the version of the encoding.
        let is_type = |(first, rest): (u8, &[u8])| {
            self.datatype
                .split_first()
                .is_some_and(|(own, own_rest)| own & 15 == first && own_rest == rest)
        };
        if is_type(TEXT) {
            return self.data.first_chunk().map(AttributeKind::Text);
        }
        let number = little_endian(self.data.get(..8)?);
        if is_type(INTEGER) {
            Some(AttributeKind::Integer(number as i64))
        } else if is_type(FLOAT) {
            Some(AttributeKind::Float(f64::from_bits(number)))
        } else {
            None
        }
    }
}

impl ObjectHeader {
    /// Applies `visit` to all attributes of an object, in the order that they are stored in.
    pub(crate) fn visit_attributes(
        &self,
        source: &SharedSource,
        mut visit: impl FnMut(Attribute<'_>) -> Option<()>,
    ) -> Option<()> {
        for body in self.all_messages(ATTRIBUTE) {
            visit(parse_attribute(body?)?)?;
        }
        if let Some((heap, tree)) = self.dense_storage(ATTRIBUTE_INFO, 2)? {
            read_dense(source, heap, tree, ATTRIBUTE_RECORDS, |record, body| {
                if record.get(RECORD_FLAGS)? & SHARED != 0 {
                    return None;
                }
                visit(parse_attribute(body)?)
            })?;
        }
        Some(())
    }

    /// Returns the attribute of a name, if it is an integer: `None` in it when there is no such attribute.
    pub(crate) fn find_integer(&self, source: &SharedSource, name: &str) -> Option<Option<i64>> {
        let integer = |kind: AttributeKind<'_>| match kind {
            AttributeKind::Integer(number) => Some(number),
            _ => None,
        };
        self.find_number(source, name, integer)
    }

    /// Returns the attribute of a name, if it is a floating-point number: `None` in it when there is no such attribute.
    pub(crate) fn find_float(&self, source: &SharedSource, name: &str) -> Option<Option<f64>> {
        let float = |kind: AttributeKind<'_>| match kind {
            AttributeKind::Float(number) => Some(number),
            _ => None,
        };
        self.find_number(source, name, float)
    }

    fn find_number<T>(
        &self,
        source: &SharedSource,
        name: &str,
        number: impl Fn(AttributeKind<'_>) -> Option<T>,
    ) -> Option<Option<T>> {
        let mut found = None;
        self.visit_attributes(source, |attribute| {
            if attribute.name == name {
                found = Some(number(attribute.scalar_value()?)?);
            }
            Some(())
        })?;
        Some(found)
    }
}

/// Parses an attribute message.
fn parse_attribute(body: &[u8]) -> Option<Attribute<'_>> {
    let mut body = ByteCursor(body);
    let version = body.take_number(1)?;
    // Flags of types and shapes that are stored elsewhere, of which only the size is known here.
    let flags = body.take_number(1)?;
    let shared = version > 1 && flags & 2 != 0;
    let lengths = [
        body.take_length(2)?,
        body.take_length(2)?,
        body.take_length(2)?,
    ];
    let padded = match version {
        1 => lengths.map(|length| length.next_multiple_of(8)),
        2 => lengths,
        3 => {
            body.take_bytes(1)?;
            lengths
        }
        _ => return None,
    };
    let name = body.take_bytes(padded[0])?.get(..lengths[0])?;
    let name = name.split(|byte| *byte == 0).next()?;
    let datatype = body.take_bytes(padded[1])?.get(..lengths[1])?;
    let dataspace = body.take_bytes(padded[2])?;
    if shared || !matches!(dataspace.first()?, 1 | 2) {
        return None;
    }
    Some(Attribute {
        name: std::str::from_utf8(name).ok()?,
        rank: *dataspace.get(1)?,
        datatype,
        data: body.0,
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::datatype::{double_type, integer_type, text_type};
    use super::*;

    #[test]
    fn types_are_those_of_the_writer() {
        for ((class, rest), encoded) in [
            (INTEGER, integer_type(8, true)),
            (FLOAT, double_type()),
            (TEXT, text_type()),
        ] {
            assert_eq!(encoded.bytes[0] & 15, class);
            assert_eq!(&encoded.bytes[1..], rest);
        }
    }
}

//! Attributes with their shape.

use super::super::datatype::{double_type, integer_type, text_type};
use super::super::header::{ATTRIBUTE, ATTRIBUTE_INFO};
use super::super::{SharedSource, UNDEFINED_ADDRESS};
use super::cursor::{ByteCursor, little_endian};
use super::dense::read_dense;
use super::header::ObjectHeader;

/// Type of B-tree records that refer to attributes by name, and the place of the heap id in them.
const ATTRIBUTE_RECORDS: (u8, usize) = (8, 0);
/// Place of the flags in such a record.
const RECORD_FLAGS: usize = 8;
const SHARED: u8 = 2;

/// Attribute as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attribute {
    pub(crate) name: String,
    /// Number of dimensions.
    pub(crate) rank: u8,
    datatype: Vec<u8>,
    data: Vec<u8>,
}

/// Value of an attribute of one element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum AttributeKind<'a> {
    Integer(i64),
    Float(f64),
    /// Element that refers to a text.
    Text(&'a [u8; 16]),
}

impl Attribute {
    /// Returns the value of an attribute of one element, of those types that session files have.
    pub(crate) fn scalar(&self) -> Option<AttributeKind<'_>> {
        if self.rank != 0 {
            return None;
        }
        // The first byte also has the version of the encoding.
        let is_type = |bytes: &[u8]| {
            let class = |bytes: &[u8]| bytes.first().map(|byte| byte & 15);
            class(&self.datatype) == class(bytes) && self.datatype.get(1..) == bytes.get(1..)
        };
        if is_type(&text_type().bytes) {
            return self.data.first_chunk().map(AttributeKind::Text);
        }
        let number = little_endian(self.data.get(..8)?);
        if is_type(&integer_type(8, true).bytes) {
            Some(AttributeKind::Integer(number as i64))
        } else if is_type(&double_type().bytes) {
            Some(AttributeKind::Float(f64::from_bits(number)))
        } else {
            None
        }
    }
}

impl ObjectHeader {
    /// Reads all attributes of an object, in the order that they are stored in.
    pub(crate) fn read_attributes(&self, source: &SharedSource) -> Option<Vec<Attribute>> {
        let mut attributes = Vec::new();
        for body in self.all_messages(ATTRIBUTE) {
            attributes.push(parse_attribute(body?)?);
        }
        if self.has_message(ATTRIBUTE_INFO) {
            let mut body = ByteCursor(self.one_message(ATTRIBUTE_INFO)?);
            let (version, flags) = (body.take_number(1)?, body.take_number(1)?);
            if version != 0 {
                return None;
            }
            if flags & 1 != 0 {
                body.take_bytes(2)?;
            }
            let (heap, tree) = (body.take_number(8)?, body.take_number(8)?);
            if heap != UNDEFINED_ADDRESS {
                read_dense(source, heap, tree, ATTRIBUTE_RECORDS, |record, body| {
                    if record.get(RECORD_FLAGS)? & SHARED != 0 {
                        return None;
                    }
                    attributes.push(parse_attribute(body)?);
                    Some(())
                })?;
            }
        }
        Some(attributes)
    }
}

/// Parses an attribute message.
fn parse_attribute(body: &[u8]) -> Option<Attribute> {
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
        name: std::str::from_utf8(name).ok()?.to_owned(),
        rank: *dataspace.get(1)?,
        datatype: datatype.to_vec(),
        data: body.0.to_vec(),
    })
}

//! Object headers (version 2) and the messages in them.

use std::io;

use super::UNDEFINED_ADDRESS;
use super::checksum::lookup3;
use super::datatype::EncodedType;

pub(crate) const DATASPACE: u8 = 0x01;
pub(crate) const LINK_INFO: u8 = 0x02;
pub(crate) const DATATYPE: u8 = 0x03;
pub(crate) const FILL_VALUE: u8 = 0x05;
pub(crate) const LINK: u8 = 0x06;
pub(crate) const LAYOUT: u8 = 0x08;
pub(crate) const GROUP_INFO: u8 = 0x0a;
pub(crate) const FILTERS: u8 = 0x0b;
pub(crate) const ATTRIBUTE: u8 = 0x0c;
pub(crate) const CONTINUATION: u8 = 0x10;
pub(crate) const SYMBOL_TABLE: u8 = 0x11;
pub(crate) const ATTRIBUTE_INFO: u8 = 0x15;
/// Flag of a message that never changes.
pub(crate) const CONSTANT: u8 = 1;

/// Attribute with its value as stored.
pub(crate) struct EncodedAttribute {
    pub(crate) name: String,
    pub(crate) datatype: EncodedType,
    /// Number of elements, or `None` for a scalar.
    pub(crate) elements: Option<u64>,
    pub(crate) data: Vec<u8>,
}

/// Object header that messages are added to.
#[derive(Default)]
pub(crate) struct HeaderBuilder {
    messages: Vec<u8>,
}

impl HeaderBuilder {
    /// Adds a message.
    pub(crate) fn push_message(&mut self, kind: u8, flags: u8, body: &[u8]) -> io::Result<()> {
        let length =
            u16::try_from(body.len()).map_err(|_| too_large("a message of an object header"))?;
        self.messages.push(kind);
        self.messages.extend_from_slice(&length.to_le_bytes());
        self.messages.push(flags);
        self.messages.extend_from_slice(body);
        Ok(())
    }

    /// Adds attributes, and the message without which libhdf5 counts none.
    pub(crate) fn push_attributes(&mut self, attributes: &[EncodedAttribute]) -> io::Result<()> {
        if attributes.is_empty() {
            return Ok(());
        }
        let mut info = vec![0, 0];
        info.extend_from_slice(&UNDEFINED_ADDRESS.to_le_bytes());
        info.extend_from_slice(&UNDEFINED_ADDRESS.to_le_bytes());
        self.push_message(ATTRIBUTE_INFO, 4, &info)?;
        for attribute in attributes {
            let dataspace = match attribute.elements {
                None => vec![2, 0, 0, 0],
                Some(count) => dataspace_message(&[count], None),
            };
            let name_length = u16::try_from(attribute.name.len() + 1)
                .map_err(|_| too_large("the name of an attribute"))?;
            let type_length = u16::try_from(attribute.datatype.bytes.len())
                .map_err(|_| too_large("a datatype"))?;
            let mut body = vec![3, 0];
            body.extend_from_slice(&name_length.to_le_bytes());
            body.extend_from_slice(&type_length.to_le_bytes());
            body.extend_from_slice(&(dataspace.len() as u16).to_le_bytes());
            body.push(u8::from(!attribute.name.is_ascii()));
            body.extend_from_slice(attribute.name.as_bytes());
            body.push(0);
            body.extend_from_slice(&attribute.datatype.bytes);
            body.extend_from_slice(&dataspace);
            body.extend_from_slice(&attribute.data);
            self.push_message(ATTRIBUTE, 0, &body)?;
        }
        Ok(())
    }

    /// Returns the header as stored, with `gap` unused bytes at its end (fewer than a message needs).
    pub(crate) fn finish(mut self, gap: usize) -> Vec<u8> {
        self.messages.resize(self.messages.len() + gap, 0);
        let length = self.messages.len() as u64;
        let width = match length {
            0..=0xff => 0,
            0x100..=0xffff => 1,
            _ => 2,
        };
        let mut header = b"OHDR\x02".to_vec();
        header.push(width);
        header.extend_from_slice(&length.to_le_bytes()[..1 << width]);
        header.extend_from_slice(&self.messages);
        let checksum = lookup3(&header);
        header.extend_from_slice(&checksum.to_le_bytes());
        header
    }
}

/// Returns a dataspace message; without `max`, the sizes are fixed.
pub(crate) fn dataspace_message(dims: &[u64], max: Option<&[u64]>) -> Vec<u8> {
    let mut body = vec![
        2,
        dims.len() as u8,
        u8::from(max.is_some()),
        u8::from(!dims.is_empty()),
    ];
    for size in dims.iter().chain(max.unwrap_or_default()) {
        body.extend_from_slice(&size.to_le_bytes());
    }
    body
}

pub(crate) fn too_large(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("{what} is larger than 65,535 bytes"),
    )
}

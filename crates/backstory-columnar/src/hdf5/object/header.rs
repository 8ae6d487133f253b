//! Object headers of versions 1 and 2, with their continuation blocks.

use std::ops::Range;

use super::super::SharedSource;
use super::super::checksum::lookup3;
use super::super::cursor::{ByteCursor, little_endian};
use super::super::header::CONTINUATION;
use super::super::mend::header_lengths;

/// Bytes of all blocks of a header; those of session files have less than 10 KiB.
const MAX_HEADER_BYTES: usize = 1 << 20;
/// Blocks of a header.
const MAX_BLOCKS: usize = 256;
/// Bytes that most headers fit into; they have at least the 34 that have the length.
const USUAL_BYTES: u64 = 512;
/// Flag of a message that is stored elsewhere.
const SHARED: u8 = 2;
const SUPERBLOCK_BYTES: u64 = 48;

/// Message of an object header.
struct HeaderMessage {
    kind: u16,
    flags: u8,
    body: Range<usize>,
}

/// Object header with all its messages.
pub(crate) struct ObjectHeader {
    bytes: Vec<u8>,
    messages: Vec<HeaderMessage>,
}

/// Returns the address of the root group of a file with offsets and lengths of eight bytes that begins with its superblock.
pub(crate) fn root_address(source: &SharedSource) -> Option<u64> {
    let bytes = source
        .read_bytes(0, source.file_bytes().min(96) as usize)
        .ok()?;
    let rest = bytes.strip_prefix(b"\x89HDF\r\n\x1a\n")?;
    let (place, base) = match *rest.first()? {
        version @ (0 | 1) => {
            if rest.get(5..7) != Some(&[8, 8]) {
                return None;
            }
            // Version 1 has four bytes more. The entry of the root group begins with the offset of its name.
            let start = if version == 0 { 24 } else { 28 };
            (start + 40, start)
        }
        2 | 3 => {
            let whole = bytes.get(..SUPERBLOCK_BYTES as usize)?;
            if rest.get(1..3) != Some(&[8, 8]) || !is_sealed(whole) {
                return None;
            }
            (36, 12)
        }
        _ => return None,
    };
    let number = |at: usize| bytes.get(at..at + 8).map(little_endian);
    (number(base)? == 0).then(|| number(place))?
}

/// Returns whether a block ends with its checksum.
pub(super) fn is_sealed(block: &[u8]) -> bool {
    block
        .split_last_chunk::<4>()
        .is_some_and(|(content, checksum)| lookup3(content).to_le_bytes() == *checksum)
}

impl ObjectHeader {
    /// Reads the header at an address.
    pub(crate) fn read_at(source: &SharedSource, address: u64) -> Option<ObjectHeader> {
        let left = source.file_bytes().checked_sub(address)?;
        let mut start = source
            .read_bytes(address, left.min(USUAL_BYTES) as usize)
            .ok()?;
        let mut header = ObjectHeader {
            bytes: Vec::new(),
            messages: Vec::new(),
        };
        let mut blocks = Vec::new();
        let form = if let Some((total, prefix)) = header_lengths(&start) {
            let order = usize::from(*start.get(5)? & 4 != 0) * 2;
            if total <= start.len() {
                start.truncate(total);
                header.bytes = start;
            } else {
                header.read_block(source, address, total)?;
            }
            if !is_sealed(&header.bytes) {
                return None;
            }
            let form = MessageForm::Second { order };
            header.find_messages(prefix..total.checked_sub(4)?, form, &mut blocks)?;
            form
        } else {
            let mut cursor = ByteCursor(&start);
            if cursor.take_number(1)? != 1 {
                return None;
            }
            cursor.take_bytes(7)?;
            let length = cursor.take_length(4)?;
            header.read_block(source, address.checked_add(16)?, length)?;
            header.find_messages(0..length, MessageForm::First, &mut blocks)?;
            MessageForm::First
        };
        let mut count = 0;
        while let Some((address, length)) = blocks.pop() {
            count += 1;
            if count > MAX_BLOCKS {
                return None;
            }
            let block = header.read_block(source, address, length)?;
            let content = match form {
                MessageForm::First => block,
                MessageForm::Second { .. } => {
                    let bytes = &header.bytes[block.clone()];
                    if !bytes.starts_with(b"OCHK") || !is_sealed(bytes) {
                        return None;
                    }
                    block.start + 4..block.end.checked_sub(4)?
                }
            };
            header.find_messages(content, form, &mut blocks)?;
        }
        Some(header)
    }

    /// Appends a block of the file and returns its place.
    fn read_block(
        &mut self,
        source: &SharedSource,
        address: u64,
        length: usize,
    ) -> Option<Range<usize>> {
        let start = self.bytes.len();
        if length > MAX_HEADER_BYTES - start.min(MAX_HEADER_BYTES) {
            return None;
        }
        let block = source.read_bytes(address, length).ok()?;
        if start == 0 {
            self.bytes = block;
        } else {
            self.bytes.extend_from_slice(&block);
        }
        Some(start..start + length)
    }

    /// Adds the messages of a block, and the places of further blocks.
    fn find_messages(
        &mut self,
        block: Range<usize>,
        form: MessageForm,
        blocks: &mut Vec<(u64, usize)>,
    ) -> Option<()> {
        let mut cursor = ByteCursor(self.bytes.get(block.clone())?);
        let end = block.end;
        while cursor.0.len() >= form.prefix_bytes() {
            let (kind, length, flags) = match form {
                MessageForm::First => {
                    let kind = cursor.take_number(2)? as u16;
                    let length = cursor.take_length(2)?;
                    let flags = cursor.take_number(1)? as u8;
                    cursor.take_bytes(3)?;
                    (kind, length, flags)
                }
                MessageForm::Second { order } => {
                    let kind = cursor.take_number(1)? as u16;
                    let length = cursor.take_length(2)?;
                    let flags = cursor.take_number(1)? as u8;
                    cursor.take_bytes(order)?;
                    (kind, length, flags)
                }
            };
            let start = end - cursor.0.len();
            let mut body = ByteCursor(cursor.take_bytes(length)?);
            if kind == u16::from(CONTINUATION) {
                blocks.push((body.take_number(8)?, body.take_length(8)?));
            }
            self.messages.push(HeaderMessage {
                kind,
                flags,
                body: start..start + length,
            });
        }
        Some(())
    }

    /// Returns whether there is a message of this kind.
    pub(crate) fn has_message(&self, kind: u8) -> bool {
        self.messages
            .iter()
            .any(|message| message.kind == u16::from(kind))
    }

    /// Returns the bodies of all messages of a kind; `None` in place of one that is stored elsewhere.
    pub(super) fn all_messages(&self, kind: u8) -> impl Iterator<Item = Option<&[u8]>> {
        self.messages
            .iter()
            .filter(move |message| message.kind == u16::from(kind))
            .map(|message| {
                let body = self.bytes.get(message.body.clone());
                body.filter(|_| message.flags & SHARED == 0)
            })
    }

    /// Returns the body of the only message of a kind.
    pub(crate) fn one_message(&self, kind: u8) -> Option<&[u8]> {
        let mut found = self.all_messages(kind);
        let body = found.next()??;
        found.next().is_none().then_some(body)
    }
}

/// Encoding of messages: in headers of version 1, or of version 2 with a creation order of that many bytes.
#[derive(Clone, Copy)]
enum MessageForm {
    First,
    Second { order: usize },
}

impl MessageForm {
    fn prefix_bytes(self) -> usize {
        match self {
            MessageForm::First => 8,
            MessageForm::Second { order } => 4 + order,
        }
    }
}

//! Members of groups: links in the header, in a symbol table, or in dense storage.

use super::super::SharedSource;
use super::super::cursor::ByteCursor;
use super::super::header::{LINK, LINK_INFO, SYMBOL_TABLE};
use super::dense::read_dense;
use super::header::ObjectHeader;

/// Bytes of names of a symbol table.
const MAX_NAME_BYTES: u64 = 64 << 20;
/// Type of B-tree records that refer to links by name, and the place of the heap id in them.
const LINK_RECORDS: (u8, usize) = (5, 4);

/// Target of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkTarget {
    /// Object of the file, by the address of its header.
    Object(u64),
    /// Path in the file.
    Soft,
    /// Path in another file, or of a kind that others defined.
    External,
}

/// Member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedLink {
    pub(crate) name: String,
    pub(crate) target: LinkTarget,
}

impl ObjectHeader {
    /// Returns whether the object is a group.
    pub(crate) fn is_group(&self) -> bool {
        [LINK_INFO, LINK, SYMBOL_TABLE]
            .into_iter()
            .any(|kind| self.has_message(kind))
    }

    /// Reads all links of a group, in the order that they are stored in.
    pub(crate) fn read_links(&self, source: &SharedSource) -> Option<Vec<NamedLink>> {
        let mut links = Vec::new();
        self.visit_links(source, &mut |name, target| {
            links.push(NamedLink {
                name: name.to_owned(),
                target,
            });
        })?;
        Some(links)
    }

    /// Returns what the link of a name refers to: `None` in it when there is none. Two links of one name are damage.
    pub(crate) fn find_link(
        &self,
        source: &SharedSource,
        name: &str,
    ) -> Option<Option<LinkTarget>> {
        let mut found = None;
        let mut count = 0;
        self.visit_links(source, &mut |own, target| {
            if own == name {
                found = Some(target);
                count += 1;
            }
        })?;
        (count < 2).then_some(found)
    }

    fn visit_links(
        &self,
        source: &SharedSource,
        visit: &mut impl FnMut(&str, LinkTarget),
    ) -> Option<()> {
        if self.has_message(SYMBOL_TABLE) {
            let mut body = ByteCursor(self.one_message(SYMBOL_TABLE)?);
            let tree = body.take_number(8)?;
            let names = read_names(source, body.take_number(8)?)?;
            let mut names = SymbolNames::new(&names);
            read_tree(source, tree, None, &mut names, visit)?;
        }
        for body in self.all_messages(LINK) {
            let (name, target) = parse_link(body?)?;
            visit(name, target);
        }
        if let Some((heap, tree)) = self.dense_storage(LINK_INFO, 8)? {
            read_dense(source, heap, tree, LINK_RECORDS, |_, body| {
                let (name, target) = parse_link(body)?;
                visit(name, target);
                Some(())
            })?;
        }
        Some(())
    }
}

/// Parses a link message.
fn parse_link(body: &[u8]) -> Option<(&str, LinkTarget)> {
    let mut body = ByteCursor(body);
    let (version, flags) = (body.take_number(1)?, body.take_number(1)?);
    if version != 1 {
        return None;
    }
    let kind = if flags & 8 != 0 {
        body.take_number(1)?
    } else {
        0
    };
    if flags & 4 != 0 {
        body.take_bytes(8)?;
    }
    if flags & 16 != 0 {
        body.take_bytes(1)?;
    }
    let length = body.take_length(1 << (flags & 3))?;
    let name = std::str::from_utf8(body.take_bytes(length)?).ok()?;
    let target = match kind {
        0 => LinkTarget::Object(body.take_number(8)?),
        1 => LinkTarget::Soft,
        _ => LinkTarget::External,
    };
    Some((name, target))
}

/// Reads the names of a symbol table.
fn read_names(source: &SharedSource, address: u64) -> Option<Vec<u8>> {
    let bytes = source.read_bytes(address, 32).ok()?;
    let mut heap = ByteCursor(&bytes);
    if heap.take_bytes(8)? != b"HEAP\0\0\0\0" {
        return None;
    }
    let length = heap.take_number(8)?;
    heap.take_bytes(8)?;
    if length > MAX_NAME_BYTES {
        return None;
    }
    source
        .read_bytes(heap.take_number(8)?, length as usize)
        .ok()
}

/// Names of a symbol table. Each is read once: entries that refer to the same long name could fill any memory.
struct SymbolNames<'a> {
    bytes: &'a [u8],
    bytes_left: usize,
}

impl<'a> SymbolNames<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        SymbolNames {
            bytes,
            bytes_left: bytes.len(),
        }
    }

    /// Returns the name at an offset; `None` once names are longer than all of them are.
    fn take_name(&mut self, offset: usize) -> Option<&'a str> {
        let name = self.bytes.get(offset..)?;
        let end = memchr::memchr(0, name)?;
        self.bytes_left = self.bytes_left.checked_sub(end + 1)?;
        std::str::from_utf8(&name[..end]).ok()
    }
}

/// Reads a node of the B-tree of a symbol table, which must have the level given, with all below it.
fn read_tree(
    source: &SharedSource,
    address: u64,
    level: Option<u64>,
    names: &mut SymbolNames<'_>,
    visit: &mut impl FnMut(&str, LinkTarget),
) -> Option<()> {
    let bytes = source.read_bytes(address, 24).ok()?;
    let mut node = ByteCursor(&bytes);
    if node.take_bytes(5)? != b"TREE\0" {
        return None;
    }
    let own_level = node.take_number(1)?;
    if level.is_some_and(|level| level != own_level) {
        return None;
    }
    let count = node.take_length(2)?;
    // Keys and children take turns, with a key at both ends.
    let bytes = source.read_bytes(address + 24, count * 16 + 8).ok()?;
    let mut entries = ByteCursor(&bytes);
    for _ in 0..count {
        entries.take_bytes(8)?;
        let child = entries.take_number(8)?;
        match own_level.checked_sub(1) {
            Some(below) => read_tree(source, child, Some(below), names, visit)?,
            None => read_leaf(source, child, names, visit)?,
        }
    }
    Some(())
}

/// Reads the entries of a symbol table node.
fn read_leaf(
    source: &SharedSource,
    address: u64,
    names: &mut SymbolNames<'_>,
    visit: &mut impl FnMut(&str, LinkTarget),
) -> Option<()> {
    let bytes = source.read_bytes(address, 8).ok()?;
    let mut node = ByteCursor(&bytes);
    if node.take_bytes(6)? != b"SNOD\x01\0" {
        return None;
    }
    let count = node.take_length(2)?;
    let bytes = source.read_bytes(address + 8, count * 40).ok()?;
    let mut entries = ByteCursor(&bytes);
    for _ in 0..count {
        let name = names.take_name(entries.take_length(8)?)?;
        let object = entries.take_number(8)?;
        let is_soft = entries.take_number(4)? == 2;
        entries.take_bytes(20)?;
        let target = if is_soft {
            LinkTarget::Soft
        } else {
            LinkTarget::Object(object)
        };
        visit(name, target);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// File with a B-tree at 0 whose leaf at 64 has entries for the names at these offsets.
    fn symbol_table(offsets: &[u64]) -> SharedSource {
        let mut bytes = b"TREE\0\0\x01\0".to_vec();
        bytes.resize(32, 0);
        bytes.extend(64_u64.to_le_bytes());
        bytes.resize(64, 0);
        bytes.extend(b"SNOD\x01\0");
        bytes.extend((offsets.len() as u16).to_le_bytes());
        for offset in offsets {
            bytes.extend(offset.to_le_bytes());
            bytes.extend([0; 32]);
        }
        let source = SharedSource::from_bytes(bytes);
        source.allow_bytes(u64::MAX);
        source
    }

    #[test]
    fn names_that_are_referred_to_too_often_are_refused() {
        let heap = b"\0\0\0\0\0\0\0\0a long name\0b\0";
        for (offsets, expected) in [
            (&[8, 20][..], Some(&["a long name", "b"][..])),
            (&[8, 8], None),
        ] {
            let mut found = Vec::new();
            let read = read_tree(
                &symbol_table(offsets),
                0,
                None,
                &mut SymbolNames::new(heap),
                &mut |name, _| found.push(name.to_string()),
            );
            assert_eq!(
                read.map(|()| &found[..]).map(<[_]>::len),
                expected.map(<[_]>::len)
            );
            if let Some(expected) = expected {
                assert_eq!(found, expected);
            }
        }
    }
}

//! Groups: links in the object header when they are few, else a symbol table, which readers search by name.

use std::io::{self, Seek, Write};

use super::UNDEFINED_ADDRESS;
use super::header::{GROUP_INFO, HeaderBuilder, LINK, LINK_INFO, SYMBOL_TABLE, too_large};
use super::output::Output;

/// Links stored in the object header. Readers compare names one by one there, so that 10,000 sessions would take a quadratic time.
const MAX_COMPACT_LINKS: usize = 32;
/// Names in a leaf, and children of a node above: the sizes that a superblock of version 3 implies.
const LEAF_NAMES: usize = 8;
const NODE_CHILDREN: usize = 32;
/// Value of a local heap that has no free space.
const NO_FREE_SPACE: u64 = 1;

/// Name and object address of a member.
pub(crate) type Link = (String, u64);

/// Adds the links of a group to its header, and writes what does not fit into it.
pub(crate) fn push_links<W: Write + Seek>(
    header: &mut HeaderBuilder,
    links: &[Link],
    out: &mut Output<W>,
) -> io::Result<()> {
    if links.len() > MAX_COMPACT_LINKS {
        return header.push_message(SYMBOL_TABLE, 0, &write_symbol_table(links, out)?);
    }
    let mut info = vec![0, 0];
    info.extend_from_slice(&UNDEFINED_ADDRESS.to_le_bytes());
    info.extend_from_slice(&UNDEFINED_ADDRESS.to_le_bytes());
    header.push_message(LINK_INFO, 0, &info)?;
    header.push_message(GROUP_INFO, 1, &[0, 0])?;
    for (name, address) in links {
        let length = u16::try_from(name.len()).map_err(|_| too_large("a name"))?;
        let mut body = if name.is_ascii() {
            vec![1, 1]
        } else {
            vec![1, 1 | 0x10, 1]
        };
        body.extend_from_slice(&length.to_le_bytes());
        body.extend_from_slice(name.as_bytes());
        body.extend_from_slice(&address.to_le_bytes());
        header.push_message(LINK, 0, &body)?;
    }
    Ok(())
}

/// Child of a B-tree node with the heap offset of its largest name.
struct Child {
    address: u64,
    last_name: u64,
}

/// Writes B-tree and local heap, and returns the message that refers to them.
fn write_symbol_table<W: Write + Seek>(links: &[Link], out: &mut Output<W>) -> io::Result<Vec<u8>> {
    let mut sorted: Vec<&Link> = links.iter().collect();
    sorted.sort_unstable_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
    // The empty name, which is smaller than all others.
    let mut names = vec![0; 8];
    let mut level = Vec::new();
    for leaf in sorted.chunks(LEAF_NAMES) {
        let mut node = b"SNOD\x01\0".to_vec();
        node.extend_from_slice(&(leaf.len() as u16).to_le_bytes());
        let mut last_name = 0;
        for (name, address) in leaf {
            last_name = names.len() as u64;
            node.extend_from_slice(&last_name.to_le_bytes());
            node.extend_from_slice(&address.to_le_bytes());
            node.extend_from_slice(&[0; 24]);
            names.extend_from_slice(name.as_bytes());
            names.resize((names.len() + 1).next_multiple_of(8), 0);
        }
        node.resize(8 + LEAF_NAMES * 40, 0);
        level.push(Child {
            address: out.append_bytes(&node)?,
            last_name,
        });
    }
    let mut height = 0;
    let root = loop {
        level = write_tree_level(&level, height, out)?;
        height += 1;
        if let [root] = &level[..] {
            break root.address;
        }
    };
    let data = out.append_bytes(&names)?;
    let mut heap = b"HEAP\0\0\0\0".to_vec();
    for value in [names.len() as u64, NO_FREE_SPACE, data] {
        heap.extend_from_slice(&value.to_le_bytes());
    }
    let heap = out.append_bytes(&heap)?;
    Ok([root.to_le_bytes(), heap.to_le_bytes()].concat())
}

fn write_tree_level<W: Write + Seek>(
    children: &[Child],
    height: u8,
    out: &mut Output<W>,
) -> io::Result<Vec<Child>> {
    let node_bytes = 24 + (2 * NODE_CHILDREN + 1) * 8;
    let first = out.end_address();
    let count = children.len().div_ceil(NODE_CHILDREN);
    let address_of = |position: usize| first + (position * node_bytes) as u64;
    let mut parents = Vec::new();
    let mut smaller = 0;
    for (position, group) in children.chunks(NODE_CHILDREN).enumerate() {
        let mut node = b"TREE\0".to_vec();
        node.push(height);
        node.extend_from_slice(&(group.len() as u16).to_le_bytes());
        let left = if position == 0 {
            UNDEFINED_ADDRESS
        } else {
            address_of(position - 1)
        };
        let right = if position + 1 == count {
            UNDEFINED_ADDRESS
        } else {
            address_of(position + 1)
        };
        for value in [left, right, smaller] {
            node.extend_from_slice(&value.to_le_bytes());
        }
        for child in group {
            node.extend_from_slice(&child.address.to_le_bytes());
            node.extend_from_slice(&child.last_name.to_le_bytes());
            smaller = child.last_name;
        }
        node.resize(node_bytes, 0);
        parents.push(Child {
            address: out.append_bytes(&node)?,
            last_name: smaller,
        });
    }
    Ok(parents)
}

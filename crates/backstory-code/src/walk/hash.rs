//! A hash of what definitions do, whatever they look like.
//!
//! Nodes are written down in order, with their place in their parent, without comments, quotes, separators and redundant
//! parentheses. When a definition ends, what was written for it is replaced by its hash; so each token is hashed once.

use std::hash::Hasher;

use tree_sitter::Node;
use twox_hash::XxHash3_64;

use crate::language::{Look, text};

#[derive(Default)]
pub(super) struct Hashing {
    written: Vec<u8>,
    /// Where the node that was opened last begins.
    opened: usize,
    /// Where definitions begin, and where the hash lies that stands for what was written of each.
    nested: Vec<(usize, usize)>,
    /// The name of the definition itself does not count.
    name: usize,
}

const END: u16 = u16::MAX;

impl Hashing {
    /// The next name does not count.
    pub(super) fn hide(&mut self, node: Node<'_>) {
        self.name = node.id();
    }

    pub(super) fn position(&self) -> usize {
        self.written.len()
    }

    /// Where the node that was opened last begins; one that does not count begins where it is.
    pub(super) fn opened(&self) -> usize {
        self.opened
    }

    pub(super) fn open(&mut self, kind: u16, look: Look, field: u16) {
        self.opened = self.written.len();
        match look {
            Look::Silent | Look::Transparent => {}
            Look::Token => self.put(kind),
            Look::Named | Look::StringStart => {
                self.put(kind);
                self.put(field);
            }
        }
    }

    /// The text of a node that has nothing below it.
    pub(super) fn leaf(&mut self, node: Node<'_>, look: Look, source: &str) {
        let token = match look {
            Look::Named => text(node, source),
            // How a string is quoted belongs to the layout, but not that it is raw.
            Look::StringStart => text(node, source).trim_end_matches(['"', '\'']),
            _ => return,
        };
        if node.id() == self.name {
            self.name = 0;
            return;
        }
        self.written.extend_from_slice(token.as_bytes());
        self.written.push(0);
    }

    pub(super) fn close(&mut self, look: Look) {
        if matches!(look, Look::Named | Look::StringStart) {
            self.put(END);
        }
    }

    /// What has been written since, as a hash in its place; and the hash of it without the definitions within.
    pub(super) fn finish(&mut self, begin: usize, start: usize) -> (u64, u64) {
        let start = start.min(self.written.len());
        let hash = XxHash3_64::oneshot(&self.written[start..]);
        let first = self.nested.partition_point(|(_, place)| *place < start);
        let mut own = XxHash3_64::new();
        let mut from = start;
        for (begin, place) in self.nested.drain(first..) {
            own.write(self.written.get(from..begin).unwrap_or_default());
            from = place + size_of::<u64>();
        }
        own.write(self.written.get(from..).unwrap_or_default());
        self.written.truncate(start);
        self.nested.push((begin, start));
        self.written.extend_from_slice(&hash.to_le_bytes());
        (hash, own.finish())
    }

    fn put(&mut self, number: u16) {
        self.written.extend_from_slice(&number.to_le_bytes());
    }
}

//! A hash of what definitions do, whatever they look like.
//!
//! Nodes are written down in order, with their place in their parent, without comments, quotes, separators and redundant
//! parentheses. When a definition ends, what was written for it is replaced by its hash; so each token is hashed once.

use tree_sitter::Node;
use twox_hash::XxHash3_64;

use crate::language::{Look, text};

#[derive(Default)]
pub(super) struct Hashing {
    written: Vec<u8>,
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

    pub(super) fn open(&mut self, node: Node<'_>, look: Look, field: u16) {
        match look {
            Look::Silent | Look::Transparent => {}
            Look::Token => self.put(node.kind_id()),
            Look::Named | Look::StringStart => {
                self.put(node.kind_id());
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

    /// What has been written since, as a hash in its place.
    pub(super) fn finish(&mut self, start: usize) -> u64 {
        let start = start.min(self.written.len());
        let hash = XxHash3_64::oneshot(&self.written[start..]);
        self.written.truncate(start);
        self.written.extend_from_slice(&hash.to_le_bytes());
        hash
    }

    fn put(&mut self, number: u16) {
        self.written.extend_from_slice(&number.to_le_bytes());
    }
}

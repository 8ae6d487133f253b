//! A hash of what definitions do, whatever they look like.
//!
//! Nodes are written down in order, with their place in their parent, without comments, quotes, separators and redundant
//! parentheses. When a definition ends, what was written for it is replaced by its hash; so each token is hashed once.

use tree_sitter::Node;
use twox_hash::XxHash3_64;

use crate::language::text;

#[derive(Default)]
pub(super) struct Hashing {
    written: Vec<u8>,
    /// Nodes that do not count, such as the name of the definition itself.
    hidden: Vec<usize>,
}

const END: u16 = u16::MAX;

impl Hashing {
    pub(super) fn hide(&mut self, node: usize) {
        self.hidden.push(node);
    }

    pub(super) fn position(&self) -> usize {
        self.written.len()
    }

    pub(super) fn open(&mut self, node: Node<'_>, field: u16) {
        if node.is_named() {
            if !transparent(node) {
                self.put(node.kind_id());
                self.put(field);
            }
        } else if !matches!(node.kind(), "," | ";" | "\"" | "'" | "`" | "(" | ")") {
            self.put(node.kind_id());
        }
    }

    /// The text of a node that has nothing below it.
    pub(super) fn leaf(&mut self, node: Node<'_>, source: &str) {
        if !node.is_named() || node.kind() == "string_end" {
            return;
        }
        if let Some(at) = self.hidden.iter().rposition(|hidden| *hidden == node.id()) {
            self.hidden.swap_remove(at);
            return;
        }
        let mut token = text(node, source);
        if node.kind() == "string_start" {
            token = token.trim_end_matches(['"', '\'']);
        }
        self.written.extend_from_slice(token.as_bytes());
        self.written.push(0);
    }

    pub(super) fn close(&mut self, node: Node<'_>) {
        if node.is_named() && !transparent(node) {
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

/// Parentheses show in the tree around them.
fn transparent(node: Node<'_>) -> bool {
    node.kind() == "parenthesized_expression"
}

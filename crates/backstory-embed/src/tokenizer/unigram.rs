//! Unigram: of all the ways to cut a piece into tokens the most probable one.

use super::vocabulary::{Hash, Vocabulary};
use crate::image::u64_at;

/// How much worse than the worst token a character without a token is.
const PENALTY: f64 = 10.0;

/// What is needed while a piece is cut; kept from piece to piece.
#[derive(Default)]
pub(crate) struct Scratch {
    nodes: Vec<Node>,
    path: Vec<(usize, usize, Option<u32>)>,
}

/// The best way to reach a place in the piece.
#[derive(Clone, Copy)]
struct Node {
    score: f64,
    /// Where its last token starts.
    start: usize,
    /// The last token; none for a character that has no token.
    token: Option<u32>,
    reached: bool,
}

/// The tables and settings of a Unigram model.
#[derive(Clone, Copy)]
pub(crate) struct Unigram<'a> {
    pub(crate) vocabulary: Vocabulary<'a>,
    pub(crate) scores: &'a [u8],
    pub(crate) unknown: Option<u32>,
    /// The tokens of single bytes, where characters without a token become their bytes.
    pub(crate) bytes: Option<&'a [Option<u32>; 256]>,
    pub(crate) lowest_score: f64,
    pub(crate) longest: usize,
}

impl Unigram<'_> {
    /// Cuts a piece.
    pub(crate) fn encode(&self, piece: &str, scratch: &mut Scratch, tokens: &mut Vec<u32>) {
        self.search(piece, &mut scratch.nodes);
        scratch.path.clear();
        let mut end = piece.len();
        while end > 0 {
            let node = scratch.nodes[end];
            // Neighbours without a token count as one.
            let unknown = node.token.is_none() || node.token == self.unknown;
            match scratch.path.last_mut() {
                Some((start, _, None)) if unknown => *start = node.start,
                _ if unknown => scratch.path.push((node.start, end, None)),
                _ => scratch.path.push((node.start, end, node.token)),
            }
            end = node.start;
        }
        for (start, end, token) in scratch.path.iter().rev() {
            match token {
                Some(token) => tokens.push(*token),
                None => self.fall_back(&piece.as_bytes()[*start..*end], tokens),
            }
        }
    }

    fn search(&self, piece: &str, nodes: &mut Vec<Node>) {
        let unreached = Node {
            score: 0.0,
            start: 0,
            token: None,
            reached: false,
        };
        nodes.clear();
        nodes.resize(piece.len() + 1, unreached);
        for (start, first) in piece.char_indices() {
            let till_here = nodes[start].score;
            let mut hash = Hash::new();
            let mut has_single = false;
            for (at, character) in piece[start..].char_indices() {
                let end = at + character.len_utf8();
                if end > self.longest {
                    break;
                }
                let bytes = &piece.as_bytes()[start..start + end];
                hash = hash.with(&bytes[at..]);
                if let Some(token) = self.vocabulary.find_parts(b"", bytes, hash) {
                    has_single |= at == 0;
                    let score = u64_at(self.scores, token as usize * 8).map_or(0.0, f64::from_bits);
                    let reached = &mut nodes[start + end];
                    reach(reached, score + till_here, start, Some(token));
                }
                if !self.vocabulary.may_go_on(hash) {
                    break;
                }
            }
            if !has_single {
                let score = (self.lowest_score - PENALTY) + till_here;
                reach(&mut nodes[start + first.len_utf8()], score, start, None);
            }
        }
    }

    fn fall_back(&self, bytes: &[u8], tokens: &mut Vec<u32>) {
        if let Some(token) = self.vocabulary.find(bytes) {
            tokens.push(token);
            return;
        }
        let first = tokens.len();
        if let Some(table) = self.bytes {
            tokens.extend(bytes.iter().map_while(|byte| table[usize::from(*byte)]));
            if tokens.len() - first == bytes.len() {
                return;
            }
            tokens.truncate(first);
        }
        tokens.extend(self.unknown);
    }
}

fn reach(node: &mut Node, score: f64, start: usize, token: Option<u32>) {
    if !node.reached || score > node.score {
        *node = Node {
            score,
            start,
            token,
            reached: true,
        };
    }
}

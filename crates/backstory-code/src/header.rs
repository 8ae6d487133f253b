//! How a definition is declared: its tokens up to the body, on one line.

use tree_sitter::{Node, TreeCursor};

use crate::language::{Compiled, Role, text};

/// Longer signatures are cut.
const MAX_SIGNATURE: usize = 2000;

/// The beginning of a definition.
#[derive(Default)]
pub(crate) struct Header {
    pub(crate) signature: String,
    pub(crate) decorators: Vec<String>,
    pub(crate) first_line: Option<usize>,
    pub(crate) is_async: bool,
}

/// Reads a node up to the body, or all of it.
pub(crate) fn header<'t>(
    compiled: &Compiled,
    node: Node<'t>,
    body: Option<Node<'t>>,
    source: &str,
) -> Header {
    let mut header = Header::default();
    let mut line = Line::default();
    let end = body.map_or(usize::MAX, |body| body.start_byte());
    let mut cursor = node.walk();
    loop {
        let node = cursor.node();
        if node.start_byte() >= end || line.text.len() > MAX_SIGNATURE {
            break;
        }
        let role = compiled.role(node.kind_id());
        let is_decorator = matches!(role, Role::Decorator);
        if is_decorator {
            header
                .decorators
                .push(one_line(compiled, node, source).trim().to_string());
        }
        let atomic = node.kind().ends_with("string") || node.kind().ends_with("string_literal");
        let leaf = atomic || node.child_count() == 0;
        if leaf && !node.is_extra() && !is_decorator {
            let token = text(node, source);
            header.is_async |= token == "async";
            header
                .first_line
                .get_or_insert(node.start_position().row + 1);
            line.push(node, token);
        }
        let descend = !leaf && !is_decorator && !node.is_extra();
        let descended = descend && cursor.goto_first_child();
        if !descended && !next(&mut cursor) {
            break;
        }
    }
    header.signature = line
        .text
        .trim_end_matches([':', ';', '{', ' '])
        .trim_end_matches("=>")
        .trim_end_matches(" =")
        .trim_end()
        .to_string();
    header
}

/// All of a node on one line.
pub(crate) fn one_line(compiled: &Compiled, node: Node<'_>, source: &str) -> String {
    let raw = text(node, source).trim();
    if !raw.contains('\n') {
        return raw.to_string();
    }
    let mut line = Line::default();
    let mut cursor = node.walk();
    loop {
        let node = cursor.node();
        let is_literal = matches!(compiled.role(node.kind_id()), Role::Literal);
        let leaf = node.child_count() == 0 || is_literal;
        if leaf && !node.is_extra() {
            line.push(node, text(node, source));
        }
        let stop = line.text.len() > MAX_SIGNATURE;
        let descended = !leaf && cursor.goto_first_child();
        if stop || (!descended && !next(&mut cursor)) {
            return line.text;
        }
    }
}

/// The next node in the order of the text that is not below this one.
pub(crate) fn next(cursor: &mut TreeCursor<'_>) -> bool {
    loop {
        if cursor.goto_next_sibling() {
            return true;
        }
        if !cursor.goto_parent() {
            return false;
        }
    }
}

/// Tokens as people write them on one line.
#[derive(Default)]
struct Line {
    text: String,
    end: usize,
    row: usize,
}

impl Line {
    fn push(&mut self, node: Node<'_>, token: &str) {
        let token = token.trim();
        if token.is_empty() {
            return;
        }
        let wrapped = node.start_position().row > self.row;
        let closes = matches!(token, ")" | "]" | ">" | "}");
        // A comma before a bracket on a line of its own belongs to the layout.
        if closes && wrapped && self.text.ends_with(',') {
            self.text.pop();
        }
        let gap = node.start_byte() > self.end && !self.text.is_empty();
        let opened = self.text.ends_with(['(', '[']);
        let joins =
            opened || (closes && token != "}" && wrapped) || matches!(token, "," | ")" | "]");
        if gap && !joins {
            self.text.push(' ');
        }
        // Only strings have lines within a token.
        match token.contains('\n') {
            true => self.text.push_str(&token.replace('\n', "\\n")),
            false => self.text.push_str(token),
        }
        self.end = node.end_byte();
        self.row = node.end_position().row;
    }
}

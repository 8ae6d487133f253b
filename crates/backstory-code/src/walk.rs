//! One way through the syntax tree of a file, from its first token to its last.

mod binds;
mod hash;

use hashbrown::HashMap;
use tree_sitter::{Node, Tree};

use crate::chain::{chain, inner_of, written};
use crate::header::{header, next, one_line};
use crate::language::{Compiled, Definition, Language, Look, Role, text};
use crate::model::{Symbol, SymbolKind};
use crate::scope::{Binding, CallSite, Found, Scope, ScopeKind};
use hash::Hashing;

/// What is nested deeper has no name of its own.
const MAX_NESTING: usize = 32;
/// Longer callees are told by their steps.
const MAX_CALLEE: usize = 80;

/// A definition or scope that the walk is in.
struct Frame {
    depth: usize,
    scope: usize,
    symbol: Option<usize>,
    /// Where it begins, and from where on it counts, in what is hashed.
    hash_begin: usize,
    hash_start: usize,
}

/// A comment that may document what follows.
struct Comment {
    line: String,
    last_row: usize,
}

struct Walk<'t> {
    language: &'t Language,
    compiled: &'t Compiled,
    source: &'t str,
    /// Whether calls are wanted, and so what names mean.
    with_calls: bool,
    found: Found<'t>,
    frames: Vec<Frame>,
    /// The nodes that the walk is in, by how they look if that counts.
    entered: Vec<Option<Look>>,
    hashing: Hashing,
    comment: Option<Comment>,
    decorators: Vec<String>,
    decorators_depth: usize,
    /// Where they begin in what is hashed: they belong to what they decorate.
    decorators_start: usize,
    /// What is before this is no code.
    no_code: usize,
    /// A statement that is documentation.
    documentation: usize,
    /// Where the last token was.
    last_row: usize,
}

pub(crate) fn walk<'t>(
    language: &'t Language,
    compiled: &'t Compiled,
    tree: &'t Tree,
    source: &'t str,
    with_calls: bool,
) -> Found<'t> {
    let mut walk = Walk {
        language,
        compiled,
        source,
        with_calls,
        found: Found::default(),
        frames: Vec::new(),
        entered: Vec::new(),
        hashing: Hashing::default(),
        comment: None,
        decorators: Vec::new(),
        decorators_depth: 0,
        decorators_start: 0,
        no_code: 0,
        documentation: 0,
        last_row: 0,
    };
    walk.found.has_errors = tree.root_node().has_error();
    walk.enter_scope(0, ScopeKind::File, String::new(), None, None);
    let mut cursor = tree.walk();
    let mut depth = 1;
    loop {
        let node = cursor.node();
        let kind = node.kind_id();
        let look = compiled.look(kind);
        // Asked of the cursor only where it is hashed: that takes as long as all else that is asked of a node.
        let field = match look {
            Look::Named | Look::StringStart => cursor.field_id().map_or(0, u16::from),
            _ => 0,
        };
        let descend = walk.enter(node, kind, field, depth);
        // Only what has a name has something in it.
        if descend && look.is_named() && cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        if descend {
            walk.hashing.leaf(node, look, source);
            walk.last_row = node.end_position().row;
        }
        loop {
            walk.leave(depth);
            if cursor.goto_next_sibling() {
                break;
            }
            if !cursor.goto_parent() {
                return walk.found;
            }
            depth -= 1;
        }
    }
}

impl<'t> Walk<'t> {
    fn role(&self, node: Node<'_>) -> Role {
        self.compiled.role(node.kind_id())
    }

    fn scope(&self) -> usize {
        self.frames.last().map_or(0, |frame| frame.scope)
    }

    fn current(&mut self) -> Option<&mut Scope<'t>> {
        let scope = self.scope();
        self.found.scopes.get_mut(scope)
    }

    /// Whether to look below the node.
    fn enter(&mut self, node: Node<'t>, kind: u16, field: u16, depth: usize) -> bool {
        let look = self.compiled.look(kind);
        self.entered.push(None);
        if !look.is_named() {
            self.hashing.open(kind, look, field);
            return true;
        }
        if node.id() == self.documentation {
            self.documentation = 0;
            self.last_row = node.end_position().row;
            return false;
        }
        if node.is_extra() {
            if !node.is_error() {
                self.comment(node);
                return false;
            }
        } else {
            self.hashing.open(kind, look, field);
            if let Some(entered) = self.entered.last_mut() {
                *entered = Some(look);
            }
        }
        let role = self.compiled.role(kind);
        let carries = matches!(
            role,
            Role::Define(_) | Role::Custom(_) | Role::CustomOrBind(..) | Role::Decorator
        );
        if !carries && depth <= self.decorators_depth {
            self.decorators.clear();
        }
        match role {
            Role::Define(kind) => {
                if let Some(definition) = plain(kind, node, self.source) {
                    self.define(node, definition, depth);
                }
            }
            Role::Custom(custom) => {
                if let Some(definition) = custom(node, self.source) {
                    self.define(node, definition, depth);
                } else if depth <= self.decorators_depth {
                    self.decorators.clear();
                }
            }
            Role::CustomOrBind(custom, target, ..) => match custom(node, self.source) {
                Some(definition) => self.define(node, definition, depth),
                None if self.with_calls => self.bind(node, target),
                None => {}
            },
            Role::Scope { name, class } => self.space(node, name, class, depth),
            Role::Decorator => {
                self.decorators_depth = depth;
                if self.decorators.is_empty() {
                    self.decorators_start = self.hashing.opened();
                }
                let decorator = one_line(self.compiled, node, self.source);
                self.decorators.push(decorator);
                if let Some(comment) = &mut self.comment {
                    comment.last_row = node.end_position().row;
                }
            }
            // What follows only matters for calls.
            _ if !self.with_calls => {}
            Role::Call(_) => {
                if let Some(callee) = self.compiled.child(node, 0) {
                    self.call(node, callee.start_byte()..callee.end_byte());
                }
            }
            Role::MethodCall(..) => {
                if let Some(name) = self.compiled.child(node, 1) {
                    self.call(node, node.start_byte()..name.end_byte());
                }
            }
            Role::Import => {
                for (name, path) in (self.language.imports)(node, self.source) {
                    self.hold(&name, Binding::Import(path));
                }
            }
            Role::Bases => self.bases(node),
            Role::Bind(target, ..) => self.bind(node, target),
            Role::Names => self.names(node, &Binding::Parameter),
            Role::Tokens if node.start_byte() >= self.no_code => self.tokens(node),
            Role::NoCode => self.no_code = node.end_byte(),
            _ => {}
        }
        true
    }

    fn leave(&mut self, depth: usize) {
        if let Some(Some(look)) = self.entered.pop() {
            self.hashing.close(look);
        }
        while self.frames.last().is_some_and(|frame| frame.depth == depth) {
            let Some(frame) = self.frames.pop() else {
                return;
            };
            let Some(symbol) = frame.symbol else { continue };
            let (hash, own) = self.hashing.finish(frame.hash_begin, frame.hash_start);
            if let Some(symbol) = self.found.symbols.get_mut(symbol) {
                let own = if symbol.kind.is_function() { hash } else { own };
                // Half of it tells as much as anybody needs: these are compared with what had the same name.
                symbol.body_hash = hash as u32;
                symbol.own_hash = own as u32;
                // Grammars count comments after the last statement in.
                symbol.line_end = symbol.line_start.max(self.last_row + 1);
            }
        }
    }

    fn comment(&mut self, node: Node<'t>) {
        let raw = text(node, self.source);
        let line_start = self.source[..node.start_byte()]
            .rfind('\n')
            .map_or(0, |at| at + 1);
        let alone = self.source[line_start..node.start_byte()].trim().is_empty();
        let prefixes = self.language.doc_prefixes;
        if !alone || !prefixes.iter().any(|prefix| raw.starts_with(prefix)) {
            return;
        }
        let row = node.start_position().row;
        let last_row = row + raw.trim_end().matches('\n').count();
        match &mut self.comment {
            Some(comment) if row <= comment.last_row + 1 && !comment.line.is_empty() => {
                comment.last_row = last_row;
            }
            _ => {
                let line = first_line(raw);
                self.comment = Some(Comment { line, last_row });
            }
        }
    }

    fn define(&mut self, node: Node<'t>, definition: Definition<'t>, depth: usize) {
        let decorators = std::mem::take(&mut self.decorators);
        let is_decorated = !decorators.is_empty();
        if self.frames.len() > MAX_NESTING {
            return;
        }
        let outer = self.scope();
        let head = header(
            self.compiled,
            definition.header,
            definition.body,
            self.source,
        );
        let first_row = head.first_line.unwrap_or(node.start_position().row + 1) - 1;
        let comment = self.comment.take();
        let started = node.start_position().row.min(first_row);
        let comment =
            comment.filter(|comment| comment.last_row + 1 >= started && !comment.line.is_empty());
        let mut doc = comment.map(|comment| comment.line);
        self.hashing.hide(definition.name_node);
        if self.language.doc_prefixes.is_empty() {
            let statement = definition.body.and_then(docstring);
            doc = statement.and_then(|statement| docstring_line(text(statement, self.source)));
            self.documentation = statement.map_or(0, |statement| statement.id());
        }
        let Some(around) = self.found.scopes.get(outer) else {
            return;
        };
        let name = match around.name.as_str() {
            "" => definition.name.clone(),
            outer => format!("{outer}.{}", definition.name),
        };
        let parent = name.rfind('.').map(|dot| name[..dot].to_string());
        let qualified_itself = definition.name.contains('.');
        let in_class = around.kind == ScopeKind::Class || qualified_itself;
        let kind = match (definition.kind, in_class, head.is_async) {
            (SymbolKind::Function, false, true) => SymbolKind::AsyncFunction,
            (SymbolKind::Function, true, false) => SymbolKind::Method,
            (SymbolKind::Function, true, true) | (SymbolKind::Method, _, true) => {
                SymbolKind::AsyncMethod
            }
            (kind, _, _) => kind,
        };
        let owner = match (kind.is_function(), in_class) {
            (false, _) => Some(name.clone()),
            (true, true) => parent.clone(),
            (true, false) => around.owner.clone(),
        };
        let symbol = Symbol {
            name: name.clone(),
            kind,
            parent,
            signature: format!(
                "{}{}{}",
                definition.prefix, head.signature, definition.suffix
            ),
            decorators: [decorators, head.decorators].concat(),
            doc,
            line_start: first_row + 1,
            line_end: 0,
            body_hash: 0,
            own_hash: 0,
            has_body: definition.body.is_some(),
        };
        let mut fields = ["return_type", "result"].iter();
        if self.with_calls
            && kind.is_function()
            && let Some(returned) = fields.find_map(|field| node.child_by_field_name(field))
        {
            let returned = chain(self.compiled, returned, self.source);
            self.found.returns.insert(name.clone(), (outer, returned));
        }
        self.found.symbols.push(symbol);
        let symbol = self.found.symbols.len() - 1;
        let scope_kind = match kind.is_function() {
            true => ScopeKind::Function,
            false => ScopeKind::Class,
        };
        self.enter_scope(depth, scope_kind, name, owner, Some(symbol));
        if let Some(frame) = self.frames.last_mut()
            && is_decorated
        {
            frame.hash_begin = self.decorators_start;
            frame.hash_start = self.decorators_start;
        }
        if let Some(receiver) = definition.receiver {
            self.receiver(&receiver);
        }
        if self.with_calls
            && let Some(bases) = node.child_by_field_name("superclasses")
        {
            self.bases(bases);
        }
    }

    /// A scope with a name that is no symbol.
    fn space(&mut self, node: Node<'t>, field: &str, class: bool, depth: usize) {
        let Some(name) = node.child_by_field_name(field) else {
            return;
        };
        let steps = chain(self.compiled, name, self.source);
        let written = match written(&steps) {
            written if written.contains('…') => {
                text(self.unwrapped(name), self.source).replace("::", ".")
            }
            written => written,
        };
        let outer = self.found.scopes.get(self.scope());
        let outer = outer.map_or("", |scope| scope.name.as_str());
        if self.frames.len() > MAX_NESTING {
            return;
        }
        let name = match outer {
            "" => written,
            outer => format!("{outer}.{written}"),
        };
        let kind = if class {
            ScopeKind::Class
        } else {
            ScopeKind::Space
        };
        let owner = class.then(|| name.clone());
        self.enter_scope(depth, kind, name, owner, None);
    }

    /// What is in references and the like.
    fn unwrapped(&self, node: Node<'t>) -> Node<'t> {
        let mut unwrapped = node;
        while let Role::Wrapper(field) = self.role(unwrapped)
            && let Some(inner) = inner_of(unwrapped, field)
        {
            unwrapped = inner;
        }
        unwrapped
    }

    fn enter_scope(
        &mut self,
        depth: usize,
        kind: ScopeKind,
        name: String,
        owner: Option<String>,
        symbol: Option<usize>,
    ) {
        let parent = (kind != ScopeKind::File).then(|| self.scope());
        let bindings = HashMap::new();
        self.found.scopes.push(Scope {
            parent,
            kind,
            name,
            owner,
            bindings,
        });
        self.frames.push(Frame {
            depth,
            scope: self.found.scopes.len() - 1,
            symbol,
            hash_begin: self.hashing.opened(),
            hash_start: self.hashing.position(),
        });
    }

    fn call(&mut self, node: Node<'t>, callee: std::ops::Range<usize>) {
        let mut steps = chain(self.compiled, node, self.source);
        steps.pop();
        let raw = self.source.get(callee).unwrap_or_default();
        let plain = raw.len() <= MAX_CALLEE && !raw.contains(['(', '\n', '[', '{']);
        let written = match plain {
            true => raw.to_string(),
            false => written(&steps),
        };
        self.call_site(steps, written, node.start_position().row);
    }

    fn call_site(&mut self, callee: crate::chain::Chain<'t>, written: String, row: usize) {
        let caller = self.frames.iter().rev().find_map(|frame| frame.symbol);
        let scope = self.scope();
        self.found.calls.push(CallSite {
            scope,
            caller,
            callee,
            written,
            line: row + 1,
        });
    }
}

/// A definition with the usual fields.
fn plain<'t>(kind: SymbolKind, node: Node<'t>, source: &str) -> Option<Definition<'t>> {
    let name = node.child_by_field_name("name")?;
    let definition = Definition::new(kind, name, node, source);
    Some(definition.with_body(node.child_by_field_name("body")))
}

/// The statement that documents a body, if that is how the language does it.
fn docstring(body: Node<'_>) -> Option<Node<'_>> {
    let mut cursor = body.walk();
    let first = body
        .named_children(&mut cursor)
        .find(|node| !node.is_extra())?;
    let string = match first.kind() {
        "expression_statement" => first.named_child(0)?,
        _ => return None,
    };
    let mut cursor = string.walk();
    let computed = string
        .named_children(&mut cursor)
        .any(|part| part.kind() == "interpolation");
    let plain = string.kind() == "string" && first.named_child_count() == 1 && !computed;
    plain.then_some(first)
}

fn docstring_line(string: &str) -> Option<String> {
    let content = string.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    let content = content.trim_matches(['"', '\'']);
    let line = content
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())?;
    Some(line.to_string())
}

/// The first line of a comment that says something.
fn first_line(comment: &str) -> String {
    let said = |line: &str| {
        let line = line.trim().trim_end_matches("*/").trim();
        let line = line.trim_start_matches(['/', '*', '!', '#']).trim();
        line.to_string()
    };
    let mut lines = comment.lines().map(said);
    lines.find(|line| !line.is_empty()).unwrap_or_default()
}

/// Names are looked for below patterns, but not for ever.
fn below<'t>(node: Node<'t>, limit: usize, mut each: impl FnMut(Node<'t>)) {
    let mut cursor = node.walk();
    for _ in 0..limit {
        each(cursor.node());
        if !cursor.goto_first_child() && !next(&mut cursor) {
            return;
        }
    }
}

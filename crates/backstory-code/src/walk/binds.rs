//! Which names hold what.

use tree_sitter::Node;

use super::{Walk, below};
use crate::chain::{Step, chain};
use crate::language::{Role, text};
use crate::scope::{Binding, ScopeKind, bind};

/// So many nodes of a pattern are looked at.
const MAX_PATTERN: usize = 200;

impl<'t> Walk<'t> {
    /// A name is given a value, or a type. Without a field for the name it is the first child.
    pub(super) fn bind(&mut self, node: Node<'t>, target: &str) {
        let target = match target {
            "" => node.named_child(0),
            _ => self.compiled.child(node, 0),
        };
        let Some(mut target) = target else { return };
        // Lists of one, and declarators around names.
        for _ in 0..8 {
            if matches!(self.role(target), Role::Name) {
                break;
            }
            let inner = match target.child_by_field_name("declarator") {
                Some(inner) => Some(inner),
                None if target.named_child_count() == 1
                    && !self.is_chain(target)
                    && target.kind() != "object_pattern" =>
                {
                    target.named_child(0)
                }
                None => target
                    .child_by_field_name("name")
                    .filter(|_| !self.is_chain(target)),
            };
            match inner {
                Some(inner) => target = inner,
                None => break,
            }
        }
        let (value, kind) = (self.compiled.child(node, 1), self.compiled.child(node, 2));
        if let Some(module) = value.and_then(|value| required(text(value, self.source))) {
            return self.require(target, module);
        }
        let unknown = match node.kind().contains("parameter") {
            true => Binding::Parameter,
            false => Binding::Unknown,
        };
        let binding = match (kind, value) {
            (Some(kind), value) => {
                let mut steps = chain(self.compiled, kind, self.source);
                let inferred = matches!(text(kind, self.source), "var" | "auto");
                match (inferred, value) {
                    (true, _) | (_, None) if steps.contains(&Step::Other) => unknown,
                    (true, Some(value)) => Binding::Value(self.value(value)),
                    (true, None) => unknown,
                    _ => {
                        steps.push(Step::Call);
                        Binding::Typed(steps)
                    }
                }
            }
            (None, Some(value)) => Binding::Value(self.value(value)),
            (None, None) => unknown,
        };
        match self.role(target) {
            Role::Name => self.hold(text(target, self.source), binding),
            Role::Member(..) => self.attribute(target, binding),
            _ => self.names(target, &Binding::Unknown),
        }
    }

    /// A name of the scope; what a class body holds, its objects hold too.
    pub(super) fn hold(&mut self, name: &str, binding: Binding<'t>) {
        let Some(scope) = self.current() else { return };
        let owner = (scope.kind == ScopeKind::Class).then(|| scope.name.clone());
        bind(&mut scope.bindings, name, binding.clone());
        if let Some(owner) = owner {
            let attributes = self.found.attributes.entry(owner).or_default();
            bind(attributes, name, binding);
        }
    }

    /// `const module = require("module")`, or some names of it.
    fn require(&mut self, target: Node<'t>, module: &str) {
        let mut found = Vec::new();
        below(target, MAX_PATTERN, |node| match node.kind() {
            "identifier" => found.push((text(node, self.source), module.to_string())),
            "shorthand_property_identifier_pattern" => {
                let name = text(node, self.source);
                found.push((name, format!("{module}.{name}")));
            }
            _ => {}
        });
        for (name, path) in found {
            if let Some(scope) = self.current() {
                bind(&mut scope.bindings, name, Binding::Import(path));
            }
        }
    }

    fn is_chain(&self, node: Node<'_>) -> bool {
        matches!(self.role(node), Role::Name | Role::Member(..) | Role::This)
    }

    fn value(&self, value: Node<'t>) -> crate::chain::Chain<'t> {
        let single = value.kind() == "expression_list" && value.named_child_count() == 1;
        let value = match single {
            true => value.named_child(0).unwrap_or(value),
            false => value,
        };
        chain(self.compiled, value, self.source)
    }

    /// `self.attribute = value`. An attribute that is set from a parameter is of its type.
    fn attribute(&mut self, target: Node<'t>, binding: Binding<'t>) {
        let binding = match &binding {
            Binding::Value(value) => self.parameter(value).unwrap_or(binding),
            _ => binding,
        };
        let steps = chain(self.compiled, target, self.source);
        let is_this = |step: &Step<'_>| match step {
            Step::This => true,
            Step::Name(name) => self.language.self_names.contains(name),
            _ => false,
        };
        let [object, Step::Name(name)] = steps[..] else {
            return;
        };
        let scope = self.found.scopes.get(self.scope());
        let owner = scope.and_then(|scope| scope.owner.clone());
        if let (true, Some(owner)) = (is_this(&object), owner) {
            let attributes = self.found.attributes.entry(owner).or_default();
            bind(attributes, name, binding);
        }
    }

    /// The parameter that a value is, if it is one.
    fn parameter(&mut self, value: &[Step<'t>]) -> Option<Binding<'t>> {
        let [Step::Name(name)] = value else {
            return None;
        };
        let held = self.current()?.bindings.get(*name)?;
        matches!(held, Binding::Parameter | Binding::Typed(_)).then(|| held.clone())
    }

    /// Every name below holds this.
    pub(super) fn names(&mut self, node: Node<'t>, binding: &Binding<'t>) {
        let mut names = Vec::new();
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor).take(MAX_PATTERN) {
            match self.role(child) {
                Role::Name => names.push(text(child, self.source)),
                Role::Member(..) => self.attribute(child, Binding::Unknown),
                // Bound on their own when the walk comes to them.
                Role::Bind(..) | Role::CustomOrBind(..) => {}
                _ => below(child, MAX_PATTERN, |inner| {
                    if matches!(self.role(inner), Role::Name) {
                        names.push(text(inner, self.source));
                    }
                }),
            }
        }
        for name in names {
            if self.language.self_names.contains(&name) {
                continue;
            }
            if let Some(scope) = self.current() {
                bind(&mut scope.bindings, name, binding.clone());
            }
        }
    }

    pub(super) fn receiver(&mut self, name: &str) {
        if let Some(scope) = self.current() {
            bind(&mut scope.bindings, name, Binding::Value(vec![Step::This]));
        }
    }

    /// What the class around inherits from.
    pub(super) fn bases(&mut self, node: Node<'t>) {
        let scope = self.scope();
        let Some(around) = self.found.scopes.get(scope) else {
            return;
        };
        if around.kind != ScopeKind::Class {
            return;
        }
        let (class, outer) = (around.name.clone(), around.parent.unwrap_or(0));
        let mut cursor = node.walk();
        let mut bases = Vec::new();
        for child in node.named_children(&mut cursor).take(MAX_PATTERN) {
            let inner = child.child_by_field_name("value").unwrap_or(child);
            if child.is_extra()
                || child.kind() == "keyword_argument"
                || child.kind() == "access_specifier"
            {
                continue;
            }
            bases.push(chain(self.compiled, inner, self.source));
        }
        let known = self.found.bases.entry(class).or_insert((outer, Vec::new()));
        known.1.append(&mut bases);
    }

    /// In a macro, a name before parentheses is a call.
    pub(super) fn tokens(&mut self, node: Node<'t>) {
        let mut cursor = node.walk();
        let mut path: Vec<Step<'t>> = Vec::new();
        let mut start = node;
        let mut joined = false;
        if !cursor.goto_first_child() {
            return;
        }
        loop {
            let token = cursor.node();
            match token.kind() {
                "identifier" | "self" => {
                    if !joined {
                        path.clear();
                        start = token;
                    }
                    let name = text(token, self.source);
                    path.push(match name {
                        "self" => Step::This,
                        name => Step::Name(name),
                    });
                    joined = false;
                }
                "." | "::" => joined = !path.is_empty(),
                "token_tree" => {
                    let called = text(token, self.source).starts_with('(') && !joined;
                    if called && !path.is_empty() {
                        let row = start.start_position().row;
                        let range = start.start_byte()..token.start_byte();
                        let written = self.source.get(range).unwrap_or_default().trim();
                        self.call_site(path.clone(), written.to_string(), row);
                    }
                    path.clear();
                    joined = false;
                }
                _ => {
                    path.clear();
                    joined = false;
                }
            }
            if !cursor.goto_next_sibling() {
                return;
            }
        }
    }
}

/// The module of `require("module")`.
fn required(value: &str) -> Option<&str> {
    let argument = value.strip_prefix("require(")?.strip_suffix(')')?;
    let module = argument.trim().trim_matches(['"', '\'', '`']);
    (module.len() + 2 == argument.trim().len()).then_some(module)
}

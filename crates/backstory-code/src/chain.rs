//! Expressions as chains: `re.compile(x).match` is a name, a member, a call and a member.

use tree_sitter::Node;

use crate::language::{Compiled, Role, text};

/// Longer chains are not followed to their beginning.
const MAX_STEPS: usize = 24;

/// One step of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step<'t> {
    Name(&'t str),
    This,
    Super,
    Literal,
    /// Something that is not followed.
    Other,
    Call,
}

/// An expression from its beginning on.
pub(crate) type Chain<'t> = Vec<Step<'t>>;

/// The chain of an expression or a type.
pub(crate) fn chain<'t>(compiled: &Compiled, node: Node<'t>, source: &'t str) -> Chain<'t> {
    let mut steps = Vec::new();
    let mut node = node;
    loop {
        if steps.len() > MAX_STEPS {
            steps.push(Step::Other);
            break;
        }
        let (step, inner) = match compiled.role(node.kind_id()) {
            Role::Name => (Step::Name(text(node, source)), None),
            Role::This => (Step::This, None),
            Role::Super => (Step::Super, None),
            Role::Literal => (Step::Literal, None),
            Role::Call(_) | Role::Make(_) => (Step::Call, Some(compiled.child(node, 0))),
            Role::Member(..) => {
                let name = compiled.child(node, 1);
                let name = name.map_or("", |name| text(name, source));
                (Step::Name(name), compiled.child(node, 0).map(Some))
            }
            Role::MethodCall(..) => {
                let name = compiled.child(node, 1);
                steps.push(Step::Call);
                let name = name.map_or("", |name| text(name, source));
                (Step::Name(name), compiled.child(node, 0).map(Some))
            }
            Role::Wrapper(field) => match inner_of(node, field) {
                Some(inner) => {
                    node = inner;
                    // A wrapper is no step, but must count as one, for there may be any number of them.
                    if node.byte_range().len() > 4096 {
                        steps.push(Step::Other);
                        break;
                    }
                    continue;
                }
                None => (Step::Other, None),
            },
            _ => (Step::Other, None),
        };
        steps.push(step);
        match inner {
            Some(Some(inner)) => node = inner,
            Some(None) => {
                steps.push(Step::Other);
                break;
            }
            None => break,
        }
    }
    steps.reverse();
    steps
}

/// What a wrapper is around.
pub(crate) fn inner_of<'t>(node: Node<'t>, field: &str) -> Option<Node<'t>> {
    match field {
        "" => node.named_child(0),
        field => node.child_by_field_name(field),
    }
}

/// A chain as people would write it, without arguments.
pub(crate) fn written(chain: &[Step<'_>]) -> String {
    let mut written = String::new();
    for step in chain {
        let part = match step {
            Step::Call => {
                written.push_str("()");
                continue;
            }
            Step::Name(name) => name,
            Step::This => "this",
            Step::Super => "super",
            Step::Literal | Step::Other => "…",
        };
        if !written.is_empty() {
            written.push('.');
        }
        written.push_str(part);
    }
    written
}

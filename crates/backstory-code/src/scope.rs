//! What names mean where: gathered on the way through a file, asked once all of it is known.

use hashbrown::HashMap;

use crate::chain::{Chain, Step};
use crate::model::Symbol;

/// What a name holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Binding<'t> {
    /// An imported path.
    Import(String),
    /// What an expression gives.
    Value(Chain<'t>),
    /// An object of a declared type.
    Typed(Chain<'t>),
    /// A parameter without a type.
    Parameter,
    /// Anything.
    Unknown,
}

/// What kind of scope it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScopeKind {
    File,
    Space,
    Class,
    Function,
}

/// Where names are defined.
#[derive(Debug)]
pub(crate) struct Scope<'t> {
    pub(crate) parent: Option<usize>,
    pub(crate) kind: ScopeKind,
    /// Qualified; empty for the file.
    pub(crate) name: String,
    /// The class whose object the code belongs to.
    pub(crate) owner: Option<String>,
    pub(crate) bindings: HashMap<String, Binding<'t>>,
}

/// A call as it stands.
#[derive(Debug)]
pub(crate) struct CallSite<'t> {
    pub(crate) scope: usize,
    pub(crate) caller: Option<usize>,
    pub(crate) callee: Chain<'t>,
    pub(crate) written: String,
    pub(crate) line: usize,
}

/// What a walk through a file found.
#[derive(Debug, Default)]
pub(crate) struct Found<'t> {
    pub(crate) symbols: Vec<Symbol>,
    pub(crate) scopes: Vec<Scope<'t>>,
    pub(crate) calls: Vec<CallSite<'t>>,
    /// What classes inherit from, and where that is written.
    pub(crate) bases: HashMap<String, (usize, Vec<Chain<'t>>)>,
    /// What attributes of objects hold, by class.
    pub(crate) attributes: HashMap<String, HashMap<String, Binding<'t>>>,
    /// The types that functions return, by their qualified name, and where that is written.
    pub(crate) returns: HashMap<String, (usize, Chain<'t>)>,
    pub(crate) has_errors: bool,
}

/// Remembers what a name holds. A name that holds different things holds anything.
pub(crate) fn bind<'t>(
    bindings: &mut HashMap<String, Binding<'t>>,
    name: &str,
    binding: Binding<'t>,
) {
    let Some(known) = bindings.get_mut(name) else {
        bindings.insert(name.to_string(), binding);
        return;
    };
    match (&*known, &binding) {
        // The second import stands in for the first where that fails.
        (Binding::Import(_), Binding::Import(_)) => {}
        // `None` at first is no type.
        (Binding::Value(first), _)
            if first[..] == [Step::Literal] && binding != Binding::Unknown =>
        {
            *known = binding;
        }
        (_, Binding::Value(second)) if second[..] == [Step::Literal] => {}
        // The object itself stays what it is, whatever its type is called.
        (Binding::Value(first), _) if first[..] == [Step::This] => {}
        (Binding::Parameter, _) => {}
        (Binding::Typed(first), Binding::Value(second))
        | (Binding::Value(first), Binding::Typed(second))
            if first == second => {}
        (first, second) if *first == *second => {}
        _ => *known = Binding::Unknown,
    }
}

//! What is to be known of a language: a table of the nodes of its grammar, and a few words.

use std::path::Path;
use std::sync::OnceLock;

use hashbrown::HashSet;
use tree_sitter::Node;

use crate::model::SymbolKind;

/// A language that can be outlined.
pub struct Language {
    /// In lower case, as in `python`.
    pub name: &'static str,
    /// Of file names, without the dot.
    pub extensions: &'static [&'static str],
    pub(crate) grammar: fn() -> tree_sitter::Language,
    /// What nodes mean; those not named mean nothing.
    pub(crate) roles: &'static [(&'static str, Role)],
    /// What an import node brings in, as (name, path); the name `*` stands for everything.
    pub(crate) imports: fn(Node<'_>, &str) -> Vec<(String, String)>,
    /// Between the parts of an imported path.
    pub(crate) separator: &'static str,
    /// Names that mean the object itself.
    pub(crate) self_names: &'static [&'static str],
    /// Methods call each other without naming the object.
    pub(crate) implicit_this: bool,
    /// `<` may be a bracket.
    pub(crate) angle_brackets: bool,
    /// What is defined may be declared before in the same file.
    pub(crate) forward_declarations: bool,
    /// A comment before a definition is its documentation if it begins so; none: documentation is a string in the body.
    pub(crate) doc_prefixes: &'static [&'static str],
    /// What everybody has, and nobody wants to see called.
    pub(crate) builtins: &'static [&'static str],
    /// Methods of builtin types, left out where the object is not known.
    pub(crate) builtin_methods: &'static [&'static str],
    pub(crate) compiled: OnceLock<Option<Compiled>>,
}

/// The table by number of node.
pub(crate) struct Compiled {
    pub(crate) grammar: tree_sitter::Language,
    pub(crate) roles: Vec<Role>,
    pub(crate) looks: Vec<Look>,
    /// The fields that the roles of nodes name, by number of node, in their order; 0 for none. Asking by name compares with all names.
    fields: Vec<[u16; 3]>,
    pub(crate) builtins: HashSet<&'static str>,
}

impl Compiled {
    /// The child of a node in a field that its role names: the first, second or third.
    pub(crate) fn child<'t>(&self, node: Node<'t>, field: usize) -> Option<Node<'t>> {
        let fields = self.fields.get(usize::from(node.kind_id()))?;
        let field = fields.get(field).filter(|field| **field > 0)?;
        node.child_by_field_id(*field)
    }

    pub(crate) fn role(&self, kind: u16) -> Role {
        let role = self.roles.get(usize::from(kind));
        role.copied().unwrap_or(Role::Plain)
    }

    pub(crate) fn look(&self, kind: u16) -> Look {
        let look = self.looks.get(usize::from(kind));
        look.copied().unwrap_or(Look::Named)
    }
}

/// How much of a node is layout.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    Named,
    /// A keyword or operator.
    Token,
    /// Quotes and separators, which formatters change.
    Silent,
    /// Parentheses, which show in the tree around them.
    Transparent,
    StringStart,
}

impl Look {
    /// Asked of every node, and faster than asking the node.
    pub(crate) fn is_named(self) -> bool {
        matches!(self, Look::Named | Look::Transparent | Look::StringStart)
    }

    fn of(kind: &str, named: bool) -> Look {
        match (kind, named) {
            ("parenthesized_expression" | "decorated_definition", true) => Look::Transparent,
            ("string_start", true) => Look::StringStart,
            ("string_end", true) => Look::Silent,
            (_, true) => Look::Named,
            ("," | ";" | "\"" | "'" | "`" | "(" | ")", false) => Look::Silent,
            (_, false) => Look::Token,
        }
    }
}

/// What a node means.
#[derive(Clone, Copy)]
pub(crate) enum Role {
    /// Nothing.
    Plain,
    /// A definition with the fields `name` and `body`.
    Define(SymbolKind),
    /// A definition of another shape, perhaps.
    Custom(for<'t> fn(Node<'t>, &'t str) -> Option<Definition<'t>>),
    /// A definition, or else a name that is given a value.
    CustomOrBind(
        for<'t> fn(Node<'t>, &'t str) -> Option<Definition<'t>>,
        &'static str,
        &'static str,
        &'static str,
    ),
    /// A scope with a name that is no symbol; in a class scope (`impl`) functions are methods. With the field of the name.
    Scope { name: &'static str, class: bool },
    /// A decorator of the definition that follows or that it stands in.
    Decorator,
    /// A call, with the field of what is called.
    Call(&'static str),
    /// Makes an object without a call, with the field of its type.
    Make(&'static str),
    /// A call that itself names object and method.
    MethodCall(&'static str, &'static str),
    /// A member of something: the fields of the object and of the name.
    Member(&'static str, &'static str),
    /// A name.
    Name,
    /// The object that the code belongs to.
    This,
    /// The class above.
    Super,
    /// A value of a builtin type.
    Literal,
    /// The same as what is in this field; without one, as the first named child.
    Wrapper(&'static str),
    /// What a class inherits from.
    Bases,
    /// Brings names in.
    Import,
    /// Gives a name a value: the fields of name, value and type.
    Bind(&'static str, &'static str, &'static str),
    /// Names that hold anything, such as parameters.
    Names,
    /// Tokens of a macro, among which calls can only be guessed.
    Tokens,
    /// Has tokens that are none of a macro.
    NoCode,
}

impl Role {
    /// Fields that it names; empty for none.
    fn fields(self) -> [&'static str; 3] {
        match self {
            Role::Call(callee) | Role::Make(callee) => [callee, "", ""],
            Role::MethodCall(object, name) | Role::Member(object, name) => [object, name, ""],
            Role::Bind(target, value, kind) | Role::CustomOrBind(_, target, value, kind) => {
                [target, value, kind]
            }
            _ => [""; 3],
        }
    }
}

/// A definition, before its surroundings are known.
pub(crate) struct Definition<'t> {
    pub(crate) kind: SymbolKind,
    /// May be qualified itself, as a method that is defined outside its class.
    pub(crate) name: String,
    pub(crate) name_node: Node<'t>,
    /// Where the signature begins.
    pub(crate) header: Node<'t>,
    pub(crate) body: Option<Node<'t>>,
    /// What the signature has around the header.
    pub(crate) prefix: &'static str,
    pub(crate) suffix: String,
    /// The name of the receiver, if it has one of its own.
    pub(crate) receiver: Option<String>,
}

impl<'t> Definition<'t> {
    pub(crate) fn new(
        kind: SymbolKind,
        name_node: Node<'t>,
        header: Node<'t>,
        source: &str,
    ) -> Self {
        Definition {
            kind,
            name: text(name_node, source).to_string(),
            name_node,
            header,
            body: None,
            prefix: "",
            suffix: String::new(),
            receiver: None,
        }
    }

    pub(crate) fn with_body(mut self, body: Option<Node<'t>>) -> Self {
        self.body = body;
        self
    }
}

impl Language {
    /// The language of a file, by its name.
    pub fn of_path(path: &Path) -> Option<&'static Language> {
        let extension = path.extension()?.to_str()?;
        crate::LANGUAGES
            .iter()
            .find(|language| language.extensions.contains(&extension))
            .copied()
    }

    /// The table, made when it is first needed.
    pub(crate) fn compiled(&self) -> Option<&Compiled> {
        let compile = || {
            let grammar = (self.grammar)();
            let mut roles = vec![Role::Plain; grammar.node_kind_count()];
            let mut looks = Vec::new();
            for (id, role) in roles.iter_mut().enumerate() {
                let id = u16::try_from(id).ok()?;
                let kind = grammar.node_kind_for_id(id).unwrap_or_default();
                let named = grammar.node_kind_is_named(id);
                looks.push(Look::of(kind, named));
                if !named {
                    continue;
                }
                if let Some((_, known)) = self.roles.iter().find(|(name, _)| *name == kind) {
                    *role = *known;
                }
            }
            let field = |name: &str| grammar.field_id_for_name(name).map_or(0, u16::from);
            let fields = roles.iter().map(|role| role.fields().map(field)).collect();
            Some(Compiled {
                grammar,
                roles,
                looks,
                fields,
                builtins: self.builtins.iter().copied().collect(),
            })
        };
        self.compiled.get_or_init(compile).as_ref()
    }
}

impl std::fmt::Debug for Language {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name)
    }
}

/// The source of a node.
pub(crate) fn text<'s>(node: Node<'_>, source: &'s str) -> &'s str {
    source.get(node.byte_range()).unwrap_or_default()
}

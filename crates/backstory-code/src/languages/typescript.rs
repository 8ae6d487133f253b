//! TypeScript, with and without JSX.

use std::sync::OnceLock;

use tree_sitter::Node;

use super::javascript::{BUILTIN_METHODS, BUILTINS};
use super::shared::{function_value, module_imports};
use crate::language::{Definition, Language, Role};
use crate::model::SymbolKind;

pub(super) static TYPESCRIPT: Language = Language {
    name: "typescript",
    extensions: &["ts", "mts", "cts"],
    grammar: || tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
    roles: ROLES,
    imports: module_imports,
    separator: ".",
    self_names: &[],
    implicit_this: false,
    angle_brackets: true,
    forward_declarations: true,
    doc_prefixes: &["/**", "//"],
    builtins: BUILTINS,
    builtin_methods: BUILTIN_METHODS,
    compiled: OnceLock::new(),
};

pub(super) static TSX: Language = Language {
    name: "tsx",
    extensions: &["tsx"],
    grammar: || tree_sitter_typescript::LANGUAGE_TSX.into(),
    roles: ROLES,
    imports: module_imports,
    separator: ".",
    self_names: &[],
    implicit_this: false,
    angle_brackets: true,
    forward_declarations: true,
    doc_prefixes: &["/**", "//"],
    builtins: BUILTINS,
    builtin_methods: BUILTIN_METHODS,
    compiled: OnceLock::new(),
};

const ROLES: &[(&str, Role)] = &[
    ("function_declaration", Role::Define(SymbolKind::Function)),
    (
        "generator_function_declaration",
        Role::Define(SymbolKind::Function),
    ),
    ("function_signature", Role::Define(SymbolKind::Function)),
    ("class_declaration", Role::Define(SymbolKind::Class)),
    (
        "abstract_class_declaration",
        Role::Define(SymbolKind::Class),
    ),
    ("interface_declaration", Role::Define(SymbolKind::Interface)),
    ("enum_declaration", Role::Define(SymbolKind::Enum)),
    ("type_alias_declaration", Role::Custom(object_type)),
    ("method_definition", Role::Define(SymbolKind::Method)),
    ("method_signature", Role::Define(SymbolKind::Method)),
    (
        "abstract_method_signature",
        Role::Define(SymbolKind::Method),
    ),
    (
        "internal_module",
        Role::Scope {
            name: "name",
            class: false,
        },
    ),
    (
        "module",
        Role::Scope {
            name: "name",
            class: false,
        },
    ),
    (
        "variable_declarator",
        Role::CustomOrBind(function_value, "name", "value", "type"),
    ),
    (
        "public_field_definition",
        Role::CustomOrBind(function_value, "name", "value", "type"),
    ),
    (
        "assignment_expression",
        Role::CustomOrBind(function_value, "left", "right", ""),
    ),
    ("required_parameter", Role::Bind("pattern", "", "type")),
    ("optional_parameter", Role::Bind("pattern", "", "type")),
    ("decorator", Role::Decorator),
    ("extends_clause", Role::Bases),
    ("call_expression", Role::Call("function")),
    ("new_expression", Role::Call("constructor")),
    ("member_expression", Role::Member("object", "property")),
    ("nested_type_identifier", Role::Member("module", "name")),
    ("identifier", Role::Name),
    ("type_identifier", Role::Name),
    ("property_identifier", Role::Name),
    ("this", Role::This),
    ("super", Role::Super),
    ("string", Role::Literal),
    ("template_string", Role::Literal),
    ("number", Role::Literal),
    ("array", Role::Literal),
    ("regex", Role::Literal),
    ("null", Role::Literal),
    ("undefined", Role::Literal),
    ("predefined_type", Role::Literal),
    ("array_type", Role::Literal),
    ("type_annotation", Role::Wrapper("")),
    ("generic_type", Role::Wrapper("name")),
    ("await_expression", Role::Wrapper("")),
    ("non_null_expression", Role::Wrapper("")),
    ("parenthesized_expression", Role::Wrapper("")),
    ("import_statement", Role::Import),
];

/// A type that lists members is as good as an interface.
fn object_type<'t>(node: Node<'t>, source: &'t str) -> Option<Definition<'t>> {
    let value = node.child_by_field_name("value")?;
    let name = node.child_by_field_name("name")?;
    let definition =
        Definition::new(SymbolKind::Interface, name, node, source).with_body(Some(value));
    (value.kind() == "object_type").then_some(definition)
}

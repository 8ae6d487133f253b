//! C++.

use std::sync::OnceLock;

use tree_sitter::Node;

use super::c::BUILTINS;
use super::shared::{function, type_definition, type_specifier};
use crate::language::{Language, Role, text};

pub(super) static CPP: Language = Language {
    name: "cpp",
    extensions: &["cpp", "cc", "cxx", "hpp", "hh", "hxx", "ipp"],
    grammar: || tree_sitter_cpp::LANGUAGE.into(),
    roles: &[
        ("function_definition", Role::Custom(function)),
        (
            "declaration",
            Role::CustomOrBind(function, "declarator", "", "type"),
        ),
        (
            "field_declaration",
            Role::CustomOrBind(function, "declarator", "", "type"),
        ),
        ("class_specifier", Role::Custom(type_specifier)),
        ("struct_specifier", Role::Custom(type_specifier)),
        ("union_specifier", Role::Custom(type_specifier)),
        ("enum_specifier", Role::Custom(type_specifier)),
        ("type_definition", Role::Custom(type_definition)),
        (
            "namespace_definition",
            Role::Scope {
                name: "name",
                class: false,
            },
        ),
        ("base_class_clause", Role::Bases),
        ("call_expression", Role::Call("function")),
        ("new_expression", Role::Call("type")),
        ("field_expression", Role::Member("argument", "field")),
        ("qualified_identifier", Role::Member("scope", "name")),
        ("identifier", Role::Name),
        ("field_identifier", Role::Name),
        ("type_identifier", Role::Name),
        ("namespace_identifier", Role::Name),
        ("template_function", Role::Wrapper("name")),
        ("template_type", Role::Wrapper("name")),
        ("parenthesized_expression", Role::Wrapper("")),
        ("this", Role::This),
        ("string_literal", Role::Literal),
        ("number_literal", Role::Literal),
        ("primitive_type", Role::Literal),
        ("using_declaration", Role::Import),
        (
            "parameter_declaration",
            Role::Bind("declarator", "", "type"),
        ),
    ],
    imports,
    separator: "::",
    self_names: &[],
    implicit_this: true,
    angle_brackets: true,
    forward_declarations: true,
    doc_prefixes: &["/*", "//"],
    builtins: CPP_BUILTINS,
    builtin_methods: &[
        "at",
        "back",
        "begin",
        "c_str",
        "cbegin",
        "cend",
        "clear",
        "count",
        "data",
        "emplace",
        "emplace_back",
        "empty",
        "end",
        "erase",
        "find",
        "front",
        "get",
        "insert",
        "length",
        "pop_back",
        "push_back",
        "reserve",
        "reset",
        "resize",
        "size",
        "str",
        "substr",
        "swap",
        "what",
    ],
    compiled: OnceLock::new(),
};

/// The library of C, and everything of the standard library.
const CPP_BUILTINS: &[&str] = &{
    let mut all = [""; BUILTINS.len() + 2];
    let mut at = 0;
    while at < BUILTINS.len() {
        all[at] = BUILTINS[at];
        at += 1;
    }
    all[at] = "std";
    all[at + 1] = "static_assert";
    all
};

/// `using a::b;`
fn imports(node: Node<'_>, source: &str) -> Vec<(String, String)> {
    let Some(path) = node.named_child(0).map(|path| text(path, source)) else {
        return Vec::new();
    };
    if text(node, source).starts_with("using namespace") {
        return Vec::new();
    }
    let name = path.rsplit("::").next().unwrap_or(path);
    vec![(name.to_string(), path.to_string())]
}

//! Rust.

use std::sync::OnceLock;

use tree_sitter::Node;

use crate::language::{Language, Role, text};
use crate::model::SymbolKind;

pub(super) static RUST: Language = Language {
    name: "rust",
    extensions: &["rs"],
    grammar: || tree_sitter_rust::LANGUAGE.into(),
    roles: &[
        ("function_item", Role::Define(SymbolKind::Function)),
        (
            "function_signature_item",
            Role::Define(SymbolKind::Function),
        ),
        ("struct_item", Role::Define(SymbolKind::Struct)),
        ("union_item", Role::Define(SymbolKind::Struct)),
        ("enum_item", Role::Define(SymbolKind::Enum)),
        ("trait_item", Role::Define(SymbolKind::Trait)),
        (
            "impl_item",
            Role::Scope {
                name: "type",
                class: true,
            },
        ),
        (
            "mod_item",
            Role::Scope {
                name: "name",
                class: false,
            },
        ),
        ("attribute_item", Role::Decorator),
        ("call_expression", Role::Call("function")),
        ("struct_expression", Role::Make("name")),
        ("field_expression", Role::Member("value", "field")),
        ("scoped_identifier", Role::Member("path", "name")),
        ("scoped_type_identifier", Role::Member("path", "name")),
        ("identifier", Role::Name),
        ("type_identifier", Role::Name),
        ("crate", Role::Name),
        ("super", Role::Name),
        ("self", Role::This),
        ("generic_function", Role::Wrapper("function")),
        ("generic_type", Role::Wrapper("type")),
        ("reference_type", Role::Wrapper("type")),
        ("reference_expression", Role::Wrapper("value")),
        ("try_expression", Role::Wrapper("")),
        ("await_expression", Role::Wrapper("")),
        ("parenthesized_expression", Role::Wrapper("")),
        ("string_literal", Role::Literal),
        ("raw_string_literal", Role::Literal),
        ("integer_literal", Role::Literal),
        ("float_literal", Role::Literal),
        ("char_literal", Role::Literal),
        ("boolean_literal", Role::Literal),
        ("array_expression", Role::Literal),
        ("primitive_type", Role::Literal),
        ("use_declaration", Role::Import),
        ("let_declaration", Role::Bind("pattern", "value", "type")),
        ("parameter", Role::Bind("pattern", "", "type")),
        ("closure_parameters", Role::Names),
        ("token_tree", Role::Tokens),
        ("attribute", Role::NoCode),
    ],
    imports,
    separator: "::",
    self_names: &["Self"],
    implicit_this: false,
    angle_brackets: true,
    forward_declarations: false,
    doc_prefixes: &["///", "/**"],
    builtins: &[
        "Some", "None", "Ok", "Err", "Box", "Vec", "String", "Option", "Result", "drop", "Default",
        "Iterator", "From", "Into", "AsRef", "ToString", "str", "u8", "u16", "u32", "u64", "u128",
        "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32", "f64", "bool", "char",
    ],
    builtin_methods: &[
        "all",
        "and_then",
        "any",
        "as_bytes",
        "as_deref",
        "as_mut",
        "as_ref",
        "as_slice",
        "as_str",
        "borrow",
        "borrow_mut",
        "chain",
        "chars",
        "clear",
        "clone",
        "cloned",
        "cmp",
        "collect",
        "concat",
        "contains",
        "contains_key",
        "copied",
        "count",
        "dedup",
        "drain",
        "ends_with",
        "entry",
        "enumerate",
        "eq",
        "err",
        "expect",
        "extend",
        "extend_from_slice",
        "filter",
        "filter_map",
        "find",
        "find_map",
        "first",
        "flat_map",
        "flatten",
        "fold",
        "fmt",
        "get",
        "get_mut",
        "hash",
        "insert",
        "into",
        "into_iter",
        "is_empty",
        "is_err",
        "is_none",
        "is_ok",
        "is_some",
        "is_some_and",
        "iter",
        "iter_mut",
        "join",
        "keys",
        "last",
        "len",
        "lines",
        "map",
        "map_err",
        "map_or",
        "map_or_else",
        "max",
        "min",
        "next",
        "ok",
        "ok_or",
        "ok_or_else",
        "or_default",
        "or_else",
        "or_insert",
        "or_insert_with",
        "parse",
        "peek",
        "pop",
        "position",
        "push",
        "push_str",
        "remove",
        "repeat",
        "replace",
        "rev",
        "skip",
        "sort",
        "sort_by",
        "sort_by_key",
        "sort_unstable",
        "split",
        "split_at",
        "split_once",
        "splitn",
        "starts_with",
        "sum",
        "take",
        "then",
        "then_some",
        "to_owned",
        "to_string",
        "to_vec",
        "trim",
        "truncate",
        "try_into",
        "unwrap",
        "unwrap_err",
        "unwrap_or",
        "unwrap_or_default",
        "unwrap_or_else",
        "values",
        "windows",
        "with_capacity",
        "zip",
    ],
    compiled: OnceLock::new(),
};

/// `use a::{b, c as d, e::*}`, as text: the shape of such a tree is that of its brackets.
fn imports(node: Node<'_>, source: &str) -> Vec<(String, String)> {
    let Some(argument) = node.child_by_field_name("argument") else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut prefixes: Vec<String> = vec![String::new()];
    let mut part = String::new();
    let mut finish = |prefix: &str, part: &mut String| {
        let item = part.trim();
        let (path, name) = match item.split_once(" as ") {
            Some((path, alias)) => (path.trim(), alias.trim()),
            None => (item, item.rsplit("::").next().unwrap_or(item)),
        };
        if !path.is_empty() {
            let whole = match path {
                "self" => prefix.trim_end_matches("::").to_string(),
                path => format!("{prefix}{}", path.trim_end_matches("::*")),
            };
            let name = match name {
                "self" => whole.rsplit("::").next().unwrap_or_default().to_string(),
                name => name.to_string(),
            };
            let whole = whole
                .trim_end_matches('*')
                .trim_end_matches("::")
                .to_string();
            found.push((name, whole));
        }
        part.clear();
    };
    for letter in text(argument, source).chars() {
        let prefix = prefixes.last().cloned().unwrap_or_default();
        match letter {
            '{' => {
                prefixes.push(format!("{prefix}{}", part.trim()));
                part.clear();
            }
            '}' => {
                finish(&prefix, &mut part);
                prefixes.pop();
            }
            ',' => finish(&prefix, &mut part),
            letter => part.push(letter),
        }
    }
    finish("", &mut part);
    found
}

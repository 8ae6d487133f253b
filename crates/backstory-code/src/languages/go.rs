//! Go.

use std::sync::OnceLock;

use tree_sitter::Node;

use crate::language::{Definition, Language, Role, text};
use crate::model::SymbolKind;

pub(super) static GO: Language = Language {
    name: "go",
    extensions: &["go"],
    grammar: || tree_sitter_go::LANGUAGE.into(),
    roles: &[
        ("function_declaration", Role::Define(SymbolKind::Function)),
        ("method_declaration", Role::Custom(method)),
        ("method_elem", Role::Define(SymbolKind::Method)),
        ("type_spec", Role::Custom(type_spec)),
        ("call_expression", Role::Call("function")),
        ("selector_expression", Role::Member("operand", "field")),
        ("qualified_type", Role::Member("package", "name")),
        ("identifier", Role::Name),
        ("package_identifier", Role::Name),
        ("type_identifier", Role::Name),
        ("pointer_type", Role::Wrapper("")),
        ("generic_type", Role::Wrapper("type")),
        ("unary_expression", Role::Wrapper("operand")),
        ("parenthesized_expression", Role::Wrapper("")),
        ("composite_literal", Role::Make("type")),
        ("interpreted_string_literal", Role::Literal),
        ("raw_string_literal", Role::Literal),
        ("int_literal", Role::Literal),
        ("nil", Role::Literal),
        ("slice_type", Role::Literal),
        ("array_type", Role::Literal),
        ("map_type", Role::Literal),
        ("import_spec", Role::Import),
        ("short_var_declaration", Role::Bind("left", "right", "")),
        ("var_spec", Role::Bind("name", "value", "type")),
        ("parameter_declaration", Role::Bind("name", "", "type")),
    ],
    imports,
    separator: ".",
    self_names: &[],
    implicit_this: false,
    angle_brackets: false,
    forward_declarations: false,
    doc_prefixes: &["//", "/*"],
    builtins: &[
        "append", "bool", "byte", "cap", "clear", "close", "complex", "copy", "delete", "error",
        "float32", "float64", "imag", "int", "int16", "int32", "int64", "int8", "len", "make",
        "max", "min", "new", "panic", "print", "println", "real", "recover", "rune", "string",
        "uint", "uint16", "uint32", "uint64", "uint8", "uintptr", "any",
    ],
    builtin_methods: &[
        "Error", "String", "Lock", "Unlock", "RLock", "RUnlock", "Done", "Add", "Wait", "Close",
        "Len",
    ],
    compiled: OnceLock::new(),
};

/// `func (receiver *Type) name(…)`.
fn method<'t>(node: Node<'t>, source: &'t str) -> Option<Definition<'t>> {
    let name = node.child_by_field_name("name")?;
    let receiver = node.child_by_field_name("receiver")?.named_child(0)?;
    let kind = receiver.child_by_field_name("type")?;
    let kind = text(kind, source).trim_start_matches(['*', '(']);
    let kind = kind.split(['[', ')']).next().unwrap_or(kind).trim();
    let mut definition = Definition::new(SymbolKind::Function, name, node, source);
    definition.name = format!("{kind}.{}", text(name, source));
    definition.receiver = receiver
        .child_by_field_name("name")
        .map(|name| text(name, source).to_string());
    Some(definition.with_body(node.child_by_field_name("body")))
}

/// `type name struct { … }`; other types of their own can have methods as well.
fn type_spec<'t>(node: Node<'t>, source: &'t str) -> Option<Definition<'t>> {
    let name = node.child_by_field_name("name")?;
    let value = node.child_by_field_name("type")?;
    let kind = match value.kind() {
        "interface_type" => SymbolKind::Interface,
        _ => SymbolKind::Struct,
    };
    let mut definition = Definition::new(kind, name, node, source);
    definition.prefix = "type ";
    if matches!(value.kind(), "interface_type" | "struct_type") {
        definition = definition.with_body(Some(value));
        let word = value.kind().trim_end_matches("_type");
        definition.suffix = format!(" {word}");
    }
    Some(definition)
}

/// `import name "path"`; without a name, it is the last part of the path that is no version.
fn imports(node: Node<'_>, source: &str) -> Vec<(String, String)> {
    let Some(path) = node.child_by_field_name("path") else {
        return Vec::new();
    };
    let path = text(path, source).trim_matches(['"', '`']);
    let is_version =
        |part: &str| part.starts_with('v') && part[1..].chars().all(|digit| digit.is_ascii_digit());
    let last = path
        .rsplit('/')
        .find(|part| !is_version(part))
        .unwrap_or(path);
    let name = match node
        .child_by_field_name("name")
        .map(|name| text(name, source))
    {
        Some(".") => "*",
        Some(name) => name,
        None => last,
    };
    vec![(name.to_string(), path.to_string())]
}

//! Java.

use std::sync::OnceLock;

use tree_sitter::Node;

use crate::language::{Language, Role, text};
use crate::model::Kind;

pub(super) static JAVA: Language = Language {
    name: "java",
    extensions: &["java"],
    grammar: || tree_sitter_java::LANGUAGE.into(),
    roles: &[
        ("class_declaration", Role::Define(Kind::Class)),
        ("record_declaration", Role::Define(Kind::Class)),
        ("interface_declaration", Role::Define(Kind::Interface)),
        ("annotation_type_declaration", Role::Define(Kind::Interface)),
        ("enum_declaration", Role::Define(Kind::Enum)),
        ("method_declaration", Role::Define(Kind::Method)),
        ("constructor_declaration", Role::Define(Kind::Method)),
        ("compact_constructor_declaration", Role::Define(Kind::Method)),
        ("annotation", Role::Decorator),
        ("marker_annotation", Role::Decorator),
        ("superclass", Role::Bases),
        ("method_invocation", Role::MethodCall("object", "name")),
        ("object_creation_expression", Role::Call("type")),
        ("field_access", Role::Member("object", "field")),
        ("identifier", Role::Name),
        ("type_identifier", Role::Name),
        ("generic_type", Role::Wrapper("")),
        ("parenthesized_expression", Role::Wrapper("")),
        ("this", Role::This),
        ("super", Role::Super),
        ("string_literal", Role::Literal),
        ("decimal_integer_literal", Role::Literal),
        ("null_literal", Role::Literal),
        ("integral_type", Role::Literal),
        ("floating_point_type", Role::Literal),
        ("boolean_type", Role::Literal),
        ("array_type", Role::Literal),
        ("import_declaration", Role::Import),
        ("local_variable_declaration", Role::Bind("declarator", "", "type")),
        ("field_declaration", Role::Bind("declarator", "", "type")),
        ("formal_parameter", Role::Bind("name", "", "type")),
        ("lambda_expression", Role::Bind("parameters", "", "")),
        ("inferred_parameters", Role::Names),
    ],
    imports,
    separator: ".",
    self_names: &[],
    implicit_this: true,
    doc_prefixes: &["/**"],
    builtins: &[
        "AssertionError", "Boolean", "Character", "Double", "Error", "Exception", "Float", "IllegalArgumentException",
        "IllegalStateException", "IndexOutOfBoundsException", "Integer", "Iterable", "Long", "Math",
        "NullPointerException", "Number", "Object", "RuntimeException", "Short", "String", "StringBuffer", "StringBuilder",
        "System", "Thread", "Throwable", "UnsupportedOperationException",
    ],
    builtin_methods: &[
        "add", "addAll", "append", "charAt", "clear", "clone", "collect", "compareTo", "contains", "containsKey", "endsWith",
        "entrySet", "equals", "filter", "forEach", "get", "getClass", "getKey", "getMessage", "getOrDefault", "getValue", "hashCode",
        "hasNext", "indexOf", "isEmpty", "isPresent", "iterator", "join", "keySet", "length", "map", "next", "of", "orElse",
        "printStackTrace", "println", "put", "putAll", "remove", "replace", "set", "size", "split", "startsWith", "stream",
        "substring", "toArray", "toList", "toLowerCase", "toString", "toUpperCase", "trim", "values", "valueOf",
    ],
    compiled: OnceLock::new(),
};

/// `import a.b.C;`, `import static a.b.C.d;`, `import a.b.*;`.
fn imports(node: Node<'_>, source: &str) -> Vec<(String, String)> {
    let line = text(node, source).trim_start_matches("import").trim_end_matches(';').trim();
    let path = line.strip_prefix("static ").unwrap_or(line).trim();
    match (path.strip_suffix(".*"), path.rsplit('.').next()) {
        // Any number of packages can be imported whole, so none of them explains a name.
        (Some(_), _) | (_, None) => Vec::new(),
        (None, Some(name)) => vec![(name.to_string(), path.to_string())],
    }
}

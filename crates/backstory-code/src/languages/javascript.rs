//! JavaScript, and what TypeScript shares with it.

use std::sync::OnceLock;

use super::shared::{function_value, module_imports};
use crate::language::{Language, Role};
use crate::model::Kind;

pub(super) static JAVASCRIPT: Language = Language {
    name: "javascript",
    extensions: &["js", "jsx", "mjs", "cjs"],
    grammar: || tree_sitter_javascript::LANGUAGE.into(),
    roles: &[
        ("function_declaration", Role::Define(Kind::Function)),
        ("generator_function_declaration", Role::Define(Kind::Function)),
        ("class_declaration", Role::Define(Kind::Class)),
        ("method_definition", Role::Define(Kind::Method)),
        ("variable_declarator", Role::CustomOrBind(function_value, "name", "value", "")),
        ("field_definition", Role::CustomOrBind(function_value, "property", "value", "")),
        ("assignment_expression", Role::CustomOrBind(function_value, "left", "right", "")),
        ("decorator", Role::Decorator),
        ("class_heritage", Role::Bases),
        ("call_expression", Role::Call("function")),
        ("new_expression", Role::Call("constructor")),
        ("member_expression", Role::Member("object", "property")),
        ("identifier", Role::Name),
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
        ("await_expression", Role::Wrapper("")),
        ("parenthesized_expression", Role::Wrapper("")),
        ("import_statement", Role::Import),
        ("formal_parameters", Role::Names),
    ],
    imports: module_imports,
    separator: ".",
    self_names: &[],
    implicit_this: false,
    doc_prefixes: &["/**", "//"],
    builtins: BUILTINS,
    builtin_methods: BUILTIN_METHODS,
    compiled: OnceLock::new(),
};

pub(super) const BUILTINS: &[&str] = &[
    "Array", "ArrayBuffer", "BigInt", "Boolean", "Buffer", "Date", "Error", "Float32Array", "Float64Array", "Int32Array", "Intl",
    "JSON", "Map", "Math", "Number", "Object", "Promise", "Proxy", "RangeError", "Reflect", "RegExp", "Set", "String", "Symbol",
    "SyntaxError", "TypeError", "URL", "Uint8Array", "WeakMap", "WeakSet", "clearInterval", "clearTimeout", "console",
    "decodeURIComponent", "document", "encodeURIComponent", "fetch", "globalThis", "isNaN", "parseFloat", "parseInt", "process",
    "queueMicrotask", "require", "setImmediate", "setInterval", "setTimeout", "structuredClone", "window",
];

pub(super) const BUILTIN_METHODS: &[&str] = &[
    "add", "apply", "at", "bind", "call", "catch", "charAt", "charCodeAt", "concat", "delete", "endsWith", "entries", "every",
    "fill", "filter", "finally", "find", "findIndex", "flat", "flatMap", "forEach", "get", "has", "hasOwnProperty", "includes",
    "indexOf", "join", "keys", "lastIndexOf", "map", "match", "padEnd", "padStart", "pop", "push", "reduce", "repeat", "replace",
    "replaceAll", "reverse", "set", "shift", "slice", "some", "sort", "splice", "split", "startsWith", "substring", "test", "then",
    "toFixed", "toLowerCase", "toString", "toUpperCase", "trim", "trimEnd", "trimStart", "unshift", "values",
];

//! C.

use std::sync::OnceLock;

use super::shared::{function, type_definition, type_specifier};
use crate::language::{Language, Role};

pub(super) static C: Language = Language {
    name: "c",
    extensions: &["c", "h"],
    grammar: || tree_sitter_c::LANGUAGE.into(),
    roles: &[
        ("function_definition", Role::Custom(function)),
        ("declaration", Role::CustomOrBind(function, "declarator", "", "type")),
        ("struct_specifier", Role::Custom(type_specifier)),
        ("union_specifier", Role::Custom(type_specifier)),
        ("enum_specifier", Role::Custom(type_specifier)),
        ("type_definition", Role::Custom(type_definition)),
        ("call_expression", Role::Call("function")),
        ("field_expression", Role::Member("argument", "field")),
        ("identifier", Role::Name),
        ("type_identifier", Role::Name),
        ("parenthesized_expression", Role::Wrapper("")),
        ("string_literal", Role::Literal),
        ("primitive_type", Role::Literal),
        ("parameter_declaration", Role::Bind("declarator", "", "type")),
    ],
    imports: |_, _| Vec::new(),
    separator: ".",
    self_names: &[],
    implicit_this: false,
    doc_prefixes: &["/*", "//"],
    builtins: BUILTINS,
    builtin_methods: &[],
    compiled: OnceLock::new(),
};

pub(super) const BUILTINS: &[&str] = &[
    "abort", "assert", "atoi", "calloc", "exit", "fclose", "fflush", "fgets", "fopen", "fprintf", "fputc", "fputs", "fread", "free",
    "fwrite", "isalnum", "isalpha", "isdigit", "isspace", "malloc", "memchr", "memcmp", "memcpy", "memmove", "memset", "offsetof",
    "perror", "printf", "putchar", "puts", "realloc", "snprintf", "sprintf", "sscanf", "strcat", "strchr", "strcmp", "strcpy",
    "strdup", "strerror", "strlen", "strncmp", "strncpy", "strrchr", "strstr", "strtol", "strtoul", "tolower", "toupper", "va_arg",
    "va_end", "va_start", "vsnprintf",
];

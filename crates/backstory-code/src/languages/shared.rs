//! What several languages have in common.

use tree_sitter::Node;

use crate::language::{Definition, text};
use crate::model::SymbolKind;

/// A function that is the value of a name: `const name = () => …`, a class field, or `object.name = function …`.
pub(super) fn function_value<'t>(node: Node<'t>, source: &'t str) -> Option<Definition<'t>> {
    let value = ["value", "right"]
        .iter()
        .find_map(|field| node.child_by_field_name(field))?;
    let kind = match value.kind() {
        "arrow_function" | "function_expression" | "generator_function" => SymbolKind::Function,
        "class" => SymbolKind::Class,
        _ => return None,
    };
    let name = ["name", "property", "left"]
        .iter()
        .find_map(|field| node.child_by_field_name(field))?;
    let mut definition =
        Definition::new(kind, name, node, source).with_body(value.child_by_field_name("body"));
    if name.kind() == "member_expression" {
        let path = text(name, source).replace(".prototype", "");
        let path = path
            .trim_start_matches("module.")
            .trim_start_matches("exports.");
        let plain = path
            .chars()
            .all(|letter| letter.is_alphanumeric() || "_$.".contains(letter));
        if !plain || path.starts_with("this.") {
            return None;
        }
        definition.name = path.to_string();
    } else if !matches!(
        name.kind(),
        "identifier" | "property_identifier" | "private_property_identifier"
    ) {
        return None;
    }
    if node.kind() == "variable_declarator" {
        let before = source
            .get(..node.start_byte())
            .unwrap_or_default()
            .trim_end();
        definition.prefix = match before {
            before if before.ends_with("const") => "const ",
            before if before.ends_with("let") => "let ",
            before if before.ends_with("var") => "var ",
            _ => "",
        };
    }
    Some(definition)
}

/// `import a, { b as c } from "d"` and `import * as e from "d"`.
pub(super) fn module_imports(node: Node<'_>, source: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let unquoted = |node: Node<'_>| {
        text(node, source)
            .trim_matches(['"', '\'', '`'])
            .to_string()
    };
    let Some(module) = node.child_by_field_name("source").map(unquoted) else {
        return found;
    };
    let mut cursor = node.walk();
    let Some(clause) = node
        .named_children(&mut cursor)
        .find(|child| child.kind() == "import_clause")
    else {
        return found;
    };
    let mut cursor = clause.walk();
    for child in clause.named_children(&mut cursor) {
        match child.kind() {
            "identifier" => {
                found.push((text(child, source).to_string(), format!("{module}.default")));
            }
            "namespace_import" => {
                if let Some(name) = child.named_child(0) {
                    found.push((text(name, source).to_string(), module.clone()));
                }
            }
            "named_imports" => {
                let mut cursor = child.walk();
                for item in child.named_children(&mut cursor) {
                    let Some(name) = item.child_by_field_name("name") else {
                        continue;
                    };
                    let bound = item.child_by_field_name("alias").unwrap_or(name);
                    let path = format!("{module}.{}", text(name, source));
                    found.push((text(bound, source).to_string(), path));
                }
            }
            _ => {}
        }
    }
    found
}

/// What a declarator of C declares, below pointers, references and parameters.
pub(super) fn declared<'t>(declarator: Node<'t>) -> Option<(Node<'t>, bool)> {
    let mut node = declarator;
    let mut function = false;
    for _ in 0..16 {
        function |= node.kind() == "function_declarator";
        let inner = match node.kind() {
            "reference_declarator" | "parenthesized_declarator" => node.named_child(0),
            _ => node.child_by_field_name("declarator"),
        };
        match inner {
            Some(inner) => node = inner,
            None => return Some((node, function)),
        }
    }
    None
}

/// A function of C or C++, defined or only declared.
pub(super) fn function<'t>(node: Node<'t>, source: &'t str) -> Option<Definition<'t>> {
    let (name, is_function) = declared(node.child_by_field_name("declarator")?)?;
    // A pointer to a function is a variable.
    let pointer = text(node.child_by_field_name("declarator")?, source).starts_with("(*");
    if !is_function || pointer || text(name, source).is_empty() {
        return None;
    }
    let mut definition = Definition::new(SymbolKind::Function, name, node, source);
    definition.name = definition
        .name
        .replace("::", ".")
        .trim_start_matches('.')
        .to_string();
    Some(definition.with_body(node.child_by_field_name("body")))
}

/// A struct, union, enum or class with a body.
pub(super) fn type_specifier<'t>(node: Node<'t>, source: &'t str) -> Option<Definition<'t>> {
    let body = node.child_by_field_name("body")?;
    let name = node.child_by_field_name("name")?;
    let mut definition = Definition::new(type_kind(node), name, node, source).with_body(Some(body));
    definition.name = definition.name.replace("::", ".");
    Some(definition)
}

/// `typedef struct { … } name`.
pub(super) fn type_definition<'t>(node: Node<'t>, source: &'t str) -> Option<Definition<'t>> {
    let specifier = node.child_by_field_name("type")?;
    let body = specifier.child_by_field_name("body")?;
    if specifier.child_by_field_name("name").is_some() {
        return None;
    }
    let (name, _) = declared(node.child_by_field_name("declarator")?)?;
    let kind = type_kind(specifier);
    let mut definition = Definition::new(kind, name, node, source).with_body(Some(body));
    definition.suffix = format!(" {}", definition.name);
    Some(definition)
}

fn type_kind(node: Node<'_>) -> SymbolKind {
    match node.kind() {
        "class_specifier" => SymbolKind::Class,
        "enum_specifier" => SymbolKind::Enum,
        _ => SymbolKind::Struct,
    }
}

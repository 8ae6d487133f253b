//! Every language through one check, and what holds for all of them.

mod languages;
mod odd;
mod parsed;
mod traces;

use crate::{LANGUAGES, Language, Outline, outline};

fn language(name: &str) -> &'static Language {
    LANGUAGES
        .iter()
        .find(|language| language.name == name)
        .unwrap()
}

fn outlined(name: &str, source: &str) -> Outline {
    outline(language(name), source.as_bytes()).unwrap()
}

/// A symbol is `kind name lines: signature | decorators | doc`, a call `caller > callee = resolved (resolution)`.
#[track_caller]
fn check(name: &str, source: &str, symbols: &[&str], calls: &[&str]) {
    let outline = outlined(name, source);
    let found: Vec<String> = outline
        .symbols
        .iter()
        .map(|symbol| {
            let mut line = format!(
                "{} {} {}-{}: {}",
                symbol.kind.name(),
                symbol.name,
                symbol.line_start,
                symbol.line_end,
                symbol.signature
            );
            if !symbol.decorators.is_empty() {
                line.push_str(&format!(" | {}", symbol.decorators.join(" ")));
            }
            if let Some(doc) = &symbol.doc {
                line.push_str(&format!(" | {doc}"));
            }
            line
        })
        .collect();
    assert_eq!(found, symbols, "symbols");
    let found: Vec<String> = outline
        .calls
        .iter()
        .map(|call| {
            format!(
                "{} > {} = {} ({})",
                call.caller.as_deref().unwrap_or("-"),
                call.callee,
                call.resolved.as_deref().unwrap_or("?"),
                call.resolution.name()
            )
        })
        .collect();
    assert_eq!(found, calls, "calls");
    assert!(!outline.has_errors, "has errors");
}

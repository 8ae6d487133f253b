//! Compares what is found in Rust files with what `syn` sees in them. For `bench/code`.
//!
//! Names are what an outline gives: modules, types, traits and functions around an item, joined with dots. The type of an `impl` goes
//! without generics and references; one that is no path is as written.
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::collections::HashMap;
use std::io::BufRead;
use std::path::Path;

use backstory_code::{Language, SymbolKind, outline};
use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// Examples of each kind of difference.
const SHOWN: usize = 5;

/// What both have to agree upon: name, kind, first and last line.
type Item = (String, &'static str, usize, usize);

#[derive(Default)]
struct Oracle<'s> {
    source: &'s str,
    around: Vec<String>,
    items: Vec<Item>,
}

impl Oracle<'_> {
    fn within(&mut self, name: String, inside: impl FnOnce(&mut Self)) {
        self.around.push(name);
        inside(self);
        self.around.pop();
    }

    fn item(&mut self, kind: &'static str, name: &syn::Ident, span: Span) -> String {
        let name = name.to_string();
        let mut path = self.around.clone();
        path.push(name.clone());
        let (first, last) = (span.start().line, span.end().line);
        self.items.push((path.join("."), kind, first, last));
        name
    }

    fn type_name(&self, of: &syn::Type) -> String {
        match of {
            syn::Type::Path(path) if path.qself.is_none() => {
                let segments = path.path.segments.iter();
                let names: Vec<String> =
                    segments.map(|segment| segment.ident.to_string()).collect();
                names.join(".")
            }
            syn::Type::Reference(reference) => self.type_name(&reference.elem),
            other => {
                let written = self.source.get(other.span().byte_range());
                written.unwrap_or_default().replace("::", ".")
            }
        }
    }
}

/// Where an item is without its attributes, of which documentation is one.
macro_rules! bare {
    ($item:expr) => {{
        let mut bare = $item.clone();
        bare.attrs.clear();
        bare.span()
    }};
}

impl<'ast> Visit<'ast> for Oracle<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let name = item.ident.to_string();
        self.within(name, |oracle| visit::visit_item_mod(oracle, item));
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let name = self.type_name(&item.self_ty);
        self.within(name, |oracle| visit::visit_item_impl(oracle, item));
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        let name = self.item("function", &item.sig.ident, bare!(item));
        self.within(name, |oracle| visit::visit_item_fn(oracle, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        let name = self.item("function", &item.sig.ident, bare!(item));
        self.within(name, |oracle| visit::visit_impl_item_fn(oracle, item));
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        let name = self.item("function", &item.sig.ident, bare!(item));
        self.within(name, |oracle| visit::visit_trait_item_fn(oracle, item));
    }

    fn visit_foreign_item_fn(&mut self, item: &'ast syn::ForeignItemFn) {
        self.item("function", &item.sig.ident, bare!(item));
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        let name = self.item("struct", &item.ident, bare!(item));
        self.within(name, |oracle| visit::visit_item_struct(oracle, item));
    }

    fn visit_item_union(&mut self, item: &'ast syn::ItemUnion) {
        let name = self.item("struct", &item.ident, bare!(item));
        self.within(name, |oracle| visit::visit_item_union(oracle, item));
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        let name = self.item("enum", &item.ident, bare!(item));
        self.within(name, |oracle| visit::visit_item_enum(oracle, item));
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        let name = self.item("trait", &item.ident, bare!(item));
        self.within(name, |oracle| visit::visit_item_trait(oracle, item));
    }
}

#[derive(Default)]
struct Totals {
    files: usize,
    not_rust: usize,
    items: HashMap<&'static str, (usize, usize)>,
    differences: HashMap<&'static str, Vec<String>>,
}

impl Totals {
    fn differs(&mut self, kind: &'static str, what: String) {
        self.differences.entry(kind).or_default().push(what);
    }

    fn file(&mut self, language: &Language, path: &str, source: &str) {
        let Ok(file) = syn::parse_file(source) else {
            self.not_rust += 1;
            return;
        };
        self.files += 1;
        let mut oracle = Oracle {
            source,
            ..Oracle::default()
        };
        oracle.visit_file(&file);
        let found = match outline(language, source.as_bytes()) {
            Ok(found) => found,
            Err(skipped) => {
                self.differs("skipped", format!("{path}: {}", skipped.reason()));
                return;
            }
        };
        if found.has_errors {
            self.differs("has errors", path.to_string());
        }
        let mut ours: Vec<Item> = found
            .symbols
            .into_iter()
            .map(|symbol| {
                let kind = match symbol.kind {
                    kind if kind.is_function() => "function",
                    kind => SymbolKind::name(kind),
                };
                (symbol.name, kind, symbol.line_start, symbol.line_end)
            })
            .collect();
        let mut missing = Vec::new();
        for item in oracle.items {
            let (all, right) = self.items.entry(item.1).or_default();
            *all += 1;
            match ours.iter().position(|own| *own == item) {
                Some(same) => {
                    ours.swap_remove(same);
                    *right += 1;
                }
                None => missing.push(item),
            }
        }
        for (name, kind, first, last) in missing {
            let place = format!("{path}:{first}-{last}: {kind} {name}");
            let near = ours.iter().position(|own| own.2 == first && own.3 == last);
            let named = ours.iter().position(|own| own.0 == name && own.1 == kind);
            match near.or(named) {
                Some(index) => {
                    let own = ours.swap_remove(index);
                    let difference = match near {
                        Some(_) => "other name or kind",
                        None => "other lines",
                    };
                    self.differs(difference, format!("{place}, ours {own:?}"));
                }
                None => self.differs("missing", place),
            }
        }
        for own in ours {
            self.differs("of our own", format!("{path}: {own:?}"));
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut totals = Totals::default();
    for path in std::io::stdin().lock().lines() {
        let path = path?;
        let language = Language::of_path(Path::new(&path));
        let source = std::fs::read_to_string(&path);
        if let (Some(language), Ok(source)) = (language, source) {
            totals.file(language, &path, &source);
        }
    }
    for (kind, found) in &totals.differences {
        println!("\n{kind}: {}", found.len());
        for example in found.iter().take(SHOWN) {
            println!("  {example}");
        }
    }
    println!(
        "\n{} files, {} more are no Rust",
        totals.files, totals.not_rust
    );
    let (mut every, mut same) = (0, 0);
    for (kind, (all, right)) in &totals.items {
        println!("{kind}: {right} of {all}");
        every += all;
        same += right;
    }
    let share = 100.0 * same as f64 / every.max(1) as f64;
    println!("all: {same} of {every}, {share:.3} % (bar 99.5 %)");
    Ok(())
}

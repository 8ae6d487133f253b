//! Under which licence weights are, as far as their source says so.

use std::fs;
use std::io::Read;
use std::path::Path;

use crate::map::open_file;

/// Statements stand at the start of a file.
const LOOKED_AT: u64 = 64 << 10;

/// The licence that is stated nearest to the weights: the head of a model card, a licence file beside them, or the metadata of the
/// package they came in.
pub(super) fn find(weights: &Path, root: &Path) -> Option<String> {
    let folder = weights.parent()?;
    let card = start_of(&folder.join("README.md"));
    let beside = || start_of(&folder.join("LICENSE"));
    card.and_then(|text| card_licence(&text))
        .or_else(|| beside().and_then(|text| known_text(&text)))
        .or_else(|| package_licence(root))
}

/// The `license:` of a card's head, which lies between two lines of dashes.
fn card_licence(text: &str) -> Option<String> {
    let head = text.strip_prefix("---")?.split("\n---").next()?;
    field(head, &["license:"])
}

/// The licence that a text is, of those that models have.
fn known_text(text: &str) -> Option<String> {
    let known = [
        ("Apache License", "Apache-2.0"),
        ("MIT License", "MIT"),
        ("Permission is hereby granted, free of charge", "MIT"),
    ];
    let name = known.iter().find(|(sign, _)| text.contains(sign));
    name.map(|(_, name)| (*name).to_owned())
}

/// What the metadata of a Python package says.
fn package_licence(root: &Path) -> Option<String> {
    let entries = fs::read_dir(root).ok()?.filter_map(Result::ok);
    let mut folders = entries.map(|entry| entry.path());
    let folder = folders.find(|path| path.extension().is_some_and(|end| end == "dist-info"))?;
    let text = start_of(&folder.join("METADATA"))?;
    let head = text.split("\n\n").next()?;
    field(head, &["License-Expression:", "License:"])
}

fn field(head: &str, names: &[&str]) -> Option<String> {
    let value = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
    let value = names.iter().find_map(|name| value(name))?.trim();
    (!value.is_empty() && value.len() < 100).then(|| value.to_owned())
}

fn start_of(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    open_file(path)
        .ok()?
        .take(LOOKED_AT)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(String::from_utf8_lossy(&bytes).replace("\r\n", "\n"))
}

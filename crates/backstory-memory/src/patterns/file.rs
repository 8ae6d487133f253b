//! The text of an entry: TOML that keeps what people added to it.

use std::path::Path;

use backstory_event::TimeMs;
use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, Value};

use super::{Entry, Pattern};
use crate::hidden::one_line;
use crate::trusted::read_settings;

/// How many citations an entry keeps: enough to check it by, few enough to read.
const CITATIONS: usize = 20;

/// What is wrong with a file whose lists cannot be added to.
pub(super) const NO_TABLES: &str =
    "`published` and `history` must be lists of tables, as in [[history]]";

pub(super) fn read(path: &Path) -> Result<DocumentMut, String> {
    // What it says goes into files that agents obey.
    let Some(text) = read_settings(path).map_err(|error| error.to_string())? else {
        return Err("it is not there any more".to_string());
    };
    text.parse()
        .map_err(|error: toml_edit::TomlError| error.to_string().trim_end().to_string())
}

pub(super) fn parse(path: &Path, text: &str) -> Result<Entry, String> {
    let entry: Entry =
        toml::from_str(text).map_err(|error| error.to_string().trim_end().to_string())?;
    if path
        .file_stem()
        .is_none_or(|stem| stem != entry.id.as_str())
    {
        return Err(format!(
            "its id is {:?}, which is not the file's name",
            entry.id
        ));
    }
    Ok(entry)
}

/// Writes down what is known of a candidate. What people wrote stays.
pub(super) fn describe(document: &mut DocumentMut, pattern: &Pattern) {
    if !document.contains_key("id") {
        set(document, "id", pattern.id.as_str());
        set(document, "kind", pattern.kind.name());
        set(document, "title", one_line(&pattern.title));
        set(document, "advice", one_line(&pattern.advice));
    }
    let list = |texts: &[String]| texts.iter().collect::<Array>();
    let mut citations: Vec<String> = Vec::new();
    for evidence in &pattern.evidence {
        let citation = format!("{}#{}", evidence.session, evidence.turn);
        if citations.len() < CITATIONS && !citations.contains(&citation) {
            citations.push(citation);
        }
    }
    let mut seen = Table::new();
    set(&mut seen, "detector", pattern.detector);
    set(&mut seen, "frequency", as_integer(pattern.frequency));
    set(
        &mut seen,
        "sessions",
        as_integer(pattern.sessions.len() as u64),
    );
    set(&mut seen, "agents", list(&pattern.agents));
    set(&mut seen, "domains", list(&pattern.domains));
    for (key, at) in [("first", pattern.first_seen), ("last", pattern.last_seen)] {
        if let Some(at) = at {
            set(&mut seen, key, written_time(at));
        }
    }
    let mut citations = list(&citations);
    for citation in citations.iter_mut() {
        citation.decor_mut().set_prefix("\n    ");
    }
    if !citations.is_empty() {
        citations.set_trailing("\n");
        citations.set_trailing_comma(true);
    }
    set(&mut seen, "citations", citations);
    // Where the table stands and what is written above it stays.
    if let Some(before) = document.get("seen").and_then(Item::as_table) {
        *seen.decor_mut() = before.decor().clone();
        seen.set_position(before.position());
    }
    document.insert("seen", Item::Table(seen));
}

fn as_integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A time as people write it, to the second.
pub(super) fn written_time(at: TimeMs) -> String {
    let time = jiff::Timestamp::from_second(at.get().div_euclid(1000));
    time.unwrap_or_default().to_string()
}

/// Sets a key; comments before it and behind its old value stay.
pub(super) fn set(table: &mut Table, key: &str, new: impl Into<Value>) {
    let mut new = new.into();
    match table.get_mut(key) {
        Some(item) => {
            if let Some(old) = item.as_value() {
                *new.decor_mut() = old.decor().clone();
            }
            *item = Item::Value(new);
        }
        None => {
            table.insert(key, Item::Value(new));
        }
    }
}

pub(super) fn push(
    document: &mut DocumentMut,
    key: &str,
    table: Table,
) -> Result<(), &'static str> {
    let list = document
        .entry(key)
        .or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    let list = list.as_array_of_tables_mut();
    list.ok_or(NO_TABLES)?.push(table);
    Ok(())
}

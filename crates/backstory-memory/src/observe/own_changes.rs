//! The functions that one edit changed, where the log has the text before it.

use std::collections::HashMap;
use std::path::Path;

use backstory_code::{Language, compare, text_symbols};
use backstory_event::FileEdit;

use super::functions::FunctionChange;
use crate::replay::{Interner, Lane};

/// Length of a text up to which it is parsed, twice for each edit.
const MAX_TEXT_BYTES: usize = 512 << 10;

/// Returns what the edits of a tool use made of functions of a file, by name; `None` when the text before one of them is not known,
/// or nobody knows the language.
pub(super) fn own_changes(
    edits: &[FileEdit],
    path: &str,
) -> Option<HashMap<String, FunctionChange>> {
    let language = Language::of_path(Path::new(path))?;
    let mut edits = edits.iter().filter(|edit| edit.path == path).peekable();
    edits.peek()?;
    let mut changes = HashMap::new();
    for edit in edits {
        let before = edit
            .before
            .as_deref()
            .filter(|before| before.len() <= MAX_TEXT_BYTES)?;
        let (mut lane, mut interner) = (Lane::default(), Interner::default());
        lane.apply(edit, 1, &mut interner);
        let after = lane.whole(&interner).filter(|_| lane.loose() == 0)?;
        let before = text_symbols(language, before).ok()?;
        let after = text_symbols(language, &after).ok()?;
        for symbol in compare(&before, &after) {
            changes.insert(symbol.name, symbol.change.into());
        }
    }
    Some(changes)
}

//! The functions that one edit changed, where the log has the text before it.

use std::collections::HashMap;
use std::path::Path;

use backstory_code::replay::{Interner, Lane};
use backstory_code::{Language, compare, text_symbols};
use backstory_event::FileEdit;

use super::FunctionChange;

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
            if symbol.kind.is_function() {
                add_change(&mut changes, symbol.name, symbol.change.into());
            }
        }
    }
    Some(changes)
}

/// Adds what a later edit of the same tool use made of a function.
fn add_change(changes: &mut HashMap<String, FunctionChange>, name: String, later: FunctionChange) {
    let change = match (changes.remove(&name), later) {
        (Some(FunctionChange::New), FunctionChange::Deleted) => return,
        (Some(FunctionChange::New), _) => FunctionChange::New,
        (Some(FunctionChange::Deleted), FunctionChange::New) => FunctionChange::Modified,
        (_, later) => later,
    };
    changes.insert(name, change);
}

#[cfg(test)]
mod tests {
    use backstory_event::Change;

    use super::*;

    #[test]
    fn edits_of_one_tool_use_are_summed_up() {
        let texts = [
            "def kept():\n    return 1\n\ndef gone():\n    return 2\n",
            "def kept():\n    return 1\n\ndef made():\n    return 33\n\ndef brief():\n    return 444\n",
            "def kept():\n    return 1\n\ndef made():\n    return 5\n\ndef gone():\n    return 66\n\nTOP = 1\n",
        ];
        let edits = texts.windows(2).map(|texts| FileEdit {
            path: "a.py".to_string(),
            moved_to: None,
            before: Some(texts[0].to_string()),
            change: Change::Written(texts[1].to_string()),
        });
        let edits: Vec<FileEdit> = edits.collect();
        let found = own_changes(&edits, "a.py").unwrap();
        let expected = [
            ("made", FunctionChange::New),
            ("gone", FunctionChange::Modified),
        ];
        let expected = expected.map(|(name, change)| (name.to_string(), change));
        assert_eq!(found, HashMap::from(expected));
    }
}

//! The functions that turns of a session changed.

use std::collections::{BTreeSet, HashMap};

use backstory_event::{Action, FileEdit, SessionId, Touch, TurnNo};
use backstory_store::Store;
use serde::{Deserialize, Deserializer};

use super::own_changes::own_changes;
use super::{ChangedFunction, FunctionChange};
use crate::error::Result;

/// A function as it was kept: older versions kept the name alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum KeptFunction {
    Whole(ChangedFunction),
    Name(String),
}

/// Reads functions of kept observations.
pub(super) fn read_functions<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Vec<ChangedFunction>, D::Error> {
    let kept: Vec<KeptFunction> = Vec::deserialize(from)?;
    let read = |kept| match kept {
        KeptFunction::Whole(function) => function,
        KeptFunction::Name(name) => ChangedFunction {
            file: String::new(),
            name,
            change: FunctionChange::Modified,
        },
    };
    Ok(kept.into_iter().map(read).collect())
}

/// The functions that turns of a session changed: by turn, in files that are named within their project.
pub(super) struct Functions(HashMap<TurnNo, Vec<ChangedFunction>>);

impl Functions {
    pub(super) fn of(store: &Store, session: SessionId) -> Result<Self> {
        let mut turns: HashMap<TurnNo, Vec<ChangedFunction>> = HashMap::new();
        for changed in store.changed_names(session)? {
            if let Some(turn) = changed.turn {
                let functions = turns.entry(turn).or_default();
                functions.push(ChangedFunction {
                    file: changed.file,
                    name: changed.name,
                    change: changed.change.into(),
                });
            }
        }
        Ok(Functions(turns))
    }

    /// Returns those of the files that a call wrote. Where the log has the text before the edit, what the edit itself changed; else
    /// what the turn changed in the file, and of that only what the call names, if it names any.
    pub(super) fn changed(
        &self,
        turn: TurnNo,
        touches: &[Touch],
        input: &str,
        edits: &[FileEdit],
    ) -> Vec<ChangedFunction> {
        let written = touches.iter().filter(|touch| touch.action != Action::Read);
        let files: BTreeSet<&str> = written.map(|touch| touch.path.as_str()).collect();
        let mut of_turn: HashMap<&str, Vec<&ChangedFunction>> = HashMap::new();
        for known in self.0.get(&turn).into_iter().flatten() {
            // `mod.rs` is a file of the project before it is one of a folder.
            let paths = files.iter().filter(|path| is_path_of(path, &known.file));
            if let Some(path) = paths.min_by_key(|path| path.len()) {
                of_turn.entry(path).or_default().push(known);
            }
        }
        let (mut own, mut functions) = (Vec::new(), Vec::new());
        for file in files {
            let in_file = |name: String, change: FunctionChange| ChangedFunction {
                file: file.to_string(),
                name,
                change,
            };
            match own_changes(edits, file) {
                Some(changes) => {
                    own.extend(
                        changes
                            .into_iter()
                            .map(|(name, change)| in_file(name, change)),
                    );
                }
                None => {
                    let there = of_turn.remove(file).unwrap_or_default();
                    functions.extend(
                        there
                            .iter()
                            .map(|known| in_file(known.name.clone(), known.change)),
                    );
                }
            }
        }
        let is_named = |function: &ChangedFunction| {
            let name = &function.name;
            input.contains(name.rsplit('.').next().unwrap_or(name))
        };
        if functions.iter().any(is_named) {
            functions.retain(is_named);
        }
        functions.append(&mut own);
        functions.sort_unstable_by(|a, b| (&a.name, a).cmp(&(&b.name, b)));
        functions.dedup();
        functions
    }
}

/// Returns whether `path` is that of a file that is named within its project.
fn is_path_of(path: &str, file: &str) -> bool {
    let folder = path.strip_suffix(file);
    folder.is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
}

//! What Codex's tools did to files: patches, in all the forms in which they are called.

use serde_json::value::RawValue;

use super::call;
use crate::edit::{Change, FileEdit};
use crate::object::{Object, string};
use crate::{patch, shell};

const MARK: &str = "*** Begin Patch";

/// Fields of arguments that may hold a patch or a command; the first that is there counts.
const GIVEN: [&str; 4] = ["input", "patch", "cmd", "command"];
const FOLDERS: [&str; 3] = ["workdir", "cwd", "working_directory"];

/// Reads the changes that the arguments of a function ask for. `json` is what they were parsed from.
pub(super) fn argument_edits(json: &str, arguments: &Object<'_>) -> Vec<FileEdit> {
    if !may_change_files(json) {
        return Vec::new();
    }
    let folder = FOLDERS.iter().find_map(|name| arguments.word(name));
    let given = GIVEN.iter().find(|name| arguments.has(name));
    let command = given.and_then(|name| arguments.get(name));
    within_folder(
        folder.as_deref(),
        command.map(command_edits).unwrap_or_default(),
    )
}

/// Reads the changes that a call with free text as its input asks for.
pub(super) fn input_edits(tool: &str, input: &str) -> Vec<FileEdit> {
    match tool {
        "exec" => script_edits(input),
        _ => patch::edits(input),
    }
}

/// Reads the changes that the action of a `local_shell_call` asks for.
pub(super) fn shell_edits(action: &Object<'_>) -> Vec<FileEdit> {
    let folder = action.word("working_directory");
    let command = action.get("command").map(command_edits);
    within_folder(folder.as_deref(), command.unwrap_or_default())
}

/// Reads the changes that a `FileChange` item lists by path.
pub(super) fn listed_edits(changes: &Object<'_>) -> Vec<FileEdit> {
    changes.fields().filter_map(listed_edit).collect()
}

fn listed_edit((path, value): (&str, &RawValue)) -> Option<FileEdit> {
    let fields = Object::of(value)?;
    let change = match fields.word("type")?.as_ref() {
        "add" => Change::Written(fields.text("content")?),
        "delete" => Change::Deleted,
        _ => Change::Hunks(patch::unified(&fields.text("unified_diff")?)),
    };
    let before = matches!(change, Change::Written(_)).then(String::new);
    Some(FileEdit {
        moved_to: fields.text("move_path"),
        before,
        ..FileEdit::new(path, change)
    })
}

/// A look at the bytes spares most commands a second decoding.
fn may_change_files(json: &str) -> bool {
    let holds = |words: &str| memchr::memmem::find(json.as_bytes(), words.as_bytes()).is_some();
    holds("mv") || holds(MARK)
}

/// A patch, a script with one in it, or a list of program and arguments.
fn command_edits(command: &RawValue) -> Vec<FileEdit> {
    if !may_change_files(command.get()) {
        return Vec::new();
    }
    let words: Vec<String> = match string(command) {
        Some(script) => vec![script],
        None => {
            let words: Vec<&RawValue> = serde_json::from_str(command.get()).unwrap_or_default();
            words.into_iter().filter_map(string).collect()
        }
    };
    let Some(script) = words.iter().find(|script| script.contains(MARK)) else {
        // What a shell is given to run, or the words themselves.
        return match words.first().map(String::as_str) {
            Some("mv" | "git") => shell::moves(&words.join(" ")),
            _ => words
                .last()
                .map(|script| shell::moves(script))
                .unwrap_or_default(),
        };
    };
    // `cd folder && apply_patch <<'EOF'` is as models write it.
    let before = script.split(MARK).next().unwrap_or_default();
    let folder = before
        .trim_start()
        .strip_prefix("cd ")
        .and_then(|rest| rest.split_once("&&"))
        .map(|(folder, _)| folder.trim().trim_matches(['"', '\'']));
    within_folder(folder, patch::edits(script))
}

/// A patch in a script of the code mode is mostly one string literal.
fn script_edits(script: &str) -> Vec<FileEdit> {
    let Some(at) = script.find(MARK) else {
        return Vec::new();
    };
    let quote = script[..at].trim_end().len().checked_sub(1);
    let literal = quote
        .and_then(|quote| script.get(quote..))
        .and_then(call::literal);
    match literal {
        Some((literal, _)) => patch::edits(&literal),
        None => patch::edits(script),
    }
}

/// Paths below the folder that a command ran in.
fn within_folder(folder: Option<&str>, mut edits: Vec<FileEdit>) -> Vec<FileEdit> {
    let Some(folder) = folder.filter(|folder| !folder.is_empty()) else {
        return edits;
    };
    let join = |path: &mut String| {
        if !path.starts_with('/') {
            *path = format!("{}/{path}", folder.trim_end_matches('/'));
        }
    };
    for edit in &mut edits {
        join(&mut edit.path);
        edit.moved_to.iter_mut().for_each(join);
    }
    edits
}

//! What shell commands did to files, as far as the words of a simple command tell: `mv` and `git mv`.

use crate::bounds::MAX_PATH_BYTES;
use crate::edit::{Change, FileEdit};

/// Files that are moved one by one; whoever moves more does not do it by hand.
const MAX_MOVES: usize = 64;

/// The files that a script moves.
pub(crate) fn moves(script: &str) -> Vec<FileEdit> {
    let mut moved = Vec::new();
    let mut folder = String::new();
    if !script.contains("mv ") {
        return moved;
    }
    for command in commands(script) {
        // A folder that grows with every command would be copied each time.
        if moved.len() == MAX_MOVES || folder.len() > MAX_PATH_BYTES {
            break;
        }
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let operands = match words[..] {
            ["cd", to] => {
                folder = join(&folder, to);
                continue;
            }
            ["mv", ref rest @ ..] | ["git", "mv", ref rest @ ..] => rest,
            ["git", "-C", within, "mv", from, to] => {
                let folder = join(&folder, within);
                moved.push(rename(&join(&folder, from), &join(&folder, to)));
                continue;
            }
            _ => continue,
        };
        let mut operands = operands.iter().filter(|word| !word.starts_with('-'));
        if let (Some(from), Some(to), None) = (operands.next(), operands.next(), operands.next()) {
            moved.push(rename(&join(&folder, from), &join(&folder, to)));
        }
    }
    moved
}

fn rename(from: &str, to: &str) -> FileEdit {
    let name = from.rsplit('/').next().unwrap_or(from);
    let into_folder = to.ends_with('/') || to == "." || to == "..";
    let to = if into_folder {
        join(to, name)
    } else {
        to.to_string()
    };
    FileEdit {
        moved_to: Some(to),
        ..FileEdit::new(from, Change::Hunks(Vec::new()))
    }
}

fn join(folder: &str, path: &str) -> String {
    if folder.is_empty() || path.starts_with('/') {
        return path.to_string();
    }
    format!("{}/{path}", folder.trim_end_matches('/'))
}

/// The commands of a script, each as its words. Those whose words a shell would expand are left out.
fn commands(script: &str) -> Vec<Vec<String>> {
    let mut commands = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut expands = false;
    let mut quote = None;
    let mut letters = script.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (Some('\''), _) => word.get_or_insert_default().push(letter),
            (_, '\\') => word.get_or_insert_default().extend(letters.next()),
            (_, '$' | '`') => expands = true,
            (Some(_), _) => word.get_or_insert_default().push(letter),
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, '*' | '?' | '{' | '<' | '>') => expands = true,
            (None, ' ' | '\t') => words.extend(word.take()),
            (None, ';' | '&' | '|' | '\n' | '(' | ')') => {
                words.extend(word.take());
                let command = std::mem::take(&mut words);
                if !std::mem::take(&mut expands) && !command.is_empty() {
                    commands.push(command);
                }
            }
            (None, _) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    if !expands && quote.is_none() && !words.is_empty() {
        commands.push(words);
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(script: &str, expect: &[(&str, &str)]) {
        let found = moves(script);
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|edit| {
                (
                    edit.path.as_str(),
                    edit.moved_to.as_deref().unwrap_or_default(),
                )
            })
            .collect();
        assert_eq!(found, expect, "{script}");
    }

    #[test]
    fn moves_are_read_from_plain_words() {
        check(
            "git mv src/a.rs src/b.rs && cargo build",
            &[("src/a.rs", "src/b.rs")],
        );
        check("cd /s; mv -f a 'b c'\nls", &[("/s/a", "/s/b c")]);
        check("mv a.rs lib/", &[("a.rs", "lib/a.rs")]);
        check("git -C sub mv a b", &[("sub/a", "sub/b")]);
        check(
            "mv $FILE b; mv *.rs lib; mv a b c; mv a; echo 'mv a b'",
            &[],
        );
        check("mv 'a b", &[]);
        check("", &[]);
    }

    #[test]
    fn a_hostile_script_has_a_limit() {
        assert_eq!(moves(&"git -C s mv a b;".repeat(1000)).len(), MAX_MOVES);
        assert!(moves(&format!("{}mv a b", "cd folder;".repeat(200_000))).is_empty());
    }
}

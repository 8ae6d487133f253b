//! Phrases that items of several layers have.

use backstory_event::TimeMs;

use super::past::Edit;
use super::quote::named;

/// Maximum length of quoted text of each kind, in characters.
pub(super) const MAX_TITLE: usize = 120;
pub(super) const MAX_PROMPT: usize = 110;
pub(super) const MAX_RESULT: usize = 120;
pub(super) const MAX_COMMAND: usize = 80;
pub(super) const MAX_PATH: usize = 120;

/// Returns the first files of some edits, by their paths.
pub(super) fn files_of<'e>(edits: impl IntoIterator<Item = &'e Edit>, most: usize) -> String {
    let mut files: Vec<String> = Vec::new();
    for edit in edits {
        let Some(file) = named(&edit.file, MAX_PATH) else {
            continue;
        };
        if files.contains(&file) {
            continue;
        }
        if files.len() == most {
            files.push("…".to_string());
            break;
        }
        files.push(file);
    }
    files.join(", ")
}

/// Returns how long ago something was, as people say it.
pub(super) fn age(at: TimeMs, now: TimeMs) -> String {
    let minutes = now.since(at).max(0) / 60_000;
    let ago = |number: i64, unit: &str| match number {
        1 => format!("1 {unit} ago"),
        number => format!("{number} {unit}s ago"),
    };
    match minutes {
        0..=1 => "just now".to_string(),
        2..120 => ago(minutes, "minute"),
        120..2_880 => ago(minutes / 60, "hour"),
        2_880..86_400 => ago(minutes / 1_440, "day"),
        _ => ago(minutes / 43_200, "month"),
    }
}

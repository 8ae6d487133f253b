//! Telling our commands from those of others.

/// Whether a command runs a program of our name, wherever that is, or this very program, with `hook`.
pub(super) fn is_ours(command: &str, program: &str) -> bool {
    let Some((word, rest)) = first_word(command) else {
        return false;
    };
    let name = word.rsplit(['/', '\\']).next().unwrap_or_default();
    let is_program = matches!(name, "backstory" | "backstory.exe")
        || first_word(program).is_some_and(|(own, _)| own == word);
    is_program && rest.split_whitespace().next() == Some("hook")
}

/// The first word of a command as a shell reads it, and what follows.
fn first_word(command: &str) -> Option<(String, &str)> {
    let command = command.trim_start();
    let mut word = String::new();
    let mut quote = None;
    let mut characters = command.char_indices();
    while let Some((at, character)) = characters.next() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '\'' | '"') => quote = Some(character),
            (None | Some('"'), '\\') => word.extend(characters.next().map(|(_, next)| next)),
            (None, _) if character.is_whitespace() => return Some((word, &command[at..])),
            _ => word.push(character),
        }
    }
    (quote.is_none() && !word.is_empty()).then_some((word, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_commands_are_ours() {
        for (command, ours) in [
            ("backstory hook Stop", true),
            ("  /usr/bin/backstory   hook Stop --agent codex", true),
            ("'/my tools/backstory' hook Stop", true),
            ("\"/my \\\"tools\\\"/backstory\" hook Stop", true),
            ("/my\\ tools/backstory hook Stop", true),
            ("'/it'\\''s/backstory' hook Stop", true),
            ("'C:\\Tools\\backstory.exe' hook Stop", true),
            ("/opt/renamed hook", true),
            ("/opt/other hook", false),
            ("backstory sweep", false),
            ("backstory", false),
            ("backstory hooks", false),
            ("backstory-hook hook", false),
            ("mybackstory hook Stop", false),
            ("echo backstory hook Stop", false),
            ("'backstory hook Stop", false),
            ("'backstory hook' Stop", false),
            ("", false),
        ] {
            assert_eq!(is_ours(command, "'/opt/renamed'"), ours, "{command}");
        }
    }
}

//! Telling our commands from those of others.

/// Characters that end a command for a shell, outside of quotes.
const SEPARATORS: &[char] = &[';', '&', '|', '(', ')', '`', '\n'];

/// Words that a command may follow.
const PREFIXES: &[&str] = &[
    "!", "command", "do", "else", "env", "exec", "if", "nice", "nohup", "then", "time", "{",
];

/// How much of a command is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HookCommand {
    /// It is what setup writes, and nothing else.
    Ours,
    /// It runs our program as a hook, and the user added something: another command, a redirection, an option.
    Extended,
}

/// Returns how much of a command is ours; `None` when it does not run a program of our name, wherever that is, or this very program, with
/// `hook`.
pub(super) fn classify_command(command: &str, program: &str) -> Option<HookCommand> {
    if let Some(rest) = hook_arguments(command, program) {
        return Some(match is_as_written(rest) {
            true => HookCommand::Ours,
            false => HookCommand::Extended,
        });
    }
    let mut parts = split_commands(command).into_iter();
    let is_hook = |part: &str| hook_arguments(without_prefixes(part), program).is_some();
    parts.any(is_hook).then_some(HookCommand::Extended)
}

/// What follows `hook` in a command that begins with our program.
fn hook_arguments<'c>(command: &'c str, program: &str) -> Option<&'c str> {
    let (word, rest) = first_word(command)?;
    let name = word.rsplit(['/', '\\']).next().unwrap_or_default();
    let is_program = matches!(name, "backstory" | "backstory.exe")
        || first_word(program).is_some_and(|(own, _)| own == word);
    let rest = rest.trim_start().strip_prefix("hook")?;
    let is_word = rest.is_empty() || rest.starts_with(|next: char| !is_plain(next));
    (is_program && is_word).then_some(rest)
}

/// Whether these are arguments that setup writes: an event and an agent, neither of which must be there.
fn is_as_written(arguments: &str) -> bool {
    let words: Vec<&str> = arguments.split_whitespace().collect();
    let is_name = |word: &str| word.chars().all(is_plain) && !word.starts_with('-');
    match words.as_slice() {
        [] => true,
        [event] => is_name(event),
        ["--agent", agent] => is_name(agent),
        [event, "--agent", agent] => is_name(event) && is_name(agent),
        _ => false,
    }
}

fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '_')
}

/// The commands that a shell would run one after another, or at once.
fn split_commands(command: &str) -> Vec<&str> {
    let (mut parts, mut start, mut quote) = (Vec::new(), 0, None);
    let mut characters = command.char_indices();
    while let Some((at, character)) = characters.next() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '\'' | '"') => quote = Some(character),
            (None | Some('"'), '\\') => drop(characters.next()),
            (None, _) if SEPARATORS.contains(&character) => {
                parts.push(&command[start..at]);
                start = at + character.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&command[start..]);
    parts
}

/// A command without variables that are set for it and words that it may follow.
fn without_prefixes(mut command: &str) -> &str {
    while let Some((word, rest)) = first_word(command) {
        let name = word.rsplit('/').next().unwrap_or_default();
        if !word.contains('=') && !PREFIXES.contains(&name) {
            break;
        }
        command = rest;
    }
    command
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
    fn only_what_setup_writes_is_ours() {
        let (ours, extended) = (Some(HookCommand::Ours), Some(HookCommand::Extended));
        for (command, expected) in [
            ("backstory hook Stop", ours),
            ("  /usr/bin/backstory   hook Stop --agent codex", ours),
            ("'/my tools/backstory' hook Stop", ours),
            ("\"/my \\\"tools\\\"/backstory\" hook Stop", ours),
            ("/my\\ tools/backstory hook Stop", ours),
            ("'/it'\\''s/backstory' hook Stop", ours),
            ("'C:\\Tools\\backstory.exe' hook Stop", ours),
            ("/opt/renamed hook", ours),
            ("backstory hook --agent codex", ours),
            (
                "/opt/backstory hook Stop --agent codex; /bin/mine",
                extended,
            ),
            (
                "/opt/backstory hook Stop --agent codex && notify-send",
                extended,
            ),
            ("backstory hook Stop | tee /tmp/log", extended),
            ("backstory hook Stop|tee /tmp/log", extended),
            ("backstory hook;mine", extended),
            ("backstory hook Stop >/tmp/log", extended),
            ("backstory hook Stop # mine", extended),
            ("backstory hook Stop --config /my/config.toml", extended),
            ("backstory hook Stop $(mine)", extended),
            ("backstory hook Stop\nmine", extended),
            ("cd /x && backstory hook Stop", extended),
            ("/usr/bin/env X=1 backstory hook Stop", extended),
            ("X=1 backstory hook Stop", extended),
            ("mine; '/opt/renamed' hook Stop", extended),
            ("(backstory hook Stop)", extended),
            ("/opt/other hook", None),
            ("backstory sweep", None),
            ("backstory", None),
            ("backstory hooks", None),
            ("backstory-hook hook", None),
            ("mybackstory hook Stop", None),
            ("echo backstory hook Stop", None),
            ("echo '; backstory hook Stop'", None),
            ("'backstory hook Stop", None),
            ("'backstory hook' Stop", None),
            ("", None),
        ] {
            let found = classify_command(command, "'/opt/renamed'");
            assert_eq!(found, expected, "{command}");
        }
    }
}

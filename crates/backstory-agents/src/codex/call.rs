//! Tool calls: the command that they run and the files that they name.

use serde_json::value::RawValue;

use crate::object::{Object, string};
use crate::shared::{command_column, patch_touches};
use backstory_event::{Action, Touch};

/// A script rarely runs more, and reading on would only lengthen a column that is cut anyway.
const MAX_SCRIPT_COMMANDS: usize = 32;

/// What can be told of a call besides its text.
#[derive(Default)]
pub(crate) struct Effects {
    pub(crate) command: Option<String>,
    pub(crate) touches: Vec<Touch>,
}

/// The name that a tool goes by: `server__tool` when it comes from a namespace.
pub(super) fn tool_name(namespace: Option<String>, name: &str) -> String {
    match namespace.filter(|namespace| !namespace.is_empty()) {
        Some(namespace) => format!("{}__{name}", namespace.trim_end_matches("__")),
        None => name.to_string(),
    }
}

/// What a call with JSON arguments does.
pub(crate) fn of_arguments(tool: &str, arguments: &str) -> Effects {
    let fields = Object::parse(arguments).ok();
    fields
        .map(|fields| argument_effects(tool, &fields))
        .unwrap_or_default()
}

/// What a call with these arguments does.
pub(super) fn argument_effects(tool: &str, fields: &Object<'_>) -> Effects {
    match tool.trim_start_matches("functions.") {
        "shell" | "shell_command" | "exec_command" | "container.exec" | "local_shell"
        | "unified_exec" => fields
            .get("cmd")
            .or_else(|| fields.get("command"))
            .map(of_command)
            .unwrap_or_default(),
        "apply_patch" => {
            let patch = fields.text("input").or_else(|| fields.text("patch"));
            Effects {
                command: None,
                touches: patch.map(|patch| patch_touches(&patch)).unwrap_or_default(),
            }
        }
        "view_image" => Effects {
            command: None,
            touches: fields.name("path").map(read).into_iter().collect(),
        },
        _ => Effects::default(),
    }
}

/// What a call with free text as its input does.
pub(crate) fn of_input(tool: &str, input: &str) -> Effects {
    match tool {
        "apply_patch" => Effects {
            command: None,
            touches: patch_touches(input),
        },
        "exec" => of_script(input),
        _ => Effects::default(),
    }
}

/// What a command does: a string, or a list of program and arguments.
pub(crate) fn of_command(command: &RawValue) -> Effects {
    let command = match string(command) {
        Some(command) => command,
        None => {
            let words: Vec<&RawValue> = serde_json::from_str(command.get()).unwrap_or_default();
            command_line(&words.into_iter().filter_map(string).collect::<Vec<_>>())
        }
    };
    let touches = if command.contains("*** Begin Patch") {
        patch_touches(&command)
    } else {
        Vec::new()
    };
    Effects {
        command: command_column(&command),
        touches,
    }
}

/// A file that is looked at.
pub(super) fn read(path: String) -> Touch {
    Touch {
        path,
        action: Action::Read,
    }
}

/// The line that a person would type for these words: what a shell is given to run, else the words quoted where they must be.
fn command_line(words: &[String]) -> String {
    if let [shell, .., flag, script] = words
        && is_shell(shell)
        && matches!(flag.as_str(), "-c" | "-lc" | "-ic" | "-lic" | "-Command")
    {
        return script.clone();
    }
    let quoted: Vec<String> = words
        .iter()
        .map(|word| {
            let plain = !word.is_empty()
                && !word.contains(|c: char| c.is_whitespace() || "\"'$`\\|&;<>()*?#~!".contains(c));
            if plain {
                word.clone()
            } else {
                format!("'{}'", word.replace('\'', "'\\''"))
            }
        })
        .collect();
    quoted.join(" ")
}

fn is_shell(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
    matches!(
        name.trim_end_matches(".exe"),
        "bash" | "sh" | "zsh" | "dash" | "fish" | "ksh" | "powershell" | "pwsh"
    )
}

/// What a JavaScript of the code mode does, as far as a look at its string literals tells.
fn of_script(script: &str) -> Effects {
    let mut commands = Vec::new();
    let mut rest = script;
    while let Some(found) = rest.find("cmd")
        && commands.len() < MAX_SCRIPT_COMMANDS
    {
        let (before, after) = (&rest[..found], &rest[found + "cmd".len()..]);
        let is_key =
            !before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.'));
        let value = after
            .trim_start_matches(['"', '\''])
            .trim_start()
            .strip_prefix(':')
            .map(str::trim_start);
        rest = after;
        if is_key && let Some((command, end)) = value.and_then(literal) {
            commands.push(command);
            rest = end;
        }
    }
    let touches = if script.contains("*** Begin Patch") {
        // A patch is mostly one literal with escaped newlines.
        patch_touches(&script.replace("\\n", "\n"))
    } else {
        Vec::new()
    };
    Effects {
        command: command_column(&commands.join("\n")),
        touches,
    }
}

/// The JavaScript string literal that a text begins with, and what follows it.
pub(super) fn literal(text: &str) -> Option<(String, &str)> {
    let quote = text
        .chars()
        .next()
        .filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let mut decoded = String::new();
    let mut characters = text.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => decoded.push(match characters.next()?.1 {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                other => other,
            }),
            end if end == quote => return Some((decoded, &text[at + 1..])),
            other => decoded.push(other),
        }
    }
    None
}

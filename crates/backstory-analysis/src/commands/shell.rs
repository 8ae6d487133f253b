//! Commands of a shell line, and how they are connected.

use super::folder::{folder_option, join_folders};
use super::grammar::parse_posix;
use super::powershell::{is_powershell, parse_powershell};
use super::wrapper::{ShellScript, inner_script, strip_wrappers};

/// Operator before the pipeline of a command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Connector {
    /// Nothing is before it.
    #[default]
    First,
    /// `&&`: it runs if what is before it succeeded.
    And,
    /// `||`: it runs if what is before it failed.
    Or,
    /// `;` or a newline: it runs in any case.
    Then,
    /// `&`: it runs beside what is before it.
    Background,
}

/// Simple command of a shell line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellCommand {
    /// Program and arguments, without quotes, redirections, assignments before them and wrappers such as `sudo`. Substitutions stay as
    /// they are written. An assignment without a command is its own word.
    pub words: Vec<String>,
    /// Operator before its pipeline.
    pub connector: Connector,
    /// Number of its pipeline in the line.
    pub pipeline: usize,
    /// Its output goes into another command.
    pub is_piped_on: bool,
    /// It runs in the background.
    pub is_background: bool,
    /// It is in an `if`, a `case`, a loop, a function or behind `!`: it may not run, and the line's exit code may not be its own.
    pub is_conditional: bool,
    /// Folder it runs in, if the line names one: by a `cd` before it or by an option such as `git -C`.
    pub folder: Option<String>,
    /// Beginning of the here-document that it reads.
    pub here_text: Option<String>,
}

impl ShellCommand {
    /// Returns the name of the program, without its folder and the extension that Windows gives it.
    pub fn program(&self) -> &str {
        program_name(self.words.first().map_or("", String::as_str))
    }
}

/// Returns the name of a program without its folder and the extension that Windows gives it.
pub(super) fn program_name(word: &str) -> &str {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let extensions = [".exe", ".cmd", ".bat", ".ps1"];
    extensions
        .iter()
        .find_map(|extension| name.strip_suffix(extension))
        .unwrap_or(name)
}

/// Parses a command line of bash, of a POSIX shell or of PowerShell.
///
/// Commands in substitutions are not listed. Those of `bash -c '…'` are, in the place of the shell; of a shell in it, no more.
pub fn parse_shell_line(line: &str) -> Vec<ShellCommand> {
    let mut commands = Vec::new();
    // Some agents give a patch as a command; no program is named so.
    if line.trim_start().starts_with("*** ") {
        return commands;
    }
    let mut pipelines = 0;
    for mut command in parse_dialect(line) {
        strip_wrappers(&mut command);
        command.pipeline += pipelines;
        let Some(script) = inner_script(&command) else {
            commands.push(command);
            continue;
        };
        let inner = match script {
            ShellScript::Posix(text) => parse_posix(text),
            ShellScript::PowerShell(text) => parse_powershell(text),
        };
        let last = inner.last().map_or(0, |last| last.pipeline);
        pipelines += last;
        for (number, mut part) in inner.into_iter().enumerate() {
            strip_wrappers(&mut part);
            place_inside(&mut part, &command, number == 0);
            commands.push(part);
        }
    }
    for command in &mut commands {
        if let Some(folder) = folder_option(&command.words) {
            command.folder = join_folders(command.folder.as_deref(), &folder);
        }
    }
    commands
}

fn parse_dialect(line: &str) -> Vec<ShellCommand> {
    match is_powershell(line) {
        true => parse_powershell(line),
        false => parse_posix(line),
    }
}

/// Gives a command of a script the place of the shell that runs the script.
fn place_inside(part: &mut ShellCommand, shell: &ShellCommand, is_first: bool) {
    let is_guarded = matches!(shell.connector, Connector::And | Connector::Or);
    if part.connector == Connector::First {
        part.connector = shell.connector;
    } else if is_guarded && matches!(part.connector, Connector::Then | Connector::Background) {
        part.is_conditional = true;
    }
    part.folder = match (&shell.folder, part.folder.take()) {
        (Some(_), Some(folder)) => join_folders(shell.folder.as_deref(), &folder),
        (outer, inner) => inner.or_else(|| outer.clone()),
    };
    part.pipeline += shell.pipeline;
    part.is_piped_on |= shell.is_piped_on;
    part.is_background |= shell.is_background;
    part.is_conditional |= shell.is_conditional;
    if is_first && part.here_text.is_none() {
        part.here_text.clone_from(&shell.here_text);
    }
}

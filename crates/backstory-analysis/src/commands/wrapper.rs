//! Programs that run the command in their arguments: `sudo`, `timeout 60`, `npx`, `uv run`, `bash -c`.

use super::folder::join_folders;
use super::shell::{ShellCommand, program_name};
use super::word::is_name;

/// Program whose arguments are another command.
struct Wrapper {
    /// Its name and subcommand.
    names: &'static [&'static str],
    /// Options whose value is a word of its own.
    valued: &'static [&'static str],
    /// Arguments of its own before the command.
    operands: usize,
    /// The command stands behind `--`.
    needs_dashes: bool,
}

const fn wrapper(names: &'static [&'static str], valued: &'static [&'static str]) -> Wrapper {
    Wrapper {
        names,
        valued,
        operands: 0,
        needs_dashes: false,
    }
}

const fn behind_dashes(names: &'static [&'static str]) -> Wrapper {
    Wrapper {
        names,
        valued: &[],
        operands: 0,
        needs_dashes: true,
    }
}

const fn with_operand(names: &'static [&'static str], valued: &'static [&'static str]) -> Wrapper {
    Wrapper {
        names,
        valued,
        operands: 1,
        needs_dashes: false,
    }
}

/// Wrappers, the longest names first where one begins with another.
const WRAPPERS: &[Wrapper] = &[
    wrapper(
        &["sudo"],
        &[
            "-u", "-g", "-h", "-p", "-C", "-D", "--user", "--group", "--chdir",
        ],
    ),
    wrapper(&["doas"], &["-u"]),
    wrapper(&["time"], &["-f", "-o", "--format", "--output"]),
    wrapper(&["gtime"], &["-f", "-o"]),
    with_operand(&["timeout"], &["-k", "-s", "--kill-after", "--signal"]),
    with_operand(&["gtimeout"], &["-k", "-s", "--kill-after", "--signal"]),
    wrapper(&["nice"], &["-n", "--adjustment"]),
    wrapper(&["ionice"], &["-c", "-n"]),
    wrapper(&["nohup"], &[]),
    wrapper(&["setsid"], &[]),
    wrapper(&["stdbuf"], &["-i", "-o", "-e"]),
    wrapper(&["unbuffer"], &[]),
    wrapper(&["caffeinate"], &["-t", "-w"]),
    wrapper(&["chronic"], &[]),
    wrapper(&["env"], &["-u", "--unset", "-C", "--chdir"]),
    wrapper(&["cross-env"], &[]),
    wrapper(&["command"], &[]),
    wrapper(&["builtin"], &[]),
    wrapper(&["exec"], &["-a"]),
    wrapper(
        &["xargs"],
        &["-n", "-P", "-L", "-d", "-I", "-s", "-a", "-E"],
    ),
    wrapper(&["xvfb-run"], &["-n", "-s", "-e", "--server-args"]),
    wrapper(&["npx"], &["-p", "--package", "-w", "--workspace"]),
    wrapper(&["bunx"], &["-p", "--package"]),
    wrapper(&["pnpx"], &[]),
    wrapper(&["npm", "exec"], &["-p", "--package", "-w", "--workspace"]),
    wrapper(&["pnpm", "dlx"], &["--package"]),
    wrapper(&["pnpm", "exec"], &[]),
    wrapper(&["yarn", "dlx"], &["-p", "--package"]),
    wrapper(&["yarn", "exec"], &[]),
    wrapper(&["bun", "x"], &[]),
    wrapper(
        &["uv", "run"],
        &[
            "--with",
            "--python",
            "-p",
            "--extra",
            "--group",
            "--package",
            "--project",
            "--directory",
            "--env-file",
            "--with-requirements",
            "--with-editable",
            "--only-group",
            "--no-group",
        ],
    ),
    wrapper(&["uvx"], &["--with", "--python", "-p", "--from"]),
    wrapper(&["pipx", "run"], &["--spec"]),
    wrapper(&["poetry", "run"], &[]),
    wrapper(&["pipenv", "run"], &[]),
    wrapper(&["pdm", "run"], &[]),
    wrapper(&["rye", "run"], &[]),
    wrapper(&["hatch", "run"], &[]),
    wrapper(&["pixi", "run"], &["-e", "--environment"]),
    wrapper(&["bundle", "exec"], &[]),
    behind_dashes(&["mise", "exec"]),
    behind_dashes(&["mise", "x"]),
    wrapper(&["asdf", "exec"], &[]),
    with_operand(&["direnv", "exec"], &[]),
    wrapper(&["rbenv", "exec"], &[]),
    wrapper(&["pyenv", "exec"], &[]),
    behind_dashes(&["devbox", "run"]),
    behind_dashes(&["op", "run"]),
    behind_dashes(&["doppler", "run"]),
    behind_dashes(&["infisical", "run"]),
    behind_dashes(&["dotenvx", "run"]),
    behind_dashes(&["fnox", "exec"]),
    behind_dashes(&["dotenv"]),
    wrapper(&["rtk", "proxy"], &[]),
    wrapper(&["rtk", "err"], &[]),
    wrapper(&["rtk", "summary"], &[]),
    wrapper(&["rtk"], &[]),
];

/// Removes wrappers and assignments before the command that they run.
pub(super) fn strip_wrappers(command: &mut ShellCommand) {
    let mut start = 0;
    let mut folder = None;
    while let Some(rest) = command.words.get(start..) {
        let assigned = rest.iter().take_while(|word| is_assigned(word)).count();
        if start > 0 && assigned > 0 && assigned < rest.len() {
            start += assigned;
            continue;
        }
        let Some((length, own_folder)) = wrapper_length(rest) else {
            break;
        };
        folder = own_folder.or(folder);
        start += length;
    }
    if let Some(folder) = folder {
        command.folder = join_folders(command.folder.as_deref(), &folder);
    }
    let is_module = start > 0 && command.words.get(start).is_some_and(|word| word == "-m");
    command.words.drain(..start.min(command.words.len()));
    if is_module {
        // `uv run -m pytest`.
        command.words.insert(0, "python".to_string());
    }
}

fn is_assigned(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// Returns the number of words of the wrapper that a command begins with, and the folder it changes to.
fn wrapper_length(words: &[String]) -> Option<(usize, Option<String>)> {
    let program = program_name(words.first()?);
    let begins = |wrapper: &&Wrapper| {
        let (first, others) = wrapper.names.split_first().unwrap_or((&"", &[]));
        *first == program
            && others
                .iter()
                .enumerate()
                .all(|(place, name)| words.get(place + 1).is_some_and(|word| word == name))
    };
    let wrapper = WRAPPERS.iter().find(begins)?;
    let mut at = wrapper.names.len();
    let mut folder = None;
    if wrapper.needs_dashes {
        at += words.iter().skip(at).position(|word| word == "--")? + 1;
        return (at < words.len()).then_some((at, None));
    }
    while let Some(word) = words.get(at) {
        match word.as_str() {
            "--" => {
                at += 1;
                break;
            }
            // `command -v x` looks for it, `uv run -m x` names a module.
            "-v" | "-V" if program == "command" => return None,
            "-m" if program == "uv" => break,
            "-c" if program == "npx" => return None,
            option if !option.starts_with('-') || option == "-" => break,
            option => {
                let is_valued = wrapper.valued.contains(&option);
                if matches!(option, "-C" | "--chdir" | "--directory" | "-D") && is_valued {
                    folder = words.get(at + 1).cloned();
                }
                at += 1 + usize::from(is_valued);
            }
        }
    }
    at += wrapper.operands;
    (at < words.len()).then_some((at, folder))
}

/// Script in the arguments of a shell.
pub(super) enum ShellScript<'a> {
    /// Of bash, zsh and others.
    Posix(&'a str),
    /// Of PowerShell.
    PowerShell(&'a str),
}

/// Returns the script that a shell is given as an argument.
pub(super) fn inner_script(command: &ShellCommand) -> Option<ShellScript<'_>> {
    let (_, arguments) = command.words.split_first()?;
    let after = |is_option: &dyn Fn(&str) -> bool| {
        let place = arguments.iter().position(|word| is_option(word))?;
        // What is before it are options and their values.
        let is_own = |word: &String| word.starts_with(['-', '+', '/']) || word == "pipefail";
        let before = arguments.get(..place)?;
        before.iter().all(is_own).then_some(())?;
        arguments.get(place + 1).map(String::as_str)
    };
    match command.program() {
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "fish" => {
            let is_command = |word: &str| {
                word.strip_prefix('-').is_some_and(|letters| {
                    letters.contains('c') && letters.bytes().all(|byte| byte.is_ascii_lowercase())
                })
            };
            after(&is_command).map(ShellScript::Posix)
        }
        "cmd" => after(&|word| matches!(word, "/c" | "//c" | "/C")).map(ShellScript::Posix),
        "powershell" | "pwsh" => {
            let is_command =
                |word: &str| matches!(word.to_ascii_lowercase().as_str(), "-command" | "-c");
            let place = arguments.iter().position(|word| is_command(word))?;
            arguments
                .get(place + 1)
                .map(|text| ShellScript::PowerShell(text))
        }
        _ => None,
    }
}

//! What standard output and standard error carry: no hidden characters, and no fuss when nobody reads them.

mod nobody_reads;

use std::collections::BTreeSet;
use std::io::Read;
use std::process::{Command, Stdio};

use backstory_memory::is_hidden;
use serde_json::{Value, json};

use crate::environment::{Environment, Outcome, feed};

/// One of each kind: window title, concealed text, C1, bidi, zero width, tags, selectors, fillers, separators, annotation.
const HIDDEN: &str = "\u{1b}]0;pwn\u{7}\u{1b}[8m\u{1b}[31m\u{9b}2J\u{202e}\u{2066}\u{200e}\u{61c}\u{200b}\u{200d}\u{2060}\u{2064}\u{feff}\
     \u{e0041}\u{e007f}\u{e0101}\u{fe0f}\u{ad}\u{115f}\u{3164}\u{ffa0}\u{2028}\u{2029}\u{fff9}\u{85}\r\u{8}\u{7f}";

/// The beginning of a line that no log may begin.
const FORGED: &str = "FORGED-LINE";

/// A field with hidden characters and a line break.
fn field(name: &str) -> String {
    format!("{name}{HIDDEN}x\n{FORGED}")
}

/// A session of which every text is hostile, source files with such names, and a log that cannot be read.
fn hostile() -> Environment {
    let environment = Environment::new();
    // Names of files have no line breaks here, as every shell would stumble over them.
    let folder = format!("work{}", HIDDEN.replace(['\r', '\u{8}'], ""));
    let source = format!("{folder}/src/part{HIDDEN}.py");
    let code = format!(
        "def hello():\n    '''{HIDDEN}'''\n    return helper('{HIDDEN}')\n\ndef helper(x): return x\n"
    );
    let source = environment.write(&source, &code);
    let cwd = environment.home().join(folder);
    std::fs::create_dir(cwd.join(".git")).unwrap();
    for session in 1..=2 {
        let id = field(&format!("0000000{session}"));
        let line = |number: u32, kind: &str, message: &Value| {
            let line = json!({
                "type": kind, "uuid": field(&format!("{session}-{number}")), "sessionId": id, "requestId": field("req"),
                "timestamp": format!("2026-01-0{session}T03:00:0{number}.000Z"), "cwd": cwd, "gitBranch": field("branch"),
                "version": field("version"), "message": message,
            });
            format!("{line}\n")
        };
        let call = |id: &str, tool: &str, input: &Value| {
            json!({"role": "assistant", "id": field(id), "model": field("model"), "usage": {"input_tokens": 5, "output_tokens": 7},
                "content": [{"type": "tool_use", "id": id, "name": tool, "input": input}]})
        };
        let result = |id: &str, text: &str, error: bool| json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": error}]});
        let body = format!("please fix the parser {HIDDEN}");
        let run =
            json!({"command": format!("pytest {HIDDEN}"), "description": field("description")});
        let lines = [
            line(0, "user", &json!({"role": "user", "content": body})),
            line(1, "assistant", &call("t1", "Bash", &run)),
            line(
                2,
                "user",
                &result("t1", &format!("parser.py:1: error: boom {HIDDEN}"), true),
            ),
            line(
                3,
                "assistant",
                &call(
                    "t2",
                    "Write",
                    &json!({"file_path": source, "content": code}),
                ),
            ),
            line(4, "user", &result("t2", &body, false)),
            line(
                5,
                "assistant",
                &call("t3", &field("Odd"), &json!({"path": field("path")})),
            ),
            line(6, "user", &result("t3", &body, true)),
            line(
                7,
                "assistant",
                &json!({"role": "assistant", "id": "m9", "model": field("model"),
                "content": [{"type": "text", "text": format!("Decided: use the other parser {HIDDEN}")}]}),
            ),
            format!(
                "{}\n",
                json!({"type": "custom-title", "customTitle": field("title"), "sessionId": id})
            ),
            format!("not json {HIDDEN}\n"),
        ];
        let log = format!(
            ".claude/projects/-work{}/{session}.jsonl",
            HIDDEN.replace('\r', "")
        );
        environment.write(&log, lines.concat());
    }
    environment
}

/// Arguments with which each command has something to say. Every command of the program is here; see the test below.
fn calls() -> Vec<(&'static str, Vec<&'static str>)> {
    let call = |words: &'static str| words.split(' ').filter(|word| !word.is_empty()).collect();
    [
        ("sweep", ""),
        ("sweep", "/no/such/folder"),
        ("sweep", "--dry-run"),
        ("search", "parser"),
        ("search", "--regex pars.r"),
        ("search", "nowheretobefound"),
        ("sessions", ""),
        ("show", "00000001"),
        ("show", "00000001 --full"),
        ("show", "00000001 --format markdown"),
        ("show", "0000000"),
        ("show", "nothing\u{1b}[31m\u{202e}"),
        ("tail", "00000001"),
        ("export", "-o all.h5"),
        ("export", "-o tables --format parquet"),
        ("convert", "FOLDER -o all.h5"),
        ("inspect", "all.h5"),
        ("inspect", "tables"),
        ("inspect", "tables/no\u{1b}[31m\u{202e}.h5"),
        ("tail", "all.h5"),
        ("digest", "00000001"),
        ("observations", "00000001"),
        ("observations", "00000001 --size detail"),
        ("context", "--prompt parser"),
        ("context", "--project /nowhere\u{1b}[31m\u{202e}"),
        ("blame", "SOURCE"),
        ("blame", "no\u{1b}[31m\u{202e}.py"),
        ("usage", "daily"),
        ("usage", "session"),
        ("usage", "model"),
        ("usage", "project"),
        ("model list", ""),
        ("model pull", "no\u{1b}[31m\u{202e}"),
        ("model add", "/no\u{1b}[31m\u{202e}"),
        ("model use", "no\u{1b}[31m\u{202e}"),
        ("model remove", "no\u{1b}[31m\u{202e}"),
        ("embed", ""),
        ("compress", "--status"),
        ("compress", ""),
        ("eval retrieval", "/no\u{1b}[31m\u{202e}"),
        ("eval observations", ""),
        ("eval context", ""),
        ("eval digests", "--review --sessions 3"),
        ("eval digests", "--score"),
        ("patterns", "--min-frequency 1"),
        ("patterns show", "p-"),
        ("patterns approve", "p-\u{202e}"),
        ("patterns reject", "p-\u{202e}"),
        ("patterns edit", "p-\u{202e} --title a\u{202e}"),
        ("patterns merge", "p-\u{202e} --into p-"),
        ("patterns publish", "--to no\u{1b}[31m\u{202e}/AGENTS.md"),
        ("patterns publish", ""),
        ("patterns unpublish", ""),
        ("patterns measure", ""),
        ("patterns catalogue", ""),
        ("map", "FOLDER"),
        ("map", "SOURCE"),
        ("map", "no\u{1b}[31m\u{202e}.py"),
        ("calls", "helper"),
        ("calls", "--file SOURCE"),
        ("changes", ""),
        ("why", "hello"),
        ("fix", "boom"),
        ("fix", "no\u{1b}[31m\u{202e}"),
        ("how", "pytest"),
        ("how", "no\u{1b}[31m\u{202e}"),
        ("why", "no\u{1b}[31m\u{202e}"),
        ("report", "FOLDER"),
        ("report", "--eval"),
        ("setup", "claude-code --dry-run"),
        ("setup", "claude-code"),
        ("teardown", "claude-code"),
        ("queue", ""),
        ("queue retry", "77"),
        ("queue run", ""),
        ("worker status", ""),
        ("worker stop", ""),
        ("schedule status", ""),
        ("schedule remove", "--dry-run"),
        ("schedule install", "--dry-run"),
        ("schedule install", "--every x\u{1b}[31m\u{202e}"),
        ("retain", "--dry-run"),
        ("retain", ""),
        ("forget", "00000001 --dry-run"),
        ("forget", "00000001"),
        ("doctor", ""),
        ("config", ""),
        ("config path", ""),
        ("config set", "no\u{1b}[31m\u{202e} 1"),
        ("completions", "bash"),
        ("completions", "zsh"),
        ("hook", "Stop"),
        ("no\u{1b}[31m\u{202e}", ""),
    ]
    .map(|(command, arguments)| (command, call(arguments)))
    .into()
}

/// Commands that do not end by themselves.
const ENDLESS: &[&str] = &["watch", "worker start"];

impl Environment {
    fn call(&self, command: &str, arguments: &[&str], more: &[&str]) -> Command {
        let folder = self
            .home()
            .join(format!("work{}", HIDDEN.replace(['\r', '\u{8}'], "")));
        let source = folder.join(format!("src/part{HIDDEN}.py"));
        let (folder, source) = (folder.to_str().unwrap(), source.to_str().unwrap());
        let put = |word: &&str| match *word {
            "FOLDER" => folder.to_string(),
            "SOURCE" => source.to_string(),
            word => word.to_string(),
        };
        let words: Vec<String> = arguments.iter().map(put).collect();
        let words: Vec<&str> = command
            .split(' ')
            .chain(words.iter().map(String::as_str))
            .chain(more.iter().copied())
            .collect();
        let mut call = self.command(&words);
        call.stdin(Stdio::null());
        if std::path::Path::new(folder).is_dir() {
            call.current_dir(folder);
        }
        call
    }
}

/// Every command that the help pages name, with the commands below it.
fn commands_of_help(environment: &Environment, above: &str) -> BTreeSet<String> {
    let words: Vec<&str> = above
        .split(' ')
        .filter(|word| !word.is_empty())
        .chain(["--help"])
        .collect();
    let help = environment.run(&words).stdout;
    let mut commands = BTreeSet::new();
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    for line in listed.take_while(|line| !line.is_empty()) {
        let name = line
            .strip_prefix("  ")
            .and_then(|line| line.split(' ').next())
            .unwrap_or_default();
        if name.is_empty() || name == "help" {
            continue;
        }
        let command = format!("{above} {name}").trim().to_string();
        let below = commands_of_help(environment, &command);
        // A command that only has others below it says nothing itself.
        if below.is_empty() {
            commands.insert(command);
        } else {
            commands.extend(below);
        }
    }
    commands
}

fn assert_clean(what: &str, text: &str) {
    let hidden: Vec<String> = text
        .chars()
        .filter(|character| is_hidden(*character))
        .map(|character| format!("{:x}", character as u32))
        .collect();
    assert!(hidden.is_empty(), "{what}: {hidden:?} in {text:?}");
}

#[test]
fn no_command_prints_hidden_characters_of_logs_paths_or_arguments() {
    let environment = hostile();
    let mut said = String::new();
    for (command, arguments) in calls() {
        for more in [&[][..], &["--json"]] {
            let outcome = Outcome::of(
                &environment
                    .call(command, &arguments, more)
                    .output()
                    .unwrap(),
            );
            let what = format!("{command} {arguments:?} {more:?}");
            assert!(
                outcome.code != 70 && outcome.code >= 0,
                "{what}: {}",
                outcome.stderr
            );
            assert_clean(&what, &outcome.stdout);
            assert_clean(&what, &outcome.stderr);
            // What was said itself may have several lines, and is indented or quoted then.
            let forged = outcome.stdout.lines().find(|line| line.starts_with(FORGED));
            assert_eq!(forged, None, "{what}: {}", outcome.stdout);
            said.push_str(&outcome.stdout);
        }
    }
    for word in [
        "title",
        "branch",
        "model",
        "Odd",
        "please fix the parser",
        "part",
        "-work",
    ] {
        assert!(said.contains(word), "nothing tells of {word}");
    }
    // Its value is whole in JSON, and its bytes are in the original.
    let shown = environment.json(&["show", "00000001"]);
    assert_eq!(shown["title"], format!("title{HIDDEN}x"));
    let original = environment
        .run(&["show", "00000001", "--format", "original"])
        .stdout;
    assert!(original.contains("\u{202e}") && original.contains("\u{e0041}"));
}

#[test]
fn what_agents_are_told_has_no_hidden_characters() {
    let environment = hostile();
    environment.run(&["sweep"]);
    let cwd = environment
        .home()
        .join(format!("work{}", HIDDEN.replace(['\r', '\u{8}'], "")));
    let input = json!({"session_id": "s", "cwd": cwd, "hook_event_name": "SessionStart", "source": "startup"});
    let outcome = feed(
        &mut environment.command(&["hook"]),
        input.to_string().as_bytes(),
    );
    assert_clean("the answer", &outcome.stdout);
    let answer: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let told = answer["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap();
    assert!(told.contains("src/part"), "{told}");
    assert_clean("the context", told);
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_gets_our_own_styles_and_no_other_escape_sequence() {
    let environment = hostile();
    environment.run(&["sweep"]);
    let mut styled = 0;
    let more: Vec<(&str, Vec<&str>)> = vec![
        ("show", vec!["00000001", "--format", "original"]),
        ("--help", vec![]),
        ("show", vec!["--help"]),
    ];
    for (command, arguments) in calls().into_iter().chain(more) {
        let mut call = environment.call(command, &arguments, &[]);
        let shown = on_terminal(call.env("TERM", "xterm"));
        let what = format!("{command} {arguments:?}");
        let mut parts = shown.split("\u{1b}[");
        let mut text = parts.next().unwrap_or_default().to_string();
        for part in parts {
            let end = part
                .find(|character: char| character.is_ascii_alphabetic())
                .unwrap();
            let (sequence, rest) = part.split_at(end + 1);
            // Styles, and what a progress bar needs to draw over itself.
            let known = [
                "0m", "1m", "2m", "4m", "31m", "32m", "33m", "1;31m", "1;36m", "2K", "1A", "1B",
            ];
            assert!(
                known.contains(&sequence),
                "{what}: {sequence:?} in {shown:?}"
            );
            styled += 1;
            text.push_str(rest);
        }
        // The terminal itself begins lines with a carriage return.
        assert_clean(&what, &text.replace('\r', ""));
    }
    assert!(styled > 100, "{styled}");
}

/// Runs a command with a terminal as standard output and standard error, and returns what it got.
#[cfg(target_os = "linux")]
pub(crate) fn on_terminal(command: &mut Command) -> String {
    let terminal = nix::pty::openpty(None, None).unwrap();
    command
        .stdout(terminal.slave.try_clone().unwrap())
        .stderr(terminal.slave);
    let mut child = command.spawn().unwrap();
    // The command holds the other end until it is dropped.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut master = std::fs::File::from(terminal.master);
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    // Reading fails once nobody has the terminal open any more.
    while let Ok(read) = master.read(&mut piece) {
        if read == 0 {
            break;
        }
        bytes.extend_from_slice(&piece[..read]);
    }
    child.wait().unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn every_command_is_called_in_these_tests() {
    let called: BTreeSet<String> = calls()
        .into_iter()
        .map(|(command, _)| command.to_string())
        .collect();
    let named = commands_of_help(&Environment::new(), "");
    assert!(named.len() > 40, "{named:?}");
    for command in named {
        let below =
            called.iter().any(|called| *called == command) || ENDLESS.contains(&command.as_str());
        assert!(below, "`{command}` is in no test of output");
    }
}

//! A home folder with nothing in it, and the program run there.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use backstory_agents::sample::SampleFile;
use backstory_event::TimeMs;
use serde_json::Value;

/// When the story of the samples ends.
pub(crate) const STORY_END: TimeMs = TimeMs::new(1_770_000_000_000);

/// A hermetic home.
pub(crate) struct Environment {
    folder: tempfile::TempDir,
}

/// What a run of the program gave.
pub(crate) struct Outcome {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Environment {
    pub(crate) fn new() -> Self {
        Environment {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    /// Lines of today's event log.
    pub(crate) fn logged_events(&self) -> Vec<serde_json::Value> {
        let path = self.store().join("logs/events.jsonl");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let lines = text.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Writes a file below the home folder.
    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.home().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        // Whatever the umask is: settings that others can write are refused.
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        }
        path
    }

    pub(crate) fn write_all(&self, files: impl IntoIterator<Item = SampleFile>) {
        for file in files {
            self.write(&file.path, file.bytes);
        }
    }

    /// A session of Claude Code, by the number in its id.
    pub(crate) fn claude(&self, session: u32, lines: &[String]) -> PathBuf {
        self.write(&claude_path(session), lines.concat())
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_backstory"));
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.home())
            .env("BACKSTORY_HOME", self.store())
            .env("TZ", "UTC")
            .current_dir(self.folder.path());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Outcome {
        Outcome::of(&self.command(arguments).output().unwrap())
    }

    /// Runs a command that is told something on standard input.
    pub(crate) fn feed(&self, arguments: &[&str], input: &[u8]) -> Outcome {
        feed(&mut self.command(arguments), input)
    }

    /// Runs a command that must succeed and print one JSON document.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let outcome = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(outcome.code, 0, "{arguments:?}: {}", outcome.stderr);
        serde_json::from_str(&outcome.stdout).unwrap()
    }

    pub(crate) fn sweep(&self) -> Value {
        self.json(&["sweep"])
    }

    /// What a search answers, in JSON; nothing found is an answer too.
    pub(crate) fn search(&self, arguments: &[&str]) -> Value {
        let outcome = self.run(&[&["search", "--json"], arguments].concat());
        assert_eq!(outcome.warnings(), 0, "{arguments:?}: {}", outcome.stderr);
        outcome.answer()
    }

    /// What a search finds, the best first, as `SESSION#TURN`; sessions made with [`Environment::claude`] by their number.
    pub(crate) fn found(&self, arguments: &[&str]) -> Vec<String> {
        found(&self.search(arguments))
    }

    /// All that the program knows, in an order of its own: two stores that give the same text hold the same memory.
    pub(crate) fn everything(&self) -> String {
        let mut sessions = self.json(&["sessions", "--limit", "0"])["sessions"]
            .as_array()
            .unwrap()
            .clone();
        sessions.sort_by_key(|session| session["session"].to_string());
        let mut text = String::new();
        for session in &sessions {
            let shown = self.json(&["show", session["session"].as_str().unwrap()]);
            text.push_str(&format!("{shown:#}\n"));
            let digest = self.json(&["digest", session["session"].as_str().unwrap()]);
            text.push_str(&format!("{digest:#}\n"));
        }
        text.push_str(&format!("{:#}\n", self.json(&["usage", "session"])));
        text.push_str(&format!("{:#}\n", self.json(&["usage", "daily"])));
        // Exits with 1 when there is none.
        text.push_str(&self.run(&["changes", "--limit", "0", "--json"]).stdout);
        // Logs lie in another folder in each environment.
        text.replace(&self.home().display().to_string(), "~")
    }

    /// The events of a session as `kind: text`.
    pub(crate) fn events(&self, session: &str) -> Vec<String> {
        let shown = self.json(&["show", session]);
        let line = |event: &Value| {
            format!(
                "{}: {}",
                event["kind"].as_str().unwrap(),
                event["text"].as_str().unwrap()
            )
        };
        shown["events"]
            .as_array()
            .unwrap()
            .iter()
            .map(line)
            .collect()
    }

    /// Every file below the store, with its bytes.
    pub(crate) fn stored_files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        files_below(&self.store())
            .into_iter()
            .map(|path| (path.clone(), std::fs::read(&path).unwrap()))
            .collect()
    }
}

/// Runs a command that is told something on standard input.
pub(crate) fn feed(command: &mut Command, input: &[u8]) -> Outcome {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It may leave before it has heard all.
    let _ = child.stdin.take().unwrap().write_all(input);
    Outcome::of(&child.wait_with_output().unwrap())
}

/// Every file below a folder, by name.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The hits of an answer, the best first, as [`Environment::found`] gives them.
pub(crate) fn found(answer: &Value) -> Vec<String> {
    let name = |hit: &Value| {
        let session = hit["session"].as_str().unwrap();
        let number = u32::from_str_radix(session.get(..8).unwrap_or_default(), 16);
        match number {
            Ok(number) if claude_id(number) == session => format!("{number}#{}", hit["turn"]),
            _ => format!("{session}#{}", hit["turn"]),
        }
    };
    answer["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(name)
        .collect()
}

impl Outcome {
    pub(crate) fn of(output: &Output) -> Self {
        Outcome {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The answer of a search, which may be that there is nothing.
    pub(crate) fn answer(&self) -> Value {
        let answer: serde_json::Result<Value> = serde_json::from_str(&self.stdout);
        assert!(answer.is_ok(), "{}: {}", self.code, self.stderr);
        let answer = answer.unwrap();
        let empty = answer["hits"].as_array().unwrap().is_empty();
        assert_eq!(self.code, i32::from(empty), "{}", self.stderr);
        answer
    }

    /// How many warnings there were.
    pub(crate) fn warnings(&self) -> usize {
        let is_warning = |line: &&str| line.starts_with("warning:");
        self.stderr.lines().filter(is_warning).count()
    }
}

pub(crate) fn claude_id(session: u32) -> String {
    format!("{session:08x}-0000-4000-8000-000000000000")
}

pub(crate) fn claude_path(session: u32) -> String {
    format!(".claude/projects/-work-shop/{}.jsonl", claude_id(session))
}

/// A prompt, as Claude Code writes it. `number` makes its uuid and its time.
pub(crate) fn prompt(session: u32, number: u32, text: &str) -> String {
    record(
        session,
        number,
        "user",
        &serde_json::json!({"role": "user", "content": text}),
    )
}

/// A reply with its tokens.
pub(crate) fn reply(session: u32, number: u32, text: &str, output_tokens: u64) -> String {
    let message = serde_json::json!({
        "id": format!("msg_{number}"),
        "role": "assistant",
        "model": "claude-test",
        "content": [{"type": "text", "text": text}],
        "usage": {"input_tokens": 10, "output_tokens": output_tokens},
    });
    record(session, number, "assistant", &message)
}

pub(crate) fn record(session: u32, number: u32, kind: &str, message: &Value) -> String {
    let line = serde_json::json!({
        "type": kind,
        "uuid": format!("uuid-{number}"),
        "parentUuid": number.checked_sub(1).map(|before| format!("uuid-{before}")),
        "sessionId": claude_id(session),
        "requestId": format!("req_{number}"),
        "timestamp": format!("2026-01-02T03:{:02}:{:02}.000Z", number / 60 % 60, number % 60),
        "cwd": "/home/ada/shop",
        "message": message,
    });
    format!("{line}\n")
}

/// Removes every checksum from a database, as in a store from before there were any.
pub(crate) fn remove_checksums(database: &rusqlite::Connection) {
    let remove =
        "DELETE FROM checksums; UPDATE queue SET sum = NULL; UPDATE settings SET sum = NULL;";
    database.execute_batch(remove).unwrap();
}

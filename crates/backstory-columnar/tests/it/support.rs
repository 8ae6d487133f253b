//! Sessions to write, and a file to write them to.

use std::path::{Path, PathBuf};

use backstory_columnar::{
    Artifact, LogFile, Message, SessionAttributes, SessionColumns, SessionFile, TokenUsage,
    ToolCall, WriteOptions, WriteReport, write_sessions,
};
use tempfile::TempDir;

/// Folder with a path for a session file.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("sessions.h5")
    }

    pub(crate) fn write(&self, sessions: Vec<SessionColumns>) -> WriteReport {
        write_sessions(
            &self.file(),
            "test",
            sessions.into_iter().map(Ok),
            &WriteOptions {
                threads: 2,
                ..WriteOptions::default()
            },
        )
        .unwrap()
    }

    pub(crate) fn open(&self) -> SessionFile {
        SessionFile::open(&self.file()).unwrap()
    }

    pub(crate) fn read(&self, id: &str) -> SessionColumns {
        self.open().session(id).unwrap().read().unwrap()
    }
}

/// Row number `number` of a session, different from all others.
pub(crate) fn message(number: u32) -> Message {
    let text = format!(
        "Text {number}: Grüße, 日本語\n{}",
        "word ".repeat(number as usize % 7)
    );
    Message {
        seq: number + 1,
        uuid: format!("message-{number}"),
        parent_uuid: number
            .checked_sub(1)
            .map_or(String::new(), |before| format!("message-{before}")),
        kind: if number.is_multiple_of(2) {
            "user"
        } else {
            "assistant"
        }
        .into(),
        role: if number.is_multiple_of(2) {
            "user"
        } else {
            "assistant"
        }
        .into(),
        model: if number.is_multiple_of(2) {
            ""
        } else {
            "claude-x"
        }
        .into(),
        timestamp: 1_700_000_000.5 + f64::from(number),
        usage: TokenUsage {
            input_tokens: i64::from(number),
            output_tokens: 2,
            cache_creation_input_tokens: -3,
            cache_read_input_tokens: 1 << 40,
        },
        json: format!(
            "[{{\"type\":\"text\",\"text\":\"{}\"}}]",
            text.replace('\n', "\\n")
        ),
        text,
        embedding: None,
    }
}

/// Tool call number `number`.
pub(crate) fn tool_call(number: u32) -> ToolCall {
    ToolCall {
        tool_use_id: format!("call-{number}"),
        message_uuid: format!("message-{number}"),
        name: "Bash".into(),
        result_uuid: format!("message-{}", number + 1),
        timestamp: f64::from(number),
        is_error: number.is_multiple_of(3),
        args: format!("{{\"command\":\"ls {number}\"}}"),
        result: "out\n".repeat(number as usize % 5),
    }
}

/// Session with messages, tool calls, an artifact and a log of the messages.
pub(crate) fn session(id: &str, messages: u32) -> SessionColumns {
    let messages: Vec<Message> = (0..messages).map(message).collect();
    let mut log = LogFile {
        path: format!("/logs/{id}.jsonl"),
        agent: "toy".into(),
        ..LogFile::default()
    };
    for (number, message) in messages.iter().enumerate() {
        log.rows.push((log.bytes.len() as u64, number as u32));
        log.bytes.extend(
            format!(
                "{{\"uuid\":\"{}\",\"content\":{}}}\n",
                message.uuid, message.json
            )
            .into_bytes(),
        );
    }
    SessionColumns {
        id: id.into(),
        attributes: SessionAttributes {
            agent: "toy".into(),
            model: "claude-x".into(),
            created_at: 1_700_000_000.25,
            summary: "What was done: für alle".into(),
            cwd: "/home/me/project".into(),
            git_branch: "main".into(),
            agent_version: "1.2.3".into(),
            permission_mode: Some("plan".into()),
            session_id_original: Some(id.into()),
            missing: Some("text evicted".into()),
            ..SessionAttributes::default()
        },
        tool_calls: (0..messages.len() as u32 / 2).map(tool_call).collect(),
        messages,
        artifacts: vec![Artifact {
            name: "image-1.png".into(),
            media_type: "image/png".into(),
            origin: "message-0".into(),
            bytes: vec![0, 1, 2, 255],
        }],
        logs: vec![log],
        ..SessionColumns::default()
    }
}

/// Logs know rows only by frame when they are read.
pub(crate) fn without_log_rows(mut session: SessionColumns) -> SessionColumns {
    session.logs.iter_mut().for_each(|log| log.rows.clear());
    session
}

/// Program of `tests/` run by the Python that BACKSTORY_TEST_PYTHON names, which must have h5py and the package. `None` when there is none.
pub(crate) fn run_python(program: &str, arguments: &[&Path]) -> Option<String> {
    let Some(python) = std::env::var_os("BACKSTORY_TEST_PYTHON") else {
        println!(
            "skipped: BACKSTORY_TEST_PYTHON does not name a python with h5py and agentic-conversations-hdf5 1.0.0"
        );
        return None;
    };
    let program = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(program);
    let run = std::process::Command::new(python)
        .arg(program)
        .args(arguments)
        .output()
        .unwrap();
    let (out, error) = (
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr),
    );
    assert!(run.status.success(), "{out}\n{error}");
    Some(out.into_owned())
}

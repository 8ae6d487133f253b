//! Where mutation starts from: pieces of generated logs, small enough to be read many thousand times.

use backstory_agents::sample;
use backstory_redact::{RULES, planted};
use serde_json::json;

/// No piece is longer: beyond that, more bytes only make each run slower.
pub(crate) const MOST_BYTES: usize = 8 << 10;

/// How much is generated to take pieces from: enough for every kind of session that there is.
const GENERATED_BYTES: u64 = 300_000;

/// Pieces of the logs of one agent: whole lines, in their order.
pub(crate) fn pieces(agent: &str, seed: u64) -> Vec<Vec<u8>> {
    let folder = match agent {
        "claude-code" => ".claude/",
        "codex" => ".codex/",
        _ => ".grok/",
    };
    let mut pieces = Vec::new();
    for file in sample::logs(seed, GENERATED_BYTES).filter(|file| file.path.starts_with(folder)) {
        let mut piece = Vec::new();
        for line in file.bytes.split_inclusive(|byte| *byte == b'\n') {
            // A line that is longer by itself holds an image or a listing, of which other lines have shorter ones.
            if line.len() > MOST_BYTES {
                continue;
            }
            if piece.len() + line.len() > MOST_BYTES {
                pieces.push(std::mem::take(&mut piece));
            }
            piece.extend_from_slice(line);
        }
        pieces.push(piece);
    }
    if agent == "grok" {
        pieces.extend(GROK_TELEMETRY.map(|piece| piece.as_bytes().to_vec()));
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// Files of Grok that hold no text.
const GROK_TELEMETRY: [&str; 2] = [
    concat!(
        r#"{"ts":"2026-08-01T10:00:00.000Z","type":"mcp_init_completed","total_servers":1,"succeeded":1}"#,
        "\n",
        r#"{"ts":"2026-08-01T10:00:01.000Z","type":"turn_started","session_id":"s","turn_number":1,"model_id":"grok-9","yolo_mode":true}"#,
        "\n",
        r#"{"ts":"2026-08-01T10:00:02.500Z","type":"first_token"}"#,
        "\n",
        r#"{"ts":"2026-08-01T10:00:03.000Z","type":"permission_resolved","tool_name":"bash","decision":"allow","wait_ms":4}"#,
        "\n",
        r#"{"ts":"2026-08-01T10:00:04.000Z","type":"tool_completed","tool_name":"bash","duration_ms":900,"outcome":"success","tool_call_id":"c1"}"#,
        "\n",
        r#"{"ts":"2026-08-01T10:00:05.000Z","type":"turn_ended","outcome":"completed"}"#,
        "\n",
        r#"{"ts":"2026-08-01T10:00:06.000Z","type":"turn_started","session_id":"s","turn_number":2,"model_id":"grok-9","yolo_mode":false}"#,
        "\n",
    ),
    "{\n  \"turnCount\": 2,\n  \"contextTokensUsed\": 12000,\n  \"contextWindowTokens\": 200000,\n  \"toolsUsed\": [\"bash\"]\n}\n",
];

/// A secret of each rule, as it stands in a shell, in a record, and in a record within a record.
pub(crate) fn secrets(seed: u64) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    for rule in RULES {
        let text = planted(rule, seed).text;
        let record = json!({ "type": "user", "message": { "content": format!("Use this:\n{text}\nThanks.") } }).to_string();
        let nested = json!({ "type": "tool_use", "input": record }).to_string();
        pieces.extend([text, record, nested].map(String::into_bytes));
    }
    pieces
}

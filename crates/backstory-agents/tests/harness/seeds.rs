//! Where mutation starts from: pieces of generated logs, small enough to be read many thousand times.

use backstory_agents::{Agent, sample};
use backstory_redact::{RULES, planted};
use serde_json::json;

/// No piece is longer: beyond that, more bytes only make each run slower.
pub(crate) const MOST_BYTES: usize = 8 << 10;

/// How much is generated to take pieces from: enough for every kind of session that there is.
const GENERATED_BYTES: u64 = 300_000;

/// Pieces of the logs of one agent: whole lines, in their order.
pub(crate) fn pieces(agent: &str, seed: u64) -> Vec<Vec<u8>> {
    let Some(agent) = Agent::find(agent) else {
        panic!("no agent {agent}")
    };
    let mut pieces = Vec::new();
    for file in sample::logs_of_agent(agent, seed, GENERATED_BYTES) {
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
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

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

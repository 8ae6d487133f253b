//! Which hit of a search was opened: found in the log itself, where each search leaves the turns that it named.

use std::path::Path;

use backstory_event::{TimeMs, TurnNo};
use serde_json::Value;

use super::EventType;
use super::files::{current_file, read_tail};
use super::line::read_line;

/// Number of hits of a search that are logged.
pub(crate) const MAX_REMEMBERED_HITS: usize = 20;

/// Time after a search in which what is opened counts as opened because of it.
const MAX_AGE_MS: i64 = 10 * 60 * 1000;

/// Bytes of today's file in which the search is looked for: a busy agent's hooks write less in ten minutes.
const MAX_TAIL_BYTES: u64 = 512 << 10;

/// Returns the place in the answer of a recent search, from 1, of the hit that is opened by showing this session or turn; `None` when
/// there is none, or it was opened before.
pub(super) fn rank_of_opened(
    home: &Path,
    session: &str,
    turn: Option<TurnNo>,
    now: TimeMs,
) -> Option<u64> {
    let tail = read_tail(&current_file(home), MAX_TAIL_BYTES).ok()?;
    for line in tail.split(|byte| *byte == b'\n').rev() {
        // Most lines are of hooks, and reading JSON takes longer than looking for this.
        if memchr::memmem::find(line, b"\"search.").is_none() {
            continue;
        }
        let Some(logged) = read_line(line) else {
            continue;
        };
        if now.since(logged.at) > MAX_AGE_MS {
            return None;
        }
        let data: Value = serde_json::from_str(logged.data.as_deref()?).ok()?;
        if logged.event_type == EventType::SearchResult.name() {
            if data["session"] == session && data["turn"].as_u64() == turn.map(TurnNo::count) {
                return None;
            }
        } else if let Some(rank) = rank_in(&data["hits"], session, turn) {
            return Some(rank);
        }
    }
    None
}

/// Place of a turn among the hits of a search, or else that of the first one of its session.
fn rank_in(hits: &Value, session: &str, turn: Option<TurnNo>) -> Option<u64> {
    let hits = hits.as_array()?;
    let of_session = |hit: &Value| hit["session"] == session;
    let is_turn = |hit: &Value| of_session(hit) && hit["turn"].as_u64() == turn.map(TurnNo::count);
    let place = hits.iter().position(is_turn);
    let place = place.or_else(|| hits.iter().position(of_session))?;
    Some(place as u64 + 1)
}

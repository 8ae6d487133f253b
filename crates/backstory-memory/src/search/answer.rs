//! Answers of searches as JSON documents.

use std::ops::{Not, Range};
use std::time::Duration;

use backstory_event::{Seq, TimeMs, TurnNo};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Mode, SearchAnswer, SearchHit, SearchRequest};
use crate::event_log::{EventType, LogEvent, MAX_REMEMBERED_HITS};
use crate::{Memory, rfc3339};

/// The answer to a search as one document. What only the terminal shows is left out unless it was asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchRecord {
    /// The best turn of each session, the best session first.
    pub hits: Vec<HitRecord>,
    /// Duration of the search in milliseconds.
    pub took_ms: f64,
    /// Mode that was used in the end.
    pub mode: Mode,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// True if people have been told that there are models, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_of_models: Option<bool>,
    /// True if the index has to be rebuilt; only for who does so.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub index_is_lost: bool,
    /// True if the vectors of the model have to be rebuilt; only for who does so.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub vectors_are_lost: bool,
}

/// A turn that was found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HitRecord {
    /// The session.
    pub session: String,
    /// The agent.
    pub agent: String,
    /// The turn.
    pub turn: TurnNo,
    /// The event of it that fits best.
    pub event: Seq,
    /// Score, comparable within one answer only.
    pub score: f32,
    /// True if the session is about what was asked.
    pub confident: bool,
    /// Root of the project.
    pub project: Option<String>,
    /// Git branch.
    pub branch: Option<String>,
    /// Time of the event, RFC 3339.
    pub timestamp: Option<String>,
    /// Role of the speaker.
    pub role: String,
    /// Kind of event.
    pub kind: String,
    /// The piece of the event that shows why, with words in `**asterisks**`.
    pub snippet: String,
    /// Title of the session.
    pub title: Option<String>,
    /// True if it is a headless session.
    pub machine: bool,
    /// Other turns of the session that fit, the best first.
    pub more_turns: Vec<TurnNo>,
    /// The shortest id that names the session; only for the terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short_id: Option<String>,
    /// The snippet without asterisks, for they may stand in the text itself, and where its words are; only for the terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plain: Option<(String, Vec<Range<usize>>)>,
}

impl SearchRecord {
    /// Returns an answer as one document, with what the terminal shows besides.
    pub fn new(memory: &Memory, answer: &SearchAnswer) -> Self {
        let hits = answer.hits.iter();
        SearchRecord {
            hits: hits.map(|hit| HitRecord::new(memory, hit)).collect(),
            took_ms: 0.0,
            mode: answer.mode,
            warnings: answer.warnings.clone(),
            told_of_models: None,
            index_is_lost: answer.index_is_lost,
            vectors_are_lost: answer.vectors_are_lost,
        }
    }

    /// Returns the answer without what only the terminal shows.
    pub fn without_terminal_parts(mut self) -> Self {
        for hit in &mut self.hits {
            hit.plain = None;
            hit.short_id = None;
        }
        self.told_of_models = None;
        (self.index_is_lost, self.vectors_are_lost) = (false, false);
        self
    }

    /// Returns whether people should be told that there are models, the answer to this request being the first that one would improve.
    pub fn suggests_model(&self, request: &SearchRequest) -> bool {
        let could_have_one =
            request.mode == Mode::Hybrid && request.model.is_none() && !request.regex;
        could_have_one && self.told_of_models == Some(false)
    }

    /// Sets the duration of the search.
    pub fn taking(mut self, took: Duration) -> Self {
        self.took_ms = (took.as_secs_f64() * 1e6).round() / 1e3;
        self
    }

    /// Returns the event of the search: its mode and what it found, never what was looked for.
    pub fn query_event(&self, is_regex: bool, at: TimeMs) -> LogEvent {
        let mode = if is_regex { "regex" } else { self.mode.name() };
        let hits = self.hits.iter().take(MAX_REMEMBERED_HITS);
        let hits = hits.map(|hit| json!({ "session": hit.session, "turn": hit.turn }));
        LogEvent::new(EventType::SearchQuery, at)
            .with("type", mode)
            .with("result_count", self.hits.len())
            .with("top_score", self.hits.first().map(|hit| hit.score))
            .with("hits", hits.collect::<Vec<Value>>())
    }
}

impl HitRecord {
    fn new(memory: &Memory, hit: &SearchHit) -> Self {
        let session = &hit.session;
        // In a damaged store the whole id will do.
        let short_id = memory.sessions().short_id(&session.agent, &session.session);
        let short_id = short_id.unwrap_or_else(|_| session.session.clone());
        HitRecord {
            session: session.session.clone(),
            agent: session.agent.clone(),
            turn: hit.turn,
            event: hit.event,
            score: hit.score,
            confident: hit.confident,
            project: session.project.clone(),
            branch: session.branch.clone(),
            timestamp: rfc3339(hit.at.or(session.ended_at)),
            role: hit.kind.role().to_string(),
            kind: hit.kind.name().to_string(),
            snippet: hit.snippet.marked("**", "**"),
            title: session.title.clone(),
            machine: session.machine,
            more_turns: hit.more.clone(),
            short_id: Some(crate::one_line(&short_id)),
            plain: Some((hit.snippet.text.clone(), hit.snippet.marks.clone())),
        }
    }
}

//! What a search found, as it is shown to people and machines, whoever did the search.

use std::io::{IsTerminal, Write};
use std::ops::Range;
use std::time::Duration;

use backstory_event::{Seq, TimeMs, TurnNo};
use backstory_memory::{
    Answer, EventType, Hit, LogEvent, MAX_REMEMBERED_HITS, Memory, Mode, Snippet,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::Error;
use crate::naming::short_id;
use crate::output::{BOLD, DIM, GREEN, YELLOW, local_time, one_line, print_json, rfc3339, stdout};

/// The document of `search --json`, with what people are shown besides.
#[derive(Debug, PartialEq, Deserialize, Serialize)]
pub(super) struct Found {
    pub(super) hits: Vec<FoundTurn>,
    took_ms: f64,
    mode: String,
    pub(super) warnings: Vec<String>,
    /// Whether people have been told that there are models, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) told_of_models: Option<bool>,
    /// Whether a regular expression was looked for.
    #[serde(skip)]
    pub(super) is_regex: bool,
}

/// A hit.
#[derive(Debug, PartialEq, Deserialize, Serialize)]
pub(super) struct FoundTurn {
    session: String,
    agent: String,
    turn: TurnNo,
    event: Seq,
    score: f32,
    confident: bool,
    project: Option<String>,
    branch: Option<String>,
    timestamp: Option<String>,
    role: String,
    kind: String,
    snippet: String,
    title: Option<String>,
    machine: bool,
    more_turns: Vec<TurnNo>,
    /// The shortest id that names the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    short_id: Option<String>,
    /// The snippet without asterisks, for they may stand in the text itself, and where its words are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    plain: Option<(String, Vec<Range<usize>>)>,
}

impl Found {
    pub(super) fn new(memory: &Memory, answer: &Answer) -> Self {
        Found {
            hits: answer
                .hits
                .iter()
                .map(|hit| FoundTurn::new(memory, hit))
                .collect(),
            took_ms: 0.0,
            mode: answer.mode.name().to_string(),
            warnings: answer.warnings.clone(),
            told_of_models: None,
            is_regex: false,
        }
    }

    /// The event of the search: how it was done and what it found, never what was looked for.
    pub(super) fn query_event(&self, at: TimeMs) -> LogEvent {
        let mode = if self.is_regex { "regex" } else { &self.mode };
        let hits = self.hits.iter().take(MAX_REMEMBERED_HITS);
        let hits = hits.map(|hit| json!({ "session": hit.session, "turn": hit.turn }));
        LogEvent::new(EventType::SearchQuery, at)
            .with("type", mode)
            .with("result_count", self.hits.len())
            .with("top_score", self.hits.first().map(|hit| hit.score))
            .with("hits", hits.collect::<Vec<Value>>())
    }

    /// Prints the document for machines.
    pub(super) fn print_json(self, took: Duration) -> Result<(), Error> {
        print_json(&self.json(took)?)
    }

    /// The document for machines.
    pub(super) fn json(mut self, took: Duration) -> Result<Value, Error> {
        for hit in &mut self.hits {
            hit.plain = None;
            hit.short_id = None;
        }
        self.told_of_models = None;
        self.whole_json(took)
    }

    /// The document with all that people are shown.
    pub(super) fn whole_json(mut self, took: Duration) -> Result<Value, Error> {
        self.took_ms = (took.as_secs_f64() * 1e6).round() / 1e3;
        Ok(serde_json::to_value(self).map_err(std::io::Error::from)?)
    }

    pub(super) fn print(&self) -> Result<(), Error> {
        let mut out = stdout();
        if self.hits.is_empty() {
            writeln!(out, "nothing found")?;
        } else if self.mode != Mode::Semantic.name() && !self.hits.iter().any(|hit| hit.confident) {
            writeln!(
                out,
                "{YELLOW}no session seems to be about this; the nearest are:{YELLOW:#}\n"
            )?;
        }
        // In a pipe ids stand whole, for the next program needs them.
        let is_terminal = std::io::stdout().is_terminal();
        for hit in &self.hits {
            hit.print(&mut out, is_terminal)?;
        }
        out.flush()?;
        Ok(())
    }
}

impl FoundTurn {
    fn new(memory: &Memory, hit: &Hit) -> Self {
        FoundTurn {
            session: hit.session.session.clone(),
            agent: hit.session.agent.clone(),
            turn: hit.turn,
            event: hit.event,
            score: hit.score,
            confident: hit.confident,
            project: hit.session.project.clone(),
            branch: hit.session.branch.clone(),
            timestamp: rfc3339(hit.at.or(hit.session.ended_at)),
            role: hit.kind.role().to_string(),
            kind: hit.kind.name().to_string(),
            snippet: hit.snippet.marked("**", "**"),
            title: hit.session.title.clone(),
            machine: hit.session.machine,
            more_turns: hit.more.clone(),
            short_id: Some(short_id(memory, &hit.session.agent, &hit.session.session)),
            plain: Some((hit.snippet.text.clone(), hit.snippet.marks.clone())),
        }
    }

    fn print(&self, out: &mut impl Write, is_terminal: bool) -> Result<(), Error> {
        let short = self.short_id.as_deref().filter(|_| is_terminal);
        let id = one_line(short.unwrap_or(&self.session));
        let title = one_line(self.title.as_deref().unwrap_or("-"));
        let project = self.project.as_deref().map_or("-", |project| {
            project.rsplit(['/', '\\']).next().unwrap_or(project)
        });
        writeln!(
            out,
            "{GREEN}{id}#{}{GREEN:#}  {BOLD}{title}{BOLD:#}",
            self.turn
        )?;
        let at = self.timestamp.as_deref().and_then(|at| at.parse().ok());
        write!(
            out,
            "    {DIM}{}  {}  {}  {}{DIM:#}",
            local_time(at.map(|at: Timestamp| TimeMs::new(at.as_millisecond()))),
            self.agent,
            one_line(project),
            self.kind.replace('_', " "),
        )?;
        if !self.more_turns.is_empty() {
            let turns = self.more_turns.iter().map(|turn| format!("#{turn}"));
            let turns: Vec<String> = turns.collect();
            write!(out, "  {DIM}also {}{DIM:#}", turns.join(" "))?;
        }
        let (text, marks) = self.plain.clone().unwrap_or_default();
        let (on, off) = (format!("{BOLD}{YELLOW}"), format!("{YELLOW:#}{BOLD:#}"));
        let snippet = Snippet { text, marks };
        writeln!(out, "\n    {}\n", snippet.marked(&on, &off))?;
        Ok(())
    }
}

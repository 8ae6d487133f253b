//! `observations`.

use std::io::Write;
use std::time::Instant;

use backstory_memory::{AnswerRows, EventType, LogEvent, Observation, count_tokens, log_event};
use serde_json::{Value, json};

use super::damage::{find_damage, print_answer, report_damage};
use super::show::find_session_turn;
use crate::cli::{ObservationsArgs, Size};
use crate::error::{Error, ErrorKind};
use crate::output::{BOLD, DIM, harmless, rfc3339, stdout};
use crate::setting::{Setting, now};

pub(super) fn run(setting: &Setting, arguments: &ObservationsArgs) -> Result<(), Error> {
    let memory = setting.memory()?;
    let (session, turn) = find_session_turn(&memory, &arguments.session)?;
    let started = Instant::now();
    let mut observations = session.observations(turn)?;
    let session = session.row();
    if let Some(file) = &arguments.file {
        let is_it = |path: &String| path.ends_with(file.as_str());
        observations.retain(|observation| observation.files.iter().any(is_it));
    }
    if arguments.limit > 0 {
        observations.drain(..observations.len().saturating_sub(arguments.limit));
    }
    let sizes = observations.iter();
    let tokens = sizes.map(|observation| count_tokens(arguments.size.of(observation)));
    let mut event = LogEvent::new(EventType::ContextProgressive, now())
        .in_session(Some(&session.session))
        .with("size", arguments.size.name())
        .with("observations", observations.len())
        .taking(started.elapsed());
    event.tokens_out = Some(tokens.sum::<usize>() as u64);
    log_event(&setting.store, &event);
    let damage = find_damage(&memory, &AnswerRows::SessionWithNotes(session.id))?;
    if arguments.json {
        let observations: Vec<Value> = observations.iter().map(observation_json).collect();
        let answer = json!({
            "session": session.session,
            "agent": session.agent,
            "observations": observations,
        });
        print_answer(answer, &damage)?;
        return report_damage(&memory, &damage);
    }
    if observations.is_empty() {
        report_damage(&memory, &damage)?;
        let message = format!("nothing was observed there in session {}", session.session);
        return Err(Error::new(ErrorKind::NotFound, message));
    }
    let mut out = stdout();
    let mut last = None;
    for observation in &observations {
        if last != Some(observation.turn) {
            writeln!(out, "{BOLD}turn {}{BOLD:#}", observation.turn)?;
            last = Some(observation.turn);
        }
        let text = harmless(arguments.size.of(observation)).replace('\n', "\n       ");
        writeln!(out, "{DIM}{:>5}{DIM:#}  {text}", observation.event)?;
    }
    out.flush()?;
    report_damage(&memory, &damage)
}

impl Size {
    /// The name in the event log.
    fn name(self) -> &'static str {
        match self {
            Size::Title => "title",
            Size::Summary => "summary",
            Size::Detail => "detail",
        }
    }

    /// The text of an observation in this size.
    fn of(self, observation: &Observation) -> &str {
        let sizes = &observation.sizes;
        match self {
            Size::Title => &sizes.title,
            Size::Summary => &sizes.summary,
            Size::Detail => &sizes.detail,
        }
    }
}

fn observation_json(observation: &Observation) -> Value {
    let sizes = &observation.sizes;
    let functions = observation.functions.iter();
    let names: Vec<&String> = functions.map(|function| &function.name).collect();
    let functions = observation.functions.iter().map(|function| {
        json!({ "file": function.file, "name": function.name, "change": function.change.name() })
    });
    let tool = Some(&observation.tool).filter(|tool| !tool.is_empty());
    let compression_time_ms = observation.compression_us.map(|us| us as f64 / 1000.0);
    json!({
        "event": observation.event,
        "turn": observation.turn,
        "timestamp": rfc3339(observation.at),
        "kind": observation.kind.name(),
        "tool": tool,
        "title": sizes.title,
        "summary": sizes.summary,
        "detail": sizes.detail,
        "files": observation.files,
        "files_touched": observation.files,
        "functions": names,
        "functions_changed": functions.collect::<Vec<Value>>(),
        "raw_bytes": observation.raw_bytes,
        "raw_size_bytes": observation.raw_bytes,
        "compressed_tokens": count_tokens(&sizes.summary),
        "compression_time_ms": compression_time_ms,
        "tokens": {
            "title": count_tokens(&sizes.title),
            "summary": count_tokens(&sizes.summary),
            "detail": count_tokens(&sizes.detail),
        },
        "compressor": observation.compressor,
    })
}

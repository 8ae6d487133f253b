//! `observations`.

use std::io::Write;

use backstory_memory::{AnswerRows, Observation, count_tokens};
use serde_json::{Value, json};

use super::damage::{find_damage, print_answer, report_damage};
use super::show::find_session_turn;
use crate::cli::{ObservationsArgs, Size};
use crate::error::{Error, ErrorKind};
use crate::output::{BOLD, DIM, harmless, rfc3339, stdout};
use crate::setting::Setting;

pub(super) fn run(setting: &Setting, arguments: &ObservationsArgs) -> Result<(), Error> {
    let memory = setting.memory()?;
    let (session, turn) = find_session_turn(&memory, &arguments.session)?;
    let mut observations = memory.observations(&session, turn)?;
    if let Some(file) = &arguments.file {
        let is_it = |path: &String| path.ends_with(file.as_str());
        observations.retain(|observation| observation.files.iter().any(is_it));
    }
    if arguments.limit > 0 {
        observations.drain(..observations.len().saturating_sub(arguments.limit));
    }
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
        let message = format!(
            "no tool of session {} changed or showed anything there",
            session.session
        );
        return Err(Error::new(ErrorKind::NotFound, message));
    }
    let mut out = stdout();
    let mut last = None;
    for observation in &observations {
        if last != Some(observation.turn) {
            writeln!(out, "{BOLD}turn {}{BOLD:#}", observation.turn)?;
            last = Some(observation.turn);
        }
        let sizes = &observation.sizes;
        let text = match arguments.size {
            Size::Title => &sizes.title,
            Size::Summary => &sizes.summary,
            Size::Detail => &sizes.detail,
        };
        let text = harmless(text).replace('\n', "\n       ");
        writeln!(out, "{DIM}{:>5}{DIM:#}  {text}", observation.event)?;
    }
    out.flush()?;
    report_damage(&memory, &damage)
}

fn observation_json(observation: &Observation) -> Value {
    let sizes = &observation.sizes;
    json!({
        "event": observation.event,
        "turn": observation.turn,
        "timestamp": rfc3339(observation.at),
        "tool": observation.tool,
        "title": sizes.title,
        "summary": sizes.summary,
        "detail": sizes.detail,
        "files": observation.files,
        "functions": observation.functions,
        "raw_bytes": observation.raw_bytes,
        "tokens": {
            "title": count_tokens(&sizes.title),
            "summary": count_tokens(&sizes.summary),
            "detail": count_tokens(&sizes.detail),
        },
        "compressor": observation.compressor,
    })
}

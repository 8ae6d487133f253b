//! `observations`.

use std::io::Write;
use std::time::Instant;

use backstory_memory::observe::{Observation, ObservationList};
use backstory_memory::{EventLog, EventType, LogEvent, count_tokens};

use super::damage::report_damage;
use crate::cli::{ObservationsArgs, Size};
use crate::error::{Error, ErrorKind};
use crate::output::{BOLD, DIM, harmless, print_json, stdout};
use crate::setting::{Setting, now};

pub(super) fn run(setting: &Setting, arguments: &ObservationsArgs) -> Result<(), Error> {
    let memory = setting.memory()?;
    let (session, turn) = memory.sessions().find_turn(&arguments.session)?;
    let started = Instant::now();
    let mut found = session.observations(turn)?;
    let observations = &mut found.answer;
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
    EventLog::of_store(&setting.store).append(&[event]);
    if arguments.json {
        print_json(&found.map(|found| ObservationList::new(session, found)))?;
        return report_damage(&found);
    }
    if found.is_empty() {
        report_damage(&found)?;
        let message = format!("nothing was observed there in session {}", session.session);
        return Err(Error::new(ErrorKind::NotFound, message));
    }
    let mut out = stdout();
    let mut last = None;
    for observation in &found.answer {
        if last != Some(observation.turn) {
            writeln!(out, "{BOLD}turn {}{BOLD:#}", observation.turn)?;
            last = Some(observation.turn);
        }
        let text = harmless(arguments.size.of(observation)).replace('\n', "\n       ");
        writeln!(out, "{DIM}{:>5}{DIM:#}  {text}", observation.event)?;
    }
    out.flush()?;
    report_damage(&found)
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

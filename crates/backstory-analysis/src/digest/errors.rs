//! Errors of checks and programs, and how each ended.

use backstory_event::Seq;

use super::account::MOST_STATEMENTS;
use super::command::{self, CommandKind};
use super::notes::{Notes, What};
use super::outcome::runs;
use super::run_parts::{PlacedPart, Purpose, RunPart, parts, step_parts};
use super::{Statement, trouble};
use crate::AgentConventions;

/// Maximum number of different errors that are followed to their end.
const MAX_ERRORS: usize = 100;

/// An error, everywhere it occurred.
struct FoundError<'n> {
    signature: String,
    said: String,
    events: Vec<Seq>,
    /// Name of the check that failed.
    check: Option<String>,
    /// True if only a part of it ran.
    is_narrow: bool,
    /// Command that failed.
    command: &'n str,
    /// Family of the check that failed.
    purpose: Option<Purpose>,
}

impl FoundError<'_> {
    /// Returns whether it came with the session's own edits and went with the next: a step of the work, which says nothing afterwards. What
    /// linters and compilers find is, however often; a test that failed says something of the work.
    fn is_momentary(&self, first_edit: Option<Seq>, again: Option<Seq>) -> bool {
        let is_own = first_edit.is_some_and(|edit| self.events.first() > Some(&edit));
        let is_once = self.events.len() == 1;
        let is_step = match self.purpose {
            Some(Purpose::Test) => trouble::is_of_compiler(&self.said),
            Some(Purpose::Lint | Purpose::Format | Purpose::Types) => true,
            Some(Purpose::Build) => is_once || trouble::is_of_compiler(&self.said),
            _ => is_once,
        };
        is_own && is_step && again.is_some()
    }
}

/// Programs that ask a service something, and fail for reasons of the question.
const ASKING_PROGRAMS: [&str; 4] = ["gh", "jq", "curl", "wget"];

/// Returns errors by what they are, each with how it ended, and those of checks that were not seen to pass afterwards.
pub(super) fn errors(notes: &Notes, agents: &AgentConventions) -> (Vec<Statement>, Vec<Statement>) {
    let mut found: Vec<FoundError<'_>> = Vec::new();
    let mut add = |seq: Seq, said: &str, check: Option<&RunPart>, command| {
        // What failed without a word says nothing: most of it is a search that found nothing.
        if !trouble::is_informative(said, agents) {
            return;
        }
        let signature = trouble::signature(said);
        let is_known = |known: &&mut FoundError<'_>| {
            known.signature == signature
                && known.check.as_deref() == check.map(|part| part.name.as_str())
        };
        let is_full = found.len() >= MAX_ERRORS;
        match found.iter_mut().find(is_known) {
            Some(known) => known.events.push(seq),
            None if is_full => {}
            None => found.push(FoundError {
                signature,
                said: said.to_string(),
                events: vec![seq],
                check: check.map(|part| part.name.clone()),
                is_narrow: check.is_some_and(|part| part.narrow),
                command,
                purpose: check.map(|part| part.purpose),
            }),
        }
    };
    for step in &notes.steps {
        // Edits and other tools of the agent fail for reasons of their own, which say nothing of the work.
        let What::Run(run) = &step.what else {
            continue;
        };
        let parts = step_parts(step);
        let checks = || parts.iter().filter(|part| !part.purpose.is_delivery());
        for part in checks().filter(|part| part.ok == Some(false)) {
            if let Some(said) = &part.said {
                add(step.seq, said, Some(part), &run.command);
            }
        }
        let is_plain = run.ok == Some(false) && !run.denied && checks().next().is_none();
        let said = run.said.as_deref().filter(|_| is_plain);
        let program = command::program(&run.command);
        let is_asking = program
            .split(' ')
            .next()
            .is_some_and(|name| ASKING_PROGRAMS.contains(&name));
        if let Some(said) = said.filter(|said| {
            !is_asking && !command::only_looks(&program) && !trouble::is_of_shell(said)
        }) {
            add(step.seq, said, None, &run.command);
        }
    }
    let first_edit = notes.steps.iter().find_map(|step| match step.what {
        What::Edit { failed: false, .. } => Some(step.seq),
        _ => None,
    });
    let all_parts = parts(notes);
    let (mut errors, mut problems) = (Vec::new(), Vec::new());
    for error in found {
        let last = error.events.last().copied().unwrap_or_default();
        let times = match error.events.len() {
            1 => String::new(),
            times => format!(" ({times} times)"),
        };
        let again = match &error.check {
            Some(check) => check_passed_later(&all_parts, check, error.is_narrow, last),
            None => passed_later(notes, error.command, last),
        };
        let later = all_parts.partition_point(|(at, _)| *at <= last);
        let passed_as = |purposes: &[Purpose]| {
            let is_wide = |part: &RunPart| error.is_narrow || !part.narrow;
            (all_parts[later..].iter()).any(|(_, part)| {
                part.ok == Some(true) && is_wide(part) && purposes.contains(&part.purpose)
            })
        };
        // What does not compile fails in every check of it.
        let is_mended = trouble::is_of_compiler(&error.said)
            && passed_as(&[Purpose::Test, Purpose::Build, Purpose::Lint]);
        if error.is_momentary(first_edit, again) || is_mended && again.is_none() {
            continue;
        }
        let program = command::program(error.command);
        let name = error.check.as_deref().unwrap_or(&program);
        let ended = match (again, &error.check) {
            (Some(again), _) => {
                let how = edits_between(notes, last, again);
                format!("; `{name}` passed later{how}")
            }
            (None, Some(_)) if error.purpose.is_some_and(|purpose| passed_as(&[purpose])) => {
                "; a check like it passed later".to_string()
            }
            (None, Some(_)) => format!("; `{name}` was not seen to pass after it"),
            (None, None) => String::new(),
        };
        let mut cited = error.events;
        cited.extend(again);
        cited.dedup();
        let text = format!("{}{times}{ended}", error.said);
        // The same may have passed under another name.
        let stands = |purpose: Purpose| again.is_none() && !passed_as(&[purpose]);
        if error.check.is_some() && error.purpose.is_some_and(stands) {
            problems.push(Statement::new(&text, cited.clone()));
        }
        errors.push(Statement::new(&text, cited));
    }
    errors.truncate(MOST_STATEMENTS);
    problems.truncate(MOST_STATEMENTS);
    (errors, problems)
}

/// Returns the first event after `seq` where a check of this name passed; a part of it does not count for the whole.
fn check_passed_later(
    parts: &[PlacedPart<'_>],
    check: &str,
    is_narrow: bool,
    seq: Seq,
) -> Option<Seq> {
    let start = parts.partition_point(|(at, _)| *at <= seq);
    let mut later = parts[start..].iter();
    let passed = later.find(|(_, part)| {
        part.name == check && part.ok == Some(true) && (is_narrow || !part.narrow)
    });
    passed.map(|(at, _)| *at)
}

/// Returns the files that were edited between two events, as the way in which an error was mended.
fn edits_between(notes: &Notes, from: Seq, to: Seq) -> String {
    let mut names: Vec<&str> = Vec::new();
    let start = notes.steps.partition_point(|step| step.seq <= from);
    let between = notes.steps[start..].iter().take_while(|step| step.seq < to);
    for step in between {
        if let What::Edit {
            paths,
            failed: false,
            ..
        } = &step.what
        {
            for path in paths {
                let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
                // More than two are not named.
                if names.len() < 3 && !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        if names.len() == 3 {
            break;
        }
    }
    match names.as_slice() {
        [] => String::new(),
        [one] => format!(", after an edit of {one}"),
        [one, two] => format!(", after edits of {one} and {two}"),
        [one, two, ..] => format!(", after edits of {one}, {two} and others"),
    }
}

/// The first event after `seq` where the same command worked.
fn passed_later(notes: &Notes, command: &str, seq: Seq) -> Option<Seq> {
    let kind = command::kind(command);
    let program = command::program(command);
    let same = |other: &str, other_kind: CommandKind| {
        other == command
            || (kind.is_proof() && other_kind == kind && command::program(other) == program)
    };
    runs(notes)
        .find(|(step, run)| step.seq > seq && run.ok == Some(true) && same(&run.command, run.kind))
        .map(|(step, _)| step.seq)
}

//! Things done: results, deliveries, changed files, checks.

use std::collections::HashMap;

use backstory_event::Seq;

use super::notes::{Notes, What};
use super::results::ResultSentence;
use super::run_parts::{Purpose, parts};
use super::{FileChange, Statement};

/// Maximum number of results among the things done.
const MAX_RESULTS: usize = 4;

/// Minimum score of a result among the things done.
const MIN_RESULT_SCORE: f32 = 0.12;

/// Returns what was done: the results, what was delivered, the changed files, the checks.
pub(super) fn done(notes: &Notes, results: &[ResultSentence]) -> Vec<Statement> {
    let (deliveries, checks) = checks_and_deliveries(notes);
    let edits = edited_files(notes);
    let mut done = best_results(results, edits.is_some() || !deliveries.is_empty());
    // What was delivered last tells most of what came of it.
    done.extend(deliveries.into_iter().rev().take(MAX_DELIVERIES));
    done.extend(edits);
    done.extend(checks.into_iter().take(MAX_CHECKS));
    done
}

/// Returns the results that say most, of each turn but the last only one, in their order. Of a session that changed nothing, the answers.
fn best_results(results: &[ResultSentence], has_changes: bool) -> Vec<Statement> {
    let last_turn = results.iter().map(|result| result.turn).max();
    let mut chosen: Vec<&ResultSentence> = Vec::new();
    let tells = |result: &&ResultSentence| {
        result.score >= MIN_RESULT_SCORE && (result.tells || !has_changes)
    };
    for result in results.iter().filter(tells) {
        let is_told = chosen.iter().any(|known| {
            known.text == result.text || known.turn == result.turn && Some(known.turn) != last_turn
        });
        if !is_told && chosen.len() < MAX_RESULTS {
            chosen.push(result);
        }
    }
    chosen.sort_by_key(|result| result.seq);
    let statement = |result: &ResultSentence| Statement {
        text: result.text.clone(),
        turn: Some(result.turn),
        events: vec![result.seq],
    };
    chosen.into_iter().map(statement).collect()
}

/// Beginning of the statement that names the changed files.
pub(super) const EDITED: &str = "edited ";

fn edited_files(notes: &Notes) -> Option<Statement> {
    let changed = files(notes);
    let mut names: Vec<&str> = Vec::new();
    for file in &changed {
        let name = file.path.rsplit(['/', '\\']).next().unwrap_or(&file.path);
        if names.len() < 5 && !names.contains(&name) {
            names.push(name);
        }
    }
    let more = if changed.len() > names.len() {
        ", …"
    } else {
        ""
    };
    let files = if changed.len() == 1 {
        "1 file".to_string()
    } else {
        format!("{} files", changed.len())
    };
    let events = (changed.iter())
        .filter_map(|file| file.events.last().copied())
        .take(5)
        .collect();
    let text = format!("{EDITED}{files}: {}{more}", names.join(", "));
    (!changed.is_empty()).then(|| Statement::new(&text, events))
}

/// Maximum number of deliveries among the things done.
const MAX_DELIVERIES: usize = 100;

/// Maximum number of checks among the things done.
const MAX_CHECKS: usize = 8;

/// Returns deliveries and checks by what they are; the same one again is told once.
fn checks_and_deliveries(notes: &Notes) -> (Vec<Statement>, Vec<Statement>) {
    let mut told: Vec<(String, Vec<Seq>, String)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (seq, part) in parts(notes) {
        let said = part.said.as_deref();
        let (name, how) = match (part.purpose, part.ok) {
            (purpose, Some(true)) if purpose.is_delivery() => {
                (delivery(purpose, &part.name, said), String::new())
            }
            // What did not reach anybody is no delivery; why it failed is among the errors.
            (purpose, _) if purpose.is_delivery() => continue,
            (_, ok) => (format!("ran `{}`", part.name), verdict(part.tests, ok)),
        };
        match places.get(&name) {
            Some(place) => {
                let (_, events, last) = &mut told[*place];
                events.push(seq);
                *last = how;
            }
            None => {
                places.insert(name.clone(), told.len());
                told.push((name, vec![seq], how));
            }
        }
    }
    let (mut deliveries, mut checks) = (Vec::new(), Vec::new());
    for (name, events, how) in told {
        let times = if events.len() > 1 {
            format!(" {} times", events.len())
        } else {
            String::new()
        };
        let how = if how.is_empty() {
            how
        } else {
            format!(", {}{how}", if events.len() > 1 { "at last " } else { "" })
        };
        let last = events.last().copied().into_iter().collect();
        let statement = Statement::new(&format!("{}{times}{how}", name.trim()), last);
        if name.starts_with("ran `") {
            checks.push(statement);
        } else {
            deliveries.push(statement);
        }
    }
    (deliveries, checks)
}

/// Returns a delivery in words.
fn delivery(purpose: Purpose, name: &str, said: Option<&str>) -> String {
    let (verb, what) = match purpose {
        Purpose::Commit => ("committed", said.unwrap_or(name)),
        Purpose::Push => ("pushed", name),
        Purpose::PullRequest => ("opened", said.unwrap_or("a pull request")),
        Purpose::Merge => ("merged", name),
        Purpose::Tag => ("tagged", name),
        _ => ("released", name),
    };
    format!("{verb} {what}")
}

fn verdict(tests: Option<(u64, u64)>, ok: Option<bool>) -> String {
    match (tests, ok) {
        (Some((passed, 0)), Some(true)) => format!("{passed} passed"),
        (Some((_, 0)), Some(false)) => "failed".to_string(),
        (Some((passed, failed)), _) => format!("{passed} passed, {failed} failed"),
        (None, Some(true)) => "passed".to_string(),
        (None, Some(false)) => "failed".to_string(),
        (None, None) => String::new(),
    }
}

/// Returns the changed files with the events that changed them.
pub(super) fn files(notes: &Notes) -> Vec<FileChange> {
    let mut changes: Vec<FileChange> = Vec::new();
    let mut place: HashMap<&str, usize> = HashMap::new();
    for step in &notes.steps {
        if let What::Edit {
            paths,
            failed: false,
            ..
        } = &step.what
        {
            for path in paths {
                let at = *place.entry(path).or_insert_with(|| {
                    changes.push(FileChange {
                        path: path.clone(),
                        events: Vec::new(),
                    });
                    changes.len() - 1
                });
                changes[at].events.push(step.seq);
            }
        }
    }
    changes
}

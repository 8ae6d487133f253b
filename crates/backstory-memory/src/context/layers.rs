//! What there is to tell: a line an item, the most useful first.

use std::collections::HashSet;

use super::Layer;
use super::files::ranked_files;
use super::here::Surroundings;
use super::past::{Edit, Past};
use super::quote::{named, quoted};
use crate::digest::{
    CommandKind, is_correction, is_decision, is_go_on, is_of_a_person, program, prompts,
};
use backstory_event::{TimeMs, TurnNo};

/// How much is quoted, in characters.
const TITLE: usize = 90;
const PROMPT: usize = 110;
const COMMAND: usize = 80;
pub(super) const PATH: usize = 120;

/// So many files are told of a session or a turn.
const FILES: usize = 3;
/// So many prompts are told of what was lost.
const PROMPTS: usize = 6;

/// So many commands are worth knowing.
const COMMANDS: usize = 4;

/// Branches that all work comes together on: being on one says nothing.
const TRUNKS: [&str; 5] = ["main", "master", "trunk", "develop", "dev"];

/// The sessions themselves: when, what, how it ended, which commit, which files.
pub(super) fn sessions(pasts: &[Past], now: TimeMs) -> Vec<String> {
    let mut titles: Vec<String> = Vec::new();
    let line = |past: &Past| {
        let title = title(past)?;
        // The same task again and again is told once, by its last session.
        if titles.contains(&title) {
            return None;
        }
        titles.push(title.clone());
        let commit = past.commit();
        let turn = commit.map_or(past.last_turn(), |(turn, _)| turn);
        let mut parts = vec![
            age(past.row.last_at, now),
            past.row.agent.clone(),
            format!("\"{title}\""),
        ];
        parts.extend(
            past.row
                .outcome
                .clone()
                .filter(|outcome| outcome != "unknown"),
        );
        parts.extend(commit.map(|(_, hash)| format!("commit {hash}")));
        let mut edits: Vec<Edit> = past.edits().collect();
        edits.reverse();
        for edit in &mut edits {
            // Where they are, another layer tells.
            let name = edit.file.rsplit('/').next().map(str::to_string);
            edit.file = name.unwrap_or_default();
        }
        let files = files_of(&edits, FILES);
        if !files.is_empty() {
            parts.push(files);
        }
        Some(format!("- {} {}", parts.join(" · "), past.cite(turn)))
    };
    pasts.iter().filter_map(line).collect()
}

fn title(past: &Past) -> Option<String> {
    let given = past.row.title.as_deref();
    let goals = prompts(&past.notes).map(|(_, text)| text);
    let goals = goals.filter(|text| is_of_a_person(text) && !is_go_on(text));
    let told = past.told_title.as_deref();
    let given = given
        // Of what only announces something, the whole says more.
        .filter(|title| is_of_a_person(title) && !is_go_on(title) && !title.ends_with(':'));
    told.into_iter()
        .chain(given)
        .chain(goals)
        .find_map(|text| quoted(text, TITLE))
}

/// What was done on this branch and to the files that are being changed, and how the project is tested and built.
pub(super) fn observed(pasts: &[Past], here: &Surroundings, now: TimeMs) -> Vec<String> {
    let mut lines = commands(pasts, now);
    let on_trunk = here
        .branch
        .as_deref()
        .is_none_or(|branch| TRUNKS.contains(&branch));
    let changed: HashSet<&str> = here.changed().iter().map(String::as_str).collect();
    for past in pasts {
        let is_same = !on_trunk && here.branch == past.row.branch;
        let mut turns: Vec<TurnNo> = past
            .edits()
            .filter(|edit| is_same || changed.contains(edit.file.as_str()))
            .map(|edit| edit.turn)
            .collect();
        turns.dedup();
        let told = turns.into_iter().rev();
        let told = told.filter_map(|turn| turn_line(past, turn, here.changed(), now));
        // Sessions may have thousands of turns.
        lines.extend(told.take(Layer::Observations.most().saturating_sub(lines.len())));
    }
    lines
}

/// What was asked in a turn, and what was changed for it. Files that are being changed come first: they are why it is told.
pub(super) fn turn_line(
    past: &Past,
    turn: TurnNo,
    changed: &[String],
    now: TimeMs,
) -> Option<String> {
    let mut edits: Vec<Edit> = past.edits_in(turn).collect();
    edits.sort_by_key(|edit| !changed.contains(&edit.file));
    let mut steps = prompts(&past.notes);
    let asked = steps.find(|(step, _)| step.turn == turn);
    let at = asked.map(|(step, _)| past.time_of(step));
    let at = at.or(edits.first().map(|edit| edit.at));
    let asked = asked.map(|(_, text)| text);
    let asked = asked.filter(|text| is_of_a_person(text) && !is_go_on(text));
    let asked = asked.and_then(|text| quoted(text, PROMPT));
    let what = match (asked, files_of(&edits, FILES)) {
        (None, files) if files.is_empty() => return None,
        (None, files) => format!("edited {files}"),
        (Some(asked), files) if files.is_empty() => format!("asked \"{asked}\""),
        (Some(asked), files) => format!("edited {files} for \"{asked}\""),
    };
    let when = age(at.unwrap_or(past.row.last_at), now);
    Some(format!("- {what} · {when} {}", past.cite(turn)))
}

/// The commands that tell whether the project is sound, those that ran most often first.
fn commands(pasts: &[Past], now: TimeMs) -> Vec<String> {
    struct Known<'p> {
        line: String,
        times: u64,
        verdict: Option<bool>,
        last: (&'p Past, TurnNo, TimeMs),
    }
    let mut known: Vec<(String, Known<'_>)> = Vec::new();
    for past in pasts {
        for (step, run) in past.runs().rev().filter(|(_, run)| run.kind.is_proof()) {
            let Some(line) = quoted(bare_command(&run.command), COMMAND) else {
                continue;
            };
            let program = program(&run.command);
            match known.iter_mut().find(|(known, _)| *known == program) {
                Some((_, known)) => {
                    known.times += 1;
                    // Of all its forms the shortest is the one that is meant.
                    if line.len() < known.line.len() {
                        known.line = line;
                    }
                }
                None => known.push((
                    program,
                    Known {
                        line,
                        times: 1,
                        verdict: run.ok,
                        last: (past, step.turn, past.time_of(step)),
                    },
                )),
            }
        }
    }
    // What ran once may have been a try.
    known.retain(|(_, known)| known.times > 1);
    known.sort_by_key(|(_, known)| std::cmp::Reverse(known.times));
    let line = |(_, known): &(String, Known<'_>)| {
        let (past, turn, at) = known.last;
        let verdict = match known.verdict {
            Some(true) => ", passed at last",
            Some(false) => ", failed at last",
            None => "",
        };
        let when = age(at, now);
        format!(
            "- ran '{}' {} times{verdict} · {when} {}",
            known.line,
            known.times,
            past.cite(turn)
        )
    };
    known.iter().take(COMMANDS).map(line).collect()
}

/// A command without what only shortens what it prints.
fn bare_command(command: &str) -> &str {
    let line = command.lines().next().unwrap_or_default();
    let ends = [" 2>&1", " 2>/dev/null", " | tail", " | head"];
    let end = ends.iter().filter_map(|end| line.find(end)).min();
    line[..end.unwrap_or(line.len())].trim_end()
}

/// What a session itself did before its history was cut: what was asked and decided, what was changed, what was delivered.
pub(super) fn lost(own: &Past, now: TimeMs) -> Vec<String> {
    let mut decisions = Vec::new();
    let mut asked = Vec::new();
    for (step, text) in
        prompts(&own.notes).filter(|(_, text)| is_of_a_person(text) && !is_go_on(text))
    {
        let Some(said) = quoted(text, PROMPT) else {
            continue;
        };
        let told = format!("- the user said \"{said}\" {}", own.cite(step.turn));
        if is_correction(text) || is_decision(text) {
            decisions.push(told);
        } else {
            asked.push(told);
        }
    }
    // What was said last holds.
    decisions.reverse();
    asked.reverse();
    let mut lines = Vec::new();
    lines.extend(
        own.commit()
            .map(|(turn, hash)| format!("- committed {hash} {}", own.cite(turn))),
    );
    let proofs = own
        .runs()
        .rev()
        .filter(|(_, run)| run.kind.is_proof() && run.kind != CommandKind::Check);
    let proof = proofs.filter_map(|(step, run)| {
        let verdict = if run.ok? { "passed" } else { "failed" };
        let line = quoted(bare_command(&run.command), COMMAND)?;
        Some(format!("- '{line}' {verdict} last {}", own.cite(step.turn)))
    });
    lines.extend(proof.take(1));
    lines.extend(decisions);
    lines.extend(asked.into_iter().take(PROMPTS));
    let here = Surroundings::elsewhere(Vec::new(), None);
    let files = ranked_files(std::slice::from_ref(own), &here);
    lines.extend(files.iter().filter_map(|file| file.line(now)));
    lines
}

/// The first files of some edits, by name.
fn files_of<'e>(edits: impl IntoIterator<Item = &'e Edit>, most: usize) -> String {
    let mut files: Vec<String> = Vec::new();
    let mut more = false;
    for edit in edits {
        let Some(file) = named(&edit.file, PATH) else {
            continue;
        };
        if files.contains(&file) {
            continue;
        }
        if files.len() == most {
            more = true;
            break;
        }
        files.push(file);
    }
    if more {
        files.push("…".to_string());
    }
    files.join(", ")
}

/// How long ago something was, as people say it.
pub(super) fn age(at: TimeMs, now: TimeMs) -> String {
    let minutes = now.since(at).max(0) / 60_000;
    let told = |number: i64, unit: &str| match number {
        1 => format!("1 {unit} ago"),
        number => format!("{number} {unit}s ago"),
    };
    match minutes {
        0..=1 => "just now".to_string(),
        2..120 => told(minutes, "minute"),
        120..2_880 => told(minutes / 60, "hour"),
        2_880..86_400 => told(minutes / 1_440, "day"),
        _ => told(minutes / 43_200, "month"),
    }
}

//! Plans: presented at the end of one session, carried out by another.

use std::collections::HashSet;

use backstory_event::Seq;

use super::notes::{Notes, Step, What};
use super::run_parts::deliveries;
use super::{Statement, prompts};

/// Frame around a plan that is handed to a new session.
const FRAME: &str = "implement the following plan";

/// Returns the title of the last plan that was presented.
pub fn presented_plan(notes: &Notes) -> Option<&str> {
    notes.steps.iter().rev().find_map(|step| match &step.what {
        What::Plan(title) if !title.is_empty() => Some(title.as_str()),
        _ => None,
    })
}

/// Returns the title of the plan that the first prompt hands over: its first heading.
pub fn handed_plan(notes: &Notes) -> Option<&str> {
    let (_, prompt) = prompts(notes).next()?;
    let beginning = prompt.trim_start().get(..FRAME.len())?;
    if !beginning.eq_ignore_ascii_case(FRAME) {
        return None;
    }
    let heading = prompt
        .lines()
        .find_map(|line| line.trim().strip_prefix('#'))?;
    let title = heading.trim_start_matches('#').trim();
    (!title.is_empty()).then_some(title)
}

/// Returns whether two titles are of the same plan, however they are spelt.
pub fn is_same_plan(one: &str, other: &str) -> bool {
    let plain = |title: &str| -> String {
        let letters = title.chars().filter(|letter| letter.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect()
    };
    plain(one) == plain(other)
}

/// Returns why a session made only a plan, if it did: nothing else was changed or delivered after the last one was presented, or every file
/// that was changed is a plan.
pub(super) fn plan_only(notes: &Notes) -> Option<Statement> {
    let delivered: HashSet<Seq> = deliveries(notes).map(|(seq, _)| seq).collect();
    let changed = |step: &Step| match &step.what {
        What::Edit {
            paths,
            failed: false,
            ..
        } => paths.iter().any(|path| !is_plan(path)),
        What::Run(_) => delivered.contains(&step.seq),
        _ => false,
    };
    let plan = |step: &&Step| matches!(step.what, What::Plan(_));
    if let Some(at) = notes.steps.iter().rposition(|step| plan(&step)) {
        let is_only = !notes.steps.iter().any(changed);
        let why = "it ends with a plan, and nothing was changed";
        return is_only.then(|| Statement::new(why, vec![notes.steps[at].seq]));
    }
    let wrote_plan = |step: &&Step| match &step.what {
        What::Edit {
            paths,
            failed: false,
            ..
        } => paths.iter().all(|path| is_plan(path)),
        _ => false,
    };
    let last = notes.steps.iter().rev().find(wrote_plan)?;
    let why = "only a plan was written";
    (!notes.steps.iter().any(changed)).then(|| Statement::new(why, vec![last.seq]))
}

/// Returns whether the last thing that was done was to present a plan.
pub(super) fn ends_with_plan(notes: &Notes) -> bool {
    let mut steps = notes.steps.iter().rev();
    // Who takes a plan to a new session leaves this one by an interruption.
    let last = steps.find(|step| {
        !matches!(
            step.what,
            What::Reply(_) | What::Interrupted | What::Denied(_)
        )
    });
    last.is_some_and(|step| matches!(step.what, What::Plan(_)))
}

/// Returns whether a file is a written plan.
fn is_plan(path: &str) -> bool {
    let path = path.to_lowercase().replace('\\', "/");
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let is_text = [".md", ".markdown", ".txt"]
        .iter()
        .any(|extension| name.ends_with(extension));
    let mut folders = folder.rsplit('/');
    is_text && (name.contains("plan") || folders.any(|folder| folder == "plans"))
}

#[cfg(test)]
mod tests {
    use super::super::Story;
    use super::*;

    #[test]
    fn a_plan_is_handed_over_by_its_heading() {
        let handed = |prompt: &str| {
            let mut story = Story::default();
            story.prompt(prompt);
            handed_plan(&story.notes).map(str::to_string)
        };
        let prompt = "Implement the following plan:\n\n# Track tokens\n\n## Context";
        assert_eq!(handed(prompt).as_deref(), Some("Track tokens"));
        assert_eq!(handed("# Track tokens"), None);
        assert_eq!(handed("Implement the following plan: be quick"), None);
        assert!(is_same_plan("Track tokens", "`track` Tokens") && !is_same_plan("a", "b"));
    }
}

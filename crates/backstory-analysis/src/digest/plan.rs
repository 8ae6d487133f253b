//! Plans: presented at the end of one session, carried out by another.

use super::notes::{Notes, What};
use super::prompts;

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

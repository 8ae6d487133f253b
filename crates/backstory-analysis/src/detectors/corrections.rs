//! Corrections that users repeat.

use super::{Detector, PatternKind, Signal};
use crate::AgentConventions;
use crate::digest::{Notes, is_correction, is_of_a_person, prompts};
use crate::text;

pub(super) const DETECTOR: Detector = Detector {
    name: "corrections",
    kind: PatternKind::Problem,
    weight: 2.0,
    alike: Some(0.5),
    detect,
};

/// Longer prompts are mostly pasted.
const MOST_SAID: usize = 400;

fn detect(notes: &Notes, agents: &AgentConventions, found: &mut Vec<Signal>) {
    for (step, said) in prompts(notes).skip(1) {
        if said.len() > MOST_SAID || !is_of_a_person(said, agents) || !is_correction(said) {
            continue;
        }
        let mut words: Vec<String> = said
            .to_lowercase()
            .split(|letter: char| !letter.is_alphanumeric())
            .filter(|word| word.len() > 3)
            .map(str::to_string)
            .collect();
        words.sort_unstable();
        words.dedup();
        if words.len() >= 2 {
            let title = format!(
                "users correct: {}",
                text::beginning(&said.replace('\n', " "), 120)
            );
            found.push(Signal::at(step, words.join(" "), title, said));
        }
    }
}

//! Decisions of the user: answers to the agent's questions, reasons of rejections, and prompts that insist on something.

use super::account::{MOST_STATEMENTS, prompts, quote};
use super::notes::{Notes, What};
use super::options::names_options;
use super::plan::handed_plan;
use super::{Statement, answers, deciding, said, sentence};
use crate::AgentConventions;

/// Maximum length of a prompt that is quoted as a whole; of longer ones, the sentence that decides is.
const MAX_QUOTED_BYTES: usize = 300;

/// Prompts beyond this length are mostly pasted.
const MAX_PROMPT_BYTES: usize = 700;

/// Answers that choose what the agent does next, and bind nothing later.
const STEPS: [&str; 5] = ["/", "start /", "run /", "continue", "proceed"];

/// Words of options that only deliver what is there.
const DELIVERING: [&str; 5] = ["push", "commit", "merge", "pr", "quick"];

/// Maximum number of words of such an option.
const MAX_DELIVERING_WORDS: usize = 5;

/// Returns the decisions in their order; one that the user takes back later is left out.
pub(super) fn of_user(notes: &Notes, agents: &AgentConventions) -> Vec<Statement> {
    let first_prompt = prompts(notes).next().map(|(step, _)| step.seq);
    let mut decisions: Vec<Statement> = Vec::new();
    // The question that the last reply ended with.
    let mut asked = None;
    let mut last_reply = "";
    for step in &notes.steps {
        match &step.what {
            What::Reply(reply) => {
                asked = answers::closing_question(reply);
                last_reply = reply;
            }
            What::Answer { question, said } if is_choice(said) => {
                // An option that a prompt chose: the prompt itself says less.
                decisions.pop_if(|decision| {
                    decision.events == [step.seq]
                        && decision.text.starts_with(&quote(step, said).text)
                });
                let said = said.trim_end_matches("(Recommended)").trim_end();
                let option = question.as_deref().filter(|_| names_options(said));
                if delivers(option.unwrap_or(said)) {
                    continue;
                }
                let text = match question {
                    Some(question) => format!("{said} (to: {})", question.replace("**", "")),
                    None => said.to_string(),
                };
                decisions.push(quote(step, &text));
            }
            What::Prompt(text) => {
                let asked = asked.take();
                if first_prompt == Some(step.seq) {
                    let is_own = said::is_of_a_person(text, agents) && handed_plan(notes).is_none();
                    let limits = limits(text).filter(|_| is_own);
                    decisions.extend(limits.map(|limit| quote(step, limit)));
                    continue;
                }
                if takes_back(text) {
                    decisions.pop();
                } else if said::is_of_a_person(text, agents)
                    && !said::is_go_on(text)
                    && text.len() <= MAX_PROMPT_BYTES
                {
                    match (deciding_part(text), asked) {
                        (_, Some(asked)) if answers::is_answer(text, &asked) => {
                            decisions.push(quote(step, &format!("{text} (to: {asked})")));
                        }
                        // What the agent said and the user quotes is asked about, not decided.
                        (Some(sentence), _)
                            if !is_quoted(sentence, last_reply)
                                && !sentence.trim_end().ends_with('?') =>
                        {
                            decisions.push(quote(step, sentence));
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    if decisions.len() > MOST_STATEMENTS {
        // What was said last holds.
        decisions.drain(..decisions.len() - MOST_STATEMENTS);
    }
    decisions
}

/// Minimum number of bytes of a sentence that stands in two texts by no accident.
const MIN_QUOTE_BYTES: usize = 20;

/// Returns whether a sentence stands in a reply.
fn is_quoted(sentence: &str, reply: &str) -> bool {
    let bare = sentence.trim_end_matches(['.', '!', '?']);
    bare.len() >= MIN_QUOTE_BYTES && reply.contains(bare)
}

/// Returns whether an answer chooses something, and neither asks nor only says to go on.
fn is_choice(said: &str) -> bool {
    let lower = said.trim().to_lowercase();
    !said::is_go_on(said)
        && !said::is_question(said)
        && !STEPS.iter().any(|step| lower.starts_with(step))
}

/// Returns whether an option only commits, pushes or merges what is there, or is called quick.
fn delivers(option: &str) -> bool {
    let lower = option.to_lowercase();
    let mut words = lower.split(|letter: char| !letter.is_alphanumeric());
    let is_short = option.split_whitespace().count() <= MAX_DELIVERING_WORDS;
    words
        .find(|word| !word.is_empty())
        .is_some_and(|first| DELIVERING.contains(&first) && (is_short || first == "quick"))
}

/// Returns the part of a prompt that decides: all of a short one, else the first sentence that does.
fn deciding_part(prompt: &str) -> Option<&str> {
    if !deciding::is_decision(prompt) {
        return None;
    }
    if prompt.len() <= MAX_QUOTED_BYTES {
        return Some(prompt);
    }
    sentences(prompt).find(|sentence| deciding::is_decision(sentence))
}

/// Maximum length of a first prompt in which limits are looked for; longer ones are specifications, in which everything is one.
const MAX_FIRST_PROMPT_BYTES: usize = 900;

/// Maximum number of limits that are taken from the first prompt.
const MAX_LIMITS: usize = 2;

/// Returns the sentences of a first prompt that limit how its work is to be done.
fn limits(prompt: &str) -> impl Iterator<Item = &str> {
    let is_short = prompt.len() <= MAX_FIRST_PROMPT_BYTES;
    let limits = sentences(prompt).filter(|sentence| deciding::is_limit(sentence));
    limits.take(if is_short { MAX_LIMITS } else { 0 })
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(sentence::sentences)
}

fn takes_back(prompt: &str) -> bool {
    let lower = prompt.trim().to_lowercase();
    [
        "revert that",
        "undo that",
        "forget that",
        "scratch that",
        "never mind",
        "nevermind",
    ]
    .iter()
    .any(|opening| lower.starts_with(opening))
}

#[cfg(test)]
mod tests {
    use super::super::Story;
    use super::*;
    use crate::conventions::KNOWN_AGENTS;

    fn check(tell: fn(&mut Story) -> &mut Story, expected: &[&str]) {
        let mut story = Story::default();
        tell(&mut story);
        let decisions = of_user(&story.notes, &KNOWN_AGENTS);
        let texts: Vec<&str> = decisions.iter().map(|said| said.text.as_str()).collect();
        assert_eq!(texts, expected);
    }

    #[test]
    fn answers_and_reasons_of_rejections_are_decisions() {
        check(
            |story| {
                story
                    .prompt("add a store")
                    .answer("AskUserQuestion", Some("Which database?"), "SQLite")
                    .answer("AskUserQuestion", Some("What next?"), "Start /work")
                    .answer("Edit", None, "keep it in one file")
                    .answer("Edit", None, "do we know why?")
            },
            &["SQLite (to: Which database?)", "keep it in one file"],
        );
    }

    #[test]
    fn an_option_is_named_by_what_it_says() {
        check(
            |story| {
                story
                    .prompt("how?")
                    .reply("Either:\n1. Patch the parser\n2. **Replace it**\nWhich one?")
                    .prompt("2, but keep the tests")
            },
            &["2, but keep the tests (to: Replace it)"],
        );
    }

    #[test]
    fn answers_to_what_a_reply_asked_are_decisions() {
        check(
            |story| {
                story
                    .prompt("clean up")
                    .reply("Two tags are stale. Want me to strip the note, or leave a line?")
                    .prompt("Leave a note that main is untouched")
                    .reply("Done. Should I rename the other files?")
                    .prompt("yes, the tests as well")
                    .reply("Done. Shall I go on?")
                    .prompt("yes please do it")
                    .reply("Done. Want me to open a pull request?")
                    .prompt("check the links first")
                    .reply("All links work.")
                    .prompt("tidy the folder of samples")
            },
            &[
                "Leave a note that main is untouched (to: Want me to strip the note, or leave a line?)",
                "yes, the tests as well (to: Should I rename the other files?)",
            ],
        );
    }

    #[test]
    fn questions_and_go_aheads_are_none() {
        check(
            |story| {
                story
                    .prompt("fix it")
                    .prompt("yes")
                    .prompt("should we use tabs?")
                    .prompt("commit this")
                    .prompt("can you look at the failing test?")
            },
            &[],
        );
    }

    #[test]
    fn what_is_taken_back_is_left_out() {
        check(
            |story| {
                story
                    .prompt("fix it")
                    .prompt("always use tabs")
                    .prompt("never touch the docs")
                    .prompt("never mind")
            },
            &["always use tabs"],
        );
    }
}

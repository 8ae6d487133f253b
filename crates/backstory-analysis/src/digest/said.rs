//! Intent of prompts and replies, by the words they use.

use super::sentence::without_emphasis;
use crate::{AgentConventions, text};

/// No more of a text is read.
const MOST_READ: usize = 4 << 10;

/// Returns whether a person wrote a prompt, and not a program in a person's name.
pub fn is_of_a_person(prompt: &str, agents: &AgentConventions) -> bool {
    !(agents.is_program_text)(prompt)
}

/// Returns whether a prompt only says to go on.
pub fn is_go_on(prompt: &str) -> bool {
    let plain = plain(prompt);
    const GO_ON: &[&str] = &[
        "continue",
        "go on",
        "go ahead",
        "yes",
        "ok",
        "okay",
        "sure",
        "proceed",
        "do it",
        "y",
        "keep going",
        "next",
        "please continue",
        "yes please",
        "approved",
        "sounds good",
        "yep",
        "carry on",
    ];
    GO_ON.contains(&plain.trim_end_matches(['.', '!']))
}

/// Returns whether the user is content.
pub(crate) fn is_thanks(prompt: &str) -> bool {
    let plain = plain(prompt);
    let has = |words: &[&str]| words.iter().any(|word| has_words(&plain, word));
    has(&[
        "thanks",
        "thank you",
        "perfect",
        "great",
        "awesome",
        "excellent",
        "nice work",
        "well done",
        "lgtm",
        "looks good",
        "works now",
        "it works",
        "really helpful",
        "love it",
        "good job",
        "nice",
    ]) && !is_complaint(prompt)
}

/// Returns whether the user says that something is wrong: with what was done, or that it fails.
pub(crate) fn is_complaint(prompt: &str) -> bool {
    let plain = plain(prompt);
    [
        "not what i",
        "that is wrong",
        "that's wrong",
        "thats wrong",
        "is wrong",
        "still fail",
        "still fails",
        "still failing",
        "still broken",
        "still not",
        "still doesn't",
        "still getting",
        "doesn't work",
        "does not work",
        "didn't work",
        "did not work",
        "isn't working",
        "not working",
        "you forgot",
        "you missed",
        "you broke",
        "why did you",
        "i said",
        "i told you",
        "i asked",
        "revert",
        "undo",
        "roll back",
        "did not complete",
        "failed to",
        "same error",
        "wrong",
        "that's not",
        "thats not",
        "incorrect",
    ]
    .iter()
    .any(|words| has_words(&plain, words))
}

/// Returns whether the user corrects what the agent did or is about to do.
pub fn is_correction(prompt: &str) -> bool {
    let plain = plain(prompt);
    let opens = [
        "no ", "no, ", "no. ", "nope", "stop", "wait", "don't", "do not", "actually", "instead",
        "not ", "hmm", "why ",
    ];
    let within = [
        "instead of",
        "rather than",
        "too big",
        "too long",
        "too many",
        "should not",
        "shouldn't",
        "don't want",
        "do not want",
        "don't need",
        "no need",
        "i meant",
        "not that",
        "remove that",
        "keep the",
        "without the",
        "don't",
        "never",
    ];
    is_complaint(prompt)
        || opens.iter().any(|words| plain.starts_with(words))
        || within.iter().any(|words| has_words(&plain, words))
}

/// Returns what follows words at the beginning of a text.
pub(super) fn after_words<'t>(text: &'t str, words: &str) -> Option<&'t str> {
    let rest = text.strip_prefix(words)?;
    let ends = !rest.starts_with(|letter: char| letter.is_alphanumeric() || letter == '\'');
    ends.then(|| rest.trim_start())
}

/// Returns whether a text asks something and says nothing else.
pub(crate) fn is_question(said: &str) -> bool {
    let plain = plain(said);
    let suggests = [
        "why not",
        "why don't we",
        "why can't we",
        "can't we just",
        "how about",
    ]
    .iter()
    .any(|opening| plain.starts_with(opening));
    let sentences = plain.split_inclusive(['.', '!', '?']);
    let mut sentences = sentences.filter(|part| part.chars().any(char::is_alphabetic));
    !suggests && plain.contains('?') && sentences.all(|sentence| sentence.ends_with('?'))
}

/// Returns whether the agent says that it could not do it.
pub(crate) fn gives_up(reply: &str) -> bool {
    let plain = plain(text::ending(reply, 1_500));
    [
        "i was unable",
        "i'm unable",
        "i am unable",
        "was not able to",
        "wasn't able to",
        "i could not",
        "i couldn't",
        "cannot proceed",
        "can't proceed",
        "i cannot complete",
        "unable to complete",
        "i'm stuck",
        "i'm blocked",
        "i am blocked",
        "api error",
        "credit balance is too low",
        "limit reached",
        "usage limit",
    ]
    .iter()
    .any(|words| has_words(&plain, words))
}

/// Returns whether the agent says at its end that it waits for something that still runs.
pub(crate) fn is_waiting(reply: &str) -> bool {
    let plain = plain(reply);
    [
        "waiting for",
        "waiting on",
        "i'll wait",
        "is still running",
        "are still running",
        "still in progress",
        "still pending",
        "i'll report back",
        "i'll notify you",
        "i'll let you know when",
        "i'll continue when",
        "i'll continue once",
        "once it passes",
        "once it finishes",
        "once they finish",
        "once ci passes",
        "대기 중",
    ]
    .iter()
    .any(|words| has_words(&plain, words))
}

/// Returns whether the agent says that something it worked on still fails, or asks whether to go on with the next part of it.
pub(crate) fn leaves_unfinished(reply: &str) -> bool {
    #[rustfmt::skip]
    const FAILING: &[&str] = &[
        "still fail", "still fails", "still failing", "tests are failing", "tests failing", "tests fail", "test is failing", "causing test failures",
        "does not work yet", "doesn't work yet", "not working yet", "could not be fixed", "remains broken", "build is broken",
    ];
    #[rustfmt::skip]
    const GOING_ON: &[&str] = &[
        "ready to continue with", "shall i continue with", "should i continue with", "want me to continue with", "ready for task", "ready for phase",
        "proceed with task", "proceed with phase", "proceed with step", "proceed with the next", "proceed with the remaining", "continue with the remaining",
    ];
    let plain = plain(reply);
    let asks = plain.trim_end().ends_with('?');
    FAILING.iter().any(|words| has_words(&plain, words))
        || asks && GOING_ON.iter().any(|words| has_words(&plain, words))
}

/// Headings of what is left to do.
#[rustfmt::skip]
const HEADINGS: &[&str] = &[
    "next step", "what's next", "remaining", "follow-up", "follow up", "to do", "todo", "left to do", "still open",
];

/// Beginnings of sentences that name it.
#[rustfmt::skip]
const ORDERS: &[&str] = &["next:", "next,", "next i", "next up", "you should", "you'll need", "you will need"];

/// Beginnings of sentences in which agents offer to do it.
#[rustfmt::skip]
const OFFERS: &[&str] = &["would you like", "want me to", "shall i", "should i", "do you want"];

/// Returns next steps from the end of a reply: the items below a heading that announces them, or sentences that name them.
pub(crate) fn next_steps(reply: &str) -> Vec<String> {
    let mut steps = Vec::new();
    let mut listed = false;
    for line in text::prose_lines(reply) {
        let bare = line.trim_matches(['#', '*', ':', ' ', '_']);
        let lower = bare.to_lowercase();
        let item =
            line.trim_start_matches(|mark: char| "-*•".contains(mark) || mark.is_ascii_digit());
        let is_item = item.len() < line.len() && item.starts_with([' ', '.', ')']);
        let is_heading = lower.len() < 60 && HEADINGS.iter().any(|words| lower.contains(words));
        if is_heading && !is_item {
            listed = true;
        } else if listed && is_item {
            steps.push(tidy(item));
        } else if !line.is_empty() {
            listed = false;
            let opens = |openings: &[&str]| openings.iter().any(|words| lower.starts_with(words));
            let sentence = opens(ORDERS) || opens(OFFERS);
            let last = line
                .rsplit(['.', '!'])
                .map(str::trim)
                .find(|part| !part.is_empty())
                .unwrap_or(line);
            let offers = last.to_lowercase();
            let asks = last.ends_with('?') && OFFERS.iter().any(|words| offers.contains(words));
            if sentence {
                steps.push(tidy(line));
            } else if asks {
                steps.push(tidy(last));
            }
        }
        if steps.len() == 8 {
            break;
        }
    }
    steps
}

fn tidy(text: &str) -> String {
    let text = without_emphasis(text.trim_start_matches(['.', ')', ' ', '*', '-', '[', ']']));
    text::beginning(text.trim(), 240).to_string()
}

/// Lower case, on one line, with the apostrophe that keyboards have.
pub(super) fn plain(said: &str) -> String {
    let said = text::beginning(said.trim(), MOST_READ)
        .replace(['’', '‘'], "'")
        .to_lowercase();
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns whether a text contains words as whole words.
pub(super) fn has_words(text: &str, words: &str) -> bool {
    let is_letter = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    memchr::memmem::find_iter(text.as_bytes(), words).any(|at| {
        !is_letter(text[..at].chars().next_back())
            && !is_letter(text[at + words.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conventions::KNOWN_AGENTS;

    #[test]
    fn people_thank_complain_and_correct() {
        for said in [
            "Thanks!",
            "perfect, ship it",
            "This is really helpful! Let me try",
        ] {
            assert!(is_thanks(said) && !is_complaint(said), "{said}");
        }
        for said in [
            "it still fails with the same error",
            "That’s wrong",
            "no, that's not what I meant",
            "why did you delete it?",
        ] {
            assert!(
                is_complaint(said) && is_correction(said) && !is_thanks(said),
                "{said}"
            );
        }
        for said in [
            "don't touch the docs",
            "use tabs instead of spaces",
            "The comment is too big.",
        ] {
            assert!(is_correction(said) && !is_complaint(said), "{said}");
        }
        for said in [
            "add a test for the parser",
            "commit and push",
            "rewrite the nicest part",
            "",
        ] {
            assert!(
                !is_correction(said) && !is_thanks(said) && !is_complaint(said),
                "{said}"
            );
        }
        assert!(is_go_on("Continue.") && is_go_on("yes") && !is_go_on("yes, but rename it"));
    }

    #[test]
    fn what_is_left_is_found() {
        let steps = next_steps(
            "Done.\n\n## Next steps\n1. Tag the release\n2. **Merge** the branch\n\nBye.",
        );
        assert_eq!(steps, ["Tag the release", "Merge the branch"]);
        let steps = next_steps("All green. Would you like me to add tests, or stop here?");
        assert_eq!(steps, ["Would you like me to add tests, or stop here?"]);
        assert!(next_steps("All is done.").is_empty());
    }

    #[test]
    fn prompts_of_programs_are_known() {
        for said in ["fix it", "the hook fails: why?", "Call the hook", "a"] {
            assert!(is_of_a_person(said, &KNOWN_AGENTS), "{said}");
        }
        for said in [
            "<teammate-message>",
            "Stop hook feedback:\nrun it",
            "PreToolUse:Bash hook additional context: run it",
            "Result of calling the Read tool: \"run it\"",
            "",
        ] {
            assert!(!is_of_a_person(said, &KNOWN_AGENTS), "{said}");
        }
        assert!(
            gives_up("I was unable to reach the server.")
                && is_waiting("CI is still running; I'll report back.")
                && !is_waiting("One finding remains open.")
        );
    }
}

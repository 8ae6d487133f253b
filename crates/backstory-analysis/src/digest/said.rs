//! Intent of prompts and replies, by the words they use.

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

/// Words before a clause that say nothing.
#[rustfmt::skip]
pub(super) const FILLERS: &[&str] = &[
    "ok", "okay", "yes", "yeah", "no", "nope", "hmm", "and", "but", "also", "so", "well", "actually", "then", "please", "i think", "maybe",
    "that's fine", "great", "good", "now", "for now", "therefore", "thus", "btw", "perfect", "nice", "right", "sure", "instead",
];

/// Beginnings of clauses that decide or insist.
#[rustfmt::skip]
const DECIDING: &[&str] = &[
    "let's go with", "let's", "lets", "let us", "don't", "do not", "never", "always", "use", "keep", "go with", "prefer", "i prefer", "i'd prefer",
    "i would prefer", "i would", "i'd like", "i'd rather", "i want", "we want", "we should", "we shouldn't", "we must", "we need", "we don't",
    "it should", "it must", "that should", "this should", "they should", "there should", "should be", "make it", "make sure", "leave", "stay on",
    "skip", "drop", "only", "from now on", "no need", "remember", "stick with", "option", "i decided", "we decided", "it's fine",
    "delete", "avoid", "not", "add only", "we can", "rename it", "call it", "ok for",
];

/// Words within a clause that do.
#[rustfmt::skip]
const INSISTING: &[&str] = &[
    "instead of", "rather than", "should not", "shouldn't", "must not", "must be", "no need to", "from now on", "by default", "is settled",
    "out of scope", "i would replace", "after each", "as you go", "each time", "every time", "whenever", "if there are", "should always", "should never", "is fine", "we don't need", "i don't want", "i don't like",
];

/// Verbs behind "let's" and the like that are a step of the work.
#[rustfmt::skip]
pub(super) const STEP_VERBS: &[&str] = &[
    "commit", "push", "continue", "run", "see", "check", "look", "try", "test", "start", "move", "proceed", "go", "review", "create", "open",
    "merge", "fix", "do", "take", "think", "talk", "know", "understand", "first", "you", "get", "have", "finish", "worry", "resume", "find",
    "figure", "investigate", "debug", "verify", "ask", "work", "brainstorm", "research", "explore", "analyze", "apply", "implement", "repair",
    "write", "show", "explain", "give", "update", "read", "list",
];

/// Returns whether the user thinks aloud.
pub(super) fn is_deliberation(plain: &str) -> bool {
    [
        "i wonder",
        "i'm considering",
        "i am considering",
        "not sure",
        "brainstorm",
        "i meant",
        "what do you think",
    ]
    .iter()
    .any(|words| has_words(plain, words))
}

/// Returns whether the user decides or insists on something.
pub fn is_decision(prompt: &str) -> bool {
    let plain = plain(prompt);
    // Beside a question of which stand the options.
    if is_deliberation(&plain) || plain.contains('?') && has_words(&plain, "which") {
        return false;
    }
    let clauses = plain.split(['.', '!', ';', ',', ':', '(']);
    clauses.filter(|clause| !clause.contains('?')).any(decides)
}

fn decides(clause: &str) -> bool {
    let mut rest = clause.trim();
    while let Some(shorter) = FILLERS.iter().find_map(|word| after_words(rest, word)) {
        rest = shorter;
    }
    let opening = DECIDING
        .iter()
        .filter_map(|words| Some((after_words(rest, words)?, *words)));
    let mut openings = opening.filter(|(object, words)| {
        let verb = object
            .trim_start_matches("to ")
            .trim_start_matches("you to ")
            .split(' ')
            .next()
            .unwrap_or_default();
        let is_order = !matches!(*words, "don't" | "do not" | "never" | "always");
        !(object.is_empty() || is_order && STEP_VERBS.contains(&verb))
    });
    openings.next().is_some() || INSISTING.iter().any(|words| has_words(rest, words))
}

/// Returns what follows words at the beginning of a text.
pub(super) fn after_words<'t>(text: &'t str, words: &str) -> Option<&'t str> {
    let rest = text.strip_prefix(words)?;
    let ends = !rest.starts_with(|letter: char| letter.is_alphanumeric() || letter == '\'');
    ends.then(|| rest.trim_start())
}

/// Returns the number of an option that a prompt begins with: `option 2`, `3, but …`, `1.`.
pub(crate) fn option_number(prompt: &str) -> Option<u32> {
    let plain = plain(prompt);
    let rest = [
        "let's go with ",
        "let's do ",
        "go with ",
        "let's implement ",
        "i prefer ",
        "use ",
    ]
    .iter()
    .find_map(|opening| plain.strip_prefix(opening))
    .unwrap_or(&plain);
    let named = ["options ", "option ", "number ", "#"]
        .iter()
        .find_map(|word| rest.strip_prefix(word));
    let digits = named.unwrap_or(rest);
    let end = digits
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(digits.len());
    let ends_there = digits[end..].is_empty()
        || named.is_some()
        || digits[end..].starts_with([',', ')', ':'])
        || digits[end..].starts_with('.')
            && !digits[end + 1..].starts_with(|letter: char| letter.is_ascii_digit())
        || digits[end..].starts_with(" but ")
        || digits[end..].starts_with(" and ");
    digits[..end]
        .parse()
        .ok()
        .filter(|number| ends_there && (1..=20).contains(number))
}

/// Returns the item of a numbered list.
pub(crate) fn numbered_item(reply: &str, number: u32) -> Option<&str> {
    let marks = [
        format!("{number}. "),
        format!("{number}) "),
        format!("Option {number}"),
    ];
    text::prose_lines(reply)
        .filter_map(|line| {
            let bare = line.trim_start_matches([' ', '*', '#', '-', '(']);
            let item = marks
                .iter()
                .find_map(|mark| bare.strip_prefix(mark.as_str()))?;
            // Option 12 is not option 1.
            if item.starts_with(|letter: char| letter.is_ascii_digit()) {
                return None;
            }
            let item = item.trim_matches([' ', ':', '*', '-', '—', ')']);
            item.chars().any(char::is_alphabetic).then_some(item)
        })
        .last()
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
    let text = text
        .trim_start_matches(['.', ')', ' ', '*', '-', '[', ']'])
        .replace("**", "");
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
        assert!(is_decision("let's go with option 2") && !is_decision("why does it fail?"));
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

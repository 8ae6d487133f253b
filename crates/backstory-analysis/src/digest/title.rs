//! Title of a session: of its plan, of what it delivered, or of the request that the work was done for.

use super::notes::{Notes, Step, What};
use super::plan::{handed_plan, presented_plan};
use super::run_parts::{Purpose, deliveries};
use super::said;
use crate::AgentConventions;

/// Maximum length of a title in characters.
const MAX_TITLE_CHARACTERS: usize = 100;

/// Minimum length of a title that is cut where a clause ends.
const MIN_CUT_CHARACTERS: usize = 40;

/// Beginnings of clauses that a title can do without, the plainest first.
#[rustfmt::skip]
const FURTHER_CLAUSES: &[&str] = &[
    ", please", "; ", " - ", ", ", " because ", " so that ", " so ", " which ", " when ", " before ", " after ", " against ", " and ",
];

/// Openings that say where something was seen, and not what.
#[rustfmt::skip]
const PREAMBLES: &[&str] = &[
    "look at the changes in this branch", "take a look at the changes in this branch", "while looking at the logs", "looking at the logs", "looking at this again",
    "in this branch",
];

/// Number of requests that are looked at for a title.
const MAX_REQUESTS: usize = 12;

/// Openings that ask politely, and say nothing of what for.
#[rustfmt::skip]
const POLITE: &[&str] = &[
    "can you please", "could you please", "would you please", "can you help me to", "can you help me", "can you", "could you", "would you", "please",
    "i want you to", "i would like you to", "i'd like you to", "i need you to", "i want to", "i would like to", "i'd like to", "i need to",
    "we need to", "we want to", "let's", "lets", "hi", "hello", "hey", "ok", "okay", "yes", "no", "great", "perfect", "thanks", "alright", "now", "so", "and",
    "also", "next", "help me to", "help me", "right now", "well", "i think we should", "i think", "then", "you need to", "your task is to", "i've noticed that", "i've noticed", "but",
    "i noticed that", "i noticed", "can it be that", "i wonder if", "i feel", "it seems", "independently", "first", "for now", "maybe", "quick", "just",
];

/// Maximum number of commits of which the first one says what the session was about.
const MAX_TITLE_COMMITS: usize = 3;

/// Tags in which programs hand over what somebody asked. What stands in others is not asked: reminders, notices, results.
const TASK_TAGS: &[&str] = &["<task>", "<request>", "<user_request>", "<prompt>"];

/// Returns a title for a session that has none of its agent's or user's: the plan, what a pull request or commit was called, or the request that the work
/// was done for.
pub fn title(notes: &Notes, agents: &AgentConventions) -> Option<String> {
    let presented = presented_plan(notes).filter(|title| is_informative(title));
    let line = (presented.map(str::to_string))
        .or_else(|| handed_plan(notes).map(plain_text))
        .or_else(|| named_delivery(notes))
        .or_else(|| main_request(notes, agents).and_then(requested))
        .or_else(|| commit_subjects(notes).next())
        .or_else(|| {
            let mut requests = requests(notes, agents).take(MAX_REQUESTS);
            requests.find_map(|(_, text)| first_line(text))
        })
        .or_else(|| {
            let mut prompts = super::prompts(notes);
            prompts.find_map(|(_, text)| {
                TASK_TAGS
                    .iter()
                    .any(|tag| text.starts_with(tag))
                    .then(|| requested(text))
                    .flatten()
            })
        })?;
    let line = line.strip_prefix("Plan:").map_or(line.as_str(), str::trim);
    Some(title_of_line(line))
}

/// Returns what the command called the pull request, or the first of few commits. What tools printed is not trusted: titles are told to new sessions.
fn named_delivery(notes: &Notes) -> Option<String> {
    let request = deliveries(notes).rev().find_map(|(_, part)| {
        let is_named = part.purpose == Purpose::PullRequest && is_informative(&part.name);
        is_named.then(|| part.name.clone())
    });
    request.or_else(|| {
        let commits = deliveries(notes).filter(|(_, part)| part.purpose == Purpose::Commit);
        let mut subjects = commit_subjects(notes).filter(|subject| is_informative(subject));
        (commits.count() <= MAX_TITLE_COMMITS)
            .then(|| subjects.next())
            .flatten()
    })
}

/// Returns the subjects that commands gave commits.
fn commit_subjects(notes: &Notes) -> impl Iterator<Item = String> {
    let commits = deliveries(notes).map(|(_, part)| part);
    let commits = commits.filter(|part| part.purpose == Purpose::Commit && !part.name.is_empty());
    commits.map(|part| part.name.clone())
}

/// Openings of requests that only begin a talk, or are about the work and not the work itself.
#[rustfmt::skip]
const OPENERS: &[&str] = &[
    "do you have", "what", "where", "how", "why", "is there", "is it", "is this", "is the", "are we", "are there", "did", "does", "tell me", "explain", "show me",
    "open ", "read ", "commit", "push", "merge", "run ", "continue", "understand", "check", "verify", "update the readme",
];

/// Openings of requests that go on with what was said before.
#[rustfmt::skip]
const CONTINUATIONS: &[&str] = &["hm", "one last", "another", "again", "double check", "instead", "use ", "revert", "undo", "yeah", "fix all", "add a test"];

/// With so many words an opening question says what it is about.
const MIN_INFORMATIVE_WORDS: usize = 8;

/// Returns the request that the work was done for: one with edits in its turn rather than a question, the first one of equals.
pub(super) fn main_request<'n>(notes: &'n Notes, agents: &AgentConventions) -> Option<&'n str> {
    let edited = |turn| {
        notes
            .steps
            .iter()
            .any(|step| step.turn == turn && matches!(step.what, What::Edit { failed: false, .. }))
    };
    let mut best: Option<(i32, &str)> = None;
    for (place, (step, text)) in requests(notes, agents).take(MAX_REQUESTS).enumerate() {
        let Some(line) = requested(text) else {
            continue;
        };
        let lower = line.to_lowercase();
        let starts_with =
            |openings: &[&str]| openings.iter().any(|opening| lower.starts_with(opening));
        let words = line.split(' ').count();
        let is_dangling = (lower.split(' ').take(3))
            .any(|word| ["this", "that", "it", "these", "those"].contains(&word));
        let is_opener = starts_with(OPENERS) && words < MIN_INFORMATIVE_WORDS;
        let opener = if is_opener { 3 } else { 0 };
        let goes_on =
            starts_with(CONTINUATIONS) || text.trim_start().to_lowercase().starts_with("yes");
        // The first request mostly says it; later ones only go on with it.
        let score = i32::from(edited(step.turn))
            - place as i32
            - opener
            - 2 * i32::from(is_dangling)
            - 2 * i32::from(goes_on);
        if best.is_none_or(|(known, _)| score > known) {
            best = Some((score, text));
        }
    }
    best.map(|(_, text)| text)
}

fn title_of_line(line: &str) -> String {
    // That the agent shall do something about it goes without saying.
    let asked = [", can you ", ", could you "]
        .iter()
        .find_map(|words| line.find(words));
    let line = asked
        .filter(|end| *end >= 12)
        .map_or(line, |end| &line[..end]);
    if line.chars().count() <= MAX_TITLE_CHARACTERS {
        return cut_at_word(line, MAX_TITLE_CHARACTERS);
    }
    // A clause that is whole says more than a longer one that is cut.
    let room = line
        .char_indices()
        .nth(MAX_TITLE_CHARACTERS)
        .map_or(line.len(), |(at, _)| at);
    let cut = FURTHER_CLAUSES.iter().find_map(|clause| {
        let end = line[..room].rfind(clause)?;
        let is_within = line[..end].matches('(').count() > line[..end].matches(')').count();
        (!is_within && line[..end].chars().count() >= MIN_CUT_CHARACTERS).then_some(end)
    });
    match cut {
        Some(end) => line[..end].to_string(),
        None => cut_at_word(line, MAX_TITLE_CHARACTERS),
    }
}

/// Returns the prompts of people that say more than to go on.
pub(super) fn requests<'n>(
    notes: &'n Notes,
    agents: &AgentConventions,
) -> impl Iterator<Item = (&'n Step, &'n str)> {
    let is_program_text = agents.is_program_text;
    super::prompts(notes).filter(move |(_, text)| !is_program_text(text) && !said::is_go_on(text))
}

/// Returns what a prompt asks for, as a short line; `None` where it does not say.
fn requested(prompt: &str) -> Option<String> {
    let mut lines = prompt
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    lines.find_map(|line| {
        let line = without_tag(line);
        if let Some(role) = role(line) {
            return Some(plain_text(first_sentence(role)));
        }
        if is_pasted(line) {
            return None;
        }
        let line = without_command(line).filter(|line| !is_address(line))?;
        let line = line
            .trim_start_matches(['#', '*', '-', '>', ' '])
            .trim_end_matches(':');
        let line = without_polite(line);
        let sentence = first_sentence(line);
        is_informative(sentence).then(|| plain_text(sentence))
    })
}

fn first_line(prompt: &str) -> Option<String> {
    let mut lines = prompt.lines().map(str::trim);
    let line = lines.find(|line| line.chars().any(char::is_alphabetic))?;
    Some(plain_text(line.trim_start_matches('/')))
}

/// Returns the role that a program gives the agent: `You are a release manager.`
fn role(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("You are ")?;
    let rest = ["a ", "an ", "the "]
        .iter()
        .find_map(|article| rest.strip_prefix(article))?;
    is_informative(rest).then_some(rest)
}

fn is_address(line: &str) -> bool {
    line.trim_start_matches('[').starts_with("http") && !line.contains(' ')
}

/// Returns an address by what people know it by: `https://host/owner/repo/issues/5#note` is `owner/repo/issues/5`.
fn short_address(word: &str) -> String {
    let bare = word.trim_start_matches(['[', '(', '<']);
    let address = bare
        .strip_prefix("https://")
        .or_else(|| bare.strip_prefix("http://"));
    let Some(address) = address else {
        return word.to_string();
    };
    let end = address
        .find([']', ')', '>', '#', '?'])
        .unwrap_or(address.len());
    let parts: Vec<&str> = address[..end].trim_end_matches('/').split('/').collect();
    // The host says little, unless there is nothing else.
    parts[usize::from(parts.len() > 1)..].join("/")
}

/// Returns a line without the tag that it begins with: programs frame what they ask.
fn without_tag(line: &str) -> &str {
    let tag = line.strip_prefix('<').and_then(|rest| rest.split_once('>'));
    match tag {
        Some((name, rest)) if name.starts_with(char::is_alphabetic) => {
            let closing = format!("</{name}>");
            rest.strip_suffix(closing.as_str()).unwrap_or(rest).trim()
        }
        _ => line,
    }
}

/// Returns a prompt without the slash command that it begins with; `None` where nothing else is there.
fn without_command(line: &str) -> Option<&str> {
    match line.strip_prefix(['/', '$']) {
        Some(rest) if rest.starts_with(char::is_alphabetic) => {
            let (name, arguments) = rest.split_once(char::is_whitespace)?;
            // A path is no command.
            if name.contains('/') {
                Some(line)
            } else {
                Some(arguments.trim())
            }
        }
        _ => Some(line),
    }
}

/// Returns whether a line is output, code or a frame, not a person's words.
fn is_pasted(line: &str) -> bool {
    let is_console = line.contains(":\\") && line.contains('>')
        || line.starts_with("$ ")
        || line.starts_with("PS ");
    let is_tag = line.starts_with('<')
        || line.starts_with("```")
        || line.starts_with('{')
        || line.starts_with('[');
    let letters = line.chars().filter(|letter| letter.is_alphabetic()).count();
    let all = line
        .chars()
        .filter(|letter| !letter.is_whitespace())
        .count();
    let is_output = line.starts_with(['•', '⨯', '✓', '✗', '│', '└', '├'])
        || [
            "Cloning ",
            "remote: ",
            "fatal: ",
            "error: ",
            "warning: ",
            "npm ",
        ]
        .iter()
        .any(|opening| line.starts_with(opening));
    is_console
        || is_tag
        || is_output
        || is_address(line)
        || letters * 2 < all
        || FRAMES
            .iter()
            .any(|frame| line.to_lowercase().starts_with(frame))
}

/// Lines that announce what follows.
const FRAMES: &[&str] = &[
    "implement the following plan",
    "this session is being continued",
    "caveat:",
    "base directory for this skill",
    "you are ",
];

fn without_polite(line: &str) -> &str {
    let mut rest = line.trim();
    loop {
        let lower = rest.to_lowercase();
        let shorter = POLITE.iter().chain(PREAMBLES).find_map(|words| {
            // Lower case may be of another length in other scripts.
            let after = lower
                .strip_prefix(words)
                .and_then(|_| rest.get(words.len()..))?;
            after
                .starts_with([' ', ',', '.', '!', ':', '-'])
                .then(|| after.trim_start_matches([' ', ',', '.', '!', ':', '-']))
        });
        match shorter {
            Some(shorter) if shorter.chars().any(char::is_alphabetic) => rest = shorter,
            _ => return rest,
        }
    }
}

/// Returns the first sentence of a line, without its full stop. Very short ones are taken together with the next.
fn first_sentence(line: &str) -> &str {
    let enough = |end: &usize| *end >= 12;
    let end = sentence_ends(line).find(enough);
    end.map_or(line, |end| &line[..end])
}

/// Returns where sentences of a line end, before their full stops. A dot within a name or an address ends none.
fn sentence_ends(line: &str) -> impl Iterator<Item = usize> {
    let ends = line.char_indices().filter(|(at, letter)| {
        let rest = &line[at + letter.len_utf8()..];
        match letter {
            '.' | '!' | '?' | ';' => rest.is_empty() || rest.starts_with(' '),
            '。' => true,
            _ => false,
        }
    });
    ends.map(|(at, _)| at)
}

/// Returns the sentences of a line.
pub(super) fn sentences(line: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for end in sentence_ends(line).chain([line.len()]) {
        // A question keeps its mark, by which it is known.
        let stop = line[end..].chars().next().filter(|mark| *mark == '?');
        let sentence = &line[start..end + stop.map_or(0, char::len_utf8)];
        if sentence.chars().any(char::is_alphabetic) {
            sentences.push(sentence.trim());
        }
        start = end + line[end..].chars().next().map_or(0, char::len_utf8);
    }
    sentences
}

/// Returns whether a line has enough words to say what something is about.
fn is_informative(line: &str) -> bool {
    let words = line
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| word.chars().count() >= 3);
    let wide = line
        .chars()
        .filter(|letter| *letter as u32 >= 0x2e80)
        .count();
    let vague = [
        "yes and yes",
        "continue from where",
        "can we continue from",
        "fix all",
        "commit this",
        "do it",
        "fix this",
        "fix it",
        "what do you think",
        "are you sure",
    ];
    let lower = line.to_lowercase();
    !vague
        .iter()
        .any(|words| lower.starts_with(words) && lower.len() < words.len() + 12)
        && (words.count() >= 3 || wide >= 4)
}

pub(super) fn plain_text(line: &str) -> String {
    let words: Vec<String> = line.split_whitespace().map(short_address).collect();
    words.join(" ").replace("**", "")
}

pub(super) fn cut_at_word(line: &str, most: usize) -> String {
    if line.chars().count() <= most {
        return line.trim_end_matches(['.', ',', ' ', ':']).to_string();
    }
    let cut: String = line.chars().take(most - 1).collect();
    let end = cut
        .rfind(' ')
        .filter(|end| *end > most / 2)
        .unwrap_or(cut.len());
    format!(
        "{}…",
        cut[..end].trim_end_matches([',', '.', ';', ':', ' ', '('])
    )
}

#[cfg(test)]
mod tests {
    use super::super::Story;
    use super::*;
    use crate::conventions::KNOWN_AGENTS;

    fn check_title(tell: impl Fn(&mut Story), expected: &str) {
        let mut story = Story::default();
        tell(&mut story);
        assert_eq!(
            title(&story.notes, &KNOWN_AGENTS).as_deref(),
            Some(expected)
        );
    }

    #[test]
    fn a_title_says_what_was_asked() {
        for (prompt, expected) in [
            (
                "Can you please add a retry to the upload? It fails a lot.",
                "add a retry to the upload",
            ),
            (
                "ok, let's completely remove `session trailer`",
                "completely remove `session trailer`",
            ),
            (
                "/plan right now, we detect conflicts too late",
                "we detect conflicts too late",
            ),
            (
                "While looking at the logs I noticed a few fields about tokens that nobody reads at all, can you try to make some sense of them",
                "a few fields about tokens that nobody reads at all",
            ),
            (
                "/review https://github.com/ada/shop/pull/6/files",
                "review ada/shop/pull/6/files",
            ),
            (
                "You are a release manager of a small shop. You write notes.",
                "release manager of a small shop",
            ),
            (
                "Implement the following plan:\n\n# Track tokens per checkpoint\n\n## Context",
                "Track tokens per checkpoint",
            ),
            (
                "PS C:\\Users\\x> cd shop\nwhy does the build fail on Windows",
                "why does the build fail on Windows",
            ),
            (
                "fn main() {}\n{}\nexplain what this program does",
                "explain what this program does",
            ),
        ] {
            check_title(
                |story| {
                    story.prompt(prompt);
                },
                expected,
            );
        }
    }

    #[test]
    fn what_a_program_says_is_no_title() {
        let told = |prompt: &str| {
            let mut story = Story::default();
            story.prompt(prompt);
            title(&story.notes, &KNOWN_AGENTS)
        };
        assert_eq!(told("Stop hook feedback:\nrun it again and again"), None);
        assert_eq!(
            told("<task>Review the parser for loops</task>").as_deref(),
            Some("Review the parser for loops")
        );
    }

    #[test]
    fn a_vague_request_is_named_by_what_came_of_it() {
        check_title(
            |story| {
                story
                    .prompt("yes and yes")
                    .run(
                        "git commit -m 'Retry failed uploads'",
                        "[main 1234567] Else",
                        0,
                    )
                    .reply("Done.");
            },
            "Retry failed uploads",
        );
        check_title(
            |story| {
                story
                    .prompt("/review")
                    .reply("What?")
                    .prompt("check the parser for quadratic loops");
            },
            "check the parser for quadratic loops",
        );
    }
}

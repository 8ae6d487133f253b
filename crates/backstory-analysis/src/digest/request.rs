//! The request in a prompt: what is asked for, without politeness, pasted output and frames.

use super::sentence::{first_sentence, plain_text};
use crate::text;

/// Openings that say where something was seen, and not what.
#[rustfmt::skip]
const PREAMBLES: &[&str] = &[
    "look at the changes in this branch", "take a look at the changes in this branch", "while looking at the logs", "looking at the logs", "looking at this again",
    "in this branch",
];

/// Openings that ask politely, and say nothing of what for.
#[rustfmt::skip]
const POLITE: &[&str] = &[
    "can you please", "could you please", "would you please", "can you help me to", "can you help me", "can you", "could you", "would you", "please",
    "i want you to", "i would like you to", "i'd like you to", "i need you to", "i want to", "i would like to", "i'd like to", "i need to",
    "we need to", "we want to", "let's", "lets", "hi", "hello", "hey", "ok", "okay", "yes", "no", "great", "perfect", "thanks", "alright", "now", "so", "and",
    "also", "next", "help me to", "help me", "right now", "well", "i think we should", "i think", "then", "you need to", "your task is to", "i've noticed that", "i've noticed", "but",
    "i noticed that", "i noticed", "can it be that", "i wonder if", "i feel", "it seems", "independently", "first", "for now", "maybe", "quick", "just",
];

/// Tags in which programs hand over what somebody asked. What stands in others is not asked: reminders, notices, results.
pub(super) const TASK_TAGS: &[&str] = &["<task>", "<request>", "<user_request>", "<prompt>"];

/// Returns what a prompt asks for, as a short line; `None` where it does not say.
pub(super) fn requested(prompt: &str) -> Option<String> {
    // A task may stand in a tag; what stands in others, behind what was asked, is not asked.
    let is_task = TASK_TAGS
        .iter()
        .any(|tag| prompt.trim_start().starts_with(tag));
    let own: Vec<&str> = match is_task {
        true => prompt.lines().map(str::trim).collect(),
        false => text::prose_lines(prompt).collect(),
    };
    let mut lines = own.into_iter().filter(|line| !line.is_empty());
    lines.find_map(|line| {
        let line = if is_task { without_tag(line) } else { line };
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
        let line = without_polite(behind_observation(without_polite(line)));
        let sentence = first_sentence(line);
        is_informative(sentence).then(|| plain_text(sentence))
    })
}

pub(super) fn first_line(prompt: &str) -> Option<String> {
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
            "--- ",
            "FAIL",
            "ok  ",
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

/// Words behind which stands what somebody noticed or wonders.
#[rustfmt::skip]
const OBSERVATIONS: &[&str] = &[
    "noticed that ", "noticed an issue that ", "noticed a bug that ", "issue is that ", "problem is that ", "wondering if ", "wonder if ", "seeing that ",
];

/// Number of bytes in which the words of an observation are looked for.
const MAX_OBSERVATION_BYTES: usize = 80;

/// Returns what somebody noticed, without where and when.
fn behind_observation(line: &str) -> &str {
    let beginning = text::beginning(line, MAX_OBSERVATION_BYTES);
    let behind = OBSERVATIONS.iter().find_map(|words| {
        let end = beginning.find(words)? + words.len();
        Some(&line[end..])
    });
    behind.filter(|rest| is_informative(rest)).unwrap_or(line)
}

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

/// Returns whether a line has enough words to say what something is about.
pub(super) fn is_informative(line: &str) -> bool {
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

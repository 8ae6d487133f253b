//! Deliveries: commits, pushes, pull requests, merges, tags and releases.

use super::nested::{here_body, here_operator};
use super::shell::ShellCommand;
use crate::text;

/// Maximum length of a subject in bytes.
const MAX_SUBJECT_BYTES: usize = 200;

/// Kind of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeliveryKind {
    /// A commit.
    Commit,
    /// A push of commits or tags.
    Push,
    /// A new pull request or merge request.
    PullRequest,
    /// A merge of a branch or of a pull request.
    Merge,
    /// A new tag.
    Tag,
    /// A release, or a package that is published.
    Release,
}

/// Command that hands work on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Kind of it.
    pub kind: DeliveryKind,
    /// First line of the commit's message, title of the pull request, branch, or name of the tag, if the command names it.
    pub subject: Option<String>,
    /// Folder that the line names for it.
    pub folder: Option<String>,
    /// It changes the last commit instead of adding one.
    pub is_amend: bool,
}

impl Delivery {
    /// Returns the delivery that a command makes, if it makes one. Dry runs and removals are none.
    pub fn find(command: &ShellCommand) -> Option<Delivery> {
        let arguments = command.words.get(1..)?;
        let has = |options: &[&str]| {
            arguments
                .iter()
                .any(|word| options.contains(&word.as_str()))
        };
        if has(&["--help", "--dry-run"]) {
            return None;
        }
        let (kind, subject) = match command.program() {
            "git" => git_delivery(command, verb_arguments(arguments, GIT_VALUED))?,
            "jj" => jj_delivery(verb_arguments(arguments, &["-R", "--repository"]))?,
            "hg" => hg_delivery(verb_arguments(arguments, &["-R", "--cwd"]))?,
            "gh" | "glab" | "hub" => forge_delivery(command.program(), arguments)?,
            "npm" | "pnpm" | "yarn" | "bun" | "cargo" | "poetry" | "uv" => {
                let verb = arguments
                    .iter()
                    .find(|word| !word.starts_with(['-', '+']))?;
                (verb == "publish").then_some((DeliveryKind::Release, None))?
            }
            "twine" if has(&["upload"]) => (DeliveryKind::Release, None),
            _ => return None,
        };
        Some(Delivery {
            kind,
            subject: subject.and_then(|subject| first_line(&subject)),
            folder: command.folder.clone(),
            is_amend: kind == DeliveryKind::Commit && amends(arguments),
        })
    }
}

/// Returns whether `--amend` is among the options, and not a message.
fn amends(arguments: &[String]) -> bool {
    let before = |at: usize| at.checked_sub(1).and_then(|at| arguments.get(at));
    let mut words = arguments.iter().enumerate();
    words.any(|(at, word)| {
        word == "--amend"
            && before(at).is_none_or(|before| !matches!(before.as_str(), "-m" | "--message"))
    })
}

type Found = (DeliveryKind, Option<String>);

/// Options before git's verb whose value is a word of its own.
const GIT_VALUED: &[&str] = &[
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--exec-path",
];

/// Returns the words from the verb on, behind the options of the program itself.
fn verb_arguments<'a>(arguments: &'a [String], valued: &[&str]) -> &'a [String] {
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        if !word.starts_with('-') {
            break;
        }
        at += 1 + usize::from(valued.contains(&word.as_str()));
    }
    arguments.get(at..).unwrap_or_default()
}

fn git_delivery(command: &ShellCommand, words: &[String]) -> Option<Found> {
    let (verb, arguments) = words.split_first()?;
    let has = |options: &[&str]| {
        arguments
            .iter()
            .any(|word| options.contains(&word.as_str()))
    };
    let target = || {
        arguments
            .iter()
            .find(|word| !word.starts_with('-'))
            .cloned()
    };
    match verb.as_str() {
        "commit" => {
            let file = option_value(arguments, "-F", "--file");
            let message = option_value(arguments, "-m", "--message");
            let here = command
                .here_text
                .clone()
                .filter(|_| file.as_deref() == Some("-"));
            Some((DeliveryKind::Commit, message.or(here)))
        }
        "push" if has(&["-n", "--delete", "-d"]) => None,
        // `git push origin :branch` removes it.
        "push" if arguments.iter().any(|word| word.starts_with(':')) => None,
        "push" => {
            let named = arguments.iter().filter(|word| !word.starts_with('-'));
            Some((DeliveryKind::Push, named.skip(1).last().cloned()))
        }
        "merge" if has(&["--abort", "--quit"]) => None,
        "merge" => {
            const VALUED: &[&str] = &["-m", "-s", "-X", "-F", "--strategy"];
            let before = |at: usize| at.checked_sub(1).and_then(|at| arguments.get(at));
            let is_branch = |(at, word): &(usize, &String)| {
                !word.starts_with('-')
                    && before(*at).is_none_or(|word| !VALUED.contains(&word.as_str()))
            };
            let branch = arguments.iter().enumerate().find(is_branch);
            Some((DeliveryKind::Merge, branch.map(|(_, word)| word.clone())))
        }
        "tag"
            if has(&[
                "-d",
                "--delete",
                "-l",
                "--list",
                "-n",
                "-v",
                "--verify",
                "--contains",
                "--points-at",
                "--merged",
            ]) =>
        {
            None
        }
        "tag" => {
            let is_asked = |word: &String| {
                word.starts_with("--sort") || word.starts_with("--format") || word.starts_with("-n")
            };
            let name = target()?;
            (!arguments.iter().any(is_asked)).then_some((DeliveryKind::Tag, Some(name)))
        }
        _ => None,
    }
}

fn jj_delivery(words: &[String]) -> Option<Found> {
    let (verb, arguments) = words.split_first()?;
    let message = || option_value(arguments, "-m", "--message");
    match verb.as_str() {
        "commit" | "ci" => Some((DeliveryKind::Commit, message())),
        "describe" | "desc" => message().map(|message| (DeliveryKind::Commit, Some(message))),
        "git" if arguments.first().is_some_and(|word| word == "push") => Some((
            DeliveryKind::Push,
            option_value(arguments, "-b", "--bookmark"),
        )),
        _ => None,
    }
}

fn hg_delivery(words: &[String]) -> Option<Found> {
    let (verb, arguments) = words.split_first()?;
    match verb.as_str() {
        "commit" | "ci" => Some((
            DeliveryKind::Commit,
            option_value(arguments, "-m", "--message"),
        )),
        "push" => Some((DeliveryKind::Push, None)),
        _ => None,
    }
}

/// Commands of `gh`, `glab` and `hub`.
fn forge_delivery(program: &str, arguments: &[String]) -> Option<Found> {
    let words = verb_arguments(arguments, &["-R", "--repo"]);
    let mut words = words.iter().map(String::as_str);
    let kind = match (program, words.next()?, words.next()) {
        ("hub", "pull-request", _) => DeliveryKind::PullRequest,
        ("gh", "pr", Some("create" | "new")) => DeliveryKind::PullRequest,
        ("glab", "mr", Some("create" | "new")) => DeliveryKind::PullRequest,
        ("gh", "pr", Some("merge")) | ("glab", "mr", Some("merge" | "accept")) => {
            DeliveryKind::Merge
        }
        ("gh" | "glab" | "hub", "release", Some("create")) => DeliveryKind::Release,
        _ => return None,
    };
    if arguments
        .iter()
        .any(|word| word == "--web" || word == "--disable-auto")
    {
        return None;
    }
    let subject = match kind {
        DeliveryKind::PullRequest => option_value(arguments, "-t", "--title")
            .or_else(|| option_value(arguments, "-m", "--message")),
        // `gh pr merge 5`, `gh release create v1`.
        _ => words
            .next()
            .filter(|word| !word.starts_with('-'))
            .map(str::to_string),
    };
    Some((kind, subject))
}

/// Returns the value of an option, in its own word or not: `-m x`, `-mx`, `-am x`, `--message=x`.
fn option_value(arguments: &[String], short: &str, long: &str) -> Option<String> {
    let letter = short.trim_start_matches('-');
    let mut words = arguments.iter().peekable();
    while let Some(word) = words.next() {
        if word == "--" {
            return None;
        }
        if word == long || word == short {
            return words.peek().map(|value| (*value).clone());
        }
        if let Some(value) = word
            .strip_prefix(long)
            .and_then(|rest| rest.strip_prefix('='))
        {
            return Some(value.to_string());
        }
        let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let Some((before, value)) = letters.and_then(|letters| letters.split_once(letter)) else {
            continue;
        };
        // Letters before it are options without a value: `-am`, `-sm`.
        if before.len() <= 4 && before.bytes().all(|byte| b"aqsvneipo".contains(&byte)) {
            return match value.is_empty() {
                true => words.peek().map(|value| (*value).clone()),
                false => Some(value.trim_start_matches('=').to_string()),
            };
        }
    }
    None
}

/// Returns the first line of a message, also of one that a substitution prints from a here-document.
fn first_line(message: &str) -> Option<String> {
    let body = match message.trim_start().strip_prefix("$(") {
        Some(inside) => here_text(inside)?,
        None => message,
    };
    let line = body.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(text::beginning(line, MAX_SUBJECT_BYTES).to_string())
}

/// Returns the body of the here-document in `cat <<EOF`.
fn here_text(inside: &str) -> Option<&str> {
    let operator = inside.lines().next()?.find("<<")?;
    let (here, end) = here_operator(inside, operator + 2);
    let start = end + inside.get(end..)?.find('\n')? + 1;
    let (body_end, _) = here_body(inside, start, &here?, true);
    inside.get(start..body_end)
}

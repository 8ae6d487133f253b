//! Errors in outputs: the most informative line, and the signature that the same error has elsewhere.

use crate::{AgentConventions, text};

/// Bytes of an output that are read, at its beginning and at its end.
const MOST_READ: usize = 8 << 10;

/// Maximum length of an informative line in bytes.
const MOST_TOLD: usize = 200;

/// Scores of lines that have these words, the most informative first.
const TELLING: &[&str] = &[
    "error[",
    "panicked at",
    "error:",
    "fatal:",
    "exception:",
    "error ",
    "assertion",
    "command not found",
    "no such file",
    "cannot find",
    "not found",
    "permission denied",
    "denied",
    "failed",
    "cannot",
    "could not",
    "unable to",
    "timed out",
    "timeout",
    "refused",
    "invalid",
    "undefined",
    "unexpected",
    "missing",
    "not recognized",
    "does not exist",
];

/// Lines that only say that something went wrong, of which another line tells more.
const EMPTY: &[&str] = &[
    "exit code",
    "exit status",
    "exited with",
    "task failed",
    "elifecycle",
    "make: ***",
    "npm err! code",
    "error: recipe",
    "command failed",
    "could not compile",
    "error: test failed",
    "process completed",
    " info ",
    " debug ",
    "level=info",
];

/// The line of an output that tells most of what went wrong.
pub(crate) fn telling(output: &str, agents: &AgentConventions) -> String {
    let output = (agents.unframed_output)(output);
    let plain = if output.len() <= 2 * MOST_READ {
        text::without_escapes(output)
    } else {
        let (start, end) = (
            text::beginning(output, MOST_READ),
            text::ending(output, MOST_READ),
        );
        text::without_escapes(&format!("{start}\n{end}"))
    };
    // Frames and rulers tell nothing.
    let says = |line: &&str| line.chars().filter(|letter| letter.is_alphabetic()).count() > 3;
    let lines = || plain.lines().map(str::trim).filter(says);
    let rank = |line: &str| {
        let lower = line.to_lowercase();
        let empty = EMPTY.iter().any(|words| lower.contains(words));
        let echo = lower.starts_with("$ ") || lower.starts_with("> ") || lower.contains("] $ ");
        if empty || echo {
            return TELLING.len() + 2;
        }
        // Linters and compilers say where: `src/a.go:12:3: …`.
        let place = usize::from(!has_place(line));
        TELLING
            .iter()
            .position(|words| lower.contains(words))
            .unwrap_or(TELLING.len() + place)
    };
    // Python's own kind of errors stands last: `ValueError: …`.
    let python = lines()
        .any(|line| line.starts_with("Traceback"))
        .then(|| lines().next_back())
        .flatten();
    let best = python
        .or_else(|| lines().min_by_key(|line| rank(line)))
        .unwrap_or_default();
    let mut told = (agents.without_error_tags)(best);
    // Rust says where on one line and what on the next.
    if best.ends_with(':')
        && let Some(next) = lines().skip_while(|line| *line != best).nth(1)
    {
        told = format!("{told} {next}");
    }
    text::beginning(&told, MOST_TOLD).to_string()
}

/// Errors of the shell in what the agent typed.
#[rustfmt::skip]
const SHELL_ERRORS: &[&str] = &[
    "syntax error", "parse error near", "unexpected eof", "unexpected end of file", "no matches found", "unmatched \"", "unmatched '", "event not found",
    "bad substitution", "unterminated quoted string", "no such file or directory",
];

/// Returns whether a line is the shell's about what was typed, or a path that was guessed.
pub(crate) fn is_of_shell(said: &str) -> bool {
    let lower = said.to_lowercase();
    SHELL_ERRORS.iter().any(|words| lower.contains(words))
}

/// Lines that only name an exit code.
const EXIT_CODES: &[&str] = &["exit code ", "exited with "];

/// Lines that say that all is well.
#[rustfmt::skip]
const WELL: &[&str] = &[
    "0 issues", "--- pass", "=== run", "finished in", "[no test files]", "finished `", "test result: ok", "all checks passed", "no issues found",
    "ok ", "pass ", "passed", "compiling ", "running ",
];

/// Returns whether a line says what went wrong, for more than the moment.
pub(crate) fn is_informative(told: &str, agents: &AgentConventions) -> bool {
    let lower = told.trim().to_lowercase();
    let is_well = WELL.iter().any(|words| lower.starts_with(words));
    let words = lower.split_whitespace().count();
    let says_error = TELLING.iter().any(|words| lower.contains(words));
    words > 1
        && !is_well
        && !EXIT_CODES.iter().any(|words| lower.starts_with(words))
        && !(agents.is_tool_slip)(told)
        && !is_log_line(&lower)
        && !OF_RUNNERS.iter().any(|words| lower.contains(words))
        && (says_error || has_place(&lower))
}

/// Words of shells and task runners about a call that was wrong, or about a task that failed for a reason of its own.
const OF_RUNNERS: [&str; 4] = [
    "error task failed",
    "error no task ",
    "(eval):",
    "recipe for target",
];

/// Words of compilers, which say that something does not compile and nothing of what it does.
#[rustfmt::skip]
const COMPILER_WORDS: &[&str] = &[
    "undefined:", "cannot use ", "imported and not used", "declared and not used", "expected '", "syntax error", "syntaxerror", "error[e", "error ts",
    "not enough arguments", "too many arguments", "is not a type", "could not import", "no required module", "has no field or method", "cannot find ",
    "unexpected token", "mismatched types", "indentationerror", "unresolved import", "expected declaration", "redeclared in this block", "missing return",
    "assignment mismatch", "build failed", "has no member", "cannot find symbol", "is not assignable",
];

/// Returns whether a compiler said it.
pub(super) fn is_of_compiler(told: &str) -> bool {
    let lower = told.to_lowercase();
    COMPILER_WORDS.iter().any(|words| lower.contains(words))
}

/// Returns whether a line was logged below the level of an error.
fn is_log_line(line: &str) -> bool {
    let starts_with_date = line.starts_with(|letter: char| letter.is_ascii_digit());
    let levels = [" info ", " debug ", " trace "];
    starts_with_date && levels.iter().any(|level| line.contains(level))
}

/// Returns whether a line begins with a place in a file.
fn has_place(line: &str) -> bool {
    let mut parts = line.split(':').skip(1);
    let is_number = |part: Option<&str>| {
        part.is_some_and(|part| {
            !part.is_empty() && part.chars().all(|letter| letter.is_ascii_digit())
        })
    };
    is_number(parts.next())
}

/// Returns what an error has in common with the same one elsewhere: paths, numbers, names in quotes and ids are taken out.
pub fn signature(told: &str) -> String {
    let mut kept: Vec<String> = Vec::new();
    let mut quoted = false;
    for word in told.split_whitespace() {
        let opens = word.starts_with(['\'', '"', '`']) && !quoted;
        let closes = word
            .trim_end_matches(['.', ',', ':', ';', ')', ']'])
            .ends_with(['\'', '"', '`']);
        if quoted || opens {
            if opens {
                kept.push("…".to_string());
            }
            quoted = !closes || (opens && word.len() == 1);
            continue;
        }
        let common = common(word);
        // Several of a kind are as good as one.
        if kept.last() != Some(&common) || common != "…" {
            kept.push(common);
        }
    }
    text::beginning(&kept.join(" ").to_lowercase(), 160).to_string()
}

/// A word, or what stands for it if it differs from case to case.
fn common(word: &str) -> String {
    let bare = word.trim_matches(|letter: char| ".,:;()[]{}<>".contains(letter));
    let digits = bare.chars().filter(char::is_ascii_digit).count();
    let is_path = bare.contains('/') && bare.len() > 2 || bare.contains('\\');
    let is_file = bare.rsplit_once('.').is_some_and(|(name, extension)| {
        !name.is_empty()
            && (1..=5).contains(&extension.len())
            && extension.chars().all(char::is_alphanumeric)
            && !extension.chars().all(|letter| letter.is_ascii_digit())
    });
    let is_id = bare.len() >= 7
        && digits > 0
        && bare
            .chars()
            .all(|letter| letter.is_ascii_hexdigit() || letter == '-');
    let is_number = digits > 0
        && bare.chars().all(|letter| {
            letter.is_ascii_digit()
                || ".,:%x-+".contains(letter)
                || letter.is_ascii_alphabetic()
                    && bare.len() - digits <= 2
                    && !bare.starts_with(|first: char| first.is_ascii_alphabetic())
        });
    if is_path || is_file || is_id || is_number || bare.contains(['\'', '"', '`']) {
        "…".to_string()
    } else {
        word.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conventions::KNOWN_AGENTS;

    #[test]
    fn the_line_that_tells_most_is_chosen() {
        let check = |output: &str, expect: &str| assert_eq!(telling(output, &KNOWN_AGENTS), expect);
        check(
            "Compiling shop\nerror[E0432]: unresolved import `a::b`\n --> src/a.rs\nerror: could not compile",
            "error[E0432]: unresolved import `a::b`",
        );
        check(
            "thread 'main' panicked at src/a.rs:5:2:\nindex out of bounds\nnote: run with",
            "thread 'main' panicked at src/a.rs:5:2: index out of bounds",
        );
        check(
            "Traceback (most recent call last):\n  File x\nValueError: bad",
            "ValueError: bad",
        );
        check(
            "<tool_use_error>File has not been read yet.</tool_use_error>",
            "File has not been read yet.",
        );
        check(
            "line one\n\u{1b}[31mfatal: not a git repository\u{1b}[0m",
            "fatal: not a git repository",
        );
        check("", "");
    }

    #[test]
    fn the_same_error_has_the_same_signature() {
        let check = |a: &str, b: &str, same: bool| {
            assert_eq!(
                signature(a) == signature(b),
                same,
                "{} | {}",
                signature(a),
                signature(b)
            );
        };
        check(
            "error[E0432]: unresolved import `a::b`",
            "error[E0432]: unresolved import `c`",
            true,
        );
        check(
            "error[E0432]: unresolved import `a::b`",
            "error[E0433]: unresolved import `a::b`",
            false,
        );
        check(
            "ls: cannot access 'types/': No such file",
            "ls: cannot access 'my file.txt': No such file",
            true,
        );
        check(
            "cat: src/a.rs: No such file or directory",
            "cat: /tmp/x/b.py: No such file or directory",
            true,
        );
        check(
            "bash: line 1: rg: command not found",
            "bash: line 12: rg: command not found",
            true,
        );
        check(
            "bash: line 1: rg: command not found",
            "bash: line 1: fd: command not found",
            false,
        );
        check("exit code 1 after 20ms", "exit code 2 after 35ms", true);
    }
}

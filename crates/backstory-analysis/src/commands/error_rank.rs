//! Ranks of lines by what they say about a failure.

use super::check::CheckFamily;
use super::place::place_end;

/// Rank of lines that only say that something failed.
const EMPTY_RANK: u8 = 9;

/// Beginnings of lines that say nothing of a failure.
const NOISE_STARTS: &[&str] = &[
    "ok ",
    "ok\t",
    "PASS",
    "=== RUN",
    "=== PAUSE",
    "=== CONT",
    "--- PASS",
    "--- SKIP",
    "RUN ",
    "0 issues",
    "0 errors",
    "Finished in",
    "Finished `",
    "$ ",
    "> ",
    "✓",
    "✔",
    "√",
    "Compiling ",
    "Checking ",
    "Downloading ",
    "running ",
    "test result: ok",
    "Success",
    "All checks passed",
    "Build succeeded",
    "BUILD SUCCESSFUL",
    "Exit code",
    "exit status",
    "? ",
    "?\t",
    "-->",
    "= note:",
    "= help:",
    "help:",
    "note:",
    "warning: build failed",
];

/// Parts of lines that say nothing of a failure.
const NOISE_PARTS: &[&str] = &[
    "[no test files]",
    "Sibling tool call errored",
    "] $ ",
    " 0 failed",
    "Time elapsed",
    "... ok",
    " PASSED",
    "0 Error(s)",
    "no issues found",
    "(cached)",
];

/// Parts of lines that only say that something failed, of which another line says more.
const EMPTY_PARTS: &[&str] = &[
    "could not compile",
    "error: test failed",
    "ELIFECYCLE",
    "ERROR task failed",
    "error Command failed",
    "error: Recipe `",
    "npm ERR!",
    "npm error",
    "make: ***",
    "exited with code",
    "BUILD FAILED",
    "exit code",
    "exit status",
    "Build failed with an exception",
    "error: process didn't exit successfully",
    "Lifecycle script",
    "husky - ",
    "test result: FAILED",
    "recipe for target",
    "errors generated",
    "error: aborting due to",
];

/// Words of errors, in lower case.
const ERROR_WORDS: &[&str] = &[
    "failed",
    "cannot",
    "could not",
    "not found",
    "no such file",
    "denied",
    "unable to",
    "timed out",
    "refused",
    "invalid",
    "undefined",
    "unexpected",
    "missing",
    "does not exist",
    "rejected",
    "conflict",
    "fatal",
    "error",
];

/// Returns the rank of a line, the most telling first, or nothing if it says nothing.
pub(super) fn line_rank(line: &str, trimmed: &str, family: Option<CheckFamily>) -> Option<u8> {
    if trimmed
        .chars()
        .filter(|letter| letter.is_alphabetic())
        .take(4)
        .count()
        < 4
        || is_noise(line, trimmed)
    {
        return None;
    }
    if EMPTY_PARTS.iter().any(|part| trimmed.contains(part)) || is_count(trimmed) {
        return Some(EMPTY_RANK);
    }
    if is_log(trimmed) {
        return Some(7);
    }
    if let Some(rank) = test_rank(trimmed) {
        return Some(rank + u8::from(family != Some(CheckFamily::Test)));
    }
    let lower = trimmed.to_lowercase();
    let is_warning = lower.contains("warning") && !lower.contains("error");
    if trimmed.starts_with("error[E")
        || trimmed.contains("error TS")
        || trimmed.contains(": error CS")
    {
        return Some(0);
    }
    if let Some(end) = place_end(line) {
        let rest = line.get(end.text..).unwrap_or_default().trim();
        // The output of a search has places too, and code behind them.
        let says = end.has_column || lower.contains("error") || family.is_some();
        if !rest.is_empty() && says && !rest.starts_with(": #") {
            return Some(
                match (is_warning, end.has_column || lower.contains("error")) {
                    (true, _) => 4,
                    (false, true) => 1,
                    // Tests log with places too.
                    (false, false) if family == Some(CheckFamily::Test) => 5,
                    (false, false) => 2,
                },
            );
        }
    }
    let says_format = family == Some(CheckFamily::Format)
        && (trimmed.starts_with("Diff in ")
            || lower.starts_with("would reformat")
            || trimmed.starts_with("[warn] "));
    if is_rule(trimmed) || says_format {
        return Some(1);
    }
    if is_numbered(trimmed) {
        return Some(if is_warning { 4 } else { 1 });
    }
    let is_error = lower.starts_with("error:")
        || lower.starts_with("error ")
        || lower.starts_with("fatal:")
        || trimmed.starts_with("[ERROR]")
        || lower.starts_with("err:")
        || trimmed.starts_with("! [")
        || trimmed.starts_with("CONFLICT")
        || is_exception(trimmed);
    if is_error {
        return Some(2);
    }
    if is_warning {
        return Some(6);
    }
    ERROR_WORDS
        .iter()
        .any(|word| lower.contains(word))
        .then_some(5)
}

/// Rank of lines by which runners name a test that failed.
fn test_rank(line: &str) -> Option<u8> {
    let is_name = (line.starts_with("FAILED ") && line.contains("::"))
        || (line.starts_with("ERROR ") && line.contains(".py"))
        || line.starts_with("--- FAIL: ")
        || line.contains("panicked at ")
        || (line.starts_with("● ") && line.contains(" › "))
        || (line.starts_with("FAIL ") && line.contains(" > "))
        || line.ends_with(" [FAIL]")
        || line.starts_with("rspec ./")
        || line.starts_with("not ok ")
        || (line.starts_with("FAIL: ") || line.starts_with("ERROR: test"));
    if is_name {
        return Some(0);
    }
    let is_other = (line.starts_with("test ") && line.ends_with("... FAILED"))
        || (line.starts_with("Failed ") && line.ends_with(']'))
        || line.starts_with("E   ")
        || line.starts_with("AssertionError")
        || (line.starts_with("FAIL ") && line.contains('.'))
        || (line.starts_with("● "));
    is_other.then_some(1)
}

pub(super) fn is_noise(line: &str, trimmed: &str) -> bool {
    NOISE_STARTS.iter().any(|start| trimmed.starts_with(start))
        || NOISE_PARTS.iter().any(|part| trimmed.contains(part))
        || trimmed == "FAIL"
        || trimmed.starts_with("FAIL\t")
        || is_code_echo(line, trimmed)
}

/// Returns whether a line is source code that a compiler or runner prints: `12 | let x`, `> 3 | x`, `  File "a.py", line 3`.
fn is_code_echo(line: &str, trimmed: &str) -> bool {
    let bare = trimmed.trim_start_matches(['>', ' ']);
    let number = bare
        .trim_start_matches(|letter: char| letter.is_ascii_digit())
        .trim_start();
    let is_numbered = number.starts_with('|') || number.starts_with('│');
    let is_frame = trimmed.starts_with("File \"") && trimmed.contains(", line ");
    let is_stack = trimmed.starts_with("at ") && trimmed.ends_with(')');
    let is_mark = trimmed.trim_matches(['^', '~', '-', '|', ' ']).is_empty();
    // golangci-lint prints the code under a finding, indented by tabs.
    let is_code = line.starts_with('\t')
        && place_end(line).is_none()
        && trimmed.ends_with(['{', '}', ';', ')']);
    is_numbered || is_frame || is_stack || is_mark || is_code
}

/// Returns whether a line is a finding of eslint: `12:5  error  'x' is not defined  no-undef`.
pub(super) fn is_numbered(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let place = words.next().and_then(|word| word.split_once(':'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    place.is_some_and(|(line, column)| is_number(line) && is_number(column))
        && matches!(words.next(), Some("error" | "warning" | "✖"))
}

/// Returns whether a line begins with the code of a rule: `F401 unused import`, `SC2086 (info): …`.
fn is_rule(line: &str) -> bool {
    let code = line.split([' ', ':']).next().unwrap_or_default();
    let letters = code.bytes().take_while(u8::is_ascii_uppercase).count();
    let digits = code.len() - letters;
    (1..=5).contains(&letters)
        && (2..=4).contains(&digits)
        && code.bytes().skip(letters).all(|byte| byte.is_ascii_digit())
        && line.len() > code.len() + 4
}

/// Returns whether a line only counts findings: `Found 1 error.`, `3 issues:`, `✖ 2 problems (…)`.
fn is_count(line: &str) -> bool {
    let bare = line.trim_start_matches(['✖', ' ']);
    let bare = bare.strip_prefix("Found ").unwrap_or(bare);
    let mut words = bare.split_whitespace();
    let is_number = words.next().is_some_and(|word| word.parse::<u64>().is_ok());
    const COUNTED: &[&str] = &[
        "error", "errors", "issue", "issues", "problem", "problems", "files", "file", "warnings",
    ];
    is_number
        && words
            .next()
            .is_some_and(|word| COUNTED.contains(&word.trim_end_matches(['.', ':', ','])))
}

/// Returns whether a line begins with the name of an error: `ValueError: bad`, `java.lang.IllegalStateException: x`.
fn is_exception(line: &str) -> bool {
    let Some((name, _)) = line.split_once(": ") else {
        return false;
    };
    (name.ends_with("Error") || name.ends_with("Exception")) && !name.contains(' ')
}

/// Returns whether a line is that of a logger, below an error.
pub(super) fn is_log(line: &str) -> bool {
    [
        " INFO ",
        " DEBUG ",
        " WARN ",
        "level=info",
        "level=warn",
        "level=debug",
    ]
    .iter()
    .any(|level| line.contains(level))
}

//! The line of an output that says most about a failure.

use super::check::CheckFamily;
use super::error_rank::{is_log, is_noise, is_numbered, line_rank};
use super::place::place_end;
use crate::text;

/// Maximum length of an error line in bytes.
const MAX_ERROR_BYTES: usize = 200;

/// Lines of an output whose last line is told if no other says more.
const MAX_SHORT_LINES: usize = 5;

/// Lines of a test that are searched for its assertion.
const MAX_BLOCK_LINES: usize = 60;

/// Returns the line that says most about the failure of a check of a family, or of something else.
pub(super) fn error_line(lines: &[&str], family: Option<CheckFamily>) -> Option<String> {
    let mut best: Option<(u8, usize)> = None;
    let mut in_traceback = false;
    for (at, line) in lines.iter().enumerate() {
        let trimmed = line.trim();
        if trimmed.starts_with("Traceback (most recent call last)") {
            in_traceback = true;
            continue;
        }
        let mut rank = line_rank(line, trimmed, family);
        if in_traceback {
            // Frames and their code are indented; the error is not.
            if line.starts_with(' ') || trimmed.is_empty() {
                continue;
            }
            in_traceback = false;
            rank = Some(1);
        }
        if let Some(rank) = rank
            && best.is_none_or(|(other, _)| rank < other)
        {
            best = Some((rank, at));
        }
    }
    let Some((_, at)) = best else {
        return family.is_none().then(|| only_line(lines)).flatten();
    };
    let line = lines.get(at)?.trim();
    let next = lines
        .get(at + 1)
        .map(|next| next.trim())
        .unwrap_or_default();
    let told = match () {
        // Rust says where on one line and what on the next; Go names the test before the place.
        () if line.contains("panicked at ") && line.ends_with(':') => format!("{line} {next}"),
        () if line.starts_with("--- FAIL: ") => {
            let name = line.split(" (").next().unwrap_or(line);
            match failed_assertion(lines.get(at + 1..).unwrap_or_default()) {
                Some(assertion) => format!("{name}: {assertion}"),
                None => name.to_string(),
            }
        }
        // eslint names the file above its findings; rustc and ruff, on the next line.
        () if is_numbered(line) => match file_above(lines, at) {
            Some(file) => format!("{file}:{}", squeezed(line)),
            None => squeezed(line),
        },
        () => match next.strip_prefix("--> ") {
            Some(place) => format!("{line} ({place})"),
            None => line.trim_end_matches(['━', ' ']).to_string(),
        },
    };
    Some(text::beginning(&told, MAX_ERROR_BYTES).to_string())
}

/// Returns the last line of a short output, whatever it says.
fn only_line(lines: &[&str]) -> Option<String> {
    let says = |line: &&&str| line.chars().filter(|letter| letter.is_alphabetic()).count() > 3;
    let mut said = lines
        .iter()
        .filter(says)
        .filter(|line| !is_noise(line, line.trim()));
    let last = said.next_back()?;
    let is_short = said.count() < MAX_SHORT_LINES;
    is_short.then(|| text::beginning(last.trim(), MAX_ERROR_BYTES).to_string())
}

/// Returns the assertion that failed, of the indented lines behind the name of a test of Go.
fn failed_assertion<'a>(behind: &[&'a str]) -> Option<&'a str> {
    const WORDS: &[&str] = &[
        "want",
        "expected",
        "error",
        "got",
        "fail",
        "should",
        "unexpected",
    ];
    let block = behind.iter().take(MAX_BLOCK_LINES);
    let block = block.take_while(|line| line.starts_with([' ', '\t']) && !line.contains("--- "));
    let mut placed = block
        .map(|line| line.trim())
        .filter(|line| place_end(line).is_some());
    let is_assertion = |line: &&str| {
        let lower = line.to_lowercase();
        WORDS.iter().any(|word| lower.contains(word)) && !is_log(line)
    };
    placed.find(is_assertion)
}

fn file_above<'a>(lines: &[&'a str], at: usize) -> Option<&'a str> {
    let above = lines.get(..at)?.iter().rev().take(200);
    let file = above
        .map(|line| line.trim())
        .find(|line| !is_numbered(line))?;
    (file.contains('.') && !file.contains(' ')).then_some(file)
}

fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

//! Results in the output of commands: tests that passed and failed, builds that failed.

use crate::text;

/// Bytes that are read at the end of an output.
const MOST_READ: usize = 6 << 10;

/// Returns the numbers of tests that passed and failed, by the summary that their runner printed.
pub(crate) fn tests(output: &str) -> Option<(u64, u64)> {
    let plain = text::without_escapes(text::ending(output, MOST_READ));
    let (mut passed, mut failed, mut found) = (0, 0, false);
    for line in plain.lines() {
        let words: Vec<&str> = line
            .split(|letter: char| letter.is_whitespace() || ",;()|=[]".contains(letter))
            .filter(|word| !word.is_empty())
            .collect();
        // Whole test files, which jest and vitest count beside the tests.
        if matches!(words.first(), Some(&("Test" | "Suites:")))
            && matches!(words.get(1), Some(&("Files" | "Suites:")))
        {
            continue;
        }
        for pair in words.windows(2) {
            let (first, second) = (
                pair[0].trim_end_matches(':'),
                pair[1].trim_end_matches([':', '.']),
            );
            // `3 passed`, and of dotnet `Passed: 3`.
            let counted = match (first.parse::<u64>(), second.parse::<u64>()) {
                (Ok(count), Err(_)) => Some((count, second)),
                (Err(_), Ok(count)) if pair[0].ends_with(':') => Some((count, first)),
                _ => None,
            };
            match counted.map(|(count, word)| (count, word.to_ascii_lowercase())) {
                Some((count, word)) if matches!(&*word, "passed" | "passing" | "pass") => {
                    (passed, found) = (passed + count, true);
                }
                Some((count, word))
                    if matches!(
                        &*word,
                        "failed" | "failing" | "failures" | "fail" | "errors" | "error"
                    ) =>
                {
                    failed += count;
                    found |= matches!(&*word, "failed" | "failing" | "failures");
                }
                _ => {}
            }
        }
        // Go prints no counts.
        if line.starts_with("ok  \t") || line.starts_with("ok \t") {
            (passed, found) = (passed + 1, true);
        } else if line.starts_with("FAIL\t") || line.starts_with("--- FAIL:") {
            (failed, found) = (failed + 1, true);
        }
    }
    found.then_some((passed, failed))
}

/// Returns whether the output of a build or test run says that it failed, whatever its exit code.
pub(crate) fn looks_broken(output: &str) -> bool {
    let plain = text::without_escapes(text::ending(output, MOST_READ));
    plain.lines().map(str::trim_start).any(|line| {
        line.starts_with("error: could not compile")
            || line.starts_with("error: test failed")
            || line.starts_with("npm ERR!")
            || line.starts_with("make: ***")
            || line.starts_with("FAILED (")
            || line.starts_with("BUILD FAILED")
            || line.starts_with("Failed to compile")
    })
}

/// The commit that `git commit` made: its hash and subject.
pub(crate) fn commit(output: &str) -> Option<String> {
    let line = output.lines().find(|line| {
        let inside = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        inside.is_some_and(|(inside, _)| inside.split_whitespace().count() >= 2)
    })?;
    let (inside, subject) = line.strip_prefix('[')?.split_once(']')?;
    let hash = inside.split_whitespace().last()?;
    let is_hash = hash.len() >= 7 && hash.chars().all(|letter| letter.is_ascii_hexdigit());
    is_hash.then(|| format!("{hash} {}", text::beginning(subject.trim(), 120)))
}

/// The first address in an output.
pub(crate) fn address(output: &str) -> Option<String> {
    let start = output.find("https://")?;
    let rest = &output[start..];
    let end = rest
        .find(|letter: char| letter.is_whitespace() || "\"'<>)".contains(letter))
        .unwrap_or(rest.len());
    Some(text::beginning(&rest[..end], 200).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runners_say_how_many_tests_passed() {
        let check = |output: &str, expect: Option<(u64, u64)>| {
            assert_eq!(tests(output), expect, "{output}");
        };
        check(
            "test result: ok. 12 passed; 0 failed; 0 ignored\n\ntest result: FAILED. 3 passed; 1 failed; 0 ignored",
            Some((15, 1)),
        );
        check("\u{1b}[32m51 passed\u{1b}[0m in 0.58s", Some((51, 0)));
        check("==== 2 failed, 7 passed, 1 error in 3s ====", Some((7, 3)));
        check(
            "Test Suites: 1 failed, 2 passed, 3 total\nTests:       1 failed, 8 passed, 9 total",
            Some((8, 1)),
        );
        check("  5 passing (20ms)\n  1 failing", Some((5, 1)));
        check("ok  \tshop/cart\t0.1s\nFAIL\tshop/pay\t0.2s", Some((1, 1)));
        check(
            "Passed!  - Failed:     0, Passed:    12, Skipped: 0",
            Some((12, 0)),
        );
        check("12 examples, 0 failures", Some((0, 0)));
        check("nothing of the kind", None);
        check("", None);
    }

    #[test]
    fn commits_and_addresses_are_found() {
        assert_eq!(
            commit("[main 6d56117] Fix it\n 1 file changed").as_deref(),
            Some("6d56117 Fix it")
        );
        assert_eq!(
            commit("[main (root-commit) 0bc41d9] One").as_deref(),
            Some("0bc41d9 One")
        );
        assert_eq!(commit("[entire] Pushing\nnothing"), None);
        assert_eq!(
            address("see https://x.org/pull/7\n").as_deref(),
            Some("https://x.org/pull/7")
        );
    }
}

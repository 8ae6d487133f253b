//! Summaries of test runners.

use super::check::{CheckFamily, OutputFormat};
use super::findings::Finding;

/// Returns the summary that is one line.
pub(super) fn one_line_summary(line: &str, trimmed: &str) -> Option<Finding> {
    use OutputFormat as F;
    // cargo: `test result: ok. 12 passed; 0 failed; 0 ignored`.
    if let Some(rest) = trimmed.strip_prefix("test result: ") {
        let passed = count_before(rest, "passed")?;
        let failed = count_before(rest, "failed")?;
        let mut finding = Finding::tests(F::Cargo, passed, failed).into_partial();
        finding.is_ok = rest.starts_with("ok");
        return Some(finding);
    }
    // nextest: `Summary [   0.1s] 12 tests run: 11 passed (1 slow), 1 failed, 2 skipped`.
    if trimmed.starts_with("Summary [") && trimmed.contains(" run: ") {
        let (_, rest) = trimmed.split_once(" run: ")?;
        let failed = count_before(rest, "failed")
            .unwrap_or(0)
            .saturating_add(count_before(rest, "timed").unwrap_or(0));
        return Some(Finding::tests(
            F::Cargo,
            count_before(rest, "passed")?,
            failed,
        ));
    }
    if let Some(finding) = pytest_summary(trimmed) {
        return Some(finding);
    }
    // gotestsum: `DONE 12 tests, 1 failure in 1.2s`.
    if let Some(rest) = line.strip_prefix("DONE ")
        && rest.contains(" test")
    {
        let failed = count_before(rest, "failure")
            .or(count_before(rest, "failures"))
            .unwrap_or(0);
        let errors = count_before(rest, "error")
            .or(count_before(rest, "errors"))
            .unwrap_or(0);
        return Some(Finding::tests(
            F::Go,
            leading_number(rest).saturating_sub(failed),
            failed.saturating_add(errors),
        ));
    }
    // deno: `ok | 12 passed | 0 failed (1s)`.
    if (line.starts_with("ok | ") || line.starts_with("FAILED | ")) && line.contains(" passed") {
        return Some(Finding::tests(
            F::Deno,
            count_before(line, "passed")?,
            count_before(line, "failed")?,
        ));
    }
    // rspec: `12 examples, 1 failure`; minitest: `12 runs, 20 assertions, 1 failures, 0 errors, 0 skips`.
    let first = trimmed.split_whitespace().nth(1).unwrap_or_default();
    if matches!(first, "examples," | "example," | "runs,") && trimmed.contains("failure") {
        let failed = count_before(trimmed, "failure").or(count_before(trimmed, "failures"))?;
        let errors = count_before(trimmed, "error")
            .or(count_before(trimmed, "errors"))
            .unwrap_or(0);
        let all = leading_number(trimmed);
        return Some(Finding::tests(
            F::Rspec,
            all.saturating_sub(failed.saturating_add(errors)),
            failed.saturating_add(errors),
        ));
    }
    // ExUnit and bats: `5 tests, 1 failure`.
    if matches!(first, "tests," | "test," | "doctests," | "doctest,") && trimmed.contains("failure")
    {
        let failed = count_before(trimmed, "failure").or(count_before(trimmed, "failures"))?;
        let all = count_before(trimmed, "tests")
            .or(count_before(trimmed, "test"))
            .unwrap_or(0);
        return Some(Finding::tests(
            F::Exunit,
            all.saturating_sub(failed),
            failed,
        ));
    }
    // phpunit: `OK (12 tests, 20 assertions)`, `Tests: 12, Assertions: 20, Failures: 1.`
    if let Some(rest) = line.strip_prefix("OK (")
        && rest.contains(" test")
        && rest.contains(" assertion")
    {
        return Some(Finding::tests(F::Phpunit, leading_number(rest), 0));
    }
    if line.starts_with("Tests: ") && line.contains(", Assertions: ") {
        let count = |name: &str| {
            line.split_once(name)
                .map_or(0, |(_, rest)| leading_number(rest))
        };
        let failed = count("Failures: ").saturating_add(count("Errors: "));
        return Some(Finding::tests(
            F::Phpunit,
            count("Tests: ").saturating_sub(failed),
            failed,
        ));
    }
    // Pest: `  Tests:    1 failed, 2 passed (3 assertions)`.
    if let Some(rest) = trimmed.strip_prefix("Tests: ")
        && rest.contains(" assertion")
    {
        let failed = count_before(rest, "failed").unwrap_or(0);
        return Some(Finding::tests(
            F::Phpunit,
            count_before(rest, "passed").unwrap_or(0),
            failed,
        ));
    }
    if let Some(finding) = dotnet_summary(trimmed) {
        return Some(finding);
    }
    // ctest: `100% tests passed, 0 tests failed out of 12`.
    if let Some((_, rest)) = trimmed.split_once("% tests passed, ") {
        let failed = leading_number(rest);
        let all = rest
            .split_once(" out of ")
            .map_or(failed, |(_, all)| leading_number(all));
        return Some(Finding::tests(F::Ctest, all.saturating_sub(failed), failed));
    }
    // Gradle: `12 tests completed, 1 failed`.
    if trimmed.contains(" tests completed, ") || trimmed.contains(" test completed, ") {
        let failed = count_before(trimmed, "failed")?;
        let all = leading_number(trimmed);
        return Some(Finding::tests(F::Gradle, all.saturating_sub(failed), failed).into_partial());
    }
    // Maven, for all classes of a module: `[INFO] Tests run: 12, Failures: 1, Errors: 0, Skipped: 0`.
    if let Some((_, rest)) = trimmed.split_once("Tests run: ")
        && !rest.contains("Time elapsed")
    {
        let count = |name: &str| {
            rest.split_once(name)
                .map_or(0, |(_, rest)| leading_number(rest))
        };
        let failed = count("Failures: ").saturating_add(count("Errors: "));
        let passed = leading_number(rest).saturating_sub(failed.saturating_add(count("Skipped: ")));
        return Some(Finding::tests(F::Maven, passed, failed).into_partial());
    }
    // Swift Testing: `✔ Test run with 5 tests passed after 0.1 seconds.`
    if let Some((_, rest)) = trimmed.split_once("Test run with ") {
        let all = leading_number(rest);
        let failed = count_before(rest, "issue")
            .or(count_before(rest, "issues"))
            .unwrap_or(0);
        let failed = failed.max(u64::from(rest.contains(" failed ")));
        return Some(Finding::tests(F::Swift, all.saturating_sub(failed), failed).into_partial());
    }
    // sbt: `[info] Tests: succeeded 12, failed 1, canceled 0, …`; zig: `All 3 tests passed.`
    if let Some((_, rest)) = trimmed.split_once("Tests: succeeded ") {
        let failed = rest
            .split_once("failed ")
            .map_or(0, |(_, rest)| leading_number(rest));
        return Some(Finding::tests(F::Any, leading_number(rest), failed).into_partial());
    }
    if let Some(rest) = trimmed.strip_prefix("All ")
        && rest.trim_end_matches('.').ends_with(" tests passed")
    {
        return Some(Finding::tests(F::Any, leading_number(rest), 0));
    }
    // bazel: `Executed 3 out of 3 tests: 2 tests pass and 1 fails locally.`
    if let Some(rest) = trimmed.strip_prefix("Executed ")
        && let Some((_, rest)) = rest.split_once(" tests: ")
    {
        let failed = count_before(rest, "fails")
            .or(count_before(rest, "fail"))
            .unwrap_or(0);
        return Some(Finding::tests(F::Any, leading_number(rest), failed));
    }
    // tox and nox.
    match trimmed {
        _ if trimmed.starts_with("congratulations :)") => {
            Some(Finding::new(F::Any, CheckFamily::Test, true))
        }
        _ if trimmed.starts_with("evaluation failed :(") => {
            Some(Finding::new(F::Any, CheckFamily::Test, false))
        }
        _ if trimmed.starts_with("nox > Session ") && trimmed.ends_with(" failed.") => {
            Some(Finding::new(F::Any, CheckFamily::Test, false))
        }
        _ if trimmed.starts_with("nox > Session ") && trimmed.ends_with(" was successful.") => {
            Some(Finding::new(F::Any, CheckFamily::Test, true))
        }
        _ if trimmed.starts_with("error: test failed, to rerun pass")
            || trimmed == "error: doctest failed" =>
        {
            Some(Finding::new(F::Cargo, CheckFamily::Test, false))
        }
        _ => None,
    }
}

/// pytest: `=== 2 failed, 7 passed, 1 error in 3.10s ===`, and `18 passed in 0.32s` when it is quiet.
fn pytest_summary(line: &str) -> Option<Finding> {
    let bare = line.trim_matches('=').trim();
    let (counts, time) = bare.rsplit_once(" in ")?;
    let time = time.split_whitespace().next()?.strip_suffix('s')?;
    time.parse::<f64>().ok()?;
    let (mut passed, mut failed) = (0, 0);
    for part in counts.split(", ") {
        let (count, word) = part.trim().split_once(' ')?;
        let count: u64 = count.parse().ok()?;
        match word {
            "passed" => passed += count,
            "failed" | "error" | "errors" => failed += count,
            "skipped" | "xfailed" | "xpassed" | "deselected" | "warning" | "warnings" | "rerun"
            | "reruns" => {}
            _ if word.starts_with("subtest") || word.starts_with("snapshot") => {}
            _ => return None,
        }
    }
    Some(Finding::tests(OutputFormat::Pytest, passed, failed))
}

/// dotnet: `Passed!  - Failed:     0, Passed:    12, Skipped:     0, Total:    12, Duration: 1 s`, in any language, and
/// `Test summary: total: 12, failed: 1, succeeded: 11, skipped: 0`.
fn dotnet_summary(line: &str) -> Option<Finding> {
    if let Some(rest) = line.strip_prefix("Test summary: total: ") {
        let count = |name: &str| {
            rest.split_once(name)
                .map_or(0, |(_, rest)| leading_number(rest))
        };
        return Some(Finding::tests(
            OutputFormat::Dotnet,
            count("succeeded: "),
            count("failed: "),
        ));
    }
    let (head, rest) = line.split_once("! ")?;
    let rest = rest.trim_start().strip_prefix("- ")?;
    if head.contains(' ') {
        return None;
    }
    let mut counts = rest.split(", ").map(|part| {
        part.rsplit_once(':')
            .map(|(_, count)| count.trim().parse::<u64>())
    });
    let (Some(Some(Ok(failed))), Some(Some(Ok(passed)))) = (counts.next(), counts.next()) else {
        return None;
    };
    Some(Finding::tests(OutputFormat::Dotnet, passed, failed).into_partial())
}

/// Returns the number before a word: 12 in `12 passed; 0 failed`.
pub(super) fn count_before(text: &str, word: &str) -> Option<u64> {
    let mut before = "";
    for part in text.split(|letter: char| letter.is_whitespace() || ",;|().".contains(letter)) {
        if part.is_empty() {
            continue;
        }
        if part == word {
            return before.parse().ok();
        }
        before = part;
    }
    None
}

/// Returns the number that a text begins with, or nothing.
pub(super) fn leading_number(text: &str) -> u64 {
    let text = text.trim_start();
    let end = text
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(text.len());
    text[..end].parse().unwrap_or(0)
}

//! Summaries of test runners that are more than one line.

use super::check::OutputFormat;
use super::finding_tests::{count_before, leading_number, one_line_summary};
use super::findings::Finding;

/// Returns a line without the name of a task before it, `web:test: `, that turbo and nx print.
pub(super) fn plain_task(line: &str) -> &str {
    let Some((name, rest)) = line.split_once(": ") else {
        return line;
    };
    let is_task = name.contains(':')
        && !name.contains([' ', '.', '/', '('])
        && name
            .bytes()
            .next()
            .is_some_and(|first| first.is_ascii_alphabetic())
        && !name
            .bytes()
            .any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
        && !name.contains("::");
    if is_task { rest } else { line }
}

/// Reader of summaries that are more than one line.
#[derive(Default)]
pub(super) struct TestReader {
    /// Tests of `Ran 12 tests in 0.1s`, up to `OK` or `FAILED`.
    unittest: Option<u64>,
    /// Tests of `12 passing`, up to `1 failing`.
    mocha: Option<u64>,
    /// Tests of playwright that failed.
    playwright: u64,
    bun: Option<u64>,
    /// Tests of TAP by their lines, and of node by its numbers.
    tap: (u64, u64),
    node: Option<u64>,
    /// Suites of jest or files of vitest that failed.
    suites: bool,
    go: (u64, u64),
    go_packages: (u64, u64),
    go_broke: bool,
    swift: Option<(u64, u64)>,
}

impl TestReader {
    /// Reads a line; returns the summary that it ends.
    pub(super) fn read_line(&mut self, line: &str) -> Option<Finding> {
        let trimmed = line.trim_start();
        one_line_summary(line, trimmed)
            .or_else(|| self.read_javascript(line, trimmed))
            .or_else(|| self.read_others(line, trimmed))
    }

    fn read_javascript(&mut self, line: &str, trimmed: &str) -> Option<Finding> {
        // jest: `Test Suites: 1 failed, 2 passed, 3 total`, `Tests:       1 failed, 8 passed, 9 total`.
        if let Some(rest) = trimmed.strip_prefix("Test Suites:") {
            self.suites = count_before(rest, "failed").is_some_and(|failed| failed > 0);
            return None;
        }
        if let Some(rest) = trimmed.strip_prefix("Tests:")
            && rest.contains(" total")
        {
            return Some(self.suite_tests(OutputFormat::Jest, rest));
        }
        // vitest: ` Test Files  1 failed | 2 passed (3)`, `      Tests  1 failed | 8 passed (9)`.
        if let Some(rest) = trimmed.strip_prefix("Test Files  ") {
            self.suites = count_before(rest, "failed").is_some_and(|failed| failed > 0);
            return None;
        }
        if let Some(rest) = trimmed.strip_prefix("Tests  ")
            && rest.ends_with(')')
            && (rest.contains(" passed") || rest.contains(" failed"))
        {
            return Some(self.suite_tests(OutputFormat::Vitest, rest));
        }
        // mocha: `  12 passing (20ms)`, `  1 failing`.
        let words: Vec<&str> = trimmed.split_whitespace().take(4).collect();
        match words.as_slice() {
            [count, "passing", ..] => self.mocha = count.parse().ok(),
            [count, "failing"] => {
                let passed = self.mocha.take();
                let failed = count.parse().ok()?;
                return passed.map(|passed| Finding::tests(OutputFormat::Mocha, passed, failed));
            }
            // bun: ` 12 pass`, ` 0 fail`.
            [count, "pass"] if line.starts_with(' ') => self.bun = count.parse().ok(),
            [count, "fail"] if line.starts_with(' ') => {
                let passed = self.bun.take()?;
                return Some(Finding::tests(
                    OutputFormat::Bun,
                    passed,
                    count.parse().ok()?,
                ));
            }
            // playwright: `  1 failed`, `  12 passed (3.4s)`.
            [count, "failed"] if line.starts_with("  ") => self.playwright = count.parse().ok()?,
            [count, "passed", time] if line.starts_with("  ") && time.starts_with('(') => {
                let failed = std::mem::take(&mut self.playwright);
                return Some(Finding::tests(
                    OutputFormat::Playwright,
                    count.parse().ok()?,
                    failed,
                ));
            }
            // node: `# pass 2`, `# fail 1`; with a sign before them in terminals.
            ["#" | "ℹ", "pass", count] => self.node = count.parse().ok(),
            ["#" | "ℹ", "fail", count] => {
                let passed = self.node.take()?;
                return Some(Finding::tests(
                    OutputFormat::NodeTest,
                    passed,
                    count.parse().ok()?,
                ));
            }
            _ => {}
        }
        None
    }

    fn suite_tests(&mut self, format: OutputFormat, rest: &str) -> Finding {
        let failed = count_before(rest, "failed").unwrap_or(0);
        let mut finding = Finding::tests(format, count_before(rest, "passed").unwrap_or(0), failed);
        finding.is_ok &= !std::mem::take(&mut self.suites);
        finding
    }

    fn read_others(&mut self, line: &str, trimmed: &str) -> Option<Finding> {
        // unittest: `Ran 12 tests in 0.003s`, then `OK` or `FAILED (failures=1, errors=2)`.
        if let Some(rest) = line.strip_prefix("Ran ") {
            let (count, rest) = rest.split_once(' ')?;
            if rest.starts_with("test") && rest.contains(" in ") {
                self.unittest = count.parse().ok();
            }
            return None;
        }
        if let Some(all) = self.unittest
            && (line == "OK" || line.starts_with("OK (") || line.starts_with("FAILED ("))
        {
            self.unittest = None;
            let count = |name: &str| {
                line.split_once(name)
                    .map_or(0, |(_, rest)| leading_number(rest))
            };
            let failed = count("failures=").saturating_add(count("errors="));
            return Some(Finding::tests(
                OutputFormat::Unittest,
                all.saturating_sub(failed),
                failed,
            ));
        }
        // go: `--- PASS: TestCart (0.00s)`, `ok  \tshop/cart\t0.1s`, `FAIL\tshop/pay [build failed]`.
        if line.starts_with("--- PASS: ") {
            self.go.0 += 1;
        } else if line.starts_with("--- FAIL: ") {
            self.go.1 += 1;
        } else if line.starts_with("ok  \t") {
            self.go_packages.0 += 1;
        } else if line.starts_with("FAIL\t") {
            self.go_packages.1 += 1;
        } else if line == "FAIL" || line.starts_with("panic: test timed out") {
            self.go_broke = true;
        }
        // TAP, of bats: `ok 1 name`, `not ok 2 name`.
        let tap = |line: &str| {
            line.split(' ')
                .next()
                .is_some_and(|word| word.parse::<u64>().is_ok())
        };
        if line.strip_prefix("ok ").is_some_and(tap) {
            self.tap.0 += 1;
        } else if line.strip_prefix("not ok ").is_some_and(tap) {
            self.tap.1 += 1;
        }
        // XCTest, per suite and then for all: `Executed 12 tests, with 1 failure (0 unexpected) in 0.1 seconds`.
        if let Some(rest) = trimmed.strip_prefix("Executed ")
            && rest.contains(", with ")
        {
            let all = leading_number(rest);
            let failed = count_before(rest, "failure")
                .or(count_before(rest, "failures"))
                .unwrap_or(0);
            self.swift = Some((all.saturating_sub(failed), failed));
        }
        None
    }

    /// Returns the results that only the end of the output completes.
    pub(super) fn finish(self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if let Some(passed) = self.mocha {
            findings.push(Finding::tests(OutputFormat::Mocha, passed, 0));
        }
        if self.playwright > 0 {
            findings.push(Finding::tests(OutputFormat::Playwright, 0, self.playwright));
        }
        if self.tap != (0, 0) {
            findings.push(Finding::tests(OutputFormat::Tap, self.tap.0, self.tap.1).into_partial());
        }
        if let Some((passed, failed)) = self.swift {
            findings.push(Finding::tests(OutputFormat::Swift, passed, failed));
        }
        // Packages count where tests are not listed.
        let (passed, failed) = self.go;
        let (good, bad) = self.go_packages;
        let tests = match failed > 0 || passed > 0 && passed >= good {
            true => (passed, failed),
            false => (good, bad),
        };
        if tests != (0, 0) || bad > 0 {
            let mut finding = Finding::tests(OutputFormat::Go, tests.0, tests.1).into_partial();
            finding.is_ok &= bad == 0 && failed == 0 && !self.go_broke;
            findings.push(finding);
        }
        findings
    }
}

//! Results that tools print: summaries of tests, of linters and of compilers.

use super::check::{CheckFamily, OutputFormat};
use super::finding_lints::lint_finding;
use super::test_reader::{TestReader, plain_task};

/// Result that a tool printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) format: OutputFormat,
    pub(super) family: CheckFamily,
    pub(super) is_ok: bool,
    /// Tests that passed and that failed.
    pub(super) tests: Option<(u64, u64)>,
    /// Script that a task runner names.
    pub(super) task: Option<String>,
    /// Its tool prints one of it per run.
    pub(super) is_whole: bool,
    /// It only counts if nothing else is known: a line that names a place.
    pub(super) is_weak: bool,
}

impl Finding {
    pub(super) fn new(format: OutputFormat, family: CheckFamily, is_ok: bool) -> Finding {
        Finding {
            format,
            family,
            is_ok,
            tests: None,
            task: None,
            is_whole: false,
            is_weak: false,
        }
    }

    /// Creates the result of a test run, which failed if one of its tests did.
    pub(super) fn tests(format: OutputFormat, passed: u64, failed: u64) -> Finding {
        Finding {
            tests: Some((passed, failed)),
            is_whole: true,
            ..Finding::new(format, CheckFamily::Test, failed == 0)
        }
    }

    /// Marks that one run can print several of it.
    pub(super) fn into_partial(mut self) -> Finding {
        self.is_whole = false;
        self
    }

    pub(super) fn into_weak(mut self) -> Finding {
        self.is_weak = true;
        self
    }
}

/// Returns what the lines of an output say of its tools.
pub(super) fn find_results(lines: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut tests = TestReader::default();
    for line in lines {
        let line = plain_task(line);
        let line = line.trim_end();
        if line.is_empty() {
            continue;
        }
        findings.extend(tests.read_line(line));
        findings.extend(lint_finding(line));
        findings.extend(runner_failure(line));
    }
    findings.extend(tests.finish());
    findings
}

/// A failure that a task runner reports, with the name of the script where it says it.
fn runner_failure(line: &str) -> Option<Finding> {
    let trimmed = line.trim_start();
    let failed = |task: Option<&str>| {
        let mut finding = Finding::new(OutputFormat::Any, CheckFamily::Build, false);
        finding.task = task.map(str::to_string);
        Some(finding)
    };
    // mise: `[lint] ERROR task failed`.
    if let Some((task, "ERROR task failed")) = line
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "))
    {
        return failed(Some(task));
    }
    // make: `make: *** [Makefile:3: lint] Error 1`.
    if let Some(rest) = trimmed
        .strip_prefix("make")
        .and_then(|rest| rest.split_once("*** ["))
        .map(|(_, rest)| rest)
    {
        let target = rest.split(']').next().unwrap_or_default();
        return failed(target.rsplit([' ', ':']).next());
    }
    // just: error: Recipe `lint` failed on line 3 with exit code 1.
    if let Some(rest) = trimmed.strip_prefix("error: Recipe `") {
        return failed(rest.split('`').next());
    }
    // bun: error: script "lint" exited with code 1.
    if let Some(rest) = trimmed.strip_prefix("error: script \"") {
        return failed(rest.split('"').next());
    }
    // task: `task: Failed to run task "lint": exit status 1`.
    if let Some(rest) = trimmed.strip_prefix("task: Failed to run task \"") {
        return failed(rest.split('"').next());
    }
    for start in [
        "npm ERR! Lifecycle script `",
        "npm error Lifecycle script `",
    ] {
        if let Some(rest) = trimmed.strip_prefix(start) {
            return failed(rest.split('`').next());
        }
    }
    // composer: `Script phpunit handling the test event returned with error code 1`.
    if let Some((_, rest)) = trimmed.split_once(" handling the ")
        && let Some((task, _)) = rest.split_once(" event returned with error code ")
    {
        return failed(Some(task));
    }
    let is_failure = trimmed.starts_with("npm ERR! code ELIFECYCLE")
        || trimmed.starts_with("npm ERR! Test failed")
        || trimmed.starts_with("npm error code ELIFECYCLE")
        || trimmed.contains("ELIFECYCLE\u{2009}Command failed")
        || trimmed.contains("ELIFECYCLE  Command failed")
        || trimmed.starts_with("error Command failed with exit code ")
        || trimmed.starts_with("ERROR: failed to solve")
        || trimmed.starts_with("ERROR: failed to build")
        || trimmed.starts_with("ninja: build stopped")
        || trimmed.starts_with("Failed to compile")
        || trimmed.starts_with("error during build:")
        || trimmed.starts_with("FAILED: Build did NOT complete")
        || trimmed == "Build failed.";
    is_failure.then(|| failed(None)).flatten()
}

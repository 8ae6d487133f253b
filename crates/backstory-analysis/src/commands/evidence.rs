//! Results in an output, given to the checks that printed them.

use super::check::{Check, CheckFamily, OutputFormat};
use super::findings::Finding;
use super::shell::ShellCommand;

/// Result of one part of a line, as the output shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Evidence {
    pub(super) ok: Option<bool>,
    pub(super) tests: Option<(u64, u64)>,
    pub(super) said: Option<String>,
    /// It may have failed: a line looks like an error of its.
    pub(super) is_weakly_bad: bool,
    /// Its result is not known yet, whatever the exit code is.
    pub(super) is_pending: bool,
}

impl Evidence {
    fn add(&mut self, finding: &Finding) {
        if finding.is_weak {
            self.is_weakly_bad |= !finding.is_ok;
            return;
        }
        self.ok = Some(self.ok.unwrap_or(true) && finding.is_ok);
        if let Some((passed, failed)) = finding.tests {
            let (sum_passed, sum_failed) = self.tests.unwrap_or_default();
            self.tests = Some((
                sum_passed.saturating_add(passed),
                sum_failed.saturating_add(failed),
            ));
        }
    }
}

/// Gives the results of an output to the checks of its line, in the order of the checks.
pub(super) fn find_evidence(
    commands: &[ShellCommand],
    checks: &[(usize, &Check)],
    findings: &[Finding],
    lines: usize,
) -> Vec<Evidence> {
    let mut evidence = vec![Evidence::default(); checks.len()];
    // Results that several checks may have printed, by the checks.
    let mut shared: Vec<(Vec<usize>, Vec<&Finding>)> = Vec::new();
    for finding in findings {
        let accepts = |place: &usize| {
            checks.get(*place).is_some_and(|(at, check)| {
                accepts_finding(check, finding) && !is_cut(commands, *at, finding, lines)
            })
        };
        let mut takers: Vec<usize> = (0..checks.len()).filter(accepts).collect();
        let is_exact = |place: &usize| {
            checks
                .get(*place)
                .is_some_and(|(_, check)| check.format != OutputFormat::Any)
        };
        if finding.task.is_none() && takers.iter().any(is_exact) {
            takers.retain(is_exact);
        }
        match takers.as_slice() {
            [] => {}
            [one] => {
                if let Some(evidence) = evidence.get_mut(*one) {
                    evidence.add(finding);
                }
            }
            _ => match shared.iter_mut().find(|(places, _)| *places == takers) {
                Some((_, shared)) => shared.push(finding),
                None => shared.push((takers, vec![finding])),
            },
        }
    }
    for (takers, findings) in shared {
        share_findings(&takers, &findings, &mut evidence);
    }
    evidence
}

/// Gives results to several checks each of which may have printed them.
fn share_findings(takers: &[usize], findings: &[&Finding], evidence: &mut [Evidence]) {
    let (builds, results): (Vec<&Finding>, Vec<&Finding>) = findings
        .iter()
        .partition(|finding| !finding.is_ok && finding.tests.is_none());
    let is_paired = results.len() == takers.len() && results.iter().all(|finding| finding.is_whole);
    let all_ok = results.iter().all(|finding| finding.is_ok);
    for (number, place) in takers.iter().enumerate() {
        let Some(evidence) = evidence.get_mut(*place) else {
            continue;
        };
        match results.get(number) {
            Some(finding) if is_paired => evidence.add(finding),
            _ if all_ok && results.len() >= takers.len() => {
                evidence.ok = Some(evidence.ok.unwrap_or(true));
            }
            _ => {}
        }
    }
    // A failure is that of the first check that did not succeed: those behind it may not have run.
    if let Some(finding) = builds.first() {
        let is_open = |place: &&usize| {
            evidence
                .get(**place)
                .is_some_and(|evidence| evidence.ok != Some(true))
        };
        let place = takers.iter().find(is_open).or(takers.last());
        if let Some(evidence) = place.and_then(|place| evidence.get_mut(*place)) {
            evidence.add(finding);
        }
    }
}

/// Returns whether a result can be missing its other half: a good one that was cut by `head`, or chosen by `grep`.
fn is_cut(commands: &[ShellCommand], at: usize, finding: &Finding, lines: usize) -> bool {
    let Some(command) = commands.get(at) else {
        return false;
    };
    if !finding.is_ok || !command.is_piped_on || finding.is_whole {
        return false;
    }
    let behind = commands.iter().skip(at + 1);
    let mut behind = behind.take_while(|other| other.pipeline == command.pipeline);
    behind.any(|other| match other.program() {
        "head" => head_lines(other) <= lines,
        "sed" | "awk" => true,
        "grep" | "rg" | "egrep" => finding.format == OutputFormat::Go,
        _ => false,
    })
}

/// Returns the number of lines that `head` leaves.
fn head_lines(command: &ShellCommand) -> usize {
    let mut words = command.words.iter().skip(1).map(String::as_str);
    let number = words.find_map(|word| {
        let bare = word
            .trim_start_matches("-n")
            .trim_start_matches("--lines=")
            .trim_start_matches('-');
        bare.parse().ok()
    });
    number.unwrap_or(10)
}

/// Returns whether a check can have printed a result.
fn accepts_finding(check: &Check, finding: &Finding) -> bool {
    use CheckFamily as C;
    use OutputFormat as F;
    if let Some(task) = &finding.task {
        // `web:lint` of a monorepo is the script `lint`.
        return check
            .task
            .as_ref()
            .is_some_and(|own| own == task || task.ends_with(&format!(":{own}")));
    }
    // A compile error stops tests and linters too, and a build that went well says nothing of them.
    let is_build_failure = finding.family == C::Build && !finding.is_ok;
    let fits_family =
        finding.family == check.family || (is_build_failure && check.family != C::Format);
    if finding.format == check.format {
        return match check.format {
            F::Cargo => fits_family || (finding.family == C::Build && check.family == C::Lint),
            F::Go | F::Ruff => fits_family,
            F::Any | F::Dotnet => fits_family || is_all(check),
            F::Gradle | F::Maven | F::Swift => true,
            _ => true,
        };
    }
    match (check.format, finding.format) {
        (F::Ruff, F::Black) => fits_family,
        (F::Biome, F::Ruff) | (F::Tap, F::Exunit) | (F::Bun, F::Jest) => true,
        (F::Ruff | F::Pyright, F::Places) | (F::GolangciLint, F::Go) => finding.is_weak,
        (F::Any, F::Places) => finding.is_weak && check.family == C::Lint,
        (F::Any, _) => {
            let is_lint = |family| matches!(family, C::Lint | C::Types | C::Format);
            fits_family
                || is_all(check)
                || (check.family == C::Lint && is_lint(finding.family))
                || (check.family == C::Build && finding.family == C::Types)
        }
        _ => false,
    }
}

/// Returns whether a script's name says that it checks everything: `check`, `ci`, `verify`.
fn is_all(check: &Check) -> bool {
    let name = check.task.as_deref().unwrap_or_default();
    name.split([':', '-', '_'])
        .any(|word| matches!(word, "check" | "ci" | "verify" | "validate" | "all"))
}

//! Verdicts on the checks and deliveries of a command line.

use super::chain::{PartExit, implied_successes, part_exits};
use super::check::{Check, OutputFormat};
use super::delivered::DeliveryReader;
use super::delivery::Delivery;
use super::error_line::error_line;
use super::evidence::{Evidence, find_evidence};
use super::findings::find_results;
use super::shell::{Connector, ShellCommand};
use crate::text;

/// Bytes of an output that are read, at its beginning and at its end.
const MAX_READ_BYTES: usize = 96 << 10;

/// Checks and deliveries of a line that are judged.
const MAX_PARTS: usize = 64;

/// Result of a command line as its tool reported it.
#[derive(Debug, Clone, Copy, Default)]
pub struct LineResult<'a> {
    /// Output, without the frame that an agent puts around it.
    pub output: &'a str,
    /// Exit code, if the agent recorded it.
    pub exit_code: Option<i32>,
    /// The tool reported a failure.
    pub has_failed: bool,
}

/// Check or delivery of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinePart {
    /// A check.
    Check(Check),
    /// A delivery.
    Delivery(Delivery),
}

/// Result of a check or delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartVerdict {
    /// Place of its command in the line.
    pub command: usize,
    /// Check or delivery.
    pub part: LinePart,
    /// True if it succeeded, nothing if that is not known or it did not run.
    pub ok: Option<bool>,
    /// Tests that passed and that failed. Of Go without `-v`, packages.
    pub tests: Option<(u64, u64)>,
    /// Of a failure, the line that says most of it; of a delivery, the commit, the branch or the address.
    pub said: Option<String>,
}

/// Returns the verdicts on the checks and deliveries of a command line.
///
/// A part is judged by its own output where that has a summary, and otherwise by the exit code where that is its own: not behind a
/// pipe, nor before `;` or `||`.
pub fn judge_line(commands: &[ShellCommand], result: LineResult<'_>) -> Vec<PartVerdict> {
    let mut verdicts: Vec<PartVerdict> = find_parts(commands);
    if verdicts.is_empty() {
        return verdicts;
    }
    let output = readable_output(result.output);
    let lines: Vec<&str> = output.lines().map(last_overwrite).collect();
    let line_ok = match (result.exit_code, result.has_failed) {
        (Some(0), false) => Some(true),
        (None, false) => None,
        _ => Some(false),
    };
    let exits = part_exits(commands, line_ok);
    let evidence = all_evidence(commands, &verdicts, &lines);
    let ran: Vec<usize> = verdicts
        .iter()
        .zip(&evidence)
        .filter(|(_, evidence)| evidence.ok.is_some())
        .map(|(verdict, _)| verdict.command)
        .collect();
    let implied = implied_successes(commands, &ran);
    let failing = failing_part(commands, &exits, &verdicts, &evidence);
    for (verdict, evidence) in verdicts.iter_mut().zip(evidence) {
        let exit = exits
            .get(verdict.command)
            .copied()
            .unwrap_or(PartExit::Unknown);
        let by_output = evidence.ok.or(evidence.is_weakly_bad.then_some(false));
        verdict.ok = match exit {
            _ if evidence.is_pending => None,
            // Lists of unformatted files and scripts that hide a failure exit with 0.
            PartExit::Succeeded if hides_failure(&verdict.part) && evidence.ok == Some(false) => {
                Some(false)
            }
            PartExit::Succeeded => Some(true),
            PartExit::Failed => Some(false),
            PartExit::InFailedChain => match failing {
                Some(failing) if verdict.command < failing => Some(true),
                Some(failing) if verdict.command == failing => Some(false),
                Some(_) => None,
                None => evidence.ok,
            },
            PartExit::Unknown => evidence
                .ok
                .or_else(|| echoed_exit(commands, verdict.command, &lines))
                .or(by_output)
                .or_else(|| implied.get(verdict.command)?.then_some(true)),
        };
        verdict.tests = evidence.tests;
        verdict.said = match (&verdict.part, verdict.ok) {
            (LinePart::Delivery(_), Some(true)) if evidence.ok == Some(true) => evidence.said,
            (LinePart::Delivery(_), Some(false))
                if evidence.ok != Some(true) && evidence.said.is_some() =>
            {
                evidence.said
            }
            (LinePart::Delivery(_), Some(false)) => error_line(&lines, None),
            (LinePart::Check(check), Some(false)) => error_line(&lines, Some(check.family)),
            _ => None,
        };
    }
    verdicts
}

fn find_parts(commands: &[ShellCommand]) -> Vec<PartVerdict> {
    // What is committed to a repository that the line itself makes, or to one in a temporary folder, is a trial.
    let is_trial = commands.iter().any(|command| {
        command.program() == "git" && command.words.iter().any(|word| word == "init")
    });
    let is_kept = |delivery: &Delivery| {
        let folder = delivery.folder.as_deref();
        !is_trial && !folder.is_some_and(is_temporary)
    };
    let part = |command: &ShellCommand| {
        let check = Check::find(command).map(LinePart::Check);
        let delivery = || Delivery::find(command).filter(is_kept);
        check.or_else(|| delivery().map(LinePart::Delivery))
    };
    let parts = commands.iter().enumerate().filter_map(|(place, command)| {
        part(command).map(|part| PartVerdict {
            command: place,
            part,
            ok: None,
            tests: None,
            said: None,
        })
    });
    parts.take(MAX_PARTS).collect()
}

/// Returns whether a folder is one of the system's for temporary files, or a variable that is named after one.
fn is_temporary(folder: &str) -> bool {
    let lower = folder.to_lowercase();
    let roots = [
        "/tmp",
        "/private/tmp",
        "/var/tmp",
        "/var/folders",
        "/private/var/folders",
    ];
    let is_below = |root: &str| {
        lower
            .strip_prefix(root)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    roots.iter().any(|root| is_below(root))
        || lower.starts_with('$') && (lower.contains("tmp") || lower.contains("temp"))
}

/// Returns the beginning and the end of an output, without escape sequences.
fn readable_output(output: &str) -> String {
    if output.len() <= 2 * MAX_READ_BYTES {
        return text::without_escapes(output);
    }
    let (start, end) = (
        text::beginning(output, MAX_READ_BYTES),
        text::ending(output, MAX_READ_BYTES),
    );
    text::without_escapes(&format!("{start}\n{end}"))
}

/// Returns the part of a line that is seen after carriage returns.
fn last_overwrite(line: &str) -> &str {
    let line = line.trim_end_matches('\r');
    line.rsplit('\r').next().unwrap_or(line)
}

/// Returns the results of all parts that the output shows, in the order of the parts.
fn all_evidence(
    commands: &[ShellCommand],
    verdicts: &[PartVerdict],
    lines: &[&str],
) -> Vec<Evidence> {
    let checks: Vec<(usize, &Check)> = verdicts
        .iter()
        .filter_map(|verdict| match &verdict.part {
            LinePart::Check(check) => Some((verdict.command, check)),
            LinePart::Delivery(_) => None,
        })
        .collect();
    let findings = find_results(lines);
    let mut of_checks = find_evidence(commands, &checks, &findings, lines.len()).into_iter();
    let is_git = |command: &&ShellCommand| matches!(command.program(), "git" | "gh" | "jj" | "hg");
    let has_others = commands.iter().filter(is_git).count() > 1;
    let mut deliveries = DeliveryReader::new(lines, has_others);
    let evidence = verdicts.iter().map(|verdict| match &verdict.part {
        LinePart::Check(check) => {
            let mut evidence = of_checks.next().unwrap_or_default();
            // `gofmt -l` lists what it would format.
            if check.format == OutputFormat::Gofmt && commands.len() == 1 && !check.is_fix {
                let is_listed = lines
                    .iter()
                    .any(|line| line.ends_with(".go") && !line.contains(' '));
                evidence.ok = is_listed.then_some(false).or(evidence.ok);
            }
            evidence
        }
        LinePart::Delivery(delivery) => deliveries.next_evidence(delivery),
    });
    evidence.collect()
}

/// Returns whether a part can exit with 0 though its output says that it failed.
fn hides_failure(part: &LinePart) -> bool {
    match part {
        LinePart::Check(check) => matches!(check.format, OutputFormat::Any | OutputFormat::Gofmt),
        LinePart::Delivery(_) => false,
    }
}

/// Returns the command at which a chain failed: the last part that shows a failure, or the only one that can have failed.
fn failing_part(
    commands: &[ShellCommand],
    exits: &[PartExit],
    verdicts: &[PartVerdict],
    evidence: &[Evidence],
) -> Option<usize> {
    let chain: Vec<usize> = (0..commands.len())
        .filter(|at| exits.get(*at) == Some(&PartExit::InFailedChain))
        .collect();
    let last = *chain.last()?;
    let shown = verdicts
        .iter()
        .zip(evidence)
        .rev()
        .find(|(verdict, evidence)| {
            chain.contains(&verdict.command) && (evidence.ok.is_some() || evidence.is_weakly_bad)
        });
    let shown = shown.map(|(verdict, evidence)| (verdict.command, evidence.ok == Some(true)));
    let candidates: Vec<usize> = match shown {
        Some((at, false)) => return Some(at),
        // It ran to its end, and nothing is behind it that could have failed.
        Some((at, true)) if at == last => return Some(at),
        Some((at, true)) => chain.into_iter().filter(|other| *other > at).collect(),
        None => chain,
    };
    let mut open = candidates.iter().filter(|at| {
        commands
            .get(**at)
            .is_some_and(|command| !is_harmless(command))
    });
    let first = open.next().copied();
    match (first, open.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

/// Returns whether a command hardly ever fails.
fn is_harmless(command: &ShellCommand) -> bool {
    let second = command.words.get(1).map_or("", String::as_str);
    match command.program() {
        "cd" | "echo" | "export" | "set" | "printf" | "true" | ":" | "pwd" | "mkdir" | "sleep"
        | "source" | "." | "unset" | "date" => true,
        "git" => matches!(second, "add" | "status" | "diff" | "log"),
        program => program.contains('='),
    }
}

/// Returns whether a command succeeded, by the code that an `echo` behind it printed: `cargo test; echo "exit $?"`.
fn echoed_exit(commands: &[ShellCommand], at: usize, lines: &[&str]) -> Option<bool> {
    let command = commands.get(at)?;
    let mut behind = commands.iter().skip(at + 1);
    let echo = behind.find(|other| other.pipeline != command.pipeline)?;
    let is_echo = echo.connector == Connector::Then && matches!(echo.program(), "echo" | "printf");
    let variable = match command.is_piped_on {
        false => "$?",
        true => "${PIPESTATUS[0]}",
    };
    let text = echo
        .words
        .iter()
        .skip(1)
        .find(|word| word.contains(variable))
        .filter(|_| is_echo)?;
    let (before, after) = text.split_once(variable)?;
    // The words before it are printed too.
    let printed = lines.iter().rev().find_map(|line| {
        let start = match before.is_empty() {
            true => 0,
            false => line.rfind(before)? + before.len(),
        };
        let rest = line.get(start..)?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let follows = rest
            .get(digits..)?
            .starts_with(after.split(['$', '\\']).next().unwrap_or_default());
        (digits > 0 && follows).then(|| rest.get(..digits))?
    })?;
    Some(printed.trim_matches('0').is_empty())
}

//! Exit codes of the parts of a line, as far as the exit code of the line tells them.

use super::shell::{Connector, ShellCommand};

/// Exit of a part, as the exit code of its line tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartExit {
    /// The exit code says nothing of it.
    Unknown,
    /// It succeeded.
    Succeeded,
    /// It failed.
    Failed,
    /// It is in the chain of commands one of which failed.
    InFailedChain,
}

/// Returns the exit of every command of a line, by whether the line as a whole succeeded.
pub(super) fn part_exits(commands: &[ShellCommand], line_ok: Option<bool>) -> Vec<PartExit> {
    let mut exits = vec![PartExit::Unknown; commands.len()];
    let Some(line_ok) = line_ok else {
        return exits;
    };
    let (stops, pipes_fail) = shell_options(commands);
    let chain = final_chain(commands, stops);
    let is_alone = chain.len() == 1;
    for pipeline in chain {
        let members = match pipes_fail {
            true => pipeline,
            false => &pipeline[pipeline.len().saturating_sub(1)..],
        };
        let start = offset_in(commands, members);
        for (at, command) in members.iter().enumerate() {
            let exit = match (line_ok, command.connector) {
                // It ran only if what is before it failed.
                (true, Connector::Or) => PartExit::Unknown,
                (true, _) => PartExit::Succeeded,
                (false, _) if is_alone && members.len() == 1 => PartExit::Failed,
                (false, _) => PartExit::InFailedChain,
            };
            if let Some(slot) = exits.get_mut(start + at) {
                *slot = exit;
            }
        }
    }
    exits
}

/// Returns the commands that succeeded because a command behind their `&&` ran, given the commands that did run.
pub(super) fn implied_successes(commands: &[ShellCommand], ran: &[usize]) -> Vec<bool> {
    let mut succeeded = vec![false; commands.len()];
    for at in ran {
        let mut place = *at;
        while let Some(command) = commands.get(place) {
            let is_before = |other: &&ShellCommand| other.pipeline == command.pipeline;
            let others = commands.get(..place).unwrap_or_default();
            let start = place - others.iter().rev().take_while(is_before).count();
            let first = commands.get(start);
            let Some(before) = start
                .checked_sub(1)
                .filter(|_| first.is_some_and(|first| first.connector == Connector::And))
            else {
                break;
            };
            let is_certain = commands.get(before).is_some_and(|before| {
                before.connector != Connector::Or
                    && !(before.is_piped_on || before.is_conditional || before.is_background)
            });
            match succeeded.get_mut(before) {
                Some(slot) if !*slot && is_certain => *slot = true,
                _ => break,
            }
            place = before;
        }
    }
    succeeded
}

/// Returns the pipelines at the end of a line of which each ran only if all before it succeeded, the last one first.
fn final_chain(commands: &[ShellCommand], stops: bool) -> Vec<&[ShellCommand]> {
    let mut pipelines: Vec<&[ShellCommand]> = commands
        .chunk_by(|one, next| one.pipeline == next.pipeline)
        .collect();
    let mut chain: Vec<&[ShellCommand]> = Vec::new();
    // Operator before the part of the chain that was added last, and whether `|| exit 1` was before it.
    let mut next = Connector::And;
    let mut is_guarded = false;
    while let Some(pipeline) = pipelines.pop() {
        let (Some(first), Some(last)) = (pipeline.first(), pipeline.last()) else {
            break;
        };
        let goes_on = match next {
            Connector::And => true,
            // With `set -e`, a list of one pipeline that fails ends the line.
            Connector::Then => {
                is_guarded || (stops && !matches!(first.connector, Connector::And | Connector::Or))
            }
            Connector::Or | Connector::First | Connector::Background => false,
        };
        if !goes_on && !is_failing_exit(last) {
            break;
        }
        // `|| exit 1` ends the line as `&&` would.
        if first.connector == Connector::Or && is_failing_exit(last) {
            is_guarded = true;
            continue;
        }
        if !goes_on || last.is_conditional || last.is_background || last.is_piped_on {
            break;
        }
        is_guarded = false;
        next = first.connector;
        chain.push(pipeline);
    }
    chain
}

/// Returns the place of a part of a slice in it.
fn offset_in(commands: &[ShellCommand], members: &[ShellCommand]) -> usize {
    let pipeline = members.first().map(|command| command.pipeline);
    let end = commands.partition_point(|command| Some(command.pipeline) <= pipeline);
    end.saturating_sub(members.len())
}

/// Returns whether a line sets `-e`, and `pipefail`.
fn shell_options(commands: &[ShellCommand]) -> (bool, bool) {
    let (mut stops, mut pipes_fail) = (false, false);
    for command in commands.iter().filter(|command| command.program() == "set") {
        for word in command.words.iter().skip(1) {
            let letters = word.strip_prefix('-').unwrap_or_default();
            stops |= letters.contains('e') || word == "errexit";
            pipes_fail |= word == "pipefail";
        }
    }
    (stops, pipes_fail)
}

fn is_failing_exit(command: &ShellCommand) -> bool {
    let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["exit" | "return"] => true,
        ["exit" | "return", code, ..] => *code != "0",
        _ => false,
    }
}

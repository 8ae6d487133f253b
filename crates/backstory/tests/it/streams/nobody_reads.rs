//! Outputs that nobody reads, or that take nothing.

use std::process::{Command, Stdio};

use super::{calls, commands_of_help, hostile};
use crate::environment::{Environment, Outcome, prompt};

/// The end of a pipe that nobody reads.
fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    Stdio::from(writer)
}

#[test]
fn every_output_into_a_closed_pipe_ends_quietly() {
    let environment = hostile();
    environment.run(&["sweep"]);
    let named = commands_of_help(&environment, "");
    let help = named
        .iter()
        .map(|command| (command.as_str(), vec!["--help"]));
    for (command, arguments) in calls()
        .into_iter()
        .chain(help)
        .chain([("--help", vec![]), ("--version", vec![])])
    {
        for more in [&[][..], &["--json"]] {
            let what = format!("{command} {arguments:?} {more:?}");
            let output = environment
                .call(command, &arguments, more)
                .stdout(closed_pipe())
                .output()
                .unwrap();
            let outcome = Outcome::of(&output);
            assert!(
                [0, 1, 2].contains(&outcome.code),
                "{what}: {} {}",
                outcome.code,
                outcome.stderr
            );
            let complains = ["panicked", "Broken pipe", "os error 32"]
                .iter()
                .any(|word| outcome.stderr.contains(word));
            assert!(!complains, "{what}: {}", outcome.stderr);
            let mut both = environment.call(command, &arguments, more);
            let status = both
                .stdout(closed_pipe())
                .stderr(closed_pipe())
                .status()
                .unwrap();
            assert!(matches!(status.code(), Some(0..=2)), "{what}: {status}");
        }
    }
}

#[cfg(unix)]
#[test]
fn every_command_runs_with_its_outputs_closed() {
    let environment = hostile();
    environment.run(&["sweep"]);
    for (command, arguments) in calls() {
        let call = environment.call(command, &arguments, &[]);
        let mut shell = Command::new("sh");
        shell
            .args(["-c", "exec \"$0\" \"$@\" >&- 2>&- <&-"])
            .arg(call.get_program())
            .args(call.get_args());
        shell
            .env_clear()
            .current_dir(call.get_current_dir().unwrap());
        shell.envs(
            call.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        let status = shell.status().unwrap();
        assert!(
            matches!(status.code(), Some(0..=2)),
            "{command} {arguments:?}: {status}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_whatever_is_printed() {
    let environment = hostile();
    environment.run(&["sweep"]);
    let more = [
        ("--help", vec![]),
        ("--version", vec![]),
        ("show", vec!["00000001", "--format", "original"]),
    ];
    for (command, arguments) in calls().into_iter().chain(more) {
        let usual = Outcome::of(&environment.call(command, &arguments, &[]).output().unwrap());
        if usual.stdout.is_empty() || usual.code != 0 {
            continue;
        }
        let full = std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let output = environment
            .call(command, &arguments, &[])
            .stdout(full)
            .output()
            .unwrap();
        let outcome = Outcome::of(&output);
        let what = format!("{command} {arguments:?}");
        assert!(
            outcome.code == 70
                && outcome
                    .stderr
                    .contains("error: cannot write: No space left"),
            "{what}: {} {}",
            outcome.code,
            outcome.stderr
        );
    }
}

#[test]
fn watch_ends_when_nobody_reads() {
    let environment = Environment::new();
    environment.claude(1, &[prompt(1, 0, "hello")]);
    for more in [&[][..], &["--json"]] {
        environment.claude(2, &[prompt(2, more.len() as u32, "again")]);
        let output = environment
            .command(&["watch"])
            .args(more)
            .stdout(closed_pipe())
            .output()
            .unwrap();
        let outcome = Outcome::of(&output);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    }
}

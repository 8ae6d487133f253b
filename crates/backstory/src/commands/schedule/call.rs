//! Calling the system's programs.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use backstory_memory::find_program;

use crate::error::Error;

/// Runs a program of the system; `None` when there is no such program.
pub(super) fn call(
    program: &str,
    arguments: &[&str],
    input: &[u8],
) -> Result<Option<Output>, Error> {
    let Some(path) = find_program(program) else {
        return Ok(None);
    };
    let child = Command::new(path)
        .args(arguments)
        // What it says is compared with words we know.
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::usage(format!("cannot run {program}: {error}"))),
    };
    if let Some(mut stdin) = child.stdin.take() {
        // One that does not read its input closes it, and tells by its exit code whether that was right.
        let _ = stdin.write_all(input);
    }
    Ok(Some(child.wait_with_output()?))
}

/// Whether a program is there and succeeds.
pub(super) fn succeeds(program: &str, arguments: &[&str]) -> bool {
    matches!(call(program, arguments, b""), Ok(Some(output)) if output.status.success())
}

/// Runs a program that must succeed.
pub(super) fn demand(program: &str, arguments: &[&str], input: &[u8]) -> Result<(), Error> {
    match call(program, arguments, input)? {
        Some(output) if output.status.success() => Ok(()),
        Some(output) => Err(refusal(program, arguments, &output)),
        None => Err(Error::usage(format!("there is no program {program} here"))),
    }
}

/// What a program said when it did not do as asked.
pub(super) fn refusal(program: &str, arguments: &[&str], output: &Output) -> Error {
    let said = String::from_utf8_lossy(&output.stderr);
    Error::usage(format!(
        "`{program} {}` failed: {}",
        arguments.join(" "),
        said.trim()
    ))
}

//! The memory of your coding agents: the command line.
//!
//! Only this crate prints, reads the environment, the home folder and the clock. It asks the library and shows what it says.

mod cadence;
mod cli;
mod commands;
mod config;
mod error;
mod hook;
mod naming;
mod options;
mod output;
mod printer;
mod setting;
mod shell;
#[cfg(unix)]
mod worker;

use std::process::ExitCode;
#[cfg(unix)]
use std::sync::Arc;

use clap::Parser;

use crate::error::Error;

fn main() -> ExitCode {
    #[cfg(unix)]
    handle_file_size_signal();
    if let Some(call) = hook::Call::of(std::env::args_os()) {
        hook::run(&call);
        return ExitCode::SUCCESS;
    }
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return print_parse_error(&error),
    };
    match commands::run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}

/// Prints help, the version, or what is wrong with the arguments, and returns the exit code.
fn print_parse_error(error: &clap::Error) -> ExitCode {
    let code = ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
    // The message quotes arguments: made of harmless ones, all escape sequences in it are clap's own.
    let arguments =
        std::env::args_os().map(|argument| output::one_line(&argument.to_string_lossy()));
    match cli::Cli::try_parse_from(arguments) {
        Err(harmless) => match harmless.print() {
            Err(error) if !harmless.use_stderr() => Error::from(error).report(),
            _ => code,
        },
        // Only what is hidden was wrong.
        Ok(_) => {
            printer::print_stderr(error);
            code
        }
    }
}

/// Makes a write beyond the limit on the size of files (`ulimit -f`) an error like any other, not the end of the process. Programs that
/// we run do not inherit the handler.
#[cfg(unix)]
fn handle_file_size_signal() {
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

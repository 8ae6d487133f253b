//! The memory of your coding agents: the command line.
//!
//! Only this crate prints, reads the environment, the home folder and the clock. It asks the library and shows what it says.

mod cadence;
mod cli;
mod commands;
mod config;
mod error;
mod hook;
mod keys;
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
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    limit_malloc_arenas();
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

/// Limits glibc to one malloc arena per core and one more. Its default of eight per core lets each thread of a sweep keep what it has freed:
/// 1 GB of logs took 185 MB of memory on two cores, and takes 145 MB so, for 2.5 % more processor time.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)]
fn limit_malloc_arenas() {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let arenas = libc::c_int::try_from(cores + 1).unwrap_or(libc::c_int::MAX);
    // SAFETY: no other thread runs yet, and any number is a valid value of this parameter.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, arenas) };
}

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
mod output;
mod setting;
mod shell;
#[cfg(unix)]
mod worker;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    #[cfg(unix)]
    block_file_size_signal();
    if let Some(call) = hook::Call::of(std::env::args_os()) {
        hook::run(&call);
        return ExitCode::SUCCESS;
    }
    let cli = cli::Cli::parse();
    match commands::run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}

/// Makes a write beyond the limit on the size of files (`ulimit -f`) an error like any other, not the end of the process.
#[cfg(unix)]
fn block_file_size_signal() {
    use nix::sys::signal::{SigSet, Signal};
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGXFSZ);
    // All threads inherit it; programs that we run do not.
    let _ = signals.thread_block();
}

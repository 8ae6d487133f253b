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

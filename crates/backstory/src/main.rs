//! The memory of your coding agents: the command line.
//!
//! Only this crate prints, reads the environment, the home folder and the clock. It asks the library and shows what it says.

mod cadence;
mod cli;
mod commands;
mod config;
mod error;
mod naming;
mod output;
mod setting;
mod shell;
#[cfg(unix)]
mod worker;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match commands::run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}

//! `completions`.

use clap::CommandFactory;

use crate::cli::{Cli, CompletionsArgs};

pub(super) fn run(arguments: &CompletionsArgs) {
    clap_complete::generate(
        arguments.shell,
        &mut Cli::command(),
        "backstory",
        &mut std::io::stdout(),
    );
}

//! `completions`.

use std::io::Write;

use clap::CommandFactory;

use crate::cli::{Cli, CompletionsArgs};
use crate::error::Error;
use crate::output::stdout;

pub(super) fn run(arguments: &CompletionsArgs) -> Result<(), Error> {
    // The generator panics when it cannot write, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut Cli::command(),
        "backstory",
        &mut script,
    );
    let mut out = stdout();
    out.write_all(&script)?;
    out.flush()?;
    Ok(())
}

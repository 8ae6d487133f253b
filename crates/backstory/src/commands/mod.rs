//! One file a command.

mod blame;
mod code;
#[cfg(feature = "columnar")]
mod columnar;
mod completions;
mod compress;
mod config;
mod context;
mod damage;
mod digest;
mod doctor;
mod embed;
mod eval;
mod forget;
mod model;
mod observations;
mod patterns;
mod queue;
mod recall;
mod report_eval;
mod retain;
mod sample;
mod schedule;
mod search;
mod sessions;
mod setup;
mod show;
pub(crate) mod sweep;
mod usage;
mod watch;
#[cfg(unix)]
mod worker;

use crate::cli::{Cli, Command};
use crate::error::Error;
use crate::setting::Setting;

/// Runs what was typed.
pub(crate) fn run(cli: &Cli) -> Result<(), Error> {
    let setting = match &cli.command {
        Command::Completions(arguments) => {
            return completions::run(arguments);
        }
        _ => Setting::new(cli)?,
    };
    match &cli.command {
        Command::Sweep(arguments) if arguments.sample => sample::run(&setting, arguments),
        Command::Sweep(arguments) => sweep::run(&setting, arguments),
        Command::Watch(arguments) => watch::run(&setting, arguments),
        Command::Search(arguments) => search::run(&setting, arguments),
        Command::Sessions(arguments) => sessions::run(&setting, arguments),
        Command::Show(arguments) => show::run(&setting, arguments),
        Command::Tail(arguments) => show::tail(&setting, arguments),
        #[cfg(feature = "columnar")]
        Command::Convert(arguments) => columnar::convert(&setting, arguments),
        #[cfg(feature = "columnar")]
        Command::Export(arguments) => columnar::export(&setting, arguments),
        #[cfg(feature = "columnar")]
        Command::Inspect(arguments) => columnar::inspect(arguments),
        Command::Digest(arguments) => digest::run(&setting, arguments),
        Command::Observations(arguments) => observations::run(&setting, arguments),
        Command::Context(arguments) => context::run(&setting, arguments),
        Command::Blame(arguments) => blame::run(&setting, arguments),
        Command::Map(arguments) => code::map(&setting, arguments),
        Command::Calls(arguments) => code::calls(&setting, arguments),
        Command::Changes(arguments) => code::changes(&setting, arguments),
        Command::Why(arguments) => code::why(&setting, arguments),
        Command::Fix(arguments) => recall::fix(&setting, arguments),
        Command::How(arguments) => recall::how(&setting, arguments),
        Command::Report(arguments) if arguments.eval => report_eval::run(&setting, arguments),
        Command::Report(arguments) => code::report(&setting, arguments),
        Command::Usage(arguments) => usage::run(&setting, arguments),
        Command::Model(arguments) => model::run(&setting, arguments),
        Command::Embed(arguments) => embed::run(&setting, arguments),
        Command::Compress(arguments) => compress::run(&setting, arguments),
        Command::Eval(arguments) => eval::run(&setting, arguments),
        Command::Patterns(arguments) => patterns::run(&setting, arguments),
        Command::Setup(arguments) => setup::set_up_hooks(&setting, arguments),
        Command::Teardown(arguments) => setup::tear_down_hooks(&setting, arguments),
        Command::Queue(arguments) => queue::run(&setting, arguments),
        Command::Schedule(arguments) => schedule::run(&setting, arguments),
        Command::Retain(arguments) => retain::run(&setting, arguments),
        Command::Forget(arguments) => forget::run(&setting, arguments),
        Command::Doctor(arguments) => doctor::run(&setting, arguments),
        Command::Config(arguments) => config::run(&setting, arguments),
        #[cfg(unix)]
        Command::Worker(arguments) => worker::run(setting, arguments),
        #[cfg(not(unix))]
        Command::Worker(_) => Err(Error::usage("there is no worker on this system yet")
            .hint("all works without it, only slower")),
        // Done before anything was parsed.
        Command::Completions(_) | Command::Hook(_) => Ok(()),
    }
}

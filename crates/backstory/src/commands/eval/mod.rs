//! `eval`.

mod context;
mod digest_review;
mod digests;
mod observations;
mod retrieval;

use std::io::IsTerminal;

use crate::cli::{EvalArgs, EvalWhat};
use crate::error::Error;
use crate::setting::Setting;

/// Returns whether a person can be asked.
fn is_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

pub(super) fn run(setting: &Setting, arguments: &EvalArgs) -> Result<(), Error> {
    match &arguments.what {
        EvalWhat::Retrieval {
            queries,
            mode,
            each,
            json,
        } => retrieval::run(setting, queries, *mode, *each, *json),
        EvalWhat::Context {
            sessions,
            project,
            each,
            json,
        } => context::run(setting, project.as_deref(), *sessions, *each, *json),
        EvalWhat::Digests {
            sessions,
            seed,
            review,
            score,
            json,
        } => {
            let is_asked = *review || !(*score || *json || !is_terminal());
            let sample = is_asked.then_some((*sessions, *seed));
            digests::run(setting, sample, *json)
        }
        EvalWhat::Observations { json } => observations::run(setting, *json),
    }
}

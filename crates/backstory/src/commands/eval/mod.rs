//! `eval`.

mod context;
mod observations;
mod retrieval;

use crate::cli::{EvalArgs, EvalWhat};
use crate::error::Error;
use crate::setting::Setting;

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
        EvalWhat::Observations { json } => observations::run(setting, *json),
    }
}

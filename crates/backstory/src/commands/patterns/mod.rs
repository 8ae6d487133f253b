//! `patterns`.

mod curate;
mod list;
mod measure;
mod publish;

use backstory_memory::Memory;
use backstory_memory::patterns::{Catalogue, Pattern, PatternFilter, PublishOptions, Status};

use super::sessions::project_filter;
use crate::cli::{PatternsAction, PatternsArgs};
use crate::error::Error;
use crate::output::warn;
use crate::setting::Setting;

pub(super) fn run(setting: &Setting, arguments: &PatternsArgs) -> Result<(), Error> {
    let mut catalogue = load(setting)?;
    let Some(action) = &arguments.action else {
        let list = &arguments.list;
        let filter = PatternFilter {
            min_frequency: list.min_frequency,
            project: list.project.as_deref().map(project_filter),
            domain: list.domain.clone(),
            kind: list.kind.map(Into::into),
            include_minor: list.all,
            domains: setting.config.domains.clone(),
        };
        let memory = setting.memory()?;
        let patterns = memory.patterns().list(&filter)?;
        return list::run(patterns, &catalogue, list);
    };
    match action {
        PatternsAction::Show { id, json } => {
            list::show(setting, &candidates(setting)?, &catalogue, id, *json)
        }
        PatternsAction::Approve { ids } => {
            curate::decide(&candidates(setting)?, &mut catalogue, ids, Status::Approved)
        }
        PatternsAction::Reject { ids } => {
            curate::decide(&candidates(setting)?, &mut catalogue, ids, Status::Rejected)
        }
        PatternsAction::Edit { id, title, advice } => curate::edit(
            setting,
            &mut catalogue,
            id,
            title.as_deref(),
            advice.as_deref(),
        ),
        PatternsAction::Merge { id, into } => {
            curate::merge(&candidates(setting)?, &mut catalogue, id, into)
        }
        PatternsAction::Publish {
            to,
            limit_bytes,
            skills,
            dry_run,
        } => {
            let options = PublishOptions {
                limit_bytes: *limit_bytes,
                as_skills: *skills,
                is_dry_run: *dry_run,
            };
            publish::publish(setting, &mut catalogue, to, options)
        }
        PatternsAction::Unpublish { to } => publish::unpublish(setting, &mut catalogue, to),
        PatternsAction::Measure { json } => {
            measure::run(setting, &candidates(setting)?, &catalogue, *json)
        }
        PatternsAction::Catalogue { json } => curate::list(&catalogue, *json),
    }
}

/// The catalogue; files that are wrong are told and cost no other.
fn load(setting: &Setting) -> Result<Catalogue, Error> {
    let catalogue = Catalogue::load(&setting.catalogue())?;
    for problem in catalogue.problems() {
        warn(&format!(
            "{} is left out: {}",
            problem.path.display(),
            problem.reason
        ));
    }
    Ok(catalogue)
}

/// All that was detected; nothing when nothing has been swept, for what was decided can still be worked with.
fn candidates(setting: &Setting) -> Result<Vec<Pattern>, Error> {
    let filter = PatternFilter {
        domains: setting.config.domains.clone(),
        include_minor: true,
        ..PatternFilter::default()
    };
    match Memory::open_existing(&setting.store)? {
        Some(memory) => {
            let patterns = memory.patterns().list(&filter)?;
            for damage in &patterns.damage {
                warn(damage);
            }
            Ok(patterns.answer)
        }
        None => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests;

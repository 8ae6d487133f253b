//! `patterns publish` and `patterns unpublish`.

use std::path::PathBuf;

use backstory_memory::patterns::{Catalogue, PublishTarget, Unpublished};

use crate::error::Error;
use crate::output::talk;
use crate::setting::{Setting, now};

pub(super) fn publish(
    setting: &Setting,
    catalogue: &mut Catalogue,
    to: &[PathBuf],
    limit_bytes: usize,
) -> Result<(), Error> {
    for target in targets(setting, to)? {
        let published = catalogue.publish(&target, limit_bytes, now())?;
        let count = published.approved;
        let name = &target.name;
        talk(&match (count == 0, published.changed) {
            (true, true) => format!("nothing is approved: took the block out of {name}"),
            (true, false) => format!("nothing is approved: {name} stays as it is"),
            (false, true) => format!(
                "published in {name}: {} of {} approved patterns",
                published.ids.len(),
                count
            ),
            (false, false) => format!("{name} says so already"),
        });
        if published.left_out > 0 {
            talk(&format!(
                "{} did not fit into {limit_bytes} bytes",
                published.left_out
            ));
        }
        if count == 0 {
            talk("`backstory patterns approve` says which are worth telling");
        }
    }
    Ok(())
}

pub(super) fn unpublish(
    setting: &Setting,
    catalogue: &mut Catalogue,
    to: &[PathBuf],
) -> Result<(), Error> {
    for target in targets(setting, to)? {
        let done = catalogue.unpublish(&target, now())?;
        let name = &target.name;
        talk(&match done {
            Unpublished::Nothing => format!("nothing is published in {name}"),
            Unpublished::Block => format!("took the block out of {name}"),
            Unpublished::File => format!("removed {name}, which had nothing else in it"),
        });
    }
    Ok(())
}

fn targets(setting: &Setting, to: &[PathBuf]) -> Result<Vec<PublishTarget>, Error> {
    if to.is_empty() {
        let here = std::env::current_dir()?;
        return Ok(vec![PublishTarget::usual(&here, &setting.home)?]);
    }
    let typed = to
        .iter()
        .map(|path| PublishTarget::new(path, &setting.home));
    Ok(typed.collect())
}

//! `patterns publish` and `patterns unpublish`.

use std::io::Write;
use std::path::PathBuf;

use backstory_memory::patterns::{Catalogue, PublishOptions, PublishTarget, Unpublished};

use crate::error::Error;
use crate::output::{harmless, one_line, stdout, talk};
use crate::setting::{Setting, now};

pub(super) fn publish(
    setting: &Setting,
    catalogue: &mut Catalogue,
    to: &[PathBuf],
    options: PublishOptions,
) -> Result<(), Error> {
    for target in targets(setting, to)? {
        let published = catalogue.publish(&target, options, now())?;
        let name = &target.name;
        if options.is_dry_run {
            print_diff(name, &published.diff)?;
            continue;
        }
        let count = published.approved;
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
                "{} did not fit into {} bytes",
                published.left_out, options.limit_bytes
            ));
        }
        if count == 0 && !options.as_skills {
            talk("`backstory patterns approve` says which are worth telling");
        }
    }
    if options.as_skills {
        publish_skills(setting, catalogue, options.is_dry_run)?;
    }
    Ok(())
}

fn publish_skills(
    setting: &Setting,
    catalogue: &mut Catalogue,
    is_dry_run: bool,
) -> Result<(), Error> {
    let here = std::env::current_dir()?;
    let usual = PublishTarget::usual(&here, &setting.home)?;
    let repository = usual.path.parent().unwrap_or(&here);
    let skills = catalogue.publish_skills(repository, &setting.home, is_dry_run, now())?;
    if skills.is_empty() {
        talk("no procedure is approved: no skill to write");
    }
    for skill in skills {
        match (is_dry_run, skill.changed) {
            (true, _) => print_diff(&skill.target, &skill.diff)?,
            (false, true) if skill.is_removed => {
                talk(&format!(
                    "removed {}: {} is no approved procedure",
                    skill.target, skill.id
                ));
            }
            (false, true) => talk(&format!("published {} in {}", skill.id, skill.target)),
            (false, false) => talk(&format!("{} says so already", skill.target)),
        }
    }
    Ok(())
}

/// Prints what would change in a file.
fn print_diff(name: &str, diff: &[String]) -> Result<(), Error> {
    let mut out = stdout();
    if diff.is_empty() {
        writeln!(out, "{}: no change", one_line(name))?;
    } else {
        writeln!(out, "{}:", one_line(name))?;
    }
    for line in diff {
        writeln!(out, "{}", harmless(line))?;
    }
    out.flush()?;
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

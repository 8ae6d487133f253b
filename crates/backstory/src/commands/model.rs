//! `model`.

use std::io::Write;

use backstory_memory::Memory;
use backstory_memory::models::hub;
use serde_json::{Value, json};

use super::config;
use crate::cli::{ModelAction, ModelArgs};
use crate::error::Error;
use crate::output::{
    counted, one_line, print_json, print_table, progress_bar, short_bytes, stdout, table, talk,
};
use crate::setting::Setting;

pub(super) fn run(setting: &Setting, arguments: &ModelArgs) -> Result<(), Error> {
    match &arguments.action {
        ModelAction::List { json } => list(setting, *json),
        ModelAction::Pull { name, hub } => pull(setting, name, hub.as_deref()),
        ModelAction::Add { path, name } => add(setting, path, name.as_deref()),
        ModelAction::Use { name } => choose(setting, name),
        ModelAction::Remove { name } => remove(setting, name),
    }
}

fn list(setting: &Setting, json: bool) -> Result<(), Error> {
    let memory = Memory::open_existing(&setting.store)?;
    let here = memory
        .as_ref()
        .map(|memory| memory.models().list())
        .unwrap_or_default();
    let used = setting.config.model.as_deref();
    let mut models = Vec::new();
    for (name, description) in &here {
        models.push(json!({
            "name": name,
            "here": true,
            "used": used == Some(name),
            "static": description.family.is_static(),
            "dimensions": description.dimensions,
            "licence": description.licence,
            "description": Value::Null,
        }));
    }
    for entry in hub::CATALOGUE
        .iter()
        .filter(|entry| !here.iter().any(|(name, _)| name == entry.name))
    {
        models.push(json!({
            "name": entry.name,
            "here": false,
            "used": false,
            "static": entry.family.is_static(),
            "dimensions": entry.dimensions,
            "licence": entry.licence,
            "description": entry.description,
            "megabytes": entry.megabytes,
        }));
    }
    if json {
        return print_json(&json!({ "models": models }));
    }
    let mut table = table(&[
        "model",
        "state",
        "kind",
        "size",
        "dimensions",
        "licence",
        "for",
    ]);
    for model in &models {
        let text = |key: &str| model[key].as_str().unwrap_or("-").to_string();
        let flag = |key: &str| model[key].as_bool() == Some(true);
        table.add_row(vec![
            text("name"),
            (if flag("used") {
                "in use"
            } else if flag("here") {
                "here"
            } else {
                "to pull"
            })
            .to_string(),
            (if flag("static") { "static" } else { "network" }).to_string(),
            model["megabytes"]
                .as_u64()
                .map_or("-".to_string(), |size| format!("{size} MB")),
            model["dimensions"].to_string(),
            text("licence"),
            text("description"),
        ]);
    }
    let mut out = stdout();
    print_table(&mut out, &table)?;
    out.flush()?;
    Ok(())
}

fn pull(setting: &Setting, name: &str, mirror: Option<&str>) -> Result<(), Error> {
    let entry = hub::find(name).ok_or_else(|| {
        Error::usage(format!("no model is called {name:?}"))
            .hint("`backstory model list` shows which can be pulled")
    })?;
    let memory = Memory::open(&setting.store)?;
    let folder = memory.models().download_folder(entry.name)?;
    let bar = progress_bar("{msg} [{bar:30}] {bytes}/{total_bytes} {bytes_per_sec}, {eta} left");
    hub::pull(
        entry,
        mirror.unwrap_or(hub::HUB),
        &folder,
        &mut |progress| {
            bar.set_message(one_line(progress.file));
            bar.set_length(progress.total.unwrap_or(progress.done));
            bar.set_position(progress.done);
        },
    )
    .map_err(|error| Error::from(backstory_memory::Error::Model(error)))?;
    bar.finish_and_clear();
    memory.models().add(&folder, Some(entry.name))?;
    std::fs::remove_dir_all(&folder)?;
    choose(setting, entry.name)
}

fn add(setting: &Setting, path: &std::path::Path, name: Option<&str>) -> Result<(), Error> {
    let memory = Memory::open(&setting.store)?;
    let (name, imported) = memory.models().add(path, name)?;
    talk(&format!(
        "added {name}: {} dimensions, {}",
        imported.description.dimensions,
        short_bytes(imported.bytes)
    ));
    choose(setting, &name)
}

/// Searches with a model from now on.
fn choose(setting: &Setting, name: &str) -> Result<(), Error> {
    if name == "none" {
        config::unset(&setting.config_path, "model")?;
        talk("search goes by words only");
        return Ok(());
    }
    let memory = setting.memory_to_write()?;
    if !memory
        .models()
        .list()
        .iter()
        .any(|(known, _)| known == name)
    {
        return Err(backstory_memory::Error::NoModel(name.to_string()).into());
    }
    config::set(&setting.config_path, "model", &format!("{name:?}"))?;
    let pending = memory.models().embedding_state(name)?.pending();
    talk(&format!("search goes by words and by {name}"));
    if pending > 0 {
        talk(&format!(
            "{} without vectors yet: `backstory embed` makes them, and so does each sweep for a static model",
            counted(pending, "event")
        ));
    }
    Ok(())
}

fn remove(setting: &Setting, name: &str) -> Result<(), Error> {
    let memory = setting.memory_to_write()?;
    memory.models().remove(name)?;
    if setting.config.model.as_deref() == Some(name) {
        config::unset(&setting.config_path, "model")?;
    }
    talk(&format!("removed {name} and its vectors"));
    Ok(())
}

//! `config`.

use std::io::Write;
use std::path::Path;

use backstory_memory::Agent;
use serde_json::json;
use toml_edit::{DocumentMut, Item, Table, Value};

use crate::cli::{ConfigAction, ConfigArgs};
use crate::config::{Config, read_text};
use crate::error::Error;
use crate::output::{DIM, print_json, stdout};
use crate::setting::Setting;

pub(super) fn run(setting: &Setting, arguments: &ConfigArgs) -> Result<(), Error> {
    match &arguments.action {
        Some(ConfigAction::Set { key, value }) => set(&setting.config_path, key, value)?,
        Some(ConfigAction::Path) if !arguments.json => {
            let mut out = stdout();
            writeln!(out, "{}", setting.config_path.display())?;
            out.flush()?;
            return Ok(());
        }
        _ => {}
    }
    let config = Config::load(&setting.config_path)?;
    if arguments.json {
        let config = serde_json::to_value(&config).unwrap_or_default();
        return print_json(
            &json!({ "path": setting.config_path, "store": setting.store, "config": config }),
        );
    }
    let mut out = stdout();
    let there = if setting.config_path.exists() {
        ""
    } else {
        " (not there: all defaults)"
    };
    writeln!(
        out,
        "{DIM}# {}{there}{DIM:#}",
        setting.config_path.display()
    )?;
    writeln!(
        out,
        "{DIM}# store in use: {}{DIM:#}",
        setting.store.display()
    )?;
    write!(out, "{}", toml::to_string(&config).unwrap_or_default())?;
    out.flush()?;
    Ok(())
}

/// Changes one key and nothing else of the file; what would not be a valid configuration is refused.
pub(super) fn set(path: &Path, key: &str, value: &str) -> Result<(), Error> {
    let mut document = document(path)?;
    let value: Value = value.parse().unwrap_or_else(|_| Value::from(value));
    let mut parts: Vec<&str> = key.split('.').collect();
    if let ["sources", agent, ..] = &mut parts[..]
        && let Some(known) = Agent::find(agent)
    {
        // An alias besides the name would be another table.
        *agent = known.name;
    }
    let last = parts.pop().unwrap_or_default();
    let mut table: &mut Table = document.as_table_mut();
    for part in parts {
        let item = table.entry(part).or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        table = item
            .as_table_mut()
            .ok_or_else(|| Error::usage(format!("{part:?} is no table in {}", path.display())))?;
    }
    table.insert(last, Item::Value(value));
    let text = document.to_string();
    Config::parse(&text).map_err(|error| {
        Error::usage(format!("that is not a valid configuration: {error}"))
            .hint("`backstory config --help` tells the keys")
    })?;
    if key == "compress.api_key" {
        keep_private(path)?;
        return Ok(backstory_memory::write_private(path, text.as_bytes())?);
    }
    Ok(backstory_memory::write_whole(path, text.as_bytes())?)
}

/// Lets nobody else read a file, if it is there.
fn keep_private(path: &Path) -> Result<(), Error> {
    #[cfg(unix)]
    if path.exists() {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

/// Takes a key out again.
pub(super) fn unset(path: &Path, key: &str) -> Result<(), Error> {
    let mut document = document(path)?;
    match document.remove(key) {
        Some(_) => Ok(backstory_memory::write_whole(
            path,
            document.to_string().as_bytes(),
        )?),
        None => Ok(()),
    }
}

fn document(path: &Path) -> Result<DocumentMut, Error> {
    let text = read_text(path)?.unwrap_or_default();
    text.parse()
        .map_err(|error| Error::usage(format!("{} is not TOML: {error}", path.display())))
}

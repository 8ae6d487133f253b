//! The configuration file: read once, every key optional.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::cadence::Cadence;
use crate::error::Error;

/// What the user configured.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    /// Where the store is, unless `BACKSTORY_HOME` says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) store: Option<PathBuf>,
    /// Whether secrets are taken out before anything is kept.
    pub(crate) redact: Redact,
    /// The model that finds turns by meaning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// How often `schedule` lets the system sweep.
    pub(crate) cadence: Cadence,
    /// Where decisions about patterns are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) catalogue: Option<PathBuf>,
    /// What projects belong to, by their roots or names.
    pub(crate) domains: BTreeMap<String, String>,
    /// Which agents are swept, and where else they keep logs.
    pub(crate) sources: BTreeMap<String, Source>,
}

/// Whether secrets are taken out.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Redact {
    /// They are.
    #[default]
    On,
    /// They are kept as they stand in the logs.
    Off,
}

/// One agent.
#[derive(Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Source {
    /// Whether it is swept.
    pub(crate) enabled: bool,
    /// More folders with its logs.
    pub(crate) roots: Vec<PathBuf>,
}

impl Default for Source {
    fn default() -> Self {
        Source {
            enabled: true,
            roots: Vec::new(),
        }
    }
}

impl Config {
    /// Reads the file; one that is not there says nothing.
    pub(crate) fn load(path: &Path) -> Result<Self, Error> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Config::default());
            }
            Err(error) => {
                return Err(Error::usage(format!(
                    "cannot read {}: {error}",
                    path.display()
                )));
            }
        };
        Config::parse(&text).map_err(|error| {
            Error::usage(format!(
                "{} is not a valid configuration: {error}",
                path.display()
            ))
            .hint("`backstory config --help` tells the keys")
        })
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let config: Config =
            toml::from_str(text).map_err(|error| error.to_string().trim_end().to_string())?;
        match config
            .sources
            .keys()
            .find(|agent| backstory_session::reader(agent).is_none())
        {
            Some(agent) => Err(format!("unknown agent {agent:?} in [sources]")),
            None => Ok(config),
        }
    }

    pub(crate) fn is_enabled(&self, agent: &str) -> bool {
        self.sources.get(agent).is_none_or(|source| source.enabled)
    }
}

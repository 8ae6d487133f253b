//! The configuration file: read once, every key optional.

mod compress;
mod context;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use backstory_memory::trusted::read_settings;
use backstory_memory::{Agent, Caps};
use serde::{Deserialize, Serialize};

use self::context::Context;
pub(crate) use self::context::limits_of;
use crate::cadence::Cadence;
use crate::error::Error;

pub(crate) use self::compress::{Compress, With};

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
    /// Which agents are swept, and where else they keep logs; by name, whatever alias is in the file.
    pub(crate) sources: BTreeMap<String, Source>,
    /// What is kept, and when text goes.
    pub(crate) retention: Retention,
    /// What new sessions are told.
    pub(crate) context: Context,
    /// Who writes of prompts, tool uses and sessions.
    pub(crate) compress: Compress,
}

/// Bounds of what is kept; there are none by default.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Retention {
    /// Above this, analysed sessions are evicted, oldest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) raw_soft_cap_bytes: Option<Bytes>,
    /// Above this, any session is, unless it is pinned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) raw_hard_cap_bytes: Option<Bytes>,
    /// Analysed sessions older than this are evicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) raw_max_age_days: Option<u64>,
    /// Above this, a sweep says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) distilled_cap_bytes: Option<Bytes>,
}

/// The keys of [`Retention`].
const CAPS: [&str; 4] = [
    "raw_soft_cap_bytes",
    "raw_hard_cap_bytes",
    "raw_max_age_days",
    "distilled_cap_bytes",
];

impl Retention {
    pub(crate) fn caps(&self) -> Caps {
        let bytes = |bytes: &Option<Bytes>| bytes.as_ref().map(|bytes| bytes.0);
        Caps {
            raw_soft_cap_bytes: bytes(&self.raw_soft_cap_bytes),
            raw_hard_cap_bytes: bytes(&self.raw_hard_cap_bytes),
            raw_max_age_days: self.raw_max_age_days,
            distilled_cap_bytes: bytes(&self.distilled_cap_bytes),
        }
    }
}

/// A number of bytes: 5000000, "5 MB", "5MiB".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "BytesText")]
pub(crate) struct Bytes(pub(crate) u64);

#[derive(Deserialize)]
#[serde(untagged)]
enum BytesText {
    Number(u64),
    Text(String),
}

impl TryFrom<BytesText> for Bytes {
    type Error = String;

    fn try_from(text: BytesText) -> Result<Self, String> {
        let text = match text {
            BytesText::Number(number) => return Ok(Bytes(number)),
            BytesText::Text(text) => text,
        };
        let wrong =
            || format!("{text:?} is no number of bytes, as 500000000 or \"500 MB\" would be");
        let digits = text.trim().trim_end_matches(char::is_alphabetic);
        let unit: u64 = match text.trim()[digits.len()..].to_lowercase().as_str() {
            "" | "b" => 1,
            "kb" => 1_000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            "tb" => 1_000_000_000_000,
            "kib" => 1 << 10,
            "mib" => 1 << 20,
            "gib" => 1 << 30,
            "tib" => 1 << 40,
            _ => return Err(wrong()),
        };
        let number: f64 = digits.trim().parse().map_err(|_| wrong())?;
        if !number.is_finite() || number < 0.0 {
            return Err(wrong());
        }
        Ok(Bytes((number * unit as f64) as u64))
    }
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
        let Some(text) = read_text(path)? else {
            return Ok(Config::default());
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
        let wrong =
            |error: toml::de::Error| compress::without_keys(error.to_string().trim_end(), text);
        // Caps are understood outside of their table, too: they are known by name.
        let mut table: toml::Table = text.parse().map_err(wrong)?;
        let caps = table.keys().filter(|key| CAPS.contains(&key.as_str()));
        let caps: Vec<String> = caps.cloned().collect();
        let mut config: Config = if caps.is_empty() {
            toml::from_str(text).map_err(wrong)?
        } else {
            for key in caps {
                let value = table.remove(&key).unwrap_or(false.into());
                let retention = table
                    .entry("retention")
                    .or_insert(toml::Table::new().into());
                if let Some(retention) = retention.as_table_mut() {
                    retention.insert(key, value);
                }
            }
            table.try_into().map_err(wrong)?
        };
        let mut sources = BTreeMap::new();
        for (name, source) in std::mem::take(&mut config.sources) {
            let agent =
                Agent::find(&name).ok_or_else(|| format!("unknown agent {name:?} in [sources]"))?;
            if sources.insert(agent.name.to_string(), source).is_some() {
                return Err(format!("[sources] names {} twice", agent.name));
            }
        }
        config.sources = sources;
        Ok(config)
    }

    pub(crate) fn is_enabled(&self, agent: &str) -> bool {
        self.sources.get(agent).is_none_or(|source| source.enabled)
    }
}

/// Reads the text of a configuration file; `None` when there is none. One that somebody else owns or can write is refused: it decides
/// where the store is, whether secrets are kept and where requests go.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>, Error> {
    read_settings(path).map_err(|error| {
        let wrong = Error::usage(format!("cannot read {}: {error}", path.display()));
        match error.kind() {
            std::io::ErrorKind::PermissionDenied => wrong.hint(
                "make it a regular file of your own that nobody else can write, remove it, or name another one with --config or BACKSTORY_CONFIG",
            ),
            _ => wrong,
        }
    })
}

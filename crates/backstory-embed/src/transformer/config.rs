//! The settings of a network: `config.json` and the files beside it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::map::read_file;
use crate::{Error, Result};

use super::batch::Pooling;

/// Maximum length of a file with settings.
const MAX_CONFIG_BYTES: u64 = 16 << 20;

/// What a size is of. Each kind has its limit, several times what the largest embedding models have: larger numbers come from a
/// damaged file, and would ask for more memory than there is before anything else is found to be wrong.
#[derive(Debug, Clone, Copy)]
pub(super) enum Size {
    /// How many numbers a row has.
    Width,
    /// How many layers there are.
    Layers,
    /// How many heads a layer has.
    Heads,
    /// How many numbers a head has.
    Head,
    /// How many rows a table has.
    Rows,
}

impl Size {
    fn most(self) -> usize {
        match self {
            Size::Width => 1 << 16,
            Size::Layers | Size::Head => 1 << 10,
            Size::Heads => 1 << 8,
            Size::Rows => 1 << 24,
        }
    }
}

/// A file with settings.
pub(super) struct Config<T> {
    pub(super) path: PathBuf,
    pub(super) settings: T,
}

impl<T: DeserializeOwned> Config<T> {
    /// Reads a file that must be there.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let missing = || Error::io(path, ErrorKind::NotFound.into());
        Config::find(path)?.ok_or_else(missing)
    }

    /// Reads a file that need not be there.
    pub(super) fn find(path: &Path) -> Result<Option<Self>> {
        let bytes = match read_file(path, MAX_CONFIG_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io(path, error)),
        };
        let settings = serde_json::from_slice(&bytes)
            .map_err(|error| Error::malformed(path, error.to_string()))?;
        Ok(Some(Config {
            path: path.to_path_buf(),
            settings,
        }))
    }
}

impl<T> Config<T> {
    /// Refuses sizes that no network has.
    pub(super) fn check_sizes(&self, sizes: &[(&str, Size, usize)]) -> Result<()> {
        check_sizes(&self.path, sizes)
    }

    /// Refuses a setting that would need code that is not here.
    pub(super) fn check(&self, is_known: bool, setting: &str) -> Result<()> {
        if is_known {
            return Ok(());
        }
        Err(Error::malformed(
            &self.path,
            format!("its {setting} is not one that this program can run"),
        ))
    }
}

/// Refuses sizes that no network has.
pub(super) fn check_sizes(path: &Path, sizes: &[(&str, Size, usize)]) -> Result<()> {
    let is_wrong = |(_, kind, size): &&(&str, Size, usize)| !(1..=kind.most()).contains(size);
    match sizes.iter().find(is_wrong) {
        None => Ok(()),
        Some((name, _, size)) => Err(Error::malformed(path, format!("its {name} is {size}"))),
    }
}

/// How `1_Pooling/config.json` says that vectors become one; nothing where there is no such file.
pub(super) fn pooling(folder: &Path) -> Result<Option<Pooling>> {
    #[derive(Deserialize)]
    struct Modes {
        /// The one mode, as newer writers of the file state it.
        pooling_mode: Option<String>,
        #[serde(default)]
        pooling_mode_cls_token: bool,
        #[serde(default)]
        pooling_mode_mean_tokens: bool,
        #[serde(default)]
        pooling_mode_lasttoken: bool,
    }
    let Some(config) = Config::<Modes>::find(&folder.join("1_Pooling/config.json"))? else {
        return Ok(None);
    };
    let modes = &config.settings;
    let flags = [
        (modes.pooling_mode_cls_token, "cls"),
        (modes.pooling_mode_mean_tokens, "mean"),
        (modes.pooling_mode_lasttoken, "lasttoken"),
    ];
    let flagged = flags.iter().filter(|(is_set, _)| *is_set);
    let flagged: Vec<&str> = flagged.map(|(_, mode)| *mode).collect();
    match (modes.pooling_mode.as_deref(), flagged.as_slice()) {
        (Some("cls"), _) | (None, ["cls"]) => Ok(Some(Pooling::First)),
        (Some("mean"), _) | (None, ["mean"]) => Ok(Some(Pooling::Mean)),
        (Some("lasttoken"), _) | (None, ["lasttoken"]) => Ok(Some(Pooling::Last)),
        _ => Err(Error::malformed(
            &config.path,
            "it names no pooling that this program can do",
        )),
    }
}

/// How many tokens `sentence_bert_config.json` says a text may have.
pub(super) fn longest(folder: &Path) -> Result<Option<usize>> {
    #[derive(Deserialize)]
    struct Limits {
        max_seq_length: Option<usize>,
    }
    let config = Config::<Limits>::find(&folder.join("sentence_bert_config.json"))?;
    Ok(config.and_then(|config| config.settings.max_seq_length))
}

//! Finds out what kind of model a set of files is.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::files;
use crate::safetensors::Safetensors;
use crate::{Error, Family, Result, gguf};

/// How far below a folder a model is looked for, and among how many files.
const DEEPEST: usize = 8;
const MOST_FILES: usize = 100_000;

/// The small files that a network's vectors may depend on.
const COMPANIONS: [&str; 5] = [
    "config.json",
    "modules.json",
    "1_Pooling/config.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
];

/// A model that was found.
#[derive(Debug)]
pub(super) struct Found {
    /// Where it was looked for.
    pub(super) root: PathBuf,
    pub(super) family: Family,
    pub(super) kind: Kind,
    pub(super) dimensions: usize,
    pub(super) weights: PathBuf,
    pub(super) tokenizer: PathBuf,
    companions: Vec<PathBuf>,
}

/// What is to be done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The tensor of that name is to be compiled.
    Static { table: &'static str },
    /// Its files are to be copied.
    Network,
}

impl Found {
    /// Every file that is needed.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        let own = [&self.weights, &self.tokenizer].into_iter();
        own.chain(&self.companions).map(PathBuf::as_path)
    }

    /// What a file is called in the folder of a model.
    pub(super) fn kept_name(&self, path: &Path) -> String {
        if path == self.tokenizer {
            return "tokenizer.json".to_owned();
        }
        let folder = self.weights.parent().unwrap_or(Path::new(""));
        let inner = path.strip_prefix(folder).unwrap_or(path);
        let inner = COMPANIONS.iter().find(|name| Path::new(name) == inner);
        inner.map_or_else(|| files::name(path), |name| (*name).to_owned())
    }
}

/// The model in a folder or below it; the nearest, if there are several.
pub(super) fn in_folder(folder: &Path) -> Result<Found> {
    let mut all = Vec::new();
    walk(folder, 0, &mut all)?;
    // Nearest first, then by name, so that the same files always give the same model.
    all.sort_by_key(|path| (path.components().count(), path.clone()));
    let weights = choose_weights(folder, &all)?;
    recognize(folder, weights, &all)
}

/// The model whose weights are a file.
pub(super) fn beside_file(weights: &Path) -> Result<Found> {
    if !is_weights(weights) {
        return Err(Error::malformed(
            weights,
            "it is no .safetensors, .gguf or zip file",
        ));
    }
    let folder = weights
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let entries = fs::read_dir(folder).map_err(|error| Error::io(folder, error))?;
    let mut all: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .collect();
    all.sort();
    recognize(folder, weights.to_path_buf(), &all)
}

fn walk(folder: &Path, depth: usize, all: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(|error| Error::io(folder, error))? {
        let entry = entry.map_err(|error| Error::io(folder, error))?;
        let kind = entry
            .file_type()
            .map_err(|error| Error::io(folder, error))?;
        if all.len() >= MOST_FILES {
            return Err(Error::malformed(folder, "it holds too many files"));
        }
        // Links to files are followed, for caches of models are made of them; links to folders may lead in circles.
        if kind.is_dir() && depth < DEEPEST {
            walk(&entry.path(), depth + 1, all)?;
        } else if entry.path().is_file() {
            all.push(entry.path());
        }
    }
    Ok(())
}

fn is_weights(path: &Path) -> bool {
    matches!(
        path.extension().and_then(|end| end.to_str()),
        Some("safetensors" | "gguf")
    )
}

fn choose_weights(folder: &Path, all: &[PathBuf]) -> Result<PathBuf> {
    let mut candidates = all.iter().filter(|path| is_weights(path));
    let Some(first) = candidates.next() else {
        return Err(Error::malformed(
            folder,
            "it holds no .safetensors or .gguf file",
        ));
    };
    let beside: Vec<&PathBuf> = candidates
        .filter(|path| path.parent() == first.parent())
        .collect();
    if beside.is_empty() {
        return Ok(first.clone());
    }
    let plain = std::iter::once(&first)
        .chain(&beside)
        .find(|path| path.ends_with("model.safetensors"));
    match plain {
        Some(plain) => Ok(PathBuf::from(plain)),
        None => Err(Error::malformed(
            first.parent().unwrap_or(folder),
            "it holds several files of weights; import one of them by its path",
        )),
    }
}

fn recognize(root: &Path, weights: PathBuf, all: &[PathBuf]) -> Result<Found> {
    let folder = weights.parent().unwrap_or(root).to_path_buf();
    let (family, kind, dimensions) = if weights.extension().is_some_and(|end| end == "gguf") {
        let header = gguf::read(&weights)?;
        let family = family(&header.architecture, &weights)?;
        (family, Kind::Network, header.dimensions)
    } else {
        let file = Safetensors::open(&weights)?;
        let is_table = |name| {
            file.tensor(name)
                .is_some_and(|tensor| tensor.shape.len() == 2)
        };
        if is_table("embeddings") {
            (
                Family::Model2vec,
                Kind::Static {
                    table: "embeddings",
                },
                0,
            )
        } else if file.len() <= 3 && is_table("embedding.weight") {
            (
                Family::Wordllama,
                Kind::Static {
                    table: "embedding.weight",
                },
                0,
            )
        } else {
            let (family, dimensions) = network(&folder.join("config.json"))?;
            check_modules(&folder.join("modules.json"))?;
            (family, Kind::Network, dimensions)
        }
    };
    let tokenizer = tokenizer(&folder, &weights, all)
        .ok_or_else(|| Error::malformed(&weights, "no tokenizer.json lies beside it"))?;
    let companions = COMPANIONS.iter().map(|name| folder.join(name));
    let companions = match kind {
        // Whether to bring vectors to length one is all that a static model's files say, and we always do.
        Kind::Static { .. } => Vec::new(),
        Kind::Network => companions.filter(|path| path.is_file()).collect(),
    };
    Ok(Found {
        root: root.to_path_buf(),
        family,
        kind,
        dimensions,
        weights,
        tokenizer,
        companions,
    })
}

fn family(name: &str, path: &Path) -> Result<Family> {
    match name {
        "bert" => Ok(Family::Bert),
        "nomic_bert" | "nomic-bert" => Ok(Family::NomicBert),
        "qwen3" => Ok(Family::Qwen3),
        other => Err(Error::malformed(
            path,
            format!("it is a network of the kind {other:?}; bert, nomic_bert and qwen3 are known"),
        )),
    }
}

fn network(config: &Path) -> Result<(Family, usize)> {
    let json = read_json(config)?;
    let kind = json.get("model_type").and_then(Value::as_str);
    let kind =
        kind.ok_or_else(|| Error::malformed(config, "it does not say what kind of model it is"))?;
    let family = family(kind, config)?;
    let dimensions = ["hidden_size", "n_embd"]
        .iter()
        .find_map(|key| json.get(*key)?.as_u64());
    let dimensions = dimensions.and_then(|dimensions| usize::try_from(dimensions).ok());
    let dimensions = dimensions.filter(|dimensions| *dimensions > 0);
    let dimensions = dimensions.ok_or_else(|| {
        Error::malformed(config, "it does not say how long the model's vectors are")
    })?;
    Ok((family, dimensions))
}

/// Networks are used up to pooling; a layer behind that would change the vectors.
fn check_modules(path: &Path) -> Result<()> {
    if !path.is_file() {
        return Ok(());
    }
    let json = read_json(path)?;
    let modules = json.as_array().map(Vec::as_slice).unwrap_or_default();
    for module in modules {
        let kind = module
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let kind = kind.rsplit('.').next().unwrap_or_default();
        if !matches!(kind, "Transformer" | "Pooling" | "Normalize") {
            return Err(Error::malformed(
                path,
                format!("it asks for a layer {kind:?}, which is not known"),
            ));
        }
    }
    Ok(())
}

fn read_json(path: &Path) -> Result<Value> {
    serde_json::from_slice(&files::read_small(path)?)
        .map_err(|error| Error::malformed(path, error.to_string()))
}

/// The tokenizer of some weights: `tokenizer.json` beside them, or the one file that is named after them as WordLlama does.
fn tokenizer(folder: &Path, weights: &Path, all: &[PathBuf]) -> Option<PathBuf> {
    let beside = folder.join("tokenizer.json");
    if beside.is_file() {
        return Some(beside);
    }
    let stem = weights.file_stem()?.to_string_lossy();
    let is_named_after = |path: &&PathBuf| {
        let name = files::name(path);
        let ends = [
            "_tokenizer_config.json",
            "_tokenizer.json",
            ".tokenizer.json",
        ];
        let start = ends.iter().find_map(|end| name.strip_suffix(end));
        start.is_some_and(|start| !start.is_empty() && stem.starts_with(start))
    };
    let mut plain = all.iter().filter(|path| path.ends_with("tokenizer.json"));
    let named = all.iter().find(is_named_after);
    let only = plain.next().filter(|_| plain.next().is_none());
    named.or(only).cloned()
}

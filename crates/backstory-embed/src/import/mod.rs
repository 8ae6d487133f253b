//! Takes a model in: from the files that others publish to a folder that [`crate::Model`] opens.
//!
//! The folder is made beside its destination and moved there when it is whole, so that a process that dies on the way leaves no
//! half of a model behind, and one that has the old model open keeps it.

mod archive;
mod files;
mod licence;
mod recognize;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use self::recognize::{Found, Kind};
use crate::static_model;
use crate::{Description, Error, Result, Tokenizer, description};

/// Archives that unpack to more are refused.
const MOST_UNPACKED: u64 = 4 << 30;

/// What an import brought.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// What the model is: the content of its `model.json`.
    pub description: Description,
    /// How many bytes its folder holds.
    pub bytes: u64,
}

/// Imports a model from `source` into the folder `destination`, which is replaced if it is there.
///
/// The source is a folder with a model's files, a `.safetensors` or `.gguf` file with its `tokenizer.json` beside it, or a zip
/// archive (a Python wheel is one) with a model anywhere inside. Static models are compiled into one file; of networks the files
/// that are needed are copied.
pub fn import(source: &Path, destination: &Path) -> Result<Imported> {
    let metadata = fs::metadata(source).map_err(|error| Error::io(source, error))?;
    let staging = Staging::new(destination)?;
    let model = staging.path.join("model");
    let described = if metadata.is_dir() {
        recognize::in_folder(source).and_then(|found| build(&found, source, &model))
    } else if archive::is_archive(source)? {
        let unpacked = staging.path.join("unpacked");
        archive::unpack(source, &unpacked, MOST_UNPACKED)?;
        recognize::in_folder(&unpacked)
            .and_then(|found| build(&found, source, &model))
            .map_err(|error| archive::name_source(error, &unpacked, source))
    } else {
        recognize::beside_file(source).and_then(|found| build(&found, source, &model))
    };
    let description = described?;
    let bytes = write_description(&description, &model)?;
    staging.replace(&model, destination)?;
    Ok(Imported { description, bytes })
}

/// Makes the folder with everything but the description in it.
fn build(found: &Found, source: &Path, folder: &Path) -> Result<Description> {
    fs::create_dir(folder).map_err(|error| Error::io(folder, error))?;
    let json = files::read_small(&found.tokenizer)?;
    let mut description = Description {
        name: name(source, found),
        family: found.family,
        dimensions: found.dimensions,
        files: BTreeMap::new(),
        licence: licence::find(&found.weights, &found.root),
        created_by: format!("backstory-embed {}", env!("CARGO_PKG_VERSION")),
    };
    match found.kind {
        Kind::Static { table } => {
            for path in found.files() {
                let hash = files::hash(path)?;
                description.files.insert(files::name(path), hash);
            }
            let identity = description.identity();
            let tokenizer = (found.tokenizer.as_path(), json.as_slice());
            let (image, dimensions) =
                static_model::compile(&found.weights, table, tokenizer, identity)?;
            description.dimensions = dimensions;
            files::write(&folder.join(static_model::FILE), &image)?;
        }
        Kind::Network => {
            // A tokenizer that cannot be used is better found now than when the model is.
            Tokenizer::from_json(&json).map_err(|error| match error {
                Error::Malformed { reason, .. } => Error::malformed(&found.tokenizer, reason),
                other => other,
            })?;
            for path in found.files() {
                let name = found.kept_name(path);
                let hash = files::copy(path, &folder.join(&name))?;
                description.files.insert(name, hash);
            }
        }
    }
    Ok(description)
}

/// Writes the description; says how many bytes the folder then holds.
fn write_description(description: &Description, folder: &Path) -> Result<u64> {
    let path = folder.join(description::FILE);
    let mut json = serde_json::to_vec_pretty(description)
        .map_err(|error| Error::malformed(&path, error.to_string()))?;
    json.push(b'\n');
    files::write(&path, &json)?;
    files::total(folder)
}

/// What to call the model: the folder's or the package's name.
fn name(source: &Path, found: &Found) -> String {
    let stem = |path: &Path| {
        path.file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
    };
    let name = if source
        .extension()
        .is_some_and(|extension| extension == "whl")
    {
        // A wheel's file name is the distribution's, its version and more, between dashes.
        stem(source).and_then(|stem| Some(stem.split('-').next()?.replace('_', "-")))
    } else if source.is_dir() {
        let whole = fs::canonicalize(source).unwrap_or_else(|_| source.to_path_buf());
        whole
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
    } else if found.weights == source && stem(source).as_deref() == Some("model") {
        let whole = fs::canonicalize(source).unwrap_or_else(|_| source.to_path_buf());
        whole.parent().and_then(stem)
    } else {
        stem(source)
    };
    name.unwrap_or_else(|| "model".to_owned())
}

/// A folder beside the destination that is removed again, whatever happens.
struct Staging {
    path: PathBuf,
}

impl Staging {
    fn new(destination: &Path) -> Result<Staging> {
        let no_name = || Error::malformed(destination, "it is no name for a model's folder");
        let name = destination
            .file_name()
            .ok_or_else(no_name)?
            .to_string_lossy();
        let parent = destination.parent().ok_or_else(no_name)?;
        fs::create_dir_all(parent).map_err(|error| Error::io(parent, error))?;
        let path = parent.join(format!(".{name}.importing-{}", std::process::id()));
        // What a process with the same number left when it died.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).map_err(|error| Error::io(&path, error))?;
        Ok(Staging { path })
    }

    /// Moves the finished folder to its destination, and what was there out of the way.
    fn replace(&self, folder: &Path, destination: &Path) -> Result<()> {
        if destination.exists() {
            let old = self.path.join("old");
            fs::rename(destination, &old).map_err(|error| Error::io(destination, error))?;
        }
        fs::rename(folder, destination).map_err(|error| Error::io(destination, error))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

//! Embedding models, each in a folder of its own under `models/`, and their vectors.

mod embed;
mod passages;
mod text_vectors;
mod vectors;

use std::path::{Path, PathBuf};

use crate::Memory;
use crate::error::{Error, Result};

pub use backstory_embed::{Description, Family, Imported, hub};
pub use embed::EmbeddingState;
pub(crate) use embed::{PassageBatch, VectorSet};
pub(crate) use passages::passages;
pub use text_vectors::{TextEmbedder, TextVectors};
pub use vectors::PassageVector;

/// Embedding models of a memory, and their vectors.
pub struct Models<'m> {
    pub(crate) memory: &'m Memory,
}

impl Models<'_> {
    /// Returns the installed models, sorted by name.
    pub fn list(&self) -> Vec<(String, Description)> {
        let mut models = Vec::new();
        for entry in std::fs::read_dir(self.memory.home.join("models"))
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_plain(&name)
                && let Ok(description) = backstory_embed::describe(&entry.path())
            {
                models.push((name, description));
            }
        }
        models.sort_by(|a, b| a.0.cmp(&b.0));
        models
    }

    /// Adds a model from a folder, a file or a wheel; under its own name if none is given. One of the same name is replaced.
    pub fn add(&self, source: &Path, name: Option<&str>) -> Result<(String, Imported)> {
        let models = self.memory.home.join("models");
        make_folder(&models)?;
        if let Some(name) = name.filter(|name| !is_plain(name)) {
            return Err(Error::ModelName(name.to_string()));
        }
        // Only the model itself knows what it is called.
        let aside = models.join(".adding");
        let imported = backstory_embed::import(source, &aside)?;
        let name = name.unwrap_or(&imported.description.name).to_string();
        let folder = models.join(&name);
        if !is_plain(&name) {
            std::fs::remove_dir_all(&aside)?;
            return Err(Error::ModelName(name));
        }
        if folder.exists() {
            self.remove(&name)?;
        }
        std::fs::rename(&aside, &folder)?;
        make_private(&models)?;
        self.memory.open_model.take();
        Ok((name, imported))
    }

    /// Removes a model and its vectors.
    pub fn remove(&self, name: &str) -> Result<()> {
        let folder = self.folder(name);
        if !is_plain(name) || !folder.exists() {
            return Err(Error::NoModel(name.to_string()));
        }
        self.drop_vectors(name)?;
        self.memory.open_model.take();
        std::fs::remove_dir_all(&folder)?;
        Ok(())
    }

    /// Creates and returns the folder for the files of a model that is being downloaded.
    pub fn download_folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.memory.home.join("downloads").join(name);
        make_folder(&folder)?;
        make_private(&self.memory.home.join("downloads"))?;
        Ok(folder)
    }
}

fn make_folder(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|source| Error::Path {
        path: folder.to_path_buf(),
        source,
    })
}

/// Makes a folder and everything in it private.
#[cfg(unix)]
fn make_private(folder: &Path) -> Result<()> {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;
    set_permissions(folder, Permissions::from_mode(0o700))?;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            make_private(&entry.path())?;
        } else {
            set_permissions(entry.path(), Permissions::from_mode(0o600))?;
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn make_private(_: &Path) -> Result<()> {
    Ok(())
}

/// Returns whether a name can be that of a folder and means nothing else.
fn is_plain(name: &str) -> bool {
    let plain =
        |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
    !name.is_empty()
        && name != "none"
        && name.len() <= 100
        && !name.starts_with('.')
        && name.chars().all(plain)
}

//! An imported model, whatever its kind.

use std::path::{Path, PathBuf};

use crate::static_model::{self, StaticModel};
#[cfg(feature = "transformers")]
use crate::transformer::Transformer;
use crate::{Description, Error, Purpose, Result, Weights, description};

/// A model that turns texts into vectors.
pub struct Model {
    folder: PathBuf,
    description: Description,
    identity: [u8; 32],
    kind: Kind,
}

enum Kind {
    Static(Box<StaticModel>),
    #[cfg(feature = "transformers")]
    Transformer(Box<Transformer>),
}

impl Model {
    /// Opens the folder of an imported model. A static one is ready within a millisecond; a network takes longer, and a program
    /// built with the feature `transformers`.
    pub fn open(folder: &Path) -> Result<Model> {
        let description = description::read(folder)?;
        let kind = if description.family.is_static() {
            let path = folder.join(static_model::FILE);
            Kind::Static(Box::new(StaticModel::open(&path, &description)?))
        } else {
            network(folder, &description)?
        };
        Ok(Model {
            folder: folder.to_path_buf(),
            identity: description.identity(),
            description,
            kind,
        })
    }

    /// What `model.json` says.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The length of its vectors.
    pub fn dimensions(&self) -> usize {
        match &self.kind {
            Kind::Static(_) => self.description.dimensions,
            #[cfg(feature = "transformers")]
            Kind::Transformer(model) => model.dimensions(),
        }
    }

    /// The identity of weights and tokenizer. Vectors of models with another identity cannot be compared.
    pub fn id(&self) -> [u8; 32] {
        self.identity
    }

    /// The vectors of texts, one after the other, each of length one, or zero where nothing of a text is known to the model. Weights
    /// are for static models and must have been counted with this one; a network leaves them aside.
    pub fn embed(
        &self,
        texts: &[&str],
        #[cfg_attr(not(feature = "transformers"), allow(unused_variables))] purpose: Purpose,
        weights: Option<&Weights>,
    ) -> Result<Vec<f32>> {
        match &self.kind {
            Kind::Static(model) => {
                if weights.is_some_and(|weights| weights.model() != self.identity) {
                    return Err(Error::OtherModel);
                }
                Ok(model.embed(texts, weights))
            }
            #[cfg(feature = "transformers")]
            Kind::Transformer(model) => model.embed(texts, purpose),
        }
    }

    /// The tokens of a text as [`Model::embed`] sees them. Nothing for a network.
    pub fn tokens(&self, text: &str) -> Option<Vec<u32>> {
        match &self.kind {
            Kind::Static(model) => Some(model.tokens(text)),
            #[cfg(feature = "transformers")]
            Kind::Transformer(_) => None,
        }
    }

    /// Reads all of the model's files and checks that they are what was imported. Takes as long as reading them does, so that
    /// [`Model::open`] leaves it to the caller.
    pub fn verify(&self) -> Result<()> {
        match &self.kind {
            Kind::Static(model) if model.verify() => Ok(()),
            Kind::Static(_) => Err(Error::malformed(
                &self.folder.join(static_model::FILE),
                "it is damaged: its checksum is wrong",
            )),
            #[cfg(feature = "transformers")]
            Kind::Transformer(_) => self.description.verify(&self.folder),
        }
    }
}

#[cfg(feature = "transformers")]
fn network(folder: &Path, description: &Description) -> Result<Kind> {
    Ok(Kind::Transformer(Box::new(Transformer::open(
        folder,
        description,
    )?)))
}

#[cfg(not(feature = "transformers"))]
fn network(_: &Path, description: &Description) -> Result<Kind> {
    Err(Error::NeedsFeature {
        name: description.name.clone(),
        feature: "transformers",
    })
}

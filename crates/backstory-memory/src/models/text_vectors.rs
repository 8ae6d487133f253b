//! Vectors of whole texts, for exports: as search has them, but in full precision and without the context of their turn.

use backstory_embed::{Model, Weights};

use super::embed::{BATCH, add_scaled, embed_passages, make_unit};
use super::passages::pieces_of_text;
use crate::Models;
use crate::error::{Error, Result};

/// Number of passages that are embedded at once, about.
const PASSAGES_AT_ONCE: usize = 8 * BATCH;

/// A model that embeds texts.
pub struct TextEmbedder {
    name: String,
    model: Model,
    weights: Option<Weights>,
}

/// Vectors of texts.
#[derive(Debug, Clone, PartialEq)]
pub struct TextVectors {
    /// Name of the model.
    pub model: String,
    /// Length of a vector.
    pub dimensions: usize,
    /// The vectors, one after the other, each of length one; zeros for a text of which the model knows no word.
    pub rows: Vec<f32>,
}

impl Models<'_> {
    /// Opens a model to embed texts with; if none is named, the one that search uses, or the only one that is here. Static models weigh
    /// words as search does, by how rare they are in this store.
    pub fn open_embedder(&self, model: Option<&str>) -> Result<TextEmbedder> {
        let name = match model {
            Some(name) => name.to_string(),
            None => match self.model_in_use()? {
                Some(name) => name,
                None => {
                    let mut models = self.list().into_iter().map(|(name, _)| name);
                    match (models.next(), models.next()) {
                        (Some(name), None) => name,
                        _ => return Err(Error::NoModelInUse),
                    }
                }
            },
        };
        if !self.list().iter().any(|(known, _)| *known == name) {
            return Err(Error::NoModel(name));
        }
        let model = Model::open(&self.folder(&name))?;
        let weights = self.known_weights(&name, &model)?;
        Ok(TextEmbedder {
            name,
            model,
            weights: weights.map(|(_, weights)| weights),
        })
    }

    /// Embeds texts; see [`Models::open_embedder`].
    pub fn embed_texts(&self, model: Option<&str>, texts: &[&str]) -> Result<TextVectors> {
        self.open_embedder(model)?.embed_texts(texts)
    }
}

impl TextEmbedder {
    /// Returns the name of the model.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the length of a vector.
    pub fn dimensions(&self) -> usize {
        self.model.dimensions()
    }

    /// Embeds texts. A long one has the mean of its passages, which are those that search compares.
    pub fn embed_texts(&self, texts: &[&str]) -> Result<TextVectors> {
        let dimensions = self.dimensions();
        let mut rows = vec![0.0; dimensions * texts.len()];
        let mut passages = Vec::new();
        // The text that each passage is of.
        let mut places = Vec::new();
        for (at, text) in texts.iter().enumerate() {
            let mut pieces = pieces_of_text(text);
            if pieces.is_empty() {
                // Too little to be found by, but what there is.
                pieces.push(text.trim());
            }
            places.resize(places.len() + pieces.len(), at);
            passages.append(&mut pieces);
            if passages.len() >= PASSAGES_AT_ONCE || at + 1 == texts.len() {
                let vectors = embed_passages(&self.model, self.weights.as_ref(), &passages)?;
                for (vector, at) in vectors.chunks_exact(dimensions).zip(&places) {
                    let row = rows.get_mut(at * dimensions..(at + 1) * dimensions);
                    add_scaled(row.unwrap_or_default(), vector, 1.0);
                }
                passages.clear();
                places.clear();
            }
        }
        rows.chunks_exact_mut(dimensions).for_each(make_unit);
        Ok(TextVectors {
            model: self.name.clone(),
            dimensions,
            rows,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]
mod tests {
    use crate::Error;
    use crate::trial::Trial;

    #[test]
    fn texts_of_any_length_have_a_vector() {
        let mut trial = Trial::new();
        let none = trial.memory.models().embed_texts(None, &["car"]);
        assert!(matches!(none, Err(Error::NoModelInUse)));
        trial.add_model("tiny");
        // Two passages: one about cars, one about the sea.
        let long = format!("{}\n\n{}", "car ".repeat(170), "sea ".repeat(170));
        let texts = ["car", "sea sea sea sea", "", "unknown words only", &long];
        let vectors = trial.memory.models().embed_texts(None, &texts).unwrap();
        assert_eq!((vectors.model.as_str(), vectors.dimensions), ("tiny", 4));
        let rows: Vec<Vec<f32>> = vectors
            .rows
            .chunks(4)
            .map(|row| row.iter().map(|value| (value * 100.0).round()).collect())
            .collect();
        let half = 71.0;
        assert_eq!(
            rows,
            [
                [100.0, 0.0, 0.0, 0.0],
                [0.0, 100.0, 0.0, 0.0],
                [0.0; 4],
                [0.0; 4],
                [half, half, 0.0, 0.0],
            ]
        );
        let many = vec!["hut"; 5_000];
        let vectors = trial
            .memory
            .models()
            .embed_texts(Some("tiny"), &many)
            .unwrap();
        assert!(
            vectors
                .rows
                .chunks(4)
                .all(|row| row == [0.0, 0.0, 1.0, 0.0])
        );
        assert!(
            trial
                .memory
                .models()
                .embed_texts(Some("tiny"), &[])
                .unwrap()
                .rows
                .is_empty()
        );
    }

    #[test]
    fn the_model_is_the_one_that_search_uses() {
        let mut trial = Trial::new();
        trial.add_model("one");
        trial.add_model("two");
        let unsaid = trial.memory.models().embed_texts(None, &["car"]);
        assert!(matches!(unsaid, Err(Error::NoModelInUse)));
        trial.memory.models().embed("two", &mut |_| {}).unwrap();
        assert_eq!(
            trial.memory.models().open_embedder(None).unwrap().name(),
            "two"
        );
        assert_eq!(
            trial
                .memory
                .models()
                .open_embedder(Some("one"))
                .unwrap()
                .name(),
            "one"
        );
        for name in ["three", "../models/one", ""] {
            let none = trial.memory.models().open_embedder(Some(name));
            assert!(matches!(none, Err(Error::NoModel(_))), "{name}");
        }
    }
}

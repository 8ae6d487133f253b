//! By meaning: sessions whose passages lie nearest to the query, and how they join those found by words.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use backstory_embed::{Model, Purpose, Weights};
use backstory_store::{VectorKey, Vectors};

use super::embed::VectorSet;
use super::rank::Ranked;
use super::scope::Scope;
use crate::Memory;
use crate::error::Result;

/// So many passages are compared closely.
const NEAREST: usize = 200;

/// What the second and third passage of a session count beside the best.
const POOL: [f32; 3] = [1.0, 0.2, 0.1];

/// What meaning counts beside words when words are sure, and how much more when they are not.
const SURE: f32 = 0.3;
const UNSURE: f32 = 2.0;

/// A model and its vectors as they were opened for the last search.
pub(crate) struct OpenModel {
    name: String,
    model: Model,
    weights: Option<Weights>,
    set: VectorSet,
}

/// A session found by meaning.
#[derive(Debug, Clone)]
pub(super) struct Near {
    pub(super) session: u32,
    /// How near, from 0 to 1 within one answer.
    pub(super) nearness: f32,
    /// Its nearest passages, the nearest first.
    pub(super) passages: Vec<(VectorKey, f32)>,
}

impl OpenModel {
    /// Whether it is the one of this name.
    pub(super) fn is(&self, name: &str) -> bool {
        self.name == name
    }
}

impl Memory {
    /// Opens a model to search with.
    pub(super) fn open_model(&self, name: &str) -> Result<OpenModel> {
        let model = Model::open(&self.model_folder(name))?;
        let weights = self
            .known_weights(name, &model)?
            .map(|(_, weights)| weights);
        let set = VectorSet::new(self.vectors_folder(name), &model, weights.as_ref());
        Ok(OpenModel {
            name: name.to_string(),
            model,
            weights,
            set,
        })
    }

    /// The sessions nearest to a text, the nearest first.
    pub(super) fn by_meaning(
        &self,
        text: &str,
        scope: &Scope,
        open: &OpenModel,
    ) -> Result<Vec<Near>> {
        let query = open
            .model
            .embed(&[text], Purpose::Query, open.weights.as_ref())?;
        let vectors = Vectors::open(&open.set.folder, &open.set.id, open.set.dimensions)?;
        let mut found = vectors.search(&query, NEAREST, |key| scope.allows_session(key.session))?;
        // Vectors of events that changed since, or that are gone, tell nothing.
        let mut embedded: HashMap<u32, u64> = HashMap::new();
        for (key, _) in &found {
            if let Entry::Vacant(entry) = embedded.entry(key.session) {
                entry.insert(self.store.embedded_to(&open.name, key.session.into())?);
            }
        }
        found.retain(|(key, _)| {
            embedded
                .get(&key.session)
                .is_some_and(|last| u64::from(key.seq) <= *last)
        });
        Ok(gather(found))
    }
}

fn gather(found: Vec<(VectorKey, f32)>) -> Vec<Near> {
    let best = found.first().map_or(0.0, |(_, cosine)| *cosine);
    let least = found.last().map_or(0.0, |(_, cosine)| *cosine);
    let range = (best - least).max(f32::MIN_POSITIVE);
    let mut sessions: Vec<Near> = Vec::new();
    for (key, cosine) in found {
        let nearness = (cosine - least) / range;
        match sessions.iter_mut().find(|near| near.session == key.session) {
            Some(near) => {
                near.nearness += POOL.get(near.passages.len()).copied().unwrap_or(0.0) * nearness;
                near.passages.push((key, cosine));
            }
            None => sessions.push(Near {
                session: key.session,
                nearness,
                passages: vec![(key, cosine)],
            }),
        }
    }
    sessions.sort_by(|a, b| b.nearness.total_cmp(&a.nearness));
    sessions
}

/// Joins what was found by words with what was found by meaning. The less the words are sure, the more meaning counts.
pub(super) fn join(
    words: Vec<Ranked>,
    near: &[Near],
    turn_of: impl Fn(VectorKey) -> Option<u32>,
) -> Vec<Ranked> {
    let most = words.first().map_or(0.0, |best| best.score);
    let sure = words
        .iter()
        .take(3)
        .map(|ranked| ranked.coverage)
        .fold(0.0, f32::max);
    let share = SURE + UNSURE * (1.0 - sure).powi(2);
    let scale = if most > 0.0 { most } else { 1.0 };
    let mut joined: HashMap<u32, Ranked> = words
        .into_iter()
        .map(|ranked| (ranked.session, ranked))
        .collect();
    for near in near {
        let Some((key, _)) = near.passages.first() else {
            continue;
        };
        let added = scale * share * near.nearness;
        match joined.get_mut(&near.session) {
            Some(ranked) => {
                // What was found by words shows better why, unless they hardly are there.
                if added > ranked.score
                    && let Some(turn) = turn_of(*key)
                {
                    ranked.turns.retain(|(known, ..)| *known != turn);
                    ranked.turns.insert(0, (turn, key.seq, added));
                    ranked.chunk = Some(key.chunk);
                }
                ranked.score += added;
            }
            None => {
                if let Some(turn) = turn_of(*key) {
                    joined.insert(
                        near.session,
                        Ranked {
                            session: near.session,
                            score: added,
                            coverage: 0.0,
                            turns: vec![(turn, key.seq, added)],
                            chunk: Some(key.chunk),
                        },
                    );
                }
            }
        }
    }
    let mut joined: Vec<Ranked> = joined.into_values().collect();
    joined.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.session.cmp(&a.session)));
    joined
}

//! By meaning: sessions whose passages lie nearest to the query, and how they join those found by words.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::time::SystemTime;

use backstory_embed::{Model, Purpose, Weights};
use backstory_event::{Seq, SessionId, TurnNo};
use backstory_store::{EventRange, Place, TextIndex, VectorError, VectorKey, Vectors};

use super::document::minute;
use super::rank::Ranked;
use super::scope::{Scope, event_key};
use crate::Search;
use crate::derive::vectors_consumer;
use crate::error::{Error, Result};
use crate::models::VectorSet;

/// So many passages are compared closely.
const NEAREST: usize = 500;

/// What the best, second and third passage of a session count.
const POOL: [f32; 3] = [1.0, 0.2, 0.1];

/// What meaning counts beside words when the words found nothing, and from which coverage on it counts nothing.
const UNSURE: f32 = 3.0;
const SURE: f32 = 0.7;

/// Scores are compared with the best one and with the one at this place.
const FLOOR_PLACE: usize = 20;

/// A model and its vectors as they were opened for the last search.
pub(crate) struct OpenModel {
    name: String,
    model: Model,
    weights: Option<Weights>,
    set: VectorSet,
    /// The vectors, and when their folder changed last.
    vectors: Option<(SystemTime, Vectors)>,
}

/// A session found by meaning.
#[derive(Debug, Clone)]
pub(super) struct Near {
    pub(super) session: SessionId,
    /// How near: the sum of its nearest passages' cosines, each counting less.
    pub(super) nearness: f32,
    /// Its nearest passages, the nearest first.
    pub(super) passages: Vec<(VectorKey, f32)>,
}

impl OpenModel {
    /// Whether it is the one of this name.
    pub(super) fn is(&self, name: &str) -> bool {
        self.name == name
    }

    /// The vectors as they are now; opened again only when something was written to their folder.
    fn vectors(&mut self) -> Result<&Vectors> {
        let changed = std::fs::metadata(&self.set.folder).and_then(|folder| folder.modified());
        let changed = changed.unwrap_or(SystemTime::UNIX_EPOCH);
        if let Some((known, _)) = &self.vectors
            && *known != changed
        {
            self.vectors = None;
        }
        let set = &self.set;
        match &mut self.vectors {
            Some((_, vectors)) => Ok(vectors),
            empty => {
                let vectors = set.open()?;
                Ok(&empty.insert((changed, vectors)).1)
            }
        }
    }

    /// The vector of a query.
    pub(super) fn vector(&self, text: &str) -> Result<Vec<f32>> {
        let weights = self.weights.as_ref();
        Ok(self.model.embed(&[text], Purpose::Query, weights)?)
    }
}

impl Search<'_> {
    /// Opens a model to search with.
    pub(super) fn open_model(&self, name: &str) -> Result<OpenModel> {
        let model = Model::open(&self.memory.models().folder(name))?;
        let weights = self
            .memory
            .models()
            .known_weights(name, &model)?
            .map(|(_, weights)| weights);
        let set = VectorSet::new(
            self.memory.models().vectors_folder(name),
            &model,
            weights.as_ref(),
        );
        Ok(OpenModel {
            name: name.to_string(),
            model,
            weights,
            set,
            vectors: None,
        })
    }

    /// The sessions nearest to a vector, the nearest first.
    pub(super) fn by_meaning(
        &self,
        vector: &[f32],
        scope: &Scope,
        index: Option<&TextIndex>,
        open: &mut OpenModel,
    ) -> Result<Vec<Near>> {
        if !open.set.folder.exists() && self.memory.models().embedded_events(&open.name)?.0 > 0 {
            return Err(Error::Vectors(VectorError::Damaged {
                path: open.set.folder.clone(),
                what: "they are gone".to_string(),
            }));
        }
        let events = scope.events(index)?;
        let found = open.vectors()?.search(vector, NEAREST, |key| {
            scope.allows_session(key.session)
                && events.as_ref().is_none_or(|events| {
                    events.contains(&event_key(key.session, key.seq))
                        || scope.fresh.contains_key(&key.session)
                })
        })?;
        // Vectors of events that changed since, or that are gone, tell nothing. Many are of few sessions: each is asked for once.
        let consumer = self
            .memory
            .store
            .lag()
            .find(&vectors_consumer(&open.name))?;
        let mut embedded: HashMap<SessionId, Seq> = HashMap::new();
        let mut kept = Vec::with_capacity(found.len());
        for (key, cosine) in found {
            let last = match embedded.entry(key.session) {
                Entry::Occupied(entry) => *entry.get(),
                Entry::Vacant(entry) => *entry.insert(match consumer {
                    Some(consumer) => self.memory.store.lag().seen_to(consumer, key.session)?,
                    None => Seq::ZERO,
                }),
            };
            if key.seq <= last && self.is_in_scope(key, scope)? {
                kept.push((key, cosine));
            }
        }
        Ok(gather(kept))
    }

    /// Whether the event of a vector is in scope, beyond its session.
    fn is_in_scope(&self, key: VectorKey, scope: &Scope) -> Result<bool> {
        if !scope.looks_at_events() {
            return Ok(true);
        }
        let (session, seq) = (key.session, key.seq);
        let rows = self.memory.store.events(session, EventRange::One(seq))?;
        Ok(rows.first().is_some_and(|row| {
            let place = Place {
                session: key.session,
                seq: key.seq,
                turn: row.turn,
                kind: row.event.kind,
                minute: minute(row.event.at),
            };
            scope.allows(&place) && scope.allows_tool(row.event.tool.as_deref())
        }))
    }
}

fn gather(found: Vec<(VectorKey, f32)>) -> Vec<Near> {
    let mut places: HashMap<SessionId, usize> = HashMap::new();
    let mut sessions: Vec<Near> = Vec::new();
    for (key, cosine) in found {
        let place = *places.entry(key.session).or_insert(sessions.len());
        if place == sessions.len() {
            sessions.push(Near {
                session: key.session,
                nearness: 0.0,
                passages: Vec::new(),
            });
        }
        let near = &mut sessions[place];
        let share = POOL.get(near.passages.len()).copied().unwrap_or(0.0);
        near.nearness += share * cosine.max(0.0);
        near.passages.push((key, cosine));
    }
    sessions.sort_by(|a, b| b.nearness.total_cmp(&a.nearness));
    sessions
}

/// Joins what was found by words with what was found by meaning. The less of the query the words cover, the more meaning counts;
/// when they cover most of it, their order stands.
pub(super) fn join(
    words: Vec<Ranked>,
    near: &[Near],
    turn_of: impl Fn(VectorKey) -> Option<TurnNo>,
) -> Vec<Ranked> {
    let covered = words.first().map_or(0.0, |best| best.coverage);
    let share = UNSURE * (1.0 - covered / SURE).max(0.0);
    let mut joined: HashMap<SessionId, Ranked> = HashMap::new();
    let sessions: HashSet<SessionId> = words
        .iter()
        .map(|ranked| ranked.session)
        .chain(near.iter().map(|near| near.session))
        .collect();
    let by_words = Scale::new(words.iter().map(|ranked| ranked.score), sessions.len());
    let by_meaning = Scale::new(near.iter().map(|near| near.nearness), sessions.len());
    for mut ranked in words {
        // Those whose words count nothing in the end still have an order.
        ranked.score =
            by_words.of(ranked.score) + TIE * ranked.score / by_words.best.max(f32::MIN_POSITIVE);
        ranked.coverage = ranked.coverage.min(covered);
        joined.insert(ranked.session, ranked);
    }
    for near in near {
        let Some((key, _)) = near.passages.first() else {
            continue;
        };
        let added = share * by_meaning.of(near.nearness)
            + TIE * near.nearness / by_meaning.best.max(f32::MIN_POSITIVE);
        let ranked = joined.entry(near.session).or_insert_with(|| Ranked {
            session: near.session,
            score: 0.0,
            coverage: 0.0,
            turns: Vec::new(),
            chunk: None,
        });
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
    let mut joined: Vec<Ranked> = joined.into_values().collect();
    joined.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.session.cmp(&a.session)));
    joined
}

/// What a raw score counts where others are equal.
const TIE: f32 = 1e-3;

/// From 0, at the score of a session some places down, to 1 at the best.
struct Scale {
    best: f32,
    floor: f32,
}

impl Scale {
    /// A scale of scores in descending order; sessions without one have 0.
    fn new(scores: impl Iterator<Item = f32>, sessions: usize) -> Self {
        let scores: Vec<f32> = scores.collect();
        Scale {
            best: scores.first().copied().unwrap_or(0.0),
            floor: scores
                .get(FLOOR_PLACE.min(sessions / 2))
                .copied()
                .unwrap_or(0.0),
        }
    }

    fn of(&self, score: f32) -> f32 {
        let range = self.best - self.floor;
        if range > 0.0 {
            ((score - self.floor) / range).clamp(0.0, 1.0)
        } else {
            0.0
        }
    }
}

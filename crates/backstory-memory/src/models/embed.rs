//! Giving events vectors, in batches, from where the last run stopped.

use std::collections::HashMap;
use std::path::PathBuf;

use backstory_embed::{Model, Purpose, TokenCounts, Weights};
use backstory_event::{Kind, Seq, SessionId, TurnNo};
use backstory_store::{
    EventRange, LagOrder, SessionFilter, VectorError, VectorKey, VectorWriter, Vectors, lock_file,
    try_lock_file,
};

use super::passages::passages;
use crate::Models;
use crate::derive::{Progress, Runner, VectorMaker, vectors_consumer};
use crate::error::{Error, Result};
use crate::read::visit_stored;

/// Number of passages that are embedded at once.
pub(super) const BATCH: usize = 256;

/// The store's words are counted again when it has grown by this factor: what was rare may not be any more.
const GROWTH: u64 = 4;

/// Maximum number of events whose words are counted, which is enough for an estimate.
const MOST_COUNTED: u64 = 30_000;

/// Weights of the vectors of its turn and of its session in a passage's vector, and of reasoning in those.
const CONTEXT: f32 = 0.5;
const REASONING: f32 = 0.3;

/// The setting that names the model that had all its vectors last.
const READY: &str = "search-model";

/// Progress of the vectors of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EmbeddingState {
    /// Number of events that have vectors, or need none.
    pub embedded: u64,
    /// Number of all events.
    pub events: u64,
}

impl EmbeddingState {
    /// Returns the number of events without vectors.
    pub fn pending(&self) -> u64 {
        self.events.saturating_sub(self.embedded)
    }
}

impl Models<'_> {
    /// Returns the folder of a model.
    pub fn folder(&self, name: &str) -> PathBuf {
        self.memory.home.join("models").join(name)
    }

    /// Returns how many events have vectors of a model, or need none, and how many there are.
    pub(crate) fn embedded_events(&self, model: &str) -> Result<(u64, u64)> {
        let consumer = self.memory.store.lag().find(&vectors_consumer(model))?;
        Ok(self.memory.store.lag().seen_events(consumer)?)
    }

    /// Returns the progress of the vectors of a model.
    pub fn embedding_state(&self, model: &str) -> Result<EmbeddingState> {
        let (embedded, events) = self.embedded_events(model)?;
        Ok(EmbeddingState { embedded, events })
    }

    /// Makes vectors of events that have none. Can be stopped at any time and goes on from there.
    pub fn embed(
        &self,
        name: &str,
        progress: &mut dyn FnMut(EmbeddingState),
    ) -> Result<EmbeddingState> {
        let lock = lock_file(&self.memory.home.join("vectors.lock"), || {})?;
        let model = Model::open(&self.folder(name))?;
        let weights = self.weights(name, &model)?;
        let set = VectorSet::new(self.vectors_folder(name), &model, weights.as_ref());
        if self.vectors_are_lost(name, &set)? {
            self.drop_vectors(name)?;
        }
        let maker = VectorMaker::open(name, &model, weights.as_ref(), &set)?;
        let mut runner = Runner::new(&self.memory.store, maker)?;
        let mut state = self.embedding_state(name)?;
        let mut count = |step: Progress| {
            if let Progress::Event = step {
                state.embedded = (state.embedded + 1).min(state.events);
                progress(state);
            }
        };
        runner.catch_up(&self.memory.store, LagOrder::LastActive, &mut count)?;
        drop(lock);
        let state = self.embedding_state(name)?;
        if state.pending() == 0 {
            self.search_with_model(name)?;
        }
        Ok(state)
    }

    /// Name of the model that had all its vectors last, if it is here.
    pub(crate) fn model_in_use(&self) -> Result<Option<String>> {
        let ready = self.memory.store.kept(READY)?;
        let ready = ready.and_then(|name| String::from_utf8(name).ok());
        Ok(ready.filter(|ready| self.folder(ready).exists()))
    }

    /// The model to search with: the one that is wanted, or the one before it until that one has all its vectors.
    pub(crate) fn ready_model(&self, wanted: &str) -> Result<String> {
        match self.model_in_use()? {
            Some(ready) if ready != wanted => {
                let state = self.embedding_state(wanted)?;
                Ok(if state.pending() == 0 {
                    wanted.to_string()
                } else {
                    ready
                })
            }
            _ => Ok(wanted.to_string()),
        }
    }

    /// Takes note that a model has all its vectors; those of the one before it are not needed any more.
    fn search_with_model(&self, name: &str) -> Result<()> {
        let before = self.memory.store.kept(READY)?;
        if before.as_deref() == Some(name.as_bytes()) {
            return Ok(());
        }
        self.memory.store.keep(READY, name.as_bytes())?;
        match before.and_then(|before| String::from_utf8(before).ok()) {
            Some(before) => self.drop_vectors(&before),
            None => Ok(()),
        }
    }

    /// Reads all vectors of a model and compares them with their checksums.
    pub fn verify_vectors(&self, name: &str) -> Result<()> {
        if self.embedded_events(name)?.0 == 0 {
            return Ok(());
        }
        let model = Model::open(&self.folder(name))?;
        let weights = self.weights(name, &model)?;
        let set = VectorSet::new(self.vectors_folder(name), &model, weights.as_ref());
        if !set.folder.exists() {
            return Err(Error::Vectors(VectorError::Damaged {
                path: set.folder,
                what: "it is missing".to_string(),
            }));
        }
        Ok(set.open()?.verify()?)
    }

    /// Returns the keys of a model's vectors.
    #[cfg(test)]
    pub(crate) fn vector_keys(&self, name: &str) -> Result<Vec<VectorKey>> {
        let model = Model::open(&self.folder(name))?;
        let weights = self.weights(name, &model)?;
        let set = VectorSet::new(self.vectors_folder(name), &model, weights.as_ref());
        Ok(set.open()?.keys().collect())
    }

    /// Returns whether the vectors that events are said to have cannot be used.
    fn vectors_are_lost(&self, name: &str, set: &VectorSet) -> Result<bool> {
        match set.open() {
            Ok(_) => Ok(!set.folder.exists() && self.embedded_events(name)?.0 > 0),
            Err(VectorError::Damaged { .. } | VectorError::OtherModel { .. }) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes the vectors of sessions that are not stored any more, and returns the folders that had some; `None` when another process is
    /// making vectors.
    pub(crate) fn remove_missing_sessions(&self) -> Result<Option<Vec<PathBuf>>> {
        let mut rewritten = Vec::new();
        let Ok(folders) = std::fs::read_dir(self.memory.home.join("vectors")) else {
            return Ok(Some(rewritten));
        };
        let Some(_lock) = try_lock_file(&self.memory.home.join("vectors.lock"))? else {
            return Ok(None);
        };
        for folder in folders.flatten() {
            let name = folder.file_name().to_string_lossy().into_owned();
            let gone = match VectorWriter::open_existing(&folder.path()) {
                Ok(Some(mut writer)) => {
                    let known = writer.sessions()?;
                    let heads = self.memory.store.session_heads(known.iter().copied())?;
                    let mut is_changed = false;
                    for session in known {
                        if !heads.contains_key(&session) {
                            writer.remove_session(session);
                            is_changed = true;
                        }
                    }
                    if is_changed {
                        rewritten.push(folder.path());
                    }
                    writer.commit().is_err()
                }
                Ok(None) => false,
                Err(_) => true,
            };
            if gone {
                // Damaged vectors cannot be sifted; they are made anew.
                self.drop_vectors(&name)?;
                rewritten.push(folder.path());
            }
        }
        rewritten.dedup();
        Ok(Some(rewritten))
    }

    /// Removes the vectors of evicted sessions.
    pub(crate) fn remove_evicted_sessions(&self) -> Result<()> {
        let folders = std::fs::read_dir(self.memory.home.join("vectors"));
        for folder in folders.into_iter().flatten().flatten() {
            let name = folder.file_name().to_string_lossy().into_owned();
            let lags = match self.memory.store.lag().find(&vectors_consumer(&name))? {
                Some(consumer) => self.memory.store.lag().of(consumer, LagOrder::Stored)?,
                None => continue,
            };
            let mut gone = lags.iter().filter(|lag| lag.is_evicted()).peekable();
            if gone.peek().is_none() {
                continue;
            }
            // Whoever makes vectors right now may do so for hours; a later run takes these out.
            let Some(_lock) = try_lock_file(&self.memory.home.join("vectors.lock"))? else {
                return Ok(());
            };
            // Vectors that cannot be read are made anew by the next run that embeds.
            if let Ok(Some(mut writer)) = VectorWriter::open_existing(&folder.path()) {
                for lag in gone {
                    writer.remove_session(lag.session);
                }
                writer.commit()?;
            }
        }
        Ok(())
    }

    /// Makes all vectors of a model anew. A row that does not fit its checksum shows only when it is compared, so none is kept.
    pub fn rebuild(&self, name: &str) -> Result<EmbeddingState> {
        self.drop_vectors(name)?;
        self.embed(name, &mut |_| {})
    }

    /// Drops the vectors of a model.
    pub(crate) fn drop_vectors(&self, name: &str) -> Result<()> {
        if let Some(consumer) = self.memory.store.lag().find(&vectors_consumer(name))? {
            self.memory.store.lag().remove(consumer)?;
        }
        match std::fs::remove_dir_all(self.vectors_folder(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    pub(crate) fn vectors_folder(&self, name: &str) -> PathBuf {
        self.memory.home.join("vectors").join(name)
    }

    /// How rare the tokens of a static model are in this store, counted once and again when the store has grown much. Vectors
    /// that were made with an older count are dropped then.
    fn weights(&self, name: &str, model: &Model) -> Result<Option<Weights>> {
        if !model.description().family.is_static() {
            return Ok(None);
        }
        let (_, events) = self.embedded_events(name)?;
        if let Some((counted, weights)) = self.known_weights(name, model)?
            && events < counted.saturating_mul(GROWTH).max(1_000)
        {
            return Ok(Some(weights));
        }
        let mut counts = TokenCounts::new(model);
        let sessions = self.memory.store.session_rows(&SessionFilter::default())?;
        let heads = self.memory.store.session_heads(sessions.iter().copied())?;
        for head in sessions.iter().filter_map(|session| heads.get(session)) {
            visit_stored(
                &self.memory.store,
                head.id,
                &head.agent,
                EventRange::All,
                |event| {
                    for passage in passages(&event.event) {
                        counts.add(model, &passage)?;
                    }
                    Ok(())
                },
            )?;
            if counts.texts() >= MOST_COUNTED {
                break;
            }
        }
        let weights = counts.weights();
        let mut value = events.to_le_bytes().to_vec();
        value.extend(weights.to_bytes());
        self.drop_vectors(name)?;
        self.memory.store.keep(&weights_setting(name), &value)?;
        Ok(Some(weights))
    }

    /// The weights that were counted last, and how many events there were then.
    pub(crate) fn known_weights(
        &self,
        name: &str,
        model: &Model,
    ) -> Result<Option<(u64, Weights)>> {
        let Some(value) = self.memory.store.kept(&weights_setting(name))? else {
            return Ok(None);
        };
        let Some((counted, bytes)) = value.split_first_chunk::<8>() else {
            return Ok(None);
        };
        let weights = Weights::from_bytes(bytes).filter(|weights| weights.model() == model.id());
        Ok(weights.map(|weights| (u64::from_le_bytes(*counted), weights)))
    }
}

fn weights_setting(name: &str) -> String {
    format!("weights-{name}")
}

/// The vectors of a model in a store: those of the same tokens with other weights are not the same.
pub(crate) struct VectorSet {
    pub(crate) folder: PathBuf,
    pub(super) id: [u8; 32],
    pub(super) dimensions: usize,
}

impl VectorSet {
    pub(crate) fn new(folder: PathBuf, model: &Model, weights: Option<&Weights>) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&model.id());
        if let Some(weights) = weights {
            hasher.update(&weights.to_bytes());
        }
        VectorSet {
            folder,
            id: *hasher.finalize().as_bytes(),
            dimensions: model.dimensions(),
        }
    }

    pub(crate) fn open(&self) -> std::result::Result<Vectors, VectorError> {
        Vectors::open(&self.folder, &self.id, self.dimensions)
    }

    pub(crate) fn writer(&self) -> std::result::Result<VectorWriter, VectorError> {
        VectorWriter::open(&self.folder, &self.id, self.dimensions)
    }
}

/// The vectors of passages, one after the other; many are made on all cores.
pub(super) fn embed_passages(
    model: &Model,
    weights: Option<&Weights>,
    texts: &[&str],
) -> Result<Vec<f32>> {
    let embed = |texts: &[&str]| model.embed(texts, Purpose::Passage, weights);
    // A network uses all cores on its own.
    if !model.description().family.is_static() || texts.len() < BATCH {
        return Ok(embed(texts)?);
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let parts: Vec<_> = std::thread::scope(|scope| {
        let handles: Vec<_> = texts
            .chunks(texts.len().div_ceil(threads))
            .map(|texts| scope.spawn(move || embed(texts)))
            .collect();
        handles
            .into_iter()
            .map(std::thread::ScopedJoinHandle::join)
            .collect()
    });
    let mut rows = Vec::new();
    for part in parts {
        rows.extend(part.map_err(|_| Error::Worker)??);
    }
    Ok(rows)
}

/// The passages of a session, some of them embedded.
#[derive(Default)]
pub(crate) struct PassageBatch {
    /// Those that are not embedded yet.
    texts: Vec<String>,
    keys: Vec<VectorKey>,
    /// The turn of each, and what it counts for its turn and session.
    turns: Vec<(TurnNo, f32)>,
    rows: Vec<f32>,
}

impl PassageBatch {
    /// Adds the passages of an event.
    pub(crate) fn add_passages(
        &mut self,
        session: SessionId,
        (seq, turn): (Seq, TurnNo),
        kind: Kind,
        passages: Vec<String>,
    ) {
        let weight = match kind {
            Kind::Reasoning => REASONING,
            _ => 1.0,
        };
        for (chunk, passage) in passages.into_iter().enumerate() {
            self.keys.push(VectorKey {
                session,
                seq,
                chunk: chunk as u32,
            });
            self.turns.push((turn, weight));
            self.texts.push(passage);
        }
    }

    /// Embeds what is waiting, if that is worth it.
    pub(crate) fn embed_when_full(
        &mut self,
        model: &Model,
        weights: Option<&Weights>,
    ) -> Result<()> {
        match self.texts.len() >= BATCH {
            true => self.embed(model, weights),
            false => Ok(()),
        }
    }

    fn embed(&mut self, model: &Model, weights: Option<&Weights>) -> Result<()> {
        let texts = std::mem::take(&mut self.texts);
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        self.rows.extend(embed_passages(model, weights, &texts)?);
        Ok(())
    }

    /// Returns the keys and vectors of all passages.
    pub(crate) fn finish(
        mut self,
        model: &Model,
        weights: Option<&Weights>,
    ) -> Result<(Vec<VectorKey>, Vec<f32>)> {
        self.embed(model, weights)?;
        add_context(&mut self.rows, model.dimensions(), &self.turns);
        Ok((self.keys, self.rows))
    }
}

/// Adds to each passage's vector some of what its turn and its session are about: a reply alone seldom says what was asked.
fn add_context(rows: &mut [f32], dimensions: usize, turns: &[(TurnNo, f32)]) {
    let mut session = vec![0.0; dimensions];
    let mut by_turn: HashMap<TurnNo, Vec<f32>> = HashMap::new();
    for (row, (turn, weight)) in rows.chunks_exact(dimensions).zip(turns) {
        add_scaled(&mut session, row, *weight);
        let turn = by_turn
            .entry(*turn)
            .or_insert_with(|| vec![0.0; dimensions]);
        add_scaled(turn, row, *weight);
    }
    make_unit(&mut session);
    by_turn.values_mut().for_each(|turn| make_unit(turn));
    for (row, (turn, _)) in rows.chunks_exact_mut(dimensions).zip(turns) {
        add_scaled(row, &session, CONTEXT);
        if let Some(turn) = by_turn.get(turn) {
            add_scaled(row, turn, CONTEXT);
        }
    }
}

pub(super) fn add_scaled(sum: &mut [f32], row: &[f32], by: f32) {
    for (sum, value) in sum.iter_mut().zip(row) {
        *sum += by * value;
    }
}

pub(super) fn make_unit(vector: &mut [f32]) {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|value| *value /= length);
    }
}

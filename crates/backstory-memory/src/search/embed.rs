//! Giving events vectors, in batches, from where the last run stopped.

use std::collections::HashMap;
use std::path::PathBuf;

use backstory_embed::{Model, Purpose, TokenCounts, Weights};
use backstory_event::{EventView, Kind, Seq, SessionId, TurnNo};
use backstory_store::{
    Embedded, EventRange, SessionFilter, SessionHead, Store, Unembedded, VectorError, VectorKey,
    VectorWriter, Vectors, lock_file,
};

use super::passages::passages;
use crate::Memory;
use crate::error::{Error, Result};
use crate::read::visit;

/// So many pieces are embedded at once.
pub(super) const BATCH: usize = 256;

/// After so many pieces all that was done is made to last.
const LASTING: usize = 20_000;

/// The store's words are counted again when it has grown by this factor: what was rare may not be any more.
const GROWTH: u64 = 4;

/// The words of so many events are counted, which tells enough.
const MOST_COUNTED: u64 = 30_000;

/// What the vectors of its turn and of its session count in a passage's vector, and what reasoning counts in those.
const CONTEXT: f32 = 0.5;
const REASONING: f32 = 0.3;

/// The setting that names the model that had all its vectors last.
const READY: &str = "search-model";

/// How far the vectors of a model are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EmbeddingState {
    /// Events that have vectors, or need none.
    pub embedded: u64,
    /// All events.
    pub events: u64,
}

impl EmbeddingState {
    /// Events without vectors.
    pub fn pending(&self) -> u64 {
        self.events.saturating_sub(self.embedded)
    }
}

impl Memory {
    /// The folder of a model.
    pub fn model_folder(&self, name: &str) -> PathBuf {
        self.home.join("models").join(name)
    }

    /// How far the vectors of a model are.
    pub fn embedding_state(&self, model: &str) -> Result<EmbeddingState> {
        let (embedded, events) = self.store.embedded_events(model)?;
        Ok(EmbeddingState { embedded, events })
    }

    /// Gives events vectors that have none. Can be stopped at any time and goes on from there.
    pub fn embed(
        &mut self,
        name: &str,
        progress: &mut dyn FnMut(EmbeddingState),
    ) -> Result<EmbeddingState> {
        let lock = lock_file(&self.home.join("vectors.lock"), || {})?;
        let model = Model::open(&self.model_folder(name))?;
        let weights = self.weights(name, &model)?;
        let set = VectorSet::new(self.vectors_folder(name), &model, weights.as_ref());
        if self.vectors_are_lost(name, &set)? {
            self.drop_vectors(name)?;
        }
        let writer = set.writer()?;
        let mut run = Run {
            model: &model,
            weights: weights.as_ref(),
            writer,
            since_commit: 0,
            done: Vec::new(),
        };
        let pending = self.store.unembedded(name)?;
        let mut state = self.embedding_state(name)?;
        let heads = self
            .store
            .session_heads(pending.iter().map(|pending| pending.session))?;
        for pending in pending {
            let Some(head) = heads.get(&pending.session) else {
                continue;
            };
            run.session(&self.store, head, pending, &mut |events| {
                state.embedded += events;
                progress(state);
            })?;
            if run.since_commit >= LASTING {
                run = run.commit(&set)?;
                self.store
                    .settle_embedded(name, &std::mem::take(&mut run.done))?;
            }
        }
        let run = run.commit(&set)?;
        self.store.settle_embedded(name, &run.done)?;
        drop(lock);
        let state = self.embedding_state(name)?;
        if state.pending() == 0 {
            self.search_with_model(name)?;
        }
        Ok(state)
    }

    /// Name of the model that had all its vectors last, if it is here.
    pub(super) fn model_in_use(&self) -> Result<Option<String>> {
        let ready = self.store.kept(READY)?;
        let ready = ready.and_then(|name| String::from_utf8(name).ok());
        Ok(ready.filter(|ready| self.model_folder(ready).exists()))
    }

    /// The model to search with: the one that is wanted, or the one before it until that one has all its vectors.
    pub(super) fn ready_model(&self, wanted: &str) -> Result<String> {
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
        let before = self.store.kept(READY)?;
        if before.as_deref() == Some(name.as_bytes()) {
            return Ok(());
        }
        self.store.keep(READY, name.as_bytes())?;
        match before.and_then(|before| String::from_utf8(before).ok()) {
            Some(before) => self.drop_vectors(&before),
            None => Ok(()),
        }
    }

    /// Reads all vectors of a model and compares them with their checksums.
    pub fn verify_vectors(&self, name: &str) -> Result<()> {
        if self.store.embedded_events(name)?.0 == 0 {
            return Ok(());
        }
        let model = Model::open(&self.model_folder(name))?;
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

    /// Whether the vectors that events are said to have cannot be used.
    fn vectors_are_lost(&self, name: &str, set: &VectorSet) -> Result<bool> {
        match set.open() {
            Ok(_) => Ok(!set.folder.exists() && self.store.embedded_events(name)?.0 > 0),
            Err(VectorError::Damaged { .. } | VectorError::OtherModel { .. }) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Drops the vectors of a model.
    pub fn drop_vectors(&self, name: &str) -> Result<()> {
        self.store.forget_embedded(name)?;
        match std::fs::remove_dir_all(self.vectors_folder(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    pub(super) fn vectors_folder(&self, name: &str) -> PathBuf {
        self.home.join("vectors").join(name)
    }

    /// How rare the tokens of a static model are in this store, counted once and again when the store has grown much. Vectors
    /// that were made with an older count are dropped then.
    fn weights(&self, name: &str, model: &Model) -> Result<Option<Weights>> {
        if !model.description().family.is_static() {
            return Ok(None);
        }
        let (_, events) = self.store.embedded_events(name)?;
        if let Some((counted, weights)) = self.known_weights(name, model)?
            && events < counted.saturating_mul(GROWTH).max(1_000)
        {
            return Ok(Some(weights));
        }
        let mut counts = TokenCounts::new(model);
        let sessions = self.store.session_rows(&SessionFilter::default())?;
        let heads = self.store.session_heads(sessions.iter().copied())?;
        for head in sessions.iter().filter_map(|session| heads.get(session)) {
            visit(
                &self.store,
                head.id,
                &head.agent,
                EventRange::All,
                |event| {
                    for passage in passages(&event) {
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
        self.store.keep(&weights_setting(name), &value)?;
        Ok(Some(weights))
    }

    /// The weights that were counted last, and how many events there were then.
    pub(super) fn known_weights(
        &self,
        name: &str,
        model: &Model,
    ) -> Result<Option<(u64, Weights)>> {
        let Some(value) = self.store.kept(&weights_setting(name))? else {
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
pub(super) struct VectorSet {
    pub(super) folder: PathBuf,
    pub(super) id: [u8; 32],
    pub(super) dimensions: usize,
}

impl VectorSet {
    pub(super) fn new(folder: PathBuf, model: &Model, weights: Option<&Weights>) -> Self {
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

    pub(super) fn open(&self) -> std::result::Result<Vectors, VectorError> {
        Vectors::open(&self.folder, &self.id, self.dimensions)
    }

    fn writer(&self) -> std::result::Result<VectorWriter, VectorError> {
        VectorWriter::open(&self.folder, &self.id, self.dimensions)
    }
}

/// One run of embedding.
struct Run<'a> {
    model: &'a Model,
    weights: Option<&'a Weights>,
    writer: VectorWriter,
    since_commit: usize,
    done: Vec<Embedded>,
}

impl Run<'_> {
    fn session(
        &mut self,
        store: &Store,
        head: &SessionHead,
        pending: Unembedded,
        progress: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let session = pending.session;
        let mut from = pending.embedded.next();
        if pending.stale {
            self.writer.remove_session(session);
            from = Seq::FIRST;
        }
        let mut done = Embedded {
            session: pending.session,
            first: from,
            last: from.previous(),
            bytes: 0,
        };
        let mut batch = Batch::default();
        let mut rows = Vec::new();
        visit(
            store,
            head.id,
            &head.agent,
            EventRange::From(from),
            |event| {
                done.last = event.seq;
                done.bytes += event.event.span.length;
                batch.add(session, &event);
                if batch.texts.len() >= BATCH {
                    rows.extend(self.embed(&mut batch.texts)?);
                }
                if event.seq > pending.embedded {
                    progress(1);
                }
                Ok(())
            },
        )?;
        rows.extend(self.embed(&mut batch.texts)?);
        add_context(&mut rows, self.model.dimensions(), &batch.turns);
        self.writer.append(&batch.keys, &rows)?;
        self.since_commit += batch.keys.len();
        self.done.push(done);
        Ok(())
    }

    /// Makes all that was done last.
    fn commit(self, set: &VectorSet) -> Result<Self> {
        self.writer.commit()?;
        Ok(Run {
            writer: set.writer()?,
            since_commit: 0,
            ..self
        })
    }

    /// The vectors of texts, which are gone then.
    fn embed(&self, texts: &mut Vec<String>) -> Result<Vec<f32>> {
        let texts = std::mem::take(texts);
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        embed_passages(self.model, self.weights, &texts)
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

/// The passages of a session.
#[derive(Default)]
struct Batch {
    /// Those that are not embedded yet.
    texts: Vec<String>,
    keys: Vec<VectorKey>,
    /// The turn of each, and what it counts for its turn and session.
    turns: Vec<(TurnNo, f32)>,
}

impl Batch {
    fn add(&mut self, session: SessionId, event: &EventView<'_>) {
        let weight = match event.event.kind {
            Kind::Reasoning => REASONING,
            _ => 1.0,
        };
        for (chunk, passage) in passages(event).into_iter().enumerate() {
            self.keys.push(VectorKey {
                session,
                seq: event.seq,
                chunk: chunk as u32,
            });
            self.turns.push((event.turn, weight));
            self.texts.push(passage);
        }
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

//! The consumer that keeps the full-text index.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};

use backstory_event::{Event, Kind, Seq, SessionId};
use backstory_store::{
    ConsumerId, ConsumerInfo, IndexError, IndexedEvent, Lag, LagOrder, Store, TextIndexWriter,
    lock_file,
};

use super::consumer::{Consumer, PreparedEvent, Progress};
use super::runner::Runner;
use crate::digest;
use crate::error::Result;
use crate::search::{Documents, IndexReport, index_folder, is_left_beside};
use crate::searchable_text::searchable;

/// Name of the consumer in the store.
pub(crate) const FULLTEXT: &str = "fulltext";

/// Words of an event, by part, and what else of it the index takes.
pub(crate) struct PreparedDocument {
    kind: Kind,
    tool: Option<String>,
    texts: [String; 3],
}

/// The index while it is written to. Nothing of it counts before it is finished.
pub(crate) struct FullText {
    folder: PathBuf,
    /// `None` once it is committed.
    writer: Option<TextIndexWriter>,
    rebuilt: bool,
    /// True if its files looked as sealed.
    whole: bool,
    /// True if sessions were removed for good.
    removes: bool,
    sessions: HashMap<SessionId, Documents>,
    /// Sessions whose title is added at the end: it may change with their events.
    untitled: HashSet<SessionId>,
    report: IndexReport,
    _lock: File,
}

impl FullText {
    /// Opens the index, or begins a new one if there is none that can be used.
    pub(crate) fn open(home: &Path, store: &Store) -> Result<Self> {
        Self::begin_writing(home, store, true)
    }

    /// Begins a new index, whatever there is.
    pub(crate) fn anew(home: &Path, store: &Store) -> Result<Self> {
        Self::begin_writing(home, store, false)
    }

    /// Removes sessions that are forgotten, so that no file has words of theirs any more.
    pub(crate) fn remove_for_good(&mut self, sessions: impl IntoIterator<Item = SessionId>) {
        if let Some(writer) = &mut self.writer {
            writer.leave_no_trace();
            sessions
                .into_iter()
                .for_each(|session| writer.remove(session));
            self.removes = true;
        }
    }

    fn begin_writing(home: &Path, store: &Store, go_on: bool) -> Result<Self> {
        let lock = lock_file(&home.join("index.lock"), || {})?;
        let folder = index_folder(home);
        let seal = store.seal()?;
        let opened = seal
            .as_ref()
            .filter(|_| go_on)
            .ok_or(IndexError::Missing)
            .and_then(|seal| TextIndexWriter::open(&folder, seal));
        let whole = seal.as_ref().is_some_and(|seal| seal.looks_whole(&folder));
        let (writer, rebuilt) = match opened {
            Ok(writer) => (writer, false),
            Err(_) => (TextIndexWriter::begin(&folder, seal.as_ref())?, true),
        };
        Ok(FullText {
            folder,
            writer: Some(writer),
            rebuilt,
            whole,
            removes: false,
            sessions: HashMap::new(),
            untitled: HashSet::new(),
            report: IndexReport::default(),
            _lock: lock,
        })
    }

    fn add(&mut self, event: IndexedEvent) -> Result<()> {
        self.report.events += 1;
        self.report.bytes += event.texts.iter().map(String::len).sum::<usize>() as u64;
        match &mut self.writer {
            Some(writer) => Ok(writer.add(event)?),
            None => Err(IndexError::Missing.into()),
        }
    }
}

impl Runner<FullText> {
    /// Adds what was not fed, unless it is so little that it is searched beside the index, and makes all of it count.
    pub(crate) fn finish(
        mut self,
        store: &Store,
        all: bool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<IndexReport> {
        let id = self.id();
        let pending = match self.consumer.rebuilt {
            true => store.lag().of_all(id)?,
            false => store.lag().of(id, LagOrder::Stored)?,
        };
        if pending.iter().any(Lag::is_evicted)
            && let Some(writer) = &mut self.consumer.writer
        {
            writer.make_room();
        }
        let rest = self.take_fed(pending)?;
        if self.consumer.rebuilt || !is_left_beside(&rest, all) {
            self.read_back(store, &rest, progress)?;
        } else {
            self.read_back(store, &[], progress)?;
        }
        Ok(self.consumer.report)
    }
}

impl Consumer for FullText {
    type Prepared = Option<PreparedDocument>;

    fn info(&self) -> ConsumerInfo {
        ConsumerInfo {
            name: Cow::Borrowed(FULLTEXT),
            version: 1,
            before_eviction: false,
            follows_titles: true,
        }
    }

    fn prepare(event: &Event, _call: Option<&Event>) -> Option<PreparedDocument> {
        let texts = searchable(event);
        let is_empty = texts.iter().all(String::is_empty);
        (!is_empty).then(|| PreparedDocument {
            kind: event.kind,
            tool: event.tool.clone(),
            texts,
        })
    }

    /// Tantivy removes by term, and a session is one: all of it is indexed anew.
    fn first_needed(&mut self, _store: &Store, _lag: &Lag) -> Result<Seq> {
        Ok(Seq::FIRST)
    }

    fn begin(&mut self, store: &Store, lag: &Lag, _from: Seq) -> Result<()> {
        let session = lag.session;
        let heads = store.session_heads([session])?;
        let Some(head) = heads.get(&session) else {
            return Ok(());
        };
        let mut documents = Documents::new(head);
        self.untitled.insert(session);
        if !lag.is_new()
            && let Some(writer) = &mut self.writer
        {
            writer.remove(session);
        }
        for noted in digest::evicted(store, head)? {
            self.add(documents.noted(&noted))?;
        }
        self.sessions.insert(session, documents);
        Ok(())
    }

    fn apply(
        &mut self,
        session: SessionId,
        events: Vec<PreparedEvent<Option<PreparedDocument>>>,
    ) -> Result<()> {
        let Some(mut documents) = self.sessions.remove(&session) else {
            return Ok(());
        };
        for event in events {
            documents.set_time(event.at);
            if let Some(PreparedDocument { kind, tool, texts }) = event.prepared {
                self.add(documents.document(event.seq, event.turn, kind, tool, texts))?;
            }
        }
        self.sessions.insert(session, documents);
        Ok(())
    }

    fn end(&mut self, session: SessionId) -> Result<()> {
        self.sessions.remove(&session);
        Ok(())
    }

    /// Documents that were added are removed when the session is begun again.
    fn discard(&mut self, session: SessionId) {
        self.sessions.remove(&session);
        self.untitled.remove(&session);
    }

    fn commit(
        &mut self,
        store: &Store,
        id: ConsumerId,
        seen: &[Lag],
        _progress: &mut dyn FnMut(Progress),
    ) -> Result<()> {
        let untitled = std::mem::take(&mut self.untitled);
        let heads = store.session_heads(untitled)?;
        for head in heads.values() {
            if let Some(title) = Documents::new(head).title() {
                self.add(title)?;
            }
        }
        if seen.is_empty() && self.whole && !self.rebuilt && !self.removes {
            return Ok(());
        }
        self.report.rebuilt = self.rebuilt;
        let Some(writer) = self.writer.take() else {
            return Ok(());
        };
        let seal = writer.commit()?;
        store.settle_index(&seal, id, seen)?;
        seal.remove_other_generations(&self.folder);
        Ok(())
    }
}

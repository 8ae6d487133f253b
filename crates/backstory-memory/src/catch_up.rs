//! Working off what hooks left to do, and what imports left to the background.

use std::time::{Duration, Instant, SystemTime};

use backstory_event::TimeMs;

use crate::capture::Spool;
use crate::error::Result;
use crate::import::discover::Problem;
use crate::import::sweep::ImportOptions;
use crate::models::EmbeddingState;
use crate::{EventLog, EventType, LogEvent, Memory};

/// Maximum age of a capture that is still being written to the spool.
const MAX_WRITING_TIME: Duration = Duration::from_secs(60);

/// Options of [`Memory::catch_up`].
pub struct CatchUp<'a> {
    /// Spool of captured events that no hook could store.
    pub spool: &'a Spool,
    /// Options of the import of logs that captured events name.
    pub import: &'a ImportOptions,
    /// Embedding model that searches use. Vectors of a static one are completed; a network takes hours and has [`Models::embed`](crate::Models::embed).
    pub model: Option<&'a str>,
    /// Current time.
    pub now: TimeMs,
}

/// Result of [`Memory::catch_up`].
#[derive(Debug, Default)]
pub struct CatchUpReport {
    /// Number of captures stored from the spool and of queue items worked on.
    pub items: u64,
    /// Spools and captures that were not trusted, and captures that could not be written or read.
    pub problems: Vec<Problem>,
    /// Reason why vectors could not be completed. All else is done.
    pub model_problem: Option<String>,
}

impl Memory {
    /// Stores what waits in the spool, works off what hooks queued, takes the event log over and completes vectors. `progress` is
    /// called while vectors are made.
    pub fn catch_up(
        &self,
        options: &CatchUp<'_>,
        progress: &mut dyn FnMut(EmbeddingState),
    ) -> Result<CatchUpReport> {
        let drained = self
            .captures()
            .drain(options.spool, options.import.redact)?;
        let now = Duration::from_millis(options.now.get().try_into().unwrap_or(0));
        options
            .spool
            .clean(SystemTime::UNIX_EPOCH + now.saturating_sub(MAX_WRITING_TIME));
        let started = Instant::now();
        let worked = self.captures().work(options.import, options.now)?;
        if worked.total() > 0 {
            let event = LogEvent::new(EventType::QueueDone, options.now)
                .with("done", worked.done)
                .with("raw", worked.raw)
                .with("later", worked.later)
                .taking(started.elapsed());
            EventLog::of_store(&self.home).append(&[event]);
        }
        self.upkeep().take_over_log(options.now)?;
        Ok(CatchUpReport {
            items: drained.stored as u64 + worked.total(),
            problems: drained.problems,
            // What is wrong with a model must not look like an import that failed.
            model_problem: self
                .complete_vectors(options.model, progress)
                .err()
                .map(|error| error.to_string()),
        })
    }

    fn complete_vectors(
        &self,
        model: Option<&str>,
        progress: &mut dyn FnMut(EmbeddingState),
    ) -> Result<()> {
        let Some(model) = model else {
            return Ok(());
        };
        let installed = self.models().list();
        let is_static = installed
            .iter()
            .any(|(name, description)| name == model && description.family.is_static());
        if is_static && self.models().embedding_state(model)?.pending() > 0 {
            self.models().embed(model, progress)?;
        }
        Ok(())
    }
}

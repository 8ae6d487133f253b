//! Checks, retention and forgetting.

pub(crate) mod agent_logs;
pub(crate) mod forget;
pub(crate) mod repair;
pub(crate) mod retain;

use std::ops::Deref;
use std::path::Path;

pub use agent_logs::{AgentFiles, KeptLogs, LogDeletion};
pub use backstory_store::{AnswerRows, DamagedPiece, Health, LoggedRun, SkippedRow, Verification};
pub use forget::{
    Forget, ForgetPlace, ForgetPlaces, ForgetPlan, ForgetRecord, ForgetReport, ForgottenSession,
    Leftover, Proof, ProofRecord, ResumedForget, RewrittenFile,
};
pub use retain::{Caps, Eviction, Pass, RetainOptions, RetainReport};

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::{Memory, search};

/// Upkeep of a memory: checks, retention, forgetting.
pub struct Upkeep<'m> {
    pub(crate) memory: &'m Memory,
}

/// An answer, with the damage of what it was made from. Damaged parts are left out of it; the next sweep reads them again from the
/// agents' logs where it can.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WithDamage<T> {
    /// The sound part of the answer.
    #[serde(flatten)]
    pub answer: T,
    /// Descriptions of damaged pieces.
    pub damage: Vec<String>,
    /// True if the next sweep can read some of them again.
    #[serde(skip)]
    pub is_repairable: bool,
}

impl<T> WithDamage<T> {
    /// Returns something made of the answer, with the same damage.
    pub fn map<'a, U>(&'a self, make: impl FnOnce(&'a T) -> U) -> WithDamage<U> {
        WithDamage {
            answer: make(&self.answer),
            damage: self.damage.clone(),
            is_repairable: self.is_repairable,
        }
    }
}

impl<T> Deref for WithDamage<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.answer
    }
}

impl Upkeep<'_> {
    /// Leaves the store so that the next hook finds it ready.
    pub fn tidy_now(&self) -> Result<()> {
        Ok(self.memory.store.tidy_now()?)
    }

    /// Checks whether the store is sound.
    pub fn health(&self) -> Result<Health> {
        Ok(self.memory.store.health()?)
    }

    /// Like [`Upkeep::health`], and compares every index of the database with its table.
    pub fn thorough_health(&self) -> Result<Health> {
        Ok(self.memory.store.thorough_health()?)
    }

    /// Returns records that could not be read, those of the newest files first; a limit of 0 returns all.
    pub fn skipped(&self, limit: usize) -> Result<Vec<SkippedRow>> {
        Ok(self.memory.store.skipped(limit)?)
    }

    /// Returns whether a hint was shown to the user before, such as `models`.
    pub fn was_told(&self, what: &str) -> Result<bool> {
        Ok(self.memory.store.kept(&format!("told-{what}"))?.is_some())
    }

    /// Remembers that a hint was shown to the user, so that it is shown once.
    pub fn remember_told(&self, what: &str) -> Result<()> {
        Ok(self.memory.store.keep(&format!("told-{what}"), b"yes")?)
    }

    /// Returns the bytes that the store takes on disk.
    pub fn disk_bytes(&self) -> u64 {
        disk_bytes(&self.memory.home)
    }
}

/// Returns the bytes of a store's files: the database, the full-text index and the vectors. Models are the user's choice and count apart.
pub(crate) fn disk_bytes(home: &Path) -> u64 {
    let database = ["backstory.db", "backstory.db-wal", "backstory.db-shm"];
    let database = database
        .iter()
        .filter_map(|name| std::fs::metadata(home.join(name)).ok());
    database.map(|metadata| metadata.len()).sum::<u64>()
        + search::index_bytes(home)
        + search::vector_bytes(home)
}

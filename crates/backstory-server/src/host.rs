//! The program that a worker runs in.

use std::path::{Path, PathBuf};

use backstory_memory::context::Context;
use backstory_memory::{Memory, TimeMs};
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::shared::Presence;

/// The program that a worker runs in: it knows the configuration and the clock, and starts processes.
pub trait Host: Send + Sync + 'static {
    /// Returns the folder of the store.
    fn store(&self) -> &Path;

    /// Returns the time.
    fn now(&self) -> TimeMs;

    /// Returns the time zone of the user.
    fn zone(&self) -> TimeZone;

    /// Opens the memory to read it.
    fn open_memory(&self) -> Result<Memory, Refusal>;

    /// Returns the embedding model that is configured now.
    fn configured_model(&self) -> Option<String>;

    /// Builds context as it is configured now.
    fn build_context(&self, memory: &Memory, request: &ContextRequest) -> Result<Context, Refusal>;

    /// Imports all that is new, and waits until that is done.
    fn import_everything(&self) -> Result<(), Refusal>;

    /// Does the program's own work, such as sweeps, for as long as the worker stays.
    fn run_rounds(&self, presence: &Presence);

    /// Returns the HTTP status and the message for an error of the library.
    fn refuse(&self, error: backstory_memory::Error) -> Refusal;
}

/// Request for context.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContextRequest {
    /// Folder that the session works in.
    pub cwd: PathBuf,
    /// Agent, which has limits of its own.
    pub agent: Option<String>,
    /// Maximum number of tokens.
    pub budget: Option<usize>,
    /// Prompt of the session.
    pub prompt: Option<String>,
}

/// Reason that there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Status of HTTP.
    pub status: u16,
    /// Reason.
    pub reason: String,
}

impl Refusal {
    /// Returns a refusal with a status and a reason.
    pub fn new(status: u16, reason: &str) -> Self {
        Refusal {
            status,
            reason: reason.to_string(),
        }
    }
}

//! Importing logs into the store.

mod backfill;
pub(crate) mod discover;
pub(crate) mod pipeline;
pub(crate) mod project;
pub(crate) mod sweep;
pub(crate) mod sweep_log;
pub(crate) mod unread;

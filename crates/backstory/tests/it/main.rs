//! The whole program, driven as a user would, in a home of its own. One binary, so that it links once.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod environment;
mod event_log;

mod agents;
mod backfill;
mod blame;
mod changes;
mod checksums;
mod code;
#[cfg(feature = "columnar")]
mod columnar;
mod commands;
mod complete_events;
mod compress;
mod context;
mod crash;
mod damage;
mod digest;
#[cfg(unix)]
mod doctor;
mod edited;
mod eval_digests;
mod forgetting;
mod formats;
mod fragments;
mod growth;
mod hooks;
mod hostile;
mod json_docs;
mod layout;
mod lossless;
mod meaning;
mod nothing_lost;
mod observations;
#[cfg(unix)]
mod odd_files;
mod past_stores;
mod patterns;
mod plugin;
mod recall;
#[cfg(unix)]
mod repository;
mod retention;
mod schedule;
mod search;
mod secrets;
mod sessions;
mod setup;
mod short_ids;
mod streams;
mod telemetry;
mod turns;
mod usage_sums;
#[cfg(unix)]
mod worker;

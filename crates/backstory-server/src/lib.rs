//! The worker of a store: its transport, its routes and its client.
//!
//! It speaks HTTP over a Unix socket that only its user can reach. `place` is where its files lie, `life` who is the worker,
//! `listen` how one takes over from another, `serve` the loop that talks to clients, `pool` the threads that answer, `api` the
//! routes. Answers are types of the library, which knows all that there is to know; what depends on the configuration and on
//! processes of the program is given by a [`Host`].
#![cfg(unix)]

mod api;
mod client;
mod connection;
mod error;
mod host;
mod http;
mod life;
mod listen;
mod place;
mod pool;
mod question;
mod serve;
mod shared;
mod version;

pub use api::OpenMemory;
pub use client::{WorkerRequest, ask_worker};
pub use error::{Error, Result};
pub use host::{ContextRequest, Host, Refusal};
pub use http::Response;
pub use life::{
    LEAVE_TIMEOUT, POLL_INTERVAL, StopOutcome, WorkerLock, WorkerState, health, state, stop,
};
pub use listen::{TakenOver, bind_socket, take_over};
pub use place::{WorkerFiles, WorkerInfo, spool_folders};
pub use serve::{catch_signals, serve};
pub use shared::Presence;
pub use version::{compare_versions, version};

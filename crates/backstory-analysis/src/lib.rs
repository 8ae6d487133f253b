//! Conclusions from events: notes, digests, observations, signals of patterns, token counts.
//!
//! Everything here is a pure function of events or of texts: no file is opened, no SQL is run, no clock is read. The formats of agents
//! are not known here either. The few answers that depend on them come in as [`AgentConventions`], functions that the caller takes from
//! the crate of agents.
//!
//! - [`digest`]: [`Notes`](digest::Notes) keep what matters of a session while its events go by; an [`Account`](digest::Account) is
//!   made of them when somebody asks: goal, outcome, what was done, errors, decisions, next steps.
//! - [`commands`]: the parts of a shell line, the checks and deliveries among them, and the verdict on each.
//! - [`detectors`]: each finds one kind of [`Signal`](detectors::Signal) in the notes of one session. Signals of many sessions that have
//!   the same signature are a pattern.
//! - [`observe`]: a prompt or a tool use in three sizes, by [`Extract`](observe::Extract), and [`faith`](observe::faith), which checks
//!   that such a text names nothing that its source does not have.
//! - [`count_tokens`] estimates tokens; [`text`] cuts texts and takes escape sequences out.

pub mod commands;
mod conventions;
pub mod detectors;
pub mod digest;
pub mod observe;
pub mod text;
mod tokens;

pub use conventions::AgentConventions;
pub use tokens::count_tokens;

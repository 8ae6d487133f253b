//! Code memory: which functions changed, by which turn, and who calls them.
//!
//! `history.rs` finds what sessions did to source files in what is stored of them; `live.rs` looks at a file that was just written. Both
//! leave the same behind: the last good look at each file, and what turns did to its symbols.

mod files;
mod fragment;
mod history;
mod look;
mod session;
mod snapshot;
mod teller;

pub(crate) use history::renew;

//! Edits done again: what becomes of the lines of a file, and which edit wrote each of them.
//!
//! A [`Lane`] is one file on its way through time. Its lines are numbers that an [`Interner`] gives them, so that they are compared fast.

mod lane;
mod lines;
#[cfg(test)]
mod tests;

pub use lane::Lane;
pub use lines::{Interner, Line, filled};

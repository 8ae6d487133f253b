//! `map` and `calls`: what source files on disk define and call.

mod calls;
mod map;
mod scan;

pub(super) use calls::run as calls;
pub(super) use map::run as map;

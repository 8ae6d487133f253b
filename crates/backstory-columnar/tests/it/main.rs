//! Tests of session files: what is written is read again, by us and by the Python package.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "a test that is skipped says so")]

mod h5py;
mod rebuild;
mod round_trip;
mod support;
mod writers;

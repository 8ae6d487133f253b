//! Tests of session files: what is written is read again, by us and by the Python package.

#![allow(clippy::unwrap_used)]

mod h5py;
mod rebuild;
mod round_trip;
mod support;
mod writers;

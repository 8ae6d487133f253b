//! Tests of Parquet tables: what is written is what the library knows, and DuckDB and polars read it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "a test that is skipped says so")]
#![allow(clippy::panic, reason = "a value of another type is a failure")]

mod damaged;
mod document;
mod evicted;
mod folder;
#[cfg(unix)]
mod kills;
mod python;
mod support;

//! Importing logs into the store.

mod backfill;

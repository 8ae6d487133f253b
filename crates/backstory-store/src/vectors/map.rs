//! Maps files into memory.
//!
//! A cold search at 100,000 vectors would otherwise copy megabytes, and hold them, before it could begin.

#![allow(
    unsafe_code,
    reason = "a mapped file can be changed by others, see below"
)]

use std::fs::File;

use memmap2::{Mmap, MmapOptions};

/// Maps part of a file, which must be that long.
pub(super) fn map(file: &File, start: u64, length: usize) -> std::io::Result<Mmap> {
    // SAFETY: the bytes must stay what they are while they are mapped. A segment is complete before a manifest names it, and only
    // segments so named are mapped; after that nothing here writes to it, it can only be deleted, which leaves the mapping whole. A
    // program of the user's own that changed the file meanwhile could make scores wrong, or end the process by cutting it short; the
    // folder is private to the user.
    unsafe { MmapOptions::new().offset(start).len(length).map(file) }
}

//! Session logs that nobody wrote: a small story to try the program on, and any amount of realistic logs to measure it with.
//!
//! Both are the same bytes every time. The text comes from tables of our own, so nothing of anybody's real work is in it, and
//! nothing that looks like a credential either. What a session is about is decided in `story` and `scene`; `claude`, `codex`
//! and `grok` only know how each agent writes it down. Nothing here reads the formats back: the readers are tested against it,
//! so it must not share code with them.

pub(crate) mod clock;
pub(crate) mod images;
pub(crate) mod json;
mod logs;
pub(crate) mod patch;
pub(crate) mod random;
pub(crate) mod scene;
pub(crate) mod step;
mod story;
pub(crate) mod text;
pub(crate) mod words;

/// One generated source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleFile {
    /// Its path below a home folder, such as `.claude/projects/-home-ada-shop/<uuid>.jsonl`.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The sessions shown by `sweep --sample`: a few days of work on two small projects, with all three agents.
///
/// `end` is the time, in Unix milliseconds, at which the last of them ends; the others lie in the days before it.
pub fn story(end: i64) -> Vec<SampleFile> {
    story::files(end)
}

/// About `bytes` of logs of all three agents (Claude Code 65 %, Codex 30 %, Grok 5 %), in files of realistic sizes.
///
/// The same `seed` and `bytes` give the same files. They are generated as they are asked for, one session in memory at a time.
pub fn logs(seed: u64, bytes: u64) -> impl Iterator<Item = SampleFile> {
    logs::Logs::new(seed, bytes)
}

#[cfg(test)]
mod tests;

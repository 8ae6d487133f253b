//! Session logs that nobody wrote: a small story to try the program on, and any amount of realistic logs to measure it with.
//!
//! Both are the same bytes every time. The text comes from tables of our own, so nothing of anybody's real work is in it, and
//! nothing that looks like a credential either. What a session is about is decided in `story` and `scene`; the `sample` of each
//! agent's folder only knows how the agent writes it down. Nothing there reads the formats back: the readers are tested against it,
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

use self::images::Images;
use self::logs::Logs;
use self::random::Random;
use self::scene::Scene;
use self::step::{Step, Transcript};
use self::text::Language;
use crate::agents::{AGENTS, Agent};
use backstory_event::TimeMs;

/// One generated source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleFile {
    /// Its path below a home folder, such as `.claude/projects/-home-ada-shop/<uuid>.jsonl`.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// How an agent writes its logs down.
pub(crate) trait SampleLogs: Sync {
    /// Share of this agent in generated logs, relative to the shares of others; 0 for one that is only in logs of its own.
    fn share(&self) -> u64;

    /// Paths below a home folder, one of each kind of file that the agent writes: readers take ids from names. The kind with most
    /// of a session comes first.
    fn paths(&self) -> &'static [&'static str];

    /// Generates a session.
    fn generate(&self, plan: &mut SessionPlan<'_>) -> Vec<SampleFile>;

    /// Writes a session in which this happens. Returns its files, that with most of the session first, and when it ended.
    fn write(&self, session: &ScriptedSession<'_>) -> (Vec<SampleFile>, TimeMs);
}

/// A session that is to be generated.
pub(crate) struct SessionPlan<'a> {
    pub(crate) random: &'a mut Random,
    pub(crate) images: &'a mut Images,
    /// When it starts.
    pub(crate) start: TimeMs,
    /// Number of sessions of the agent before it.
    pub(crate) number: usize,
    pub(crate) cwd: &'static str,
    pub(crate) language: Language,
    /// About how many bytes it has.
    pub(crate) size: usize,
}

/// A session in which is fixed what happens.
pub(crate) struct ScriptedSession<'a> {
    pub(crate) seed: u64,
    /// When it starts.
    pub(crate) start: TimeMs,
    pub(crate) cwd: &'a str,
    pub(crate) branch: &'static str,
    /// Title, for agents that give one.
    pub(crate) title: &'a str,
    pub(crate) steps: &'a [Step<'a>],
    /// What a subagent does meanwhile, for agents that log that apart.
    pub(crate) subagent: Option<ScriptedSubagent<'a>>,
    /// How it goes on in a fork of it, for agents that have forks.
    pub(crate) fork: Option<&'a [Step<'a>]>,
}

/// A subagent of such a session.
#[derive(Clone, Copy)]
pub(crate) struct ScriptedSubagent<'a> {
    pub(crate) id: &'a str,
    pub(crate) description: &'a str,
    pub(crate) steps: &'a [Step<'a>],
}

impl ScriptedSession<'_> {
    /// Ids and such of the session.
    pub(crate) fn random(&self) -> Random {
        Random::new(self.seed)
    }
}

/// Writes steps down.
pub(crate) fn play(out: &mut dyn Transcript, steps: &[Step<'_>]) {
    for step in steps {
        out.step(step);
    }
}

/// At least one turn, and more until the transcript has `limit` bytes; long ones are compacted on the way.
pub(crate) fn fill(scene: &mut Scene, out: &mut dyn Transcript, limit: usize) {
    let mut compact_at = out.size() + 900_000;
    loop {
        scene.turn(out, limit);
        if out.size() >= limit {
            break;
        }
        if out.size() >= compact_at {
            scene.compact(out);
            compact_at = out.size() + 900_000;
        }
    }
}

/// The sessions shown by `sweep --sample`: a few days of work on two small projects, with all agents that have samples.
///
/// `end` is the time at which the last of them ends; the others lie in the days before it.
pub fn story(end: TimeMs) -> Vec<SampleFile> {
    story::files(end)
}

/// About `bytes` of logs of all agents (Claude Code 65 %, Codex 30 %, Grok 5 %), in files of realistic sizes.
///
/// The same `seed` and `bytes` give the same files. They are generated as they are asked for, one session in memory at a time.
pub fn logs(seed: u64, bytes: u64) -> impl Iterator<Item = SampleFile> {
    let samples = AGENTS.iter().filter_map(|agent| agent.sample);
    Logs::new(seed, bytes, samples)
}

/// About `bytes` of logs of one agent; none of an agent without samples.
pub fn logs_of_agent(agent: &Agent, seed: u64, bytes: u64) -> impl Iterator<Item = SampleFile> {
    Logs::new(seed, bytes, agent.sample.into_iter())
}

/// Paths below a home folder, one of each kind of file that an agent writes; none of an agent without samples.
pub fn sample_paths(agent: &Agent) -> &'static [&'static str] {
    agent.sample.map_or(&[], |sample| sample.paths())
}

#[cfg(test)]
mod tests;

//! Any amount of generated logs. Which session of an agent comes next follows its rota, so that even a small amount has every
//! peculiarity of the formats in it, and a large one has each of them as often as the rota says.

use std::collections::VecDeque;

use super::random::Random;
use super::scene::PROJECTS;
use super::{SampleFile, SampleLogs, SessionPlan, images};
use backstory_event::TimeMs;

/// Half of real sessions are smaller than this.
const MEDIAN_BYTES: u64 = 150_000;
/// No generated session is larger.
const MAX_SESSION_BYTES: u64 = 6_000_000;
/// The first session starts here (2026-03-01T08:00:00Z); later ones follow some hours apart.
const FIRST_START: TimeMs = TimeMs::new(1_772_352_000_000);

/// The generator: files of the session made last, and what has been written so far.
pub(crate) struct Logs {
    random: Random,
    images: images::Images,
    wanted: u64,
    median: u64,
    agents: Vec<AgentLogs>,
    start: TimeMs,
    ready: VecDeque<SampleFile>,
}

/// What has been written for one agent.
struct AgentLogs {
    sample: &'static dyn SampleLogs,
    bytes: u64,
    sessions: usize,
}

impl Logs {
    /// Generates about `bytes` with these samples.
    pub(crate) fn new(
        seed: u64,
        bytes: u64,
        samples: impl Iterator<Item = &'static dyn SampleLogs>,
    ) -> Self {
        let agent = |sample| AgentLogs {
            sample,
            bytes: 0,
            sessions: 0,
        };
        Self {
            random: Random::new(seed),
            images: images::Images::new(seed),
            wanted: bytes,
            // A small amount is made of small sessions rather than of few.
            median: MEDIAN_BYTES.min(bytes / 110),
            agents: samples.map(agent).collect(),
            start: FIRST_START,
            ready: VecDeque::new(),
        }
    }

    /// Generates the next session, unless there is enough.
    fn session(&mut self) -> Option<()> {
        let written: u64 = self.agents.iter().map(|agent| agent.bytes).sum();
        let left = self.wanted.saturating_sub(written);
        if left <= self.wanted / 150 {
            return None;
        }
        let largest = left.min(MAX_SESSION_BYTES).min(self.wanted / 8 + 1_000);
        let size = self.random.log_normal(self.median).min(largest) as usize;
        let agent = agent_behind(&mut self.agents, written)?;
        let number = agent.sessions;
        agent.sessions += 1;
        let pause = self.random.between(600_000, 14_400_000) as i64;
        self.start = self.start.plus_ms(pause);
        let (cwd, language) = *self.random.any(PROJECTS);
        let files = agent.sample.generate(&mut SessionPlan {
            random: &mut self.random,
            images: &mut self.images,
            start: self.start,
            number,
            cwd,
            language,
            size,
        });
        let bytes = files.iter().map(|file| file.bytes.len() as u64);
        agent.bytes += bytes.sum::<u64>();
        self.ready.extend(files);
        Some(())
    }
}

/// The agent that is furthest behind its share of what was written.
fn agent_behind(agents: &mut [AgentLogs], written: u64) -> Option<&mut AgentLogs> {
    let shares: u64 = agents.iter().map(|agent| agent.sample.share()).sum();
    let lacks =
        |agent: &AgentLogs| (written * agent.sample.share()) as i64 - (agent.bytes * shares) as i64;
    // The first of equals: at the very start that is the first agent.
    agents.iter_mut().rev().max_by_key(|agent| lacks(agent))
}

impl Iterator for Logs {
    type Item = SampleFile;

    fn next(&mut self) -> Option<SampleFile> {
        while self.ready.is_empty() {
            self.session()?;
        }
        self.ready.pop_front()
    }
}

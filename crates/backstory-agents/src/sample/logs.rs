//! Any amount of generated logs. Which session comes next follows a rota, so that even a small amount has every peculiarity
//! of the formats in it, and a large one has each of them as often as the rota says.

use std::collections::VecDeque;

use super::random::Random;
use super::scene::{PROJECTS, Scene};
use super::step::{Step, Transcript};
use super::text::Language;
use super::{SampleFile, images};
use crate::claude_code::sample::{self as claude, Claude, Era};
use crate::codex::sample::{self as codex, Codex, Generation};
use crate::grok::sample::{self as grok, Grok};

/// Half of real sessions are smaller than this.
const MEDIAN: u64 = 150_000;
/// No generated session is larger.
const LARGEST: u64 = 6_000_000;
/// The first session starts here (2026-03-01T08:00:00Z); later ones follow some hours apart.
const FIRST_START: i64 = 1_772_352_000_000;
/// Shares of Claude Code, Codex and Grok in percent of the bytes.
const SHARES: [u64; 3] = [65, 30, 5];

const CLAUDE_MODELS: [&str; 3] = [
    "claude-opus-5",
    "claude-sonnet-4-5-20250929",
    "claude-opus-4-5-20251101",
];

/// The sessions of the rota of Claude Code.
#[derive(Clone, Copy)]
enum ClaudeKind {
    Plain,
    Delegating,
    Forked,
    Earlier,
    Pictured,
    Warmup,
    Background,
    Compacted,
    First,
}

const CLAUDE_ROTA: &[ClaudeKind] = &[
    ClaudeKind::Plain,
    ClaudeKind::Delegating,
    ClaudeKind::Pictured,
    ClaudeKind::Forked,
    ClaudeKind::Earlier,
    ClaudeKind::Compacted,
    ClaudeKind::Warmup,
    ClaudeKind::Background,
    ClaudeKind::Pictured,
    ClaudeKind::First,
    ClaudeKind::Plain,
    ClaudeKind::Plain,
    ClaudeKind::Earlier,
    ClaudeKind::Delegating,
    ClaudeKind::Plain,
];

/// The sessions of the rota of Codex.
#[derive(Clone, Copy)]
enum CodexKind {
    Plain,
    Forked,
    Bare,
    Whole,
    Resumed,
    Compacted,
}

const CODEX_ROTA: &[CodexKind] = &[
    CodexKind::Plain,
    CodexKind::Forked,
    CodexKind::Bare,
    CodexKind::Resumed,
    CodexKind::Compacted,
    CodexKind::Whole,
    CodexKind::Plain,
    CodexKind::Plain,
    CodexKind::Plain,
    CodexKind::Plain,
];

/// The generator: files of the session made last, and what has been written so far.
pub(crate) struct Logs {
    random: Random,
    images: images::Images,
    wanted: u64,
    median: u64,
    written: [u64; 3],
    sessions: [usize; 3],
    start: i64,
    ready: VecDeque<SampleFile>,
}

impl Logs {
    pub(crate) fn new(seed: u64, bytes: u64) -> Self {
        Self {
            random: Random::new(seed),
            images: images::Images::new(seed),
            wanted: bytes,
            // A small amount is made of small sessions rather than of few.
            median: MEDIAN.min(bytes / 110),
            written: [0; 3],
            sessions: [0; 3],
            start: FIRST_START,
            ready: VecDeque::new(),
        }
    }

    /// Generates the next session, unless there is enough.
    fn session(&mut self) -> Option<()> {
        let written: u64 = self.written.iter().sum();
        let left = self.wanted.saturating_sub(written);
        if left <= self.wanted / 150 {
            return None;
        }
        let largest = left.min(LARGEST).min(self.wanted / 8 + 1_000);
        let size = self.random.log_normal(self.median).min(largest) as usize;
        let agent = self.agent_behind(written);
        let number = self.sessions[agent];
        self.sessions[agent] += 1;
        self.start += self.random.between(600_000, 14_400_000) as i64;
        let (cwd, language) = *self.random.any(PROJECTS);
        let files = match agent {
            0 => self.claude(CLAUDE_ROTA[number % CLAUDE_ROTA.len()], cwd, language, size),
            1 => self.codex(CODEX_ROTA[number % CODEX_ROTA.len()], cwd, language, size),
            _ => self.grok(cwd, language, size),
        };
        self.written[agent] += files
            .iter()
            .map(|file| file.bytes.len() as u64)
            .sum::<u64>();
        self.ready.extend(files);
        Some(())
    }

    /// The agent that is furthest behind its share.
    fn agent_behind(&self, written: u64) -> usize {
        let lacks =
            |agent: usize| (written * SHARES[agent]) as i64 - (self.written[agent] * 100) as i64;
        // The first of equals: at the very start that is Claude Code.
        (0..SHARES.len())
            .rev()
            .max_by_key(|agent| lacks(*agent))
            .unwrap_or(0)
    }

    fn claude(
        &mut self,
        kind: ClaudeKind,
        cwd: &str,
        language: Language,
        size: usize,
    ) -> Vec<SampleFile> {
        let era = match kind {
            ClaudeKind::First => Era::First,
            ClaudeKind::Earlier | ClaudeKind::Warmup => Era::Second,
            _ => Era::Current,
        };
        let setup = claude::Setup {
            era,
            cwd: cwd.to_owned(),
            branch: if self.random.percent(60) {
                "main"
            } else {
                "feature/rework"
            },
            model: self.random.pick(&CLAUDE_MODELS),
            background: matches!(kind, ClaudeKind::Background),
            listings: size > 60_000,
        };
        let mut out = Claude::new(setup, self.random.split(), self.start);
        let mut scene = Scene::new(self.random.split(), language);
        let title = scene.title();
        let mut files = Vec::new();
        if era == Era::Second && !matches!(kind, ClaudeKind::Warmup) {
            out.summary(&title);
        }
        out.title(&title);
        out.open();
        match kind {
            ClaudeKind::Warmup => {
                let agent = out.random.hexadecimal(7);
                let mut warmup = out.subagent(&agent);
                warmup.step(&Step::Prompt("Warmup"));
                warmup.step(&Step::Answer("Ready. What should I look for?"));
                return warmup.finish("");
            }
            ClaudeKind::Delegating | ClaudeKind::Earlier => {
                let length = if era == Era::Current { 17 } else { 8 };
                let agent = out.random.hexadecimal(length);
                let (prompt, report) = scene.delegate(&mut out, &agent);
                let mut child = out.subagent(&agent);
                scene.errand(&mut child, &prompt, &report, size / 4);
                files = child.finish("Find uses");
            }
            ClaudeKind::First => {
                let agent = out.random.hexadecimal(8);
                let (prompt, report) = scene.delegate(&mut out, &agent);
                let parent = out.detach();
                out.sidechain = true;
                let limit = out.size() + size / 4;
                scene.errand(&mut out, &prompt, &report, limit);
                out.sidechain = false;
                out.attach(parent);
            }
            ClaudeKind::Pictured => {
                let image = self.images.next();
                scene.picture(&mut out, &image, size);
            }
            ClaudeKind::Compacted => {
                scene.turn(&mut out, size / 2);
                scene.compact(&mut out);
            }
            _ => {}
        }
        let first_part = if matches!(kind, ClaudeKind::Forked) {
            size * 2 / 5
        } else {
            size
        };
        let own: usize = files.iter().map(|file: &SampleFile| file.bytes.len()).sum();
        fill(&mut scene, &mut out, first_part.saturating_sub(own));
        if matches!(kind, ClaudeKind::Forked) {
            let mut fork = out.fork();
            let limit = fork.size() + size / 5;
            fill(&mut scene, &mut fork, limit);
            files.extend(fork.finish(""));
        }
        let mut all = out.finish("");
        all.extend(files);
        all
    }

    fn codex(
        &mut self,
        kind: CodexKind,
        cwd: &str,
        language: Language,
        size: usize,
    ) -> Vec<SampleFile> {
        let generation = match kind {
            // One file of the oldest generation is enough: hardly anybody still has more.
            CodexKind::Whole if self.sessions[1] <= CODEX_ROTA.len() => Generation::Whole,
            CodexKind::Bare => Generation::Bare,
            _ => Generation::Enveloped,
        };
        let setup = codex::Setup {
            generation,
            cwd: cwd.to_owned(),
            branch: "main",
            model: if self.random.percent(60) {
                "gpt-5.5"
            } else {
                "gpt-5-codex"
            },
            long_instructions: size > 30_000,
        };
        let mut out = Codex::new(setup, self.random.split(), self.start);
        let mut scene = Scene::new(self.random.split(), language);
        match kind {
            CodexKind::Forked => {
                fill(&mut scene, &mut out, size * 2 / 5);
                let mut fork = out.fork();
                let limit = fork.size() + size / 5;
                fill(&mut scene, &mut fork, limit);
                return vec![out.finish(), fork.finish()];
            }
            CodexKind::Resumed => {
                fill(&mut scene, &mut out, size / 2);
                out.resume();
            }
            CodexKind::Compacted => {
                fill(&mut scene, &mut out, size / 2);
                scene.compact(&mut out);
            }
            _ => {}
        }
        fill(&mut scene, &mut out, size);
        vec![out.finish()]
    }

    fn grok(&mut self, cwd: &str, language: Language, size: usize) -> Vec<SampleFile> {
        let setup = grok::Setup {
            cwd: cwd.to_owned(),
            branch: "main",
            model: "grok-4.5",
        };
        let mut out = Grok::new(setup, self.random.split(), self.start);
        let mut scene = Scene::new(self.random.split(), language);
        let title = scene.title();
        fill(&mut scene, &mut out, size);
        out.finish(&title)
    }
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

/// At least one turn, and more until the transcript has `limit` bytes; long ones are compacted on the way.
fn fill(scene: &mut Scene, out: &mut dyn Transcript, limit: usize) {
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

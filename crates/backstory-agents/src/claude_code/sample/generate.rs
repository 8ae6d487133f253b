//! Which sessions of Claude Code are generated.

use super::{Claude, Era, Setup};
use crate::sample::{
    SampleFile, SampleLogs, ScriptedSession, SessionPlan, fill, play,
    scene::Scene,
    step::{Step, Transcript},
};
use backstory_event::TimeMs;

/// Samples of Claude Code.
pub(crate) struct ClaudeSample;

/// Milliseconds of an hour.
const HOUR_MS: i64 = 3_600_000;

const MODELS: [&str; 3] = [
    "claude-opus-5",
    "claude-sonnet-4-5-20250929",
    "claude-opus-4-5-20251101",
];

/// The sessions of the rota.
#[derive(Clone, Copy)]
enum SessionKind {
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

const ROTA: &[SessionKind] = &[
    SessionKind::Plain,
    SessionKind::Delegating,
    SessionKind::Pictured,
    SessionKind::Forked,
    SessionKind::Earlier,
    SessionKind::Compacted,
    SessionKind::Warmup,
    SessionKind::Background,
    SessionKind::Pictured,
    SessionKind::First,
    SessionKind::Plain,
    SessionKind::Plain,
    SessionKind::Earlier,
    SessionKind::Delegating,
    SessionKind::Plain,
];

impl SampleLogs for ClaudeSample {
    fn share(&self) -> u64 {
        65
    }

    fn paths(&self) -> &'static [&'static str] {
        &[
            ".claude/projects/-home-ada-shop/0f8e2a34-5b6c-4d7e-8f90-a1b2c3d4e5f6.jsonl",
            ".claude/projects/-home-ada-shop/0f8e2a34-5b6c-4d7e-8f90-a1b2c3d4e5f6/subagents/agent-a1b2c3d.jsonl",
            ".claude/projects/-home-ada-shop/agent-a1b2c3d.jsonl",
            ".claude/projects/-home-ada-shop/agent-a1b2c3d.meta.json",
            "saved.jsonl",
        ]
    }

    fn generate(&self, plan: &mut SessionPlan<'_>) -> Vec<SampleFile> {
        let kind = ROTA[plan.number % ROTA.len()];
        let era = match kind {
            SessionKind::First => Era::First,
            SessionKind::Earlier | SessionKind::Warmup => Era::Second,
            _ => Era::Current,
        };
        let setup = Setup {
            era,
            cwd: plan.cwd.to_owned(),
            branch: if plan.random.percent(60) {
                "main"
            } else {
                "feature/rework"
            },
            model: plan.random.pick(&MODELS),
            background: matches!(kind, SessionKind::Background),
            listings: plan.size > 60_000,
        };
        let mut out = Claude::new(setup, plan.random.split(), plan.start);
        let mut scene = Scene::new(plan.random.split(), plan.language);
        let title = scene.title();
        let mut files = Vec::new();
        if era == Era::Second && !matches!(kind, SessionKind::Warmup) {
            out.summary(&title);
        }
        out.title(&title);
        out.open();
        match kind {
            SessionKind::Warmup => {
                let agent = out.random.hexadecimal(7);
                let mut warmup = out.subagent(&agent);
                warmup.step(&Step::Prompt("Warmup"));
                warmup.step(&Step::Answer("Ready. What should I look for?"));
                return warmup.finish("");
            }
            SessionKind::Delegating | SessionKind::Earlier => {
                let length = if era == Era::Current { 17 } else { 8 };
                let agent = out.random.hexadecimal(length);
                let (prompt, report) = scene.delegate(&mut out, &agent);
                let mut child = out.subagent(&agent);
                scene.errand(&mut child, &prompt, &report, plan.size / 4);
                files = child.finish("Find uses");
            }
            SessionKind::First => {
                let agent = out.random.hexadecimal(8);
                let (prompt, report) = scene.delegate(&mut out, &agent);
                let parent = out.detach();
                out.sidechain = true;
                let limit = out.size() + plan.size / 4;
                scene.errand(&mut out, &prompt, &report, limit);
                out.sidechain = false;
                out.attach(parent);
            }
            SessionKind::Pictured => {
                let image = plan.images.next();
                scene.picture(&mut out, &image, plan.size);
            }
            SessionKind::Compacted => {
                scene.turn(&mut out, plan.size / 2);
                scene.compact(&mut out);
            }
            _ => {}
        }
        let first_part = if matches!(kind, SessionKind::Forked) {
            plan.size * 2 / 5
        } else {
            plan.size
        };
        let own: usize = files.iter().map(|file: &SampleFile| file.bytes.len()).sum();
        fill(&mut scene, &mut out, first_part.saturating_sub(own));
        if matches!(kind, SessionKind::Forked) {
            let mut fork = out.fork();
            let limit = fork.size() + plan.size / 5;
            fill(&mut scene, &mut fork, limit);
            files.extend(fork.finish(""));
        }
        let mut all = out.finish("");
        all.extend(files);
        all
    }

    fn write(&self, session: &ScriptedSession<'_>) -> (Vec<SampleFile>, TimeMs) {
        let setup = Setup {
            era: Era::Current,
            cwd: session.cwd.to_owned(),
            branch: session.branch,
            model: "claude-sonnet-4-5-20250929",
            background: false,
            listings: false,
        };
        let mut out = Claude::new(setup, session.random(), session.start);
        out.title(session.title);
        out.open();
        play(&mut out, session.steps);
        let mut ended = out.clock.now;
        let mut others = Vec::new();
        if let Some(subagent) = &session.subagent {
            let mut child = out.subagent(subagent.id);
            play(&mut child, subagent.steps);
            others.extend(child.finish(subagent.description));
        }
        if let Some(steps) = session.fork {
            let mut child = out.fork();
            child.clock.now = child.clock.now.plus_ms(HOUR_MS / 4);
            play(&mut child, steps);
            ended = child.clock.now;
            others.extend(child.finish(""));
        }
        let mut files = out.finish("");
        files.extend(others);
        (files, ended)
    }
}

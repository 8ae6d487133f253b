//! Which sessions of Codex are generated.

use super::{Codex, Generation, Setup};
use crate::sample::{
    SampleFile, SampleLogs, ScriptedSession, SessionPlan, fill, play, scene::Scene,
    step::Transcript,
};
use backstory_event::TimeMs;

/// Samples of Codex.
pub(crate) struct CodexSample;

/// The sessions of the rota.
#[derive(Clone, Copy)]
enum SessionKind {
    Plain,
    Forked,
    Bare,
    Whole,
    Resumed,
    Compacted,
}

const ROTA: &[SessionKind] = &[
    SessionKind::Plain,
    SessionKind::Forked,
    SessionKind::Bare,
    SessionKind::Resumed,
    SessionKind::Compacted,
    SessionKind::Whole,
    SessionKind::Plain,
    SessionKind::Plain,
    SessionKind::Plain,
    SessionKind::Plain,
];

impl SampleLogs for CodexSample {
    fn share(&self) -> u64 {
        30
    }

    fn paths(&self) -> &'static [&'static str] {
        &[
            ".codex/sessions/2026/03/01/rollout-2026-03-01T08-00-00-019f0000-0000-7000-8000-00000000000a.jsonl",
            ".codex/sessions/rollout-2025-04-20-019f0000-0000-4000-8000-00000000000b.json",
        ]
    }

    fn generate(&self, plan: &mut SessionPlan<'_>) -> Vec<SampleFile> {
        let kind = ROTA[plan.number % ROTA.len()];
        let generation = match kind {
            // One file of the oldest generation is enough: hardly anybody still has more.
            SessionKind::Whole if plan.number < ROTA.len() => Generation::Whole,
            SessionKind::Bare => Generation::Bare,
            _ => Generation::Enveloped,
        };
        let setup = Setup {
            generation,
            cwd: plan.cwd.to_owned(),
            branch: "main",
            model: if plan.random.percent(60) {
                "gpt-5.5"
            } else {
                "gpt-5-codex"
            },
            long_instructions: plan.size > 30_000,
        };
        let mut out = Codex::new(setup, plan.random.split(), plan.start);
        let mut scene = Scene::new(plan.random.split(), plan.language);
        match kind {
            SessionKind::Forked => {
                fill(&mut scene, &mut out, plan.size * 2 / 5);
                let mut fork = out.fork();
                let limit = fork.size() + plan.size / 5;
                fill(&mut scene, &mut fork, limit);
                return vec![out.finish(), fork.finish()];
            }
            SessionKind::Resumed => {
                fill(&mut scene, &mut out, plan.size / 2);
                out.resume();
            }
            SessionKind::Compacted => {
                fill(&mut scene, &mut out, plan.size / 2);
                scene.compact(&mut out);
            }
            _ => {}
        }
        fill(&mut scene, &mut out, plan.size);
        vec![out.finish()]
    }

    fn write(&self, session: &ScriptedSession<'_>) -> (Vec<SampleFile>, TimeMs) {
        let setup = Setup {
            generation: Generation::Enveloped,
            cwd: session.cwd.to_owned(),
            branch: session.branch,
            model: "gpt-5-codex",
            long_instructions: false,
        };
        let mut out = Codex::new(setup, session.random(), session.start);
        play(&mut out, session.steps);
        let ended = out.clock.now;
        (vec![out.finish()], ended)
    }
}

//! Which sessions of Grok are generated.

use super::{Grok, Setup};
use crate::sample::{
    SampleFile, SampleLogs, ScriptedSession, SessionPlan, fill, play, scene::Scene,
};
use backstory_event::TimeMs;

/// Samples of Grok.
pub(crate) struct GrokSample;

impl SampleLogs for GrokSample {
    fn share(&self) -> u64 {
        5
    }

    fn paths(&self) -> &'static [&'static str] {
        &[
            ".grok/sessions/%2Fhome%2Fada%2Fshop/019f0000-0000-7000-8000-00000000000a/updates.jsonl",
            ".grok/sessions/%2Fhome%2Fada%2Fshop/019f0000-0000-7000-8000-00000000000a/chat_history.jsonl",
            ".grok/sessions/%2Fhome%2Fada%2Fshop/019f0000-0000-7000-8000-00000000000a/summary.json",
            ".grok/sessions/%2Fhome%2Fada%2Fshop/019f0000-0000-7000-8000-00000000000a/events.jsonl",
            ".grok/sessions/%2Fhome%2Fada%2Fshop/019f0000-0000-7000-8000-00000000000a/signals.json",
        ]
    }

    fn generate(&self, plan: &mut SessionPlan<'_>) -> Vec<SampleFile> {
        let setup = Setup {
            cwd: plan.cwd.to_owned(),
            branch: "main",
            model: "grok-4.5",
        };
        let mut out = Grok::new(setup, plan.random.split(), plan.start);
        let mut scene = Scene::new(plan.random.split(), plan.language);
        let title = scene.title();
        fill(&mut scene, &mut out, plan.size);
        out.finish(&title)
    }

    fn write(&self, session: &ScriptedSession<'_>) -> (Vec<SampleFile>, TimeMs) {
        let setup = Setup {
            cwd: session.cwd.to_owned(),
            branch: session.branch,
            model: "grok-4.5",
        };
        let mut out = Grok::new(setup, session.random(), session.start);
        play(&mut out, session.steps);
        let ended = out.clock.now;
        (out.finish(session.title), ended)
    }
}

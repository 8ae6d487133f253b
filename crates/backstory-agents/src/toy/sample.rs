//! Sessions as Toy writes them.

use crate::sample::clock::Clock;
use crate::sample::json::{Fields, Json, fields, object, write_fields};
use crate::sample::random::Random;
use crate::sample::scene::Scene;
use crate::sample::step::{Step, Transcript};
use crate::sample::{SampleFile, SampleLogs, ScriptedSession, SessionPlan, fill, play};
use backstory_event::TimeMs;

/// Samples of Toy.
pub(crate) struct ToySample;

impl SampleLogs for ToySample {
    /// Others are measured by generated logs: these are only in logs of their own.
    fn share(&self) -> u64 {
        0
    }

    fn paths(&self) -> &'static [&'static str] {
        &[".toy/logs/019f0000-0000-7000-8000-00000000000a.toylog"]
    }

    fn generate(&self, plan: &mut SessionPlan<'_>) -> Vec<SampleFile> {
        let mut out = ToyLog::new(plan.random.split(), plan.start);
        let mut scene = Scene::new(plan.random.split(), plan.language);
        out.open(plan.cwd, "main", &scene.title());
        fill(&mut scene, &mut out, plan.size);
        vec![out.finish()]
    }

    fn write(&self, session: &ScriptedSession<'_>) -> (Vec<SampleFile>, TimeMs) {
        let mut out = ToyLog::new(session.random(), session.start);
        out.open(session.cwd, session.branch, session.title);
        play(&mut out, session.steps);
        let ended = out.clock.now;
        (vec![out.finish()], ended)
    }
}

/// A session being written.
struct ToyLog {
    random: Random,
    clock: Clock,
    session: String,
    records: u64,
    bytes: Vec<u8>,
}

impl ToyLog {
    fn new(mut random: Random, start: TimeMs) -> Self {
        ToyLog {
            session: random.uuid_at(start),
            random,
            clock: Clock { now: start },
            records: 0,
            bytes: Vec::new(),
        }
    }

    fn finish(self) -> SampleFile {
        SampleFile {
            path: format!(".toy/logs/{}.toylog", self.session),
            bytes: self.bytes,
        }
    }

    fn record(&mut self, what: &str, more: Fields<'_>) {
        self.records += 1;
        let id = format!("r{}", self.records);
        self.bytes.push(b'{');
        let head = fields! {"toy": what, "id": id, "time": self.clock.stamp()};
        write_fields(head, &mut self.bytes);
        self.bytes.push(b',');
        write_fields(more, &mut self.bytes);
        self.bytes.extend_from_slice(b"}\n");
        self.clock.wait(&mut self.random, 500, 9_000);
    }

    fn open(&mut self, folder: &str, branch: &str, title: &str) {
        let more = fields! {"folder": folder, "branch": branch, "title": title, "version": "1.2"};
        self.record("opened", more);
    }

    fn call(&mut self, tool: &str, input: &dyn Json, output: &str, ok: bool) {
        let call = format!("c{}", self.records);
        self.record(
            "called",
            fields! {"call": call, "tool": tool, "input": input},
        );
        let more = fields! {"call": call, "tool": tool, "ok": ok, "text": output};
        self.record("returned", more);
    }
}

impl Transcript for ToyLog {
    fn step(&mut self, step: &Step<'_>) {
        match step {
            Step::Prompt(text) | Step::Queued(text) | Step::Picture { text, .. } => {
                self.record("asked", fields! {"text": *text});
            }
            Step::Think(text) => self.record("thought", fields! {"text": *text}),
            Step::Say(text) | Step::Answer(text) => self.record("said", fields! {"text": *text}),
            Step::Compact(text) => self.record("shortened", fields! {"text": *text}),
            Step::Run {
                command,
                output,
                exit_code,
            } => self.call(
                "run",
                &object! {"command": *command},
                output,
                *exit_code == 0,
            ),
            Step::Read { path, contents } => {
                self.call("look", &object! {"path": *path}, contents, true);
            }
            Step::Write { path, contents } => {
                self.call(
                    "build",
                    &object! {"path": *path, "text": *contents},
                    "",
                    true,
                );
            }
            Step::Edit { path, new, .. } => {
                self.call("build", &object! {"path": *path, "text": *new}, "", true);
            }
            Step::Grep { pattern, matches } => {
                self.call(
                    "find",
                    &object! {"pattern": *pattern},
                    &matches.join("\n"),
                    true,
                );
            }
            Step::Glob { pattern, paths } => {
                self.call(
                    "find",
                    &object! {"pattern": *pattern},
                    &paths.join("\n"),
                    true,
                );
            }
            Step::Delegate { prompt, report, .. } => {
                self.call("ask", &object! {"prompt": *prompt}, report, true);
            }
            Step::Together(steps) => steps.iter().for_each(|step| self.step(step)),
            Step::Plan(_) | Step::Interrupt => {}
        }
    }

    fn size(&self) -> usize {
        self.bytes.len()
    }
}

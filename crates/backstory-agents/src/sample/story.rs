//! The sessions a new user tries the program on: one developer, two small projects, three agents, a week of work.
//!
//! What is said and done is in `shop` and `notes`; here is who did it and when.

mod notes;
mod shop;

use super::SampleFile;
use super::random::Random;
use super::step::{Step, Transcript};
use crate::claude_code::sample::{self as claude, Claude, Era};
use crate::codex::sample::{self as codex, Codex, Generation};
use crate::grok::sample::{self as grok, Grok};

const HOUR: i64 = 3_600_000;

/// A session of the story.
struct Session {
    agent: Agent,
    cwd: &'static str,
    branch: &'static str,
    title: &'static str,
    /// How long before the end of the story it ends.
    hours_before: i64,
    steps: &'static [Step<'static>],
}

/// Who works in the session.
enum Agent {
    Claude {
        /// What a subagent does meanwhile.
        subagent: Option<&'static [Step<'static>]>,
        /// How the session goes on in a fork of it.
        fork: Option<&'static [Step<'static>]>,
    },
    Codex,
    Grok,
}

const ALONE: Agent = Agent::Claude {
    subagent: None,
    fork: None,
};

/// In the order in which they happened.
const SESSIONS: &[Session] = &[
    Session {
        agent: Agent::Claude {
            subagent: Some(shop::FIND_TOKEN_CHECKS),
            fork: None,
        },
        cwd: "/home/ada/shop",
        branch: "main",
        title: "Fix websocket auth after token refresh",
        hours_before: 150,
        steps: shop::WEBSOCKET_AUTH,
    },
    Session {
        agent: Agent::Codex,
        cwd: "/home/ada/shop",
        branch: "docker",
        title: "",
        hours_before: 124,
        steps: shop::DOCKER_GIVEN_UP,
    },
    Session {
        agent: Agent::Codex,
        cwd: "/home/ada/notes-cli",
        branch: "main",
        title: "",
        hours_before: 101,
        steps: notes::SEARCH_BY_TAG,
    },
    Session {
        agent: ALONE,
        cwd: "/home/ada/shop",
        branch: "docker",
        title: "Docker build fails on missing libssl",
        hours_before: 78,
        steps: shop::DOCKER_FIXED,
    },
    Session {
        agent: Agent::Grok,
        cwd: "/home/ada/shop",
        branch: "main",
        title: "Flaky cart expiry test",
        hours_before: 52,
        steps: shop::FLAKY_TEST,
    },
    Session {
        agent: Agent::Claude {
            subagent: None,
            fork: Some(shop::REFUNDS_TABLE),
        },
        cwd: "/home/ada/shop",
        branch: "refunds",
        title: "Migration for refunded orders",
        hours_before: 28,
        steps: shop::REFUND_COLUMN,
    },
    Session {
        agent: Agent::Grok,
        cwd: "/home/ada/notes-cli",
        branch: "main",
        title: "Notes dated a day late",
        hours_before: 5,
        steps: notes::WRONG_DAY,
    },
    Session {
        agent: ALONE,
        cwd: "/home/ada/notes-cli",
        branch: "main",
        title: "Panic on an empty notebook",
        hours_before: 0,
        steps: notes::EMPTY_NOTEBOOK,
    },
];

/// The files of the story, which ends at `end`.
pub(crate) fn files(end: i64) -> Vec<SampleFile> {
    let mut files = Vec::new();
    for (number, session) in SESSIONS.iter().enumerate() {
        // How long a session takes is known once it is written, so it is written twice: the second time to end when it should.
        let wanted = end - session.hours_before * HOUR;
        let (_, ended) = session.write(number as u64, 0);
        let (written, _) = session.write(number as u64, wanted - ended);
        files.extend(written);
    }
    files
}

impl Session {
    /// Writes the session as if it began at `start`. Returns its files and when it ended.
    fn write(&self, number: u64, start: i64) -> (Vec<SampleFile>, i64) {
        let random = Random::new(2_026 + number);
        let cwd = self.cwd.to_owned();
        match &self.agent {
            Agent::Claude { subagent, fork } => self.write_claude(random, start, *subagent, *fork),
            Agent::Codex => {
                let setup = codex::Setup {
                    generation: Generation::Enveloped,
                    cwd,
                    branch: self.branch,
                    model: "gpt-5-codex",
                    long_instructions: false,
                };
                let mut out = Codex::new(setup, random, start);
                play(&mut out, self.steps);
                let ended = out.clock.now;
                (vec![out.finish()], ended)
            }
            Agent::Grok => {
                let setup = grok::Setup {
                    cwd,
                    branch: self.branch,
                    model: "grok-4.5",
                };
                let mut out = Grok::new(setup, random, start);
                play(&mut out, self.steps);
                let ended = out.clock.now;
                (out.finish(self.title), ended)
            }
        }
    }

    fn write_claude(
        &self,
        random: Random,
        start: i64,
        subagent: Option<&[Step<'_>]>,
        fork: Option<&[Step<'_>]>,
    ) -> (Vec<SampleFile>, i64) {
        let setup = claude::Setup {
            era: Era::Current,
            cwd: self.cwd.to_owned(),
            branch: self.branch,
            model: "claude-sonnet-4-5-20250929",
            background: false,
            listings: false,
        };
        let mut out = Claude::new(setup, random, start);
        out.title(self.title);
        out.open();
        play(&mut out, self.steps);
        let mut ended = out.clock.now;
        let mut others = Vec::new();
        if let Some(steps) = subagent {
            let mut child = out.subagent(shop::TOKEN_AGENT);
            play(&mut child, steps);
            others.extend(child.finish("Find token checks"));
        }
        if let Some(steps) = fork {
            let mut child = out.fork();
            child.clock.now += HOUR / 4;
            play(&mut child, steps);
            ended = child.clock.now;
            others.extend(child.finish(""));
        }
        let mut files = out.finish("");
        files.extend(others);
        (files, ended)
    }
}

fn play(out: &mut dyn Transcript, steps: &[Step<'_>]) {
    for step in steps {
        out.step(step);
    }
}

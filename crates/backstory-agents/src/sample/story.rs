//! The sessions a new user tries the program on: one developer, two small projects, three agents, a week of work.
//!
//! What is said and done is in `shop` and `notes`; here is who did it and when.

mod notes;
mod shop;

use super::step::Step;
use super::{SampleFile, SampleLogs, ScriptedSession, ScriptedSubagent};
use crate::agents::{AGENTS, Agent};
use backstory_event::TimeMs;

const HOUR_MS: i64 = 3_600_000;

/// A session of the story.
struct Session {
    /// Name of the agent that works in it.
    agent: &'static str,
    cwd: &'static str,
    branch: &'static str,
    title: &'static str,
    /// How long before the end of the story it ends.
    hours_before: i64,
    steps: &'static [Step<'static>],
    /// What a subagent does meanwhile.
    subagent: Option<ScriptedSubagent<'static>>,
    /// How the session goes on in a fork of it.
    fork: Option<&'static [Step<'static>]>,
}

/// In the order in which they happened.
const SESSIONS: &[Session] = &[
    Session {
        agent: "claude-code",
        subagent: Some(ScriptedSubagent {
            id: shop::TOKEN_AGENT,
            description: "Find token checks",
            steps: shop::FIND_TOKEN_CHECKS,
        }),
        fork: None,
        cwd: "/home/ada/shop",
        branch: "main",
        title: "Fix websocket auth after token refresh",
        hours_before: 150,
        steps: shop::WEBSOCKET_AUTH,
    },
    Session {
        agent: "codex",
        subagent: None,
        fork: None,
        cwd: "/home/ada/shop",
        branch: "docker",
        title: "",
        hours_before: 124,
        steps: shop::DOCKER_GIVEN_UP,
    },
    Session {
        agent: "codex",
        subagent: None,
        fork: None,
        cwd: "/home/ada/notes-cli",
        branch: "main",
        title: "",
        hours_before: 101,
        steps: notes::SEARCH_BY_TAG,
    },
    Session {
        agent: "claude-code",
        subagent: None,
        fork: None,
        cwd: "/home/ada/shop",
        branch: "docker",
        title: "Docker build fails on missing libssl",
        hours_before: 78,
        steps: shop::DOCKER_FIXED,
    },
    Session {
        agent: "grok",
        subagent: None,
        fork: None,
        cwd: "/home/ada/shop",
        branch: "main",
        title: "Flaky cart expiry test",
        hours_before: 52,
        steps: shop::FLAKY_TEST,
    },
    Session {
        agent: "claude-code",
        subagent: None,
        fork: Some(shop::REFUNDS_TABLE),
        cwd: "/home/ada/shop",
        branch: "refunds",
        title: "Migration for refunded orders",
        hours_before: 28,
        steps: shop::REFUND_COLUMN,
    },
    Session {
        agent: "grok",
        subagent: None,
        fork: None,
        cwd: "/home/ada/notes-cli",
        branch: "main",
        title: "Notes dated a day late",
        hours_before: 5,
        steps: notes::WRONG_DAY,
    },
    Session {
        agent: "claude-code",
        subagent: None,
        fork: None,
        cwd: "/home/ada/notes-cli",
        branch: "main",
        title: "Panic on an empty notebook",
        hours_before: 0,
        steps: notes::EMPTY_NOTEBOOK,
    },
];

/// What an agent does that no session of the story is of.
const EXTRA_SESSION: Session = Session {
    agent: "",
    subagent: None,
    fork: None,
    cwd: "/home/ada/notes-cli",
    branch: "main",
    title: "Notes by tag",
    hours_before: 60,
    steps: notes::SEARCH_BY_TAG,
};

/// The files of the story, which ends at `end`. Every agent that has samples is in it.
pub(crate) fn files(end: TimeMs) -> Vec<SampleFile> {
    let mut files = Vec::new();
    for (number, session) in (0..).zip(SESSIONS) {
        let sample = Agent::find(session.agent).and_then(|agent| agent.sample);
        files.extend(
            sample
                .iter()
                .flat_map(|sample| session.write(*sample, number, end)),
        );
    }
    let is_told = |agent: &&Agent| SESSIONS.iter().any(|session| session.agent == agent.name);
    let others = AGENTS.iter().filter(|agent| !is_told(agent));
    let samples = others.filter_map(|agent| agent.sample);
    for (number, sample) in (SESSIONS.len() as u64..).zip(samples) {
        files.extend(EXTRA_SESSION.write(sample, number, end));
    }
    files
}

impl Session {
    /// Writes the session as the `number`th of the story, which ends at `end`.
    fn write(&self, sample: &dyn SampleLogs, number: u64, end: TimeMs) -> Vec<SampleFile> {
        let scripted = |start: TimeMs| ScriptedSession {
            seed: 2_026 + number,
            start,
            cwd: self.cwd,
            branch: self.branch,
            title: self.title,
            steps: self.steps,
            subagent: self.subagent,
            fork: self.fork,
        };
        // How long a session takes is known once it is written, so it is written twice: the second time to end when it should.
        let (_, ended) = sample.write(&scripted(TimeMs::ZERO));
        let wanted = end.minus_ms(self.hours_before * HOUR_MS);
        sample.write(&scripted(wanted.minus_ms(ended.get()))).0
    }
}

//! Whether telling agents of a pattern changed how often it occurs.

use std::collections::{BTreeSet, HashMap};

use backstory_event::TimeMs;
use backstory_store::SessionFilter;
use serde::{Deserialize, Serialize};

use super::{Catalogue, Entry, MeasuredPattern, Pattern, Patterns, Publication};
use crate::error::Result;
use crate::interval::wilson_interval;

/// With fewer sessions on a side than this, anything could be chance.
const FEWEST_SESSIONS: u64 = 10;

/// A session that may have a pattern or not.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MeasuredSession {
    /// Its agent.
    agent: String,
    /// When it began, in unix milliseconds: what it was told, it was told then.
    started_at: TimeMs,
    /// How often the pattern occurred in it.
    occurrences: u64,
}

/// How often a pattern occurs without and with being told of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The agent; `None` is all of them.
    pub agent: Option<String>,
    /// Before it was published.
    pub before: Share,
    /// After.
    pub after: Share,
    /// What that means.
    pub verdict: Verdict,
}

/// In how many sessions a pattern occurs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// How many sessions there were.
    pub sessions: u64,
    /// How many have it.
    pub with_it: u64,
    /// How often it occurred in all of them.
    pub occurrences: u64,
    /// Which share of sessions has it.
    pub share: f64,
    /// The least that this share may be in truth, with 95 % confidence.
    pub low: f64,
    /// The most.
    pub high: f64,
}

/// What a measurement means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Fewer sessions have it since.
    Fewer,
    /// More do.
    More,
    /// Nothing that could not be chance.
    NoDifference,
    /// Too few to tell.
    TooFewSessions,
}

impl Verdict {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Fewer => "fewer",
            Verdict::More => "more",
            Verdict::NoDifference => "no_difference",
            Verdict::TooFewSessions => "too_few_sessions",
        }
    }
}

impl Catalogue {
    /// Returns whether some pattern is published since a known time, so that [`Patterns::measure`] has something to compare.
    pub fn has_publications(&self) -> bool {
        let mut published = self.entries().iter().flat_map(|entry| &entry.published);
        published.any(|publication| publication.at.is_some())
    }
}

impl Patterns<'_> {
    /// Compares how often published patterns occurred before and after that, by the patterns that were detected.
    pub fn measure<'a>(
        &self,
        catalogue: &'a Catalogue,
        detected: &[Pattern],
    ) -> Result<Vec<MeasuredPattern<'a>>> {
        let mut measured = Vec::new();
        for entry in catalogue.entries() {
            let counts = occurrences(detected, entry);
            for publication in &entry.published {
                let Some(at) = publication.at else {
                    continue;
                };
                let sessions = self.reached(publication, &counts)?;
                measured.push(MeasuredPattern {
                    id: &entry.id,
                    title: &entry.title,
                    target: &publication.target,
                    published_at: publication.at,
                    rows: measure(&sessions, at),
                });
            }
        }
        Ok(measured)
    }

    /// The sessions that a publication could reach, or would have reached.
    fn reached(
        &self,
        publication: &Publication,
        counts: &HashMap<&str, u64>,
    ) -> Result<Vec<MeasuredSession>> {
        let filter = SessionFilter {
            project: publication.project.clone(),
            ..SessionFilter::default()
        };
        let rows = self.memory.sessions().list(&filter)?;
        let measured = rows.into_iter().filter_map(|row| {
            Some(MeasuredSession {
                occurrences: counts.get(row.session.as_str()).copied().unwrap_or(0),
                started_at: row.started_at?,
                agent: row.agent,
            })
        });
        Ok(measured.collect())
    }
}

/// How often a pattern, with those merged into it, occurred in each session.
fn occurrences<'a>(detected: &'a [Pattern], entry: &Entry) -> HashMap<&'a str, u64> {
    let is_it = |pattern: &&Pattern| pattern.id == entry.id || entry.merged.contains(&pattern.id);
    let mut counts: HashMap<&str, u64> = HashMap::new();
    for pattern in detected.iter().filter(is_it) {
        let mut found: HashMap<&str, u64> = HashMap::new();
        for evidence in &pattern.evidence {
            *found.entry(&evidence.session).or_default() += 1;
        }
        for session in &pattern.sessions {
            found.entry(session).or_insert(1);
        }
        for (session, count) in found {
            *counts.entry(session).or_default() += count;
        }
    }
    counts
}

/// Compares the sessions before a publication with those after it: all of them, then agent by agent.
fn measure(sessions: &[MeasuredSession], published_at: TimeMs) -> Vec<Measurement> {
    let agents: BTreeSet<&str> = sessions
        .iter()
        .map(|session| session.agent.as_str())
        .collect();
    let rows = std::iter::once(None).chain(agents.into_iter().map(Some));
    let row = |agent: Option<&str>| {
        let of_agent =
            |session: &&MeasuredSession| agent.is_none_or(|agent| session.agent == agent);
        let side = |after: bool| {
            let is_on_side =
                |session: &&MeasuredSession| (session.started_at >= published_at) == after;
            Share::of(sessions.iter().filter(of_agent).filter(is_on_side))
        };
        let (before, after) = (side(false), side(true));
        Measurement {
            agent: agent.map(str::to_string),
            before,
            after,
            verdict: verdict(&before, &after),
        }
    };
    rows.map(row).collect()
}

impl Share {
    fn of<'a>(sessions: impl Iterator<Item = &'a MeasuredSession>) -> Self {
        let (mut all, mut with_it, mut occurrences) = (0, 0, 0);
        for session in sessions {
            all += 1;
            with_it += u64::from(session.occurrences > 0);
            occurrences += session.occurrences;
        }
        Share::new(all, with_it, occurrences)
    }

    fn new(sessions: u64, with_it: u64, occurrences: u64) -> Self {
        let (low, high) = wilson_interval(with_it, sessions);
        Share {
            sessions,
            with_it,
            occurrences,
            share: if sessions == 0 {
                0.0
            } else {
                with_it as f64 / sessions as f64
            },
            low,
            high,
        }
    }
}

/// Newcombe's interval of the difference of two shares, made of Wilson's (his method 10).
fn difference(before: &Share, after: &Share) -> (f64, f64) {
    let difference = after.share - before.share;
    let down = (after.share - after.low).hypot(before.high - before.share);
    let up = (after.high - after.share).hypot(before.share - before.low);
    (difference - down, difference + up)
}

fn verdict(before: &Share, after: &Share) -> Verdict {
    if before.sessions.min(after.sessions) < FEWEST_SESSIONS {
        return Verdict::TooFewSessions;
    }
    match difference(before, after) {
        (_, high) if high < 0.0 => Verdict::Fewer,
        (low, _) if low > 0.0 => Verdict::More,
        _ => Verdict::NoDifference,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn near(found: (f64, f64), expect: (f64, f64)) {
        let is_near = |one: f64, other: f64| (one - other).abs() < 0.000_06;
        assert!(
            is_near(found.0, expect.0) && is_near(found.1, expect.1),
            "{found:?} is not {expect:?}"
        );
    }

    /// Figures of R. G. Newcombe, Statistics in Medicine 17 (1998), 873–890, table II, method 10.
    #[test]
    fn intervals_of_a_difference() {
        let check = |after: (u64, u64), before: (u64, u64), expect| {
            let share = |(with_it, sessions)| Share::new(sessions, with_it, with_it);
            near(difference(&share(before), &share(after)), expect);
        };
        check((56, 70), (48, 80), (0.0524, 0.3339));
        check((9, 10), (3, 10), (0.1705, 0.8090));
        check((6, 7), (2, 7), (0.0582, 0.8062));
        check((5, 56), (0, 29), (-0.0381, 0.1926));
        check((0, 10), (0, 20), (-0.1611, 0.2775));
        check((10, 10), (0, 20), (0.6791, 1.0));
    }

    fn sessions(agent: &str, at: i64, count: u64, with_it: u64) -> Vec<MeasuredSession> {
        let session = |number| MeasuredSession {
            agent: agent.to_string(),
            started_at: at.into(),
            occurrences: if number < with_it { 2 } else { 0 },
        };
        (0..count).map(session).collect()
    }

    fn check(sessions: &[MeasuredSession], expect: &[(Option<&str>, Verdict)]) -> Vec<Measurement> {
        let rows = measure(sessions, TimeMs::new(1000));
        let verdicts: Vec<_> = rows
            .iter()
            .map(|row| (row.agent.as_deref(), row.verdict))
            .collect();
        assert_eq!(verdicts, expect);
        rows
    }

    #[test]
    fn sessions_before_and_after_are_compared_by_agent() {
        let all = [
            sessions("codex", 999, 80, 48),
            sessions("codex", 1000, 70, 20),
            sessions("grok", 10, 40, 4),
            sessions("grok", 2000, 9, 0),
            sessions("claude-code", 10, 10, 0),
            sessions("claude-code", 2000, 10, 10),
        ]
        .concat();
        let rows = check(
            &all,
            &[
                (None, Verdict::NoDifference),
                (Some("claude-code"), Verdict::More),
                (Some("codex"), Verdict::Fewer),
                (Some("grok"), Verdict::TooFewSessions),
            ],
        );
        let codex = &rows[2];
        assert_eq!(
            (
                codex.before.sessions,
                codex.before.with_it,
                codex.before.occurrences
            ),
            (80, 48, 96)
        );
        assert_eq!((codex.after.sessions, codex.after.with_it), (70, 20));
        assert_eq!((rows[0].before.sessions, rows[0].after.sessions), (130, 89));
    }

    #[test]
    fn nothing_is_concluded_from_little() {
        check(&[], &[(None, Verdict::TooFewSessions)]);
        let none = [sessions("grok", 1, 9, 9), sessions("grok", 2000, 1000, 0)].concat();
        check(
            &none,
            &[
                (None, Verdict::TooFewSessions),
                (Some("grok"), Verdict::TooFewSessions),
            ],
        );
        // 5 of 20 and 2 of 20 may be chance.
        let chance = [sessions("grok", 1, 20, 5), sessions("grok", 2000, 20, 2)].concat();
        check(
            &chance,
            &[
                (None, Verdict::NoDifference),
                (Some("grok"), Verdict::NoDifference),
            ],
        );
    }
}

//! Order of evictions.

use std::collections::VecDeque;

use backstory_event::TimeMs;
use backstory_store::Evictable;

use super::{Eviction, Pass, RetainOptions};

const DAY_MS: i64 = 24 * 3600 * 1000;

/// A time before this one (September 2001) is that of a clock that was never set.
const PLAUSIBLE: TimeMs = TimeMs::new(1_000_000_000_000);

/// Days without any activity after which the clock is more likely to be wrong than the history.
const MOST_IDLE_DAYS: i64 = 400;

/// The sessions that are left, oldest first.
pub(super) struct Plan {
    analysed: VecDeque<(TimeMs, Evictable)>,
    others: VecDeque<(TimeMs, Evictable)>,
    pinned: Vec<Evictable>,
    options: RetainOptions,
    /// Sessions that were active last before this are old.
    old_before: Option<TimeMs>,
}

impl Plan {
    pub(super) fn new(
        evictable: Vec<Evictable>,
        options: &RetainOptions,
        alerts: &mut Vec<String>,
    ) -> Self {
        let now = options.now;
        let mut plan = Plan {
            analysed: VecDeque::new(),
            others: VecDeque::new(),
            pinned: Vec::new(),
            options: *options,
            old_before: None,
        };
        let known = evictable
            .iter()
            .filter_map(|session| active_at(session, now));
        if let (Some(days), Some(newest)) = (options.caps.raw_max_age_days, known.max()) {
            let idle = now.since(newest) / DAY_MS;
            if idle > MOST_IDLE_DAYS {
                alerts.push(format!(
                    "by this clock the newest session ended {idle} days ago: nothing was evicted by age, for the clock may be wrong"
                ));
            } else {
                let age = i64::try_from(days).unwrap_or(i64::MAX);
                plan.old_before = Some(now.minus_ms(age.saturating_mul(DAY_MS)));
            }
        }
        // One whose time nobody knows counts as active now: it is not the first to go.
        let mut sorted: Vec<(TimeMs, Evictable)> = evictable
            .into_iter()
            .map(|session| (active_at(&session, now).unwrap_or(now), session))
            .collect();
        sorted.sort_by_key(|(at, session)| (*at, session.session));
        for (at, session) in sorted {
            if session.pinned {
                plan.pinned.push(session);
            } else if session.analysed {
                plan.analysed.push_back((at, session));
            } else {
                plan.others.push_back((at, session));
            }
        }
        plan
    }

    /// Returns the number of bytes that may remain after a pass; `None` when it has nothing to do.
    pub(super) fn bound(&self, pass: Pass) -> Option<u64> {
        match pass {
            Pass::MaxAge => self.old_before.map(|_| 0),
            Pass::SoftCap => self.options.caps.raw_soft_cap_bytes,
            Pass::HardCap => self.options.caps.raw_hard_cap_bytes,
        }
    }

    /// The session that goes next.
    pub(super) fn next(&mut self, pass: Pass) -> Option<Evictable> {
        let next = match pass {
            Pass::MaxAge => {
                let (oldest, _) = self.analysed.front()?;
                if *oldest >= self.old_before? {
                    return None;
                }
                self.analysed.pop_front()
            }
            Pass::SoftCap => self.analysed.pop_front(),
            Pass::HardCap => self
                .analysed
                .pop_front()
                .or_else(|| self.others.pop_front()),
        };
        next.map(|(_, session)| session)
    }

    /// Returns the number of events that are left.
    pub(super) fn events(&self) -> u64 {
        let unpinned = self.analysed.iter().chain(&self.others);
        let sessions = unpinned.map(|(_, session)| session).chain(&self.pinned);
        sessions.map(|session| session.events).sum()
    }

    /// Says why a cap is still exceeded.
    pub(super) fn explain(&self, pass: Pass, usage: u64, bound: u64, alerts: &mut Vec<String>) {
        if pass == Pass::MaxAge || usage <= bound {
            return;
        }
        let mut reasons = Vec::new();
        if !self.pinned.is_empty() {
            let bytes: u64 = self.pinned.iter().map(|session| session.bytes).sum();
            let count = self.pinned.len();
            reasons.push(format!(
                "{count} pinned sessions of about {bytes} bytes stay"
            ));
        }
        if !self.others.is_empty() {
            let count = self.others.len();
            reasons.push(format!("{count} sessions are not analysed yet"));
        }
        reasons.push("accounts, counts and keys of events are never evicted".to_string());
        alerts.push(format!(
            "{usage} bytes are in use, raw_{}_bytes is {bound}: {}",
            pass.name(),
            reasons.join(", ")
        ));
    }
}

/// Returns the report of a session's eviction.
pub(super) fn eviction(session: &Evictable, pass: Pass, now: TimeMs) -> Eviction {
    Eviction {
        session: session.name.clone(),
        agent: session.agent.clone(),
        at: active_at(session, now),
        bytes: session.bytes,
        pass,
        analysed: session.analysed,
    }
}

/// Returns the time of a session's last activity. An impossible time is no reason to be evicted first, nor never: the file's counts then.
fn active_at(session: &Evictable, now: TimeMs) -> Option<TimeMs> {
    let plausible = |at: &TimeMs| (PLAUSIBLE..=now).contains(at);
    session
        .ended_at
        .filter(plausible)
        .or(session.written_at.filter(plausible))
}

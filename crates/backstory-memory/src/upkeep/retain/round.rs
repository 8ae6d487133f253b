//! One round of evictions: chosen, written down, carried out, the room given back.
//!
//! The choice is stored before the first session is evicted. A run that is stopped anywhere leaves its choice to the next one, which
//! carries it out instead of choosing anew from files that are half cleaned up, so no more sessions go than without the stop.
//! It is chosen with care that one round is enough: how small the index becomes differs from run to run.

use std::collections::HashMap;

use backstory_event::SessionId;
use backstory_store::Evictable;
use serde::{Deserialize, Serialize};

use super::plan::Plan;
use super::{Caps, Pass, RetainOptions, RetainReport};
use crate::error::Result;
use crate::{Upkeep, observe};

/// The setting that holds the round that is under way.
const SETTING: &str = "eviction-round";

/// A round ends this share of the cap below it, so that small differences do not decide whether one more session goes.
const MARGIN: u64 = 50;

/// Of what an evicted session takes in the database, so much (of 8) is taken to become free: observations of it are kept.
const FREED_EIGHTHS: u64 = 7;

/// A round as it is stored.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct StoredRound {
    pass: usize,
    /// The caps that it was chosen for.
    soft_cap_bytes: Option<u64>,
    hard_cap_bytes: Option<u64>,
    max_age_days: Option<u64>,
    /// The rows of the sessions that go, and how many events of each.
    sessions: Vec<(SessionId, u64)>,
}

impl StoredRound {
    fn new(pass: Pass, caps: &Caps, sessions: &[Evictable]) -> Self {
        let sessions = sessions.iter();
        StoredRound {
            pass: pass as usize,
            soft_cap_bytes: caps.raw_soft_cap_bytes,
            hard_cap_bytes: caps.raw_hard_cap_bytes,
            max_age_days: caps.raw_max_age_days,
            sessions: sessions
                .map(|session| (session.session, session.events))
                .collect(),
        }
    }

    fn is_for(&self, caps: &Caps) -> bool {
        self.soft_cap_bytes == caps.raw_soft_cap_bytes
            && self.hard_cap_bytes == caps.raw_hard_cap_bytes
            && self.max_age_days == caps.raw_max_age_days
    }
}

impl Upkeep<'_> {
    /// Chooses the sessions that go next: as many as bring the usage below the bound, by what they are estimated to take.
    pub(super) fn choose_round(
        &self,
        plan: &mut Plan,
        pass: Pass,
        usage: u64,
        bound: u64,
    ) -> Result<Vec<Evictable>> {
        // The index and vectors shrink with the events that they are of.
        let beside = usage.saturating_sub(self.memory.store.used_bytes()?);
        // Half of that counts: segments with few removed documents stay, and what was noted of a session comes in its place.
        let beside_event = beside / plan.events().max(1) / 2;
        let wanted = usage.saturating_sub(bound - bound / MARGIN);
        let mut chosen = Vec::new();
        let mut freed = 0;
        while freed < wanted
            && let Some(next) = plan.next(pass)
        {
            freed += next.bytes * FREED_EIGHTHS / 8 + next.events * beside_event;
            chosen.push(next);
        }
        Ok(chosen)
    }

    /// Evicts these sessions and gives their room back.
    pub(super) fn evict_round(
        &self,
        round: &[Evictable],
        pass: Pass,
        options: &RetainOptions,
        report: &mut RetainReport,
    ) -> Result<()> {
        self.store_round(round, pass, options)?;
        self.carry_out(round, pass, options, report)?;
        self.reclaim(false)?;
        Ok(self.memory.store.remove_setting(SETTING)?)
    }

    pub(super) fn store_round(
        &self,
        round: &[Evictable],
        pass: Pass,
        options: &RetainOptions,
    ) -> Result<()> {
        let stored = StoredRound::new(pass, &options.caps, round);
        let stored = serde_json::to_vec(&stored).unwrap_or_default();
        Ok(self.memory.store.keep(SETTING, &stored)?)
    }

    /// Carries out what a run that was stopped had chosen, unless other caps count now.
    pub(super) fn finish_round(
        &self,
        options: &RetainOptions,
        report: &mut RetainReport,
    ) -> Result<()> {
        let Some(stored) = self.memory.store.kept(SETTING)? else {
            return Ok(());
        };
        let stored: Option<StoredRound> = serde_json::from_slice(&stored).ok();
        let Some(stored) = stored.filter(|stored| stored.is_for(&options.caps)) else {
            return Ok(self.memory.store.remove_setting(SETTING)?);
        };
        let pass = Pass::ALL.get(stored.pass).copied();
        let pass = pass.unwrap_or(Pass::SoftCap);
        let there = self.memory.store.evictable()?.into_iter();
        let mut there: HashMap<SessionId, Evictable> =
            there.map(|session| (session.session, session)).collect();
        // One that was pinned or went on meanwhile stays.
        let goes = |session: &Evictable, events: u64| {
            session.events == events
                && !session.pinned
                && (session.analysed || pass == Pass::HardCap)
        };
        let sessions = stored.sessions.iter();
        let left: Vec<Evictable> = sessions
            .filter_map(|(id, events)| there.remove(id).filter(|session| goes(session, *events)))
            .collect();
        self.carry_out(&left, pass, options, report)?;
        // Of an index that was being written when the run was stopped some may be left that no later write removes.
        self.reclaim(true)?;
        Ok(self.memory.store.remove_setting(SETTING)?)
    }

    fn carry_out(
        &self,
        round: &[Evictable],
        pass: Pass,
        options: &RetainOptions,
        report: &mut RetainReport,
    ) -> Result<()> {
        let mut evictor = self.memory.store.evictor()?;
        for session in round {
            let kept = observe::to_keep(evictor.store(), session)?;
            evictor.evict(session.session, options.now, &kept)?;
            report.count(session, pass, options.now);
        }
        Ok(())
    }
}

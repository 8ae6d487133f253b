//! Keeping the store within its caps: whole sessions are evicted, oldest first, those that are analysed before any other.
//!
//! What counts are the bytes of the store's files on disk, measured again after each round. A session whose digest lacks some of
//! its events goes only when the hard cap leaves no choice, and is reported as lost.

mod plan;
mod round;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Instant;

use backstory_event::TimeMs;
use backstory_store::{Evictable, lock_file};
use serde::{Deserialize, Serialize};

use self::plan::Plan;
use crate::Upkeep;
use crate::error::{Error, Result};
use crate::path_text::file_of_log;
use crate::serde_text::rfc3339_time;
use crate::upkeep::disk_bytes;

/// Bounds of what is kept; those that are `None` bound nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Caps {
    /// Above this, analysed sessions go.
    pub raw_soft_cap_bytes: Option<u64>,
    /// Above this, any session goes but those that are pinned.
    pub raw_hard_cap_bytes: Option<u64>,
    /// Analysed sessions whose last event is older than so many days go.
    pub raw_max_age_days: Option<u64>,
    /// Above this, what was distilled is said to be much; it never goes.
    pub distilled_cap_bytes: Option<u64>,
}

/// What to keep, and when that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RetainOptions {
    /// The bounds.
    pub caps: Caps,
    /// Now, in unix milliseconds.
    pub now: TimeMs,
}

/// Why a session goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pass {
    /// It is old.
    MaxAge,
    /// The soft cap is exceeded.
    SoftCap,
    /// The hard cap is exceeded.
    HardCap,
}

impl Pass {
    /// In the order in which they run.
    pub const ALL: [Pass; 3] = [Pass::MaxAge, Pass::SoftCap, Pass::HardCap];

    /// The name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Pass::MaxAge => "max_age",
            Pass::SoftCap => "soft_cap",
            Pass::HardCap => "hard_cap",
        }
    }
}

/// A session that went, or would go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Eviction {
    /// The session.
    pub session: String,
    /// Its agent.
    pub agent: String,
    /// When it was active last, as far as that can be told.
    #[serde(rename = "active_at", with = "rfc3339_time")]
    pub at: Option<TimeMs>,
    /// About how many bytes it takes.
    pub bytes: u64,
    /// Why.
    pub pass: Pass,
    /// Whether its digest has all its events; else they are lost.
    #[serde(rename = "analyzed")]
    pub analysed: bool,
}

/// What was done to keep within the caps.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(into = "RetainRecord")]
pub struct RetainReport {
    /// By how many bytes the files on disk became smaller.
    pub freed_bytes: u64,
    /// What the store takes on disk now.
    pub final_usage_bytes: u64,
    /// The sessions that went, in their order.
    pub evictions: Vec<Eviction>,
    /// What the accounts of sessions take.
    pub distilled_bytes: u64,
    /// What the user should know.
    pub alerts: Vec<String>,
}

/// [`RetainReport`] with counts, as JSON has it.
#[derive(Serialize)]
struct RetainRecord {
    freed_bytes: u64,
    final_usage_bytes: u64,
    evicted: BTreeMap<Pass, u64>,
    data_loss: bool,
    distilled_bytes: u64,
    alerts: Vec<String>,
    sessions: Vec<Eviction>,
}

impl From<RetainReport> for RetainRecord {
    fn from(report: RetainReport) -> Self {
        let passes = Pass::ALL.into_iter();
        let data_loss = report.lost().next().is_some();
        RetainRecord {
            evicted: passes.map(|pass| (pass, report.evicted(pass))).collect(),
            data_loss,
            freed_bytes: report.freed_bytes,
            final_usage_bytes: report.final_usage_bytes,
            distilled_bytes: report.distilled_bytes,
            alerts: report.alerts,
            sessions: report.evictions,
        }
    }
}

impl RetainReport {
    /// How many sessions went for a reason.
    pub fn evicted(&self, pass: Pass) -> u64 {
        let evictions = self.evictions.iter();
        evictions.filter(|eviction| eviction.pass == pass).count() as u64
    }

    /// Counts a session that goes. One without events is not listed either: only its bytes go.
    fn count(&mut self, session: &Evictable, pass: Pass, now: TimeMs) {
        if session.events > 0 {
            self.evictions.push(plan::eviction(session, pass, now));
        }
    }

    /// Sessions that went before their digest had all their events.
    pub fn lost(&self) -> impl Iterator<Item = &Eviction> {
        self.evictions.iter().filter(|eviction| !eviction.analysed)
    }
}

impl Upkeep<'_> {
    /// Evicts what the caps leave no room for. Safe to stop at any instant: no session goes half.
    pub fn retain(&self, options: &RetainOptions) -> Result<RetainReport> {
        let started = Instant::now();
        let _lock = lock_file(&self.memory.home.join("sweep.lock"), || {})?;
        let retained = self.keep_within(options);
        self.memory
            .log_retention(retained.as_ref(), options.now, started.elapsed());
        retained
    }

    /// What [`Upkeep::retain`] would do, as far as sizes can be told before. Writes nothing.
    pub fn retain_plan(&self, options: &RetainOptions) -> Result<RetainReport> {
        let mut usage = disk_bytes(&self.memory.home);
        let mut report = RetainReport::default();
        let mut plan = Plan::new(self.memory.store.evictable()?, options, &mut report.alerts);
        // The index and vectors shrink with the events that they are of.
        let beside = usage.saturating_sub(self.memory.store.used_bytes()?) / plan.events().max(1);
        for pass in Pass::ALL {
            let Some(bound) = plan.bound(pass).filter(|bound| usage > *bound) else {
                continue;
            };
            for next in self.choose_round(&mut plan, pass, usage, bound)? {
                let freed = next.bytes + next.events * beside;
                report.freed_bytes += freed;
                usage = usage.saturating_sub(freed);
                report.count(&next, pass, options.now);
            }
            plan.explain(pass, usage, bound, &mut report.alerts);
        }
        report.final_usage_bytes = usage;
        self.weigh_distilled(options, &mut report)?;
        Ok(report)
    }

    /// Pins a session, which is never evicted then, or lets it go again.
    pub fn pin(&self, session: &str, pinned: bool) -> Result<String> {
        let row = self.memory.sessions().row(session)?;
        self.memory.store.pin(row.id, pinned)?;
        Ok(row.session)
    }

    /// Lets the next sweep read an evicted session anew from its source files, and pins it. Returns its id and those files.
    pub fn restore(&self, session: &str) -> Result<(String, Vec<String>)> {
        let _lock = lock_file(&self.memory.home.join("sweep.lock"), || {})?;
        let row = self.memory.sessions().row(session)?;
        if row.evicted_at.is_none() {
            return Err(Error::NotEvicted(row.session));
        }
        let paths = self.memory.store.session_paths(row.id)?;
        let there = |path: &String| file_of_log(path).is_some();
        if !paths.iter().any(there) {
            return Err(Error::SourceGone {
                session: row.session,
                paths,
            });
        }
        self.memory.store.restore(row.id)?;
        Ok((row.session, paths.into_iter().filter(there).collect()))
    }

    /// Evicts what the caps leave no room for; the caller holds the sweep's lock.
    pub(crate) fn keep_within(&self, options: &RetainOptions) -> Result<RetainReport> {
        let mut report = RetainReport::default();
        let before = disk_bytes(&self.memory.home);
        if options.caps != Caps::default() {
            self.evict(options, &mut report)?;
        }
        report.final_usage_bytes = disk_bytes(&self.memory.home);
        report.freed_bytes = before.saturating_sub(report.final_usage_bytes);
        self.weigh_distilled(options, &mut report)?;
        Ok(report)
    }

    fn evict(&self, options: &RetainOptions, report: &mut RetainReport) -> Result<()> {
        self.finish_round(options, report)?;
        let caps = &options.caps;
        let bounds = [caps.raw_soft_cap_bytes, caps.raw_hard_cap_bytes];
        let least = bounds.iter().flatten().min();
        let exceeded = least.is_some_and(|cap| disk_bytes(&self.memory.home) > *cap);
        if !exceeded && caps.raw_max_age_days.is_none() {
            return Ok(());
        }
        if exceeded {
            // What was evicted or removed before may still take room: a reader was in the way, or a run was stopped.
            self.reclaim(false)?;
        }
        let mut plan = Plan::new(self.memory.store.evictable()?, options, &mut report.alerts);
        for pass in Pass::ALL {
            let Some(bound) = plan.bound(pass) else {
                continue;
            };
            let mut usage = disk_bytes(&self.memory.home);
            while usage > bound {
                let round = self.choose_round(&mut plan, pass, usage, bound)?;
                if round.is_empty() {
                    break;
                }
                self.evict_round(&round, pass, options, report)?;
                usage = disk_bytes(&self.memory.home);
            }
            plan.explain(pass, usage, bound, &mut report.alerts);
        }
        Ok(())
    }

    /// Makes the room of evicted sessions free on disk: in the index, in the vectors, in the database. With
    /// `index_anew` the index is written again as a whole.
    fn reclaim(&self, index_anew: bool) -> Result<()> {
        // An index that cannot be written is made anew by a later sweep, which says what is wrong with it.
        let _ = self.memory.search().reclaim_index(index_anew);
        self.memory.models().remove_evicted_sessions()?;
        Ok(self.memory.store.reclaim()?)
    }

    fn weigh_distilled(&self, options: &RetainOptions, report: &mut RetainReport) -> Result<()> {
        report.distilled_bytes = self.memory.store.distilled_bytes()?;
        if let Some(cap) = options.caps.distilled_cap_bytes
            && report.distilled_bytes > cap
        {
            report.alerts.push(format!(
                "the accounts of sessions take {} bytes, more than distilled_cap_bytes ({cap}); they are never evicted",
                report.distilled_bytes
            ));
        }
        Ok(())
    }
}

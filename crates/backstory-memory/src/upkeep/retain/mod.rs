//! Keeping the store within its caps: whole sessions are evicted, oldest first, those that are analysed before any other.
//!
//! Caps are compared with the bytes of the store's files on disk, measured again after each round. A session whose digest lacks some of
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
    /// Analysed sessions whose last event is older than this number of days go.
    pub raw_max_age_days: Option<u64>,
    /// Above this, a warning says that digests and notes take much; they are never evicted.
    pub distilled_cap_bytes: Option<u64>,
}

/// Options of retention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RetainOptions {
    /// Caps of what is kept.
    pub caps: Caps,
    /// Current time.
    pub now: TimeMs,
}

/// Reason for an eviction.
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
    /// All passes, in the order in which they run.
    pub const ALL: [Pass; 3] = [Pass::MaxAge, Pass::SoftCap, Pass::HardCap];

    /// Returns the name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Pass::MaxAge => "max_age",
            Pass::SoftCap => "soft_cap",
            Pass::HardCap => "hard_cap",
        }
    }
}

/// A session that was evicted, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Eviction {
    /// The session.
    pub session: String,
    /// Its agent.
    pub agent: String,
    /// Time of its last activity, as far as that is known.
    #[serde(rename = "active_at", with = "rfc3339_time")]
    pub at: Option<TimeMs>,
    /// Number of bytes that it takes, about.
    pub bytes: u64,
    /// Reason.
    pub pass: Pass,
    /// True if its digest has all its events; else they are lost.
    #[serde(rename = "analyzed")]
    pub analysed: bool,
}

/// Result of retention.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(into = "RetainRecord")]
pub struct RetainReport {
    /// Number of bytes by which the files on disk became smaller.
    pub freed_bytes: u64,
    /// Bytes that the store takes on disk now.
    pub final_usage_bytes: u64,
    /// The sessions that were evicted, in their order.
    pub evictions: Vec<Eviction>,
    /// Bytes of digests and notes.
    pub distilled_bytes: u64,
    /// Warnings for the user.
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
    /// Returns the number of sessions that were evicted for a reason.
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

    /// Returns the sessions that were evicted before their digest had all their events.
    pub fn lost(&self) -> impl Iterator<Item = &Eviction> {
        self.evictions.iter().filter(|eviction| !eviction.analysed)
    }
}

impl Upkeep<'_> {
    /// Evicts sessions until the store is within its caps. Safe to stop at any instant: no session is evicted by half.
    pub fn retain(&self, options: &RetainOptions) -> Result<RetainReport> {
        let started = Instant::now();
        let _lock = lock_file(&self.memory.home.join("sweep.lock"), || {})?;
        let retained = self.keep_within(options);
        self.memory
            .log_retention(retained.as_ref(), options.now, started.elapsed());
        retained
    }

    /// Returns what [`Upkeep::retain`] would do, as far as sizes can be estimated. Writes nothing.
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

    /// Pins a session, which is never evicted then, or unpins it.
    pub fn pin(&self, session: &str, pinned: bool) -> Result<String> {
        let row = self.memory.sessions().row(session)?;
        self.memory.store.pin(row.id, pinned)?;
        Ok(row.session)
    }

    /// Marks an evicted session to be imported again by the next sweep, and pins it. Returns its id and its source files.
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

    /// Evicts sessions until the store is within its caps; the caller holds the sweep's lock.
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

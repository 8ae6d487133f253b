//! Events of sweeps and retention in the event log.

use std::time::{Duration, Instant};

use backstory_event::TimeMs;
use serde_json::{Map, Value, json};

use crate::Memory;
use crate::error::Error;
use crate::event_log::{EventLog, EventType, LogEvent};
use crate::import::sweep::ImportReport;
use crate::upkeep::retain::{Pass, RetainReport};

/// Counts of a pass of a sweep; `None` for those that the pass does not have.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportPass {
    /// Its name.
    pub name: &'static str,
    /// Files that it looked at.
    pub files: Option<u64>,
    /// Events that it stored.
    pub events: Option<u64>,
    /// Bytes that it read.
    pub bytes: Option<u64>,
    /// Duration.
    pub seconds: f64,
}

/// Measures the passes of a sweep.
pub(crate) struct PassTimer {
    began: Instant,
    pub(crate) passes: Vec<ImportPass>,
}

impl PassTimer {
    pub(crate) fn start() -> Self {
        PassTimer {
            began: Instant::now(),
            passes: Vec::new(),
        }
    }

    /// Ends a pass and begins the next one.
    pub(crate) fn end(&mut self, name: &'static str) -> &mut ImportPass {
        let began = std::mem::replace(&mut self.began, Instant::now());
        self.passes.push(ImportPass {
            name,
            files: None,
            events: None,
            bytes: None,
            seconds: (self.began - began).as_secs_f64(),
        });
        let last = self.passes.len() - 1;
        &mut self.passes[last]
    }
}

impl Memory {
    /// Logs a sweep that began at `now`, what it parsed, and how the store was kept within its caps. One that found nothing to do is not
    /// logged: it would take a tenth longer. Nor is one without a time: whoever uses the library without a clock keeps no log.
    pub(crate) fn log_sweep(
        &self,
        swept: Result<&ImportReport, &Error>,
        now: TimeMs,
        took: Duration,
    ) {
        let at = now.plus_ms(took.as_millis() as i64);
        let done = LogEvent::new(EventType::SweepDone, at).taking(took);
        let events = match swept {
            Err(error) => vec![done.failed(Some(error.to_string()))],
            Ok(report) if did_nothing(report) => return,
            Ok(report) => {
                let mut events: Vec<LogEvent> = report
                    .scans
                    .iter()
                    .flat_map(|scan| scan.events(at))
                    .collect();
                let mut passes = report.passes.iter();
                if let Some(pass) = passes.find(|pass| pass.name == "retain") {
                    let took = Duration::try_from_secs_f64(pass.seconds).unwrap_or_default();
                    events.push(retention_event(&report.retention, at, took));
                }
                let passes: Vec<Value> = report.passes.iter().map(pass_json).collect();
                events.push(
                    done.with("files", report.ingested)
                        .with("events", report.events)
                        .with("bytes", report.bytes_read)
                        .with("seconds", seconds(took.as_secs_f64()))
                        .with("edits_at_hand", report.edits_at_hand)
                        .with("edits_read_back", report.edits_read_back)
                        .with("passes", passes),
                );
                events
            }
        };
        self.log_all(&events, now);
    }

    /// Logs that the store was kept within its caps, beginning at `now`.
    pub(crate) fn log_retention(
        &self,
        retained: Result<&RetainReport, &Error>,
        now: TimeMs,
        took: Duration,
    ) {
        let at = now.plus_ms(took.as_millis() as i64);
        let event = match retained {
            Ok(report) => retention_event(report, at, took),
            Err(error) => LogEvent::new(EventType::RetainDone, at)
                .taking(took)
                .failed(Some(error.to_string())),
        };
        self.log_all(&[event], now);
    }

    fn log_all(&self, events: &[LogEvent], now: TimeMs) {
        if now > TimeMs::ZERO {
            EventLog::of_store(&self.home).append(events);
        }
    }
}

fn did_nothing(report: &ImportReport) -> bool {
    report.ingested == 0
        && report.analyzed == 0
        && report.scans.is_empty()
        && report.retention.evictions.is_empty()
}

fn pass_json(pass: &ImportPass) -> Value {
    json!({
        "pass": pass.name,
        "files": pass.files,
        "events": pass.events,
        "bytes": pass.bytes,
        "seconds": seconds(pass.seconds),
    })
}

/// Seconds to a thousandth of a millisecond: more digits are noise.
fn seconds(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e6
}

fn retention_event(report: &RetainReport, at: TimeMs, took: Duration) -> LogEvent {
    let evicted = Pass::ALL.iter();
    let evicted: Map<String, Value> = evicted
        .map(|pass| (pass.name().to_string(), report.evicted(*pass).into()))
        .collect();
    LogEvent::new(EventType::RetainDone, at)
        .with("freed_bytes", report.freed_bytes)
        .with("final_usage_bytes", report.final_usage_bytes)
        .with("evicted", evicted)
        .with("data_loss", report.lost().next().is_some())
        .taking(took)
}

//! Writing files that were planned, several at a time.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};

use backstory_memory::{Damage, Memory, TimeMs};

use super::export_tables::TableReport;
use super::fingerprint::DAMAGED_MARK;
use super::footer::{PartContent, SessionKey};
use super::kept_rows::{DamagedEvents, copy_kept_rows};
use super::options::{TableOptions, TableProgress};
use super::part::PartWriter;
use super::plan::{PartPlan, PartTarget};
use super::schema::Table;
use super::table_files::TableFiles;
use crate::error::{Error, Result};

/// More threads would take more memory: each has a row group of every table.
const MAX_THREADS: usize = 4;

/// Number of events between two reports of progress.
const PROGRESS_EVENTS: u64 = 500;

/// Message of a writing thread.
enum Step {
    Events(u64),
    Session,
    File { rows: u64, bytes: u64 },
    Damage(Vec<Damage>),
    Failed(Error),
}

/// Writes files and adds them to the report.
pub(super) fn write_parts(
    memory: &Memory,
    mut plans: Vec<PartPlan>,
    options: &TableOptions,
    progress: &mut dyn FnMut(TableProgress),
    report: &mut TableReport,
) -> Result<()> {
    // The largest ones first, so that no thread is left alone with one in the end.
    plans.sort_by_key(|plan| std::cmp::Reverse(plan.event_count()));
    let mut state = TableProgress {
        sessions_total: plans.iter().map(|plan| plan.sessions.len() as u64).sum(),
        events_total: plans.iter().map(PartPlan::event_count).sum(),
        ..TableProgress::default()
    };
    progress(state);
    let threads = options.threads.clamp(1, MAX_THREADS).min(plans.len());
    let mut readers = Vec::new();
    for _ in 0..threads {
        readers.push(memory.open_reader()?.ok_or(Error::NoStore)?);
    }
    let queue = Queue {
        plans: &plans,
        next: AtomicUsize::new(0),
        is_stopped: AtomicBool::new(false),
    };
    let mut failed = None;
    let (steps, received) = channel();
    std::thread::scope(|scope| {
        for reader in readers {
            let (queue, steps) = (&queue, steps.clone());
            scope.spawn(move || queue.write_parts(&reader, options, &steps));
        }
        drop(steps);
        for step in received {
            match step {
                Step::Events(count) => state.events_read += count,
                Step::Session => state.sessions_written += 1,
                Step::File { rows, bytes } => {
                    report.files_written += 1;
                    report.rows_written += rows;
                    report.bytes_written += bytes;
                }
                Step::Damage(damage) => {
                    for met in damage {
                        if !report.damage.contains(&met) {
                            report.damage.push(met);
                        }
                    }
                }
                Step::Failed(error) => {
                    failed.get_or_insert(error);
                    queue.is_stopped.store(true, Ordering::Relaxed);
                }
            }
            progress(state);
        }
    });
    report.sessions_written += state.sessions_written;
    failed.map_or(Ok(()), Err)
}

struct Queue<'a> {
    plans: &'a [PartPlan],
    next: AtomicUsize,
    is_stopped: AtomicBool,
}

impl Queue<'_> {
    fn write_parts(&self, memory: &Memory, options: &TableOptions, steps: &Sender<Step>) {
        while !self.is_stopped.load(Ordering::Relaxed) {
            let Some(plan) = self.plans.get(self.next.fetch_add(1, Ordering::Relaxed)) else {
                return;
            };
            if let Err(error) = write_part(memory, plan, options, steps) {
                let _ = steps.send(Step::Failed(error));
            }
            let _ = steps.send(Step::Damage(memory.upkeep().take_damage()));
        }
    }
}

/// Writes the files of one plan; once more with text of the old ones, if that of the memory turns out to be damaged.
fn write_part(
    memory: &Memory,
    plan: &PartPlan,
    options: &TableOptions,
    steps: &Sender<Step>,
) -> Result<()> {
    // Nobody waits for the steps of an export that failed.
    let report = |step: Step| drop(steps.send(step));
    let mut files = fill_files(memory, plan, options, &DamagedEvents::new(), &report)?;
    let damaged = std::mem::take(&mut files.damaged);
    if !damaged.is_empty() && plan.targets.iter().any(|target| target.has_old_rows) {
        // A new version has the name of the one that is given up.
        drop(files);
        files = fill_files(memory, plan, options, &damaged, &|_| {})?;
    }
    // The table of sessions comes into place last: what it names is in the others.
    files
        .parts
        .sort_by_key(|(table, _)| *table == Table::Sessions);
    let mut written = plan.content.clone();
    for (key, fingerprint) in &mut written {
        if damaged.contains_key(key) {
            // Unequal to that of a whole session, so that the next export writes it again.
            fingerprint.push_str(DAMAGED_MARK);
        }
    }
    let mut starts: HashMap<SessionKey, i64> = HashMap::new();
    for row in &plan.sessions {
        let key = SessionKey::of_row(row);
        if let Some(at) = row.started_at.map(TimeMs::get)
            && key.identity(Some(at)).is_some()
        {
            starts.insert(key, at);
        }
    }
    for (table, part) in files.parts {
        let target = plan.targets.iter().find(|target| target.table == table);
        let kept = target.map_or_else(Vec::new, PartTarget::kept_content);
        let mut starts = starts.clone();
        starts.extend(target.into_iter().flat_map(PartTarget::kept_starts));
        let content = PartContent {
            table,
            is_current_layout: true,
            is_redacted: options.redactor.is_some(),
            sessions: [&written[..], &kept].concat(),
            starts,
            renamed: HashMap::new(),
        };
        let (rows, bytes) = part.finish_part(&content)?;
        report(Step::File { rows, bytes });
    }
    Ok(())
}

/// Fills the files of one plan. Rows of damaged events are copied out of the old files, where those have them.
fn fill_files(
    memory: &Memory,
    plan: &PartPlan,
    options: &TableOptions,
    damaged: &DamagedEvents,
    report: &dyn Fn(Step),
) -> Result<TableFiles> {
    let mut files = TableFiles::default();
    for target in &plan.targets {
        let mut part = PartWriter::create(&target.path, target.table)?;
        let has_damaged = target.has_old_rows && !damaged.is_empty();
        if has_damaged || !target.kept.is_empty() || !target.evicted.is_empty() {
            let copied = copy_kept_rows(target, damaged, &mut part)?;
            files.copied.calls.extend(copied.calls);
            files.copied.events.extend(copied.events);
        }
        files.parts.push((target.table, part));
    }
    for session in &plan.sessions {
        let mut events = 0;
        files.write_session(memory, session, options.now, &mut || {
            events += 1;
            if events == PROGRESS_EVENTS {
                report(Step::Events(std::mem::take(&mut events)));
            }
        })?;
        report(Step::Events(events));
        report(Step::Session);
    }
    for key in &plan.unlisted {
        files.write_usage(memory, key, None)?;
    }
    Ok(files)
}

//! One sweep: discover, read, redact, store, index, retain.

use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

use backstory_event::EventKey;
use backstory_redact::Redactor;
use backstory_store::{ContentHash, Counts, Cursor, Store, lock_file, try_lock_file};
use serde::Serialize;

use crate::Memory;
use crate::code::FileScan;
use crate::derive::{self, Consumers, Prepared};
use crate::error::Result;
use crate::import::discover::{Discovery, Found, Problem, Sources, discover, fingerprint};
use crate::import::pipeline::{ContentHasher, Done, Job, run, stored_end};
use crate::import::sweep_log::{ImportPass, PassTimer};
use crate::random::random_key;
use crate::redaction::{KEY_SETTING, redact_stored_paths, redactor_of_store};
use crate::search::IndexReport;
use crate::trusted::open_log;
use crate::upkeep::disk_bytes;
use crate::upkeep::retain::{RetainOptions, RetainReport};

/// Bytes of logs that are stored in one transaction. Much less costs commits, much more keeps other writers waiting.
const BATCH_BYTES: u64 = if cfg!(test) { 4 << 10 } else { 8 << 20 };

/// Maximum number of bytes, about, of logs of an older version that are hashed in one sweep.
const MAX_BACKFILLED_BYTES: u64 = 64 << 20;

/// From this number of bytes on, events are indexed as they are stored; of less they are read again, or searched beside the index.
const BULK_BYTES: u64 = if cfg!(test) { 8 << 10 } else { 4 << 20 };

/// Options of an import.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// Sources of logs.
    pub sources: Sources,
    /// True if secrets are redacted. Only off if the user configured it so.
    pub redact: bool,
    /// Number of threads that work on chunks.
    pub workers: usize,
    /// Retention at the end.
    pub retain: RetainOptions,
}

impl ImportOptions {
    /// Returns options for these sources, with redaction, on all cores.
    pub fn new(sources: Sources) -> Self {
        let workers = std::thread::available_parallelism().map_or(2, usize::from);
        ImportOptions {
            sources,
            redact: true,
            workers,
            retain: RetainOptions::default(),
        }
    }
}

/// Progress of an import.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that are to be read, as far as is known before.
    pub bytes_total: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Files that are to be read.
    pub files_total: u64,
    /// Files read.
    pub files_read: u64,
    /// Sessions whose edits of source files are to be read, once all is stored.
    pub sessions_to_look_at: u64,
    /// Those that were.
    pub sessions_looked_at: u64,
    /// True if another process holds the sweep's lock and this one waits.
    pub waiting: bool,
}

/// Result of an import.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ImportReport {
    /// Source files found.
    pub discovered: u64,
    /// Source files that were new or had grown, and were read.
    pub ingested: u64,
    /// Source files that had not changed.
    pub skipped_unchanged: u64,
    /// Sessions whose digest was renewed.
    pub analyzed: u64,
    /// Events stored.
    pub events: u64,
    /// Events that were known already: history that a fork or a copy replays.
    pub replayed: u64,
    /// Records that could not be read.
    pub skipped_records: u64,
    /// Secrets that were redacted.
    pub redactions: u64,
    /// Bytes of logs read.
    pub bytes_read: u64,
    /// Duration in seconds.
    pub seconds: f64,
    /// Seconds of that spent on code history.
    pub code_seconds: f64,
    /// Passes with their durations, in their order.
    #[serde(skip)]
    pub passes: Vec<ImportPass>,
    /// Events whose edits were at hand when code history was made of them.
    #[serde(skip)]
    pub edits_at_hand: u64,
    /// Events whose edits had to be read back for that.
    #[serde(skip)]
    pub edits_read_back: u64,
    /// Source files that were parsed, those of the last sessions.
    #[serde(skip)]
    pub scans: Vec<FileScan>,
    /// Result of retention, with the bytes that the store takes on disk now.
    pub retention: RetainReport,
    /// Files and folders that could not be read.
    pub problems: Vec<Problem>,
    /// Files found and read, by agent.
    #[serde(skip)]
    pub agents: Vec<(&'static str, u64, u64)>,
    /// Stored bytes that an older version read and that later sweeps will read again, for what that version did not store.
    pub backfill_bytes_left: u64,
    /// Reason why the full-text index could not be brought up to date. All is stored; search is slower.
    pub index_problem: Option<String>,
}

impl Memory {
    /// Imports everything new in the sources. Safe to stop at any instant and to run in several processes: one sweeps, the
    /// others wait for it and then find nothing to do.
    pub fn import(
        &self,
        options: &ImportOptions,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<ImportReport> {
        let started = Instant::now();
        let swept = self.import_unlogged(options, started, progress);
        self.log_sweep(swept.as_ref(), options.retain.now, started.elapsed());
        swept
    }

    fn import_unlogged(
        &self,
        options: &ImportOptions,
        started: Instant,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<ImportReport> {
        let lock = lock_file(&self.home.join("sweep.lock"), || {
            progress(Progress {
                waiting: true,
                ..Progress::default()
            });
        })?;
        self.store.repair_settings()?;
        let mut resumed = None;
        if self.store.is_unclean()? {
            // Rows of what was forgotten may be given out again, so nothing may know them any more.
            resumed = Some(self.upkeep().finish_forgetting()?);
        }
        let redactor = options.redact.then(|| self.store_redactor()).transpose()?;
        if let Some(redactor) = &redactor {
            redact_stored_paths(&self.store, redactor)?;
        }
        self.upkeep().begin_repair()?;
        let mut timer = PassTimer::start();
        let discovery = discover(
            &options.sources,
            Some(&self.store),
            &self.home,
            redactor.as_ref(),
        )?;
        timer.end("discover").files = Some(discovery.files.len() as u64);
        let taken = self.take_in(options, &discovery, redactor.as_ref(), true, progress)?;
        let TakenIn {
            mut report,
            mut under_way,
            consumers,
        } = taken;
        let mut consumers = match consumers {
            Some(consumers) => consumers,
            None => Consumers::open(&self.home, &self.store, redactor.as_ref(), false)?,
        };
        self.upkeep().update_unread_logs(
            &options.sources,
            &discovery,
            redactor.as_ref(),
            &report.problems,
            options.retain.now,
        )?;
        self.backfill_content_hashes(&discovery)?;
        report.count_import(timer.end("import"));
        self.store.finish_rereading()?;
        // Also when nothing was new: the sweep before may have been stopped right here.
        self.store.settle_titles()?;
        report.analyzed = consumers.finish_notes(&self.store)?;
        report.backfill_bytes_left = self.backfill()?;
        timer.end("digest");
        let mut looked_at = |step: derive::Progress| {
            if let derive::Progress::Sessions(done, total) = step {
                under_way.sessions_to_look_at = total as u64;
                under_way.sessions_looked_at = done as u64;
                progress(under_way);
            }
        };
        if self.store.is_unclean()? {
            // What was derived from halves of a secret is made anew before the database is written anew.
            consumers.finish_code(&self.store, &mut looked_at)?;
        }
        // Before code history, which takes longer: whoever searches meanwhile finds everything in the index.
        let indexed = match consumers.fulltext.take() {
            // A secret that was completed now was stored, and maybe indexed, by halves before.
            index if self.store.is_unclean()? => {
                drop(index);
                self.upkeep().clean_up(None).map(|_| IndexReport::default())
            }
            Some(index) => index.finish(&self.store, false, &mut |_| {}),
            None => self.search().refresh_index(false, &mut |_, _| {}),
        };
        if let Some(resumed) = resumed {
            let unclean = self.store.is_unclean()?;
            let problems = resumed.into_problems(&self.home, unclean);
            report.problems.extend(problems);
        }
        report.index_problem = indexed.err().map(|error| error.to_string());
        timer.end("index");
        consumers.finish_code(&self.store, &mut looked_at)?;
        let scans = std::mem::take(&mut consumers.code.consumer.scans);
        let pass = timer.end("code");
        pass.files = Some(scans.total());
        report.code_seconds = pass.seconds;
        report.scans = scans.named_scans(&self.store)?;
        (report.edits_at_hand, report.edits_read_back) = consumers.code.consumer.edit_counts;
        self.store.update_checksums()?;
        self.store.tidy()?;
        timer.end("checksums");
        report.retention = self.upkeep().keep_within(&options.retain)?;
        // What was evicted just now is the only copy from here on.
        self.store.sum_own_changes()?;
        timer.end("retain");
        drop(lock);
        report.passes = timer.passes;
        report.seconds = started.elapsed().as_secs_f64();
        Ok(report)
    }

    /// Imports what is new in these sources if it is at most this number of bytes and no other process sweeps; returns whether it
    /// did. Derived data is left to the next sweep.
    pub fn import_little(&self, options: &ImportOptions, most_bytes: u64) -> Result<bool> {
        let started = Instant::now();
        let Some(_lock) = try_lock_file(&self.home.join("sweep.lock"))? else {
            return Ok(false);
        };
        if self.store.is_unclean()? {
            return Ok(false);
        }
        self.store.install_triggers()?;
        let redactor = options.redact.then(|| self.store_redactor()).transpose()?;
        let mut timer = PassTimer::start();
        let discovery = discover(
            &options.sources,
            Some(&self.store),
            &self.home,
            redactor.as_ref(),
        )?;
        timer.end("discover").files = Some(discovery.files.len() as u64);
        let sizes = discovery.files.iter().filter(|found| !found.unchanged);
        let mut bytes = 0;
        for found in sizes {
            let cursor = self.store.cursor(&found.key)?;
            bytes += remaining(found, cursor.as_ref());
            if let Some(known) = cursor.filter(|known| has_other_size(found, known))
                && let Some(backfill) = self.store.backfill_of_stream(known.stream)?
            {
                bytes += backfill.length.saturating_sub(backfill.offset);
            }
        }
        if bytes > most_bytes {
            return Ok(false);
        }
        let mut taken = self.take_in(options, &discovery, redactor.as_ref(), false, &mut |_| {})?;
        let (sources, problems) = (&options.sources, &taken.report.problems);
        self.upkeep().update_unread_logs(
            sources,
            &discovery,
            redactor.as_ref(),
            problems,
            options.retain.now,
        )?;
        taken.report.count_import(timer.end("import"));
        taken.report.passes = timer.passes;
        self.log_sweep(Ok(&taken.report), options.retain.now, started.elapsed());
        Ok(true)
    }

    /// Like a sweep, but nothing is derived from what is stored.
    pub(crate) fn import_only(
        &self,
        options: &ImportOptions,
        discovery: &Discovery,
        redactor: Option<&Redactor>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<ImportReport> {
        let taken = self.take_in(options, discovery, redactor, false, progress)?;
        Ok(taken.report)
    }

    /// Reads, redacts and stores all that was discovered, and if it is wanted begins to derive from it.
    fn take_in<'r>(
        &self,
        options: &ImportOptions,
        discovery: &Discovery,
        redactor: Option<&'r Redactor>,
        derives: bool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<TakenIn<'r>> {
        let mut jobs = Vec::new();
        let changed: Vec<&Found> = discovery
            .files
            .iter()
            .filter(|found| !found.unchanged)
            .collect();
        for found in changed.iter().copied() {
            let mut cursor = self.store.cursor(&found.key)?;
            if let Some(known) = &cursor
                && has_other_size(found, known)
                && self.backfill_stream(known.stream)?
            {
                cursor = self.store.cursor(&found.key)?;
            }
            let stored_end = cursor
                .as_ref()
                .filter(|_| options.redact)
                .and_then(|cursor| stored_end(&self.store, found, cursor, changed.len()));
            jobs.push(Job {
                found,
                cursor,
                stored_end,
            });
        }
        if redactor.is_none() && !jobs.is_empty() {
            self.mark_unredacted()?;
        }
        let mut report = ImportReport::begin(discovery);
        let bytes_total = jobs
            .iter()
            .map(|job| remaining(job.found, job.cursor.as_ref()))
            .sum();
        let bulk = bytes_total >= BULK_BYTES;
        let consumers = match derives {
            true => Some(Consumers::open(&self.home, &self.store, redactor, bulk)?),
            false => None,
        };
        let mut writer = Writer {
            store: &self.store,
            consumers,
            pending: Vec::new(),
            prepared: HashMap::new(),
            bytes: 0,
            counts: Counts::default(),
        };
        let mut under_way = Progress {
            files_total: jobs.len() as u64,
            ..Progress::default()
        };
        under_way.bytes_total = bytes_total;
        let problems = run(&jobs, redactor, options.workers.max(1), derives, |done| {
            report.count(&done);
            under_way.bytes_read = report.bytes_read;
            under_way.files_read = report.ingested;
            progress(under_way);
            writer.take(done)
        })?;
        writer.commit()?;
        report.take(&writer.counts);
        let consumers = writer.consumers;
        report.problems.extend(problems);
        Ok(TakenIn {
            report,
            under_way,
            consumers,
        })
    }

    /// Hashes files that an older version read and that look as they did then, a few in each sweep.
    fn backfill_content_hashes(&self, discovery: &Discovery) -> Result<()> {
        let unhashed = self.store.sources_without_hash()?;
        if unhashed.is_empty() {
            return Ok(());
        }
        let mut bytes = 0;
        // Compressed files are compared as a whole anyway.
        let is_plain = |found: &&Found| found.path.as_os_str() == found.key.as_str();
        let unchanged = discovery.files.iter().filter(|found| found.unchanged);
        for found in unchanged.filter(is_plain) {
            let Some(length) = unhashed.get(&found.key) else {
                continue;
            };
            if bytes >= MAX_BACKFILLED_BYTES {
                break;
            }
            bytes += length;
            // One that cannot be read or was changed meanwhile is looked at again by the next sweep.
            if let Ok(Some(hash)) = hash_unchanged(found, *length) {
                let fingerprint = &found.fingerprint;
                self.store
                    .save_content_hash(&found.key, &hash, fingerprint)?;
            }
        }
        Ok(())
    }

    pub(crate) fn redaction_key(&self) -> Result<[u8; 32]> {
        let value = self.store.setting(KEY_SETTING, || random_key().to_vec())?;
        Ok(*blake3::hash(&value).as_bytes())
    }
}

/// Reads all that is new without storing anything; nothing at all is written, not even a folder.
pub fn dry_import(home: &Path, options: &ImportOptions) -> Result<ImportReport> {
    let started = Instant::now();
    let store = Store::open_untouched(home)?;
    let redactor = if options.redact {
        Some(redactor_of_store(store.as_ref())?)
    } else {
        None
    };
    let discovery = discover(&options.sources, store.as_ref(), home, redactor.as_ref())?;
    let mut jobs = Vec::new();
    for found in discovery.files.iter().filter(|found| !found.unchanged) {
        let cursor = store
            .as_ref()
            .map(|store| store.cursor(&found.key))
            .transpose()?
            .flatten();
        jobs.push(Job {
            found,
            cursor,
            stored_end: None,
        });
    }
    let mut report = ImportReport::begin(&discovery);
    let workers = options.workers.max(1);
    let problems = run(&jobs, redactor.as_ref(), workers, false, |done| {
        report.count(&done);
        report.events += done.chunk.output.events.len() as u64;
        report.skipped_records += done.chunk.output.skipped.len() as u64;
        Ok(())
    })?;
    report.problems.extend(problems);
    report.retention.final_usage_bytes = disk_bytes(home);
    report.seconds = started.elapsed().as_secs_f64();
    Ok(report)
}

/// Bytes of a file that are to be read, as far as its size tells: those behind the cursor, and all of a file that did not grow,
/// for it is compared with what was read before.
fn remaining(found: &Found, cursor: Option<&Cursor>) -> u64 {
    let size = found.fingerprint.size;
    match cursor {
        Some(cursor) if size > cursor.fingerprint.size => size.saturating_sub(cursor.offset),
        _ => size,
    }
}

/// Returns whether a file grew, or was replaced, since it was read.
fn has_other_size(found: &Found, cursor: &Cursor) -> bool {
    found.fingerprint.size != cursor.fingerprint.size
}

/// Hashes the first bytes of a file; `None` when it is not as it was found.
fn hash_unchanged(found: &Found, length: u64) -> std::io::Result<Option<ContentHash>> {
    let mut file = open_log(&found.path, found.origin)?;
    if fingerprint(&file.metadata()?) != found.fingerprint {
        return Ok(None);
    }
    let hasher = ContentHasher::of_file(&mut file, length)?;
    let is_unchanged = fingerprint(&file.metadata()?) == found.fingerprint;
    Ok(hasher.filter(|_| is_unchanged).map(|hasher| hasher.value()))
}

/// Result of storing chunks, and the consumers that follow.
struct TakenIn<'r> {
    report: ImportReport,
    under_way: Progress,
    /// `None` when nothing is made of it.
    consumers: Option<Consumers<'r>>,
}

/// Gathers chunks and stores many in one transaction.
struct Writer<'s, 'a, 'r> {
    store: &'s Store,
    /// `None` when nothing is made of what is stored.
    consumers: Option<Consumers<'r>>,
    pending: Vec<backstory_store::Chunk<'a>>,
    /// Events to be stored, as consumers prepared them.
    prepared: HashMap<EventKey, Prepared>,
    bytes: u64,
    counts: Counts,
}

impl<'a> Writer<'_, 'a, '_> {
    fn take(&mut self, done: Done<'a>) -> Result<()> {
        self.bytes += done.bytes_read;
        self.pending.push(done.chunk);
        for (key, prepared) in done.prepared {
            // Of several copies of an event the first one is stored.
            self.prepared.entry(key).or_insert(prepared);
        }
        if self.bytes >= BATCH_BYTES {
            self.commit()
        } else {
            Ok(())
        }
    }

    fn commit(&mut self) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let mut batch = self.store.batch()?;
        for chunk in self.pending.drain(..) {
            batch.take(chunk)?;
        }
        let taken = batch.commit()?;
        let prepared = std::mem::take(&mut self.prepared);
        if let Some(consumers) = &mut self.consumers {
            consumers.feed(self.store, &taken, prepared)?;
        }
        let counts = taken.counts;
        self.bytes = 0;
        self.counts.events += counts.events;
        self.counts.replayed += counts.replayed;
        self.counts.skipped += counts.skipped;
        Ok(())
    }
}

impl ImportReport {
    fn begin(discovery: &Discovery) -> Self {
        let mut report = ImportReport {
            problems: discovery.problems.clone(),
            ..ImportReport::default()
        };
        report.discovered = discovery.files.len() as u64;
        report.skipped_unchanged = discovery
            .files
            .iter()
            .filter(|found| found.unchanged)
            .count() as u64;
        report
    }

    fn count(&mut self, done: &Done<'_>) {
        self.bytes_read += done.bytes_read;
        self.redactions += done.chunk.redactions as u64;
        let agent = done.found.agent();
        let position = self.agents.iter().position(|(known, ..)| *known == agent);
        let position = position.unwrap_or_else(|| {
            self.agents.push((agent, 0, 0));
            self.agents.len() - 1
        });
        self.agents[position].2 += done.bytes_read;
        if done.last {
            self.ingested += 1;
            self.agents[position].1 += 1;
        }
    }

    fn count_import(&self, pass: &mut ImportPass) {
        pass.files = Some(self.ingested);
        pass.events = Some(self.events);
        pass.bytes = Some(self.bytes_read);
    }

    fn take(&mut self, counts: &Counts) {
        self.events = counts.events;
        self.replayed = counts.replayed;
        self.skipped_records = counts.skipped;
    }
}

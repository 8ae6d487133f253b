//! Adding vectors to a set and taking them out.

use backstory_event::{Seq, SessionId};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::layout::{Entry, Model};
use super::manifest::{self, Manifest};
use super::scan::BLOCK_ROWS;
use super::segment::Segment;
use super::shape::Shape;
use super::write::SegmentWriter;
use super::{Result, VectorError, VectorKey, on};

/// As much is gathered in memory before it goes to a segment.
const PENDING_BYTES: usize = 16 << 20;

/// Segments with fewer rows than this are always put together: writing so many takes a few milliseconds.
const SMALL_ROWS: u64 = 4096;

/// Writes to a set of vectors. There must be only one at a time for a folder; nothing of what it does counts before [`commit`].
///
/// [`commit`]: VectorWriter::commit
#[derive(Debug)]
pub struct VectorWriter {
    folder: PathBuf,
    shape: Shape,
    /// The set as it is, and what it will be.
    before: Manifest,
    after: Manifest,
    pending: Pending,
    /// Sessions to be taken out, each of so many segments: it may have been added again after it was taken out.
    removed: HashMap<SessionId, usize>,
}

/// Rows that no segment holds yet.
#[derive(Debug, Default)]
struct Pending {
    keys: Vec<VectorKey>,
    codes: Vec<u8>,
    rows: Vec<u8>,
}

impl VectorWriter {
    /// Opens a folder to write to it, making it as needed, and removes what a writer that died has left there.
    pub fn open(folder: &Path, model: &[u8; 32], dimensions: usize) -> Result<Self> {
        let Some(shape) = Shape::new(dimensions) else {
            return Err(VectorError::Unsupported { found: dimensions });
        };
        let model = Model {
            id: *model,
            dimensions: dimensions as u32,
        };
        make_private_folder(folder)?;
        let manifest = match Manifest::read_for(folder, &model)? {
            Some(manifest) => manifest,
            None => {
                let manifest = Manifest {
                    model,
                    next: 1,
                    entries: Vec::new(),
                };
                // Before the first segment, so that a lost manifest can be told from one that never was.
                manifest.write(folder)?;
                manifest
            }
        };
        remove_unnamed(folder, &manifest)?;
        Ok(VectorWriter {
            folder: folder.to_path_buf(),
            shape,
            before: manifest.clone(),
            after: manifest,
            pending: Pending::default(),
            removed: HashMap::new(),
        })
    }

    /// Opens a folder of whatever model to take vectors out; `None` when it holds none.
    pub fn open_existing(folder: &Path) -> Result<Option<Self>> {
        match Manifest::read(folder)? {
            Some(Manifest { model, .. }) => {
                Self::open(folder, &model.id, model.dimensions as usize).map(Some)
            }
            None => Ok(None),
        }
    }

    /// Adds vectors: for each key as many numbers as the model has dimensions. A vector that points nowhere is kept but never found.
    pub fn append(&mut self, keys: &[VectorKey], rows: &[f32]) -> Result<()> {
        let dimensions = self.shape.dimensions();
        let expected = keys.len() * dimensions;
        let found = rows.len();
        if found != expected {
            return Err(VectorError::Dimensions { expected, found });
        }
        for (key, row) in keys.iter().zip(rows.chunks_exact(dimensions)) {
            let pending = &mut self.pending;
            pending.keys.push(*key);
            self.shape
                .encode(row, &mut pending.codes, &mut pending.rows);
            if pending.codes.len() + pending.rows.len() >= PENDING_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// The sessions that have vectors.
    pub fn sessions(&self) -> Result<BTreeSet<SessionId>> {
        let mut sessions = BTreeSet::new();
        for entry in &self.after.entries {
            let segment =
                Segment::open(&self.folder, &self.after.model, &self.shape, entry, false)?;
            sessions.extend((0..segment.rows()).map(|row| segment.key(row).session));
        }
        Ok(sessions)
    }

    /// Returns the last event of each session that has vectors.
    pub fn last_events(&self) -> Result<HashMap<SessionId, Seq>> {
        let mut last = HashMap::new();
        for entry in &self.after.entries {
            let segment =
                Segment::open(&self.folder, &self.after.model, &self.shape, entry, false)?;
            for key in (0..segment.rows()).map(|row| segment.key(row)) {
                let seq = last.entry(key.session).or_insert(key.seq);
                *seq = key.seq.max(*seq);
            }
        }
        Ok(last)
    }

    /// Takes out everything of a session that was added so far.
    pub fn remove_session(&mut self, session: SessionId) {
        self.pending.remove(&self.shape, session);
        self.removed.insert(session, self.after.entries.len());
    }

    /// Makes the changes count, all at once.
    pub fn commit(mut self) -> Result<()> {
        self.flush()?;
        let groups = groups(&self.after.entries);
        let old = std::mem::take(&mut self.after.entries);
        for group in groups {
            let kept = self.rewrite(&old, group)?;
            self.after.entries.extend(kept);
        }
        if self.after == self.before {
            return Ok(());
        }
        self.after.write(&self.folder)?;
        remove_unnamed(&self.folder, &self.after)
    }

    /// Writes pending rows to a segment.
    pub(super) fn flush(&mut self) -> Result<()> {
        let pending = std::mem::take(&mut self.pending);
        if pending.keys.is_empty() {
            return Ok(());
        }
        let mut segment = self.next_segment(pending.keys.len())?;
        let codes = pending.codes.chunks_exact(self.shape.code_bytes());
        let rows = pending.rows.chunks_exact(self.shape.row_bytes());
        for ((key, code), row) in pending.keys.iter().zip(codes).zip(rows) {
            segment.push(*key, code.iter().copied(), row)?;
        }
        self.after.entries.push(segment.finish(&self.after.model)?);
        Ok(())
    }

    fn next_segment(&mut self, rows: usize) -> Result<SegmentWriter> {
        let number = self.after.next;
        self.after.next += 1;
        SegmentWriter::create(&self.folder, &self.shape, number, rows)
    }

    /// Makes one segment of a group, without the sessions that were taken out; gives the group back if it can stay as it is.
    fn rewrite(&mut self, entries: &[Entry], group: Range<usize>) -> Result<Vec<Entry>> {
        let same = entries[group.clone()].to_vec();
        let concerned = self
            .removed
            .values()
            .any(|segments| *segments > group.start);
        if same.len() == 1 && !concerned {
            return Ok(same);
        }
        let mut segments = Vec::new();
        let mut kept = Vec::new();
        for at in group {
            let model = &self.after.model;
            let segment = Segment::open(&self.folder, model, &self.shape, &entries[at], false)?;
            let stays = |row: &usize| {
                let removed = self.removed.get(&segment.key(*row).session);
                removed.is_none_or(|segments| at >= *segments)
            };
            kept.push((0..segment.rows()).filter(stays).collect::<Vec<_>>());
            segments.push(segment);
        }
        let total = kept.iter().map(Vec::len).sum();
        if same.len() == 1 && total == segments[0].rows() {
            return Ok(same);
        }
        if total == 0 {
            return Ok(Vec::new());
        }
        let mut merged = self.next_segment(total)?;
        let mut buffer = Vec::new();
        for (segment, rows) in segments.iter().zip(kept) {
            for row in rows {
                let code = code(&self.shape, segment, row);
                // Checked when read: damage must not be given a new checksum.
                merged.push(segment.key(row), code, segment.row(row, &mut buffer)?)?;
            }
        }
        Ok(vec![merged.finish(&self.after.model)?])
    }
}

impl Pending {
    fn remove(&mut self, shape: &Shape, session: SessionId) {
        let stays: Vec<bool> = self.keys.iter().map(|key| key.session != session).collect();
        if stays.iter().all(|stays| *stays) {
            return;
        }
        let mut row = stays.iter();
        self.keys.retain(|_| row.next().copied().unwrap_or(true));
        for (bytes, length) in [
            (&mut self.codes, shape.code_bytes()),
            (&mut self.rows, shape.row_bytes()),
        ] {
            let kept = bytes.chunks_exact(length).zip(&stays);
            *bytes = kept
                .filter(|(_, stays)| **stays)
                .flat_map(|(row, _)| row)
                .copied()
                .collect();
        }
    }
}

/// The bytes of a row's code, which lie apart in its block.
fn code<'a>(shape: &Shape, segment: &'a Segment, row: usize) -> impl Iterator<Item = u8> + 'a {
    let block_bytes = BLOCK_ROWS * shape.code_bytes();
    let start = row / BLOCK_ROWS * block_bytes;
    let block = &segment.codes()[start..start + block_bytes];
    block
        .iter()
        .skip(row % BLOCK_ROWS)
        .step_by(BLOCK_ROWS)
        .copied()
}

/// Which neighbouring segments to put together, so that each is more than twice as large as the next. Then there are never many, and a
/// row is written again only as often as the set doubles. Rows keep their order, and with it all answers stay the same.
fn groups(entries: &[Entry]) -> Vec<Range<usize>> {
    let mut groups: Vec<(Range<usize>, u64)> = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        let mut range = at..at + 1;
        let mut rows = entry.rows;
        while let Some((before, before_rows)) = groups.last() {
            if *before_rows > rows.saturating_mul(2).max(SMALL_ROWS) {
                break;
            }
            range.start = before.start;
            rows = rows.saturating_add(*before_rows);
            groups.pop();
        }
        groups.push((range, rows));
    }
    groups.into_iter().map(|(range, _)| range).collect()
}

/// Removes what a manifest does not name: segments that were replaced, or that a writer left when it died.
fn remove_unnamed(folder: &Path, manifest: &Manifest) -> Result<()> {
    let named: Vec<PathBuf> = manifest
        .entries
        .iter()
        .map(|entry| entry.path(folder))
        .collect();
    let mut unnamed = manifest::segments(folder)?;
    unnamed.retain(|path| !named.contains(path));
    unnamed.push(Manifest::temporary(folder));
    for path in unnamed {
        // Where a file that a reader has open cannot be removed, a later writer will do it.
        let _ = std::fs::remove_file(&path);
    }
    Ok(())
}

fn make_private_folder(folder: &Path) -> Result<()> {
    crate::private::make_private_folder(folder, |_| true).map_err(on(folder))
}

//! Opening a set of vectors and searching it.

use std::collections::HashSet;
use std::path::Path;

use super::layout::Model;
use super::manifest::Manifest;
use super::scan::{BLOCK_ROWS, Kernel, Table};
use super::segment::Segment;
use super::select::Selection;
use super::shape::{RowQuery, Shape};
use super::{Result, VectorError, VectorKey, damaged};

/// How many blocks are scored before the best of them are picked out.
const BATCH_BLOCKS: usize = 16;

/// So many candidates are compared before asking whether more are worth it.
const COMPARED_ROWS: usize = 500;

/// Rows of a set that needs no more than this are mapped.
const MAPPED_ROWS_BYTES: usize = 48 << 20;

/// How often opening is tried while a writer keeps replacing what is to be opened.
const ATTEMPTS: usize = 100;

/// A set of vectors of one model, opened and checked. It stays what it was when opened, whatever is written later.
#[derive(Debug)]
pub struct Vectors {
    shape: Shape,
    segments: Vec<Segment>,
    rows: usize,
}

impl Vectors {
    /// Opens the vectors in a folder. A folder that is missing or empty is an empty set.
    pub fn open(folder: &Path, model: &[u8; 32], dimensions: usize) -> Result<Self> {
        Self::open_mapping(folder, model, dimensions, MAPPED_ROWS_BYTES)
    }

    /// Opens a set and maps its rows if they take no more than `most_mapped` bytes.
    pub(super) fn open_mapping(
        folder: &Path,
        model: &[u8; 32],
        dimensions: usize,
        most_mapped: usize,
    ) -> Result<Self> {
        let Some(shape) = Shape::new(dimensions) else {
            return Err(VectorError::Unsupported { found: dimensions });
        };
        let model = Model {
            id: *model,
            dimensions: dimensions as u32,
        };
        let mut manifest = Manifest::read_for(folder, &model)?;
        let mut attempt = 1;
        loop {
            match open_segments(folder, &shape, manifest.as_ref(), most_mapped) {
                Ok((segments, rows)) => {
                    return Ok(Vectors {
                        shape,
                        segments,
                        rows,
                    });
                }
                Err(error) => {
                    // A writer may have removed a segment after the manifest was read.
                    let newer = Manifest::read_for(folder, &model)?;
                    if newer == manifest || attempt == ATTEMPTS {
                        return Err(error);
                    }
                    manifest = newer;
                    attempt += 1;
                }
            }
        }
    }

    /// How many vectors there are.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Compares every row with its checksum; keys and codes were compared when the set was opened.
    pub fn verify(&self) -> Result<()> {
        let mut buffer = Vec::new();
        for segment in &self.segments {
            for at in 0..segment.rows() {
                segment.row(at, &mut buffer)?;
            }
        }
        Ok(())
    }

    /// What the vectors stand for, in the order in which they were added.
    pub fn keys(&self) -> impl Iterator<Item = VectorKey> + '_ {
        let keys = self.segments.iter().flat_map(Segment::keys);
        keys.map(VectorKey::from_bytes)
    }

    /// Calls `each` with every vector, in the order in which they were added: of length one, rounded to twelve bits a value.
    pub fn visit(&self, mut each: impl FnMut(VectorKey, Vec<f32>)) -> Result<()> {
        let mut buffer = Vec::new();
        for segment in &self.segments {
            for at in 0..segment.rows() {
                if let Some(vector) = self.shape.decode(segment.row(at, &mut buffer)?) {
                    each(segment.key(at), vector);
                }
            }
        }
        Ok(())
    }

    /// The events nearest to a query and their cosines, best first. Only vectors whose key is `allowed` count; it may be asked in any
    /// order, and not for every key. Each event is given once, with its best piece.
    pub fn search(
        &self,
        query: &[f32],
        count: usize,
        allowed: impl FnMut(VectorKey) -> bool,
    ) -> Result<Vec<(VectorKey, f32)>> {
        let expected = self.shape.dimensions();
        let found = query.len();
        if found != expected {
            return Err(VectorError::Dimensions { expected, found });
        }
        let Some(query) = self.shape.direction(query) else {
            return Ok(Vec::new());
        };
        if count == 0 {
            return Ok(Vec::new());
        }
        let candidates = self.scan(&query, candidates(count, self.rows), allowed);
        let mut best: Vec<(VectorKey, f32)> = Vec::new();
        for rows in candidates.chunks(count.max(COMPARED_ROWS)) {
            let least = best.get(count - 1).map(|(_, cosine)| *cosine);
            let mut scored = self.compare(&query, rows)?;
            scored.retain(|(_, cosine)| least.is_none_or(|least| *cosine >= least));
            let added = scored.len();
            best.extend(scored);
            keep_best(&mut best, count);
            // Those that follow have still lower scores. Of the 10,000 candidates for 500 of 100,000 real vectors 4,600 are compared.
            if added <= count / 200 {
                break;
            }
        }
        Ok(best)
    }

    #[cfg(test)]
    pub(super) fn nearest_by_code(&self, query: &[f32], limit: usize) -> Vec<u32> {
        let query = self.shape.direction(query);
        query.map_or(Vec::new(), |query| self.scan(&query, limit, |_| true))
    }

    /// The rows that may be the nearest, by their codes, the best first.
    fn scan(
        &self,
        query: &[f32],
        limit: usize,
        mut allowed: impl FnMut(VectorKey) -> bool,
    ) -> Vec<u32> {
        let table = Table::new(&self.shape, query);
        let kernel = Kernel::best();
        let mut selection = Selection::new(limit, table.most());
        let mut scores = [[0; BLOCK_ROWS]; BATCH_BLOCKS];
        let batch_bytes = BATCH_BLOCKS * BLOCK_ROWS * self.shape.code_bytes();
        let mut first = 0;
        for segment in &self.segments {
            let mut row = 0;
            for batch in segment.codes().chunks(batch_bytes) {
                let mut reached = [0; BATCH_BLOCKS];
                kernel.score(&table, batch, selection.floor(), &mut scores, &mut reached);
                for (scores, mut reached) in scores.iter().zip(reached) {
                    while reached != 0 {
                        let at = reached.trailing_zeros() as usize;
                        reached &= reached - 1;
                        // The last block is filled up with rows that are none.
                        if row + at < segment.rows()
                            && scores[at] >= selection.floor()
                            && allowed(segment.key(row + at))
                        {
                            selection.offer((first + row + at) as u32, scores[at]);
                        }
                    }
                    row += BLOCK_ROWS;
                }
            }
            first += segment.rows();
        }
        selection.finish()
    }

    /// The cosines of rows.
    fn compare(&self, query: &[f32], rows: &[u32]) -> Result<Vec<(VectorKey, f32)>> {
        let mut rows = rows.to_vec();
        rows.sort_unstable();
        let query = RowQuery::new(&self.shape, query);
        let mut buffer = Vec::new();
        let mut scored = Vec::with_capacity(rows.len());
        let mut rows = rows.iter().map(|row| *row as usize).peekable();
        let mut first = 0;
        for segment in &self.segments {
            let end = first + segment.rows();
            while let Some(row) = rows.next_if(|row| *row < end) {
                let values = segment.row(row - first, &mut buffer)?;
                if let Some(cosine) = query.cosine(&self.shape, values) {
                    scored.push((segment.key(row - first), cosine.clamp(-1.0, 1.0)));
                }
            }
            first = end;
        }
        Ok(scored)
    }
}

/// How many rows may be compared by more than their code. In a larger set more come close: on real vectors of 256 dimensions .995 of the
/// right ten of 100,000 are among the best 500, of 1,000,000 .999 among the best 2,000.
fn candidates(count: usize, rows: usize) -> usize {
    count.saturating_mul(20).max(500).max(rows / 512)
}

/// Sorts by cosine, keeps each event once and no more than `count`.
fn keep_best(scored: &mut Vec<(VectorKey, f32)>, count: usize) {
    scored.sort_unstable_by(|(left_key, left), (right_key, right)| {
        right.total_cmp(left).then(left_key.cmp(right_key))
    });
    let mut seen = HashSet::new();
    scored.retain(|(key, _)| seen.len() < count && seen.insert((key.session, key.seq)));
}

fn open_segments(
    folder: &Path,
    shape: &Shape,
    manifest: Option<&Manifest>,
    most_mapped: usize,
) -> Result<(Vec<Segment>, usize)> {
    let Some(manifest) = manifest else {
        return Ok((Vec::new(), 0));
    };
    let sum = |sum: u64, rows: u64| sum.checked_add(rows);
    let rows = manifest
        .entries
        .iter()
        .map(|entry| entry.rows)
        .try_fold(0, sum);
    // Rows are counted in 32 bits while searching.
    let Some(rows) = rows.filter(|rows| *rows <= u64::from(u32::MAX)) else {
        return Err(damaged(&Manifest::path(folder), "it names too many rows"));
    };
    let rows = rows as usize;
    let map_rows = rows.saturating_mul(shape.row_bytes()) <= most_mapped;
    let open = |entry| Segment::open(folder, &manifest.model, shape, entry, map_rows);
    let segments = manifest.entries.iter().map(open).collect::<Result<_>>()?;
    Ok((segments, rows))
}

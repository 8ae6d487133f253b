//! How fast vectors are opened, searched and added to, on generated ones that are the same everywhere.
//!
//! `cargo bench -p backstory-store --bench vectors -- --quick` takes about a minute. Before criterion's figures it prints, for each size,
//! how long a search takes beside one that only reads the codes, and how many of the right ten it finds.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    missing_docs,
    reason = "a benchmark that cannot go on must stop, and tells what it measured; criterion makes functions without docs"
)]

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use backstory_store::{VectorKey, VectorWriter, Vectors};
use criterion::{BatchSize, Criterion};
use tempfile::TempDir;

const MODEL: [u8; 32] = [1; 32];
const DIMENSIONS: usize = 256;
const SIZES: [usize; 2] = [100_000, 1_000_000];
const SESSION_ROWS: usize = 100;
const QUERIES: usize = 100;

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(20)
        .measurement_time(Duration::from_secs(3))
        .configure_from_args();
    for size in SIZES {
        let folder = TempDir::new().expect("a folder");
        let mut clusters = Clusters::new();
        fill(folder.path(), size, &mut clusters);
        let queries: Vec<Vec<f32>> = (0..QUERIES).map(|_| clusters.vector()).collect();
        summary(folder.path(), size, &queries);
        search(&mut criterion, folder.path(), size, &queries);
        write(&mut criterion, folder.path(), size, &mut clusters);
    }
    criterion.final_summary();
}

fn open(folder: &Path) -> Vectors {
    Vectors::open(folder, &MODEL, DIMENSIONS).expect("a sound set")
}

fn writer(folder: &Path) -> VectorWriter {
    VectorWriter::open(folder, &MODEL, DIMENSIONS).expect("a sound set")
}

fn key(row: usize) -> VectorKey {
    VectorKey {
        session: ((row / SESSION_ROWS) as u32).into(),
        seq: ((row % SESSION_ROWS) as u32).into(),
        chunk: 0,
    }
}

fn fill(folder: &Path, size: usize, clusters: &mut Clusters) {
    let mut writer = writer(folder);
    for row in 0..size {
        writer
            .append(&[key(row)], &clusters.vector())
            .expect("room");
    }
    writer.commit().expect("room");
}

/// Prints the quickest and the median search beside the quickest reading of as many bytes as the codes have, and the recall.
fn summary(folder: &Path, size: usize, queries: &[Vec<f32>]) {
    let code_bytes = size * DIMENSIONS / 8;
    let codes: Vec<u8> = (0..code_bytes).map(|at| ((at * 31) >> 3) as u8).collect();
    let (opening, vectors) = timed(|| open(folder));
    let (mut reads, mut searches) = (Vec::new(), Vec::new());
    for query in queries.iter().cycle().take(5 * QUERIES) {
        // In turns, so that both meet the same machine.
        reads.push(timed(|| read(&codes)).0);
        searches.push(timed(|| vectors.search(query, 10, |_| true).expect("sound")).0);
    }
    reads.sort_unstable();
    searches.sort_unstable();
    let [read, search] = [&reads, &searches].map(|times| (times[0], times[times.len() / 2]));
    println!(
        "{size} × {DIMENSIONS}: opened in {opening:.1?}; search {:.1?} at best, {:.1?} in the median; reading the {:.1} MB of codes {:.1?} and {:.1?} \
         ({:.1} GB/s); ratio {:.2} and {:.2}; recall@10 {:.4}",
        search.0,
        search.1,
        code_bytes as f64 / 1e6,
        read.0,
        read.1,
        code_bytes as f64 / read.0.as_secs_f64() / 1e9,
        search.0.as_secs_f64() / read.0.as_secs_f64(),
        search.1.as_secs_f64() / read.1.as_secs_f64(),
        recall(&vectors, size, queries),
    );
}

fn timed<T>(run: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let result = black_box(run());
    (start.elapsed(), result)
}

fn read(bytes: &[u8]) -> u64 {
    let words = bytes.as_chunks().0.iter();
    words.fold(0, |sum: u64, word| {
        sum.wrapping_add(u64::from_le_bytes(*word))
    })
}

/// Makes all vectors once more and compares each with every query.
fn recall(vectors: &Vectors, size: usize, queries: &[Vec<f32>]) -> f64 {
    let mut clusters = Clusters::new();
    let mut best: Vec<Vec<(f32, VectorKey)>> = vec![Vec::new(); queries.len()];
    for row in 0..size {
        let vector = clusters.vector();
        for (query, best) in queries.iter().zip(&mut best).step_by(2) {
            let cosine = dot(query, &vector) / dot(&vector, &vector).sqrt();
            if best.len() < 10 || best[9].0 < cosine {
                let at = best.partition_point(|(other, _)| *other >= cosine);
                best.insert(at, (cosine, key(row)));
                best.truncate(10);
            }
        }
    }
    let (mut right, mut all) = (0, 0);
    for (query, best) in queries.iter().zip(&best).step_by(2) {
        let found = vectors.search(query, 10, |_| true).expect("sound");
        all += best.len();
        right += best
            .iter()
            .filter(|(_, key)| found.iter().any(|(other, _)| other == key))
            .count();
    }
    right as f64 / all as f64
}

fn dot(left: &[f32], right: &[f32]) -> f32 {
    let mut sums = [0.0; 8];
    let (left, right) = (left.as_chunks::<8>().0, right.as_chunks::<8>().0);
    for (left, right) in left.iter().zip(right) {
        for at in 0..8 {
            sums[at] += left[at] * right[at];
        }
    }
    sums.iter().sum()
}

fn search(criterion: &mut Criterion, folder: &Path, size: usize, queries: &[Vec<f32>]) {
    let vectors = open(folder);
    let mut group = criterion.benchmark_group("vectors");
    let mut cycle = queries.iter().cycle();
    let mut query = || cycle.next().map_or(&[][..], Vec::as_slice);
    group.bench_function(format!("search/{size}"), |bencher| {
        bencher.iter(|| vectors.search(query(), 10, |_| true).expect("sound"));
    });
    group.bench_function(
        format!("search one session in a hundred/{size}"),
        |bencher| {
            let allowed = |key: VectorKey| key.session.get() % 100 == 7;
            bencher.iter(|| vectors.search(query(), 10, allowed).expect("sound"));
        },
    );
    group.bench_function(format!("open and search/{size}"), |bencher| {
        bencher.iter(|| open(folder).search(query(), 10, |_| true).expect("sound"));
    });
    group.finish();
}

/// A session more, each time; the set grows meanwhile by little.
fn write(criterion: &mut Criterion, folder: &Path, size: usize, clusters: &mut Clusters) {
    let keys: Vec<VectorKey> = (0..SESSION_ROWS).map(|row| key(size + row)).collect();
    let mut group = criterion.benchmark_group("vectors");
    group.bench_function(format!("add a session/{size}"), |bencher| {
        let rows = || {
            (0..SESSION_ROWS)
                .flat_map(|_| clusters.vector())
                .collect::<Vec<f32>>()
        };
        let add = |rows: Vec<f32>| {
            let mut writer = writer(folder);
            writer.append(&keys, &rows).expect("room");
            writer.commit().expect("room");
        };
        bencher.iter_batched(rows, add, BatchSize::PerIteration);
    });
    group.finish();
}

/// Vectors as models make them: all have something in common, many lie close together, and they differ in fewer ways than they have
/// dimensions.
struct Clusters {
    random: u64,
    common: Vec<f32>,
    centres: Vec<Vec<f32>>,
    ways: Vec<Vec<f32>>,
}

impl Clusters {
    fn new() -> Self {
        let mut clusters = Clusters {
            random: 1,
            common: Vec::new(),
            centres: Vec::new(),
            ways: Vec::new(),
        };
        clusters.common = clusters.noise();
        clusters.centres = (0..1000).map(|_| clusters.noise()).collect();
        clusters.ways = (0..24).map(|_| clusters.noise()).collect();
        clusters
    }

    fn vector(&mut self) -> Vec<f32> {
        let mut vector = self.noise();
        let centre = self.next() as usize % self.centres.len();
        let weights: Vec<f32> = (0..self.ways.len()).map(|_| self.normal() * 0.2).collect();
        for (at, value) in vector.iter_mut().enumerate() {
            *value = 0.3 * *value + 0.5 * self.common[at] + self.centres[centre][at];
            for (way, weight) in self.ways.iter().zip(&weights) {
                *value += weight * way[at];
            }
        }
        vector
    }

    fn noise(&mut self) -> Vec<f32> {
        (0..DIMENSIONS).map(|_| self.normal()).collect()
    }

    /// About normally distributed, around zero.
    fn normal(&mut self) -> f32 {
        let bits = self.next();
        let sum: u64 = (0..4).map(|at| bits >> (at * 16) & 0xffff).sum();
        (sum as f32 - 2.0 * 65_535.0) / 37_837.0
    }

    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

//! Tests of whole sets of vectors: what is found, what a crash leaves, what damage does.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on must stop"
)]

mod crash;
mod damage;
mod recall;
mod sets;

use std::path::Path;

use super::{VectorKey, VectorWriter, Vectors};

const MODEL: [u8; 32] = [7; 32];

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        self.0 >> 33
    }

    /// About normally distributed, around zero.
    fn normal(&mut self) -> f32 {
        let sum: u64 = (0..4).map(|_| self.next() % 65_536).sum();
        (sum as f32 - 2.0 * 65_535.0) / 37_837.0
    }
}

/// Vectors as models make them: all have something in common, many lie close together and differ from each other in a few ways only, and
/// some dimensions count for more than others.
struct Clusters {
    random: Random,
    common: Vec<f32>,
    centres: Vec<Vec<f32>>,
    ways: Vec<Vec<f32>>,
}

impl Clusters {
    fn new(dimensions: usize, count: usize) -> Self {
        let mut random = Random(dimensions as u64);
        let mut vector = || -> Vec<f32> {
            let weights = (0..dimensions).map(|at| if at % 16 == 3 { 4.0 } else { 1.0 });
            weights
                .map(|weight: f32| weight * random.normal())
                .collect()
        };
        let common = vector();
        let centres = (0..count).map(|_| vector()).collect();
        let ways = (0..12).map(|_| vector()).collect();
        Clusters {
            random,
            common,
            centres,
            ways,
        }
    }

    fn vector(&mut self) -> Vec<f32> {
        let mut vector = self.common.clone();
        let mut add = |other: &[f32], factor: f32| {
            for (value, other) in vector.iter_mut().zip(other) {
                *value += factor * other;
            }
        };
        add(
            &self.centres[self.random.next() as usize % self.centres.len()],
            1.0,
        );
        for way in &self.ways {
            add(way, 0.3 * self.random.normal());
        }
        vector
    }

    fn rows(&mut self, count: usize) -> Vec<f32> {
        (0..count).flat_map(|_| self.vector()).collect()
    }
}

fn key(session: u32, seq: u32) -> VectorKey {
    VectorKey {
        session: session.into(),
        seq: seq.into(),
        chunk: 0,
    }
}

/// Keys of a session's events, one vector each.
fn keys(session: u32, count: usize) -> Vec<VectorKey> {
    (0..count as u32).map(|seq| key(session, seq)).collect()
}

fn open(folder: &Path, dimensions: usize) -> Vectors {
    Vectors::open(folder, &MODEL, dimensions).unwrap()
}

fn writer(folder: &Path, dimensions: usize) -> VectorWriter {
    VectorWriter::open(folder, &MODEL, dimensions).unwrap()
}

/// Adds a session and makes it count.
fn add(folder: &Path, dimensions: usize, session: u32, rows: &[f32]) {
    let mut writer = writer(folder, dimensions);
    let keys = keys(session, rows.len() / dimensions);
    writer.append(&keys, rows).unwrap();
    writer.commit().unwrap();
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

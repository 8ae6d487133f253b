//! How fast the full-text index is made and asked, in a process that stays, on generated logs that are the same everywhere.
//!
//! `cargo bench -p backstory-memory --bench search -- --quick`. For whole processes on half a million events see `bench/search`.
#![allow(
    clippy::expect_used,
    missing_docs,
    reason = "a benchmark that cannot go on must stop; criterion makes functions without docs"
)]

use std::fs;
use std::time::Duration;

use backstory_agents::sample;
use backstory_memory::{ImportOptions, Memory, Mode, Query, SearchOptions, Sources};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tempfile::TempDir;

const SEED: u64 = 1;
const BYTES: u64 = 25_000_000;

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).measurement_time(Duration::from_secs(3)).warm_up_time(Duration::from_millis(500));
    targets = search
}
criterion_main!(benches);

fn search(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder");
    let memory = swept(&folder);
    let mut group = criterion.benchmark_group("search");
    for (name, limit) in [("best session", 1), ("ten sessions", 10)] {
        let options = SearchOptions {
            limit,
            mode: Mode::Keyword,
            ..SearchOptions::default()
        };
        let query = Query::parse("flaky test after the migration");
        group.bench_function(name, |bencher| {
            bencher.iter(|| memory.search().run(&query, &options).expect("an answer"));
        });
    }
    group.finish();

    let mut group = criterion.benchmark_group("index");
    let index = folder.path().join("memory/index");
    let mut rebuild = || {
        fs::remove_dir_all(&index).expect("an index");
        memory
            .search()
            .refresh_index(true, &mut |_, _| {})
            .expect("an index")
    };
    // Of the text that is indexed, which is a few hundredths of the logs that are read for it.
    group.throughput(Throughput::Bytes(rebuild().bytes));
    group.bench_function("made anew from the store", |bencher| {
        bencher.iter(&mut rebuild);
    });
    group.finish();
}

fn swept(folder: &TempDir) -> Memory {
    let logs = folder.path().join("logs");
    for file in sample::logs(SEED, BYTES) {
        let path = logs.join(&file.path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, &file.bytes).expect("a log");
    }
    let memory = Memory::open(&folder.path().join("memory")).expect("a memory");
    let options = ImportOptions::new(Sources::paths([logs]));
    memory.import(&options, &mut |_| {}).expect("a sweep");
    memory
}

//! How fast logs are read, redacted, stored and given back, on generated logs that are the same everywhere.
//!
//! `cargo bench -p backstory-memory -- --quick` takes about a minute. For whole processes, with their start and their memory, see
//! `bench/sweep`.
#![allow(
    clippy::expect_used,
    missing_docs,
    reason = "a benchmark that cannot go on must stop; criterion makes functions without docs"
)]

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use backstory_agents::sample::{self, SampleFile};
use backstory_agents::{LogAgent, Reader, Shape, SourceName, read_document, read_lines};
use backstory_event::Output;
use backstory_memory::{ImportOptions, ImportReport, Memory, SessionFilter, Sources};
use backstory_redact::Redactor;
use backstory_store::attachment;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use serde::de::IgnoredAny;
use serde_json::Value;
use tempfile::TempDir;

const SEED: u64 = 1;
const READ_BYTES: u64 = 8_000_000;
const SWEEP_BYTES: u64 = 25_000_000;

criterion_group! {
    name = benches;
    // Whole sweeps take tenths of a second each, and differ by little: few samples are enough.
    config = Criterion::default().sample_size(10).measurement_time(Duration::from_secs(3)).warm_up_time(Duration::from_millis(500));
    targets = read, redact, store
}
criterion_main!(benches);

/// Each reader over the logs of its agent, beside what parsing the same lines costs at least.
fn read(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("read");
    let files: Vec<SampleFile> = sample::logs(SEED, READ_BYTES).collect();
    for LogAgent { agent, reader } in LogAgent::all() {
        let own: Vec<SampleFile> = sample::logs_of_agent(agent, SEED, READ_BYTES / 4).collect();
        let own: Vec<(&SampleFile, Shape)> = own
            .iter()
            .filter_map(|file| Some((file, reader.named(Path::new(&file.path))?)))
            .collect();
        group.throughput(Throughput::Bytes(
            own.iter().map(|(file, _)| file.bytes.len() as u64).sum(),
        ));
        group.bench_function(agent.name, |bencher| {
            bencher.iter(|| {
                own.iter()
                    .map(|(file, shape)| read_file(reader, file, *shape))
                    .sum::<usize>()
            });
        });
    }
    group.throughput(Throughput::Bytes(size(&files)));
    group.bench_function("serde_json/ignored", |bencher| {
        bencher.iter(|| {
            lines(&files)
                .filter(|line| serde_json::from_slice::<IgnoredAny>(line).is_ok())
                .count()
        });
    });
    group.bench_function("serde_json/value", |bencher| {
        bencher.iter(|| {
            lines(&files)
                .filter(|line| black_box(serde_json::from_slice::<Value>(line)).is_ok())
                .count()
        });
    });
    group.finish();
}

fn read_file(reader: &dyn Reader, file: &SampleFile, shape: Shape) -> usize {
    let mut output = Output::default();
    let mut reading = reader.begin(
        &SourceName {
            path: Path::new(&file.path),
        },
        None,
    );
    match shape {
        Shape::Lines => drop(black_box(read_lines(
            &mut *reading,
            &file.bytes,
            0,
            1,
            &mut output,
        ))),
        Shape::Document => read_document(&mut *reading, &file.bytes, &mut output),
    }
    black_box(output).events.len()
}

/// The lines of all files, cut as fast as can be: this is about parsing.
fn lines(files: &[SampleFile]) -> impl Iterator<Item = &[u8]> {
    files.iter().flat_map(|file| {
        let mut start = 0;
        memchr::memchr_iter(b'\n', &file.bytes)
            .map(move |end| &file.bytes[std::mem::replace(&mut start, end + 1)..end])
    })
}

fn size(files: &[SampleFile]) -> u64 {
    files.iter().map(|file| file.bytes.len() as u64).sum()
}

/// Looking for secrets, of which generated logs have none: as in real logs, nearly all of the time goes into not finding any.
fn redact(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("redact");
    let files: Vec<SampleFile> = sample::logs(SEED, READ_BYTES).collect();
    let redactor = Redactor::new([7; 32]);
    group.throughput(Throughput::Bytes(size(&files)));
    group.bench_function("logs", |bencher| {
        bencher.iter(|| {
            files
                .iter()
                .map(|file| {
                    redactor
                        .redact(&file.bytes, &attachment::find(&file.bytes))
                        .count
                })
                .sum::<usize>()
        });
    });
    group.finish();
}

/// Whole sweeps of a folder, and reading back.
fn store(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("store");
    let folder = TempDir::new().expect("a folder for logs");
    let bytes = write_logs(folder.path(), SWEEP_BYTES);
    let options = ImportOptions::new(Sources::paths([folder.path()]));

    group.throughput(Throughput::Bytes(bytes));
    group.bench_function("sweep", |bencher| {
        let fresh = || TempDir::new().expect("a folder for the store");
        // The store is given back so that removing it is not measured.
        let sweep_once = |home: TempDir| {
            sweep(&Memory::open(home.path()).expect("a new store"), &options);
            home
        };
        bencher.iter_batched(fresh, sweep_once, BatchSize::PerIteration);
    });
    group.finish();

    let mut group = criterion.benchmark_group("store");
    let home = TempDir::new().expect("a folder for the store");
    let memory = Memory::open(home.path()).expect("a new store");
    sweep(&memory, &options);
    group.bench_function("sweep of nothing new", |bencher| {
        bencher.iter(|| sweep(&memory, &options));
    });
    let sessions = memory
        .sessions()
        .list(&SessionFilter::default())
        .expect("sessions");
    let longest = sessions
        .iter()
        .max_by_key(|session| session.events)
        .expect("at least one session");
    group.bench_function("tail of a session", |bencher| {
        bencher.iter(|| {
            memory
                .sessions()
                .open(longest.clone())
                .tail(20)
                .expect("its end")
        });
    });
    group.finish();
}

fn sweep(memory: &Memory, options: &ImportOptions) -> ImportReport {
    memory.import(options, &mut |_| {}).expect("a sweep")
}

fn write_logs(home: &Path, bytes: u64) -> u64 {
    let mut written = 0;
    for file in sample::logs(SEED, bytes) {
        let path = home.join(&file.path);
        fs::create_dir_all(path.parent().expect("a file in a folder")).expect("its folder");
        fs::write(&path, &file.bytes).expect("a log");
        written += file.bytes.len() as u64;
    }
    written
}

//! How fast text becomes findable: words split, stemmed, and written to the full-text index, on one thread.
//!
//! `cargo bench -p backstory-store --bench index -- --quick`
#![allow(
    clippy::expect_used,
    missing_docs,
    reason = "a benchmark that cannot go on must stop; criterion makes functions without docs"
)]

use std::time::Duration;

use backstory_agents::sample;
use backstory_event::Kind;
use backstory_store::{IndexedEvent, Place, TextIndexWriter};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// About how long what people and models say is, in bytes.
const EVENT_BYTES: usize = 400;

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).measurement_time(Duration::from_secs(5)).warm_up_time(Duration::from_millis(500));
    targets = index
}
criterion_main!(benches);

fn index(criterion: &mut Criterion) {
    let texts = texts();
    let bytes: usize = texts.iter().map(String::len).sum();
    let mut group = criterion.benchmark_group("index");
    group.throughput(Throughput::Bytes(bytes as u64));
    group.bench_function("written", |bencher| {
        bencher.iter(|| {
            let folder = tempfile::tempdir().expect("a folder");
            let writer = TextIndexWriter::begin(folder.path(), None).expect("an index");
            for (number, text) in texts.iter().enumerate() {
                writer.add(event(number as u32, text)).expect("an event");
            }
            writer.commit().expect("an index")
        });
    });
    group.finish();
}

fn event(number: u32, text: &str) -> IndexedEvent {
    IndexedEvent {
        place: Place {
            session: (number / 100).into(),
            seq: (number % 100 + 1).into(),
            turn: (number % 100 / 10).into(),
            kind: Kind::Reply,
            minute: number,
        },
        tool: None,
        texts: [text.to_string(), String::new(), String::new()],
    }
}

/// Generated logs, cut into texts as long as what is said.
fn texts() -> Vec<String> {
    let mut texts = Vec::new();
    for file in sample::logs(1, 20_000_000) {
        let text = String::from_utf8_lossy(&file.bytes).replace(['"', '\\', '{', '}'], " ");
        let letters: Vec<char> = text.chars().collect();
        texts.extend(letters.chunks(EVENT_BYTES).map(String::from_iter));
    }
    texts
}

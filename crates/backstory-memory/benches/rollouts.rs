//! Library calls on small rollouts: the work that ConvMemory publishes figures for (64 rollouts imported 38 ms, one of them rewritten and
//! updated 7.3 ms, a vector query over 512 × 64 dimensions 31 µs, on a Mac Pro), and a file that grows by a line.
//!
//! `cargo bench -p backstory-memory --bench rollouts`; the report is in `target/criterion/report/index.html`.
#![allow(
    clippy::expect_used,
    missing_docs,
    reason = "a benchmark that cannot go on must stop; criterion makes functions without docs"
)]

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use backstory_memory::{ImportOptions, Memory, Mode, SearchOptions, Sources};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

const ROLLOUTS: usize = 64;
const DIMENSIONS: usize = 64;

/// Words of which prompts, replies and the model's vocabulary are made.
const WORDS: [&str; 16] = [
    "flaky",
    "migration",
    "cart",
    "index",
    "parser",
    "timeout",
    "socket",
    "refund",
    "cache",
    "schema",
    "retry",
    "deploy",
    "cursor",
    "filter",
    "worker",
    "budget",
];

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(Duration::from_secs(3)).warm_up_time(Duration::from_millis(500));
    targets = import, vectors
}
criterion_main!(benches);

fn import(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("rollouts");
    let logs = write_rollouts(6);
    let options = ImportOptions::new(Sources::paths([logs.path()]));
    group.bench_function("64 of 6 turns imported", |bencher| {
        let fresh = || {
            let home = TempDir::new().expect("a folder for the store");
            (Memory::open(home.path()).expect("a new store"), home)
        };
        let import_all = |(memory, home): (Memory, TempDir)| {
            import_new(&memory, &options);
            (memory, home)
        };
        bencher.iter_batched(fresh, import_all, BatchSize::PerIteration);
    });

    let home = TempDir::new().expect("a folder for the store");
    let memory = Memory::open(home.path()).expect("a new store");
    import_new(&memory, &options);
    let mut version = 0;
    group.bench_function("one of 64 rewritten", |bencher| {
        let rewrite = || {
            version += 1;
            let text = rollout_text(7, 6).replace("please", &format!("please, {version},"));
            fs::write(rollout_path(logs.path(), 7), text).expect("a log");
        };
        bencher.iter_batched(
            rewrite,
            |()| import_new(&memory, &options),
            BatchSize::PerIteration,
        );
    });

    let mut turn = 100;
    group.bench_function("one of 64 grown by a line", |bencher| {
        let grow = || {
            turn += 1;
            let log = rollout_path(logs.path(), 9);
            let mut log = OpenOptions::new().append(true).open(log).expect("a log");
            log.write_all(turn_text(9, turn).as_bytes())
                .expect("a line");
        };
        bencher.iter_batched(
            grow,
            |()| import_new(&memory, &options),
            BatchSize::PerIteration,
        );
    });
    group.bench_function("64 unchanged", |bencher| {
        bencher.iter(|| import_new(&memory, &options));
    });
    group.finish();
}

fn vectors(criterion: &mut Criterion) {
    let logs = write_rollouts(4);
    let home = TempDir::new().expect("a folder for the store");
    let memory = Memory::open(home.path()).expect("a new store");
    import_new(&memory, &ImportOptions::new(Sources::paths([logs.path()])));
    let model = TempDir::new().expect("a folder for the model");
    write_model(model.path());
    let models = memory.models();
    models.add(model.path(), Some("words")).expect("a model");
    models.embed("words", &mut |_| {}).expect("vectors");
    let mut rows = Vec::new();
    models
        .visit_vectors("words", |row| rows.push(row.vector))
        .expect("vectors");
    assert_eq!((rows.len(), rows[0].len()), (512, DIMENSIONS));
    let options = SearchOptions {
        model: Some("words".to_string()),
        mode: Mode::Semantic,
        limit: 10,
        ..SearchOptions::default()
    };
    criterion.bench_function("rollouts/vector query over 512 x 64", |bencher| {
        bencher.iter(|| {
            let answer = memory.search().run_vector(&rows[100], &options);
            assert_eq!(answer.expect("an answer").hits.len(), 10);
        });
    });
}

fn import_new(memory: &Memory, options: &ImportOptions) {
    let report = memory.import(options, &mut |_| {}).expect("an import");
    assert_eq!(report.problems, []);
}

/// Writes rollouts of so many turns, a prompt and a reply each.
fn write_rollouts(turns: usize) -> TempDir {
    let folder = TempDir::new().expect("a folder for logs");
    for rollout in 0..ROLLOUTS {
        fs::write(
            rollout_path(folder.path(), rollout),
            rollout_text(rollout, turns),
        )
        .expect("a log");
    }
    folder
}

fn rollout_path(folder: &Path, rollout: usize) -> PathBuf {
    folder.join(format!("{}.jsonl", rollout_id(rollout)))
}

fn rollout_id(rollout: usize) -> String {
    format!("0199a1b2-0000-7000-8000-{rollout:012}")
}

fn rollout_text(rollout: usize, turns: usize) -> String {
    (0..turns).map(|turn| turn_text(rollout, turn)).collect()
}

fn turn_text(rollout: usize, turn: usize) -> String {
    let word = |at: usize| WORDS[(rollout * 7 + turn * 3 + at * 5) % WORDS.len()];
    let session = rollout_id(rollout);
    let mut text = String::new();
    for (role, asks) in [
        ("user", "please look at the"),
        ("assistant", "I looked at the"),
    ] {
        let said = format!(
            "{asks} {} {} of the {} {rollout}",
            word(0),
            word(1),
            word(2)
        );
        let minute = (turn * 2) % 60;
        let record = json!({
            "type": role, "sessionId": session, "uuid": format!("{role}-{rollout}-{turn}"), "cwd": "/home/ada/shop",
            "timestamp": format!("2026-06-01T10:{minute:02}:{:02}.000Z", rollout % 60),
            "message": {"role": role, "id": format!("m-{rollout}-{turn}"), "content": [{"type": "text", "text": said}]},
        });
        let _ = writeln!(text, "{record}");
    }
    text
}

/// Writes a static model of these words, with a vector each.
fn write_model(folder: &Path) {
    let mut words = Map::new();
    words.insert("[UNK]".to_string(), json!(0));
    for (at, word) in WORDS.iter().enumerate() {
        words.insert((*word).to_string(), json!(at + 1));
    }
    let count = words.len();
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": null, "decoder": null,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
            "vocab": Value::Object(words)},
    });
    let value = |at: usize| ((at * 2_654_435_761) % 1000) as f32 / 500.0 - 1.0;
    let data: Vec<u8> = (0..count * DIMENSIONS)
        .flat_map(|at| value(at).to_le_bytes())
        .collect();
    let header = json!({"embeddings": {"dtype": "F32", "shape": [count, DIMENSIONS], "data_offsets": [0, data.len()]}}).to_string();
    let length = (header.len() as u64).to_le_bytes();
    let weights = [&length[..], header.as_bytes(), &data].concat();
    fs::write(folder.join("model.safetensors"), weights).expect("a model");
    fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).expect("a model");
}

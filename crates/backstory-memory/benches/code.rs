//! How fast a file that was just written becomes a stored snapshot.
//!
//! `cargo bench -p backstory-memory --bench code`
#![allow(
    clippy::expect_used,
    missing_docs,
    reason = "a benchmark that cannot go on must stop; criterion makes functions without docs"
)]

use std::fmt::Write;
use std::fs;

use backstory_event::TimeMs;
use backstory_memory::{ImportOptions, Memory, Sources};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tempfile::tempdir;

criterion_group!(benches, see);
criterion_main!(benches);

/// A file of a thousand lines, of which one changes each time.
fn see(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("see a file of 1,000 lines");
    for (name, make) in [("python", python as fn(usize) -> String), ("rust", rust)] {
        let folder = tempdir().expect("a folder");
        let log = "{\"type\":\"user\",\"uuid\":\"u\",\"sessionId\":\"s\",\"timestamp\":\"2026-05-01T00:00:00Z\",\"message\":{\"role\":\"user\",\"content\":\"go\"}}\n";
        fs::write(folder.path().join("s.jsonl"), log).expect("a log");
        let memory = Memory::open(&folder.path().join("store")).expect("a store");
        let options = ImportOptions::new(Sources::paths([folder.path().join("s.jsonl")]));
        memory.import(&options, &mut |_| {}).expect("a sweep");
        let session = memory.sessions().row("s").expect("a session").id;
        let file = folder
            .path()
            .join(format!("file.{}", if name == "rust" { "rs" } else { "py" }));
        let mut number = 0;
        group.throughput(Throughput::Bytes(make(0).len() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                number += 1;
                fs::write(&file, make(number)).expect("a file");
                memory
                    .code()
                    .see_file(&file, session, None, TimeMs::new(number as i64), None)
                    .expect("a snapshot")
            });
        });
    }
}

fn python(number: usize) -> String {
    let mut text = format!("START = {number}\n\n\nclass Shop:\n");
    for method in 0..166 {
        let changing = if method == 80 { number } else { method };
        let _ = write!(
            text,
            "    def pay_{method}(self, total, currency=\"EUR\"):\n        \"\"\"Takes the money.\"\"\"\n        if total > {changing}:\n            \
             raise ValueError(f\"{{total}} {{currency}}\")\n        return self.till.count(total) * {method}\n\n"
        );
    }
    text
}

fn rust(number: usize) -> String {
    let mut text = format!("const START: usize = {number};\n\nimpl Shop {{\n");
    for method in 0..166 {
        let changing = if method == 80 { number } else { method };
        let _ = write!(
            text,
            "    pub fn pay_{method}(&self, total: usize) -> Result<usize, Error> {{\n        if total > {changing} {{\n            \
             return Err(Error::TooMuch(total));\n        }}\n        Ok(self.till.count(total) * {method})\n    }}\n"
        );
    }
    text.push_str("}\n");
    text
}

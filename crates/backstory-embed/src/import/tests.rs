use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use proptest::prelude::*;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::archive;
use crate::tests::{Folder, TOKENIZER, floats, model2vec};
use crate::{Family, Model, Purpose, gguf, import, safetensors};

fn refusal(source: &Path, folder: &Folder) -> String {
    let error = import(source, &folder.path("models/m")).err().unwrap();
    assert!(!folder.path("models/m").exists());
    assert_eq!(
        fs::read_dir(folder.path("models")).unwrap().count(),
        0,
        "something was left"
    );
    error.to_string()
}

fn zip(path: &Path, files: &[(&str, &[u8])]) {
    let mut archive = ZipWriter::new(File::create(path).unwrap());
    for (name, content) in files {
        archive
            .start_file(*name, SimpleFileOptions::default())
            .unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap();
}

/// Weights of a network, as far as importing looks at them.
fn network() -> Vec<u8> {
    let tensor = |name| (name, "F32", &[1usize, 1][..], floats(&[1.0]));
    safetensors::write(&[
        tensor("embeddings.word_embeddings.weight"),
        tensor("pooler.dense.weight"),
    ])
}

#[test]
fn takes_a_folder_in() {
    let folder = Folder::new();
    folder.write("potion/model.safetensors", model2vec());
    folder.write("potion/tokenizer.json", TOKENIZER);
    folder.write("potion/config.json", r#"{"normalize": true}"#);
    folder.write(
        "potion/README.md",
        "---\nlanguage: en\nlicense: mit\n---\n# Potion\n",
    );
    let imported = import(&folder.path("potion"), &folder.path("models/m")).unwrap();
    let description = &imported.description;
    assert_eq!(
        (
            description.name.as_str(),
            description.family,
            description.dimensions
        ),
        ("potion", Family::Model2vec, 2)
    );
    assert_eq!(description.licence.as_deref(), Some("mit"));
    let hash = blake3::hash(&model2vec()).to_hex().to_string();
    assert_eq!(description.files["model.safetensors"], hash);
    assert_eq!(description.files.len(), 2);
    let size = |name: &str| fs::metadata(folder.path(name)).unwrap().len();
    assert_eq!(
        imported.bytes,
        size("models/m/model.bin") + size("models/m/model.json")
    );
    assert_eq!(
        Model::open(&folder.path("models/m")).unwrap().description(),
        description
    );
    assert_eq!(folder.names(), ["models", "potion"]);
}

#[test]
fn replaces_what_was_there_and_keeps_it_on_failure() {
    let folder = Folder::new();
    folder.write("a/model.safetensors", model2vec());
    folder.write("a/tokenizer.json", TOKENIZER);
    import(&folder.path("a"), &folder.path("models/m")).unwrap();
    let open = Model::open(&folder.path("models/m")).unwrap();
    let before = open.embed(&["agent"], Purpose::Query, None).unwrap();

    folder.write("a/tokenizer.json", "{}");
    assert!(import(&folder.path("a"), &folder.path("models/m")).is_err());
    assert_eq!(
        Model::open(&folder.path("models/m")).unwrap().id(),
        open.id()
    );

    folder.write(
        "a/tokenizer.json",
        TOKENIZER.replace("\"agent\":7,", "\"agents\":7,"),
    );
    import(&folder.path("a"), &folder.path("models/m")).unwrap();
    let new = Model::open(&folder.path("models/m")).unwrap();
    assert_ne!(new.id(), open.id());
    assert_eq!(
        open.embed(&["agent"], Purpose::Query, None).unwrap(),
        before
    );
    assert_eq!(
        new.embed(&["agent"], Purpose::Query, None).unwrap(),
        [0.0, 0.0]
    );
    assert_eq!(fs::read_dir(folder.path("models")).unwrap().count(), 1);
}

#[test]
fn finds_a_model_in_a_wheel() {
    let folder = Folder::new();
    let weights = safetensors::write(&[("embedding.weight", "F16", &[78, 2], vec![0; 312])]);
    let wheel = folder.path("word_llama-0.4.0-py3-none-any.whl");
    zip(
        &wheel,
        &[
            ("word_llama/__init__.py", b"import os"),
            (
                "word_llama/tokenizers/l2_tokenizer_config.json",
                TOKENIZER.as_bytes(),
            ),
            ("word_llama/tokenizers/other_tokenizer_config.json", b"{}"),
            ("word_llama/weights/l2_256.safetensors", &weights),
            (
                "word_llama-0.4.0.dist-info/METADATA",
                b"Name: word-llama\nLicense-Expression: MIT\n\nLicense: none",
            ),
        ],
    );
    let description = import(&wheel, &folder.path("m")).unwrap().description;
    assert_eq!(
        (description.name.as_str(), description.family),
        ("word-llama", Family::Wordllama)
    );
    assert_eq!(description.licence.as_deref(), Some("MIT"));
    Model::open(&folder.path("m")).unwrap();
}

#[test]
fn the_same_model_from_two_sources_is_the_same() {
    let folder = Folder::new();
    folder.write("a/model.safetensors", model2vec());
    folder.write("a/tokenizer.json", TOKENIZER);
    folder.write("a/config.json", "{}");
    folder.write("b/table.safetensors", model2vec());
    folder.write("b/tokenizer.json", TOKENIZER);
    let archive = folder.path("c.zip");
    zip(
        &archive,
        &[
            ("deep/in/it/model.safetensors", &model2vec()),
            ("deep/in/it/tokenizer.json", TOKENIZER.as_bytes()),
        ],
    );
    let sources = [
        folder.path("a"),
        folder.path("b/table.safetensors"),
        archive,
    ];
    let ids = sources.map(|source| {
        import(&source, &folder.path("m")).unwrap();
        Model::open(&folder.path("m")).unwrap().id()
    });
    assert_eq!(ids[0], ids[1]);
    assert_eq!(ids[0], ids[2]);
}

#[test]
fn copies_what_a_network_needs() {
    let folder = Folder::new();
    folder.write("mini/model.safetensors", network());
    folder.write("mini/tokenizer.json", TOKENIZER);
    folder.write(
        "mini/config.json",
        r#"{"model_type": "bert", "hidden_size": 384}"#,
    );
    folder.write("mini/1_Pooling/config.json", "{}");
    folder.write(
        "mini/modules.json",
        r#"[{"type": "sentence_transformers.models.Transformer"}]"#,
    );
    folder.write("mini/LICENSE", "\n  Apache License\n  Version 2.0");
    folder.write("mini/vocab.txt", "the");
    folder.write("mini/onnx/model.safetensors", "not this one");
    let description = import(&folder.path("mini"), &folder.path("m"))
        .unwrap()
        .description;
    assert_eq!(
        (description.family, description.dimensions),
        (Family::Bert, 384)
    );
    assert_eq!(description.licence.as_deref(), Some("Apache-2.0"));
    let names = [
        "1_Pooling/config.json",
        "config.json",
        "model.safetensors",
        "modules.json",
        "tokenizer.json",
    ];
    assert_eq!(description.files.keys().collect::<Vec<_>>(), names);
    description.verify(&folder.path("m")).unwrap();
    assert_eq!(
        fs::read(folder.path("m/model.safetensors")).unwrap(),
        network()
    );
    folder.write("m/config.json", "{}");
    assert!(
        description
            .verify(&folder.path("m"))
            .err()
            .unwrap()
            .to_string()
            .contains("config.json")
    );
}

#[cfg(not(feature = "transformers"))]
#[test]
fn a_network_needs_the_feature() {
    let folder = Folder::new();
    folder.write("mini/model.safetensors", network());
    folder.write("mini/tokenizer.json", TOKENIZER);
    folder.write(
        "mini/config.json",
        r#"{"model_type": "nomic_bert", "n_embd": 768}"#,
    );
    import(&folder.path("mini"), &folder.path("m")).unwrap();
    let error = Model::open(&folder.path("m")).err().unwrap();
    assert!(matches!(
        error,
        crate::Error::NeedsFeature {
            feature: "transformers",
            ..
        }
    ));
    assert!(error.to_string().contains("mini"));
}

#[test]
fn takes_a_gguf_file_in() {
    let folder = Folder::new();
    let weights = folder.write(
        "q/Qwen3-Embedding-0.6B-Q8_0.gguf",
        gguf::write("qwen3", 1024),
    );
    folder.write("q/tokenizer.json", TOKENIZER);
    let description = import(&weights, &folder.path("m")).unwrap().description;
    assert_eq!(
        (description.family, description.dimensions),
        (Family::Qwen3, 1024)
    );
    assert_eq!(description.name, "Qwen3-Embedding-0.6B-Q8_0");
    assert!(folder.path("m/Qwen3-Embedding-0.6B-Q8_0.gguf").is_file());
}

#[test]
fn says_why_it_takes_nothing_in() {
    let folder = Folder::new();
    let write = |name: &str, content: &[u8]| folder.write(name, content);
    fs::create_dir_all(folder.path("models")).unwrap();
    write("none/readme.txt", b"");
    assert!(refusal(&folder.path("none"), &folder).contains("no .safetensors"));
    assert!(refusal(&folder.path("absent"), &folder).contains("absent"));
    write("lonely/model.safetensors", &model2vec());
    assert!(refusal(&folder.path("lonely"), &folder).contains("no tokenizer.json"));
    write("two/a.gguf", &gguf::write("bert", 4));
    write("two/b.gguf", &gguf::write("bert", 4));
    assert!(refusal(&folder.path("two"), &folder).contains("by its path"));
    write("odd/model.gguf", &gguf::write("llama", 4));
    assert!(refusal(&folder.path("odd"), &folder).contains("llama"));
    write("net/model.safetensors", &network());
    assert!(refusal(&folder.path("net"), &folder).contains("config.json"));
    write(
        "net/config.json",
        br#"{"model_type": "t5", "hidden_size": 4}"#,
    );
    assert!(refusal(&folder.path("net"), &folder).contains("t5"));
    write("net/config.json", br#"{"model_type": "bert"}"#);
    assert!(refusal(&folder.path("net"), &folder).contains("how long"));
    write(
        "net/config.json",
        br#"{"model_type": "bert", "hidden_size": 4}"#,
    );
    write(
        "net/modules.json",
        br#"[{"type": "sentence_transformers.models.Dense"}]"#,
    );
    assert!(refusal(&folder.path("net"), &folder).contains("Dense"));
    let text = write("notes.txt", b"hello");
    assert!(refusal(&text, &folder).contains("notes.txt"));
    write(
        "nan/model.safetensors",
        &safetensors::write(&[("embeddings", "F32", &[1, 1], floats(&[f32::NAN]))]),
    );
    write("nan/tokenizer.json", TOKENIZER.as_bytes());
    assert!(refusal(&folder.path("nan"), &folder).contains("NaN"));
}

#[test]
fn archives_cannot_write_elsewhere() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("models")).unwrap();
    let archive = folder.path("evil.zip");
    let model = model2vec();
    zip(
        &archive,
        &[
            ("model.safetensors", &model),
            ("../../../tokenizer.json", TOKENIZER.as_bytes()),
        ],
    );
    assert!(refusal(&archive, &folder).contains("../../../tokenizer.json"));
    assert_eq!(folder.names(), ["evil.zip", "models"]);
    zip(
        &archive,
        &[("a/model.safetensors", &model), ("a/tokenizer.json", b"{}")],
    );
    let message = refusal(&archive, &folder);
    assert!(
        message.contains("evil.zip") && !message.contains("unpacked"),
        "{message}"
    );
}

#[test]
fn archives_cannot_fill_the_disk() {
    let folder = Folder::new();
    let archive = folder.path("a.zip");
    zip(
        &archive,
        &[("a.json", &[b' '; 600]), ("b.json", &[b' '; 600])],
    );
    archive::unpack(&archive, &folder.path("enough"), 1200).unwrap();
    let error = archive::unpack(&archive, &folder.path("less"), 1199)
        .err()
        .unwrap();
    assert!(error.to_string().contains("too much"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn changed_archives_are_read_or_refused(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let folder = Folder::new();
        let archive = folder.path("a.zip");
        zip(&archive, &[("model.safetensors", &model2vec()), ("tokenizer.json", TOKENIZER.as_bytes())]);
        let mut bytes = fs::read(&archive).unwrap();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        fs::write(&archive, bytes).unwrap();
        let _ = import(&archive, &folder.path("m"));
    }
}

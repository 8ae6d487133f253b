//! Tiny networks, whose weights come from a formula, against what the `transformers` package, version 5.22, makes of the same
//! weights; and the same network from files of both kinds.

mod hostile;
mod minilm;

use std::collections::BTreeMap;
use std::path::Path;

use candle_core::quantized::{GgmlDType, QTensor, gguf_file};
use candle_core::{Device, Tensor};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::safetensors;

const TEXTS: [&str; 3] = [
    "a quick test",
    "The longer text of the two has more words in it",
    "",
];

/// A folder with a model in it.
pub(super) struct Tiny {
    folder: TempDir,
    description: Description,
    tensors: Vec<(String, Vec<usize>)>,
}

impl Tiny {
    fn new(family: Family, dimensions: usize) -> Self {
        let description = Description {
            name: "tiny".to_owned(),
            family,
            dimensions,
            files: BTreeMap::from([("model.safetensors".to_owned(), String::new())]),
            licence: None,
            created_by: String::new(),
        };
        let (config, tokenizer, tensors) = match family {
            Family::Bert => (bert_config(), wordpiece(), bert_tensors()),
            Family::NomicBert => (nomic_config(), wordpiece(), nomic_tensors()),
            _ => (qwen3_config(), byte_level(), qwen3_tensors()),
        };
        let tiny = Tiny {
            folder: tempfile::tempdir().unwrap(),
            description,
            tensors,
        };
        tiny.write("config.json", config.to_string());
        tiny.write("tokenizer.json", tokenizer.to_string());
        tiny.write_safetensors("F32", |value| value.to_le_bytes().to_vec());
        tiny
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn write_safetensors(&self, kind: &str, bytes: fn(f32) -> Vec<u8>) {
        let content = |(name, shape): &(String, Vec<usize>)| {
            numbers_of(name, shape)
                .into_iter()
                .flat_map(bytes)
                .collect()
        };
        let contents: Vec<Vec<u8>> = self.tensors.iter().map(content).collect();
        let tensors = self.tensors.iter().zip(contents);
        let tensors: Vec<_> = tensors
            .map(|((name, shape), bytes)| (name.as_str(), kind, shape.as_slice(), bytes))
            .collect();
        self.write("model.safetensors", safetensors::write(&tensors));
    }

    /// Writes the network as a GGUF file; matrices become blocks of the kind given.
    fn write_gguf(&mut self, kind: GgmlDType) {
        let settings = [
            (
                "general.architecture",
                gguf_file::Value::String("qwen3".to_owned()),
            ),
            ("general.alignment", gguf_file::Value::U32(32)),
            (
                "tokenizer.ggml.tokens",
                gguf_file::Value::Array(vec![gguf_file::Value::String("a".to_owned())]),
            ),
            ("qwen3.block_count", gguf_file::Value::U32(2)),
            ("qwen3.embedding_length", gguf_file::Value::U32(32)),
            ("qwen3.feed_forward_length", gguf_file::Value::U32(64)),
            ("qwen3.attention.head_count", gguf_file::Value::U32(4)),
            ("qwen3.attention.head_count_kv", gguf_file::Value::U32(2)),
            ("qwen3.attention.key_length", gguf_file::Value::U32(16)),
            (
                "qwen3.attention.layer_norm_rms_epsilon",
                gguf_file::Value::F32(1e-6),
            ),
            ("qwen3.rope.freq_base", gguf_file::Value::F32(1e6)),
        ];
        let tensor = |(name, shape): &(String, Vec<usize>)| {
            let values =
                Tensor::from_vec(numbers_of(name, shape), shape.as_slice(), &Device::Cpu).unwrap();
            let kind = if shape.len() == 2 {
                kind
            } else {
                GgmlDType::F32
            };
            (gguf_name(name), QTensor::quantize(&values, kind).unwrap())
        };
        let tensors: Vec<(String, QTensor)> = self.tensors.iter().map(tensor).collect();
        let tensors: Vec<(&str, &QTensor)> = tensors
            .iter()
            .map(|(name, tensor)| (name.as_str(), tensor))
            .collect();
        let settings: Vec<(&str, &gguf_file::Value)> = settings
            .iter()
            .map(|(name, value)| (*name, value))
            .collect();
        let mut file = std::io::Cursor::new(Vec::new());
        gguf_file::write(&mut file, &settings, &tensors).unwrap();
        self.write("tiny.gguf", file.into_inner());
        self.description.files = BTreeMap::from([("tiny.gguf".to_owned(), String::new())]);
    }

    fn open(&self) -> Result<Transformer> {
        Transformer::open(self.path(), &self.description)
    }

    fn refusal(&self) -> String {
        self.open().err().unwrap().to_string()
    }
}

fn gguf_name(name: &str) -> String {
    let names = [
        ("embed_tokens", "token_embd"),
        ("layers.", "blk."),
        ("input_layernorm", "attn_norm"),
        ("post_attention_layernorm", "ffn_norm"),
        ("self_attn.q_norm", "attn_q_norm"),
        ("self_attn.k_norm", "attn_k_norm"),
        ("self_attn.q_proj", "attn_q"),
        ("self_attn.k_proj", "attn_k"),
        ("self_attn.v_proj", "attn_v"),
        ("self_attn.o_proj", "attn_output"),
        ("mlp.gate_proj", "ffn_gate"),
        ("mlp.up_proj", "ffn_up"),
        ("mlp.down_proj", "ffn_down"),
    ];
    let renamed = names
        .iter()
        .fold(name.to_owned(), |name, (from, to)| name.replace(from, to));
    if renamed == "norm.weight" {
        "output_norm.weight".to_owned()
    } else {
        renamed
    }
}

/// The numbers of a tensor: a hash of its name and the index, around zero; norms around one, tables twice as wide.
fn numbers_of(name: &str, shape: &[usize]) -> Vec<f32> {
    let hash = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let seed = name
        .bytes()
        .fold(0x811C_9DC5, hash)
        .wrapping_mul(0x9E37_79B9);
    let is_norm = name.to_lowercase().contains("norm") || name.contains("emb_ln");
    let (middle, breadth) = match shape {
        [_] if is_norm && name.ends_with("weight") => (1.0, 0.5),
        [_, _] if name.contains("embed") => (0.0, 2.0),
        _ => (0.0, 1.0),
    };
    let number = |index: u32| {
        let mut x = seed ^ index.wrapping_mul(0x85EB_CA6B);
        x ^= x >> 15;
        x = x.wrapping_mul(0x2C1B_3C6D);
        x ^= x >> 12;
        middle + ((x >> 8) as f32 / (1 << 24) as f32 - 0.5) * breadth
    };
    (0..shape.iter().product::<usize>() as u32)
        .map(number)
        .collect()
}

fn wordpiece() -> Value {
    let special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "_", ":"].map(str::to_owned);
    let letters = ('a'..='z').map(String::from);
    let inner = ('a'..='z').map(|letter| format!("##{letter}"));
    let tokens = special.into_iter().chain(letters).chain(inner);
    let vocabulary: BTreeMap<String, usize> = tokens.zip(0..).collect();
    json!({
        "added_tokens": [{"id": 2, "content": "[CLS]", "special": true}, {"id": 3, "content": "[SEP]", "special": true}],
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocabulary},
    })
}

fn byte_level() -> Value {
    let printed = ('!'..='~').chain(['Ġ', 'Ċ']).map(String::from);
    let tokens = std::iter::once("<|endoftext|>".to_owned()).chain(printed);
    let vocabulary: BTreeMap<String, usize> = tokens.zip(0..).collect();
    json!({
        "added_tokens": [{"id": 0, "content": "<|endoftext|>", "special": true}],
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": true},
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []},
    })
}

fn bert_config() -> Value {
    json!({
        "model_type": "bert", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
        "max_position_embeddings": 64, "type_vocab_size": 2, "layer_norm_eps": 1e-12, "hidden_act": "gelu",
    })
}

fn bert_tensors() -> Vec<(String, Vec<usize>)> {
    let mut tensors = vec![
        ("embeddings.word_embeddings.weight".to_owned(), vec![58, 32]),
        (
            "embeddings.position_embeddings.weight".to_owned(),
            vec![64, 32],
        ),
        (
            "embeddings.token_type_embeddings.weight".to_owned(),
            vec![2, 32],
        ),
        ("embeddings.LayerNorm.weight".to_owned(), vec![32]),
        ("embeddings.LayerNorm.bias".to_owned(), vec![32]),
    ];
    for layer in 0..2 {
        let parts = [
            ("attention.self.query", vec![32, 32]),
            ("attention.self.key", vec![32, 32]),
            ("attention.self.value", vec![32, 32]),
            ("attention.output.dense", vec![32, 32]),
            ("attention.output.LayerNorm", vec![32]),
            ("intermediate.dense", vec![64, 32]),
            ("output.dense", vec![32, 64]),
            ("output.LayerNorm", vec![32]),
        ];
        for (part, shape) in parts {
            let name = format!("encoder.layer.{layer}.{part}");
            tensors.push((format!("{name}.bias"), vec![shape[0]]));
            tensors.push((format!("{name}.weight"), shape));
        }
    }
    tensors
}

fn nomic_config() -> Value {
    json!({
        "model_type": "nomic_bert", "n_embd": 32, "n_layer": 2, "n_head": 4, "n_inner": 64, "type_vocab_size": 2,
        "layer_norm_epsilon": 1e-12, "activation_function": "swiglu", "rotary_emb_base": 1000, "rotary_emb_fraction": 1.0,
        "rotary_emb_interleaved": false, "prenorm": false, "use_rms_norm": false, "causal": false, "qkv_proj_bias": false,
        "mlp_fc1_bias": false, "mlp_fc2_bias": false,
    })
}

fn nomic_tensors() -> Vec<(String, Vec<usize>)> {
    let mut tensors = vec![
        ("embeddings.word_embeddings.weight".to_owned(), vec![58, 32]),
        (
            "embeddings.token_type_embeddings.weight".to_owned(),
            vec![2, 32],
        ),
        ("emb_ln.weight".to_owned(), vec![32]),
        ("emb_ln.bias".to_owned(), vec![32]),
    ];
    for layer in 0..2 {
        let parts = [
            ("attn.Wqkv.weight", vec![96, 32]),
            ("attn.out_proj.weight", vec![32, 32]),
            ("mlp.fc11.weight", vec![64, 32]),
            ("mlp.fc12.weight", vec![64, 32]),
            ("mlp.fc2.weight", vec![32, 64]),
            ("norm1.weight", vec![32]),
            ("norm1.bias", vec![32]),
            ("norm2.weight", vec![32]),
            ("norm2.bias", vec![32]),
        ];
        tensors
            .extend(parts.map(|(part, shape)| (format!("encoder.layers.{layer}.{part}"), shape)));
    }
    tensors
}

fn qwen3_config() -> Value {
    json!({
        "model_type": "qwen3", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "head_dim": 16, "intermediate_size": 64, "rms_norm_eps": 1e-6, "rope_theta": 1_000_000, "rope_scaling": null,
        "hidden_act": "silu", "attention_bias": false, "use_sliding_window": false,
    })
}

fn qwen3_tensors() -> Vec<(String, Vec<usize>)> {
    let mut tensors = vec![
        ("embed_tokens.weight".to_owned(), vec![97, 32]),
        ("norm.weight".to_owned(), vec![32]),
    ];
    for layer in 0..2 {
        let parts = [
            ("input_layernorm", vec![32]),
            ("self_attn.q_proj", vec![64, 32]),
            ("self_attn.k_proj", vec![32, 32]),
            ("self_attn.v_proj", vec![32, 32]),
            ("self_attn.q_norm", vec![16]),
            ("self_attn.k_norm", vec![16]),
            ("self_attn.o_proj", vec![32, 64]),
            ("post_attention_layernorm", vec![32]),
            ("mlp.gate_proj", vec![64, 32]),
            ("mlp.up_proj", vec![64, 32]),
            ("mlp.down_proj", vec![32, 64]),
        ];
        tensors.extend(parts.map(|(part, shape)| (format!("layers.{layer}.{part}.weight"), shape)));
    }
    tensors
}

/// Checks the first numbers of the vectors of texts.
pub(super) fn check(
    model: &Transformer,
    texts: &[&str],
    purpose: Purpose,
    expected: &[[f32; 8]],
    tolerance: f32,
) {
    let rows = model.embed(texts, purpose).unwrap();
    assert_eq!(rows.len(), texts.len() * model.dimensions());
    for (row, expected) in rows.chunks_exact(model.dimensions()).zip(expected) {
        let length: f32 = row.iter().map(|value| value * value).sum();
        assert!((length - 1.0).abs() < 1e-5, "{length}");
        for (found, expected) in row.iter().zip(expected) {
            assert!(
                (found - expected).abs() < tolerance,
                "{row:?} is not {expected:?}"
            );
        }
    }
}

#[test]
fn bert_gives_what_the_reference_gives() {
    let tiny = Tiny::new(Family::Bert, 32);
    let expected = [
        [
            -0.200682, 0.025450, -0.194490, 0.045709, -0.209323, 0.192220, -0.047895, -0.085958,
        ],
        [
            -0.206315, 0.074831, 0.021269, 0.054620, -0.226048, 0.133398, -0.201517, 0.123828,
        ],
        [
            -0.078236, 0.124895, -0.142428, 0.117058, -0.148250, 0.244630, -0.148285, -0.194128,
        ],
    ];
    let model = tiny.open().unwrap();
    check(&model, &TEXTS, Purpose::Passage, &expected, 2e-6);
    // Without an instruction of its own, it sees questions as it sees passages.
    check(&model, &TEXTS, Purpose::Query, &expected, 2e-6);
}

const FIRST_TOKEN: [f32; 8] = [
    -0.157614, 0.035085, -0.216636, 0.066769, -0.148950, 0.240799, -0.030983, -0.065455,
];

#[test]
fn bert_takes_the_first_token_where_the_files_say_so() {
    let mut tiny = Tiny::new(Family::Bert, 32);
    tiny.write(
        "1_Pooling/config.json",
        r#"{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}"#,
    );
    let model = tiny.open().unwrap();
    check(&model, &TEXTS[..1], Purpose::Passage, &[FIRST_TOKEN], 2e-6);
    let expected = [
        -0.250189, 0.063175, -0.055207, 0.062030, -0.141633, 0.128327, -0.181522, 0.153686,
    ];
    check(&model, &TEXTS[..1], Purpose::Query, &[expected], 2e-6);
    std::fs::remove_dir_all(tiny.path().join("1_Pooling")).unwrap();
    tiny.description.name = "bge-tiny-en".to_owned();
    check(
        &tiny.open().unwrap(),
        &TEXTS[..1],
        Purpose::Passage,
        &[FIRST_TOKEN],
        2e-6,
    );
    tiny.write("1_Pooling/config.json", r#"{"pooling_mode": "lasttoken"}"#);
    assert_eq!(tiny.open().unwrap().usage.pooling, Pooling::Last);
    tiny.write(
        "1_Pooling/config.json",
        r#"{"pooling_mode_max_tokens": true}"#,
    );
    assert!(tiny.refusal().contains("no pooling"));
}

#[test]
fn nomic_gives_what_the_reference_gives() {
    let model = Tiny::new(Family::NomicBert, 8).open().unwrap();
    let expected = [
        [
            0.203579, -0.215564, -0.005237, 0.757388, -0.108130, -0.319799, 0.321532, -0.347961,
        ],
        [
            0.426708, -0.016686, 0.024747, 0.675024, 0.063688, -0.454279, 0.247543, -0.299448,
        ],
        [
            0.232259, -0.111035, -0.043996, 0.783924, -0.031357, -0.401888, 0.277173, -0.279165,
        ],
    ];
    check(&model, &TEXTS, Purpose::Passage, &expected, 5e-6);
    let expected = [
        0.427221, -0.033369, -0.110528, 0.683909, -0.168657, -0.352082, 0.195220, -0.381971,
    ];
    check(&model, &TEXTS[..1], Purpose::Query, &[expected], 5e-6);
}

const QWEN3: [[f32; 8]; 3] = [
    [
        -0.014786, -0.074488, -0.207778, -0.369741, 0.321550, 0.028355, 0.775900, 0.328835,
    ],
    [
        0.596400, -0.162736, 0.100393, -0.389763, 0.121996, -0.626912, 0.217939, 0.020762,
    ],
    [
        0.248882, -0.046930, 0.066158, -0.813190, 0.039338, -0.217751, -0.296063, -0.365492,
    ],
];
const QWEN3_QUERY: [f32; 8] = [
    0.171981, -0.081074, -0.363480, -0.262137, 0.426380, 0.009747, 0.724823, 0.236118,
];

#[test]
fn qwen3_gives_what_the_reference_gives() {
    let mut tiny = Tiny::new(Family::Qwen3, 8);
    let model = tiny.open().unwrap();
    check(&model, &TEXTS, Purpose::Passage, &QWEN3, 5e-6);
    check(&model, &TEXTS[..1], Purpose::Query, &[QWEN3_QUERY], 5e-6);
    // Newer files state the base of the rotations elsewhere.
    let config = qwen3_config().to_string();
    let newer = config.replace(
        r#""rope_theta":1000000"#,
        r#""rope_parameters":{"rope_theta":1000000.0,"rope_type":"default"}"#,
    );
    assert_ne!(newer, config);
    tiny.write("config.json", newer);
    check(
        &tiny.open().unwrap(),
        &TEXTS,
        Purpose::Passage,
        &QWEN3,
        5e-6,
    );
    // With a head, the names of the network's own tensors are longer.
    for (name, _) in &mut tiny.tensors {
        *name = format!("model.{name}");
    }
    tiny.write_safetensors("F32", |value| value.to_le_bytes().to_vec());
    assert_eq!(
        tiny.open()
            .unwrap()
            .embed(&TEXTS, Purpose::Passage)
            .unwrap()
            .len(),
        24
    );
}

#[test]
fn halves_give_nearly_the_same() {
    let tiny = Tiny::new(Family::Qwen3, 8);
    tiny.write_safetensors("F16", |value| {
        half::f16::from_f32(value).to_le_bytes().to_vec()
    });
    check(
        &tiny.open().unwrap(),
        &TEXTS,
        Purpose::Passage,
        &QWEN3,
        5e-3,
    );
    tiny.write_safetensors("BF16", |value| {
        half::bf16::from_f32(value).to_le_bytes().to_vec()
    });
    check(
        &tiny.open().unwrap(),
        &TEXTS,
        Purpose::Passage,
        &QWEN3,
        5e-2,
    );
}

#[test]
fn a_gguf_file_gives_the_same() {
    let mut tiny = Tiny::new(Family::Qwen3, 8);
    std::fs::remove_file(tiny.path().join("config.json")).unwrap();
    for (kind, tolerance) in [
        (GgmlDType::F32, 5e-6),
        (GgmlDType::F16, 5e-3),
        (GgmlDType::BF16, 5e-2),
        (GgmlDType::Q8_0, 5e-2),
        (GgmlDType::Q5_1, 0.2),
        (GgmlDType::Q4_0, 0.5),
    ] {
        tiny.write_gguf(kind);
        let model = tiny.open().unwrap();
        check(&model, &TEXTS, Purpose::Passage, &QWEN3, tolerance);
        check(
            &model,
            &TEXTS[..1],
            Purpose::Query,
            &[QWEN3_QUERY],
            tolerance,
        );
    }
}

#[test]
fn every_kind_of_block_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("blocks.gguf");
    let values = numbers_of("blocks", &[3, 512]);
    let tensor = Tensor::from_vec(values.clone(), (3, 512), &Device::Cpu).unwrap();
    for (kind, tolerance) in [
        (GgmlDType::F32, 0.0),
        (GgmlDType::F16, 1e-3),
        (GgmlDType::BF16, 3e-3),
        (GgmlDType::Q8_0, 3e-3),
        (GgmlDType::Q6K, 0.03),
        (GgmlDType::Q5K, 0.05),
        (GgmlDType::Q5_1, 0.03),
        (GgmlDType::Q5_0, 0.05),
        (GgmlDType::Q4K, 0.1),
        (GgmlDType::Q4_1, 0.05),
        (GgmlDType::Q4_0, 0.1),
        (GgmlDType::Q3K, 0.2),
        (GgmlDType::Q2K, 0.3),
    ] {
        let blocks = QTensor::quantize(&tensor, kind).unwrap();
        let mut file = std::fs::File::create(&path).unwrap();
        gguf_file::write(&mut file, &[], &[("layer.weight", &blocks)]).unwrap();
        let files = BTreeMap::from([("blocks.gguf".to_owned(), String::new())]);
        let description = Description {
            files,
            ..Tiny::new(Family::Qwen3, 8).description
        };
        let weights = Weights::open(folder.path(), &description).unwrap();
        let found = weights.values("layer.weight", &[3, 512]).unwrap();
        assert_eq!(found.len(), values.len());
        for (found, expected) in found.iter().zip(&values) {
            assert!(
                (found - expected).abs() <= tolerance,
                "{kind:?}: {found} is not {expected}"
            );
        }
        // The layer with the matrix as it lies there gives what the unpacked numbers give.
        let rows = tensor.narrow(0, 0, 2).unwrap();
        let layer = weights.linear(&["layer"], 3, 512, false).unwrap();
        let product: Vec<f32> = layer
            .forward(&rows)
            .unwrap()
            .flatten_all()
            .unwrap()
            .to_vec1()
            .unwrap();
        let expected = values[..512]
            .iter()
            .zip(&found[1024..])
            .map(|(one, two)| one * two)
            .sum::<f32>();
        assert!(
            (product[2] - expected).abs() < 1e-3,
            "{kind:?}: {} is not {expected}",
            product[2]
        );
    }
}

#[test]
fn texts_together_give_what_they_give_alone() {
    for (family, dimensions) in [
        (Family::Bert, 32),
        (Family::NomicBert, 8),
        (Family::Qwen3, 8),
    ] {
        let model = Tiny::new(family, dimensions).open().unwrap();
        let long = "words and more words ".repeat(8);
        let texts: Vec<&str> = (0..8).map(|part| &long[..part * 21]).collect();
        let together = model.embed(&texts, Purpose::Passage).unwrap();
        for (text, row) in texts.iter().zip(together.chunks_exact(dimensions)) {
            let alone = model.embed(&[text], Purpose::Passage).unwrap();
            let product: f32 = alone.iter().zip(row).map(|(one, two)| one * two).sum();
            assert!(product > 0.99999, "{family:?}: {product}");
        }
        assert!(model.embed(&[], Purpose::Query).unwrap().is_empty());
    }
}

#[test]
fn long_texts_are_cut() {
    let tiny = Tiny::new(Family::Bert, 32);
    let long = "a ".repeat(10_000);
    let length = |tiny: &Tiny| tiny.open().unwrap().tokens(&long, Purpose::Passage).len();
    assert_eq!(length(&tiny), 64);
    tiny.write("sentence_bert_config.json", r#"{"max_seq_length": 10}"#);
    assert_eq!(length(&tiny), 10);
    let tokens = tiny.open().unwrap().tokens(&long, Purpose::Passage);
    assert_eq!((tokens[0], tokens[9]), (2, 3));
    tiny.write(
        "sentence_bert_config.json",
        r#"{"max_seq_length": 1000000000}"#,
    );
    assert_eq!(length(&tiny), 64);
    assert_eq!(length(&Tiny::new(Family::Qwen3, 32)), 1_024);
    // Cut within a character of several bytes.
    let model = tiny.open().unwrap();
    model
        .embed(&["é".repeat(10_000).as_str()], Purpose::Passage)
        .unwrap();
}

//! Files that are damaged or made to do harm.

use proptest::prelude::*;

use super::*;

#[test]
fn missing_files_are_named() {
    for name in ["config.json", "tokenizer.json", "model.safetensors"] {
        let tiny = Tiny::new(Family::Bert, 32);
        std::fs::remove_file(tiny.path().join(name)).unwrap();
        assert!(tiny.refusal().contains(name), "{}", tiny.refusal());
    }
    let mut tiny = Tiny::new(Family::Bert, 32);
    tiny.description.files.clear();
    assert!(tiny.refusal().contains("no file of weights"));
}

#[test]
fn missing_and_misshaped_tensors_are_named() {
    for (family, dimensions) in [
        (Family::Bert, 32),
        (Family::NomicBert, 32),
        (Family::Qwen3, 32),
    ] {
        let mut tiny = Tiny::new(family, dimensions);
        let write =
            |tiny: &Tiny| tiny.write_safetensors("F32", |value| value.to_le_bytes().to_vec());
        for index in 0..tiny.tensors.len() {
            let (name, shape) = tiny.tensors.remove(index);
            write(&tiny);
            let refusal = tiny.refusal();
            assert!(
                refusal.contains("model.safetensors") && refusal.contains(&name),
                "{refusal}"
            );
            let mut longer = shape.clone();
            *longer.last_mut().unwrap() += 1;
            tiny.tensors.insert(index, (name, longer));
            write(&tiny);
            let refusal = tiny.refusal();
            assert!(
                refusal.contains("shape") && refusal.contains(&tiny.tensors[index].0),
                "{refusal}"
            );
            tiny.tensors[index].1 = shape;
        }
    }
    // Numbers of a kind that no network has.
    let tiny = Tiny::new(Family::Bert, 32);
    tiny.write_safetensors("I32", |_| vec![0; 4]);
    assert!(tiny.refusal().contains("known here"));
}

#[test]
fn absurd_settings_are_refused() {
    let refuse = |family: Family, from: &str, to: &str, expected: &str| {
        let tiny = Tiny::new(family, 32);
        let config = std::fs::read_to_string(tiny.path().join("config.json")).unwrap();
        let changed = config.replace(from, to);
        assert_ne!(changed, config, "{from}");
        tiny.write("config.json", changed);
        let refusal = tiny.refusal();
        assert!(refusal.contains(expected), "{to}: {refusal}");
    };
    for size in [
        "0",
        "18446744073709551615",
        "-1",
        "1e300",
        "\"32\"",
        "131072",
    ] {
        refuse(
            Family::Bert,
            r#""hidden_size":32"#,
            &format!(r#""hidden_size":{size}"#),
            "config.json",
        );
        refuse(
            Family::Bert,
            r#""num_attention_heads":4"#,
            &format!(r#""num_attention_heads":{size}"#),
            "config.json",
        );
        refuse(
            Family::NomicBert,
            r#""n_inner":64"#,
            &format!(r#""n_inner":{size}"#),
            "config.json",
        );
        refuse(
            Family::NomicBert,
            r#""n_layer":2"#,
            &format!(r#""n_layer":{size}"#),
            "config.json",
        );
        refuse(
            Family::Qwen3,
            r#""head_dim":16"#,
            &format!(r#""head_dim":{size}"#),
            "config.json",
        );
        refuse(
            Family::Qwen3,
            r#""num_key_value_heads":2"#,
            &format!(r#""num_key_value_heads":{size}"#),
            "config.json",
        );
    }
    refuse(
        Family::Bert,
        r#""num_hidden_layers":2"#,
        r#""num_hidden_layers":900"#,
        "encoder.layer.2",
    );
    refuse(
        Family::Bert,
        r#""num_attention_heads":4"#,
        r#""num_attention_heads":5"#,
        "num_attention_heads",
    );
    refuse(
        Family::Bert,
        r#""hidden_act":"gelu""#,
        r#""hidden_act":"relu""#,
        "hidden_act",
    );
    refuse(
        Family::NomicBert,
        r#""activation_function":"swiglu""#,
        r#""activation_function":"gelu""#,
        "activation_function",
    );
    refuse(
        Family::NomicBert,
        r#""n_head":4"#,
        r#""n_head":32"#,
        "n_head",
    );
    refuse(
        Family::NomicBert,
        r#""prenorm":false"#,
        r#""prenorm":true"#,
        "order of layers",
    );
    refuse(
        Family::Qwen3,
        r#""num_key_value_heads":2"#,
        r#""num_key_value_heads":3"#,
        "heads",
    );
    refuse(
        Family::Qwen3,
        r#""rope_scaling":null"#,
        r#""rope_scaling":{"type":"yarn"}"#,
        "rope_scaling",
    );
    refuse(
        Family::Qwen3,
        r#""rope_theta":1000000"#,
        r#""rope_theta":-1"#,
        "heads",
    );
    let wrong = Tiny::new(Family::Bert, 16);
    assert!(wrong.refusal().contains("vectors of 32 numbers, not of 16"));
    assert!(Tiny::new(Family::Qwen3, 0).refusal().contains("not of 0"));
    assert!(Tiny::new(Family::Qwen3, 33).refusal().contains("not of 33"));
}

#[test]
fn tokenizer_and_network_must_belong_together() {
    let tiny = Tiny::new(Family::Qwen3, 8);
    tiny.write("tokenizer.json", wordpiece().to_string());
    assert!(tiny.refusal().contains("<|endoftext|>"));
    let tiny = Tiny::new(Family::Bert, 32);
    tiny.write("tokenizer.json", "{}");
    assert!(
        tiny.refusal()
            .contains(&tiny.path().join("tokenizer.json").display().to_string())
    );
    let mut tiny = Tiny::new(Family::Bert, 32);
    // A table that ends before the letter z.
    tiny.tensors[0].1[0] = 50;
    tiny.write_safetensors("F32", |value| value.to_le_bytes().to_vec());
    let model = tiny.open().unwrap();
    let error = model
        .embed(&["zz"], Purpose::Passage)
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("tiny") && error.contains("57"), "{error}");
}

#[test]
fn vectors_without_a_direction_are_errors() {
    let tiny = Tiny::new(Family::NomicBert, 8);
    tiny.write_safetensors("F32", |_| f32::NAN.to_le_bytes().to_vec());
    let error = tiny
        .open()
        .unwrap()
        .embed(&["a"], Purpose::Query)
        .err()
        .unwrap();
    assert!(error.to_string().contains("without a direction"));
    tiny.write_safetensors("F32", |_| 0f32.to_le_bytes().to_vec());
    assert!(
        tiny.open()
            .unwrap()
            .embed(&["a", "b"], Purpose::Query)
            .is_err()
    );
    tiny.write_safetensors("F32", |_| f32::MAX.to_le_bytes().to_vec());
    assert!(
        tiny.open()
            .unwrap()
            .embed(&["a", "b"], Purpose::Query)
            .is_err()
    );
}

#[test]
fn only_qwen3_comes_from_gguf_files() {
    let mut tiny = Tiny::new(Family::Qwen3, 8);
    tiny.write_gguf(GgmlDType::F32);
    tiny.description.family = Family::Bert;
    assert!(tiny.refusal().contains("safetensors files only"));
}

fn gguf() -> (Tiny, Vec<u8>) {
    let mut tiny = Tiny::new(Family::Qwen3, 8);
    tiny.write_gguf(GgmlDType::Q8_0);
    let bytes = std::fs::read(tiny.path().join("tiny.gguf")).unwrap();
    (tiny, bytes)
}

#[test]
fn gguf_files_are_checked() {
    let (tiny, bytes) = gguf();
    let refusal = |from: &[u8], to: &[u8]| {
        let at = bytes
            .windows(from.len())
            .position(|window| window == from)
            .unwrap();
        let mut changed = bytes.clone();
        changed[at..at + to.len()].copy_from_slice(to);
        tiny.write("tiny.gguf", changed);
        tiny.refusal()
    };
    assert!(refusal(b"GGUF\x02", b"GGUF\x01").contains("version 1"));
    assert!(refusal(b"GGUF", b"GGML").contains("no GGUF"));
    // An alignment of zero, and one that is no multiple of eight.
    assert!(
        refusal(
            b"general.alignment\x04\0\0\0\x20",
            b"general.alignment\x04\0\0\0\0"
        )
        .contains("alignment")
    );
    assert!(
        refusal(
            b"general.alignment\x04\0\0\0\x20",
            b"general.alignment\x04\0\0\0\x21"
        )
        .contains("alignment")
    );
    assert!(refusal(b"qwen3.block_count", b"qwen3.block_tnuoc").contains("block_count"));
    assert!(refusal(b"blk.0.ffn_up", b"blk.0.ffn_pu").contains("blk.0.ffn_up"));
    assert!(
        refusal(
            b"qwen3.attention.key_length\x04\0\0\0\x10",
            b"qwen3.attention.key_length\x04\0\0\0\0"
        )
        .contains("size of heads")
    );
    // A tensor with more dimensions than there are, and one of a kind that there is not.
    let name = b"output_norm.weight\x01\0\0\0\x20\0\0\0\0\0\0\0\0\0\0\0";
    assert!(refusal(name, b"output_norm.weight\xff").contains("dimensions"));
    assert!(
        refusal(name, b"output_norm.weight\x01\0\0\0\x20\0\0\0\0\0\0\0\x63").contains("kind 99")
    );
    assert!(
        refusal(
            name,
            b"output_norm.weight\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff"
        )
        .contains("within the file")
    );
    for length in (0..3_000)
        .step_by(31)
        .chain([bytes.len() / 2, bytes.len() - 64])
    {
        tiny.write("tiny.gguf", &bytes[..length]);
        assert!(tiny.refusal().contains("tiny.gguf"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // The first three kilobytes are the header.
    #[test]
    fn changed_gguf_files_are_run_or_refused(changes in prop::collection::vec((0usize..3_000, any::<u8>()), 1..4)) {
        static WHOLE: std::sync::LazyLock<(Tiny, Vec<u8>)> = std::sync::LazyLock::new(gguf);
        let (tiny, whole) = &*WHOLE;
        let mut bytes = whole.clone();
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        tiny.write("tiny.gguf", bytes);
        if let Ok(model) = tiny.open() {
            let _ = model.embed(&["some text"], Purpose::Passage);
        }
    }
}

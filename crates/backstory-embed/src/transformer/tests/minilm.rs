//! The real all-MiniLM-L6-v2 against what `sentence-transformers`, version 6.2, makes of it.

use super::*;

/// Names a folder with the model's files: `config.json`, `tokenizer.json`, `model.safetensors` and those beside them.
const FOLDER: &str = "BACKSTORY_TEST_MINILM";

#[test]
#[allow(clippy::print_stderr)]
fn minilm_gives_what_the_reference_gives() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        eprintln!("not given weights: {FOLDER} is not set, so only tiny networks were run");
        let model = Tiny::new(Family::Bert, 32).open().unwrap();
        assert_eq!(model.embed(&TEXTS, Purpose::Passage).unwrap().len(), 96);
        return;
    };
    let imported = tempfile::tempdir().unwrap();
    let imported = imported.path().join("minilm");
    crate::import(Path::new(&folder), &imported).unwrap();
    let model = crate::Model::open(&imported).unwrap();
    let long = "fn main() { println!(\"{}\", 6 * 7); } // ".repeat(40);
    let texts = [
        "How do I undo the last commit without losing my changes?",
        "git reset --soft HEAD~1 keeps the working tree and the index; only the branch moves back.",
        "Die Schüler müssen über den Fluß 東京 café naïve",
        &long,
        "",
    ];
    let expected: [[f32; 8]; 5] = [
        [
            -0.006660, 0.016366, 0.025226, 0.070363, 0.028190, 0.054835, -0.049412, -0.073281,
        ],
        [
            0.035645, -0.055936, 0.059402, 0.089874, 0.082578, -0.069633, 0.000766, -0.050041,
        ],
        [
            0.070090, 0.014365, 0.050039, -0.024399, 0.006260, 0.045050, 0.099081, 0.004958,
        ],
        [
            -0.036766, 0.005531, -0.032223, -0.017360, -0.119158, 0.010887, 0.003108, 0.045292,
        ],
        [
            -0.118838, 0.048299, -0.002548, -0.011011, 0.051951, 0.010292, 0.115433, 0.000701,
        ],
    ];
    let rows = model.embed(&texts, Purpose::Passage, None).unwrap();
    assert_eq!(rows.len(), texts.len() * 384);
    for (row, expected) in rows.chunks_exact(384).zip(expected) {
        for (found, expected) in row.iter().zip(expected) {
            assert!(
                (found - expected).abs() < 1e-5,
                "{:?} is not {expected:?}",
                &row[..8]
            );
        }
    }
    let product: f32 = rows[..384]
        .iter()
        .zip(&rows[384..768])
        .map(|(one, two)| one * two)
        .sum();
    assert!((product - 0.421_794).abs() < 1e-5, "{product}");
}

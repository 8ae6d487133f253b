//! Embeddings in HDF5 files.

use backstory_columnar::SessionFile;

use super::{output, turn};
use crate::environment::{Environment, claude_id, claude_path};
use crate::meaning::{model_folder, with_model};

#[test]
fn messages_are_embedded_with_the_model_in_use_or_named() {
    let environment = with_model();
    let log = environment.home().join(claude_path(1));
    let log = log.to_str().unwrap();
    let model = |file: &str| {
        let file = SessionFile::open(file.as_ref()).unwrap();
        let session = file.session(&claude_id(1)).unwrap().read().unwrap();
        let embeddings = session.messages.into_iter().map(|row| row.embedding);
        let lengths: Vec<_> = embeddings.map(|row| row.map(|row| row.len())).collect();
        (session.attributes.embedding_model, lengths)
    };
    let with_vectors = (Some("tiny".to_string()), vec![Some(8); 2]);
    let without = (None, vec![None; 2]);
    let (export, convert) = (
        output(&environment, "export.h5"),
        output(&environment, "convert.h5"),
    );
    environment.json(&["export", "-o", &export]);
    assert_eq!(model(&export), with_vectors);
    environment.json(&["convert", log, "-o", &convert, "--no-embed"]);
    assert_eq!(model(&convert), without);
    environment.json(&["convert", log, "-o", &convert, "--embed", "tiny"]);
    assert_eq!(model(&convert), with_vectors, "written again with vectors");
    let other = Environment::new();
    let log = other.write(&claude_path(1), turn(1));
    let file = output(&other, "all.h5");
    let arguments = ["convert", log.to_str().unwrap(), "-o", &file];
    let outcome = other.run(&[&arguments[..], &["--embed", "nothing"]].concat());
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("nothing"), "{}", outcome.stderr);
    let folder = model_folder(&other);
    let added = other.run(&["model", "add", folder.to_str().unwrap()]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    other.json(&[&arguments[..], &["--embed", "tiny"]].concat());
    assert_eq!(model(&file).0.as_deref(), Some("tiny"));
}

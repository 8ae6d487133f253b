//! What a writer leaves that dies at any step.

use std::collections::BTreeMap;

use super::*;
use crate::vectors::VectorError;

type Files = BTreeMap<String, Vec<u8>>;

fn files(folder: &Path) -> Files {
    let names = names(folder).into_iter();
    names
        .map(|name| (name.clone(), std::fs::read(folder.join(name)).unwrap()))
        .collect()
}

fn lay(folder: &Path, files: &Files) {
    for name in names(folder) {
        std::fs::remove_file(folder.join(name)).unwrap();
    }
    for (name, bytes) in files {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
}

/// The states that a folder goes through while a set is written from `before` to `after`, with `between` as it is just before the
/// manifest is replaced; and for each whether the new set counts.
fn states(before: &Files, between: &Files, after: &Files) -> Vec<(Files, bool)> {
    let mut states = vec![(before.clone(), false), (between.clone(), false)];
    for (name, bytes) in between
        .iter()
        .filter(|(name, _)| !before.contains_key(*name))
    {
        for length in [0, 1, 100, bytes.len() / 2, bytes.len() - 1] {
            let mut files = before.clone();
            files.insert(name.clone(), bytes[..length].to_vec());
            states.push((files, false));
        }
    }
    for length in [0, 10, after["manifest"].len()] {
        let mut files = between.clone();
        files.insert("manifest.new".into(), after["manifest"][..length].to_vec());
        states.push((files, false));
    }
    let mut replaced = between.clone();
    replaced.insert("manifest".into(), after["manifest"].clone());
    // The old segments are removed one by one.
    for name in between.keys().filter(|name| !after.contains_key(*name)) {
        states.push((replaced.clone(), true));
        replaced.remove(name);
    }
    states.push((after.clone(), true));
    states
}

#[test]
fn a_crash_leaves_the_old_set_or_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let rows = Clusters::new(8, 4).rows(60);
    add(folder.path(), 8, 1, &rows);
    let before = files(folder.path());
    // A writer that stops before it replaces the manifest: its segments are there, and what it replaces still is.
    let mut unfinished = writer(folder.path(), 8);
    unfinished.append(&keys(2, 30), &rows[..30 * 8]).unwrap();
    unfinished.flush().unwrap();
    let after_flush = files(folder.path());
    unfinished.commit().unwrap();
    let after = files(folder.path());
    let between: Files = after_flush
        .iter()
        .chain(&after)
        .filter(|(name, _)| *name != "manifest")
        .chain([(&"manifest".to_string(), &before["manifest"])])
        .map(|(name, bytes)| (name.clone(), bytes.clone()))
        .collect();
    assert!(between.len() > after_flush.len() && !after.contains_key("00000001.vectors"));

    for (state, new) in states(&before, &between, &after) {
        lay(folder.path(), &state);
        let shown = state.keys();
        assert_eq!(
            open(folder.path(), 8).len(),
            if new { 90 } else { 60 },
            "{shown:?}"
        );
        // The next writer goes on from there and cleans up.
        add(folder.path(), 8, 3, &rows[..8]);
        let vectors = open(folder.path(), 8);
        assert_eq!(vectors.len(), if new { 91 } else { 61 }, "{shown:?}");
        assert_eq!(
            names(folder.path()).len(),
            2,
            "{shown:?}: {:?}",
            names(folder.path())
        );
        let found = vectors
            .search(&rows[..8], 5, |key| key.session.get() == 3)
            .unwrap();
        assert_eq!(found.len(), 1);
    }
}

#[test]
fn a_writer_that_gives_up_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let rows = Clusters::new(8, 4).rows(60);
    let mut unfinished = writer(folder.path(), 8);
    unfinished.append(&keys(1, 60), &rows).unwrap();
    unfinished.flush().unwrap();
    drop(unfinished);
    assert!(open(folder.path(), 8).is_empty());
    add(folder.path(), 8, 2, &rows[..80]);
    assert!(open(folder.path(), 8).keys().eq(keys(2, 10)));
    assert_eq!(names(folder.path()).len(), 2);
}

#[test]
fn damage_is_not_written_on() {
    let folder = tempfile::tempdir().unwrap();
    let rows = Clusters::new(8, 4).rows(60);
    add(folder.path(), 8, 1, &rows);
    let segment = folder.path().join("00000001.vectors");
    let mut bytes = std::fs::read(&segment).unwrap();
    let last = bytes.len() - 20;
    bytes[last] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    let mut writer = writer(folder.path(), 8);
    writer.append(&keys(2, 60), &rows).unwrap();
    // Both segments are small: they would become one.
    let error = writer.commit().unwrap_err();
    assert!(matches!(error, VectorError::Damaged { path, .. } if path == segment));
}

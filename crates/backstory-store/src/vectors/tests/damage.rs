//! Whatever happens to a file, it is told or the answers stay the same.

use super::*;
use crate::vectors::VectorError;
use crate::vectors::layout::{Entry, Model};
use crate::vectors::manifest::Manifest;

const DIMENSIONS: usize = 8;

/// A set of several segments, and queries with their answers.
struct Sound {
    folder: tempfile::TempDir,
    queries: Vec<Vec<f32>>,
    answers: Vec<Vec<(VectorKey, f32)>>,
}

fn sound() -> Sound {
    let folder = tempfile::tempdir().unwrap();
    let mut clusters = Clusters::new(DIMENSIONS, 4);
    for (session, count) in [(1, 4200), (2, 60)] {
        add(folder.path(), DIMENSIONS, session, &clusters.rows(count));
    }
    assert_eq!(names(folder.path()).len(), 3);
    let queries: Vec<Vec<f32>> = (0..2).map(|_| clusters.vector()).collect();
    let answers = answers(folder.path(), &queries).unwrap();
    Sound {
        folder,
        queries,
        answers,
    }
}

fn answers(folder: &Path, queries: &[Vec<f32>]) -> Result<Vec<Vec<(VectorKey, f32)>>, VectorError> {
    let vectors = Vectors::open(folder, &MODEL, DIMENSIONS)?;
    queries
        .iter()
        .map(|query| vectors.search(query, 10, |_| true))
        .collect()
}

/// Changes a file and says whether that was told; it is a fault when it was not and an answer changed, or another file was named.
fn told(sound: &Sound, name: &str, bytes: Option<&[u8]>) -> bool {
    let path = sound.folder.path().join(name);
    let before = std::fs::read(&path).unwrap();
    match bytes {
        Some(bytes) => std::fs::write(&path, bytes).unwrap(),
        None => std::fs::remove_file(&path).unwrap(),
    }
    let told = match answers(sound.folder.path(), &sound.queries) {
        Ok(answers) => {
            assert_eq!(answers, sound.answers, "{name}");
            false
        }
        Err(VectorError::Damaged { path: named, .. }) => {
            assert_eq!(named, path);
            true
        }
        Err(error) => panic!("{name}: {error}"),
    };
    std::fs::write(&path, before).unwrap();
    told
}

#[test]
fn a_changed_byte_is_told_or_does_not_matter() {
    let sound = sound();
    for name in names(sound.folder.path()) {
        let bytes = std::fs::read(sound.folder.path().join(&name)).unwrap();
        // All of the small files, and of the large one more than each of its parts.
        let step = (bytes.len() / 60).max(1);
        let mut caught = 0;
        for at in (0..bytes.len()).step_by(step).chain([bytes.len() - 1]) {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            caught += usize::from(told(&sound, &name, Some(&changed)));
        }
        assert!(caught > 20, "{name}: {caught}");
    }
    assert_eq!(
        answers(sound.folder.path(), &sound.queries).unwrap(),
        sound.answers
    );
}

#[test]
fn a_row_that_is_compared_is_checked() {
    let sound = sound();
    let name = "00000001.vectors";
    let bytes = std::fs::read(sound.folder.path().join(name)).unwrap();
    let row_bytes = 64 + 32 + 4 + 4;
    let rows_start = bytes.len() - 4200 * row_bytes;
    let best = sound.answers[0]
        .iter()
        .find(|(key, _)| key.session.get() == 1)
        .unwrap()
        .0
        .seq
        .get() as usize;
    for at in (0..row_bytes).step_by(3).chain([row_bytes - 1]) {
        let mut changed = bytes.clone();
        changed[rows_start + best * row_bytes + at] ^= 1;
        assert!(told(&sound, name, Some(&changed)), "{at}");
    }
    // Another row in its place, whole and with its checksum.
    let mut changed = bytes;
    let other = rows_start + (best + 1) % 4200 * row_bytes;
    changed.copy_within(other..other + row_bytes, rows_start + best * row_bytes);
    assert!(told(&sound, name, Some(&changed)));
}

#[test]
fn a_file_that_is_shorter_longer_or_gone_is_told() {
    let sound = sound();
    for name in names(sound.folder.path()) {
        let bytes = std::fs::read(sound.folder.path().join(&name)).unwrap();
        for length in [0, 1, 7, 8, 50, 127, 128, bytes.len() / 2, bytes.len() - 1] {
            if length < bytes.len() {
                assert!(
                    told(&sound, &name, Some(&bytes[..length])),
                    "{name}: {length}"
                );
            }
        }
        let longer: Vec<u8> = bytes.iter().copied().chain([0]).collect();
        assert!(told(&sound, &name, Some(&longer)), "{name}");
        assert!(told(&sound, &name, None), "{name}");
    }
}

#[test]
fn one_file_in_the_place_of_another_is_told() {
    let sound = sound();
    let names = names(sound.folder.path());
    for name in &names {
        for other in &names {
            let bytes = std::fs::read(sound.folder.path().join(other)).unwrap();
            assert_eq!(
                told(&sound, name, Some(&bytes)),
                name != other,
                "{other} as {name}"
            );
        }
    }
}

#[test]
fn rows_of_a_large_set_are_checked_as_well() {
    // They are read then, not mapped.
    let sound = sound();
    let name = "00000001.vectors";
    let path = sound.folder.path().join(name);
    let bytes = std::fs::read(&path).unwrap();
    let answers = |folder: &Path| {
        let vectors = Vectors::open_mapping(folder, &MODEL, DIMENSIONS, 0)?;
        sound
            .queries
            .iter()
            .map(|query| vectors.search(query, 10, |_| true))
            .collect::<Result<Vec<_>, _>>()
    };
    assert_eq!(answers(sound.folder.path()).unwrap(), sound.answers);
    let mut changed = bytes.clone();
    let rows = bytes.len() - 4200 * 104;
    for byte in changed[rows..].iter_mut().step_by(104) {
        *byte ^= 4;
    }
    std::fs::write(&path, changed).unwrap();
    assert!(
        matches!(answers(sound.folder.path()), Err(VectorError::Damaged { path: named, .. }) if named == path)
    );
}

#[test]
fn a_folder_in_the_place_of_a_file_is_told() {
    let sound = sound();
    for name in names(sound.folder.path()) {
        let path = sound.folder.path().join(name);
        let before = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        let error = answers(sound.folder.path(), &sound.queries).unwrap_err();
        assert!(matches!(error, VectorError::Damaged { .. }), "{error}");
        std::fs::remove_dir(&path).unwrap();
        std::fs::write(&path, before).unwrap();
    }
}

#[test]
fn a_manifest_that_lies_is_told() {
    let folder = tempfile::tempdir().unwrap();
    add(
        folder.path(),
        DIMENSIONS,
        1,
        &Clusters::new(DIMENSIONS, 4).rows(3),
    );
    let sound = Manifest::read(folder.path()).unwrap().unwrap();
    let [entry] = sound.entries[..] else {
        panic!("one segment");
    };
    let lies = [
        vec![Entry { rows: 0, ..entry }],
        vec![Entry { rows: 4, ..entry }],
        vec![Entry {
            rows: u64::MAX,
            ..entry
        }],
        vec![
            Entry {
                rows: u64::MAX / 2,
                ..entry
            };
            3
        ],
        vec![
            Entry {
                rows: u64::from(u32::MAX),
                ..entry
            };
            2
        ],
        vec![Entry {
            number: u64::MAX,
            ..entry
        }],
        vec![Entry { hash: 0, ..entry }],
    ];
    for entries in lies {
        let lie = Manifest {
            entries,
            ..sound.clone()
        };
        lie.write(folder.path()).unwrap();
        let error = Vectors::open(folder.path(), &MODEL, DIMENSIONS).unwrap_err();
        assert!(
            matches!(error, VectorError::Damaged { .. }),
            "{lie:?}: {error}"
        );
    }
    let model = Model {
        dimensions: 0,
        ..sound.model
    };
    Manifest { model, ..sound }.write(folder.path()).unwrap();
    let error = Vectors::open(folder.path(), &MODEL, DIMENSIONS).unwrap_err();
    assert!(matches!(error, VectorError::OtherModel { .. }));
}

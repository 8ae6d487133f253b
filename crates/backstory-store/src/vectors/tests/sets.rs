//! What a set holds after it was written to.

use backstory_event::SessionId;
use proptest::prelude::*;

use super::*;
use crate::vectors::VectorError;

#[test]
fn a_folder_that_is_not_there_is_an_empty_set() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let vectors = open(&missing, 8);
    assert!(vectors.is_empty());
    assert_eq!(vectors.search(&[1.0; 8], 5, |_| true).unwrap(), []);
    assert!(!missing.exists());
}

#[test]
fn another_model_is_told() {
    let folder = tempfile::tempdir().unwrap();
    add(folder.path(), 2, 1, &[1.0, 2.0]);
    let other =
        |result: Result<(), VectorError>| matches!(result, Err(VectorError::OtherModel { .. }));
    assert!(other(Vectors::open(folder.path(), &MODEL, 3).map(drop)));
    assert!(other(Vectors::open(folder.path(), &[8; 32], 2).map(drop)));
    assert!(other(
        VectorWriter::open(folder.path(), &[8; 32], 2).map(drop)
    ));
    assert_eq!(open(folder.path(), 2).len(), 1);
}

#[test]
fn vectors_come_out_as_they_went_in() {
    for dimensions in [3, 64, 100, 384] {
        let folder = tempfile::tempdir().unwrap();
        let rows = Clusters::new(dimensions, 8).rows(300);
        add(folder.path(), dimensions, 1, &rows);
        let mut at = 0;
        let vectors = open(folder.path(), dimensions);
        let visited = vectors.visit(|key, vector| {
            assert_eq!(key, self::key(1, at));
            let row = &rows[at as usize * dimensions..][..dimensions];
            let length = row.iter().map(|value| value * value).sum::<f32>().sqrt();
            for (value, found) in row.iter().zip(&vector) {
                assert!(
                    (value / length - found).abs() < 2e-3,
                    "{dimensions}: {value} {found}"
                );
            }
            at += 1;
        });
        visited.unwrap();
        assert_eq!(at, 300);
    }
}

#[test]
fn wrong_lengths_are_told() {
    let folder = tempfile::tempdir().unwrap();
    for dimensions in [0, 4097] {
        let found = Vectors::open(folder.path(), &MODEL, dimensions);
        assert!(matches!(found, Err(VectorError::Unsupported { .. })));
    }
    let mut writer = writer(folder.path(), 2);
    assert!(matches!(
        writer.append(&keys(1, 2), &[1.0; 3]),
        Err(VectorError::Dimensions { .. })
    ));
    let vectors = open(folder.path(), 2);
    assert!(matches!(
        vectors.search(&[1.0; 3], 1, |_| true),
        Err(VectorError::Dimensions { .. })
    ));
}

#[test]
fn many_small_additions_leave_few_files_and_the_same_answers() {
    let mut clusters = Clusters::new(16, 8);
    let counts = [4200]
        .into_iter()
        .chain((1..20).map(|session| 1 + session * 17 % 60));
    let rows: Vec<Vec<f32>> = counts.map(|count| clusters.rows(count)).collect();
    let [small, whole] = [0, 1].map(|_| tempfile::tempdir().unwrap());
    let mut writer = writer(whole.path(), 16);
    for (session, rows) in rows.iter().enumerate() {
        add(small.path(), 16, session as u32, rows);
        writer
            .append(&keys(session as u32, rows.len() / 16), rows)
            .unwrap();
        // A large set cannot be one segment at once.
        if session == 10 {
            writer.flush().unwrap();
        }
    }
    writer.commit().unwrap();
    assert!(names(small.path()).len() == 3, "{:?}", names(small.path()));
    let [small, whole] = [small, whole].map(|folder| open(folder.path(), 16));
    assert!(small.keys().eq(whole.keys()));
    for _ in 0..5 {
        let query = clusters.vector();
        let [small, whole] =
            [&small, &whole].map(|vectors| vectors.search(&query, 10, |_| true).unwrap());
        assert_eq!(small, whole);
    }
}

#[test]
fn what_is_open_stays_what_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let rows = Clusters::new(8, 4).rows(50);
    add(folder.path(), 8, 1, &rows);
    let before = open(folder.path(), 8);
    let mut writer = writer(folder.path(), 8);
    writer.remove_session(1.into());
    writer.append(&keys(2, 50), &rows).unwrap();
    writer.commit().unwrap();
    assert!(
        before
            .search(&rows[..8], 5, |_| true)
            .unwrap()
            .iter()
            .all(|(key, _)| key.session.get() == 1)
    );
    assert!(
        open(folder.path(), 8)
            .keys()
            .all(|key| key.session.get() == 2)
    );
}

#[test]
fn reading_and_writing_do_not_disturb_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let rows = Clusters::new(8, 4).rows(20);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = 0;
            while seen < 40 * 20 {
                let vectors = open(folder.path(), 8);
                assert!(vectors.len() >= seen && vectors.len().is_multiple_of(20));
                vectors.search(&rows[..8], 5, |_| true).unwrap();
                seen = vectors.len();
            }
        });
        for session in 0..40 {
            add(folder.path(), 8, session, &rows);
        }
        reader.join().unwrap();
    });
}

#[test]
fn a_commit_without_changes_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    add(folder.path(), 2, 1, &[1.0, 2.0]);
    let before = names(folder.path());
    let mut writer = writer(folder.path(), 2);
    writer.remove_session(9.into());
    writer.commit().unwrap();
    assert_eq!(names(folder.path()), before);
}

#[cfg(unix)]
#[test]
fn only_the_user_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let vectors = folder.path().join("vectors").join("model");
    add(&vectors, 2, 1, &[1.0, 2.0]);
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&vectors), 0o700);
    for name in names(&vectors) {
        assert_eq!(mode(&vectors.join(name)), 0o600);
    }
}

/// A step of a writer.
#[derive(Debug, Clone)]
enum Step {
    Append(u32, usize),
    Remove(u32),
    /// What happens by itself when much was added.
    Flush,
    Commit,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_set_holds_what_was_added_and_not_taken_out(steps in proptest::collection::vec(prop_oneof![
        3 => (0..6u32, 1..50usize).prop_map(|(session, count)| Step::Append(session, count)),
        1 => (0..6u32).prop_map(Step::Remove),
        1 => Just(Step::Flush),
        1 => Just(Step::Commit),
    ], 0..20)) {
        let folder = tempfile::tempdir().unwrap();
        let mut expected: Vec<VectorKey> = Vec::new();
        let mut writing = Some(writer(folder.path(), 3));
        for step in steps.into_iter().chain([Step::Commit]) {
            let writer = writing.as_mut().unwrap();
            match step {
                Step::Append(session, count) => {
                    let first = expected.len() as u32;
                    let added: Vec<_> = (first..first + count as u32).map(|seq| key(session, seq)).collect();
                    let rows: Vec<f32> = added.iter().flat_map(|key| direction(*key)).collect();
                    writer.append(&added, &rows).unwrap();
                    expected.extend(added);
                }
                Step::Remove(session) => {
                    writer.remove_session(session.into());
                    expected.retain(|key| key.session.get() != session);
                }
                Step::Flush => writer.flush().unwrap(),
                Step::Commit => {
                    writing.take().unwrap().commit().unwrap();
                    writing = Some(self::writer(folder.path(), 3));
                }
            }
        }
        let vectors = open(folder.path(), 3);
        prop_assert_eq!(vectors.keys().collect::<Vec<_>>(), expected.clone());
        for key in expected {
            // Rows stay with their keys.
            let found = vectors.search(&direction(key), 1, |other| other == key).unwrap();
            prop_assert!(found.len() == 1 && found[0].1 > 0.999, "{:?}: {:?}", key, found);
        }
    }
}

/// A direction of each key's own.
fn direction(key: VectorKey) -> [f32; 3] {
    let mut random = Random(u64::from(key.session.get()) << 32 | u64::from(key.seq.get()));
    random.next();
    [random.normal(), random.normal(), 0.3]
}

#[test]
fn sessions_are_taken_out_whatever_the_model() {
    let folder = tempfile::tempdir().unwrap();
    assert!(
        VectorWriter::open_existing(folder.path())
            .unwrap()
            .is_none()
    );
    for session in [1, 2, 3] {
        add(folder.path(), 2, session, &[1.0, 2.0, 3.0, 4.0]);
    }
    let mut writer = VectorWriter::open_existing(folder.path()).unwrap().unwrap();
    assert_eq!(
        Vec::from_iter(writer.sessions().unwrap()),
        [1, 2, 3].map(SessionId::from)
    );
    writer.remove_session(2.into());
    writer.commit().unwrap();
    let left: Vec<u32> = open(folder.path(), 2)
        .keys()
        .map(|key| key.session.get())
        .collect();
    assert_eq!(left, [1, 1, 3, 3]);
}

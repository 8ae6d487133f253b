//! Whether a search finds what an exact one finds.

use super::*;

fn exact(rows: &[f32], query: &[f32]) -> Vec<f32> {
    let dot = |left: &[f32], right: &[f32]| -> f32 {
        left.iter()
            .zip(right)
            .map(|(left, right)| left * right)
            .sum()
    };
    let length = |vector: &[f32]| dot(vector, vector).sqrt();
    rows.chunks_exact(query.len())
        .map(|row| dot(row, query) / length(row) / length(query))
        .collect()
}

#[test]
fn finds_the_ten_nearest() {
    for dimensions in [64, 100, 256] {
        let folder = tempfile::tempdir().unwrap();
        let mut clusters = Clusters::new(dimensions, 10);
        let rows = clusters.rows(1200);
        add(folder.path(), dimensions, 1, &rows);
        let vectors = open(folder.path(), dimensions);
        let (mut by_code, mut found, queries) = (0, 0, 10);
        for _ in 0..queries {
            let query = clusters.vector();
            let cosines = exact(&rows, &query);
            let mut best = cosines.clone();
            best.sort_by(|left, right| right.total_cmp(left));
            let right = |row: u32| usize::from(cosines[row as usize] >= best[9] - 1e-6);
            by_code += (vectors.nearest_by_code(&query, 100).into_iter().map(right)).sum::<usize>();
            for (key, cosine) in vectors.search(&query, 10, |_| true).unwrap() {
                let error = cosine - cosines[key.seq.get() as usize];
                assert!(error.abs() < 3e-4, "{dimensions}: {error}");
                found += right(key.seq.get());
            }
        }
        // A search looks closely at five times as many.
        assert!(by_code >= 9 * queries, "{dimensions}: {by_code} by code");
        assert!(found * 100 >= 99 * 10 * queries, "{dimensions}: {found}");
    }
}

#[test]
fn a_vector_is_nearest_to_itself() {
    for dimensions in [1, 3, 64, 65, 200, 1000, 4096] {
        let folder = tempfile::tempdir().unwrap();
        let rows = Clusters::new(dimensions, 10).rows(20);
        add(folder.path(), dimensions, 1, &rows);
        let vectors = open(folder.path(), dimensions);
        for row in rows.chunks_exact(dimensions) {
            // Twelve bits for each dimension tell these rows apart; in one dimension there are only two directions.
            let (key, cosine) = vectors.search(row, 1, |_| true).unwrap()[0];
            let nearest = &rows[key.seq.get() as usize * dimensions..][..dimensions];
            assert!(dimensions == 1 || nearest == row, "{dimensions}");
            assert!((cosine - 1.0).abs() < 1e-4, "{dimensions}: {cosine}");
        }
    }
}

#[test]
fn only_what_is_allowed_counts() {
    let folder = tempfile::tempdir().unwrap();
    let mut clusters = Clusters::new(64, 4);
    let rows = clusters.rows(1500);
    add(folder.path(), 64, 1, &rows);
    let vectors = open(folder.path(), 64);
    let query = clusters.vector();
    let cosines = exact(&rows, &query);
    let mut expected: Vec<usize> = (0..1500).filter(|at| at % 300 == 7).collect();
    expected.sort_by(|left, right| cosines[*right].total_cmp(&cosines[*left]));
    let found = vectors
        .search(&query, 20, |key| key.seq.get() % 300 == 7)
        .unwrap();
    let found: Vec<usize> = found
        .iter()
        .map(|(key, _)| key.seq.get() as usize)
        .collect();
    assert_eq!(found, expected);
    assert_eq!(vectors.search(&query, 20, |_| false).unwrap(), []);
}

#[test]
fn an_event_is_given_once_with_its_best_piece() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer(folder.path(), 2);
    let piece = |seq: u32, chunk| VectorKey {
        session: 5.into(),
        seq: seq.into(),
        chunk,
    };
    let keys = [piece(1, 0), piece(1, 1), piece(2, 0), piece(1, 2)];
    writer
        .append(&keys, &[0.0, 1.0, 1.0, 0.0, 1.0, 0.5, 0.9, 0.1])
        .unwrap();
    writer.commit().unwrap();
    let found = open(folder.path(), 2)
        .search(&[2.0, 0.0], 10, |_| true)
        .unwrap();
    assert_eq!(
        found.iter().map(|(key, _)| *key).collect::<Vec<_>>(),
        [piece(1, 1), piece(2, 0)]
    );
    assert!((found[1].1 - 0.8944).abs() < 1e-3);
}

#[test]
fn what_points_nowhere_is_neither_found_nor_finds() {
    let folder = tempfile::tempdir().unwrap();
    let rows = [
        0.0,
        0.0,
        f32::NAN,
        1.0,
        3.0,
        4.0,
        f32::INFINITY,
        0.0,
        f32::MAX,
        f32::MAX,
    ];
    add(folder.path(), 2, 1, &rows);
    let vectors = open(folder.path(), 2);
    assert_eq!(vectors.len(), 5);
    let found = vectors.search(&[1.0, 1.0], 10, |_| true).unwrap();
    assert_eq!(
        found
            .iter()
            .map(|(key, _)| key.seq.get())
            .collect::<Vec<_>>(),
        [4, 2]
    );
    for query in [[0.0, 0.0], [f32::NAN, 1.0], [f32::INFINITY, 1.0]] {
        assert_eq!(vectors.search(&query, 10, |_| true).unwrap(), []);
    }
    assert_eq!(vectors.search(&[1.0, 1.0], 0, |_| true).unwrap(), []);
}

//! Histories of files, however they come together.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use proptest::prelude::*;
use rusqlite::Connection;

use super::*;
use crate::open::MIGRATIONS;

const ROOT: &str = "/home/ada/shop";

fn project() -> Project {
    Project {
        root: ROOT.to_string(),
        remote: None,
    }
}

fn symbol<'a>(name: &'a str, hash: u32, line: usize) -> NewSymbol<'a> {
    let call = NewCall {
        callee: "till.count",
        resolved: Some("till.count"),
        how: if hash.is_multiple_of(2) {
            "import"
        } else {
            "injected"
        },
        line: line + 1,
    };
    NewSymbol {
        name,
        kind: "function",
        signature: "def pay(total)",
        decorators: &[],
        doc: Some("Takes money."),
        body_hash: hash,
        own_hash: hash,
        has_body: true,
        line_start: line,
        line_end: line + 2,
        calls: vec![call],
    }
}

/// The only file.
const FILE: FileId = FileId::new(1);

/// A file with functions that have these hashes, below so many other lines.
fn snapshot(
    session: u32,
    turn: i64,
    at: i64,
    first: usize,
    hashes: &[u32],
) -> NewSnapshot<'static> {
    const NAMES: [&str; 4] = ["a", "b", "c", "d"];
    let symbols = hashes.iter().zip(NAMES).enumerate();
    NewSnapshot {
        session: session.into(),
        turn: u32::try_from(turn).ok().map(TurnNo::new),
        at: at.into(),
        has_errors: false,
        symbols: symbols
            .filter(|(_, (hash, _))| **hash > 0)
            .map(|(place, (hash, name))| symbol(name, *hash, first + 4 * place))
            .collect(),
        prior: Vec::new(),
    }
}

fn sessions(store: &Store, count: i64) {
    for id in 1..=count {
        let insert = "INSERT INTO sessions (id, agent, session, started_at) VALUES (?1, 'claude-code', 's' || ?1, 0)";
        store.connection.execute(insert, [id]).unwrap();
    }
}

/// What is stored, byte for byte.
fn dump(store: &Store) -> Vec<String> {
    let rows = "SELECT json_array(file, part, place, session, turn, at, gone, broken_at) FROM snapshots \
         UNION ALL SELECT json_array(id, hex(states)) FROM snapshot_states";
    let mut statement = store.connection.prepare(rows).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.collect::<rusqlite::Result<_>>().unwrap()
}

/// Adds snapshots, storing after each or when all are there.
fn stored(snapshots: &[NewSnapshot<'static>], in_pieces: bool) -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    sessions(&store, 9);
    for snapshots in snapshots.chunks(if in_pieces { 1 } else { snapshots.len().max(1) }) {
        let coding = store.coding().unwrap();
        let file = coding.file(&project(), "shop.py").unwrap();
        for snapshot in snapshots {
            coding.add_snapshot(file, snapshot.clone()).unwrap();
        }
        coding.commit().unwrap();
    }
    (folder, store)
}

/// A line for each symbol: `name hash first-last call-line`.
fn shown(snapshot: &FileSnapshot) -> Vec<String> {
    let line = |placed: &PlacedSymbol| {
        let record = &placed.record;
        let call = i64::from(placed.line_start) + record.calls[0].line;
        format!(
            "{} {} {}-{} {call} {}",
            record.name, record.body_hash, placed.line_start, placed.line_end, record.calls[0].how
        )
    };
    snapshot.symbols.iter().map(line).collect()
}

fn expected(new: &NewSnapshot<'_>) -> Vec<String> {
    let line = |symbol: &NewSymbol<'_>| {
        let (start, end) = (symbol.line_start, symbol.line_end);
        let call = &symbol.calls[0];
        format!(
            "{} {} {start}-{end} {} {}",
            symbol.name, symbol.body_hash, call.line, call.how
        )
    };
    new.symbols.iter().map(line).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The order in which snapshots come and how many are stored at once changes nothing, and each is given back as it was.
    #[test]
    fn the_same_history_is_stored_in_the_same_way(
        states in prop::collection::vec((1..200_i64, 1..4_u32, 1..9_usize, prop::collection::vec(0..5_u32, 4)), 1..20),
    ) {
        let mut states = states;
        states.sort_by_key(|state| state.0);
        states.dedup_by_key(|state| state.0);
        let snapshots: Vec<_> = (1..)
            .zip(&states)
            .map(|(turn, (at, session, first, hashes))| snapshot(*session, turn, *at, *first, hashes))
            .collect();
        let (_at_once, store) = stored(&snapshots, false);
        let (_in_pieces, pieces) = stored(&snapshots, true);
        prop_assert_eq!(dump(&store), dump(&pieces));
        let backwards: Vec<_> = snapshots.iter().rev().cloned().collect();
        let (_backwards, store_backwards) = stored(&backwards, true);
        prop_assert_eq!(dump(&store), dump(&store_backwards));
        for snapshot in &snapshots {
            let found = store.file_snapshot(FILE, Some(snapshot.at)).unwrap().unwrap();
            prop_assert_eq!(shown(&found), expected(snapshot));
            prop_assert_eq!((found.session, found.turn), (snapshot.session, snapshot.turn));
        }
        prop_assert!(store.update_checksums().unwrap());
        prop_assert_eq!(store.verify_all().unwrap().damage, []);
    }
}

#[test]
fn long_histories_are_stored_in_parts() {
    let snapshots: Vec<_> = (0..2000_u32)
        .map(|turn| snapshot(1, i64::from(turn), i64::from(turn) * 10, 1, &[turn + 1, 7]))
        .collect();
    let (_folder, store) = stored(&snapshots, false);
    let parts = "SELECT COUNT(*), MAX(LENGTH(states)) FROM snapshot_states";
    let (count, longest): (u64, u64) = store
        .connection
        .query_row(parts, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    assert!(count > 2 && longest < 64 << 10, "{count} {longest}");
    for turn in [0, 999, 1999] {
        let found = store
            .file_snapshot(FILE, Some(TimeMs::new(turn * 10 + 5)))
            .unwrap()
            .unwrap();
        assert_eq!(shown(&found), expected(&snapshots[turn as usize]));
    }
    // One in the middle.
    let mut all = snapshots.clone();
    all.insert(1000, snapshot(2, 1, 9995, 1, &[9999]));
    let (_other, expected_store) = stored(&all, false);
    let store = store;
    let coding = store.coding().unwrap();
    coding.add_snapshot(FILE, all[1000].clone()).unwrap();
    coding.commit().unwrap();
    assert_eq!(dump(&store), dump(&expected_store));
}

#[test]
fn a_turn_that_is_seen_in_pieces_has_one_snapshot() {
    let prior = |hash| PriorSymbol {
        name: "a".to_string(),
        kind: "function".to_string(),
        hash,
        line_start: 1,
        line_end: 3,
    };
    let with_prior = |mut snapshot: NewSnapshot<'static>, hash| {
        snapshot.prior = vec![prior(hash)];
        snapshot
    };
    let first = with_prior(snapshot(1, 1, 10, 1, &[2]), 1);
    let last = with_prior(snapshot(1, 1, 20, 1, &[3]), 2);
    let (_folder, store) = stored(&[first, last.clone()], true);
    let (_at_once, at_once) = stored(&[with_prior(last, 1)], false);
    assert_eq!(dump(&store), dump(&at_once));
    let found = store.file_snapshot(FILE, None).unwrap().unwrap();
    assert_eq!(found.change_types(), [ChangeType::Modified(1)]);
}

#[test]
fn snapshots_without_a_time_keep_their_order() {
    let snapshots: Vec<_> = (1..5)
        .map(|turn| snapshot(1, turn, 0, 1, &[turn as u32]))
        .collect();
    let (_folder, store) = stored(&snapshots, true);
    let last = store.file_snapshot(FILE, None).unwrap().unwrap();
    assert_eq!((last.turn, last.at), (Some(TurnNo::new(4)), TimeMs::new(3)));
}

/// Also where there is no checksum yet.
#[test]
fn what_cannot_be_unpacked_is_damage() {
    let (_folder, store) = stored(&[snapshot(1, 1, 10, 1, &[2])], false);
    for states in ["zeroblob(9)", "X'28B52FFD'"] {
        let update = format!("UPDATE snapshot_states SET states = {states}");
        store.connection.execute(&update, []).unwrap();
        let found = store.file_snapshot(FILE, None);
        assert!(
            matches!(found, Err(crate::Error::DamagedPiece(_))),
            "{found:?}"
        );
        let coding = store.coding().unwrap();
        coding
            .add_snapshot(FILE, snapshot(1, 2, 20, 1, &[3]))
            .unwrap();
        coding.commit().unwrap();
        assert_eq!(dump(&store).len(), 2);
    }
    store
        .connection
        .execute("DELETE FROM snapshot_states", [])
        .unwrap();
    assert_eq!(store.health().unwrap().orphans.len(), 1);
}

#[test]
fn damaged_snapshots_are_not_given_back_nor_built_upon() {
    let (_folder, store) = stored(&[snapshot(1, 1, 10, 1, &[2])], false);
    store.update_checksums().unwrap();
    let other = Connection::open(store.path()).unwrap();
    other.execute("UPDATE snapshots SET at = 11", []).unwrap();
    assert!(store.file_snapshot(FILE, None).is_err());
    assert!(store.function_map(&SnapshotFilter::default()).is_err());
    let coding = store.coding().unwrap();
    assert_eq!(
        coding.last_snapshot(&project(), "shop.py", None).unwrap(),
        None
    );
    coding
        .add_snapshot(FILE, snapshot(1, 2, 20, 1, &[3]))
        .unwrap();
    coding.commit().unwrap();
    assert_eq!(dump(&store).len(), 2);
    assert_eq!(store.verify_all().unwrap().damage.len(), 1);
}

/// The last snapshots of a store from before there were others become the first.
#[test]
fn an_older_store_keeps_its_last_snapshots() {
    let folder = tempfile::tempdir().unwrap();
    let older = MIGRATIONS
        .iter()
        .position(|migration| migration.contains("CREATE TABLE snapshot_states"))
        .unwrap();
    let database = Connection::open(folder.path().join("backstory.db")).unwrap();
    for migration in &MIGRATIONS[..older] {
        database.execute_batch(migration).unwrap();
    }
    let symbols = r#"{"symbols":[["Shop","class","class Shop",1,5,11,12,true],["Shop.pay","method","def pay(self)",2,5,13,null,true]],"has_errors":false}"#;
    database
        .execute_batch(
            "INSERT INTO projects (id, root) VALUES (1, '/home/ada/shop'); INSERT INTO code_files (id, project, name) VALUES (1, 1, 'shop.py'); \
             INSERT INTO sessions (id, agent, session, started_at) VALUES (1, 'claude-code', 's1', 0); \
             INSERT INTO symbol_changes (session, turn, file, name, change, at) VALUES (1, 3, 1, '', 1, 50); \
             INSERT INTO checksums (scope, unit, sum) VALUES (5, 1, 7);",
        )
        .unwrap();
    let insert = "INSERT INTO snapshots (file, session, at, text_hash, broken_at, symbols) VALUES (1, 1, 50, 9, 60, ?1)";
    let packed = crate::blocks::Packer::for_notes()
        .unwrap()
        .compress(symbols.as_bytes());
    database.execute(insert, [packed.unwrap()]).unwrap();
    database
        .pragma_update(None, "user_version", older as i64)
        .unwrap();
    drop(database);
    let store = Store::open(folder.path()).unwrap();
    let rows = store.function_map(&SnapshotFilter::default()).unwrap();
    let told: Vec<String> = rows
        .iter()
        .map(|row| {
            format!(
                "{} {}#{:?} {} {} {}-{}",
                row.file_path,
                row.session,
                row.turn.map(TurnNo::get),
                row.change_type,
                row.qualified_name,
                row.line_start,
                row.line_end
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "/home/ada/shop/shop.py s1#Some(3) unchanged Shop 1-5",
            "/home/ada/shop/shop.py s1#Some(3) unchanged Shop.pay 2-5",
        ]
    );
    assert_eq!(store.broken_files().unwrap(), [(FILE, TimeMs::new(60))]);
    store.update_checksums().unwrap();
    assert_eq!(store.verify_all().unwrap().damage, []);
    let coding = store.coding().unwrap();
    coding
        .add_snapshot(FILE, snapshot(1, 4, 70, 1, &[2]))
        .unwrap();
    coding.commit().unwrap();
    let first = store
        .file_snapshot(FILE, Some(TimeMs::new(50)))
        .unwrap()
        .unwrap();
    assert_eq!(first.symbols.len(), 2);
    assert_eq!(store.broken_files().unwrap(), []);
}

//! Damaged and hostile files: an error or values, never a panic, and never more memory than the file can hold.

use super::fuzz::{check_bytes, reseal_checksums};
use super::{SessionFile, WriteOptions, write_sessions};
use crate::hdf5::datatype::{EncodedType, integer_type, text_type};
use crate::hdf5::{DatasetLayout, FileWriter, Filter, Storage};
use crate::rows::{
    Artifact, AttributeValue, LogFile, Message, SessionAttributes, SessionColumns, TokenUsage,
    ToolCall,
};

/// Small file with everything in it.
fn small_file() -> Vec<u8> {
    let row = |number: u32| Message {
        seq: number,
        uuid: format!("uuid-{number}"),
        kind: "user".into(),
        text: format!("text {number}"),
        json: "\"text\"".into(),
        timestamp: f64::from(number),
        embedding: Some(vec![1.0, f32::from(number as u16)]),
        ..Message::default()
    };
    let log = LogFile {
        path: "log".into(),
        agent: "toy".into(),
        bytes: b"{\"text\":1}\n".repeat(20),
        rows: vec![(0, 0), (11, 1)],
    };
    let session = |id: &str| SessionColumns {
        id: id.into(),
        messages: (1..80).map(row).collect(),
        tool_calls: vec![ToolCall {
            tool_use_id: "call".into(),
            args: "{}".into(),
            ..ToolCall::default()
        }],
        artifacts: vec![Artifact {
            name: "a".into(),
            bytes: vec![7; 30],
            ..Artifact::default()
        }],
        logs: vec![log.clone()],
        ..SessionColumns::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.h5");
    write_sessions(
        &path,
        "test",
        ["a", "b"].map(|id| Ok(session(id))),
        &WriteOptions::default(),
    )
    .unwrap();
    std::fs::read(path).unwrap()
}

/// Number of damaged files to try.
fn test_rounds(default: u32) -> u32 {
    std::env::var("BACKSTORY_TEST_ROUNDS").map_or(default, |rounds| rounds.parse().unwrap())
}

/// Numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }
}

#[test]
fn damaged_files_are_refused_or_read() {
    let whole = small_file();
    check_bytes(&whole).unwrap();
    let mut numbers = Numbers(7);
    let mut refused = 0;
    let rounds = test_rounds(1500);
    for round in 0..rounds {
        let mut bytes = whole.clone();
        for _ in 0..=numbers.next(4) {
            let place = numbers.next(bytes.len());
            bytes[place] = [0, 1, 0x7f, 0xff, numbers.next(256) as u8][numbers.next(5)];
        }
        match round % 3 {
            0 => bytes.truncate(numbers.next(whole.len())),
            1 => reseal_checksums(&mut bytes),
            _ => {}
        }
        refused += u32::from(check_bytes(&bytes).is_err());
    }
    assert!(refused > rounds / 3, "{refused}");
}

#[test]
fn damaged_files_are_rebuilt_or_stay_as_they_are() {
    let whole = small_file();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.h5");
    let mut numbers = Numbers(11);
    let mut rebuilt = 0;
    let rounds = test_rounds(300);
    for _ in 0..rounds {
        let mut bytes = whole.clone();
        let place = numbers.next(bytes.len());
        bytes[place] = [0, 1, 0xff, numbers.next(256) as u8][numbers.next(4)];
        reseal_checksums(&mut bytes);
        std::fs::write(&path, &bytes).unwrap();
        let session = SessionColumns {
            id: "a".into(),
            ..SessionColumns::default()
        };
        match write_sessions(&path, "test", [Ok(session)], &WriteOptions::default()) {
            Ok(report) => {
                rebuilt += 1;
                assert_eq!(report.sessions, 1);
                // What is wrong in the other session was carried over.
                let file = SessionFile::open(&path).unwrap();
                file.session("a").unwrap().read().unwrap();
            }
            Err(_) => assert!(std::fs::read(&path).unwrap() == bytes),
        }
    }
    assert!(rebuilt > rounds / 3, "{rebuilt}");
}

#[test]
fn a_sealed_file_is_the_same() {
    let whole = small_file();
    let mut sealed = whole.clone();
    reseal_checksums(&mut sealed);
    assert!(sealed == whole);
}

#[test]
fn sizes_that_cannot_be_are_refused_before_memory_is_taken() {
    let whole = small_file();
    // The dataspace of every dataset: version 2, one dimension with a maximum.
    let mut found = 0;
    for place in 0..whole.len() - 24 {
        if whole[place..place + 4] != [2, 1, 1, 1] || whole[place - 4] != 1 {
            continue;
        }
        for size in [1_u64 << 62, 1 << 40, u64::MAX - 1] {
            let mut bytes = whole.clone();
            bytes[place + 4..place + 12].copy_from_slice(&size.to_le_bytes());
            reseal_checksums(&mut bytes);
            let error = check_bytes(&bytes).unwrap_err().to_string();
            assert!(
                error.contains("cannot be in a file") || error.contains("damaged"),
                "{error}"
            );
            found += 1;
        }
    }
    assert!(found > 60, "{found}");
}

#[test]
fn a_log_that_tells_a_wrong_length_is_refused() {
    let whole = small_file();
    let length = 220_u64.to_le_bytes();
    let places: Vec<usize> = (0..whole.len() - 8)
        .filter(|place| whole[*place..place + 8] == length)
        .collect();
    assert!(places.len() >= 4, "attribute and index of both logs");
    for place in places {
        for size in [0, 219, 221, 1 << 25, 1 << 60] {
            let mut bytes = whole.clone();
            bytes[place..place + 8].copy_from_slice(&u64::to_le_bytes(size));
            reseal_checksums(&mut bytes);
            assert!(check_bytes(&bytes).is_err());
        }
    }
}

#[test]
fn texts_that_are_referred_to_too_often_are_refused() {
    // 20,000 rows that refer to one text of 200,000 bytes would be 4 GB.
    let mut bytes = std::io::Cursor::new(Vec::new());
    let mut writer = FileWriter::create(&mut bytes, 1).unwrap();
    let reference = writer.text_reference(&"x".repeat(200_000)).unwrap();
    let storage = Storage::Chunked {
        rows: 64,
        filters: Filter::package_filters(&text_type()),
    };
    let layout = DatasetLayout {
        datatype: text_type(),
        dims: vec![20_000],
        storage,
    };
    let uuid = writer
        .write_dataset(&layout, &[&reference.repeat(20_000)], &[])
        .unwrap();
    let used = writer
        .encode_attribute("n_used", &AttributeValue::Integer(20_000))
        .unwrap();
    let messages = writer
        .write_group(&[("uuid".into(), uuid)], &[used])
        .unwrap();
    let session = writer
        .write_group(&[("messages".into(), messages)], &[])
        .unwrap();
    let sessions = writer.write_group(&[("a".into(), session)], &[]).unwrap();
    let version = writer
        .encode_attribute("schema_version", &AttributeValue::Integer(1))
        .unwrap();
    let root = writer
        .write_group(&[("sessions".into(), sessions)], &[version])
        .unwrap();
    writer.finish(root).unwrap();
    drop(writer);
    let file = SessionFile::from_bytes(bytes.into_inner()).unwrap();
    let session = file.session("a").unwrap();
    assert_eq!(session.tail(2).unwrap()[1].uuid.len(), 200_000);
    let error = session.messages(0..20_000).unwrap_err().to_string();
    assert!(error.contains("too often"), "{error}");
}

#[test]
fn many_small_logs_are_written_and_read() {
    let count = 5000;
    let rows = (0..count).map(|number| Message {
        seq: number + 1,
        uuid: format!("uuid-{number}"),
        text: format!("text {number}"),
        json: format!("\"text {number}\""),
        ..Message::default()
    });
    let logs = (0..count).map(|number| LogFile {
        path: format!("/logs/{number}.jsonl"),
        agent: "toy".into(),
        bytes: format!("{{\"text\":\"text {number}\"}}\n").into_bytes(),
        rows: vec![(0, number)],
    });
    let session = SessionColumns {
        id: "a".into(),
        messages: rows.collect(),
        logs: logs.collect(),
        ..SessionColumns::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.h5");
    for _ in 0..2 {
        let sessions = [Ok(session.clone())];
        write_sessions(&path, "test", sessions, &WriteOptions::default()).unwrap();
    }
    let file = SessionFile::open(&path).unwrap();
    assert_eq!(file.sessions().unwrap()[0].logs, u64::from(count));
    let read = file.session("a").unwrap();
    assert_eq!(read.open_summary().unwrap().logs, u64::from(count));
    assert_eq!(read.read().unwrap().logs, session.logs);
}

/// Session with that many messages and every kind of attribute.
fn counted_session(id: &str, rows: u32) -> SessionColumns {
    let row = |number: u32| Message {
        uuid: format!("uuid-{number}"),
        text: "text".into(),
        usage: TokenUsage {
            input_tokens: i64::from(number),
            output_tokens: i64::from(number % 7) - 3,
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: if number == 9 {
                i64::MAX
            } else {
                1 << (number % 50)
            },
        },
        ..Message::default()
    };
    SessionColumns {
        id: id.into(),
        attributes: SessionAttributes {
            model: "m".into(),
            created_at: 1.5,
            summary: "Für alle".into(),
            cwd: "x".repeat(20_000),
            missing: Some(String::new()),
            other: vec![
                ("cursor".into(), AttributeValue::Integer(-7)),
                ("score".into(), AttributeValue::Float(0.5)),
                ("ünique".into(), AttributeValue::Text("ß".into())),
            ],
            ..SessionAttributes::default()
        },
        messages: (0..rows).map(row).collect(),
        tool_calls: vec![ToolCall::default(); rows as usize / 3],
        artifacts: (0..rows % 50)
            .map(|number| Artifact {
                name: format!("{number}.png"),
                ..Artifact::default()
            })
            .collect(),
        logs: vec![LogFile::default(); rows as usize % 3],
        ..SessionColumns::default()
    }
}

/// Asserts that both readers give the same, and returns the number of sessions that the quick one reads.
fn compare_readers(path: &std::path::Path) -> usize {
    let file = SessionFile::open(path).unwrap();
    let groups = file.session_groups().unwrap();
    let ids: Vec<String> = groups.into_iter().map(|(id, _)| id).collect();
    assert_eq!(file.session_ids().unwrap(), ids);
    let mut quick = 0;
    for (session, summary) in file
        .all_sessions()
        .unwrap()
        .iter()
        .zip(file.sessions().unwrap())
    {
        let opened = session.open_summary().unwrap();
        assert_eq!(summary, opened);
        if let Some(read) = session.read_summary() {
            quick += 1;
            assert_eq!(read, opened);
        }
    }
    quick
}

#[test]
fn summaries_are_those_of_hdf5_pure() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.h5");
    // The index has 4 chunks of 64 rows, blocks of 16 and more, and refers to 244 itself.
    let rows = [
        0, 1, 63, 64, 65, 255, 256, 257, 1280, 1281, 5000, 15_616, 15_617,
    ];
    let sessions = rows
        .into_iter()
        .chain(20..60)
        .map(|rows| Ok(counted_session(&format!("session-{rows}"), rows)));
    write_sessions(&path, "test", sessions, &WriteOptions::default()).unwrap();
    assert_eq!(compare_readers(&path), rows.len() + 40 - 1);

    let Ok(python) = std::env::var("BACKSTORY_TEST_PYTHON") else {
        println!("skipped: BACKSTORY_TEST_PYTHON does not name a python with the package");
        return;
    };
    let sessions = [Ok(SessionColumns {
        id: "a".into(),
        messages: counted_session("a", 100).messages,
        ..SessionColumns::default()
    })];
    write_sessions(&path, "test", sessions, &WriteOptions::default()).unwrap();
    let program = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/package_append.py");
    let run = std::process::Command::new(python)
        .arg(program)
        .arg(&path)
        .output()
        .unwrap();
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    assert!(compare_readers(&path) >= rows.len() + 40 - 1);
}

#[test]
fn chunks_that_are_not_stored_take_no_memory() {
    let mut bytes = std::io::Cursor::new(Vec::new());
    let mut writer = FileWriter::create(&mut bytes, 1).unwrap();
    let layout = |elements: u64, storage: Storage| DatasetLayout {
        datatype: integer_type(1, false),
        dims: vec![elements],
        storage,
    };
    // A file of this size could have 300 MB.
    let noise: Vec<u8> = (0..300_000_u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let noise = writer
        .write_dataset(&layout(300_000, Storage::Contiguous), &[&noise], &[])
        .unwrap();
    let filters = Filter::package_filters(&integer_type(1, false));
    let chunked = Storage::Chunked {
        rows: 65_536,
        filters,
    };
    let sparse = writer
        .write_dataset(&layout(1 << 28, chunked), &[&[7; 65_536]], &[])
        .unwrap();
    let members = [("noise".into(), noise), ("sparse".into(), sparse)];
    let artifacts = writer.write_group(&members, &[]).unwrap();
    let session = writer
        .write_group(&[("artifacts".into(), artifacts)], &[])
        .unwrap();
    let sessions = writer.write_group(&[("a".into(), session)], &[]).unwrap();
    let version = AttributeValue::Integer(1);
    let version = writer.encode_attribute("schema_version", &version).unwrap();
    let root = writer
        .write_group(&[("sessions".into(), sessions)], &[version])
        .unwrap();
    writer.finish(root).unwrap();
    drop(writer);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.h5");
    std::fs::write(&path, bytes.into_inner()).unwrap();
    let added = SessionColumns {
        id: "b".into(),
        ..SessionColumns::default()
    };
    let report = write_sessions(&path, "test", [Ok(added)], &WriteOptions::default()).unwrap();
    assert!(report.file_bytes < 350_000, "{report:?}");
    let file = SessionFile::open(&path).unwrap();
    assert_eq!(file.sessions().unwrap()[0].artifacts, 2);
    let error = file.session("a").unwrap().artifacts().unwrap_err();
    let error = error.to_string();
    assert!(error.contains("chunks are not in the file"), "{error}");
}

#[test]
fn reads_grow_with_the_number_of_sessions_and_not_faster() {
    let folder = tempfile::tempdir().unwrap();
    let count_reads = |sessions: u32| {
        let path = folder.path().join(format!("{sessions}.h5"));
        // A list among the attributes, which only `hdf5-pure` reads.
        let tags = AttributeValue::Texts(vec!["a".into(), "b".into()]);
        let session = |number: u32| SessionColumns {
            id: format!("session-{number}"),
            attributes: SessionAttributes {
                created_at: f64::from(number),
                other: vec![("tags".into(), tags.clone())],
                ..SessionAttributes::default()
            },
            ..SessionColumns::default()
        };
        let written = (0..sessions).map(|number| Ok(session(number)));
        write_sessions(&path, "test", written, &WriteOptions::default()).unwrap();
        let file = SessionFile::open(&path).unwrap();
        assert_eq!(file.sessions().unwrap().len() as u32, sessions);
        let newest = format!("session-{}", sessions - 1);
        assert_eq!(file.newest_session().unwrap(), Some(newest));
        file.source.read_count()
    };
    let (few, many) = (count_reads(100), count_reads(400));
    assert!(many < 5 * few, "{few} and {many}");
}

/// File of sessions with logs that expand to `frames` times 64 MiB each.
fn expanding_logs(sessions: usize, logs: usize, frames: usize) -> Vec<u8> {
    let frame_bytes = 64_u64 << 20;
    let packed = zstd::encode_all(&vec![b'\n'; frame_bytes as usize][..], 3).unwrap();
    let index: Vec<u8> = [frame_bytes, packed.len() as u64, 0, 0]
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let mut bytes = std::io::Cursor::new(Vec::new());
    let mut writer = FileWriter::create(&mut bytes, 1).unwrap();
    let bytes_layout = |datatype, elements: usize| DatasetLayout {
        datatype,
        dims: vec![elements as u64],
        storage: Storage::Contiguous,
    };
    let mut links = Vec::new();
    for number in 0..sessions {
        let mut members = Vec::new();
        for log in 0..logs {
            let length = AttributeValue::Integer((frame_bytes * frames as u64) as i64);
            let agent = AttributeValue::Text("claude-code".into());
            let path = AttributeValue::Text(format!("/{log}.jsonl"));
            let attributes = [("length", length), ("agent", agent), ("path", path)]
                .map(|(name, value)| writer.encode_attribute(name, &value).unwrap());
            let layout = bytes_layout(integer_type(1, false), packed.len() * frames);
            let data = packed.repeat(frames);
            let address = writer.write_dataset(&layout, &[&data], &attributes);
            members.push((log.to_string(), address.unwrap()));
            let layout = bytes_layout(super::schema::frame_type(), frames);
            let address = writer.write_dataset(&layout, &[&index.repeat(frames)], &[]);
            members.push((format!("{log}_index"), address.unwrap()));
        }
        let group = writer.write_group(&members, &[]).unwrap();
        let session = writer.write_group(&[("log".into(), group)], &[]).unwrap();
        links.push((format!("session-{number}"), session));
    }
    let sessions = writer.write_group(&links, &[]).unwrap();
    let version = AttributeValue::Integer(1);
    let version = writer.encode_attribute("schema_version", &version).unwrap();
    let root = writer
        .write_group(&[("sessions".into(), sessions)], &[version])
        .unwrap();
    writer.finish(root).unwrap();
    drop(writer);
    bytes.into_inner()
}

#[test]
fn calls_of_own_messages_are_recognized_without_their_content() {
    let mut bytes = std::io::Cursor::new(Vec::new());
    let mut writer = FileWriter::create(&mut bytes, 1).unwrap();
    let id = writer.text_reference("uuid-1").unwrap();
    // Content that cannot be read.
    let index = super::schema::range_type(super::schema::CONTENT_FIELDS);
    let index_bytes = vec![1; index.size];
    let messages = [
        ("uuid", write_column(&mut writer, text_type(), &id)),
        (
            "seq",
            write_column(&mut writer, integer_type(4, false), &[1, 0, 0, 0]),
        ),
        (
            "content_index",
            write_column(&mut writer, index, &index_bytes),
        ),
    ];
    let calls = [
        ("tool_use_id", write_column(&mut writer, text_type(), &id)),
        ("message_uuid", write_column(&mut writer, text_type(), &id)),
    ];
    let messages = writer.write_group(&named_links(&messages), &[]).unwrap();
    let calls = writer.write_group(&named_links(&calls), &[]).unwrap();
    let members = named_links(&[("messages", messages), ("tool_calls", calls)]);
    finish_file(&mut writer, &members);
    drop(writer);
    let file = SessionFile::from_bytes(bytes.into_inner()).unwrap();
    let session = file.session("a").unwrap();
    assert!(session.messages(0..1).is_err());
    let calls = crate::added_calls::AddedCalls::find(&session).unwrap();
    assert!(calls.is_empty());
}

/// Writes a column of elements that are encoded already.
fn write_column<W: std::io::Write + std::io::Seek>(
    writer: &mut FileWriter<W>,
    datatype: EncodedType,
    data: &[u8],
) -> u64 {
    let layout = DatasetLayout {
        dims: vec![(data.len() / datatype.size) as u64],
        datatype,
        storage: Storage::Contiguous,
    };
    writer.write_dataset(&layout, &[data], &[]).unwrap()
}

fn named_links(members: &[(&str, u64)]) -> Vec<(String, u64)> {
    let members = members.iter();
    members.map(|(name, at)| (name.to_string(), *at)).collect()
}

/// Makes a group `sessions` with one session of these members the root of a file.
fn finish_file<W: std::io::Write + std::io::Seek>(
    writer: &mut FileWriter<W>,
    members: &[(String, u64)],
) {
    let session = writer.write_group(members, &[]).unwrap();
    let sessions = writer.write_group(&[("a".into(), session)], &[]).unwrap();
    let version = AttributeValue::Integer(1);
    let version = writer.encode_attribute("schema_version", &version).unwrap();
    let root = writer
        .write_group(&[("sessions".into(), sessions)], &[version])
        .unwrap();
    writer.finish(root).unwrap();
}

#[test]
fn rows_that_are_too_large_are_refused_where_there_are_none() {
    let mut bytes = std::io::Cursor::new(Vec::new());
    let mut writer = FileWriter::create(&mut bytes, 1).unwrap();
    let layout = DatasetLayout {
        datatype: integer_type(1, false),
        dims: vec![0, 1 << 40, 1 << 40],
        storage: Storage::Contiguous,
    };
    let huge = writer.write_dataset(&layout, &[], &[]).unwrap();
    let artifacts = writer.write_group(&[("huge".into(), huge)], &[]).unwrap();
    finish_file(&mut writer, &[("artifacts".into(), artifacts)]);
    drop(writer);
    let file = SessionFile::from_bytes(bytes.into_inner()).unwrap();
    let error = file.session("a").unwrap().artifacts().unwrap_err();
    let error = error.to_string();
    assert!(error.contains("cannot be in a file"), "{error}");
}

#[test]
fn frames_that_refer_to_the_same_rows_take_little_memory() {
    const ROWS: usize = 3000;
    const FRAMES: usize = 4000;
    let mut bytes = std::io::Cursor::new(Vec::new());
    let mut writer = FileWriter::create(&mut bytes, 1).unwrap();
    // Rows without content all begin where the first one does.
    let index = super::schema::range_type(super::schema::CONTENT_FIELDS);
    let index_bytes = index.size * ROWS;
    let uuids = [0; 16 * ROWS];
    let byte = integer_type(1, false);
    let messages = [
        ("uuid", write_column(&mut writer, text_type(), &uuids)),
        (
            "content_index",
            write_column(&mut writer, index, &vec![0; index_bytes]),
        ),
        (
            "content_bytes",
            write_column(&mut writer, byte.clone(), b"x"),
        ),
    ];
    let packed = zstd::encode_all(&b""[..], 3).unwrap();
    let frame: Vec<u8> = [0, packed.len() as u64, 0, 1]
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let data = packed.repeat(FRAMES);
    let length = AttributeValue::Integer(0);
    let length = writer.encode_attribute("length", &length).unwrap();
    let layout = DatasetLayout {
        datatype: byte,
        dims: vec![data.len() as u64],
        storage: Storage::Contiguous,
    };
    let data = writer.write_dataset(&layout, &[&data], &[length]).unwrap();
    let frames = frame.repeat(FRAMES);
    let frame_type = super::schema::frame_type();
    let log = [
        ("0", data),
        ("0_index", write_column(&mut writer, frame_type, &frames)),
    ];
    let used = AttributeValue::Integer(ROWS as i64);
    let used = writer.encode_attribute("n_used", &used).unwrap();
    let messages = writer
        .write_group(&named_links(&messages), &[used])
        .unwrap();
    let log = writer.write_group(&named_links(&log), &[]).unwrap();
    finish_file(
        &mut writer,
        &named_links(&[("messages", messages), ("log", log)]),
    );
    drop(writer);
    let file = SessionFile::from_bytes(bytes.into_inner()).unwrap();
    let logs = file.session("a").unwrap().read_logs().unwrap();
    let rows = logs[0].rows.len();
    assert!(0 < rows && rows <= 4 * ROWS + (1 << 16), "{rows}");
}

/// Sets bytes behind every block with a signature.
fn patched_file(signature: &[u8], patch: impl Fn(&mut [u8])) -> Vec<u8> {
    let mut bytes = small_file();
    let starts: Vec<usize> = (0..bytes.len() - signature.len())
        .filter(|start| bytes[*start..].starts_with(signature))
        .collect();
    assert!(!starts.is_empty());
    for start in starts {
        patch(&mut bytes[start..]);
    }
    reseal_checksums(&mut bytes);
    bytes
}

#[test]
fn indexes_that_claim_too_much_are_refused() {
    // Bits of the number of elements, elements of a data block, and super blocks in the index.
    let blocks = patched_file(b"EAHD", |header| {
        for field in [7, 9, 10] {
            header[field] = 0xff;
        }
    });
    // Size of the first stored chunk, behind its address.
    let chunk = patched_file(b"EAIB", |index| index[22..24].fill(0xff));
    for bytes in [blocks, chunk] {
        let error = check_bytes(&bytes).unwrap_err().to_string();
        assert!(
            error.contains("exhaust memory") || error.contains("is stored as"),
            "{error}"
        );
    }
}

#[test]
fn logs_that_expand_without_end_are_refused() {
    // Each file holds some 30,000 times its size.
    for (sessions, logs, frames) in [(1, 1, 100), (1, 100, 1), (100, 3, 1)] {
        let bytes = expanding_logs(sessions, logs, frames);
        let most = bytes.len() as u64 * 1040 + (1 << 20);
        let raw = (sessions * logs * frames) as u64 * (64 << 20);
        assert!(raw > 8 * most, "{raw} {most}");
        let file = SessionFile::from_bytes(bytes).unwrap();
        assert_eq!(file.sessions().unwrap().len(), sessions);
        if logs * frames > 3 {
            let session = file.session("session-0").unwrap();
            let error = session.read().unwrap_err().to_string();
            assert!(
                error.contains("too long for a file of this size"),
                "{error}"
            );
        }
    }
}

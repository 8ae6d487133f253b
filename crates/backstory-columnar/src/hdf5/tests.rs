//! Files with chunks in every part of the index, read by `hdf5-pure` and by h5py.

use std::io::Cursor;

use hdf5_pure::{File, Source};

use super::datatype::integer_type;
use super::{DatasetLayout, FileWriter, Filter, SharedSource, Storage};

/// Writes one dataset `numbers` of bytes, in chunks of one, and returns the file.
fn one_byte_chunks(values: &[u8], filters: Vec<Filter>) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let mut writer = FileWriter::create(&mut bytes, 2).unwrap();
    let layout = DatasetLayout {
        datatype: integer_type(1, false),
        dims: vec![values.len() as u64],
        storage: Storage::Chunked { rows: 1, filters },
    };
    let dataset = writer.write_dataset(&layout, &[values], &[]).unwrap();
    let root = writer
        .write_group(&[("numbers".into(), dataset)], &[])
        .unwrap();
    let size = writer.finish(root).unwrap();
    drop(writer);
    assert_eq!(size, bytes.get_ref().len() as u64);
    bytes.into_inner()
}

fn read_numbers(bytes: Vec<u8>) -> Vec<u8> {
    let source = SharedSource::from_bytes(bytes);
    source.allow_bytes(u64::MAX);
    assert!(source.len() > 0);
    File::from_source(source)
        .unwrap()
        .dataset("numbers")
        .unwrap()
        .read_u8()
        .unwrap()
}

/// The chunks that libhdf5 finds, when there is a Python with h5py.
fn read_with_h5py(bytes: &[u8], values: &[u8]) {
    let Ok(python) = std::env::var("BACKSTORY_TEST_PYTHON") else {
        println!("skipped: BACKSTORY_TEST_PYTHON does not name a python with h5py");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.h5"), bytes).unwrap();
    std::fs::write(folder.path().join("values"), values).unwrap();
    let code = "import h5py; f = h5py.File('a.h5', 'r+'); d = f['numbers']; v = open('values', 'rb').read(); assert d[:].tobytes() == v; n = len(v); \
                d.resize((n + 3000,)); d[n:] = 7; f.close(); d = h5py.File('a.h5')['numbers']; assert d[:].tobytes() == v + b'\\x07' * 3000";
    let run = std::process::Command::new(python)
        .args(["-c", code])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
}

#[test]
fn every_size_of_index_is_read() {
    // Index block, direct data blocks, super blocks, and the counts at their borders.
    for count in [0, 1, 4, 5, 20, 21, 36, 100, 500, 3200] {
        let values: Vec<u8> = (0..count).map(|number| (number % 251 + 1) as u8).collect();
        let element = integer_type(1, false);
        for filters in [Vec::new(), Filter::package_filters(&element)] {
            let bytes = one_byte_chunks(&values, filters);
            read_with_h5py(&bytes, &values);
            assert_eq!(read_numbers(bytes), values, "{count}");
        }
    }
}

#[test]
fn pages_of_large_data_blocks_are_read() {
    let mut values: Vec<u8> = (0..140_000)
        .map(|number| (number % 251 + 1) as u8)
        .collect();
    // Chunks that are not stored, in the middle of blocks and over whole blocks.
    values[10..15].fill(0);
    values[50_000..100_000].fill(0);
    let bytes = one_byte_chunks(&values, Vec::new());
    read_with_h5py(&bytes, &values);
    assert_eq!(read_numbers(bytes), values);
}

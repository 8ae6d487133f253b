//! Damaged and hostile files: an error, no panic.

use backstory_columnar::{Table, export_table, inspect_table};

use crate::support::{Logs, all_options, all_sessions};

/// Numbers that look random and are the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

#[test]
fn damaged_files_are_errors() {
    let count: usize =
        std::env::var("BACKSTORY_TEST_DAMAGED_FILES").map_or(2_000, |count| count.parse().unwrap());
    let logs = Logs::generate(0);
    for (id, answers) in [("one", 3), ("two", 9)] {
        logs.add_session(id, "2026-03-04", answers);
    }
    let memory = logs.memory();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let damaged = logs.path("damaged.parquet");
    let mut refused = 0;
    for number in 0..count {
        let table = Table::ALL[number % 4];
        let file = logs.path(&format!("{}.parquet", table.name()));
        if number < 4 {
            export_table(
                &memory,
                &all_sessions(&memory),
                table,
                &file,
                &all_options(),
                &mut |_| {},
            )
            .unwrap();
        }
        let mut bytes = std::fs::read(&file).unwrap();
        let length = bytes.len();
        let tail: [u8; 4] = bytes[length - 8..length - 4].try_into().unwrap();
        let footer = u32::from_le_bytes(tail) as usize;
        let footer_at = length - 8 - footer;
        match random.below(4) {
            0 => bytes.truncate(random.below(length)),
            // What the crate parses.
            1 | 2 => {
                for _ in 0..=random.below(4) {
                    let at = footer_at + random.below(footer);
                    bytes[at] = match random.below(3) {
                        0 => random.below(256) as u8,
                        1 => bytes[at] ^ (1 << random.below(8)),
                        _ => 0xff,
                    };
                }
            }
            _ => {
                let at = length - 1 - random.below(12);
                bytes[at] = random.below(256) as u8;
            }
        }
        std::fs::write(&damaged, &bytes).unwrap();
        refused += usize::from(inspect_table(&damaged).is_err());
    }
    assert!(
        refused > count / 4,
        "{refused} of {count} damaged files were refused"
    );
}

/// A footer whose schema is a chain of groups, each the only child of the one before: the crate would follow it by recursion.
#[test]
fn schemas_that_are_nested_too_deeply_are_refused() {
    let logs = Logs::generate(0);
    let file = logs.path("deep.parquet");
    // Version 1; a list of elements, each with the name "a" and one child.
    let depth: u32 = 200_000;
    let mut footer = vec![0x15, 0x02, 0x19, 0xfc];
    let mut rest = depth;
    while rest >= 0x80 {
        footer.push((rest as u8 & 0x7f) | 0x80);
        rest >>= 7;
    }
    footer.push(rest as u8);
    for _ in 0..depth {
        footer.extend([0x48, 0x01, b'a', 0x15, 0x02, 0x00]);
    }
    footer.push(0);
    let mut bytes = b"PAR1".to_vec();
    bytes.extend(&footer);
    bytes.extend((footer.len() as u32).to_le_bytes());
    bytes.extend(b"PAR1");
    std::fs::write(&file, bytes).unwrap();
    let error = inspect_table(&file).unwrap_err().to_string();
    assert!(error.contains("its schema is nested too deeply"), "{error}");
}

#[test]
fn footers_that_are_too_long_are_refused() {
    let logs = Logs::generate(0);
    let file = logs.path("long.parquet");
    for (tail, what) in [
        (*b"\xff\xff\xff\x7fPAR1", "at most 16777216 are read"),
        (*b"\xff\x00\x00\x00PAR1", "longer than the file"),
        (*b"\x00\x00\x00\x00PARE", "encrypted"),
        (*b"\x00\x00\x00\x00nope", "not Parquet"),
    ] {
        std::fs::write(&file, [b"PAR1".as_slice(), &tail].concat()).unwrap();
        let error = inspect_table(&file).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}

//! Damaging a log the way crashes, editors, other versions and other programs damage one: by lines, by JSON values, by bytes.

use std::ops::Range;

/// One damage: what is done, and two numbers that choose where and with what. Any numbers do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mutation {
    pub(crate) what: u64,
    pub(crate) place: u64,
    pub(crate) other: u64,
}

/// Values of every type and of sizes that nobody expects, to stand where another value stood.
const VALUES: [&str; 28] = [
    "null",
    "true",
    "false",
    "0",
    "-1",
    "1.5",
    "1e999",
    "-1e-999",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999999999999999999999999999",
    "\"\"",
    "\" \"",
    "\"\\n\\n\"",
    "\"\\ud83d\"",
    "\"\\ude00\\ud83d\\ude00\"",
    "\"\\u0000\"",
    "\"9999-12-31T23:59:59.999Z\"",
    "\"-009999-01-01T00:00:00Z\"",
    "\"<backstory-context>\"",
    "\"</backstory-context><user_query>\"",
    "[]",
    "{}",
    "[null,[[]],{\"\":\"\"}]",
    "[{\"type\":\"text\",\"text\":7},{\"type\":\"tool_use\",\"id\":null,\"name\":\"\",\"input\":\"x\"}]",
    "{\"type\":\"text\",\"text\":\"\\ud800\",\"content\":{\"content\":[]}}",
];

/// Bytes that are put between others.
const ODD_BYTES: [&[u8]; 11] = [
    b"\0",
    b"\r\n",
    b"\n",
    b"\r",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\xed\xa0\x80",
    "\u{2028}".as_bytes(),
    b"\\ud83d",
    b"\"",
    b"\\",
];

/// Deep enough for anything that recurses to notice, short enough to be read often.
const LEVELS: usize = 300;

impl Mutation {
    /// How many kinds of damage there are.
    pub(crate) const KINDS: u64 = 14;

    /// Does the damage.
    pub(crate) fn apply(self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        match self.what % Self::KINDS {
            0 => self.delete_line(bytes),
            1 => self.copy_line(bytes),
            2 => self.swap_lines(bytes),
            3 => self.glue_lines(bytes),
            4 => bytes.truncate(self.index(bytes.len())),
            5 => self.cut_line(bytes),
            6 => self.flip_byte(bytes),
            7 => self.insert_odd_bytes(bytes),
            8 | 9 => self.replace_value(bytes, self.other_value()),
            10 => self.replace_value(
                bytes,
                format!("{}{}", "[".repeat(LEVELS), "]".repeat(LEVELS)),
            ),
            11 => self.replace_value(
                bytes,
                format!("{}0{}", "{\"content\":".repeat(LEVELS), "}".repeat(LEVELS)),
            ),
            12 => self.copy_value(bytes),
            _ => self.wrap_value(bytes),
        }
    }

    /// An index below `length`.
    fn index(self, length: usize) -> usize {
        (self.place % length.max(1) as u64) as usize
    }

    /// Another one.
    fn other_index(self, length: usize) -> usize {
        (self.other % length.max(1) as u64) as usize
    }

    fn other_value(self) -> String {
        VALUES[self.other_index(VALUES.len())].to_string()
    }

    fn line(self, bytes: &[u8]) -> Range<usize> {
        let lines = lines(bytes);
        lines[self.index(lines.len())].clone()
    }

    fn delete_line(self, bytes: &mut Vec<u8>) {
        bytes.drain(self.line(bytes));
    }

    /// Copies a line to before another one.
    fn copy_line(self, bytes: &mut Vec<u8>) {
        let lines = lines(bytes);
        let copy = bytes[lines[self.index(lines.len())].clone()].to_vec();
        let to = lines[self.other_index(lines.len())].start;
        bytes.splice(to..to, copy);
    }

    fn swap_lines(self, bytes: &mut Vec<u8>) {
        let mut lines = lines(bytes);
        let (one, other) = (self.index(lines.len()), self.other_index(lines.len()));
        lines.swap(one, other);
        *bytes = lines
            .into_iter()
            .flat_map(|line| bytes[line].to_vec())
            .collect();
    }

    fn glue_lines(self, bytes: &mut Vec<u8>) {
        let line = self.line(bytes);
        if bytes[line.end - 1] == b'\n' {
            bytes.remove(line.end - 1);
        }
    }

    fn cut_line(self, bytes: &mut Vec<u8>) {
        let line = self.line(bytes);
        bytes.drain(line.start + self.other_index(line.len())..line.end);
    }

    fn flip_byte(self, bytes: &mut [u8]) {
        let index = self.index(bytes.len());
        bytes[index] ^= 1 << (self.other % 8);
    }

    fn insert_odd_bytes(self, bytes: &mut Vec<u8>) {
        let odd = ODD_BYTES[self.other_index(ODD_BYTES.len())];
        // A third of them at the beginning of a line, where some would be harmless.
        let at = if self.other.is_multiple_of(3) {
            self.line(bytes).start
        } else {
            self.index(bytes.len())
        };
        bytes.splice(at..at, odd.iter().copied());
    }

    fn replace_value(self, bytes: &mut Vec<u8>, by: String) {
        if let Some(value) = self.value(bytes) {
            bytes.splice(value, by.into_bytes());
        }
    }

    /// Puts one value of the log in the place of another, perhaps of another line.
    fn copy_value(self, bytes: &mut Vec<u8>) {
        let swapped = Mutation {
            place: self.other,
            other: self.place,
            ..self
        };
        if let (Some(value), Some(copy)) = (self.value(bytes), swapped.value(bytes)) {
            let copy = bytes[copy].to_vec();
            bytes.splice(value, copy);
        }
    }

    /// Makes a value the only one of a list.
    fn wrap_value(self, bytes: &mut Vec<u8>) {
        if let Some(value) = self.value(bytes) {
            bytes.insert(value.end, b']');
            bytes.insert(value.start, b'[');
        }
    }

    /// A value of one of the lines.
    fn value(self, bytes: &[u8]) -> Option<Range<usize>> {
        let line = self.line(bytes);
        let values = values(&bytes[line.clone()]);
        let chosen = (self.place / 31) % values.len().max(1) as u64;
        let value = values.get(chosen as usize)?;
        Some(line.start + value.start..line.start + value.end)
    }
}

fn lines(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut start = 0;
    let line = |line: &[u8]| {
        start += line.len();
        start - line.len()..start
    };
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(line)
        .collect()
}

/// Where the JSON values of a line lie, from the inside out, in lines that may be damaged already. Keys are values too: a string
/// more or less is a damage like others.
fn values(line: &[u8]) -> Vec<Range<usize>> {
    let mut values = Vec::new();
    let mut open = Vec::new();
    let mut at = 0;
    while at < line.len() {
        let start = at;
        at += 1;
        match line[start] {
            b'{' | b'[' => open.push(start),
            b'}' | b']' => values.extend(open.pop().map(|start| start..at)),
            b'"' => {
                while at < line.len() && line[at] != b'"' {
                    at += if line[at] == b'\\' { 2 } else { 1 };
                }
                at = (at + 1).min(line.len());
                values.push(start..at);
            }
            b'-' | b'0'..=b'9' | b'a'..=b'z' => {
                let is_part =
                    |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-');
                at += line[at..].iter().take_while(is_part).count();
                values.push(start..at);
            }
            _ => {}
        }
    }
    values
}

//! A marked block in a file that is not ours: found, put in, and taken out again without touching a byte around it.

use std::ops::Range;

/// How the block begins, on a line of its own.
pub(super) const OPEN: &str = "<!-- backstory:patterns -->";
/// How it ends.
pub(super) const CLOSE: &str = "<!-- /backstory:patterns -->";

/// Where the block is, from the first byte of its first marker to the last of its second.
pub(super) fn find(file: &[u8]) -> Result<Option<Range<usize>>, String> {
    let (mut opens, mut closes) = (Vec::new(), Vec::new());
    let text = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    let mut start = file.len() - text.len();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        // A marker that is quoted in a sentence is none.
        let marker = line.trim_ascii();
        let indent = line.len() - line.trim_ascii_start().len();
        if marker == OPEN.as_bytes() {
            opens.push(start + indent);
        } else if marker == CLOSE.as_bytes() {
            closes.push(start + indent + CLOSE.len());
        }
        start += line.len();
    }
    match (opens.as_slice(), closes.as_slice()) {
        ([], []) => Ok(None),
        ([open], [close]) if open < close => Ok(Some(*open..*close)),
        ([_], []) => Err(format!("it has {OPEN} without {CLOSE}")),
        ([], [_]) => Err(format!("it has {CLOSE} without {OPEN}")),
        ([_], [_]) => Err(format!("{CLOSE} stands before {OPEN}")),
        _ => Err(format!(
            "it has {OPEN} {} times and {CLOSE} {} times",
            opens.len(),
            closes.len()
        )),
    }
}

/// The line ending that most lines of a file have.
pub(super) fn newline(file: &[u8]) -> &'static str {
    let all = file.iter().filter(|byte| **byte == b'\n').count();
    let windows = file.windows(2).filter(|pair| *pair == b"\r\n").count();
    if windows * 2 > all { "\r\n" } else { "\n" }
}

/// The file with this block at its end. One that ends with a newline does so after it, and one that does not does not: by that
/// [`remove`] knows which newline came with the block.
pub(super) fn append(file: &[u8], block: &str) -> Vec<u8> {
    let newline = newline(file);
    let block = block.as_bytes();
    match file {
        [] | [.., b'\n'] => [file, block, newline.as_bytes()].concat(),
        // Else this and our newline would look like one line ending.
        [.., b'\r'] => [file, b"\r\n", block].concat(),
        _ => [file, newline.as_bytes(), block].concat(),
    }
}

/// The file without its block.
pub(super) fn remove(file: &[u8], block: Range<usize>) -> Vec<u8> {
    let (mut before, mut after) = (&file[..block.start], &file[block.end..]);
    if after.is_empty() {
        before = before
            .strip_suffix(b"\n")
            .map_or(before, |rest| rest.strip_suffix(b"\r").unwrap_or(rest));
    } else if let Some(rest) = after
        .strip_prefix(b"\n")
        .or_else(|| after.strip_prefix(b"\r\n"))
    {
        after = rest;
    }
    [before, after].concat()
}

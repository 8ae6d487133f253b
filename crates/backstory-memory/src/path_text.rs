//! Paths as text: stores, reports and JSON hold text, and not every path is UTF-8.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// A path as text. Bytes that are no UTF-8 are written as `\\xFF`, and backslashes in such a path twice, so that two paths stay two.
pub(crate) fn path_text(path: &Path) -> Cow<'_, str> {
    if let Some(text) = path.to_str() {
        return Cow::Borrowed(text);
    }
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        text.push_str(&chunk.valid().replace('\\', "\\\\"));
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02X}"));
        }
    }
    Cow::Owned(text)
}

/// The path that a text of [`path_text`] stands for. Most paths are their own text.
pub(crate) fn path_from_text(text: &str) -> PathBuf {
    #[cfg(unix)]
    if text.contains("\\x") && !Path::new(text).exists() {
        use std::os::unix::ffi::OsStringExt;
        let path = PathBuf::from(std::ffi::OsString::from_vec(unescape(text)));
        if path.to_str().is_none() && path_text(&path) == text {
            return path;
        }
    }
    PathBuf::from(text)
}

/// Stands between the path of a file and the path of a log inside of it.
pub(crate) const CONTAINER_MARK: &str = "!/";

/// Returns the file that a stored log lies in: its own, compressed maybe, or the one that contains it. `None` when none of them is there.
pub fn file_of_log(path: &str) -> Option<PathBuf> {
    let own = [path_from_text(path), PathBuf::from(format!("{path}.zst"))];
    let mut own = own.into_iter();
    own.find(|file| file.exists())
        .or_else(|| container_of_log(path))
}

/// Returns the file that contains a log, if it is one that lies inside of another file, and that is there.
pub fn container_of_log(path: &str) -> Option<PathBuf> {
    let mut marks = path.match_indices(CONTAINER_MARK);
    marks.find_map(|(at, _)| {
        let file = path_from_text(path.get(..at)?);
        file.is_file().then_some(file)
    })
}

#[cfg(unix)]
fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let escape = &rest[at + 1..];
        let digits = escape.strip_prefix('x').and_then(|digits| digits.get(..2));
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &escape[3..];
            }
            None => {
                bytes.push(b'\\');
                rest = escape.strip_prefix('\\').unwrap_or(escape);
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}

#[cfg(all(test, unix))]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn every_path_has_a_text_that_stands_for_it() {
        for (bytes, text) in [
            (&b"/a/b.jsonl"[..], "/a/b.jsonl"),
            (b"/a\\xFF/b", "/a\\xFF/b"),
            (b"/a\xff/b", "/a\\xFF/b"),
            (b"/a\xff\\xFF\\b\xe9", "/a\\xFF\\\\xFF\\\\b\\xE9"),
            (b"/\xe2\x82/\\", "/\\xE2\\x82/\\\\"),
        ] {
            let path = Path::new(OsStr::from_bytes(bytes));
            assert_eq!(path_text(path), text);
            // Of two paths with the same text, the one that is there is meant; here is none.
            if bytes != b"/a\\xFF/b" {
                assert_eq!(path_from_text(text), path);
            }
        }
        assert_eq!(path_from_text("/a\\x/b\\xZZ"), Path::new("/a\\x/b\\xZZ"));
        assert_eq!(path_from_text("/a\\x41"), Path::new("/a\\x41"));
    }
}

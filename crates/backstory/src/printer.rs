//! The writers of standard output and standard error. All text goes through them, so no hidden character from a log, a path or an
//! argument reaches a terminal or an agent, whatever command prints it.

use std::borrow::Cow;
use std::collections::hash_map::RandomState;
use std::fmt::{self, Display, Formatter};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write};
use std::sync::OnceLock;

use backstory_memory::{escape_json, harmless};

/// Text is passed on when so much is there.
const PIECE_BYTES: usize = 32 << 10;

/// Begins the mark of a style.
const MARK: char = '\u{1b}';

/// A terminal style. `{STYLE}` begins it, `{STYLE:#}` ends it.
///
/// It is written as a mark with a number that is drawn anew for each process, and only [`SafeWriter`] makes an escape sequence of
/// that: text cannot forge a style.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    /// Parameters of the SGR sequence.
    parameters: &'static str,
}

impl Style {
    pub(crate) const fn new(parameters: &'static str) -> Self {
        Style { parameters }
    }
}

impl Display for Style {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let parameters = if formatter.alternate() {
            "0"
        } else {
            self.parameters
        };
        write!(formatter, "{}{parameters}m", mark())
    }
}

fn mark() -> &'static str {
    static MARK_TEXT: OnceLock<String> = OnceLock::new();
    MARK_TEXT.get_or_init(|| {
        let number = RandomState::new().build_hasher().finish();
        format!("{MARK}{number:016x}:")
    })
}

/// Returns text as a terminal may have it: hidden characters gone, marks of styles turned into escape sequences.
fn styled(text: &str) -> Cow<'_, str> {
    if !text.contains(mark()) {
        return harmless(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut parts = text.split(mark());
    shown.push_str(&harmless(parts.next().unwrap_or_default()));
    for part in parts {
        let (parameters, rest) = part.split_once('m').unwrap_or(("0", part));
        shown.push_str("\u{1b}[");
        shown.push_str(parameters);
        shown.push('m');
        shown.push_str(&harmless(rest));
    }
    Cow::Owned(shown)
}

/// Buffers text and converts it, in pieces of whole lines, before it is written.
pub(crate) struct SafeWriter<W: Write> {
    inner: W,
    pending: Vec<u8>,
    convert: fn(&str) -> Cow<'_, str>,
}

impl<W: Write> SafeWriter<W> {
    /// A writer for people.
    pub(crate) fn for_text(inner: W) -> Self {
        SafeWriter {
            inner,
            pending: Vec::new(),
            convert: styled,
        }
    }

    /// A writer for JSON documents.
    pub(crate) fn for_json(inner: W) -> Self {
        SafeWriter {
            inner,
            pending: Vec::new(),
            convert: escape_json,
        }
    }

    /// Writes the first so many pending bytes. They are dropped even if that fails, so that nothing is written twice.
    fn pass_on(&mut self, length: usize) -> io::Result<()> {
        let rest = self.pending.split_off(length);
        let piece = std::mem::replace(&mut self.pending, rest);
        let text = String::from_utf8_lossy(&piece);
        self.inner.write_all((self.convert)(&text).as_bytes())
    }
}

impl<W: Write> Write for SafeWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        if self.pending.len() >= PIECE_BYTES
            && bytes.contains(&b'\n')
            && let Some(newline) = self.pending.iter().rposition(|byte| *byte == b'\n')
        {
            self.pass_on(newline + 1)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pass_on(self.pending.len())?;
        self.inner.flush()
    }
}

impl<W: Write> Drop for SafeWriter<W> {
    fn drop(&mut self) {
        // Who wants to know whether it was written flushes.
        let _ = self.flush();
    }
}

/// Returns standard output for text: buffered, without hidden characters, with colours only where they are wanted.
pub(crate) fn stdout() -> impl Write {
    SafeWriter::for_text(anstream::AutoStream::auto(io::stdout()))
}

/// Returns standard output for JSON: buffered, with hidden characters escaped.
pub(crate) fn json_stdout() -> impl Write {
    SafeWriter::for_json(io::stdout().lock())
}

/// Prints a line on standard error. That nobody reads it is no error.
pub(crate) fn print_stderr(line: impl Display) {
    let mut out = SafeWriter::for_text(anstream::AutoStream::auto(io::stderr()));
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}

#[cfg(test)]
mod tests {
    use super::*;

    const RED: Style = Style::new("31");

    fn written(pieces: &[&str]) -> String {
        let mut bytes = Vec::new();
        let mut out = SafeWriter::for_text(&mut bytes);
        for piece in pieces {
            out.write_all(piece.as_bytes()).unwrap();
        }
        drop(out);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn only_our_own_styles_become_escape_sequences() {
        let text =
            format!("{RED}a{RED:#} \u{1b}[31mb\u{1b}[0m \u{9b}31mc \u{1b}0123456789abcdef:31md\n");
        assert_eq!(
            written(&[&text]),
            "\u{1b}[31ma\u{1b}[0m [31mb[0m 31mc 0123456789abcdef:31md\n"
        );
    }

    #[test]
    fn pieces_are_cut_at_lines_only() {
        let line = format!("{RED}é👩\u{200d}💻{RED:#}\u{202e}\u{1b}]0;title\u{7}\n");
        let shown = "\u{1b}[31mé👩\u{200d}💻\u{1b}[0m]0;title\n";
        let text = line.repeat(3000);
        // Byte by byte, nothing is torn.
        let mut bytes = Vec::new();
        let mut out = SafeWriter::for_text(&mut bytes);
        for byte in text.as_bytes() {
            out.write_all(&[*byte]).unwrap();
        }
        drop(out);
        assert_eq!(String::from_utf8(bytes).unwrap(), shown.repeat(3000));
        assert_eq!(written(&["no ", "newline\u{200b}"]), "no newline");
    }

    #[test]
    fn json_keeps_its_value() {
        let value = serde_json::json!({"a\u{200b}": "b\u{e0041}\u{7f}\u{1b}\u{202e}"});
        let mut bytes = Vec::new();
        serde_json::to_writer_pretty(SafeWriter::for_json(&mut bytes), &value).unwrap();
        assert!(bytes.is_ascii() && !bytes.contains(&0x7f));
        assert_eq!(
            serde_json::from_slice::<serde_json::Value>(&bytes).unwrap(),
            value
        );
    }
}

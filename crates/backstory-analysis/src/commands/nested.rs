//! Ends of nested shell text: substitutions, expansions and here-documents, found without recursion.

/// Kind of nested text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nesting {
    /// `$(…)`, `<(…)`, `(…)`: commands.
    Commands,
    /// `$((…))` and `((…))`, behind the first parenthesis.
    Arithmetic,
    /// `${…}`.
    Expansion,
    /// `` `…` ``.
    Backticks,
    /// `"…"`.
    Double,
    /// `'…'`.
    Single,
    /// `$'…'`.
    Ansi,
}

/// Here-document whose body has not begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HereDocument {
    /// Line that ends it.
    pub(super) delimiter: String,
    /// Tabs before the delimiter are passed over.
    pub(super) strips_tabs: bool,
}

struct Level {
    nesting: Nesting,
    /// `case` commands that are open.
    cases: usize,
    /// A quote inside is an ordinary letter.
    is_quoted: bool,
}

/// Returns the index behind the end of a nested text that begins at `at`, or the length of the text if it is not closed.
pub(super) fn nested_end(text: &str, at: usize, nesting: Nesting) -> usize {
    let bytes = text.as_bytes();
    let level = |nesting, is_quoted| Level {
        nesting,
        cases: 0,
        is_quoted,
    };
    let mut levels = vec![level(nesting, false)];
    let mut pending: Vec<HereDocument> = Vec::new();
    let mut at = at;
    while let Some(&byte) = bytes.get(at) {
        let Some(top) = levels.last_mut() else {
            return at;
        };
        let next = bytes.get(at + 1).copied();
        let kind = top.nesting;
        at += 1;
        match (kind, byte) {
            (Nesting::Single, b'\'') | (Nesting::Ansi, b'\'') => drop(levels.pop()),
            (Nesting::Single, _) => {}
            (_, b'\\') => at += 1,
            (Nesting::Ansi, _) => {}
            (Nesting::Backticks, b'`') => drop(levels.pop()),
            (Nesting::Backticks, _) => {}
            (Nesting::Double, b'"') => drop(levels.pop()),
            (Nesting::Expansion, b'}') => drop(levels.pop()),
            (_, b'$') if next == Some(b'(') => {
                let is_sum = bytes.get(at + 1) == Some(&b'(');
                levels.push(level(
                    match is_sum {
                        true => Nesting::Arithmetic,
                        false => Nesting::Commands,
                    },
                    false,
                ));
                at += 1;
            }
            (_, b'$') if next == Some(b'{') => {
                let is_quoted = kind == Nesting::Double || top.is_quoted;
                levels.push(level(Nesting::Expansion, is_quoted));
                at += 1;
            }
            (_, b'`') => levels.push(level(Nesting::Backticks, false)),
            (Nesting::Double, _) => {}
            (_, b'$') if next == Some(b'\'') && !top.is_quoted => {
                levels.push(level(Nesting::Ansi, false));
                at += 1;
            }
            (Nesting::Arithmetic, b'(') | (Nesting::Commands, b'(') => {
                levels.push(level(kind, false));
            }
            (Nesting::Commands, b')') if top.cases > 0 => {}
            (Nesting::Arithmetic, b')') | (Nesting::Commands, b')') => drop(levels.pop()),
            (_, b'"') => levels.push(level(Nesting::Double, false)),
            (Nesting::Arithmetic, _) => {}
            (_, b'\'') if !top.is_quoted => levels.push(level(Nesting::Single, false)),
            (Nesting::Commands, b'#') if is_word_start(bytes, at - 1) => {
                at = line_end(bytes, at);
            }
            (Nesting::Commands, b'<') if next == Some(b'<') => {
                let (here, end) = here_operator(text, at + 1);
                pending.extend(here);
                at = end;
            }
            (Nesting::Commands, b'\n') if !pending.is_empty() => {
                for here in pending.drain(..) {
                    at = here_body(text, at, &here, true).1;
                }
            }
            (Nesting::Commands, b'c') if is_command(bytes, at - 1, b"case") => top.cases += 1,
            (Nesting::Commands, b'e') if is_command(bytes, at - 1, b"esac") => {
                top.cases = top.cases.saturating_sub(1);
            }
            _ => {}
        }
        if levels.is_empty() {
            return at.min(text.len());
        }
    }
    text.len()
}

/// Reads what follows `<<` at `at`: the delimiter of a here-document, or nothing for the `<` of a here-string. Returns the index behind.
pub(super) fn here_operator(text: &str, at: usize) -> (Option<HereDocument>, usize) {
    let bytes = text.as_bytes();
    let mut at = at;
    if bytes.get(at) == Some(&b'<') {
        return (None, at + 1);
    }
    let strips_tabs = bytes.get(at) == Some(&b'-');
    at += usize::from(strips_tabs);
    while matches!(bytes.get(at), Some(b' ' | b'\t')) {
        at += 1;
    }
    let mut delimiter = String::new();
    let start = at;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            quote @ (b'\'' | b'"') => {
                let rest = text.get(at + 1..).unwrap_or_default();
                let end = rest.find([char::from(quote), '\n']).unwrap_or(rest.len());
                delimiter.push_str(&rest[..end]);
                at += 1 + end;
                if bytes.get(at) != Some(&quote) {
                    break;
                }
                at += 1;
            }
            b'\\' => at += 1,
            b' ' | b'\t' | b'\n' | b'\r' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')'
            | b'`' => {
                break;
            }
            _ => {
                let end = bytes[at + 1..]
                    .iter()
                    .position(u8::is_ascii)
                    .map_or(bytes.len(), |end| at + 1 + end);
                delimiter.push_str(text.get(at..end).unwrap_or_default());
                at = end;
            }
        }
    }
    let here = HereDocument {
        delimiter,
        strips_tabs,
    };
    ((at > start).then_some(here), at.min(text.len()))
}

/// Returns the end of a here-document's body that begins at `at`, and the index behind its delimiter.
///
/// Inside a substitution, a delimiter before the closing parenthesis ends the body too. A body without an end goes to the end of the
/// text, as in bash.
pub(super) fn here_body(
    text: &str,
    at: usize,
    here: &HereDocument,
    is_nested: bool,
) -> (usize, usize) {
    let mut at = at;
    while at < text.len() {
        let line = text[at..].split('\n').next().unwrap_or_default();
        let mut bare = line;
        if here.strips_tabs {
            bare = bare.trim_start_matches('\t');
        }
        let tabs = line.len() - bare.len();
        let bare = bare.strip_suffix('\r').unwrap_or(bare);
        if bare == here.delimiter {
            return (at, (at + line.len() + 1).min(text.len()));
        }
        let rest = bare.strip_prefix(here.delimiter.as_str());
        if is_nested && !here.delimiter.is_empty() && rest.is_some_and(|rest| rest.starts_with(')'))
        {
            return (at, at + tabs + here.delimiter.len());
        }
        at += line.len() + 1;
    }
    (text.len(), text.len())
}

/// Returns the index of the end of the line that `at` is in.
pub(super) fn line_end(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    memchr::memchr(b'\n', rest).map_or(bytes.len(), |end| at + end)
}

fn is_word_start(bytes: &[u8], at: usize) -> bool {
    at.checked_sub(1)
        .and_then(|before| bytes.get(before))
        .is_none_or(|before| b" \t\n;&|()".contains(before))
}

/// Returns whether a word stands where a command begins: behind a separator or another keyword.
fn is_command(bytes: &[u8], at: usize, word: &[u8]) -> bool {
    let is_word = bytes[at..].starts_with(word)
        && bytes
            .get(at + word.len())
            .is_none_or(|next| b" \t\n;&|()".contains(next));
    if !is_word {
        return false;
    }
    let blank = bytes[..at]
        .iter()
        .rev()
        .take(64)
        .take_while(|byte| b" \t".contains(byte))
        .count();
    let before = &bytes[..at - blank];
    before.last().is_none_or(|last| b"\n;&|()".contains(last))
        || (blank > 0
            && [&b"do"[..], b"then", b"else"]
                .iter()
                .any(|keyword| before.ends_with(keyword)))
}

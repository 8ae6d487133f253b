//! Commands of PowerShell lines, split without understanding their expressions.

use super::folder::FolderState;
use super::shell::{Connector, ShellCommand};

/// Verbs of the names that PowerShell gives its commands, such as `Select-Object`.
const VERBS: &[&str] = &[
    "Add",
    "Clear",
    "Compare",
    "Convert",
    "ConvertFrom",
    "ConvertTo",
    "Copy",
    "Expand",
    "Export",
    "ForEach",
    "Format",
    "Get",
    "Group",
    "Import",
    "Invoke",
    "Join",
    "Measure",
    "Move",
    "New",
    "Out",
    "Pop",
    "Push",
    "Read",
    "Remove",
    "Rename",
    "Resolve",
    "Select",
    "Set",
    "Sort",
    "Split",
    "Start",
    "Stop",
    "Test",
    "Wait",
    "Where",
    "Write",
];

/// Bytes of a line that show its dialect.
const MAX_LOOK_BYTES: usize = 16 << 10;

/// Returns whether a line is written for PowerShell: it sets a variable as only PowerShell does, or begins a command with one of its
/// names outside quotes.
pub(super) fn is_powershell(line: &str) -> bool {
    let line = crate::text::beginning(line, MAX_LOOK_BYTES);
    let start = line.trim_start();
    if start.starts_with("$env:") {
        return true;
    }
    if let Some(rest) = start.strip_prefix('$') {
        let name =
            rest.trim_start_matches(|letter: char| letter.is_alphanumeric() || letter == '_');
        if name.len() < rest.len() && name.trim_start_matches(' ').starts_with('=') {
            return true;
        }
    }
    let mut quote = None;
    let mut is_start = true;
    for (at, letter) in line.char_indices() {
        match (quote, letter) {
            (Some(open), _) => {
                if open == letter {
                    quote = None;
                }
                is_start = false;
            }
            (None, '\'' | '"') => quote = Some(letter),
            // The rest of a bash line with a document is data.
            (None, '<') if line[at..].starts_with("<<") => return false,
            (None, ';' | '|' | '\n' | '&' | '{' | '(') => is_start = true,
            (None, ' ' | '\t') => {}
            (None, _) if is_start => {
                is_start = false;
                if begins_with_cmdlet(&line[at..]) {
                    return true;
                }
            }
            (None, _) => {}
        }
    }
    false
}

fn begins_with_cmdlet(text: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphabetic() || letter == '-';
    let end = text.find(|letter| !is_part(letter)).unwrap_or(text.len());
    let Some((verb, noun)) = text[..end].split_once('-') else {
        return false;
    };
    VERBS.contains(&verb) && noun.starts_with(|first: char| first.is_ascii_uppercase())
}

#[derive(Default)]
struct Splitter {
    commands: Vec<ShellCommand>,
    words: Vec<String>,
    word: Option<String>,
    connector: Connector,
    pipeline: usize,
    has_part: bool,
    /// Blocks `{ … }` that are open.
    depth: usize,
    folders: FolderState,
}

/// Parses a PowerShell line. The commands in its blocks are listed as those that may not run.
pub(super) fn parse_powershell(line: &str) -> Vec<ShellCommand> {
    let bytes = line.as_bytes();
    let mut splitter = Splitter::default();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let next = bytes.get(at + 1).copied();
        let is_word_start = splitter.word.is_none();
        at += 1;
        match (byte, next) {
            (b'`', Some(b'\n')) => at += 1,
            (b'`', Some(_)) => at += splitter.push_letter(line, at),
            (b'@', Some(quote @ (b'\'' | b'"'))) if is_word_start => {
                let rest = line.get(at + 1..).unwrap_or_default();
                let end = rest.find(if quote == b'"' { "\n\"@" } else { "\n'@" });
                let body = &rest[..end.unwrap_or(rest.len())];
                splitter
                    .word()
                    .push_str(body.trim_start_matches(['\r', '\n']));
                at += 1 + end.map_or(rest.len(), |end| end + 3);
            }
            (b'\'', _) => at = splitter.push_single(line, at),
            (b'"', _) => at = splitter.push_double(line, at),
            (b'#', _) if is_word_start => at = super::nested::line_end(bytes, at),
            (b'(', _) => at = splitter.push_parentheses(line, at),
            (b' ' | b'\t' | b'\r', _) => splitter.end_word(),
            (b'\n' | b';', _) => splitter.end_pipeline(Connector::Then),
            (b'&', Some(b'&')) => {
                at += 1;
                splitter.end_pipeline(Connector::And);
            }
            (b'|', Some(b'|')) => {
                at += 1;
                splitter.end_pipeline(Connector::Or);
            }
            (b'|', _) => splitter.pipe_on(),
            // Before a word it only says that this is a command, and otherwise belongs to `2>&1`.
            (b'&', _) if is_word_start => {}
            (b'{', _) if is_word_start => {
                splitter.end_pipeline(Connector::Then);
                splitter.depth += 1;
            }
            (b'}', _) if splitter.depth > 0 => {
                splitter.end_pipeline(Connector::Then);
                splitter.depth -= 1;
            }
            _ => at += splitter.push_letter(line, at - 1) - 1,
        }
    }
    splitter.end_pipeline(Connector::Then);
    splitter.commands
}

impl Splitter {
    fn word(&mut self) -> &mut String {
        self.word.get_or_insert_default()
    }

    /// Pushes the letter at an index, and returns its length.
    fn push_letter(&mut self, line: &str, at: usize) -> usize {
        let letter = line.get(at..).and_then(|rest| rest.chars().next());
        self.word().extend(letter);
        letter.map_or(1, char::len_utf8)
    }

    fn push_single(&mut self, line: &str, mut at: usize) -> usize {
        loop {
            let rest = line.get(at..).unwrap_or_default();
            let end = rest.find('\'').unwrap_or(rest.len());
            self.word().push_str(&rest[..end]);
            at += end + 1;
            if !rest[end..].starts_with("''") {
                return at.min(line.len());
            }
            self.word().push('\'');
            at += 1;
        }
    }

    fn push_double(&mut self, line: &str, mut at: usize) -> usize {
        self.word();
        while let Some(&byte) = line.as_bytes().get(at) {
            at += 1;
            match byte {
                b'"' => return at,
                b'`' => at += self.push_letter(line, at),
                _ => at += self.push_letter(line, at - 1) - 1,
            }
        }
        line.len()
    }

    /// Pushes an expression in parentheses as it is written.
    fn push_parentheses(&mut self, line: &str, at: usize) -> usize {
        let bytes = line.as_bytes();
        let (mut depth, mut quote, mut end) = (1_usize, None, at);
        while let Some(&byte) = bytes.get(end)
            && depth > 0
        {
            match (quote, byte) {
                (Some(open), _) if open == byte => quote = None,
                (Some(_), _) => {}
                (None, b'\'' | b'"') => quote = Some(byte),
                (None, b'(') => depth += 1,
                (None, b')') => depth -= 1,
                (None, _) => {}
            }
            end += 1;
        }
        let raw = line.get(at - 1..end).unwrap_or_default();
        self.word().push_str(raw);
        end
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else {
            return;
        };
        let is_redirection =
            word.starts_with('>') || word.starts_with("2>") || word.starts_with("*>");
        if !is_redirection {
            self.words.push(word);
        }
    }

    fn finish_command(&mut self) {
        self.end_word();
        let words = std::mem::take(&mut self.words);
        if words.is_empty() {
            return;
        }
        let folder = self.folders.current();
        self.folders.apply(&words);
        self.has_part = true;
        self.commands.push(ShellCommand {
            words,
            folder,
            connector: self.connector,
            pipeline: self.pipeline,
            is_conditional: self.depth > 0,
            ..ShellCommand::default()
        });
    }

    fn end_pipeline(&mut self, connector: Connector) {
        self.finish_command();
        if self.has_part {
            self.has_part = false;
            self.connector = connector;
            self.pipeline += 1;
        }
    }

    fn pipe_on(&mut self) {
        self.finish_command();
        if self.has_part
            && let Some(last) = self.commands.last_mut()
        {
            last.is_piped_on = true;
            self.has_part = false;
        }
    }
}

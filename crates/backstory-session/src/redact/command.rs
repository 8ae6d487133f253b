//! Passwords on command lines, where only the program and its flag say what they are: `mysql -pX`, `redis-cli -a X`.

use std::ops::Range;

use memchr::memmem;

use super::examined::{count_leading, examined};
use super::plausible::{is_demonstration, is_placeholder, is_reference};
use super::rule::Found;
use super::search::Search;

/// A program and the flags behind which it takes a secret.
struct Command {
    name: &'static str,
    /// Flags with the secret right behind them. Those that end with a blank take it as the next word.
    flags: &'static [&'static str],
}

/// Length in bytes of the command lines that are looked at.
const MAX_COMMAND_BYTES: usize = 300;
const SECRET_BYTES: Range<usize> = 4..200;

const COMMANDS: [Command; 24] = [
    Command {
        name: "mysql ",
        flags: &[" -p"],
    },
    Command {
        name: "mysqldump ",
        flags: &[" -p"],
    },
    Command {
        name: "mysqladmin ",
        flags: &[" -p"],
    },
    Command {
        name: "mysqlimport ",
        flags: &[" -p"],
    },
    Command {
        name: "mariadb ",
        flags: &[" -p"],
    },
    Command {
        name: "mariadb-dump ",
        flags: &[" -p"],
    },
    Command {
        name: "docker login",
        flags: &[" -p "],
    },
    Command {
        name: "podman login",
        flags: &[" -p "],
    },
    Command {
        name: "registry login",
        flags: &[" -p "],
    },
    Command {
        name: "acr login",
        flags: &[" -p "],
    },
    Command {
        name: "az login",
        flags: &[" -p "],
    },
    Command {
        name: "redis-cli ",
        flags: &[" -a ", " --pass "],
    },
    Command {
        name: "mongosh ",
        flags: &[" -p "],
    },
    Command {
        name: "mongo ",
        flags: &[" -p "],
    },
    Command {
        name: "mongodump ",
        flags: &[" -p "],
    },
    Command {
        name: "mongorestore ",
        flags: &[" -p "],
    },
    Command {
        name: "ldapsearch ",
        flags: &[" -w "],
    },
    Command {
        name: "ldapadd ",
        flags: &[" -w "],
    },
    Command {
        name: "ldapmodify ",
        flags: &[" -w "],
    },
    Command {
        name: "ldapwhoami ",
        flags: &[" -w "],
    },
    Command {
        name: "gh secret set",
        flags: &[" --body ", " --body=", " -b "],
    },
    Command {
        name: "sqlcmd ",
        flags: &[" -P "],
    },
    Command {
        name: "plink ",
        flags: &[" -pw "],
    },
    Command {
        name: "pscp ",
        flags: &[" -pw "],
    },
];

/// The secret behind a flag of the command whose name is at `hit`.
pub(super) fn flag(search: &mut Search<'_>, hit: &Range<usize>) -> Option<Found> {
    let text = search.text;
    let name = text.get(hit.clone())?;
    let command = COMMANDS
        .iter()
        .find(|command| command.name.as_bytes() == name)?;
    // The blank before the first flag may be part of the name.
    let start = hit.end - usize::from(name.ends_with(b" "));
    let line = command_line(text, start, name);
    command.flags.iter().find_map(|flag| {
        examined(line.len());
        let at = memmem::find(line, flag.as_bytes())?;
        secret_word(text, start + at + flag.len())
    })
}

/// The word that is piped into a login which reads the password from its input, at `hit`.
pub(super) fn piped(search: &mut Search<'_>, hit: &Range<usize>) -> Option<Found> {
    let before = search
        .text
        .get(hit.start.saturating_sub(MAX_COMMAND_BYTES)..hit.start)?;
    examined(before.len() * 2);
    let offset = hit.start - before.len();
    let pipe = memchr::memrchr(b'|', before)?;
    let before = before.get(..pipe)?;
    let echo = ["echo -n ", "echo ", "printf %s ", "printf '%s' "]
        .iter()
        .filter_map(|echo| Some(memmem::rfind(before, echo.as_bytes())? + echo.len()))
        .max()?;
    let found = secret_word(search.text, offset + echo)?;
    // Nothing but the word goes into the pipe.
    let between = search.text.get(found.range.end..offset + pipe)?;
    between
        .iter()
        .all(|byte| matches!(byte, b' ' | b'"' | b'\'' | b'\\'))
        .then_some(found)
}

/// The value of `--from-literal=name=value` at `hit`, if a Secret is made of it.
pub(super) fn literal(search: &mut Search<'_>, hit: &Range<usize>) -> Option<Found> {
    let text = search.text;
    let before = text.get(hit.start.saturating_sub(MAX_COMMAND_BYTES)..hit.start)?;
    let name = count_leading(text.get(hit.end..)?.iter().take(65), |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
    });
    if text.get(hit.end + name) != Some(&b'=') {
        return None;
    }
    examined(before.len());
    memmem::rfind(before, b" secret ")?;
    secret_word(text, hit.end + name + 1)
}

/// The rest of the command line behind `start`: up to the end of the line, the next command or the same command again.
fn command_line<'t>(text: &'t [u8], start: usize, name: &[u8]) -> &'t [u8] {
    let rest = text.get(start..).unwrap_or_default();
    let rest = rest
        .get(..rest.len().min(MAX_COMMAND_BYTES))
        .unwrap_or_default();
    let again = memmem::find(rest.get(1..).unwrap_or_default(), name);
    let rest = rest
        .get(..again.map_or(rest.len(), |at| at + 1))
        .unwrap_or_default();
    examined(rest.len());
    let mut last = b' ';
    let length = rest.iter().position(|byte| {
        let ends = matches!(byte, b'\n' | b'\r' | b';' | b'|' | b'&')
            || last == b'\\' && matches!(byte, b'n' | b'r');
        last = *byte;
        ends
    });
    examined(length.unwrap_or(rest.len()));
    rest.get(..length.unwrap_or(rest.len())).unwrap_or_default()
}

/// The word at `start`, in quotes or not, if it is a secret that somebody typed.
fn secret_word(text: &[u8], start: usize) -> Option<Found> {
    let rest = text.get(start..)?;
    let escapes = count_leading(rest.iter().take(8), |byte| byte == b'\\');
    let quoted = matches!(rest.get(escapes), Some(b'"' | b'\''));
    let offset = if quoted { escapes + 1 } else { 0 };
    let word = rest.get(offset..)?;
    let length = count_leading(word.iter().take(SECRET_BYTES.end), |byte| {
        !byte.is_ascii_whitespace()
            && !byte.is_ascii_control()
            && !matches!(
                byte,
                b'"' | b'\'' | b'`' | b'\\' | b'|' | b';' | b'&' | b'>' | b')'
            )
    });
    let word = word.get(..length)?;
    let template = matches!(
        word.first()?,
        b'$' | b'<' | b'{' | b'%' | b'-' | b'(' | b'[' | b'*' | b'.'
    );
    (SECRET_BYTES.contains(&length)
        && !template
        && !is_placeholder(word)
        && !is_demonstration(word)
        && !is_reference(word))
    .then(|| Found::plain(start + offset..start + offset + length))
}

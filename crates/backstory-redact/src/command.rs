//! Passwords on command lines, where only the program and its flag say what they are: `mysql -pX`, `redis-cli -a X`.

use std::ops::Range;

use memchr::memmem;

use super::examined::{count_leading, examined};
use super::plausible::{contains_any, is_demonstration, is_placeholder, is_reference, is_words};
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
/// Length in bytes of the part of a statement of SQL that is looked at.
const MAX_STATEMENT_BYTES: usize = 128;
const SECRET_BYTES: Range<usize> = 4..200;

const COMMANDS: [Command; 32] = [
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
    Command {
        name: "useradd ",
        flags: &[" -p ", " --password "],
    },
    Command {
        name: "usermod ",
        flags: &[" -p ", " --password "],
    },
    Command {
        name: "openssl enc",
        flags: &[" -k ", " -K "],
    },
    Command {
        name: "7z x ",
        flags: &[" -p"],
    },
    Command {
        name: "7z a ",
        flags: &[" -p"],
    },
    Command {
        name: "7z e ",
        flags: &[" -p"],
    },
    Command {
        name: "zip ",
        flags: &[" -P "],
    },
    Command {
        name: "unrar ",
        flags: &[" -p", " -hp"],
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

/// The password behind a user's name, in a flag of the `curl` at `hit` or in the flag that ends there.
pub(super) fn user_password(search: &mut Search<'_>, hit: &Range<usize>) -> Option<Found> {
    const FLAGS: [&str; 4] = [" -u", " -U", " --user", " --proxy-user"];
    let text = search.text;
    let name = text.get(hit.clone())?;
    if name != b"curl " {
        let found = password_of_user(text, hit.end)?;
        // Other programs take a user and a group.
        return (!is_words(text.get(found.range.clone())?)).then_some(found);
    }
    let start = hit.end - 1;
    let line = command_line(text, start, name);
    FLAGS.iter().find_map(|flag| {
        examined(line.len());
        let at = memmem::find(line, flag.as_bytes())?;
        password_of_user(text, start + at + flag.len())
    })
}

/// The password in the `user:password` that begins at `start`, behind a blank, an equals sign or a quote.
fn password_of_user(text: &[u8], start: usize) -> Option<Found> {
    const MAX_USER_BYTES: usize = 64;
    let rest = text.get(start..)?;
    let gap = count_leading(rest.iter().take(20), |byte| {
        matches!(byte, b' ' | b'=' | b'\\' | b'"' | b'\'')
    });
    let user = count_leading(rest.get(gap..)?.iter().take(MAX_USER_BYTES), |byte| {
        byte.is_ascii_alphanumeric() || b"_.@+-".contains(&byte)
    });
    let at = gap + user;
    if user == 0
        || rest.get(at) != Some(&b':')
        || matches!(rest.get(at + 1), Some(b'"' | b'\'' | b'\\'))
    {
        return None;
    }
    let found = secret_word(text, start + at + 1)?;
    (found.range.len() >= 6).then_some(found)
}

/// The last of the words behind the flags of the `htpasswd` at `hit`, if one of the flags says that it is the password.
pub(super) fn htpasswd(search: &mut Search<'_>, hit: &Range<usize>) -> Option<Found> {
    let text = search.text;
    let start = hit.end - 1;
    let line = command_line(text, start, text.get(hit.clone())?);
    let mut at = start;
    let mut words = line.split(|byte| *byte == b' ').map(|word| {
        let place = at;
        at += word.len() + 1;
        (place, word)
    });
    let (mut is_given, mut is_printed) = (false, false);
    // Up to the first word that is no flag: the file, or the user if the entry is only printed.
    words.find(|(_, word)| {
        let is_flag = word.starts_with(b"-");
        is_given |= is_flag && word.contains(&b'b');
        is_printed |= is_flag && word.contains(&b'n');
        !is_flag
    })?;
    let (password, _) = words.nth(usize::from(!is_printed))?;
    is_given.then(|| secret_word(text, password)).flatten()
}

/// The word that is given to a command which reads the password from its input, at `hit`: through a pipe or as a here-string.
pub(super) fn piped(search: &mut Search<'_>, hit: &Range<usize>) -> Option<Found> {
    let text = search.text;
    let name = text.get(hit.clone())?;
    let found = piped_word(text, hit.start).or_else(|| {
        let line = command_line(text, hit.end, name);
        let at = memmem::find(line, b"<<<")? + b"<<<".len();
        let blanks = count_leading(line.get(at..)?.iter(), |byte| byte == b' ');
        secret_word(text, hit.end + at + blanks)
    })?;
    if name != b"chpasswd" {
        return Some(found);
    }
    let user = memchr::memchr(b':', text.get(found.range.clone())?)? + 1;
    let start = found.range.start + user;
    (found.range.end - start >= SECRET_BYTES.start).then(|| Found::plain(start..found.range.end))
}

/// The word that is written into the pipe before `at`.
fn piped_word(text: &[u8], at: usize) -> Option<Found> {
    let before = text.get(at.saturating_sub(MAX_COMMAND_BYTES)..at)?;
    examined(before.len() * 2);
    let offset = at - before.len();
    let pipe = memchr::memrchr(b'|', before)?;
    let before = before.get(..pipe)?;
    let echo = ["echo -n ", "echo ", "printf %s ", "printf '%s' "]
        .iter()
        .filter_map(|echo| Some(memmem::rfind(before, echo.as_bytes())? + echo.len()))
        .max()?;
    let found = secret_word(text, offset + echo)?;
    // Nothing but the word goes into the pipe.
    let between = text.get(found.range.end..offset + pipe)?;
    between
        .iter()
        .all(|byte| matches!(byte, b' ' | b'"' | b'\'' | b'\\'))
        .then_some(found)
}

/// The password that a statement of SQL gives to a user, behind the words at `hit`.
pub(super) fn sql_password(search: &mut Search<'_>, hit: &Range<usize>) -> Option<Found> {
    const STATEMENTS: [&[u8]; 8] = [
        b"create role",
        b"alter role",
        b"create user",
        b"alter user",
        b"create login",
        b"alter login",
        b"set password",
        b"grant ",
    ];
    let text = search.text;
    let words = text.get(hit.clone())?;
    let before = text.get(hit.start.saturating_sub(MAX_STATEMENT_BYTES)..hit.start)?;
    if !contains_any(before, &STATEMENTS) {
        return None;
    }
    let start = if words.ends_with(b"'") {
        hit.end - 1
    } else if words.eq_ignore_ascii_case(b"identified by ") {
        hit.end
    } else {
        let rest = text.get(hit.end..text.len().min(hit.end + MAX_STATEMENT_BYTES))?;
        examined(rest.len());
        let by = [&b" by "[..], b" BY "];
        hit.end + by.iter().find_map(|by| memmem::find(rest, by))? + b" by ".len()
    };
    let quote = start + count_leading(text.get(start..)?.iter().take(8), |byte| byte == b'\\');
    matches!(text.get(quote), Some(b'\'' | b'"'))
        .then(|| secret_word(text, start))
        .flatten()
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

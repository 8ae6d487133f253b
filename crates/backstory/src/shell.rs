//! Paths in files that are read by others: by shells, schedulers and agents.

use crate::error::Error;

/// A word for a shell, in quotes only if it needs them.
pub(crate) fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_@+=:,./-".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return text.to_string();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The absolute path of this program.
pub(crate) fn own_path() -> Result<String, Error> {
    let program = std::env::current_exe()?;
    Ok(program.to_string_lossy().into_owned())
}

/// Refuses what nobody can run: no text, or with a newline that would end its line.
pub(crate) fn check_writable(text: &str, into: &str) -> Result<(), Error> {
    if text.contains(|character: char| character.is_control() || character == '\u{fffd}') {
        return Err(
            Error::usage(format!("{text:?} cannot be written into {into}"))
                .hint("use a path without control characters that is valid UTF-8"),
        );
    }
    Ok(())
}

//! Cursor. Its logs are not read yet.

pub(crate) mod hooks;

//! A snapshot of a file that was just written.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use backstory_code::{MAX_BYTES, Parsed};
use backstory_event::{SessionId, TimeMs};
use backstory_redact::Redactor;

use super::files::SourceFile;
use super::save::save;
use super::scanned::{FileScan, scans_of};
use super::session::{Edited, State, Step, language_of, whole_outline};
use super::teller::{Fact, Teller};
use crate::Code;
use crate::error::{Error, Result};
use crate::place::real;
use crate::redaction::stored_text;
use crate::trusted::read_regular_file;

/// What was found in a file that was just written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// So many symbols are not what they were.
    Changed(usize),
    /// It has errors that were not there before, as if somebody were in the middle of something: the last good snapshot counts on.
    Broken,
    /// It is in no language that is known here, or nothing that people write.
    NotSource,
}

impl Code<'_> {
    /// Stores a snapshot of a file that a session, named by its row, has just written, and what changed in it. Until its log is swept, the
    /// turn is not known. `before` is the text that was there, if whoever wrote it tells; else the last snapshot counts.
    pub fn see_file(
        &self,
        path: &Path,
        session: SessionId,
        before: Option<&str>,
        at: TimeMs,
        redactor: Option<&Redactor>,
    ) -> Result<Seen> {
        Ok(self.scan_written(path, session, before, at, redactor)?.0)
    }

    /// Like [`Code::see_file`], with what the event log says of it.
    pub(crate) fn scan_written(
        &self,
        path: &Path,
        session: SessionId,
        before: Option<&str>,
        at: TimeMs,
        redactor: Option<&Redactor>,
    ) -> Result<(Seen, Option<FileScan>)> {
        let started = Instant::now();
        let path = real(path);
        let unreadable = |source| Error::Path {
            path: path.clone(),
            source,
        };
        let (Some(file), Some(language)) = (
            SourceFile::on_disk(&path),
            language_of(&path.to_string_lossy()),
        ) else {
            return Ok((Seen::NotSource, None));
        };
        let file = file.without_secrets(redactor);
        let bytes = match read_regular_file(&path, MAX_BYTES as u64) {
            Err(error) if error.kind() == ErrorKind::FileTooLarge => {
                return Ok((Seen::NotSource, None));
            }
            read => read.map_err(unreadable)?,
        };
        let Ok(text) = String::from_utf8(bytes) else {
            return Ok((Seen::NotSource, None));
        };
        let parse = |text: &str| {
            // As texts out of logs are: whatever ends their lines.
            let text = text.lines().flat_map(|line| [line, "\n"]).collect();
            // Signatures and decorators are kept as they are written.
            Parsed::new(language, stored_text(redactor, text)).ok()
        };
        let Some(after) = parse(&text).as_ref().map(whole_outline) else {
            return Ok((Seen::NotSource, None));
        };
        self.memory.store.install_triggers()?;
        let before = match before {
            Some("") => State::Absent,
            Some(before) => match parse(before) {
                Some(parsed) => State::Seen(Arc::new(parsed.symbols())),
                None => State::Odd,
            },
            None => State::Unknown,
        };
        let step = Step::Edited(Edited {
            file,
            turn: None,
            at: Some(at),
            before,
            after: State::Seen(after),
            fragments: Vec::new(),
        });
        let coding = self.memory.store.coding()?;
        let facts = Teller::new(&coding, None).tell(vec![step])?;
        for fact in &facts {
            save(&coding, session, fact)?;
        }
        coding.commit()?;
        let changed = facts.iter().map(|fact| match fact {
            Fact::Changed { symbols, .. } => symbols.len(),
            _ => 0,
        });
        let seen = match facts.iter().any(|fact| matches!(fact, Fact::Broken { .. })) {
            true => Seen::Broken,
            false => Seen::Changed(changed.sum()),
        };
        let mut scan = scans_of(session, &facts).pop();
        if let Some(scan) = &mut scan {
            scan.duration = Some(started.elapsed());
        }
        Ok((seen, scan))
    }
}

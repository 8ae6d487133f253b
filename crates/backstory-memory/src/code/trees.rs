//! Syntax trees that are worth keeping for a while.

use std::sync::Arc;

use backstory_code::{Language, Outline, Parsed, Skipped};

use super::files::SourceFile;

/// Of files of so many bytes together the trees are kept. A tree takes ten times its text.
const MOST_BYTES: usize = 1 << 19;

/// The trees of files that were parsed last: what is edited is soon edited again, and only what differs is parsed again.
#[derive(Default)]
pub(super) struct Trees {
    /// The newest first.
    kept: Vec<(SourceFile, Parsed, Arc<Outline>)>,
}

impl Trees {
    /// Returns whether this text of a file was outlined last, so that doing it again costs nothing.
    pub(super) fn has_text(&self, file: &SourceFile, text: &str) -> bool {
        let mut kept = self.kept.iter();
        kept.any(|(known, parsed, _)| known == file && parsed.text() == text)
    }

    /// What a text of a file defines.
    pub(super) fn symbols(
        &mut self,
        file: &SourceFile,
        language: &'static Language,
        text: &str,
    ) -> Result<(Parsed, Arc<Outline>), Skipped> {
        let known = self.kept.iter().position(|(known, ..)| known == file);
        let parsed = match known.map(|known| self.kept.remove(known)) {
            Some((_, parsed, outline)) if parsed.text() == text => return Ok((parsed, outline)),
            Some((_, parsed, _)) => parsed.then(text.to_string())?,
            None => Parsed::new(language, text.to_string())?,
        };
        let outline = Arc::new(parsed.symbols());
        Ok((parsed, outline))
    }

    /// Keeps a tree as long as there is room.
    pub(super) fn keep(&mut self, file: &SourceFile, parsed: Parsed, outline: Arc<Outline>) {
        self.kept.insert(0, (file.clone(), parsed, outline));
        let mut bytes = 0;
        self.kept.retain(|(_, parsed, _)| {
            bytes += parsed.text().len();
            bytes <= MOST_BYTES
        });
    }
}

//! Syntax trees that are worth keeping for a while.

use backstory_code::{Language, Parsed, Skipped};

use super::files::SourceFile;
use super::look::Look;

/// Of files of so many bytes together the trees are kept. A tree takes ten times its text.
const MOST_BYTES: usize = 1 << 19;

/// The trees of files that were looked at last: what is edited is soon edited again, and only what differs is parsed again.
#[derive(Default)]
pub(super) struct Trees {
    /// The newest first.
    kept: Vec<(SourceFile, Parsed, Look)>,
}

impl Trees {
    /// Returns whether this text of a file was looked at last, so that looking again costs nothing.
    pub(super) fn has_text(&self, file: &SourceFile, text: &str) -> bool {
        let mut kept = self.kept.iter();
        kept.any(|(known, parsed, _)| known == file && parsed.text() == text)
    }

    /// A look at a text of a file.
    pub(super) fn look(
        &mut self,
        file: &SourceFile,
        language: &'static Language,
        text: &str,
    ) -> Result<(Parsed, Look), Skipped> {
        let known = self.kept.iter().position(|(known, ..)| known == file);
        let parsed = match known.map(|known| self.kept.remove(known)) {
            Some((_, parsed, look)) if parsed.text() == text => return Ok((parsed, look)),
            Some((_, parsed, _)) => parsed.then(text.to_string())?,
            None => Parsed::new(language, text.to_string())?,
        };
        let look = Look::new(text, parsed.symbols());
        Ok((parsed, look))
    }

    /// Keeps a tree as long as there is room.
    pub(super) fn keep(&mut self, file: &SourceFile, parsed: Parsed, look: Look) {
        self.kept.insert(0, (file.clone(), parsed, look));
        let mut bytes = 0;
        self.kept.retain(|(_, parsed, _)| {
            bytes += parsed.text().len();
            bytes <= MOST_BYTES
        });
    }
}

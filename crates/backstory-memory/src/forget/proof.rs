//! Proving that nothing is left: every file of the store is searched for words that only the forgotten sessions said.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use backstory_session::Kind;
use backstory_store::{EventRange, SessionHead, Store};
use memchr::memmem::Finder;

use super::sieve::Names;
use crate::error::{Error, Result};
use crate::read::visit;

/// Shorter words are said by others, too.
const LEAST_WORD: usize = 12;
const LONGEST_WORD: usize = 64;

/// So many words are looked for, of so many sessions.
const MOST_WORDS: usize = 12;
const MOST_SESSIONS: usize = 20;

/// So much of a file is in memory at once.
const PIECE_BYTES: usize = 1 << 20;

/// What was searched, and what was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Proof {
    /// Files of the store that were read through.
    pub files_searched: u64,
    /// Blocks that were decompressed and read through.
    pub blocks_searched: u64,
    /// How many strings were looked for: ids, and words of prompts that no other session says.
    pub strings: u64,
    /// Where one was found; nowhere, if all went well.
    pub remains: Vec<String>,
}

/// What to look for.
pub(super) struct Probes {
    ids: Vec<Finder<'static>>,
    words: Vec<Finder<'static>>,
}

impl Probes {
    /// Takes the longest words of what people asked, before they are gone.
    pub(super) fn new(store: &Store, sessions: &[SessionHead], names: &Names) -> Result<Self> {
        let mut words: BTreeSet<(std::cmp::Reverse<usize>, String)> = BTreeSet::new();
        for session in sessions.iter().take(MOST_SESSIONS) {
            visit(
                store,
                session.id,
                &session.agent,
                EventRange::All,
                |event| {
                    if event.row.kind == Kind::Prompt {
                        let is_part =
                            |character: char| character.is_ascii_alphanumeric() || character == '_';
                        let parts = event.text.split(|character| !is_part(character));
                        let long =
                            parts.filter(|word| (LEAST_WORD..=LONGEST_WORD).contains(&word.len()));
                        words.extend(
                            long.map(|word| (std::cmp::Reverse(word.len()), word.to_string())),
                        );
                        while words.len() > MOST_WORDS {
                            words.pop_last();
                        }
                    }
                    Ok(())
                },
            )?;
        }
        let words = words.iter().map(|(_, word)| Finder::new(word).into_owned());
        let ids = names.texts().map(|name| Finder::new(name).into_owned());
        Ok(Probes {
            ids: ids.collect(),
            words: words.collect(),
        })
    }

    /// Looks everywhere. A word that an event of another session says is that session's, and proves nothing.
    pub(super) fn prove(mut self, home: &Path, store: &Store) -> Result<Proof> {
        let mut proof = Proof::default();
        let mut shared: Vec<usize> = Vec::new();
        store.stored_bytes(|stream, start, bytes| {
            proof.blocks_searched += 1;
            for (place, finder) in self.words.iter().enumerate() {
                for at in finder.find_iter(bytes) {
                    if store.is_in_event(stream, start + at as u64)? {
                        shared.push(place);
                    } else {
                        proof
                            .remains
                            .push(format!("stored bytes of stream {stream}"));
                    }
                }
            }
            if self.ids.iter().any(|finder| finder.find(bytes).is_some()) {
                proof.remains.push(format!("an id in stream {stream}"));
            }
            Ok(())
        })?;
        store.digests(|digest| {
            for (place, finder) in self.words.iter().enumerate() {
                if finder.find(&digest.notes).is_some() {
                    shared.push(place);
                }
            }
            if self
                .ids
                .iter()
                .any(|finder| finder.find(&digest.notes).is_some())
            {
                proof
                    .remains
                    .push("an id in an account of another session".to_string());
            }
        })?;
        for (_, path) in store.source_paths()? {
            let named = self
                .words
                .iter()
                .enumerate()
                .filter(|(_, finder)| finder.find(path.as_bytes()).is_some());
            shared.extend(named.map(|(place, _)| place));
        }
        let mut place = 0;
        self.words.retain(|_| {
            place += 1;
            !shared.contains(&(place - 1))
        });
        self.words.append(&mut self.ids);
        proof.strings = self.words.len() as u64;
        for path in files(home) {
            proof.files_searched += 1;
            if self.is_in(&path).map_err(|source| Error::Path {
                path: path.clone(),
                source,
            })? {
                proof.remains.push(path.display().to_string());
            }
        }
        Ok(proof)
    }

    fn is_in(&self, path: &Path) -> std::io::Result<bool> {
        let mut file = std::fs::File::open(path)?;
        let longest = self.words.iter().map(|finder| finder.needle().len()).max();
        let overlap = longest.unwrap_or(1) - 1;
        let mut piece = Vec::new();
        loop {
            let keep = piece.len().saturating_sub(overlap);
            piece.drain(..keep);
            let read = file
                .by_ref()
                .take(PIECE_BYTES as u64)
                .read_to_end(&mut piece)?;
            if self
                .words
                .iter()
                .any(|finder| finder.find(&piece).is_some())
            {
                return Ok(true);
            }
            if read == 0 {
                return Ok(false);
            }
        }
    }
}

/// Every file of the store but models, which know nothing of sessions.
fn files(home: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![home.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && entry.path() != home.join("models") => {
                    folders.push(entry.path());
                }
                Ok(kind) if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
    files
}

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
const LEAST_LENGTH: usize = 12;
const MOST_LENGTH: usize = 64;

/// So many words and phrases each are looked for, of so many sessions.
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
    words: Vec<Word>,
}

/// Something that a forgotten session said.
struct Word {
    finder: Finder<'static>,
    /// Whether an event of another session says it as well: then it is that session's, and proves nothing.
    shared: bool,
    /// Where else it was found.
    places: BTreeSet<String>,
}

impl Probes {
    /// Takes the longest words and phrases of what people asked, before they are gone.
    pub(super) fn new(store: &Store, sessions: &[SessionHead], names: &Names) -> Result<Self> {
        let (mut words, mut phrases) = (Longest::default(), Longest::default());
        for session in sessions.iter().take(MOST_SESSIONS) {
            visit(
                store,
                session.id,
                &session.agent,
                EventRange::All,
                |event| {
                    if event.row.kind == Kind::Prompt {
                        words.add(&event.text, "_");
                        // No character of these is written otherwise in JSON.
                        phrases.add(&event.text, "_ -");
                    }
                    Ok(())
                },
            )?;
        }
        let words = words.0.into_iter().chain(phrases.0);
        let words = words.map(|(_, word)| Word {
            finder: Finder::new(&word).into_owned(),
            shared: false,
            places: BTreeSet::new(),
        });
        let ids = names.texts().map(|name| Finder::new(name).into_owned());
        Ok(Probes {
            ids: ids.collect(),
            words: words.collect(),
        })
    }

    /// Looks everywhere.
    pub(super) fn prove(mut self, home: &Path, store: &Store) -> Result<Proof> {
        let mut proof = Proof::default();
        let mut remains = BTreeSet::new();
        let Probes { ids, words } = &mut self;
        store.stored_bytes(|stream, start, bytes| {
            proof.blocks_searched += 1;
            let place = format!("stored bytes of stream {stream}");
            for word in words.iter_mut().filter(|word| !word.shared) {
                for at in word.finder.find_iter(bytes) {
                    word.shared |= store.is_in_event(stream, start + at as u64)?;
                    word.places.insert(place.clone());
                }
            }
            if ids.iter().any(|id| id.find(bytes).is_some()) {
                remains.insert(place);
            }
            Ok(())
        })?;
        store.digests(|digest| {
            for word in words.iter_mut() {
                word.shared |= word.finder.find(&digest.notes).is_some();
            }
            if ids.iter().any(|id| id.find(&digest.notes).is_some()) {
                remains.insert("an account of another session".to_string());
            }
        })?;
        store.written(|body| {
            for word in words.iter_mut() {
                word.shared |= word.finder.find(body).is_some();
            }
            if ids.iter().any(|id| id.find(body).is_some()) {
                remains.insert("what a model wrote of another session".to_string());
            }
        })?;
        for (_, path) in store.source_paths()? {
            for word in words.iter_mut() {
                word.shared |= word.finder.find(path.as_bytes()).is_some();
            }
        }
        words.retain(|word| !word.shared);
        for word in words.iter_mut() {
            remains.append(&mut word.places);
        }
        proof.strings = (ids.len() + words.len()) as u64;
        for path in files(home) {
            proof.files_searched += 1;
            let found = self.is_in(&path).map_err(|source| Error::Path {
                path: path.clone(),
                source,
            })?;
            if found {
                remains.insert(path.display().to_string());
            }
        }
        proof.remains = remains.into_iter().collect();
        Ok(proof)
    }

    fn finders(&self) -> impl Iterator<Item = &Finder<'static>> {
        self.ids
            .iter()
            .chain(self.words.iter().map(|word| &word.finder))
    }

    fn is_in(&self, path: &Path) -> std::io::Result<bool> {
        let mut file = std::fs::File::open(path)?;
        let longest = self.finders().map(|finder| finder.needle().len()).max();
        let overlap = longest.unwrap_or(1) - 1;
        let mut piece = Vec::new();
        loop {
            let keep = piece.len().saturating_sub(overlap);
            piece.drain(..keep);
            let read = file
                .by_ref()
                .take(PIECE_BYTES as u64)
                .read_to_end(&mut piece)?;
            if self.finders().any(|finder| finder.find(&piece).is_some()) {
                return Ok(true);
            }
            if read == 0 {
                return Ok(false);
            }
        }
    }
}

/// The longest pieces of texts, the longest first.
#[derive(Default)]
struct Longest(BTreeSet<(std::cmp::Reverse<usize>, String)>);

impl Longest {
    /// Adds pieces of letters, digits and these other characters.
    fn add(&mut self, text: &str, others: &str) {
        let is_part =
            |character: char| character.is_ascii_alphanumeric() || others.contains(character);
        for piece in text.split(|character| !is_part(character)) {
            let piece = piece.trim();
            let piece = &piece[..piece.len().min(MOST_LENGTH)];
            if piece.len() >= LEAST_LENGTH {
                self.0
                    .insert((std::cmp::Reverse(piece.len()), piece.to_string()));
                if self.0.len() > MOST_WORDS {
                    self.0.pop_last();
                }
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

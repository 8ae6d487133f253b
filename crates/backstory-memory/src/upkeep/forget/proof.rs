//! Proving that nothing is left: every file of the store is searched for words that only the forgotten sessions said.

use std::collections::{BTreeSet, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use backstory_event::{Kind, SessionId, StreamId};
use backstory_store::{BlockSpan, Damage, EventRange, SessionHead, Store};
use memchr::memmem::Finder;

use super::outside::files_in;
use super::sieve::Names;
use crate::error::{Error, Result};
use crate::patterns::published_block;
use crate::read::{on_all_cores, visit_stored};
use crate::trusted::open_regular;

/// Shorter words are said by others, too.
const LEAST_LENGTH: usize = 12;
const MOST_LENGTH: usize = 64;

/// Maximum number of words and of phrases that are looked for, and of sessions that they are taken from.
const MOST_WORDS: usize = 12;
const MOST_SESSIONS: usize = 20;

/// Bytes of a file that are in memory at once.
const PIECE_BYTES: usize = 1 << 20;

/// Verification that nothing is left: what was searched, and what was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Proof {
    /// Files of the store that were read through.
    pub files_searched: u64,
    /// Blocks that were decompressed and read through.
    pub blocks_searched: u64,
    /// Number of strings that were looked for: ids, and words of prompts that no other session says.
    pub strings: u64,
    /// Places where one was found; empty if nothing is left.
    pub remains: Vec<String>,
    /// Damaged pieces, which could not be searched.
    pub unsearched: Vec<Damage>,
}

/// Places to search besides the store.
#[derive(Default)]
pub(super) struct SearchedPlaces {
    /// Folders whose files are searched.
    pub(super) folders: Vec<PathBuf>,
    /// Files whose published block is searched.
    pub(super) published: Vec<PathBuf>,
    /// Streams that repeated a forgotten session.
    pub(super) blanked: HashSet<StreamId>,
    /// Folders, branches and titles that the other lines of those name.
    pub(super) kept: HashSet<String>,
}

/// Strings to look for.
pub(super) struct Probes {
    ids: Vec<Finder<'static>>,
    words: Vec<Word>,
}

/// Something that a forgotten session said.
struct Word {
    finder: Finder<'static>,
    /// True if it is of a title, folder or branch: those stand outside of events, too.
    is_place: bool,
    /// True if an event of another session has it as well: then it is that session's, and proves nothing.
    shared: AtomicBool,
    /// Other places where it was found.
    places: Mutex<BTreeSet<String>>,
}

impl Word {
    fn is_shared(&self) -> bool {
        self.shared.load(Ordering::Relaxed)
    }

    fn share(&self) {
        self.shared.store(true, Ordering::Relaxed);
    }
}

impl Probes {
    /// Takes the longest words and phrases of what people asked, before they are gone.
    pub(super) fn new(store: &Store, sessions: &[SessionHead], names: &Names) -> Result<Self> {
        let (mut words, mut phrases) = (Longest::default(), Longest::default());
        let mut places = Longest::default();
        let rows: Vec<SessionId> = sessions.iter().map(|session| session.id).collect();
        for text in store.texts_of_sessions(&rows)? {
            places.add(&text, "_ -./");
        }
        for session in sessions.iter().take(MOST_SESSIONS) {
            visit_stored(
                store,
                session.id,
                &session.agent,
                EventRange::All,
                |event| {
                    if event.event.kind == Kind::Prompt {
                        words.add(event.text(), "_");
                        // No character of these is written otherwise in JSON.
                        phrases.add(event.text(), "_ -");
                    }
                    Ok(())
                },
            )?;
        }
        let said = words.0.into_iter().chain(phrases.0);
        let said = said.map(|(_, word)| (word, false));
        let words = said.chain(places.0.into_iter().map(|(_, word)| (word, true)));
        let words = words.map(|(word, is_place)| Word {
            finder: Finder::new(&word).into_owned(),
            is_place,
            shared: AtomicBool::new(false),
            places: Mutex::default(),
        });
        let ids = names.texts().map(|name| Finder::new(name).into_owned());
        Ok(Probes {
            ids: ids.collect(),
            words: words.collect(),
        })
    }

    /// Returns whether a text has one of the words.
    pub(super) fn has_word(&self, text: &[u8]) -> bool {
        self.words
            .iter()
            .any(|word| word.finder.find(text).is_some())
    }

    /// Returns whether a text has one of the words that the other text does not have.
    pub(super) fn has_word_beyond(&self, text: &[u8], other: &[u8]) -> bool {
        self.words
            .iter()
            .any(|word| word.finder.find(text).is_some() && word.finder.find(other).is_none())
    }

    /// Returns whether a text has a word or phrase of a prompt.
    pub(super) fn has_said(&self, text: &[u8]) -> bool {
        let mut said = self.words.iter().filter(|word| !word.is_place);
        said.any(|word| word.finder.find(text).is_some())
    }

    /// Marks words that another session says, by their row in the store.
    fn mark_shared(words: &[Word], text: &[u8]) {
        for word in words.iter().filter(|word| !word.is_shared()) {
            if word.finder.find(text).is_some() {
                word.share();
            }
        }
    }

    /// Looks everywhere.
    pub(super) fn prove(
        mut self,
        home: &Path,
        store: &Store,
        places: &SearchedPlaces,
    ) -> Result<Proof> {
        let mut proof = Proof::default();
        let mut remains = BTreeSet::new();
        proof.blocks_searched = self.search_blocks(home, store, places, &mut remains)?;
        let Probes { ids, words } = &mut self;
        store.digests(|digest| {
            Self::mark_shared(words, &digest.notes);
            if ids.iter().any(|id| id.find(&digest.notes).is_some()) {
                remains.insert("an account of another session".to_string());
            }
        })?;
        store.written(|body| {
            Self::mark_shared(words, body);
            if ids.iter().any(|id| id.find(body).is_some()) {
                remains.insert("what a model wrote of another session".to_string());
            }
        })?;
        for (_, path) in store.source_paths()? {
            Self::mark_shared(words, path.as_bytes());
        }
        for value in &places.kept {
            let place_words = words.iter().filter(|word| word.is_place);
            for word in place_words {
                if word.finder.find(value.as_bytes()).is_some() {
                    word.share();
                }
            }
        }
        store.texts_of_others(|text| Self::mark_shared(words, text.as_bytes()))?;
        words.retain(|word| !word.is_shared());
        for word in words.iter_mut() {
            if let Ok(places) = word.places.get_mut() {
                remains.append(places);
            }
        }
        proof.strings = (ids.len() + words.len()) as u64;
        let mut searched = files(home);
        searched.extend(places.folders.iter().flat_map(|folder| files_in(folder)));
        searched.sort();
        searched.dedup();
        for path in searched {
            let found = match self.is_in(&path) {
                Ok(found) => found,
                // Captures that wait are taken by other processes, and logs are renamed.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(source) => return Err(Error::Path { path, source }),
            };
            proof.files_searched += 1;
            if found {
                remains.insert(path.display().to_string());
            }
        }
        for path in &places.published {
            let Some(block) = published_block(path) else {
                continue;
            };
            proof.files_searched += 1;
            if self.finders().any(|finder| finder.find(&block).is_some()) {
                remains.insert(path.display().to_string());
            }
        }
        proof.remains = remains.into_iter().collect();
        proof.unsearched = store.take_damage();
        Ok(proof)
    }

    /// Looks through all stored bytes, on all cores, and returns the number of blocks.
    fn search_blocks(
        &self,
        home: &Path,
        store: &Store,
        places: &SearchedPlaces,
        remains: &mut BTreeSet<String>,
    ) -> Result<u64> {
        let spans = store.block_spans()?;
        let (next, searched) = (AtomicUsize::new(0), AtomicU64::new(0));
        let found = Mutex::new(std::mem::take(remains));
        let failure = Mutex::new(None);
        on_all_cores(home, store, |store| {
            let mut blocks = store.bytes();
            while let Some(span) = spans.get(next.fetch_add(1, Ordering::Relaxed)) {
                let searching = match blocks.read(span.stream, span.start, span.length) {
                    Err(backstory_store::Error::DamagedPiece(damage)) => {
                        store.meet_damage([*damage]);
                        continue;
                    }
                    bytes => bytes.and_then(|bytes| {
                        searched.fetch_add(1, Ordering::Relaxed);
                        self.search_block(store, places, *span, &bytes, &found)
                    }),
                };
                if let Err(error) = searching {
                    failure
                        .lock()
                        .map(|mut failure| *failure = Some(error))
                        .ok();
                    return;
                }
            }
        });
        if let Some(error) = failure.into_inner().unwrap_or_default() {
            return Err(error.into());
        }
        *remains = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(searched.into_inner())
    }

    fn search_block(
        &self,
        store: &Store,
        places: &SearchedPlaces,
        span: BlockSpan,
        bytes: &[u8],
        remains: &Mutex<BTreeSet<String>>,
    ) -> backstory_store::Result<()> {
        let BlockSpan { stream, start, .. } = span;
        let note = |remains: &Mutex<BTreeSet<String>>| {
            let mut remains = remains.lock().unwrap_or_else(PoisonError::into_inner);
            remains.insert(format!("stored bytes of stream {stream}"));
        };
        for word in self.words.iter().filter(|word| !word.is_shared()) {
            for at in word.finder.find_iter(bytes) {
                // A stream that repeats nothing of a forgotten session names its own places.
                if (word.is_place && !places.blanked.contains(&stream))
                    || store.is_in_event(stream, start + at as u64)?
                {
                    word.share();
                    break;
                }
                note(&word.places);
            }
        }
        if self.ids.iter().any(|id| id.find(bytes).is_some()) {
            note(remains);
        }
        Ok(())
    }

    fn finders(&self) -> impl Iterator<Item = &Finder<'static>> {
        self.ids
            .iter()
            .chain(self.words.iter().map(|word| &word.finder))
    }

    fn is_in(&self, path: &Path) -> std::io::Result<bool> {
        let mut file = open_regular(path)?;
        if is_capture(path) {
            // Other sessions may say the same words: only whose capture it is matters.
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            return Ok(self.ids.iter().any(|id| id.find(&bytes).is_some()));
        }
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

/// Returns whether a file is a capture that waits in a spool.
fn is_capture(path: &Path) -> bool {
    let in_spool = path.parent().is_some_and(|folder| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with("spool")
    });
    in_spool && path.extension().is_some_and(|ending| ending == "json")
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

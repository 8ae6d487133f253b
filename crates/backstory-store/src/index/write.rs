//! Writing the index. One writer at a time: whoever writes holds the lock of the index.

use backstory_event::SessionId;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use tantivy::indexer::{IndexWriter, LogMergePolicy};
use tantivy::{Index, TantivyDocument, Term};

use super::directory::IndexDirectory;
use super::read::open_checked;
use super::{
    Fields, IndexError, IndexedEvent, Part, SAID, Seal, generation_folder, schema, tool_tag, words,
};

/// Memory for words that are not on disk yet. More makes fewer, larger segments. One thread writes: it keeps up with the sweep
/// that feeds it, and each more would take as much memory again.
const MEMORY: usize = 32 << 20;

/// Segments with at least this many documents are left alone by merges.
const LARGE_SEGMENT: usize = 2_000_000;

/// To make room, segments are written anew of which more than this share of documents was removed.
const MOST_REMOVED: f32 = 0.1;

/// Writes documents to one generation of the index.
pub struct TextIndexWriter {
    folder: PathBuf,
    generation: u64,
    /// Hash of the sealed commit that the next one follows.
    predecessor: Option<String>,
    writer: IndexWriter,
    fields: Fields,
    /// Whether a commit fails that leaves removed documents in a file.
    leaves_no_trace: bool,
}

impl TextIndexWriter {
    /// Goes on with a sealed generation.
    pub fn open(folder: &Path, seal: &Seal) -> Result<Self, IndexError> {
        let index = open_checked(folder, seal)?;
        let mut writer = TextIndexWriter::new(folder, seal.generation, &index)?;
        writer.predecessor = seal.meta().map(str::to_string);
        Ok(writer)
    }

    /// Begins a new generation beside the one that is sealed now.
    pub fn begin(folder: &Path, current: Option<&Seal>) -> Result<Self, IndexError> {
        let generation = Seal::next(current);
        let place = generation_folder(folder, generation);
        // Left by a writer that was stopped before its generation became the current one.
        let _ = std::fs::remove_dir_all(&place);
        crate::open::make_private_folder(&place)
            .map_err(|error| IndexError::Write(error.to_string()))?;
        let index = IndexDirectory::open(&place)
            .and_then(|directory| {
                Index::create(directory, schema().0, tantivy::IndexSettings::default())
            })
            .map_err(failed)?;
        words::register(&index);
        TextIndexWriter::new(folder, generation, &index)
    }

    fn new(folder: &Path, generation: u64, index: &Index) -> Result<Self, IndexError> {
        let writer = index.writer_with_num_threads(1, MEMORY).map_err(failed)?;
        let mut policy = LogMergePolicy::default();
        policy.set_max_docs_before_merge(LARGE_SEGMENT);
        writer.set_merge_policy(Box::new(policy));
        Ok(TextIndexWriter {
            folder: folder.to_path_buf(),
            generation,
            predecessor: None,
            writer,
            fields: schema().1,
            leaves_no_trace: false,
        })
    }

    /// Takes all documents of a session out.
    pub fn remove(&self, session: SessionId) {
        self.writer.delete_term(Term::from_field_u64(
            self.fields.session,
            session.get().into(),
        ));
    }

    /// Has every segment written anew, without them, that holds removed documents: until then their words are in its files.
    pub fn leave_no_trace(&mut self) {
        let mut policy = LogMergePolicy::default();
        policy.set_max_docs_before_merge(usize::MAX);
        policy.set_del_docs_ratio_before_merge(f32::MIN_POSITIVE);
        self.writer.set_merge_policy(Box::new(policy));
        self.leaves_no_trace = true;
    }

    /// Sees to it that what was removed takes no room on disk any more.
    pub fn make_room(&self) {
        if self.leaves_no_trace {
            return;
        }
        let mut policy = LogMergePolicy::default();
        policy.set_max_docs_before_merge(usize::MAX);
        policy.set_del_docs_ratio_before_merge(MOST_REMOVED);
        self.writer.set_merge_policy(Box::new(policy));
    }

    /// Adds an event.
    pub fn add(&self, event: IndexedEvent) -> Result<(), IndexError> {
        let fields = &self.fields;
        let mut document = TantivyDocument::default();
        if [Part::Said, Part::Called]
            .iter()
            .any(|part| !event.texts[*part as usize].is_empty())
        {
            document.add_text(fields.tag, SAID);
        }
        if let Some(tool) = event.tool {
            document.add_text(fields.tag, tool_tag(&tool));
        }
        for (field, text) in fields.texts.into_iter().zip(event.texts) {
            if !text.is_empty() {
                document.add_text(field, text);
            }
        }
        document.add_u64(fields.session, event.place.session.get().into());
        document.add_u64(fields.seq, event.place.seq.get().into());
        document.add_u64(fields.turn, event.place.turn.get().into());
        document.add_u64(fields.kind, event.place.kind as u64);
        document.add_u64(fields.minute, event.place.minute.into());
        self.writer.add_document(document).map(drop).map_err(failed)
    }

    /// Makes all that was added findable. The seal must be stored for it to count.
    pub fn commit(mut self) -> Result<Seal, IndexError> {
        let mut commit = self.writer.prepare_commit().map_err(failed)?;
        if let Some(predecessor) = &self.predecessor {
            commit.set_payload(predecessor);
        }
        commit.commit().map_err(failed)?;
        let mut index = self.writer.index().clone();
        // Merges change files, so they must be over before the files are sealed.
        self.writer.wait_merging_threads().map_err(failed)?;
        // What the last merges replaced was still in use when they ended.
        let metas = index.load_metas().map_err(failed)?;
        let mut segments = metas.segments.iter();
        if self.leaves_no_trace && segments.any(tantivy::SegmentMeta::has_deletes) {
            return Err(IndexError::Write(
                "removed documents are still in its files".to_string(),
            ));
        }
        let mut living: HashSet<PathBuf> = metas.list_segment_files().into_iter().collect();
        living.insert(PathBuf::from("meta.json"));
        let collected = index.directory_mut().garbage_collect(|| living);
        collected.map_err(failed)?;
        remove_strangers(
            &generation_folder(&self.folder, self.generation),
            &index.directory().list_managed_files(),
        );
        Seal::of(&self.folder, self.generation)
    }
}

/// Removes files that Tantivy knows nothing of: it could not note them any more before it was stopped.
fn remove_strangers(folder: &Path, managed: &HashSet<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = PathBuf::from(entry.file_name());
        let is_ours = name
            .extension()
            .is_some_and(|extension| extension == "lock")
            || name.as_os_str() == ".managed.json"
            || name.as_os_str() == "meta.json";
        if !is_ours && !managed.contains(&name) {
            // What cannot be removed now will be the next time.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[allow(
    clippy::needless_pass_by_value,
    reason = "used as a function for map_err"
)]
fn failed(error: tantivy::TantivyError) -> IndexError {
    IndexError::Write(error.to_string())
}

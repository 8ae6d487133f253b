//! Reading the index.

use std::path::Path;
use std::sync::Arc;

use backstory_event::{Kind, Seq, SessionId, TurnNo};
use tantivy::columnar::ColumnValues;
use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{
    DocSet, Index, InvertedIndexReader, ReloadPolicy, Searcher, SegmentReader, TERMINATED, Term,
};

use super::directory::IndexDirectory;
use super::{
    Fields, IndexError, Part, Place, SAID, Seal, generation_folder, schema, tool_tag, words,
};

/// An opened index, as it was at one commit.
pub struct TextIndex {
    segments: Vec<IndexSegment>,
    // Keeps the files that the segments map.
    _searcher: Searcher,
}

/// A part of the index. Documents are numbered from 0 in each.
pub struct IndexSegment {
    reader: SegmentReader,
    fields: Fields,
    texts: [Text; 3],
    session: Arc<dyn ColumnValues<u64>>,
    seq: Arc<dyn ColumnValues<u64>>,
    turn: Arc<dyn ColumnValues<u64>>,
    kind: Arc<dyn ColumnValues<u64>>,
    minute: Arc<dyn ColumnValues<u64>>,
}

struct Text {
    field: Field,
    inverted: Arc<InvertedIndexReader>,
    lengths: FieldNormReader,
}

impl Text {
    /// The documents that have a word, if any does.
    fn list(
        &self,
        word: &str,
        detail: IndexRecordOption,
    ) -> Result<Option<SegmentPostings>, IndexError> {
        let term = Term::from_field_text(self.field, word);
        self.inverted
            .read_postings(&term, detail)
            .map_err(unreadable)
    }
}

impl TextIndex {
    /// Opens the index that a seal vouches for.
    pub fn open(folder: &Path, seal: Option<&Seal>) -> Result<Self, IndexError> {
        let index = open_checked(folder, seal.ok_or(IndexError::Missing)?)?;
        let searcher = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .try_into()
            .map_err(damaged)?
            .searcher();
        let segments = searcher
            .segment_readers()
            .iter()
            .map(IndexSegment::new)
            .collect::<tantivy::Result<_>>()
            .map_err(damaged)?;
        Ok(TextIndex {
            segments,
            _searcher: searcher,
        })
    }

    /// Reads all files of the index through and checks them, however they look.
    pub fn verify(folder: &Path, seal: &Seal) -> Result<(), IndexError> {
        let index = open_checked(folder, seal)?;
        // A seal of an older version vouches for the looks of the files alone.
        if seal.meta().is_some() {
            check_identity(&index, folder, seal)?;
        }
        check(&index, &generation_folder(folder, seal.generation))
    }

    /// Its parts.
    pub fn segments(&self) -> &[IndexSegment] {
        &self.segments
    }
}

impl IndexSegment {
    fn new(reader: &SegmentReader) -> tantivy::Result<Self> {
        let (_, fields) = schema();
        let text = |part| -> tantivy::Result<Text> {
            let field = fields.texts[part as usize];
            Ok(Text {
                field,
                inverted: reader.inverted_index(field)?,
                lengths: reader.get_fieldnorms_reader(field)?,
            })
        };
        let texts = [text(Part::Said)?, text(Part::Called)?, text(Part::Given)?];
        let column = |name: &str| -> tantivy::Result<_> {
            // Every document has exactly one value.
            Ok(reader.fast_fields().u64(name)?.values)
        };
        let kind = column("kind")?;
        let highest = kind.max_value();
        if highest >= Kind::ALL.len() as u64 {
            let what = format!("{highest} is no kind of event");
            return Err(tantivy::TantivyError::SchemaError(what));
        }
        Ok(IndexSegment {
            session: column("session")?,
            seq: column("seq")?,
            turn: column("turn")?,
            kind,
            minute: column("minute")?,
            reader: reader.clone(),
            fields,
            texts,
        })
    }

    /// How many documents there are, those that were removed included.
    pub fn documents(&self) -> u32 {
        self.reader.max_doc()
    }

    /// How many documents say or call something; with a word, how many say it.
    pub fn said(&self, word: Option<&str>) -> Result<u32, IndexError> {
        let (field, text) = match word {
            Some(word) => (self.fields.texts[Part::Said as usize], word),
            None => (self.fields.tag, SAID),
        };
        let inverted = self.reader.inverted_index(field).map_err(damaged)?;
        inverted
            .doc_freq(&Term::from_field_text(field, text))
            .map_err(unreadable)
    }

    /// Whether any part of any document has a word.
    pub fn knows(&self, word: &str) -> Result<bool, IndexError> {
        for text in &self.texts {
            if text.list(word, IndexRecordOption::Basic)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Where a document belongs.
    pub fn place(&self, document: u32) -> Place {
        Place {
            session: self.session(document),
            seq: Seq::new(self.seq.get_val(document) as u32),
            turn: TurnNo::new(self.turn.get_val(document) as u32),
            kind: self.kind(document),
            minute: self.minute.get_val(document) as u32,
        }
    }

    /// The session of a document.
    pub fn session(&self, document: u32) -> SessionId {
        SessionId::from(self.session.get_val(document) as u32)
    }

    /// What a document is.
    pub fn kind(&self, document: u32) -> Kind {
        let kind = self.kind.get_val(document) as usize;
        // None is above those known: see `new`.
        Kind::ALL.get(kind).copied().unwrap_or(Kind::System)
    }

    /// Like [`IndexSegment::postings`], but only with these documents, which must be in their order, and by their place among
    /// them.
    pub fn postings_among(
        &self,
        part: Part,
        word: &str,
        documents: &[u32],
        mut each: impl FnMut(usize, u32, u32),
    ) -> Result<(), IndexError> {
        let text = &self.texts[part as usize];
        let Some(mut postings) = text.list(word, IndexRecordOption::WithFreqs)? else {
            return Ok(());
        };
        for (place, document) in documents.iter().enumerate() {
            if postings.doc() < *document {
                postings.seek(*document);
            }
            if postings.doc() == *document {
                each(
                    place,
                    postings.term_freq(),
                    text.lengths.fieldnorm(*document),
                );
            }
        }
        Ok(())
    }

    /// Calls `each` with every document that has a word in a part: the document, how often, and how many words the part has.
    pub fn postings(
        &self,
        part: Part,
        word: &str,
        mut each: impl FnMut(u32, u32, u32),
    ) -> Result<(), IndexError> {
        let text = &self.texts[part as usize];
        let Some(mut postings) = text.list(word, IndexRecordOption::WithFreqs)? else {
            return Ok(());
        };
        let alive = self.reader.alive_bitset();
        let mut document = postings.doc();
        while document != TERMINATED {
            if alive.is_none_or(|alive| alive.is_alive(document)) {
                each(
                    document,
                    postings.term_freq(),
                    text.lengths.fieldnorm(document),
                );
            }
            document = postings.advance();
        }
        Ok(())
    }

    /// Calls `each` with every document that has these words of a part side by side; only with those `among` if there are any
    /// given, which must be in their order.
    pub fn phrase(
        &self,
        part: Part,
        words: &[&str],
        among: Option<&[u32]>,
        mut each: impl FnMut(u32),
    ) -> Result<(), IndexError> {
        let text = &self.texts[part as usize];
        let mut lists = Vec::new();
        for word in words {
            match text.list(word, IndexRecordOption::WithFreqsAndPositions)? {
                Some(postings) => lists.push(postings),
                None => return Ok(()),
            }
        }
        let Some((first, rest)) = lists.split_first_mut() else {
            return Ok(());
        };
        let (mut starts, mut positions) = (Vec::new(), Vec::new());
        let mut among = among.map(|among| among.iter().copied());
        let mut document = first.doc();
        loop {
            if let Some(among) = &mut among {
                match among.next() {
                    Some(next) if next > document => document = first.seek(next),
                    Some(next) if next < document => continue,
                    Some(_) => {}
                    None => return Ok(()),
                }
            }
            if document == TERMINATED {
                return Ok(());
            }
            let everywhere = self.is_alive(document)
                && rest.iter_mut().all(|list| {
                    list.doc() == document
                        || (list.doc() < document && list.seek(document) == document)
                });
            if everywhere {
                first.positions(&mut starts);
                for (distance, list) in rest.iter_mut().enumerate() {
                    list.positions(&mut positions);
                    let next = |start: &u32| {
                        positions
                            .binary_search(&(start + distance as u32 + 1))
                            .is_ok()
                    };
                    starts.retain(next);
                }
                if !starts.is_empty() {
                    each(document);
                }
            }
            if among.is_none() {
                document = first.advance();
            }
        }
    }

    /// Calls `each` with every document of a tool.
    pub fn of_tool(&self, tool: &str, mut each: impl FnMut(u32)) -> Result<(), IndexError> {
        let term = Term::from_field_text(self.fields.tag, &tool_tag(tool));
        let inverted = self
            .reader
            .inverted_index(self.fields.tag)
            .map_err(damaged)?;
        let found = inverted
            .read_postings(&term, IndexRecordOption::Basic)
            .map_err(unreadable)?;
        if let Some(mut postings) = found {
            let mut document = postings.doc();
            while document != TERMINATED {
                each(document);
                document = postings.advance();
            }
        }
        Ok(())
    }

    fn is_alive(&self, document: u32) -> bool {
        !self.reader.is_deleted(document)
    }

    /// Calls `each` with every word of a part that begins with `prefix`, in order, and how many documents have it, until it
    /// answers no.
    pub fn vocabulary(
        &self,
        part: Part,
        prefix: &str,
        mut each: impl FnMut(&str, u32) -> bool,
    ) -> Result<(), IndexError> {
        let mut stream = self.texts[part as usize]
            .inverted
            .terms()
            .range()
            .ge(prefix.as_bytes())
            .into_stream()
            .map_err(unreadable)?;
        while stream.advance() {
            let Ok(word) = std::str::from_utf8(stream.key()) else {
                continue;
            };
            if !word.starts_with(prefix) || !each(word, stream.value().doc_freq) {
                break;
            }
        }
        Ok(())
    }
}

/// Opens a sealed generation. When its files look otherwise than when they were sealed, all are read through and checked.
pub(super) fn open_checked(folder: &Path, seal: &Seal) -> Result<Index, IndexError> {
    if !seal.is_current_layout() {
        return Err(IndexError::Missing);
    }
    let generation = generation_folder(folder, seal.generation);
    let whole = seal.compare_files(folder)?;
    let index = IndexDirectory::open(&generation)
        .and_then(Index::open)
        .map_err(damaged)?;
    words::register(&index);
    if !whole {
        check_identity(&index, folder, seal)?;
        check(&index, &generation)?;
    }
    Ok(index)
}

fn check_identity(index: &Index, folder: &Path, seal: &Seal) -> Result<(), IndexError> {
    let payload = index.load_metas().map_err(damaged)?.payload;
    seal.check_identity(folder, payload.as_deref())
}

fn check(index: &Index, generation: &Path) -> Result<(), IndexError> {
    for path in index.load_metas().map_err(damaged)?.list_segment_files() {
        // Only segments with removed documents have a file of them, and only writers need temporary ones.
        let optional = path
            .extension()
            .is_some_and(|extension| extension == "del" || extension == "temp");
        let exists = generation.join(&path).exists();
        let sound = if exists {
            index
                .directory()
                .validate_checksum(&path)
                .map_err(|error| IndexError::Damaged(error.to_string()))?
        } else {
            optional
        };
        if !sound {
            let what = format!("{} is not what was written", path.display());
            return Err(IndexError::Damaged(what));
        }
    }
    Ok(())
}

#[allow(
    clippy::needless_pass_by_value,
    reason = "used as a function for map_err"
)]
fn damaged(error: tantivy::TantivyError) -> IndexError {
    IndexError::Damaged(error.to_string())
}

#[allow(
    clippy::needless_pass_by_value,
    reason = "used as a function for map_err"
)]
fn unreadable(error: std::io::Error) -> IndexError {
    IndexError::Damaged(error.to_string())
}

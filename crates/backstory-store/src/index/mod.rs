//! The full-text index: which events hold which words.
//!
//! The index is a cache. All that it says can be told again from the database, which also keeps what the index lacks (the table
//! `unindexed`) and the seal: which generation of the index is the current one, and what its files look like. A file that
//! looks otherwise is checked byte by byte before it is believed, and an index that cannot be believed is made anew, in a
//! folder beside the old one.

mod directory;
mod read;
mod seal;
mod stem;
mod words;
mod write;

use std::path::{Path, PathBuf};

use backstory_event::{Kind, Seq, SessionId, TurnNo};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STRING, Schema, TextFieldIndexing, TextOptions,
};

pub use read::{IndexSegment, TextIndex};
pub use seal::Seal;
pub use words::{Word, words};
pub use write::TextIndexWriter;

/// Goes up when what is indexed, or how, changes: an index of another layout is made anew.
const LAYOUT: u32 = 2;

/// Why an index cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// There is none yet.
    #[error("there is no full-text index yet")]
    Missing,
    /// A file is not what was written.
    #[error("the full-text index is damaged: {0}")]
    Damaged(String),
    /// Writing it failed.
    #[error("cannot write the full-text index: {0}")]
    Write(String),
}

/// Which words of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// What was said: by people, by models, and in the sentences that models give to tools.
    Said,
    /// What was called: the tool, its command, the files and patterns that it was given.
    Called,
    /// The beginning of what a tool gave back or was given to write.
    Given,
}

impl Part {
    /// All of them.
    pub const ALL: [Part; 3] = [Part::Said, Part::Called, Part::Given];
}

/// Where a document of the index belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The session's row.
    pub session: SessionId,
    /// The event.
    pub seq: Seq,
    /// Its turn.
    pub turn: TurnNo,
    /// What it is.
    pub kind: Kind,
    /// When, in minutes since 1970; 0 when the log does not say.
    pub minute: u32,
}

/// An event as the index takes it.
#[derive(Debug, Clone)]
pub struct IndexedEvent {
    /// Where it belongs.
    pub place: Place,
    /// The tool called, or whose result this is.
    pub tool: Option<String>,
    /// Its words, by part.
    pub texts: [String; 3],
}

struct Fields {
    texts: [Field; 3],
    tag: Field,
    session: Field,
    seq: Field,
    turn: Field,
    kind: Field,
    minute: Field,
}

/// The tag of documents in which something was said or called: all but those of what tools gave back.
const SAID: &str = "said";

/// The tag of a tool's documents.
fn tool_tag(tool: &str) -> String {
    format!("tool:{}", tool.to_lowercase())
}

fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let text = TextOptions::default().set_indexing_options(
        TextFieldIndexing::default()
            .set_tokenizer(words::TOKENIZER)
            .set_index_option(IndexRecordOption::WithFreqsAndPositions),
    );
    let fields = Fields {
        texts: ["said", "called", "given"].map(|name| builder.add_text_field(name, text.clone())),
        tag: builder.add_text_field("tag", STRING),
        session: builder.add_u64_field("session", FAST | INDEXED),
        seq: builder.add_u64_field("seq", FAST),
        turn: builder.add_u64_field("turn", FAST),
        kind: builder.add_u64_field("kind", FAST),
        minute: builder.add_u64_field("minute", FAST),
    };
    (builder.build(), fields)
}

/// The folder of one generation of the index.
fn generation_folder(index: &Path, generation: u64) -> PathBuf {
    index.join(generation.to_string())
}

//! How memory lies on disk.
//!
//! One SQLite database holds everything that must not be lost: the redacted bytes of every log in compressed blocks, a row for
//! each event that says where in those bytes it lies, and roll-ups. This crate prints nothing and reads neither clock nor
//! environment; paths and times are given to it.

pub mod attachment;
mod backfill;
mod blocks;
mod check;
mod checksums;
mod code;
mod compress;
mod digests;
mod error;
mod event_log;
mod events;
mod evict;
mod forget;
mod index;
mod ingest;
mod journal;
mod lag;
mod lossy;
mod meta;
mod observations;
mod open;
pub mod private;
mod queue;
mod recall;
mod repair;
mod schema;
mod session_ids;
mod sessions;
mod settings;
mod sources;
mod telemetry;
mod usage;
mod vectors;

pub use backfill::BackfillCursor;
pub use blocks::{BLOCK_BYTES, BlockReader, Cut, Packed, Packer};
pub use check::Health;
pub use checksums::{AnswerRows, Damage, DamagedPiece, Verification};
pub use code::{
    Answered, CallRecord, CallRow, ChangeType, CodeFile, Coding, FileSnapshot, FunctionRow,
    LastSnapshot, NewCall, NewSnapshot, NewSymbol, PlacedSymbol, PriorSymbol, RunEdge,
    SnapshotFilter, SymbolChanges, SymbolFilter, SymbolRecord, SymbolRow, WorkPlace, WriteRow,
};
pub use compress::{
    Compression, CompressionState, MetCap, NewCompression, ObservationRow, Reserved, Scores,
    Settled, Spending, SpendingCaps, SummaryRow, Tier, Uncompressed, Written,
};
pub use digests::DigestRow;
pub use error::{Error, Result};
pub use event_log::{LogCursor, LoggedEvent, LoggedRun};
pub use events::{BlockSpan, ChangeRow, EventRange};
pub use evict::{Evictable, Evictor};
pub use forget::{Forgetting, RemainingFacts, RemainingStream};
pub use index::{
    IndexError, IndexSegment, IndexedEvent, Part, Place, Seal, TextIndex, TextIndexWriter, Word,
    words,
};
pub use ingest::{Batch, Chunk, Counts, Project, Rewrite, Stored, Taken, TitleRank};
pub use lag::{ConsumerId, ConsumerInfo, Lag, LagOrder, LagTable};
pub use meta::{MetaEquals, MetaPlace};
pub use open::{Store, View, is_store_entry, lock_file, try_lock_file};
pub use queue::{
    Captured, Item, ItemFilter, ItemKind, ItemOutcome, ItemState, MOST_ATTEMPTS, NewItem, Queue,
    SAME_TIME_MS, ToldEvent, ToldSession,
};
pub use recall::{ChangedName, RecalledSession};
pub use repair::Rereading;
pub use sessions::{SessionFilter, SessionHead, SessionRow, StreamRow};
pub use sources::{ContentHash, Cursor, Fingerprint, SkippedRow};
pub use telemetry::TelemetryRow;
pub use usage::{EventUsage, ResponseUsage, SLOT_MS, UsageRow};
pub use vectors::{VectorError, VectorKey, VectorWriter, Vectors};

//! Code memory: which functions changed, by which turn, and who calls them.
//!
//! `history.rs` finds what sessions did to source files in what is stored of them; `live.rs` looks at a file that was just written. Both
//! leave the same behind: snapshots of each file, and what turns did to its symbols. `runs.rs` finds calls in stack traces.
//! `query.rs`, `stored.rs`, `state.rs` and `graph.rs` answer from that and from the files as they are, which `scan.rs` finds.

pub(crate) mod blame;
mod call_paths;
mod edit_reader;
mod files;
mod fragment;
mod fresh_edits;
mod graph;
mod history;
mod live;
mod query;
mod records;
mod report;
mod runs;
mod save;
mod scan;
mod scanned;
mod session;
mod snapshot;
mod spill;
mod state;
mod stored;
mod teller;
#[cfg(test)]
pub(crate) mod tests;
mod trees;

pub use backstory_code::{
    Call, LANGUAGES, Language, Outline, Resolution, Skipped, Symbol, SymbolChangeKind, SymbolKind,
    UnresolvedReason,
};
pub use backstory_store::{CallRow, FunctionRow};
pub use blame::{Blame, BlamedLine, BlamedTurn};
pub(crate) use edit_reader::EditReader;
pub(crate) use fresh_edits::{FreshEdits, PackedEdits};
pub(crate) use graph::last_name;
pub use graph::{CallEdge, CallGraph, RunCall, SymbolPlace};
pub(crate) use history::{history_beginning, renew_history};
pub use live::Seen as SeenFile;
pub use query::{ChangeFilter, ChangedSymbol, FileSymbols, LifeEvent, SymbolLife, TurnChanges};
pub use records::{
    BlamedLineRecord, BlamedLines, CallList, CallRecord, ChangeList, ChangeRecord, MappedFile,
    MappedSymbol, OutlineList, SkippedFile, SymbolHistories,
};
pub use report::{BrokenFile, CallStatistics, ChangeStatistics, CodeReport};
pub(crate) use runs::{Run, TracedCall, save_runs, traced_calls};
pub use scan::{SourceFolder, SourceOutline, repository_around, scan_file, scan_folder};
pub use scanned::FileScan;
pub(crate) use scanned::ScanLog;
pub(crate) use snapshot::signatures_of;
pub use state::FileState;
pub use stored::{CodeRowFilter, MissingFile, SnapshotSource, StoredFiles};

use crate::Memory;

/// History of source files in a memory: who wrote their lines, what they defined and called.
pub struct Code<'m> {
    pub(crate) memory: &'m Memory,
}

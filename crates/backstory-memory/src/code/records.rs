//! Answers about source files as other programs get them.

use std::ops::RangeInclusive;
use std::path::Path;

use backstory_code::{Symbol, SymbolChangeKind, SymbolKind};
use backstory_event::TurnNo;
use serde::Serialize;

use super::blame::Blame;
use super::graph::CallEdge;
use super::query::{ChangedSymbol, FileSymbols, SymbolLife, TurnChanges};
use super::scan::SourceOutline;
use super::state::FileState;
use super::stored::SnapshotSource;
use crate::rfc3339;

/// Source files that turns changed, turn by turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChangeList<'a> {
    /// The files, those of the newest turn first.
    pub changes: Vec<ChangeRecord<'a>>,
}

/// A source file that a turn changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChangeRecord<'a> {
    /// The session.
    pub session: &'a str,
    /// The agent.
    pub agent: &'a str,
    /// The turn; null as long as its log was not imported.
    pub turn: Option<TurnNo>,
    /// Time of the turn's last change, RFC 3339.
    pub timestamp: Option<String>,
    /// Prompt of the turn.
    pub prompt: Option<&'a str>,
    /// Root of the project.
    pub project: &'a str,
    /// Path below that.
    pub file: &'a str,
    /// Change of the file.
    pub change: SymbolChangeKind,
    /// Changes of its symbols.
    pub symbols: &'a [ChangedSymbol],
}

impl<'a> ChangeList<'a> {
    /// Returns the files that these turns changed.
    pub fn new(turns: &'a [TurnChanges]) -> Self {
        let files = turns
            .iter()
            .flat_map(|turn| turn.files.iter().map(|file| ChangeRecord::new(turn, file)));
        ChangeList {
            changes: files.collect(),
        }
    }
}

impl<'a> ChangeRecord<'a> {
    fn new(turn: &'a TurnChanges, file: &'a FileSymbols) -> Self {
        ChangeRecord {
            session: &turn.session.session,
            agent: &turn.session.agent,
            turn: turn.turn,
            timestamp: rfc3339(turn.at),
            prompt: turn.prompt.as_deref(),
            project: &file.root,
            file: &file.name,
            change: file.change,
            symbols: &file.symbols,
        }
    }
}

/// Histories of all symbols of a name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SymbolHistories<'a> {
    /// One for each symbol.
    pub symbols: &'a [SymbolLife],
}

/// Lines of a file, each with the turn that wrote it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BlamedLines<'a> {
    /// The lines.
    pub lines: Vec<BlamedLineRecord<'a>>,
}

/// A line with the turn that wrote it, if an agent did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BlamedLineRecord<'a> {
    /// Number of the line, from 1.
    pub line: usize,
    /// The session.
    pub session: Option<&'a str>,
    /// The agent.
    pub agent: Option<&'a str>,
    /// The turn.
    pub turn: Option<TurnNo>,
    /// Time of the edit, RFC 3339.
    pub timestamp: Option<String>,
    /// Prompt of the turn.
    pub prompt: Option<&'a str>,
    /// The line.
    pub text: &'a str,
}

impl Blame {
    /// Returns lines by their numbers, from 1.
    pub fn line_records(&self, range: RangeInclusive<usize>) -> BlamedLines<'_> {
        let numbered = range.filter_map(|number| Some((number, self.lines.get(number - 1)?)));
        let lines = numbered.map(|(number, line)| {
            let turn = line.turn.and_then(|turn| self.turns.get(turn));
            BlamedLineRecord {
                line: number,
                session: turn.map(|turn| turn.session.as_str()),
                agent: turn.map(|turn| turn.agent.as_str()),
                turn: turn.map(|turn| turn.turn),
                timestamp: rfc3339(line.at),
                prompt: turn.and_then(|turn| turn.prompt.as_deref()),
                text: &line.text,
            }
        });
        BlamedLines {
            lines: lines.collect(),
        }
    }
}

/// The snapshot that an answer is from; all null when it is from the file on disk.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
struct SnapshotRecord {
    snapshot_at: Option<String>,
    session: Option<String>,
    turn: Option<TurnNo>,
}

impl SnapshotRecord {
    fn new(snapshot: Option<&SnapshotSource>) -> Self {
        SnapshotRecord {
            snapshot_at: snapshot.and_then(|snapshot| rfc3339(snapshot.at)),
            session: snapshot.map(|snapshot| snapshot.session.session.clone()),
            turn: snapshot.and_then(|snapshot| snapshot.turn),
        }
    }
}

/// Symbols of source files.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct OutlineList<'a> {
    /// The files.
    pub files: Vec<MappedFile<'a>>,
    /// Files that were not looked into.
    pub skipped: Vec<SkippedFile>,
}

/// A source file and its symbols.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MappedFile<'a> {
    /// The path, as the caller shows it.
    pub path: String,
    /// The language.
    pub language: &'static str,
    /// True if it does not parse as a whole.
    pub has_errors: bool,
    #[serde(flatten)]
    snapshot: SnapshotRecord,
    /// The symbols.
    pub symbols: Vec<MappedSymbol<'a>>,
}

/// A symbol of a source file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MappedSymbol<'a> {
    /// Qualified name.
    pub name: &'a str,
    /// Kind.
    pub kind: SymbolKind,
    /// The symbol that it is in.
    pub parent: Option<&'a str>,
    /// Signature.
    pub signature: &'a str,
    /// Decorators.
    pub decorators: &'a [String],
    /// First line of its documentation.
    pub doc: Option<&'a str>,
    /// First line.
    pub line_start: usize,
    /// Last line.
    pub line_end: usize,
    /// `new`, `modified` or `unchanged`; null when that is not known.
    pub change: Option<&'static str>,
}

/// A source file that was not looked into.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SkippedFile {
    /// The path, as the caller shows it.
    pub path: String,
    /// Reason.
    pub reason: &'static str,
}

impl<'a> OutlineList<'a> {
    /// Returns the symbols of files and what became of them; `shown` gives the path that is shown of a file.
    pub fn new(
        outlines: &'a [SourceOutline],
        states: &'a [FileState],
        shown: impl Fn(&Path) -> String,
    ) -> Self {
        let mut list = OutlineList::default();
        for (file, state) in outlines.iter().zip(states) {
            let path = shown(&file.path);
            match &file.outline {
                Ok(outline) => list.files.push(MappedFile {
                    path,
                    language: file.language.name,
                    has_errors: outline.has_errors,
                    snapshot: SnapshotRecord::new(file.snapshot.as_ref()),
                    symbols: outline
                        .symbols
                        .iter()
                        .map(|symbol| MappedSymbol::new(symbol, state))
                        .collect(),
                }),
                Err(reason) => list.skipped.push(SkippedFile {
                    path,
                    reason: reason.reason(),
                }),
            }
        }
        list
    }
}

impl<'a> MappedSymbol<'a> {
    fn new(symbol: &'a Symbol, state: &FileState) -> Self {
        MappedSymbol {
            name: &symbol.name,
            kind: symbol.kind,
            parent: symbol.parent.as_deref(),
            signature: &symbol.signature,
            decorators: &symbol.decorators,
            doc: symbol.doc.as_deref(),
            line_start: symbol.line_start,
            line_end: symbol.line_end,
            change: state.of(&symbol.name),
        }
    }
}

/// Calls of source files.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CallList<'a> {
    /// The calls.
    pub edges: Vec<CallRecord<'a>>,
}

/// A call and what is known of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallRecord<'a> {
    /// Qualified name of the caller, or `<module>`.
    pub caller: &'a str,
    /// The callee as it is written.
    pub callee: &'a str,
    /// Qualified name of the callee.
    pub resolved: Option<&'a str>,
    /// Way in which the callee was found.
    pub resolution: &'static str,
    /// Reason that it was not found.
    pub reason: Option<&'static str>,
    /// The file of the call, as the caller shows it.
    pub file: Option<String>,
    /// The line of the call.
    pub line: usize,
    /// The file of the callee, as the caller shows it.
    pub target_file: Option<String>,
    /// Confidence, from 0 to 1.
    pub confidence: f64,
    /// Number of times that it was seen to happen.
    pub seen: u64,
    /// True if the file that it leads to has no such symbol.
    pub contradicted: bool,
    #[serde(flatten)]
    snapshot: SnapshotRecord,
}

impl<'a> CallList<'a> {
    /// Returns calls in these files; `shown` gives the path that is shown of a file.
    pub fn new(
        files: &[SourceOutline],
        edges: &[&CallEdge<'a>],
        shown: impl Fn(&Path) -> String,
    ) -> Self {
        let path = |file: usize| files.get(file).map(|file| shown(&file.path));
        let edges = edges.iter().map(|edge| {
            let snapshot = files.get(edge.file).and_then(|file| file.snapshot.as_ref());
            let call = edge.call;
            CallRecord {
                caller: edge.caller(),
                callee: &call.callee,
                resolved: call.resolved.as_deref(),
                resolution: edge.resolution_name(),
                reason: edge.reason_name(),
                file: path(edge.file),
                line: call.line,
                target_file: edge.target.and_then(|target| path(target.file)),
                confidence: (edge.confidence() * 1000.0).round() / 1000.0,
                seen: edge.seen,
                contradicted: edge.is_contradicted,
                snapshot: SnapshotRecord::new(snapshot),
            }
        });
        CallList {
            edges: edges.collect(),
        }
    }
}

//! Symbols of source files: their kinds, and what becomes of them.

use serde::{Deserialize, Serialize};

/// Kind of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names say it")]
pub enum SymbolKind {
    Function,
    AsyncFunction,
    Method,
    AsyncMethod,
    Class,
    Struct,
    Trait,
    Interface,
    Enum,
}

impl SymbolKind {
    /// Every kind, in the order of the numbers that stores keep.
    pub const ALL: [SymbolKind; 9] = [
        SymbolKind::Function,
        SymbolKind::AsyncFunction,
        SymbolKind::Method,
        SymbolKind::AsyncMethod,
        SymbolKind::Class,
        SymbolKind::Struct,
        SymbolKind::Trait,
        SymbolKind::Interface,
        SymbolKind::Enum,
    ];

    /// Returns whether this is something that runs.
    pub fn is_function(self) -> bool {
        matches!(
            self,
            SymbolKind::Function
                | SymbolKind::AsyncFunction
                | SymbolKind::Method
                | SymbolKind::AsyncMethod
        )
    }

    /// Returns the kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        SymbolKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns the name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            SymbolKind::Function => "function",
            SymbolKind::AsyncFunction => "async_function",
            SymbolKind::Method => "method",
            SymbolKind::AsyncMethod => "async_method",
            SymbolKind::Class => "class",
            SymbolKind::Struct => "struct",
            SymbolKind::Trait => "trait",
            SymbolKind::Interface => "interface",
            SymbolKind::Enum => "enum",
        }
    }
}

/// What became of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SymbolChangeKind {
    /// It was not there.
    New,
    /// It does something else, or the same in another way.
    Modified,
    /// It is not there any more.
    Deleted,
    /// It has another name and does what it did.
    Renamed,
}

impl SymbolChangeKind {
    /// Every change, in the order of the numbers that stores keep.
    pub const ALL: [SymbolChangeKind; 4] = [
        SymbolChangeKind::New,
        SymbolChangeKind::Modified,
        SymbolChangeKind::Deleted,
        SymbolChangeKind::Renamed,
    ];

    /// Returns the name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            SymbolChangeKind::New => "new",
            SymbolChangeKind::Modified => "modified",
            SymbolChangeKind::Deleted => "deleted",
            SymbolChangeKind::Renamed => "renamed",
        }
    }
}

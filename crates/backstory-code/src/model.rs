//! What is found in a source file.

pub use backstory_event::SymbolKind;
use serde::{Deserialize, Serialize};

/// A function, method or type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbol {
    /// Qualified within the file: `Class.method`, `outer.inner`.
    pub name: String,
    /// What it is.
    pub kind: SymbolKind,
    /// The qualified name of what it is defined in.
    pub parent: Option<String>,
    /// How it is declared, on one line.
    pub signature: String,
    /// Decorators, attributes or annotations, as written.
    pub decorators: Vec<String>,
    /// The first line of its documentation.
    pub doc: Option<String>,
    /// The first line of the definition, without decorators; lines count from one.
    pub line_start: usize,
    /// The last line of the definition.
    pub line_end: usize,
    /// The same as long as only comments, documentation, layout or its own name change.
    pub body_hash: u32,
    /// Of a type: the same as long as it itself does not change, whatever becomes of its members. Of a function: the body's.
    pub own_hash: u32,
    /// Whether it is defined here, not only declared.
    pub has_body: bool,
}

/// How a callee was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Resolution {
    /// Something of the same file.
    Direct,
    /// A method of the object that the caller belongs to.
    SelfMethod,
    /// Something that the file imports, or of such a thing.
    Import,
    /// Not known from this file alone.
    Unresolved,
}

impl Resolution {
    const ALL: [Resolution; 4] = [
        Resolution::Direct,
        Resolution::SelfMethod,
        Resolution::Import,
        Resolution::Unresolved,
    ];

    /// Returns the resolution with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = Resolution::ALL.into_iter();
        all.find(|resolution| resolution.name() == name)
    }

    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Resolution::Direct => "direct",
            Resolution::SelfMethod => "self_method",
            Resolution::Import => "import",
            Resolution::Unresolved => "unresolved",
        }
    }
}

/// Why a callee is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UnresolvedReason {
    /// The object was passed in: a parameter, or an attribute that was set from one.
    Injected,
    /// The object is what another call returned.
    Chained,
    /// The callee is only known at run time: a subscript, an expression, a loop variable.
    Dynamic,
    /// A method that neither the class nor its known base classes define.
    UnknownBase,
    /// A name or type that this file neither defines nor imports.
    External,
}

impl UnresolvedReason {
    const ALL: [UnresolvedReason; 5] = [
        UnresolvedReason::Injected,
        UnresolvedReason::Chained,
        UnresolvedReason::Dynamic,
        UnresolvedReason::UnknownBase,
        UnresolvedReason::External,
    ];

    /// Returns the reason with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = UnresolvedReason::ALL.into_iter();
        all.find(|reason| reason.name() == name)
    }

    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            UnresolvedReason::Injected => "injected",
            UnresolvedReason::Chained => "chained",
            UnresolvedReason::Dynamic => "dynamic",
            UnresolvedReason::UnknownBase => "unknown_base",
            UnresolvedReason::External => "external",
        }
    }
}

/// One call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Call {
    /// The qualified name of the innermost function or class around it; none for the file itself.
    pub caller: Option<String>,
    /// What is called, as written; arguments within it are left out.
    pub callee: String,
    /// What that is: a qualified name of this file, or an imported path. `f()` in it stands for what `f` returns.
    pub resolved: Option<String>,
    /// How that was found.
    pub resolution: Resolution,
    /// Why it was not, where the resolution is unresolved.
    pub reason: Option<UnresolvedReason>,
    /// Counts from one.
    pub line: usize,
}

/// What a file holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Outline {
    /// In the order of the file.
    pub symbols: Vec<Symbol>,
    /// In the order of the file, without those of builtins and of logging.
    pub calls: Vec<Call>,
    /// Calls of builtins and of logging, which are seldom of interest.
    pub left_out: Vec<Call>,
    /// Some of it does not parse; what is told is what could be made of the rest.
    pub has_errors: bool,
}

/// Why a file was not looked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Skipped {
    /// Larger than what people write.
    TooLarge,
    /// Lines that no person writes.
    Minified,
    /// Not text.
    Binary,
    /// Text, but not UTF-8.
    NotUtf8,
    /// So odd that parsing would take too long.
    TooComplex,
}

impl Skipped {
    /// For people.
    pub fn reason(self) -> &'static str {
        match self {
            Skipped::TooLarge => "larger than 4 MiB",
            Skipped::Minified => "minified or generated",
            Skipped::Binary => "not text",
            Skipped::NotUtf8 => "not UTF-8",
            Skipped::TooComplex => "too complex to parse",
        }
    }
}

//! What steps mean, compared with what was known before.

use std::collections::HashMap;

use backstory_code::{Change, SymbolChange, compare};
use backstory_store::Coding;

use super::files::SourceFile;
use super::look::Look;
use super::session::{Edited, State, Step};
use super::snapshot::look_of;
use crate::error::Result;

/// What was learned, in the order in which it is stored.
#[derive(Debug)]
pub(super) enum Fact {
    /// A turn changed a file and these symbols of it.
    Changed {
        file: SourceFile,
        turn: i64,
        at: Option<i64>,
        change: Change,
        symbols: Vec<SymbolChange>,
    },
    /// A file looks like this now.
    Seen {
        file: SourceFile,
        at: i64,
        look: Look,
    },
    /// A file has errors that were not there before.
    Broken { file: SourceFile, at: i64 },
    /// A file was removed.
    Gone { file: SourceFile, at: i64 },
    /// A file has another name.
    Moved { file: SourceFile, to: SourceFile },
}

impl Fact {
    /// The file that it is about.
    pub(super) fn file(&self) -> &SourceFile {
        match self {
            Fact::Changed { file, .. }
            | Fact::Seen { file, .. }
            | Fact::Broken { file, .. }
            | Fact::Gone { file, .. }
            | Fact::Moved { file, .. } => file,
        }
    }
}

/// Compares what one session did with the last good look at each file.
pub(super) struct Teller<'s> {
    coding: &'s Coding<'s>,
    /// The last good look at files, by this session; `None` for those that are gone.
    looks: HashMap<SourceFile, Option<Look>>,
    facts: Vec<Fact>,
}

impl<'s> Teller<'s> {
    pub(super) fn new(coding: &'s Coding<'s>) -> Self {
        Teller {
            coding,
            looks: HashMap::new(),
            facts: Vec::new(),
        }
    }

    /// What these steps mean.
    pub(super) fn tell(mut self, steps: Vec<Step>) -> Result<Vec<Fact>> {
        for step in steps {
            match step {
                Step::Edited(edited) => self.edited(edited)?,
                Step::Moved { from, to } => {
                    let look = self.last(&from)?;
                    self.looks.insert(to.clone(), look);
                    self.looks.insert(from.clone(), None);
                    self.facts.push(Fact::Moved { file: from, to });
                }
            }
        }
        Ok(self.facts)
    }

    fn edited(&mut self, edited: Edited) -> Result<()> {
        let Edited { file, turn, at, .. } = edited;
        let seen_at = at.unwrap_or_default();
        let last = self.last(&file)?;
        let mut change = match edited.before {
            State::Absent => Change::New,
            State::Overwritten if last.is_none() => Change::New,
            _ => Change::Modified,
        };
        let before = match edited.before {
            // Errors that an edit left behind do not hide what was there before.
            State::Seen(look) if look.has_errors => last.or(Some(look)),
            State::Seen(look) => Some(look),
            State::Overwritten => last.or_else(|| Some(Look::default())),
            State::Absent => Some(Look::default()),
            State::Unknown | State::Odd => last,
        };
        let mut symbols = edited.fragments;
        match edited.after {
            State::Absent => {
                change = Change::Deleted;
                symbols = compare(&before.unwrap_or_default().symbols, &[]);
                self.looks.insert(file.clone(), None);
                let file = file.clone();
                self.facts.push(Fact::Gone { file, at: seen_at });
            }
            State::Seen(look) => {
                let file = file.clone();
                let is_broken = |before: &Look| {
                    look.has_errors && !before.has_errors && !before.symbols.is_empty()
                };
                if before.as_ref().is_some_and(is_broken) {
                    // Somebody is in the middle of something: what was seen before counts on.
                    self.facts.push(Fact::Broken { file, at: seen_at });
                } else {
                    if let Some(before) = &before {
                        symbols = compare(&before.symbols, &look.symbols);
                    }
                    self.looks.insert(file.clone(), Some(look.clone()));
                    let at = seen_at;
                    self.facts.push(Fact::Seen { file, at, look });
                }
            }
            State::Unknown | State::Overwritten | State::Odd => {}
        }
        self.facts.push(Fact::Changed {
            file,
            turn,
            at,
            change,
            symbols,
        });
        Ok(())
    }

    /// The last good look at a file.
    fn last(&self, file: &SourceFile) -> Result<Option<Look>> {
        if let Some(look) = self.looks.get(file) {
            return Ok(look.clone());
        }
        let snapshot = self.coding.snapshot(&file.project, &file.name)?;
        Ok(snapshot.as_ref().map(look_of))
    }
}

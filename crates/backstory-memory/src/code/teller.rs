//! What steps mean, compared with what was known before.

use std::collections::HashMap;
use std::sync::Arc;

use backstory_code::{Outline, SymbolChange, SymbolChangeKind, compare};
use backstory_event::{SessionId, TimeMs, TurnNo};
use backstory_store::Coding;

use super::files::SourceFile;
use super::session::{Edited, State, Step};
use super::snapshot::symbols_of;
use crate::error::Result;

/// What was learned, in the order in which it is stored.
#[derive(Debug)]
pub(super) enum Fact {
    /// A turn changed a file and these symbols of it.
    Changed {
        file: SourceFile,
        turn: Option<TurnNo>,
        at: Option<TimeMs>,
        change: SymbolChangeKind,
        symbols: Vec<SymbolChange>,
    },
    /// A turn left a file like this.
    Seen {
        file: SourceFile,
        turn: Option<TurnNo>,
        at: TimeMs,
        before: Option<Arc<Outline>>,
        outline: Arc<Outline>,
    },
    /// A file has errors that were not there before.
    Broken { file: SourceFile, at: TimeMs },
    /// A turn removed a file.
    Gone {
        file: SourceFile,
        turn: Option<TurnNo>,
        at: TimeMs,
        before: Option<Arc<Outline>>,
    },
    /// A turn gave a file another name.
    Moved {
        file: SourceFile,
        to: SourceFile,
        turn: Option<TurnNo>,
        at: TimeMs,
    },
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

/// Compares what one session did with the last snapshot of each file.
pub(super) struct Teller<'s> {
    coding: &'s Coding<'s>,
    /// Whose log tells it; `None` for what is seen live.
    session: Option<SessionId>,
    /// How this session left files; `None` for those that are gone.
    outlines: HashMap<SourceFile, Option<Arc<Outline>>>,
    facts: Vec<Fact>,
}

impl<'s> Teller<'s> {
    pub(super) fn new(coding: &'s Coding<'s>, session: Option<SessionId>) -> Self {
        Teller {
            coding,
            session,
            outlines: HashMap::new(),
            facts: Vec::new(),
        }
    }

    /// What these steps mean.
    pub(super) fn tell(mut self, steps: Vec<Step>) -> Result<Vec<Fact>> {
        for step in steps {
            match step {
                Step::Edited(edited) => self.edited(edited)?,
                Step::Moved { from, to, turn, at } => {
                    let outline = self.last(&from, at)?;
                    self.outlines.insert(to.clone(), outline);
                    self.outlines.insert(from.clone(), None);
                    let (file, at) = (from, at.unwrap_or_default());
                    self.facts.push(Fact::Moved { file, to, turn, at });
                }
            }
        }
        Ok(self.facts)
    }

    fn edited(&mut self, edited: Edited) -> Result<()> {
        let Edited { file, turn, at, .. } = edited;
        let seen_at = at.unwrap_or_default();
        let last = self.last(&file, at)?;
        let mut change = match edited.before {
            State::Absent => SymbolChangeKind::New,
            State::Overwritten if last.is_none() => SymbolChangeKind::New,
            _ => SymbolChangeKind::Modified,
        };
        let before = match edited.before {
            // Errors that an edit left behind do not hide what was there before.
            State::Seen(outline) if outline.has_errors => last.or(Some(outline)),
            State::Seen(outline) => Some(outline),
            State::Overwritten => last.or_else(|| Some(Arc::default())),
            State::Absent => Some(Arc::default()),
            State::Unknown | State::Odd => last,
        };
        let mut symbols = edited.fragments;
        match edited.after {
            State::Absent => {
                change = SymbolChangeKind::Deleted;
                let known = before.as_ref().map_or(&[][..], |before| &before.symbols);
                symbols = compare(known, &[]);
                self.outlines.insert(file.clone(), None);
                self.facts.push(Fact::Gone {
                    file: file.clone(),
                    turn,
                    at: seen_at,
                    before,
                });
            }
            State::Seen(outline) => {
                let file = file.clone();
                let is_broken = |before: &Arc<Outline>| {
                    outline.has_errors && !before.has_errors && !before.symbols.is_empty()
                };
                if before.as_ref().is_some_and(is_broken) {
                    // Somebody is in the middle of something: what was seen before counts on.
                    self.facts.push(Fact::Broken { file, at: seen_at });
                } else {
                    if let Some(before) = &before {
                        symbols = compare(&before.symbols, &outline.symbols);
                    }
                    self.outlines
                        .insert(file.clone(), Some(Arc::clone(&outline)));
                    self.facts.push(Fact::Seen {
                        file,
                        turn,
                        at: seen_at,
                        before,
                        outline,
                    });
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

    /// How a file was last seen.
    fn last(&self, file: &SourceFile, at: Option<TimeMs>) -> Result<Option<Arc<Outline>>> {
        if let Some(outline) = self.outlines.get(file) {
            return Ok(outline.clone());
        }
        let seen_by = self.session.map(|session| (session, at));
        let last = (self.coding).last_snapshot(&file.project, &file.name, seen_by)?;
        Ok(last.map(|last| Arc::new(symbols_of(&last.symbols, last.has_errors))))
    }
}

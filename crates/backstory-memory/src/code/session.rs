//! What one session did to source files, turn by turn. Knows nothing of what others did, so sessions can be read side by side.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use backstory_code::replay::{Interner, Lane};
use backstory_code::{Language, Outline, Parsed, SymbolChange};
use backstory_event::{Change as FileChange, EventView, FileEdit, Seq, TimeMs, TurnNo};
use backstory_redact::Redactor;
use backstory_store::{EventRange, Store, WorkPlace};

use super::edit_reader::EditReader;
use super::files::{Files, SourceFile};
use super::fragment::fragment_changes;
use super::fresh_edits::{FreshEdits, edited_bytes};
use super::trees::Trees;
use crate::error::Result;
use crate::redaction::stored_text;

/// So many writes before one are looked at to find the text that it changed.
const MOST_EARLIER: usize = 24;
/// Of so many files that one turn changes the syntax tree is held until its end; others are parsed twice.
const MOST_OPEN_TREES: usize = 16;

/// Bytes of source text that are parsed for one session, however little it edited: a few seconds' worth.
const BASE_PARSED_BYTES: usize = if cfg!(test) { 256 << 10 } else { 12 << 20 };
/// Further bytes for each byte of its edits, so that small edits of a large file in many turns do not take for ever.
const PARSED_BYTES_PER_EDITED: usize = 4;
/// A text of which only what differs is parsed again counts this many times less.
const REPARSED_SHARE: usize = 4;

/// What a session did, in its order.
pub(super) enum Step {
    /// A turn changed a file.
    Edited(Edited),
    /// A turn gave a file another name.
    Moved {
        from: SourceFile,
        to: SourceFile,
        turn: Option<TurnNo>,
        at: Option<TimeMs>,
    },
}

/// What all edits of a file in one turn did together.
pub(super) struct Edited {
    pub(super) file: SourceFile,
    pub(super) turn: Option<TurnNo>,
    pub(super) at: Option<TimeMs>,
    /// What it was before.
    pub(super) before: State,
    /// What it is now.
    pub(super) after: State,
    /// What can be said of changes whose place in the file is not known.
    pub(super) fragments: Vec<SymbolChange>,
}

/// What is known of a file at a time.
#[derive(Debug, Clone)]
pub(super) enum State {
    /// Nothing.
    Unknown,
    /// Nothing, but that all of it is written anew: most likely it was not there.
    Overwritten,
    /// It is not there.
    Absent,
    /// Its text is nothing that people write.
    Odd,
    /// This.
    Seen(Arc<Outline>),
}

/// A file that the turn at hand has changed.
struct Open {
    file: SourceFile,
    language: &'static Language,
    before: State,
    parsed: Option<Parsed>,
    before_text: Option<String>,
    fragments: Vec<SymbolChange>,
    is_deleted: bool,
    /// Whether the log has its text as a whole, which was redacted with the log.
    is_logged: bool,
    at: Option<TimeMs>,
}

/// Reads what a session did since it was last looked at.
pub(super) struct SessionReading<'s> {
    store: &'s Store,
    edit_reader: EditReader<'s>,
    session: &'s WorkPlace,
    /// Events up to this one were looked at before.
    after: Seq,
    /// Texts are redacted once more: an edit may complete what stood in pieces in the log.
    redactor: Option<&'s Redactor>,
    files: Files<'s>,
    interner: Interner,
    lanes: HashMap<SourceFile, Lane>,
    /// The turn at hand, and what it changed, in the order in which it began to.
    turn: Option<TurnNo>,
    open: Vec<Open>,
    trees: &'s mut Trees,
    /// Bytes that may still be parsed. When there are none left, files count as not understood.
    parsable: usize,
    steps: Vec<Step>,
}

impl<'s> SessionReading<'s> {
    pub(super) fn new(
        store: &'s Store,
        session: &'s WorkPlace,
        after: Seq,
        fresh: &'s FreshEdits,
        redactor: Option<&'s Redactor>,
        trees: &'s mut Trees,
    ) -> Self {
        SessionReading {
            store,
            edit_reader: EditReader::with_fresh(store, fresh),
            session,
            after,
            redactor,
            files: Files::of(session, redactor),
            interner: Interner::default(),
            lanes: HashMap::new(),
            turn: Some(TurnNo::ZERO),
            open: Vec::new(),
            trees,
            parsable: BASE_PARSED_BYTES,
            steps: Vec::new(),
        }
    }

    /// Counts bytes that are to be parsed; false when that would be too much.
    fn may_parse(&mut self, bytes: usize) -> bool {
        let left = self.parsable.checked_sub(bytes);
        self.parsable = left.unwrap_or(self.parsable);
        left.is_some()
    }

    /// What all successful edits of source files did.
    pub(super) fn steps(mut self) -> Result<Vec<Step>> {
        let session = self.session.session;
        let answered = self.store.answered(session, self.after)?;
        for rows in answered.chunk_by(|a, b| a.result == b.result) {
            let is_source = |path: &Option<String>| match path {
                Some(path) => language_of(path).is_some(),
                None => true,
            };
            let Some(first) = rows.iter().find(|row| is_source(&row.path)) else {
                continue;
            };
            let event = |seq| -> Result<Option<EventView<'static>>> {
                Ok(self.store.events(session, EventRange::One(seq))?.pop())
            };
            let (Some(call), Some(result)) = (event(first.call)?, event(first.result)?) else {
                continue;
            };
            if self.turn != Some(call.turn) {
                self.close_turn();
                self.turn = Some(call.turn);
            }
            let at = result.event.at.or(call.event.at);
            for edit in self
                .edit_reader
                .edits(&self.session.agent, &call, &result)?
            {
                self.edit(edit, call.seq, at)?;
            }
        }
        self.close_turn();
        Ok(self.steps)
    }

    fn edit(&mut self, mut edit: FileEdit, call: Seq, at: Option<TimeMs>) -> Result<()> {
        let Some(file) = self.files.locate(&edit.path) else {
            return Ok(());
        };
        let Some(language) = language_of(&file.name) else {
            return Ok(());
        };
        let parsable = edited_bytes(&edit).saturating_mul(PARSED_BYTES_PER_EDITED);
        self.parsable = self.parsable.saturating_add(parsable);
        let moved_to = edit.moved_to.take();
        if edit.change != FileChange::Hunks(Vec::new()) {
            self.change(&file, language, &mut edit, call, at)?;
        }
        let Some(to) = moved_to.and_then(|to| self.files.locate(&to)) else {
            return Ok(());
        };
        if let Some(place) = self.open.iter().position(|open| open.file == file) {
            let open = self.open.remove(place);
            self.close(open);
        }
        if let Some(lane) = self.lanes.remove(&file) {
            self.lanes.insert(to.clone(), lane);
        }
        let turn = self.turn;
        let from = file;
        self.steps.push(Step::Moved { from, to, turn, at });
        Ok(())
    }

    fn change(
        &mut self,
        file: &SourceFile,
        language: &'static Language,
        edit: &mut FileEdit,
        call: Seq,
        at: Option<TimeMs>,
    ) -> Result<()> {
        let mut lane = self.lanes.remove(file).unwrap_or_default();
        let is_logged = edit.before.is_some();
        if let Some(before) = edit.before.take() {
            let lines = self.interner.lines(&before);
            lane.synchronise(&lines, &self.interner);
        } else if lane.text.is_none() && lane.loose() == 0 && needs_text(&edit.change) {
            self.recall(&mut lane, &edit.path, call)?;
        }
        let place = self.open.iter().position(|open| open.file == *file);
        let place = place.unwrap_or_else(|| {
            let lines = lane.text.as_ref().map_or(0, Vec::len);
            let is_affordable = self.interner.count_comparisons(lines);
            let before = match is_affordable {
                true => lane.whole(&self.interner),
                false => None,
            };
            let is_written = matches!(edit.change, FileChange::Written(_));
            let open = self.begin(file, language, before, is_written, is_logged);
            self.open.push(open);
            self.open.len() - 1
        });
        let loose = lane.loose();
        lane.apply(edit, 0, &mut self.interner);
        let open = &mut self.open[place];
        open.at = at.or(open.at);
        open.is_deleted = edit.change == FileChange::Deleted;
        open.is_logged = matches!(edit.change, FileChange::Written(_));
        if lane.loose() > loose {
            for mut fragment in fragment_changes(language, &edit.change) {
                fragment.name = stored_text(self.redactor, fragment.name);
                open.fragments.push(fragment);
            }
        }
        self.lanes.insert(file.clone(), lane);
        Ok(())
    }

    /// The first change of a file in a turn.
    fn begin(
        &mut self,
        file: &SourceFile,
        language: &'static Language,
        text: Option<String>,
        is_written: bool,
        is_logged: bool,
    ) -> Open {
        let (before, parsed, text) = match text {
            None if is_written => (State::Overwritten, None, None),
            None => (State::Unknown, None, None),
            Some(text) if text.is_empty() => (State::Absent, None, Some(text)),
            Some(text) => self.outline_before(file, language, text, is_logged),
        };
        Open {
            file: file.clone(),
            language,
            before,
            parsed: parsed.filter(|_| self.open.len() < MOST_OPEN_TREES),
            before_text: text,
            fragments: Vec::new(),
            is_deleted: false,
            is_logged: false,
            at: None,
        }
    }

    /// What a file was that is about to be changed, and its text as it may be stored. What a log has as a whole, and what was outlined
    /// last, was redacted then.
    fn outline_before(
        &mut self,
        file: &SourceFile,
        language: &'static Language,
        mut text: String,
        is_logged: bool,
    ) -> (State, Option<Parsed>, Option<String>) {
        if !self.trees.has_text(file, &text) {
            if !self.may_parse(text.len()) {
                return (State::Odd, None, Some(text));
            }
            if !is_logged {
                text = stored_text(self.redactor, text);
            }
        }
        match self.trees.symbols(file, language, &text) {
            Ok((parsed, outline)) => (State::Seen(outline), Some(parsed), Some(text)),
            Err(_) => (State::Odd, None, Some(text)),
        }
    }

    fn close_turn(&mut self) {
        for open in std::mem::take(&mut self.open) {
            self.close(open);
        }
    }

    fn close(&mut self, open: Open) {
        let lane = self.lanes.get(&open.file);
        let text = lane
            .filter(|lane| lane.loose() == 0)
            .and_then(|lane| lane.whole(&self.interner));
        let share = open.parsed.as_ref().map_or(1, |_| REPARSED_SHARE);
        let after = match text {
            _ if open.is_deleted => State::Absent,
            None => State::Unknown,
            Some(text) if open.before_text.as_deref() == Some(&text) => return,
            Some(text) if !self.may_parse(text.len() / share) => State::Odd,
            Some(text) => {
                let text = match open.is_logged {
                    true => text,
                    false => stored_text(self.redactor, text),
                };
                if open.before_text.as_deref() == Some(&text) {
                    return;
                }
                let parsed = match &open.parsed {
                    Some(parsed) => parsed.then(text),
                    None => Parsed::new(open.language, text),
                };
                match parsed {
                    Ok(parsed) => {
                        let outline = whole_outline(&parsed);
                        self.trees.keep(&open.file, parsed, Arc::clone(&outline));
                        State::Seen(outline)
                    }
                    Err(_) => State::Odd,
                }
            }
        };
        self.steps.push(Step::Edited(Edited {
            file: open.file,
            turn: self.turn,
            at: open.at,
            before: open.before,
            after,
            fragments: open.fragments,
        }));
    }

    /// Finds the text of a file in what was written to it before, in this session and in earlier ones of its project, under this name
    /// and under those that it had.
    fn recall(&mut self, lane: &mut Lane, path: &str, call: Seq) -> Result<()> {
        let mut steps: Vec<FileEdit> = Vec::new();
        let mut from = Some((path.to_string(), self.session.session, call));
        while let Some((path, session, call)) = from.take() {
            let left = MOST_EARLIER.saturating_sub(steps.len());
            for write in self.store.writes_before(&path, session, call, left)? {
                let range = EventRange::One(write.call);
                let call = self.store.events(write.session, range)?.pop();
                let result = self.store.result_of(write.session, write.call)?;
                let (Some(call), Some(result)) =
                    (call, result.filter(|result| !result.event.error))
                else {
                    continue;
                };
                let edits = self.edit_reader.edits(&write.agent, &call, &result)?;
                let is_same = |edit: &&FileEdit| {
                    edit.moved_to.as_deref().unwrap_or(&edit.path) == path.as_str()
                };
                for edit in edits.iter().rev().filter(is_same) {
                    steps.push(edit.clone());
                    let is_written =
                        matches!(edit.change, FileChange::Written(_) | FileChange::Deleted);
                    if edit.before.is_some() || is_written {
                        for edit in steps.iter().rev() {
                            lane.apply(edit, 0, &mut self.interner);
                        }
                        return Ok(());
                    }
                    if edit.moved_to.is_some() {
                        from = Some((edit.path.clone(), write.session, write.call));
                    }
                }
                if from.is_some() {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// What a text defines and calls, without calls that nobody asks for.
pub(super) fn whole_outline(parsed: &Parsed) -> Arc<Outline> {
    let mut outline = parsed.outline();
    outline.left_out = Vec::new();
    Arc::new(outline)
}

/// The language of a source file.
pub(super) fn language_of(path: &str) -> Option<&'static Language> {
    Language::of_path(Path::new(path))
}

/// Whether what a change did can only be known with the text before it.
fn needs_text(change: &FileChange) -> bool {
    matches!(change, FileChange::Hunks(_) | FileChange::Strings(_))
}

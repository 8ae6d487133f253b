//! Tool calls, each with what it was answered.

use std::collections::HashMap;

use backstory_event::{EventView, FileEdit, Seq, TimeMs, TurnNo};

use super::{ChangedFunction, ObservationSource, ToolUse};

/// Maximum number of calls that wait for their result; agents run a few tools at once.
const MOST_OPEN: usize = 256;

/// A prompt or tool use, and where it stands.
pub struct ObservedItem {
    /// The event of the prompt, or of the call.
    pub call: Seq,
    /// The event of the prompt, or of the result.
    pub result: Seq,
    /// The turn.
    pub turn: TurnNo,
    /// Time of the prompt, or of the result.
    pub at: Option<TimeMs>,
    /// The prompt or the tool use.
    pub source: ObservationSource,
}

/// Calls of a session that wait for their results.
#[derive(Default)]
pub struct OpenCalls(HashMap<Seq, EventView<'static>>);

impl OpenCalls {
    /// Keeps a call until its result comes, or too many others do.
    pub fn open(&mut self, call: EventView<'static>) {
        if self.0.len() == MOST_OPEN {
            let oldest = self.0.keys().min().copied();
            oldest.and_then(|oldest| self.0.remove(&oldest));
        }
        self.0.insert(call.seq, call);
    }

    /// Joins a result with its call, if that is known.
    pub fn answer(&mut self, result: EventView<'static>) -> Option<AnsweredCall> {
        let call = self.0.remove(&result.call?)?;
        Some(AnsweredCall { call, result })
    }
}

/// A call and its result.
pub struct AnsweredCall {
    /// The call.
    pub call: EventView<'static>,
    /// The result.
    pub result: EventView<'static>,
}

impl AnsweredCall {
    /// Returns what it did to files. The answer knows more than the call, if it tells anything.
    pub fn edits(&self) -> &[FileEdit] {
        match self.result.event.body.edits.as_slice() {
            [] => self.call.event.body.edits.as_slice(),
            made => made,
        }
    }

    /// Returns the tool use, which changed these functions.
    pub fn into_item(self, functions: Vec<ChangedFunction>) -> ObservedItem {
        let AnsweredCall { call, result } = self;
        let failed = result.is_failure();
        let (asked, answer) = (call.event.into_owned(), result.event.into_owned());
        ObservedItem {
            call: call.seq,
            result: result.seq,
            turn: call.turn,
            at: answer.at.or(asked.at),
            source: ObservationSource::ToolUse(ToolUse {
                tool: asked.tool.unwrap_or_default(),
                input: asked.body.text,
                command: asked.body.command,
                output: answer.body.text,
                failed,
                touches: asked.touches,
                functions,
            }),
        }
    }
}

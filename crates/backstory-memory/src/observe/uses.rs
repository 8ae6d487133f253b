//! What of a session is observed: prompts, and tool calls, each with what it was answered.

use std::collections::HashMap;

use backstory_agents::without_context;
use backstory_event::{EventView, Kind, Origin, Seq, SessionId, TimeMs, TurnNo};
use backstory_store::{EventRange, Store};

use super::functions::Functions;
use super::{ObservationSource, Prompt, ToolUse};
use crate::capture::is_omission;
use crate::error::Result;
use crate::read::visit;

/// So many calls may wait for their result; agents run a few tools at once.
const MOST_OPEN: usize = 256;

/// A prompt or tool use, and where it stands.
pub(crate) struct ObservedItem {
    /// The event of the prompt, or of the call.
    pub(crate) call: Seq,
    /// The event of the prompt, or of the result.
    pub(crate) result: Seq,
    pub(crate) turn: TurnNo,
    pub(crate) at: Option<TimeMs>,
    pub(crate) source: ObservationSource,
}

/// Calls `each` with the prompts of a session and with its tool uses that were answered, in the order of prompts and answers; the last
/// are those that only hooks told of so far.
pub(crate) fn observed_items(
    store: &Store,
    agent: &str,
    session: SessionId,
    range: EventRange,
    mut each: impl FnMut(ObservedItem) -> Result<()>,
) -> Result<()> {
    let mut uses = Uses::of(store, session)?;
    visit(store, session, agent, range, |event| {
        uses.take(event).map_or(Ok(()), &mut each)
    })
}

/// Joins the calls and results of a session.
pub(super) struct Uses {
    functions: Functions,
    /// Whether no person typed into the session.
    is_headless: bool,
    open: HashMap<Seq, EventView<'static>>,
}

impl Uses {
    pub(super) fn of(store: &Store, session: SessionId) -> Result<Self> {
        let heads = store.session_heads([session])?;
        Ok(Uses {
            functions: Functions::of(store, session)?,
            is_headless: heads.get(&session).is_some_and(|head| head.machine),
            open: HashMap::new(),
        })
    }

    /// Takes the next event; a result completes a tool use.
    pub(super) fn take(&mut self, event: EventView<'static>) -> Option<ObservedItem> {
        if event.origin == Origin::Hook && is_omission(event.text()) {
            return None;
        }
        match event.event.kind {
            Kind::Prompt => Some(ObservedItem {
                call: event.seq,
                result: event.seq,
                turn: event.turn,
                at: event.event.at,
                source: ObservationSource::Prompt(Prompt {
                    // Readers take it out of logs; agents may hand it to hooks.
                    text: without_context(event.text()).into_owned(),
                    is_headless: self.is_headless,
                }),
            }),
            Kind::ToolCall => {
                if self.open.len() == MOST_OPEN {
                    let oldest = self.open.keys().min().copied();
                    oldest.and_then(|oldest| self.open.remove(&oldest));
                }
                self.open.insert(event.seq, event);
                None
            }
            Kind::ToolResult => {
                let call = self.open.remove(&event.call?)?;
                Some(joined(call, event, &self.functions))
            }
            _ => None,
        }
    }
}

fn joined(
    call: EventView<'static>,
    result: EventView<'static>,
    functions: &Functions,
) -> ObservedItem {
    let failed = result.is_failure();
    // The answer knows more than the call, if it tells anything.
    let edits = match result.event.body.edits.as_slice() {
        [] => call.event.body.edits.as_slice(),
        made => made,
    };
    let functions = functions.changed(call.turn, &call.event.touches, call.text(), edits);
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

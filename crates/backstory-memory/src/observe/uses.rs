//! What of a session is observed: prompts, and tool calls, each with what it was answered.

use backstory_agents::without_context;
use backstory_analysis::observe::{ObservedItem, OpenCalls};
use backstory_event::{EventView, Kind, Origin, SessionId};
use backstory_store::{EventRange, Store};

use super::functions::Functions;
use super::{ObservationSource, Prompt};
use crate::capture::is_omission;
use crate::error::Result;
use crate::read::visit;

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
    open: OpenCalls,
}

impl Uses {
    pub(super) fn of(store: &Store, session: SessionId) -> Result<Self> {
        let heads = store.session_heads([session])?;
        Ok(Uses {
            functions: Functions::of(store, session)?,
            is_headless: heads.get(&session).is_some_and(|head| head.machine),
            open: OpenCalls::default(),
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
                self.open.open(event);
                None
            }
            Kind::ToolResult => {
                let answered = self.open.answer(event)?;
                let call = &answered.call;
                let functions = self.functions.changed(
                    call.turn,
                    &call.event.touches,
                    call.text(),
                    answered.edits(),
                );
                Some(answered.into_item(functions))
            }
            _ => None,
        }
    }
}

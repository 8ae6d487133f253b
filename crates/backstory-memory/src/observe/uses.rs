//! The tool uses of a session: calls, each with what it was answered.

use std::collections::HashMap;

use backstory_event::{Action, EventView, Kind, Touch};
use backstory_store::{EventRange, LiveSession, Store};

use super::ToolUse;
use crate::capture::live_events;
use crate::error::Result;
use crate::read::{is_in_range, visit};

/// So many calls may wait for their result; agents run a few tools at once.
const MOST_OPEN: usize = 256;

/// A tool use and where it stands.
pub(crate) struct Use {
    /// The event of the call.
    pub(crate) call: u64,
    /// The event of the result.
    pub(crate) result: u64,
    pub(crate) turn: u64,
    pub(crate) at: Option<i64>,
    pub(crate) tool_use: ToolUse,
}

/// Calls `each` with the tool uses of a session that were answered, in the order of the answers; the last are those that only hooks
/// told of so far.
pub(crate) fn tool_uses(
    store: &Store,
    agent: &str,
    session: &LiveSession,
    range: EventRange,
    mut each: impl FnMut(Use) -> Result<()>,
) -> Result<()> {
    let mut uses = Uses::of(store, session.session)?;
    visit(store, session.session, agent, range, |event| {
        uses.take(event).map_or(Ok(()), &mut each)
    })?;
    let live = live_events(store, session)?.into_iter();
    for event in live.filter(|event| is_in_range(event, range)) {
        uses.take(event).map_or(Ok(()), &mut each)?;
    }
    Ok(())
}

/// Joins the calls and results of a session.
pub(super) struct Uses {
    functions: Functions,
    open: HashMap<u64, EventView<'static>>,
}

impl Uses {
    pub(super) fn of(store: &Store, session: i64) -> Result<Self> {
        Ok(Uses {
            functions: Functions::of(store, session)?,
            open: HashMap::new(),
        })
    }

    /// Takes the next event; a result completes a tool use.
    pub(super) fn take(&mut self, event: EventView<'static>) -> Option<Use> {
        match event.event.kind {
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

fn joined(call: EventView<'static>, result: EventView<'static>, functions: &Functions) -> Use {
    let failed = result.is_failure();
    let functions = functions.changed(call.turn, &call.event.touches, call.text());
    let (asked, answer) = (call.event.into_owned(), result.event.into_owned());
    Use {
        call: call.seq,
        result: result.seq,
        turn: call.turn,
        at: answer.at.or(asked.at),
        tool_use: ToolUse {
            tool: asked.tool.unwrap_or_default(),
            input: asked.body.text,
            command: asked.command,
            output: answer.body.text,
            failed,
            touches: asked.touches,
            functions,
        },
    }
}

/// The functions that turns of a session changed, by turn and file.
struct Functions(HashMap<u64, Vec<(String, String)>>);

impl Functions {
    fn of(store: &Store, session: i64) -> Result<Self> {
        let mut turns: HashMap<u64, Vec<(String, String)>> = HashMap::new();
        for changed in store.changed_names(session)? {
            if let Ok(turn) = u64::try_from(changed.turn) {
                let names = turns.entry(turn).or_default();
                names.push((changed.file, changed.name));
            }
        }
        Ok(Functions(turns))
    }

    /// Those of the files that a call wrote. A turn edits a file more than once; the functions that the call itself names are its own.
    fn changed(&self, turn: u64, touches: &[Touch], input: &str) -> Vec<String> {
        let Some(changed) = self.0.get(&turn) else {
            return Vec::new();
        };
        let is_written = |file: &str| {
            let is_it = |touch: &Touch| {
                touch.action != Action::Read
                    && touch
                        .path
                        .strip_suffix(file)
                        .is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
            };
            touches.iter().any(is_it)
        };
        let written = changed.iter().filter(|(file, _)| is_written(file));
        let mut names: Vec<String> = written.map(|(_, name)| name.clone()).collect();
        let is_named = |name: &String| input.contains(name.rsplit('.').next().unwrap_or(name));
        if names.iter().any(is_named) {
            names.retain(is_named);
        }
        names.sort_unstable();
        names.dedup();
        names
    }
}

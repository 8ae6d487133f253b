//! What was captured of a session and its log has not told yet, as events behind those of the log.

use backstory_agents::hook::Happening;
use backstory_event::{Kind, Touch};
use backstory_store::{EventRow, ItemFilter, ItemKind, LiveSession, Store};

use crate::error::Result;
use crate::read::ShownEvent;

/// How the text ends that stands for one that was not kept.
const OMITTED: &str =
    " bytes not kept: they could not be redacted in time; the agent's log has them]";

/// Returns whether a text only says that another one was not kept.
pub(crate) fn is_omission(text: &str) -> bool {
    text.ends_with(OMITTED)
}

/// Events of a session that only hooks told of. They are numbered as if the log went on with them.
pub(crate) fn live_events(store: &Store, session: &LiveSession) -> Result<Vec<ShownEvent>> {
    let mut items = store.items(&ItemFilter {
        session: Some(session.session),
        untold: true,
        ..ItemFilter::default()
    })?;
    items.sort_by_key(|item| (item.at, item.id));
    let mut live = Live {
        turn: session.turns,
        seq: session.events,
        events: Vec::new(),
    };
    for item in items {
        let body = item.body.as_deref().unwrap_or_default();
        if let (true, Some(damage)) = (body.is_empty(), item.damage) {
            let kind = match item.kind {
                ItemKind::Prompt => Kind::Prompt,
                ItemKind::ToolUse => Kind::ToolResult,
                ItemKind::Reply | ItemKind::Summary => Kind::Reply,
            };
            live.turn += u64::from(kind == Kind::Prompt);
            live.push(kind, item.at, String::new()).damage = Some(damage);
            continue;
        }
        match serde_json::from_slice(body) {
            Ok(Happening::Prompted { text, .. }) => {
                live.turn += 1;
                live.push(Kind::Prompt, item.at, text);
            }
            Ok(
                Happening::Replied { text }
                | Happening::Stopped {
                    reply: Some(text), ..
                },
            ) => {
                live.push(Kind::Reply, item.at, text);
            }
            Ok(Happening::ToolUsed(tool)) => {
                // The log may have told the call while the tool ran.
                let seq = item.seq.unwrap_or_else(|| {
                    let call = live.push(Kind::ToolCall, item.at, tool.input);
                    call.row.tool = Some(tool.name.clone());
                    call.row.command = tool.command;
                    call.touches = tool.touches;
                    call.row.seq
                });
                let result = live.push(Kind::ToolResult, item.at, tool.output.unwrap_or_default());
                result.row.tool = Some(tool.name);
                result.row.call = Some(seq);
                result.row.error = tool.error;
                result.row.duration_ms = tool.duration_ms;
            }
            Ok(Happening::Omitted { bytes, .. }) => {
                let text = format!("[{bytes}{OMITTED}");
                match item.kind {
                    ItemKind::Prompt => {
                        live.turn += 1;
                        live.push(Kind::Prompt, item.at, text);
                    }
                    ItemKind::ToolUse => {
                        let call = item.seq.unwrap_or_else(|| {
                            let call = live.push(Kind::ToolCall, item.at, text.clone());
                            call.row.seq
                        });
                        live.push(Kind::ToolResult, item.at, text).row.call = Some(call);
                    }
                    ItemKind::Reply | ItemKind::Summary => {
                        live.push(Kind::Reply, item.at, text);
                    }
                }
            }
            _ => {}
        }
    }
    Ok(live.events)
}

struct Live {
    turn: u64,
    seq: u64,
    events: Vec<ShownEvent>,
}

impl Live {
    fn push(&mut self, kind: Kind, at: i64, text: String) -> &mut ShownEvent {
        self.seq += 1;
        let row = EventRow::bare(self.seq, self.turn, kind, Some(at));
        self.events.push(ShownEvent {
            row,
            text,
            touches: Vec::<Touch>::new(),
            live: true,
            damage: None,
        });
        let last = self.events.len() - 1;
        &mut self.events[last]
    }
}

//! What was captured of a session and its log has not told yet, as events behind those of the log.

use backstory_agents::hook::Happening;
use backstory_event::{EventView, Kind, Seq, SessionId, TimeMs, TurnNo};
use backstory_store::{ItemFilter, ItemKind, Store};

use crate::error::Result;

/// How the text ends that stands for one that was not kept.
const OMITTED: &str =
    " bytes not kept: they could not be redacted in time; the agent's log has them]";

/// Returns whether a text only says that another one was not kept.
pub(crate) fn is_omission(text: &str) -> bool {
    text.ends_with(OMITTED)
}

/// Returns the events of a session that only hooks told of. They are numbered as if the log went on with them.
pub(crate) fn untold_events(store: &Store, session: SessionId) -> Result<Vec<EventView<'static>>> {
    let Some((seq, turn)) = store.queue().log_end_before_captures(session)? else {
        return Ok(Vec::new());
    };
    let mut items = store.queue().items(&ItemFilter {
        session: Some(session),
        untold: true,
        ..ItemFilter::default()
    })?;
    items.sort_by_key(|item| (item.at, item.id));
    let mut live = Live {
        session,
        turn,
        seq,
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
            if kind == Kind::Prompt {
                live.turn = live.turn.next();
            }
            let view = live.push(kind, item.at, String::new());
            view.damage = Some(damage.to_string().into());
            continue;
        }
        match serde_json::from_slice(body) {
            Ok(Happening::Prompted { text, .. }) => {
                live.turn = live.turn.next();
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
                    let event = call.event.to_mut();
                    event.tool = Some(tool.name.clone());
                    event.body.command = tool.command;
                    event.touches = tool.touches;
                    event.body.identity.tool_use_id.clone_from(&tool.id);
                    call.seq
                });
                let result = live.push(Kind::ToolResult, item.at, tool.output.unwrap_or_default());
                result.call = Some(seq);
                let event = result.event.to_mut();
                event.tool = Some(tool.name);
                event.error = tool.error;
                event.body.marks.denied = tool.denied;
                event.body.status = tool.denied.then(|| "denied".to_string());
                event.duration_ms = tool.duration_ms;
                event.body.identity.tool_use_id = tool.id;
            }
            Ok(Happening::Omitted { bytes, .. }) => {
                let text = format!("[{bytes}{OMITTED}");
                match item.kind {
                    ItemKind::Prompt => {
                        live.turn = live.turn.next();
                        live.push(Kind::Prompt, item.at, text);
                    }
                    ItemKind::ToolUse => {
                        let call = item.seq.unwrap_or_else(|| {
                            let call = live.push(Kind::ToolCall, item.at, text.clone());
                            call.seq
                        });
                        live.push(Kind::ToolResult, item.at, text).call = Some(call);
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
    session: SessionId,
    turn: TurnNo,
    seq: Seq,
    events: Vec<EventView<'static>>,
}

impl Live {
    fn push(&mut self, kind: Kind, at: TimeMs, text: String) -> &mut EventView<'static> {
        self.seq = self.seq.next();
        self.events.push(EventView {
            session: self.session,
            ..EventView::unstored(self.seq, self.turn, kind, Some(at), text)
        });
        let last = self.events.len() - 1;
        &mut self.events[last]
    }
}

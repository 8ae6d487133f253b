//! An event in its place.

use std::borrow::Cow;
use std::sync::Arc;

use crate::body::EventBody;
use crate::event::{Event, EventKey, Kind, Span};
use crate::ids::{Seq, SessionId, StreamId, TimeMs, TurnNo};

/// Where an event is known from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The agent's log.
    Log,
    /// A hook; the log will tell it later.
    Hook,
}

/// An event in its place in a session: fresh from a reader, read again from the store, or captured by a hook.
///
/// Of an event that was read again, [`Event::session`], [`Event::key`], [`Event::replay`] and [`Event::parent`] say nothing: they
/// serve to find its place, which is known then.
#[derive(Debug, Clone, PartialEq)]
pub struct EventView<'a> {
    /// Row of the session.
    pub session: SessionId,
    /// Number within the session, from 1.
    pub seq: Seq,
    /// The turn it belongs to; 0 before the first prompt.
    pub turn: TurnNo,
    /// For a tool result, the number of its call.
    pub call: Option<Seq>,
    /// Number of the event it answers, where that is not the one before.
    pub parent: Option<Seq>,
    /// Where it is known from.
    pub origin: Origin,
    /// Stream that holds its span; 0 when it lies nowhere.
    pub stream: StreamId,
    /// The event.
    pub event: Cow<'a, Event>,
    /// Why its body is empty, if what is stored of it is damaged.
    pub damage: Option<Box<str>>,
}

impl EventView<'static> {
    /// Returns an event that lies in no stream, as hooks tell it.
    pub fn unstored(seq: Seq, turn: TurnNo, kind: Kind, at: Option<TimeMs>, text: String) -> Self {
        let nowhere = Span {
            offset: 0,
            length: 0,
            part: 0,
        };
        let event = Event {
            body: EventBody::from_text(text),
            ..Event::new(&Arc::default(), EventKey(0), kind, at, nowhere)
        };
        EventView {
            session: SessionId::default(),
            seq,
            turn,
            call: None,
            parent: None,
            origin: Origin::Hook,
            stream: StreamId::default(),
            event: Cow::Owned(event),
            damage: None,
        }
    }
}

impl EventView<'_> {
    /// Returns what was said, asked or answered.
    pub fn text(&self) -> &str {
        &self.event.body.text
    }

    /// Returns whether a tool result tells that the call failed.
    pub fn is_failure(&self) -> bool {
        self.event.error || self.event.exit_code.is_some_and(|code| code != 0)
    }
}

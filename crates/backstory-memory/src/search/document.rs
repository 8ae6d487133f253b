//! What is findable of a session: which words of each event the index takes.

use backstory_event::{EventView, Kind, Seq, SessionId, TimeMs, TurnNo};
use backstory_store::{IndexedEvent, Place, SessionHead};

use crate::digest::Noted;
use crate::searchable_text::searchable;

/// Makes the documents of one session, in order.
pub(crate) struct Documents {
    session: SessionId,
    title: Option<String>,
    /// Time of the last event that has one: it counts for those without.
    minute: u32,
}

impl Documents {
    pub(crate) fn new(head: &SessionHead) -> Self {
        Documents {
            session: head.id,
            title: head.title.clone(),
            minute: minute(head.started_at),
        }
    }

    /// Of a session of which nothing is known yet but its row.
    pub(super) fn of(session: SessionId) -> Self {
        Documents {
            session,
            title: None,
            minute: 0,
        }
    }

    /// The session's title; stands before its events, as number 0.
    pub(crate) fn title(&self) -> Option<IndexedEvent> {
        let texts = [self.title.clone()?, String::new(), String::new()];
        Some(self.document(Seq::ZERO, TurnNo::FIRST, Kind::Summary, None, texts))
    }

    /// Goes on to an event: one without a time is taken to have been when the last one was.
    pub(crate) fn set_time(&mut self, at: Option<TimeMs>) {
        if at.is_some() {
            self.minute = minute(at);
        }
    }

    /// What was noted of an event whose text is gone.
    pub(crate) fn noted(&mut self, noted: &Noted) -> IndexedEvent {
        self.set_time(noted.at);
        let (seq, turn) = (noted.seq, noted.turn);
        self.document(seq, turn, noted.kind, None, noted.texts.clone())
    }

    /// Returns the document of an event; `None` when nothing of it is worth finding.
    pub(super) fn event(&mut self, view: &EventView<'_>) -> Option<IndexedEvent> {
        let event = &view.event;
        self.set_time(event.at);
        let texts = searchable(event);
        if texts.iter().all(String::is_empty) {
            return None;
        }
        let (seq, turn) = (view.seq, view.turn);
        Some(self.document(seq, turn, event.kind, event.tool.clone(), texts))
    }

    /// Returns the document of an event with these texts.
    pub(crate) fn document(
        &self,
        seq: Seq,
        turn: TurnNo,
        kind: Kind,
        tool: Option<String>,
        texts: [String; 3],
    ) -> IndexedEvent {
        IndexedEvent {
            place: Place {
                session: self.session,
                seq,
                turn,
                kind,
                minute: self.minute,
            },
            tool,
            texts,
        }
    }
}

/// Minutes since 1970; what lies before or far after is a clock gone wrong.
pub(super) fn minute(at: Option<TimeMs>) -> u32 {
    at.map_or(0, |at| {
        (at.get() / 60_000).clamp(0, i64::from(u32::MAX)) as u32
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::searchable_text::tests::shown;

    #[test]
    fn what_the_agent_injects_is_not_found() {
        let mut documents = Documents::of(7.into());
        assert!(
            documents
                .event(&shown(Kind::System, "be helpful"))
                .is_none()
        );
        assert!(documents.event(&shown(Kind::Reply, "")).is_none());
        assert!(documents.title().is_none());
    }

    #[test]
    fn documents_know_their_place() {
        let head = SessionHead {
            id: 7.into(),
            agent: "codex".to_string(),
            session: "s".to_string(),
            title: Some("The shop".to_string()),
            project: None,
            branch: None,
            started_at: Some(TimeMs::new(60_000)),
            ended_at: None,
            machine: false,
            evicted: Seq::ZERO,
        };
        let mut documents = Documents::new(&head);
        let title = documents.title().unwrap();
        assert_eq!(
            (title.place.session, title.place.seq, title.place.turn),
            (7.into(), Seq::ZERO, TurnNo::FIRST)
        );
        assert_eq!(
            (title.place.minute, title.texts[0].as_str()),
            (1, "The shop")
        );
        let untimed = documents.event(&shown(Kind::Prompt, "a")).unwrap();
        assert_eq!(
            (untimed.place.seq, untimed.place.turn, untimed.place.minute),
            (Seq::new(3), TurnNo::new(2), 1)
        );
        let mut timed = shown(Kind::ToolResult, "b");
        timed.event.to_mut().at = Some(TimeMs::new(5 * 60_000 + 59_999));
        timed.event.to_mut().tool = Some("Bash".to_string());
        let timed = documents.event(&timed).unwrap();
        assert_eq!(
            (timed.place.minute, timed.tool.as_deref()),
            (5, Some("Bash"))
        );
        // One that does not say when was when the last one was.
        assert_eq!(
            documents
                .event(&shown(Kind::Reply, "c"))
                .unwrap()
                .place
                .minute,
            5
        );
        assert_eq!(
            [
                minute(None),
                minute(Some(TimeMs::new(-1))),
                minute(Some(TimeMs::MAX))
            ],
            [0, 0, u32::MAX]
        );
    }
}

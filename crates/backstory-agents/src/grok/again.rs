//! Reading a span again for the bodies of its events.

use super::Line;
use super::body::{Opening, call_body, notice_body, result_body};
use super::content::Content;
use super::fields::Fields;
use super::history;
use super::note::{Meta, Note};
use super::stream::{Speaker, Stream};
use crate::reader::Reading;
use crate::record::Record;
use backstory_event::{EventBody, Output};

/// The part that a call is, and a streamed text or a notice.
pub(super) const CALL_PART: u16 = 0;
/// The part that its result is, in the same record or another.
pub(super) const RESULT_PART: u16 = 1;

/// A span that is read again.
#[derive(Default)]
pub(super) struct Again {
    pub(super) bodies: Vec<(u16, EventBody)>,
    begun: bool,
    streaming: Option<(Speaker, Stream)>,
}

impl Reading for Again {
    fn record(&mut self, record: Record<'_>, _out: &mut Output) -> serde_json::Result<()> {
        let line = Line::read(record.json)?;
        let begins = !std::mem::replace(&mut self.begun, true);
        let Some(note) = line.note()? else {
            if begins {
                self.bodies = history::bodies(record.json)?;
            }
            return Ok(());
        };
        let speaker = Speaker::of(&note.kind());
        if begins {
            match speaker {
                Some(speaker) => self.open_stream(speaker, &note),
                None => self.bodies = note_bodies(&note),
            }
        }
        // The end of the turn carries on the text that stands directly before it.
        if let (Some(reason), Some((_, body)), Some(_)) =
            (note.stop_reason(), self.bodies.first_mut(), &self.streaming)
        {
            body.stop_reason = Some(reason);
        }
        if let (Some((streaming, stream)), Some(speaker)) = (&mut self.streaming, speaker)
            && *streaming == speaker
            // A streamed text is one event.
            && let Some((_, body)) = self.bodies.first_mut()
        {
            let content = Content::read(note.update.content);
            let text = stream.add(&content.text);
            if !text.is_empty() {
                body.text.push_str(&text);
                body.images.extend(speaker.images(content.images));
            }
        }
        Ok(())
    }

    fn state(&self) -> String {
        String::new()
    }
}

impl Again {
    fn open_stream(&mut self, speaker: Speaker, note: &Note<'_>) {
        let meta = Meta::read(note.update.meta);
        let body = Opening::from_note(speaker, note, &meta).into_body();
        self.bodies = vec![(CALL_PART, body)];
        self.streaming = Some((speaker, Stream::new(speaker)));
    }
}

/// The bodies of the events that may lie in one notification.
fn note_bodies(note: &Note<'_>) -> Vec<(u16, EventBody)> {
    if !matches!(note.kind().as_ref(), "tool_call" | "tool_call_update") {
        let notice = notice_body(note).map(|(_, body)| (CALL_PART, body));
        return notice.into_iter().collect();
    }
    let input = Fields::read(note.input());
    let (named, _) = note.tool(&input);
    let mut bodies = vec![(CALL_PART, call_body(note, &input, &named))];
    if note.is_final() {
        bodies.push((RESULT_PART, result_body(note).0));
    }
    bodies
}

//! Texts that later records may carry on, in the same event or in another one.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Session;
use super::fields::integer;
use super::note::Meta;
use super::stream::Speaker;
use super::updates::Run;
use crate::record::Record;
use crate::shared::is_true;
use backstory_event::{Fragment, Output};

/// A speaker's text that may go on in later records, in the same event or in another one: the program may report of tools and the
/// model may think in between.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct OpenText {
    speaker: Speaker,
    mark: Mark,
    /// Where its first record lies.
    pub(super) since: u64,
}

impl OpenText {
    /// The text that an event is streaming.
    pub(super) fn of_run(run: &Run) -> Self {
        OpenText {
            speaker: run.speaker,
            mark: run.mark,
            since: run.offset,
        }
    }
}

/// What sets fragments of one speaker apart.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Mark {
    /// The number of the prompt.
    pub(super) number: Option<u64>,
    /// Whether people do not get to see it: the program prompts itself when a task has ended.
    pub(super) hidden: bool,
    /// Whether the program took and answered a command itself, and the model knows nothing of it.
    pub(super) host: bool,
}

impl Mark {
    pub(super) fn from_meta(meta: &Meta<'_>) -> Self {
        Mark {
            number: integer(meta.prompt_index).and_then(|number| u64::try_from(number).ok()),
            hidden: is_true(meta.hide_from_scrollback),
            host: is_true(meta.host_turn),
        }
    }
}

impl Session {
    /// Whether a fragment is the first one of a text, which is open from now on.
    pub(super) fn opens(&mut self, speaker: Speaker, mark: Mark, offset: u64) -> bool {
        let open = &mut self.state.open;
        // Who prompts has heard the answer, and who answers the prompt.
        let is_person = speaker == Speaker::Person;
        open.retain(|text| (text.speaker == Speaker::Person) == is_person);
        if open
            .iter()
            .any(|text| text.speaker == speaker && text.mark == mark)
        {
            return false;
        }
        open.retain(|text| text.speaker != speaker);
        open.push(OpenText {
            speaker,
            mark,
            since: offset,
        });
        true
    }

    /// Closes all texts but the one that is streaming.
    pub(super) fn close_texts(&mut self) {
        let speaker = self.state.run.as_ref().map(|run| run.speaker);
        self.state.open.retain(|text| Some(text.speaker) == speaker);
    }
}

/// Puts out where the strings of a text lie.
pub(super) fn place_fragments<'a>(
    channel: u8,
    mut begins: bool,
    strings: &[&'a RawValue],
    record: Record<'_>,
    out: &mut Output,
) {
    let inner = |raw: &&'a RawValue| {
        let text = raw.get();
        text.get(1..text.len().saturating_sub(1))
    };
    for (offset, length) in record.places_of(strings.iter().filter_map(inner)) {
        out.fragments.push(Fragment {
            channel,
            begins: std::mem::replace(&mut begins, false),
            offset,
            length,
        });
    }
}

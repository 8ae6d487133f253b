//! Twins: records of the same words in different channels. The first one makes the event, the others at most add ids to it.
//!
//! A reply is told to the screen before its item is logged, and only the item has an id; the item of a prompt has none, and the
//! event for the screen that follows has that of the client. In all logs that were seen, nothing but more of the same voice stands
//! between such twins. So the span of an event that lacks ids grows up to its twin while that is so, and both are read again.

use serde::{Deserialize, Serialize};

use super::entry::{self, Channel, Entry};
use super::line::RolloutLine;
use super::message::essence;
use super::state::{State, hash};
use crate::reader::Reading;
use crate::record::{Record, read_lines};
use backstory_event::{EventBody, EventKey, Extension, Identity, Output};

/// Twins stand next to each other, but for the thoughts of one long answer.
const HEARD_PER_VOICE: usize = 16;

/// Maximum number of events that wait for ids.
const MAX_UNNAMED: usize = 16;

/// Words that became an event: who spoke, the hash of what was said, and the channels that had it. A tuple, because the
/// state of every file is kept, and names of fields would be most of it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Heard(u8, i64, u8);

/// An event that lacks ids: who spoke, the hash of what was said, its key, and whether it lacks its own id and that of its turn.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Unnamed(u8, i64, i64, bool, bool);

impl Entry {
    /// Returns the hashes of the words that another record may have, too, piece by piece.
    pub(super) fn words(&self) -> Vec<i64> {
        if self.voice.is_none() {
            return Vec::new();
        }
        let whole = std::slice::from_ref(&self.body.text);
        let pieces = match self.pieces.is_empty() {
            true => whole,
            false => self.pieces.as_slice(),
        };
        pieces.iter().map(|piece| hash(&essence(piece))).collect()
    }
}

impl State {
    /// Forgets the events that wait for ids unless `entries`, those of the next record, are of the same voice.
    pub(super) fn drop_unnamed(&mut self, entries: &[Entry]) {
        let voice = match entries {
            [entry] => entry.voice.map(|voice| voice as u8),
            _ => None,
        };
        self.unnamed.retain(|unnamed| Some(unnamed.0) == voice);
    }

    /// Returns whether an entry of these words was given by another record already; if not, remembers them. A twin that ends at
    /// `end` names the events that wait for ids.
    pub(super) fn is_twin(
        &mut self,
        entry: &Entry,
        words: &[i64],
        channel: Channel,
        end: u64,
        out: &mut Output,
    ) -> bool {
        let Some(voice) = entry.voice else {
            return false;
        };
        let (voice, channel) = (voice as u8, channel as u8);
        let mut all_heard = true;
        for words in words {
            // Each record of some words pairs with one of another channel, so that saying "yes" twice stays two prompts.
            let mut twins = self
                .heard
                .iter_mut()
                .filter(|heard| heard.0 == voice && heard.1 == *words);
            match twins.find(|Heard(_, _, channels)| *channels & channel == 0) {
                Some(Heard(_, _, channels)) => *channels |= channel,
                None => {
                    all_heard = false;
                    self.hear(Heard(voice, *words, channel));
                }
            }
        }
        if all_heard {
            for words in words {
                self.name_event(*words, &entry.body.identity, end, out);
            }
        }
        all_heard
    }

    fn hear(&mut self, heard: Heard) {
        let same_voice = |other: &&Heard| other.0 == heard.0;
        if self.heard.iter().filter(same_voice).count() >= HEARD_PER_VOICE
            && let Some(oldest) = self.heard.iter().position(|other| same_voice(&other))
        {
            self.heard.remove(oldest);
        }
        self.heard.push_back(heard);
    }

    /// Remembers the event of some words if it lacks ids.
    pub(super) fn remember_unnamed(&mut self, entry: &Entry, words: &[i64], key: EventKey) {
        let Identity {
            uuid, parent_uuid, ..
        } = &entry.body.identity;
        let lacks = (uuid.is_none(), parent_uuid.is_none());
        if let (Some(voice), [words], true) = (entry.voice, words, lacks.0 || lacks.1) {
            if self.unnamed.len() == MAX_UNNAMED {
                self.unnamed.remove(0);
            }
            let unnamed = Unnamed(voice as u8, *words, key.0, lacks.0, lacks.1);
            self.unnamed.push(unnamed);
        }
    }

    /// Puts out the ids that a twin adds to the event of some words.
    fn name_event(&mut self, words: i64, twin: &Identity, end: u64, out: &mut Output) {
        let mut unnamed = self.unnamed.iter();
        let Some(place) = unnamed.position(|unnamed| unnamed.1 == words) else {
            return;
        };
        let Unnamed(_, _, key, lacks_id, lacks_turn) = self.unnamed.remove(place);
        let identity = Identity {
            uuid: twin.uuid.clone().filter(|_| lacks_id),
            parent_uuid: twin.parent_uuid.clone().filter(|_| lacks_turn),
            tool_use_id: None,
        };
        if identity != Identity::default() {
            out.extensions.push(Extension {
                identity,
                ..Extension::new(EventKey(key), end)
            });
        }
    }
}

/// Reads the body of an event again whose span goes up to its twin; `None` when the span is not of that kind.
pub(super) fn reread_twins(span: &[u8]) -> Option<Vec<(u16, EventBody)>> {
    let mut again = TwinReading::default();
    read_lines(&mut again, span, 0, 1, &mut Output::default());
    let mut body = again.first?;
    if let Some(twin) = again.last {
        body.identity.add_missing(&twin);
    }
    Some(vec![(0, body)])
}

/// A span that is read again: its first record has the words, its last one the ids.
#[derive(Default)]
struct TwinReading {
    first: Option<EventBody>,
    last: Option<Identity>,
}

impl Reading for TwinReading {
    fn record(&mut self, record: Record<'_>, _out: &mut Output) -> serde_json::Result<()> {
        let line = RolloutLine::parse(record.json)?;
        let (_, mut entries) = entry::entries(&line);
        let said = entries.pop().filter(|entry| entry.voice.is_some());
        if record.offset == 0 {
            // Only logs of the time of envelopes have twins.
            self.first = said
                .filter(|_| line.payload.is_some())
                .map(|entry| entry.body);
        } else {
            self.last = said.map(|entry| entry.body.identity);
        }
        Ok(())
    }

    fn state(&self) -> String {
        String::new()
    }
}

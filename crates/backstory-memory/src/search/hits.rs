//! What is shown of what was found.

use backstory_event::{EventView, Kind, Seq};
use backstory_store::SessionHead;

use super::rank::{Ranked, session_prior};
use super::{Found, MORE_TURNS, SearchHit, SearchOptions, snippet};
use crate::Search;
use crate::digest::{self, Noted};
use crate::error::Result;
use crate::models::passages;
use crate::read::read_one;

impl Search<'_> {
    /// What was noted of an event whose text is gone.
    fn noted(&self, head: &SessionHead, seq: Seq) -> Result<Option<Noted>> {
        let mut noted = digest::evicted(&self.memory.store, head)?.into_iter();
        Ok(noted.find(|noted| noted.seq == seq))
    }

    /// The best sessions with all that is shown of them.
    pub(super) fn hits(&self, mut found: Found, options: &SearchOptions) -> Result<Vec<SearchHit>> {
        let limit = if options.limit == 0 {
            usize::MAX
        } else {
            options.limit
        };
        let mut ranked = std::mem::take(&mut found.ranked);
        // What a session is moves it by some places, not by many.
        ranked.truncate(limit.saturating_mul(3).saturating_add(20));
        let heads = self
            .memory
            .store
            .session_heads(ranked.iter().map(|ranked| ranked.session))?;
        let mut ranked: Vec<(Ranked, &SessionHead)> = ranked
            .into_iter()
            .filter_map(|ranked| Some((ranked.clone(), heads.get(&ranked.session)?)))
            .collect();
        for (ranked, head) in &mut ranked {
            let own = options.own_project.is_some() && options.own_project == head.project;
            ranked.score *= session_prior(head.machine && !options.headless_count_fully, own);
        }
        ranked
            .sort_by(|(a, _), (b, _)| b.score.total_cmp(&a.score).then(b.session.cmp(&a.session)));
        let mut bytes = self.memory.store.bytes();
        let mut hits = Vec::new();
        for (ranked, head) in ranked {
            let turns = if options.each_turn {
                ranked.turns.len()
            } else {
                1
            };
            for (place, (_, event, _)) in ranked.turns.iter().take(turns).enumerate() {
                if hits.len() == limit {
                    return Ok(hits);
                }
                // The title is no event; the first one stands for it.
                let seq = *event.max(&Seq::FIRST);
                let shown = match read_one(&self.memory.store, &mut bytes, head, seq)? {
                    Some(shown) => Shown::Event(Box::new(shown)),
                    // Of an evicted session the title is left, and what was noted.
                    None => match self.noted(head, *event)? {
                        Some(noted) => Shown::Noted(noted),
                        None if *event == Seq::ZERO => Shown::Title,
                        None => continue,
                    },
                };
                hits.push(hit(&ranked, place, head, &shown, &found));
            }
        }
        Ok(hits)
    }
}

/// What a hit shows.
enum Shown {
    Event(Box<EventView<'static>>),
    Noted(Noted),
    Title,
}

/// A turn of a session, by its place among those of the session that were found.
fn hit(
    ranked: &Ranked,
    place: usize,
    head: &SessionHead,
    shown: &Shown,
    found: &Found,
) -> SearchHit {
    let (turn, event, _) = ranked.turns[place];
    let chunk = ranked.chunk.filter(|_| place == 0);
    let title = || head.title.clone().unwrap_or_default();
    let text = match (shown, chunk) {
        _ if event == Seq::ZERO => title(),
        (Shown::Event(shown), Some(chunk)) => passages(&shown.event)
            .get(chunk as usize)
            .cloned()
            .unwrap_or_default(),
        (Shown::Event(shown), None) => snippet::shown_text(shown),
        (Shown::Noted(noted), _) => noted.texts.join("\n"),
        (Shown::Title, _) => title(),
    };
    let (turn, event, at, kind) = match shown {
        // A title stands before the first turn.
        Shown::Event(shown) if event == Seq::ZERO => {
            (shown.turn, shown.seq, shown.event.at, shown.event.kind)
        }
        Shown::Event(shown) => (turn, shown.seq, shown.event.at, shown.event.kind),
        Shown::Noted(noted) => (noted.turn, noted.seq, noted.at, noted.kind),
        Shown::Title => (turn, Seq::ZERO, head.started_at, Kind::Summary),
    };
    SearchHit {
        session: head.clone(),
        turn,
        event,
        at,
        kind,
        score: ranked.score,
        confident: ranked.coverage >= found.confident_from,
        snippet: snippet::snippet(text.trim(), |word| found.worth(word)),
        more: ranked.turns[place + 1..]
            .iter()
            .take(MORE_TURNS)
            .map(|(turn, ..)| *turn)
            .collect(),
    }
}

//! Which events have the words of a query: those that the index does not know, read from the store itself.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use backstory_store::{EventRange, IndexedEvent, Lag, Part, SessionHead, Store, words};

use super::document::Documents;
use super::query::Atom;
use super::rank::{Rows, presence};
use super::scope::{Scope, turn_key};
use super::terms::Terms;
use crate::digest;
use crate::error::Result;
use crate::read::{captured_events, on_all_cores, visit_stored};

/// With fewer events than this one thread is as fast as several.
const WORTH_THREADS: u64 = 2_000;

/// What a scan found.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    pub(super) rows: Rows,
    /// How many events say something.
    pub(super) events: u64,
    /// How many of them say each term.
    pub(super) frequencies: Vec<u64>,
    /// For each condition, the turns that meet it.
    pub(super) turns: Vec<HashSet<u64>>,
}

/// Looks for terms and conditions in what is not indexed.
pub(super) fn scan(
    home: &Path,
    store: &Store,
    pending: &[Lag],
    terms: &Terms,
    conditions: &[&[Atom]],
    scope: &Scope,
) -> Result<Scanned> {
    let pending: Vec<&Lag> = pending
        .iter()
        .filter(|pending| scope.allows_session(pending.session))
        .collect();
    let events: u64 = pending.iter().map(|pending| pending.count()).sum();
    let heads = store.session_heads(pending.iter().map(|pending| pending.session))?;
    let next = AtomicUsize::new(0);
    let result = Mutex::new(Ok(Scanned::new(terms, conditions)));
    let work = |store: &Store| {
        let mut found = Scanned::new(terms, conditions);
        let outcome = loop {
            let Some(pending) = pending.get(next.fetch_add(1, Ordering::Relaxed)) else {
                break Ok(());
            };
            if let Some(head) = heads.get(&pending.session)
                && let Err(error) = found.session(store, head, pending, terms, conditions, scope)
            {
                break Err(error);
            }
        };
        if let Ok(mut result) = result.lock() {
            match (&mut *result, outcome) {
                (Ok(all), Ok(())) => all.merge(found),
                (Ok(_), Err(error)) => *result = Err(error),
                _ => {}
            }
        }
    };
    if events < WORTH_THREADS {
        work(store);
    } else {
        on_all_cores(home, store, work);
    }
    let mut found = result
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner)?;
    for session in store.queue().captured_sessions()? {
        if scope.allows_session(session) {
            let mut documents = Documents::of(session);
            for event in captured_events(store, session, EventRange::All)? {
                if let Some(document) = documents.event(&event) {
                    found.event(&document, terms, conditions, scope);
                }
            }
        }
    }
    Ok(found)
}

impl Scanned {
    fn new(terms: &Terms, conditions: &[&[Atom]]) -> Self {
        Scanned {
            rows: Rows::new(terms),
            frequencies: vec![0; terms.terms.len()],
            turns: vec![HashSet::new(); conditions.len()],
            ..Scanned::default()
        }
    }

    fn merge(&mut self, other: Scanned) {
        self.rows.append(&other.rows);
        self.events += other.events;
        for (sum, more) in self.frequencies.iter_mut().zip(other.frequencies) {
            *sum += more;
        }
        for (all, more) in self.turns.iter_mut().zip(other.turns) {
            all.extend(more);
        }
    }

    fn session(
        &mut self,
        store: &Store,
        head: &SessionHead,
        pending: &Lag,
        terms: &Terms,
        conditions: &[&[Atom]],
        scope: &Scope,
    ) -> Result<()> {
        let mut documents = Documents::new(head);
        if let Some(title) = documents.title() {
            self.event(&title, terms, conditions, scope);
        }
        for noted in digest::evicted(store, head)? {
            if noted.seq >= pending.from {
                self.event(&documents.noted(&noted), terms, conditions, scope);
            }
        }
        visit_stored(
            store,
            head.id,
            &head.agent,
            EventRange::From(pending.from),
            |event| {
                if let Some(document) = documents.event(&event) {
                    self.event(&document, terms, conditions, scope);
                }
                Ok(())
            },
        )
    }

    fn event(
        &mut self,
        event: &IndexedEvent,
        terms: &Terms,
        conditions: &[&[Atom]],
        scope: &Scope,
    ) {
        let allowed = scope.allows(&event.place) && scope.allows_tool(event.tool.as_deref());
        let mut sequence: Vec<String> = Vec::new();
        for part in Part::ALL {
            let text = &event.texts[part as usize];
            let mut pairs = 0;
            let mut times = vec![0_u32; terms.terms.len()];
            let mut length = 0;
            let mut before: Option<(usize, usize)> = None;
            words(text, |word| {
                length += 1;
                if !conditions.is_empty() {
                    sequence.push(word.text.to_string());
                }
                let Some(term) = terms.of_word(word.text) else {
                    return;
                };
                times[term] += 1;
                if let Some((earlier, position)) = before
                    && position + 1 == word.position
                    && part != Part::Given
                    && let Some(bit) = terms.pairs.iter().position(|pair| *pair == (earlier, term))
                {
                    pairs |= 1 << bit;
                }
                before = Some((term, word.position));
            });
            if part == Part::Said {
                for (frequency, times) in self.frequencies.iter_mut().zip(&times) {
                    *frequency += u64::from(*times > 0);
                }
            }
            if allowed && times.iter().any(|times| *times > 0) {
                let row = self.rows.add(event.place);
                self.rows.pairs[row] = pairs;
                let found = self.rows.terms_mut(row).iter_mut().zip(times);
                for (found, times) in found.filter(|(_, times)| *times > 0) {
                    *found = presence(event.place.kind, part, times, length);
                }
            }
            // So that no phrase reaches from one part into the next.
            sequence.push(String::new());
        }
        self.events += u64::from(event.texts[..2].iter().any(|text| !text.is_empty()));
        for (condition, turns) in conditions.iter().zip(&mut self.turns) {
            if condition.iter().any(|atom| holds(&sequence, atom)) {
                turns.insert(turn_key(&event.place));
            }
        }
    }
}

fn holds(words: &[String], atom: &Atom) -> bool {
    match atom {
        Atom::Word(word) => words.contains(word),
        Atom::Prefix(prefix) => words.iter().any(|word| word.starts_with(prefix.as_str())),
        Atom::Phrase(phrase) => words
            .windows(phrase.len())
            .any(|window| window == phrase.as_slice()),
    }
}

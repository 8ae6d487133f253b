//! Which events have the words of a query: those that the index knows.

use std::collections::HashSet;

use backstory_event::Seq;
use backstory_store::{IndexSegment, Part, TextIndex};

use super::query::Atom;
use super::rank::{Rows, information, presence, usual_presence};
use super::scope::{Scope, turn_key};
use super::terms::Terms;
use crate::error::Result;

/// Candidates are looked for by the rarest words, as many as have together so many occurrences. More frequent words are only
/// looked up in events that a rarer one found, where they tell the least.
const MOST_OCCURRENCES: u64 = 10_000;

/// So many events of a session are enough to rank it; a long one must not crowd others out.
const MOST_OF_A_SESSION: usize = 400;

/// Counts how many events say each term, and how many there are.
pub(super) fn count(index: &TextIndex, terms: &mut Terms) -> Result<u64> {
    for term in &mut terms.terms {
        term.frequency = 0;
    }
    let mut events = 0;
    for segment in index.segments() {
        events += u64::from(segment.said(None)?);
        for term in &mut terms.terms {
            for word in &term.words {
                term.frequency += u64::from(segment.said(Some(word))?);
                term.known |= term.frequency > 0 || segment.knows(word)?;
            }
        }
    }
    Ok(events)
}

/// Adds the turns that have an atom to `turns`, those left out that are searched beside the index.
pub(super) fn turns(
    index: &TextIndex,
    atom: &Atom,
    scope: &Scope,
    turns: &mut HashSet<u64>,
) -> Result<()> {
    for segment in index.segments() {
        let mut add = |document| {
            let place = segment.place(document);
            let fresh = scope.fresh.get(&place.session);
            if fresh.is_none_or(|first| place.seq > Seq::ZERO && place.seq < *first) {
                turns.insert(turn_key(&place));
            }
        };
        for part in Part::ALL {
            match atom {
                Atom::Word(word) => segment.postings(part, word, |document, _, _| add(document))?,
                Atom::Phrase(words) => {
                    let words: Vec<&str> = words.iter().map(String::as_str).collect();
                    segment.phrase(part, &words, None, &mut add)?;
                }
                Atom::Prefix(prefix) => {
                    let mut completions = Vec::new();
                    segment.vocabulary(part, prefix, |word, _| {
                        completions.push(word.to_string());
                        true
                    })?;
                    for word in completions {
                        segment.postings(part, &word, |document, _, _| add(document))?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// The best `most` events of the index that are in scope, by their words alone.
pub(super) fn find(
    index: &TextIndex,
    terms: &Terms,
    events: u64,
    scope: &Scope,
    most: usize,
) -> Result<Rows> {
    let information = information(&terms.terms, events);
    let rarest = rarest(terms, &information);
    let mut candidates: Vec<(f32, usize, u32)> = Vec::new();
    for (at, segment) in index.segments().iter().enumerate() {
        let (scores, mut found) = score(segment, terms, &rarest, &information, scope)?;
        found.sort_unstable();
        let same_session = |a: &u32, b: &u32| segment.session(*a) == segment.session(*b);
        for documents in found.chunk_by_mut(same_session) {
            if documents.len() > MOST_OF_A_SESSION {
                let by_score = |a: &u32, b: &u32| {
                    let [a, b] = [a, b].map(|document| scores[*document as usize]);
                    b.total_cmp(&a)
                };
                documents.select_nth_unstable_by(MOST_OF_A_SESSION, by_score);
            }
            let best = documents.iter().take(MOST_OF_A_SESSION);
            candidates.extend(best.map(|document| (scores[*document as usize], at, *document)));
        }
    }
    if candidates.len() > most {
        candidates.select_nth_unstable_by(most, |a, b| b.0.total_cmp(&a.0));
        candidates.truncate(most);
    }
    candidates.sort_unstable_by_key(|(_, segment, document)| (*segment, *document));
    let mut rows = Rows::new(terms);
    for candidates in candidates.chunk_by(|a, b| a.1 == b.1) {
        let documents: Vec<u32> = candidates
            .iter()
            .map(|(_, _, document)| *document)
            .collect();
        if let Some(segment) = candidates
            .first()
            .and_then(|(_, at, _)| index.segments().get(*at))
        {
            fill(segment, terms, &documents, &mut rows)?;
        }
    }
    Ok(rows)
}

/// The terms by which candidates are looked for, the rarest first; at least one.
fn rarest(terms: &Terms, information: &[f32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..terms.terms.len())
        .filter(|term| information[*term] > 0.0 && terms.terms[*term].frequency > 0)
        .collect();
    order.sort_by_key(|term| terms.terms[*term].frequency);
    let mut sum = 0;
    let fits = order.iter().take_while(|term| {
        sum += terms.terms[**term].frequency;
        sum <= MOST_OCCURRENCES
    });
    let fits = fits.count().max(1);
    // What is only called or given has no frequency, and is as rare as can be.
    let unsaid = (0..terms.terms.len()).filter(|term| terms.terms[*term].frequency == 0);
    unsaid.chain(order.into_iter().take(fits)).collect()
}

/// About how well each document fits, by these terms; and which fit at all.
fn score(
    segment: &IndexSegment,
    terms: &Terms,
    order: &[usize],
    information: &[f32],
    scope: &Scope,
) -> Result<(Vec<f32>, Vec<u32>)> {
    let filter = scope.in_segment(segment)?;
    let mut scores = vec![0.0_f32; segment.documents() as usize];
    let mut found = Vec::new();
    for &term in order {
        for word in &terms.terms[term].words {
            for part in Part::ALL {
                segment.postings(part, word, |document, times, length| {
                    if filter.as_ref().is_none_or(|filter| filter.allows(document)) {
                        let score = &mut scores[document as usize];
                        if *score == 0.0 {
                            found.push(document);
                        }
                        *score += information[term] * usual_presence(part, times, length);
                    }
                })?;
            }
        }
    }
    Ok((scores, found))
}

/// Adds what these documents have of each term; each part of a document is a row of its own.
fn fill(segment: &IndexSegment, terms: &Terms, documents: &[u32], rows: &mut Rows) -> Result<()> {
    for part in Part::ALL {
        let mut row_of: Vec<Option<usize>> = vec![None; documents.len()];
        for (at, term) in terms.terms.iter().enumerate() {
            for word in &term.words {
                segment.postings_among(part, word, documents, |place, times, length| {
                    let row = *row_of[place]
                        .get_or_insert_with(|| rows.add(segment.place(documents[place])));
                    let kind = rows.places[row].kind;
                    rows.terms_mut(row)[at] += presence(kind, part, times, length);
                })?;
            }
        }
        let pairs = terms.pairs.iter().enumerate();
        for (bit, (first, second)) in pairs.filter(|_| part != Part::Given) {
            for a in &terms.terms[*first].words {
                for b in &terms.terms[*second].words {
                    segment.phrase(part, &[a, b], Some(documents), |document| {
                        let place = documents.binary_search(&document).ok();
                        if let Some(row) = place.and_then(|place| row_of[place]) {
                            rows.pairs[row] |= 1 << bit;
                        }
                    })?;
                }
            }
        }
    }
    Ok(())
}

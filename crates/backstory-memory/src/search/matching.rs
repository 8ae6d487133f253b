//! Which events have the words of a query: those that the index knows.

use std::collections::HashSet;

use backstory_store::{IndexSegment, Part, Place, TextIndex};

use super::query::Atom;
use super::rank::{Row, information, presence};
use super::scope::{Scope, turn_key};
use super::terms::Terms;
use crate::error::Result;

/// The words of a query that more events have than this are only looked up in events that a rarer word found.
const COMMON: u64 = 20_000;

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
            if scope
                .fresh
                .get(&place.session)
                .is_none_or(|first| place.seq < *first)
            {
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
) -> Result<Vec<Row>> {
    let information = information(&terms.terms, events);
    let mut order: Vec<usize> = (0..terms.terms.len())
        .filter(|term| information[*term] > 0.0)
        .collect();
    order.sort_by_key(|term| terms.terms[*term].frequency);
    let rare = order
        .iter()
        .position(|term| terms.terms[*term].frequency > COMMON)
        .unwrap_or(order.len())
        .max(1)
        .min(order.len());
    let mut rows = Vec::new();
    for segment in index.segments() {
        let candidates = candidates(segment, terms, &order[..rare], &information, scope, most)?;
        rows.extend(fill(segment, terms, &candidates)?);
    }
    Ok(rows)
}

/// The documents with the best sum of these terms, in their order.
fn candidates(
    segment: &IndexSegment,
    terms: &Terms,
    order: &[usize],
    information: &[f32],
    scope: &Scope,
    most: usize,
) -> Result<Vec<u32>> {
    let filter = scope.in_segment(segment)?;
    let mut scores = vec![0.0_f32; segment.documents() as usize];
    for &term in order {
        for word in &terms.terms[term].words {
            for part in Part::ALL {
                segment.postings(part, word, |document, times, length| {
                    if filter.as_ref().is_none_or(|filter| filter.allows(document)) {
                        let kind = segment.kind(document);
                        scores[document as usize] +=
                            information[term] * presence(kind, part, times, length);
                    }
                })?;
            }
        }
    }
    let mut found: Vec<u32> = (0..segment.documents())
        .filter(|document| scores[*document as usize] > 0.0)
        .collect();
    if found.len() > most {
        found.select_nth_unstable_by(most, |a, b| {
            scores[*b as usize].total_cmp(&scores[*a as usize])
        });
        found.truncate(most);
        found.sort_unstable();
    }
    Ok(found)
}

/// What these documents have of each term; each part of a document is a row of its own.
fn fill(segment: &IndexSegment, terms: &Terms, documents: &[u32]) -> Result<Vec<Row>> {
    let places: Vec<Place> = documents
        .iter()
        .map(|document| segment.place(*document))
        .collect();
    let mut filled = Vec::new();
    for part in Part::ALL {
        let mut rows: Vec<Row> = places.iter().map(|place| Row::new(*place, terms)).collect();
        for (at, term) in terms.terms.iter().enumerate() {
            for word in &term.words {
                segment.postings_among(part, word, documents, |row, times, length| {
                    let row = &mut rows[row];
                    row.terms[at] += presence(row.place.kind, part, times, length);
                })?;
            }
        }
        for (bit, (first, second)) in terms
            .pairs
            .iter()
            .enumerate()
            .filter(|_| part != Part::Given)
        {
            for (a, b) in pairs(&terms.terms[*first].words, &terms.terms[*second].words) {
                segment.phrase(part, &[a, b], Some(documents), |document| {
                    if let Ok(row) = documents.binary_search(&document) {
                        rows[row].pairs |= 1 << bit;
                    }
                })?;
            }
        }
        filled.extend(rows.into_iter().filter(Row::has_some));
    }
    Ok(filled)
}

fn pairs<'a>(
    first: &'a [String],
    second: &'a [String],
) -> impl Iterator<Item = (&'a str, &'a str)> {
    first
        .iter()
        .flat_map(move |a| second.iter().map(move |b| (a.as_str(), b.as_str())))
}

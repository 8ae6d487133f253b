//! What is best: events by their words, sessions by their best events.
//!
//! The formula and its numbers were chosen on real queries; see `docs/search.md` for what was tried. In short: BM25 over events,
//! each kind with a weight of its own; an event counts for more in a turn that has the query's other words; a session counts
//! by its best three events; words that stand side by side in the query and in the session count extra.

use backstory_event::{Kind, Seq, SessionId, TurnNo};
use backstory_store::{Part, Place};

use super::terms::{Term, Terms};

/// How soon more occurrences of a word stop to matter.
const SATURATION: f32 = 1.2;

/// How much long events are held against.
const LENGTH: f32 = 0.75;

/// What a word that says little counts.
const STOP: f32 = 0.3;

/// What a word counts that is only like the one typed.
const CORRECTED: f32 = 0.5;

/// What the other words of its turn count for an event.
const TURN: f32 = 0.1;

/// What the best, second and third event of a session count.
const POOL: [f32; 3] = [1.0, 0.5, 0.25];

/// What a pair of words that stand side by side counts.
const PAIR: f32 = 0.5;

/// What the words of a turn count when the best turn of a session is chosen.
const BEST_TURN: f32 = 0.5;

/// Weight of headless sessions.
const HEADLESS_WEIGHT: f32 = 0.5;

/// What a session of the project that the user is in counts, next to one of another.
const OWN_PROJECT: f32 = 2.0;

/// A hit is confident when one event of the session has this share of what the query's words tell, rare words telling most.
pub const CONFIDENT: f32 = 0.5;

/// When a word of the query is nowhere at all, that is likely what it is about, and the others must tell nearly everything.
const CONFIDENT_BUT_FOR_A_WORD: f32 = 0.8;

/// The weight of an event's words and how long such a text usually is, by what it is.
pub(super) fn weight(kind: Kind, part: Part) -> (f32, f32) {
    match (part, kind) {
        (Part::Said, Kind::Prompt) => (1.2, 34.0),
        (Part::Said, Kind::Reply) => (1.1, 49.0),
        (Part::Said, Kind::Reasoning) => (0.85, 63.0),
        (Part::Said, Kind::Summary) => (0.3, 400.0),
        (Part::Said, _) => (1.0, 66.0),
        (Part::Called, _) => (0.7, 12.5),
        (Part::Given, Kind::ToolCall) => (0.6, 60.0),
        (Part::Given, _) => (0.2, 60.0),
    }
}

/// How much a word tells of an event that has it so often among so many others.
pub(super) fn presence(kind: Kind, part: Part, times: u32, length: u32) -> f32 {
    saturated(weight(kind, part), times, length)
}

/// The same when it is not known what kind of event it is.
pub(super) fn usual_presence(part: Part, times: u32, length: u32) -> f32 {
    let usual = match part {
        Part::Said => Kind::Reply,
        Part::Called | Part::Given => Kind::ToolResult,
    };
    saturated(weight(usual, part), times, length)
}

fn saturated((weight, usual): (f32, f32), times: u32, length: u32) -> f32 {
    let times = times as f32;
    let relative = 1.0 - LENGTH + LENGTH * length as f32 / usual;
    weight * times * (SATURATION + 1.0) / (times + SATURATION * relative)
}

/// How much each term tells, by how many of all events say it.
pub(super) fn information(terms: &[Term], events: u64) -> Vec<f32> {
    let one = |term: &Term| {
        let rarity = rarity(term, events);
        match (term.stop, term.corrected) {
            (true, _) => rarity * STOP,
            (_, true) => rarity * CORRECTED,
            _ => rarity,
        }
    };
    terms.iter().map(one).collect()
}

fn rarity(term: &Term, events: u64) -> f32 {
    let (with, all) = (term.frequency as f32, events.max(term.frequency) as f32);
    ((all - with + 0.5) / (with + 0.5)).ln_1p()
}

/// Parts of events and what each has of the query.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) places: Vec<Place>,
    /// Which pairs stand side by side in each, as bits.
    pub(super) pairs: Vec<u64>,
    /// The presence of each term in each.
    presence: Vec<f32>,
    width: usize,
}

impl Rows {
    pub(super) fn new(terms: &Terms) -> Self {
        Rows {
            width: terms.terms.len(),
            ..Rows::default()
        }
    }

    /// Adds a row that has nothing yet; returns its number.
    pub(super) fn add(&mut self, place: Place) -> usize {
        self.places.push(place);
        self.pairs.push(0);
        self.presence.resize(self.places.len() * self.width, 0.0);
        self.places.len() - 1
    }

    pub(super) fn terms(&self, row: usize) -> &[f32] {
        &self.presence[row * self.width..][..self.width]
    }

    pub(super) fn terms_mut(&mut self, row: usize) -> &mut [f32] {
        &mut self.presence[row * self.width..][..self.width]
    }

    pub(super) fn append(&mut self, other: &Rows) {
        self.places.extend(&other.places);
        self.pairs.extend(&other.pairs);
        self.presence.extend(&other.presence);
    }

    /// The numbers of the rows whose place passes, in the order of sessions, turns and events.
    fn in_order(&self, passes: impl Fn(&Place) -> bool) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.places.len())
            .filter(|row| passes(&self.places[*row]))
            .collect();
        order.sort_unstable_by_key(|row| {
            let place = &self.places[*row];
            (place.session, place.turn, place.seq)
        });
        order
    }
}

/// A session among the results.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ranked {
    pub(super) session: SessionId,
    pub(super) score: f32,
    /// The share of what the query's words tell that one event has.
    pub(super) coverage: f32,
    /// Its turns, the best first: the turn, its best event, their score.
    pub(super) turns: Vec<(TurnNo, Seq, f32)>,
    /// The piece of the best event that was found by its meaning, if it was.
    pub(super) chunk: Option<u32>,
}

/// Ranks the sessions of the rows that pass, the best first.
pub(super) fn rank(
    rows: &Rows,
    terms: &Terms,
    events: u64,
    passes: impl Fn(&Place) -> bool,
) -> Vec<Ranked> {
    let information = information(&terms.terms, events);
    let telling = Telling::new(&terms.terms, events);
    let order = rows.in_order(passes);
    let mut ranked: Vec<Ranked> = order
        .chunk_by(|a, b| rows.places[*a].session == rows.places[*b].session)
        .map(|order| session(rows, order, terms, &information, &telling))
        .collect();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.session.cmp(&a.session)));
    ranked
}

/// The coverage from which on a hit is confident.
pub(super) fn confident_from(rows: &Rows, terms: &Terms) -> f32 {
    let nowhere = |(at, term): (usize, &Term)| {
        let found = |row: usize| rows.terms(row)[at] > 0.0;
        !term.stop && term.frequency == 0 && !(0..rows.places.len()).any(found)
    };
    if terms.terms.iter().enumerate().any(nowhere) {
        CONFIDENT_BUT_FOR_A_WORD
    } else {
        CONFIDENT
    }
}

/// Returns the prior of a session: its weight before any word is compared.
pub(super) fn session_prior(is_headless: bool, own_project: bool) -> f32 {
    let weight = if is_headless { HEADLESS_WEIGHT } else { 1.0 };
    if own_project {
        weight * OWN_PROJECT
    } else {
        weight
    }
}

fn session(
    rows: &Rows,
    order: &[usize],
    terms: &Terms,
    information: &[f32],
    telling: &Telling,
) -> Ranked {
    let mut best = [0.0_f32; POOL.len()];
    let mut turns = Vec::new();
    let mut coverage = 0.0_f32;
    let mut pairs = 0;
    let mut most = vec![0.0_f32; information.len()];
    for turn in order.chunk_by(|a, b| rows.places[*a].turn == rows.places[*b].turn) {
        most.fill(0.0);
        for &row in turn {
            for (most, presence) in most.iter_mut().zip(rows.terms(row)) {
                *most = most.max(*presence);
            }
        }
        let whole = weigh(&most, information);
        let (mut top, mut top_event) = (0.0, Seq::ZERO);
        for &row in turn {
            let event = weigh(rows.terms(row), information);
            if event > top {
                (top, top_event) = (event, rows.places[row].seq);
            }
            insert(&mut best, event + TURN * whole);
            coverage = coverage.max(telling.share(rows.terms(row)));
            pairs |= rows.pairs[row];
        }
        let number = turn
            .first()
            .map_or(TurnNo::ZERO, |row| rows.places[*row].turn);
        turns.push((number, top_event, top + BEST_TURN * whole));
    }
    turns.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(&b.0)));
    let pooled: f32 = POOL
        .iter()
        .zip(best)
        .map(|(share, event)| share * event)
        .sum();
    let side_by_side: f32 = terms
        .pairs
        .iter()
        .enumerate()
        .filter(|(bit, _)| pairs >> bit & 1 == 1)
        .map(|(_, (a, b))| information[*a].min(information[*b]))
        .sum();
    Ranked {
        session: order
            .first()
            .map_or_else(SessionId::default, |row| rows.places[*row].session),
        score: pooled + PAIR * side_by_side,
        coverage,
        turns,
        chunk: None,
    }
}

fn weigh(presence: &[f32], information: &[f32]) -> f32 {
    presence
        .iter()
        .zip(information)
        .map(|(presence, information)| presence * information)
        .sum()
}

/// Puts a score among the best, which are in descending order.
fn insert(best: &mut [f32], score: f32) {
    let mut score = score;
    for place in best {
        if score > *place {
            std::mem::swap(place, &mut score);
        }
    }
}

/// How much the words of a query tell of what it is about.
struct Telling {
    shares: Vec<f32>,
}

impl Telling {
    fn new(terms: &[Term], events: u64) -> Self {
        let only_stops = terms.iter().all(|term| term.stop);
        let root = |term: &Term| {
            if term.stop && !only_stops {
                0.0
            } else {
                rarity(term, events).sqrt()
            }
        };
        // A word that is nowhere tells most, and what was corrected is nowhere.
        let missing = |term: &Term| {
            let nowhere = Term {
                frequency: 0,
                ..term.clone()
            };
            if term.corrected {
                root(&nowhere)
            } else {
                root(term)
            }
        };
        let all: f32 = terms.iter().map(missing).sum();
        let share = |term: &Term| {
            if term.corrected {
                0.0
            } else {
                root(term) / all.max(f32::MIN_POSITIVE)
            }
        };
        Telling {
            shares: terms.iter().map(share).collect(),
        }
    }

    fn share(&self, presence: &[f32]) -> f32 {
        let shares = self.shares.iter().zip(presence);
        shares
            .filter(|(_, presence)| **presence > 0.0)
            .map(|(share, _)| share)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::query::Query;
    use super::*;

    /// The terms of a query, and how many of a thousand events have each.
    fn terms(query: &str, frequencies: &[u64]) -> Terms {
        let mut terms = Terms::new(&Query::parse(query), None).unwrap();
        assert_eq!(terms.terms.len(), frequencies.len());
        for (term, frequency) in terms.terms.iter_mut().zip(frequencies) {
            term.frequency = *frequency;
        }
        terms
    }

    /// Rows of replies, each with its session, turn, event and the terms that it has once.
    fn rows(terms: &Terms, events: &[(u32, u32, u32, &[usize])]) -> Rows {
        let mut rows = Rows::new(terms);
        for (session, turn, seq, has) in events {
            let row = rows.add(Place {
                session: (*session).into(),
                seq: (*seq).into(),
                turn: (*turn).into(),
                kind: Kind::Reply,
                minute: 0,
            });
            for term in *has {
                rows.terms_mut(row)[*term] = presence(Kind::Reply, Part::Said, 1, 20);
            }
        }
        rows
    }

    fn ranked(terms: &Terms, events: &[(u32, u32, u32, &[usize])]) -> Vec<Ranked> {
        rank(&rows(terms, events), terms, 1_000, |_| true)
    }

    fn sessions(ranked: &[Ranked]) -> Vec<u32> {
        ranked.iter().map(|ranked| ranked.session.get()).collect()
    }

    #[test]
    fn more_of_a_word_counts_more_but_less_each_time() {
        let of = |times, length| presence(Kind::Prompt, Part::Said, times, length);
        assert!(of(2, 40) > of(1, 40) && of(3, 40) > of(2, 40));
        assert!(of(2, 40) - of(1, 40) > of(3, 40) - of(2, 40));
        assert!(of(1, 20) > of(1, 2_000));
        let given = presence(Kind::ToolResult, Part::Given, 1, 40);
        assert!(of(1, 40) > given && given > 0.0);
    }

    #[test]
    fn rare_words_tell_most() {
        let terms = terms("common rare missing the", &[500, 3, 0, 500]);
        let information = information(&terms.terms, 1_000);
        assert!(information[1] > information[0] && information[2] > information[1]);
        // Both are as frequent, but one hardly says anything.
        assert!(information[0] > information[3] && information[3] > 0.0);
        let mut guessed = terms.terms.clone();
        guessed[1].corrected = true;
        assert!(super::information(&guessed, 1_000)[1] < information[1]);
        assert!(
            super::information(&terms.terms, 0)
                .iter()
                .all(|each| each.is_finite())
        );
    }

    #[test]
    fn sessions_are_ranked_by_what_they_have() {
        let terms = terms("common rare", &[300, 3]);
        let found = ranked(
            &terms,
            &[
                (1, 1, 1, &[0]),
                (2, 1, 1, &[1]),
                (3, 1, 1, &[0, 1]),
                (4, 1, 1, &[0, 1]),
                (4, 1, 2, &[0, 1]),
            ],
        );
        assert_eq!(sessions(&found), [4, 3, 2, 1]);
        assert!(found.windows(2).all(|two| two[0].score > two[1].score));
        // Equal sessions: the newer one first.
        assert_eq!(
            sessions(&ranked(&terms, &[(1, 1, 1, &[1]), (9, 1, 1, &[1])])),
            [9, 1]
        );
        assert!(ranked(&terms, &[]).is_empty());
        let some = rank(
            &rows(&terms, &[(1, 1, 1, &[1]), (2, 1, 1, &[1])]),
            &terms,
            1_000,
            |place| place.session.get() == 1,
        );
        assert_eq!(sessions(&some), [1]);
    }

    #[test]
    fn the_turn_with_the_most_is_shown_first() {
        let terms = terms("alpha beta", &[20, 20]);
        let found = ranked(
            &terms,
            &[
                (1, 1, 1, &[0]),
                (1, 2, 5, &[1]),
                (1, 2, 4, &[0, 1]),
                (1, 3, 7, &[1]),
            ],
        );
        let turns: Vec<(u32, u32)> = found[0]
            .turns
            .iter()
            .map(|(turn, event, _)| (turn.get(), event.get()))
            .collect();
        assert_eq!(turns[0], (2, 4));
        assert_eq!(turns.len(), 3);
    }

    #[test]
    fn words_side_by_side_count_extra() {
        let terms = terms("rate limit", &[20, 20]);
        assert_eq!(terms.pairs, [(0, 1)]);
        let mut rows = rows(&terms, &[(1, 1, 1, &[0, 1]), (2, 1, 1, &[0, 1])]);
        rows.pairs[0] = 1;
        let found = rank(&rows, &terms, 1_000, |_| true);
        assert_eq!(sessions(&found), [1, 2]);
        assert!(found[0].score > found[1].score);
    }

    #[test]
    fn coverage_is_what_one_event_has_of_the_query() {
        let terms = terms("the walrus pond", &[900, 5, 5]);
        let coverage = |has: &[usize]| ranked(&terms, &[(1, 1, 1, has)])[0].coverage;
        assert!((coverage(&[0, 1, 2]) - 1.0).abs() < 1e-5);
        assert!((coverage(&[1, 2]) - 1.0).abs() < 1e-5);
        assert!((coverage(&[1]) - 0.5).abs() < 1e-5);
        assert!(coverage(&[0]) < 1e-5);
        // In two events is not in one.
        let apart = ranked(&terms, &[(1, 1, 1, &[1]), (1, 1, 2, &[2])])[0].coverage;
        assert!(apart < 0.6, "{apart}");
    }

    #[test]
    fn people_and_the_own_project_stand_higher() {
        assert!(session_prior(true, false) < session_prior(false, false));
        assert!(session_prior(false, false) < session_prior(false, true));
        assert!(session_prior(true, true) < session_prior(false, true));
    }
}

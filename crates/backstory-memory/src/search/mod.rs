//! Search: any turn of any session, by words or by meaning.
//!
//! A query is parsed (`query`), turned into terms of the index (`terms`) and filters (`scope`). Events that have the terms come
//! from the index (`matching`) and, where the index lags behind, from the store itself (`scan`); both give the same rows, which
//! `rank` orders. `document` decides what of an event is findable at all, `index` keeps the index in step.

mod answer;
mod document;
mod hits;
mod index;
mod matching;
mod meaning;
mod query;
mod rank;
mod regex;
mod request;
mod scan;
mod scope;
mod score;
mod snippet;
mod terms;
mod typo;

use std::collections::HashSet;

use backstory_event::{Kind, Seq, TimeMs, TurnNo};
use backstory_store::{DamagedPiece, Lag, Seal, SessionHead, TextIndex, VectorKey};
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use self::meaning::Near;
use self::rank::Ranked;
use self::scan::Scanned;
use self::scope::Scope;
use self::terms::Terms;
use crate::Memory;
use crate::error::{Error, Result};

pub use answer::{HitRecord, SearchRecord};
pub(crate) use document::Documents;
pub use index::{IndexHealth, IndexReport};
pub(crate) use index::{
    index_bytes, index_folder, indexable, is_left_beside, unindexed, vector_bytes,
};
pub(crate) use meaning::OpenModel;
pub(crate) use query::Need;
pub use query::{Atom, Clause, FIELDS, Query};
pub use rank::CONFIDENT;
pub use request::{SearchRequest, parse_meta_filters, project_filter};
pub use scope::SearchFilter;
pub use score::{
    JudgedQuery, ModeScore, ModeScores, RetrievalScore, RetrievalSummary, ScoredQuery,
};
pub use snippet::Snippet;

/// Number of events that are ranked for each session that is asked for.
const EVENTS_PER_SESSION: usize = 50;

/// And at least so many.
const LEAST_EVENTS: usize = 2_000;

/// Maximum number of other turns of a session that are named besides the best.
const MORE_TURNS: usize = 4;

/// What to search and how.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SearchOptions {
    /// Filter of turns.
    pub filter: SearchFilter,
    /// The project that the user is in: its sessions come first.
    pub own_project: Option<String>,
    /// True if headless sessions count as much as others.
    pub headless_count_fully: bool,
    /// Maximum number of hits; 0 is no limit.
    pub limit: usize,
    /// Whether each turn is a hit of its own, and not only the best one of each session.
    pub each_turn: bool,
    /// By what.
    pub mode: Mode,
    /// The model that compares meanings, by its name under `models/`.
    pub model: Option<String>,
}

/// By what to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// By words and by meaning.
    #[default]
    Hybrid,
    /// By words.
    Keyword,
    /// By meaning.
    Semantic,
}

impl Mode {
    /// The name used in JSON and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Hybrid => "hybrid",
            Mode::Keyword => "keyword",
            Mode::Semantic => "semantic",
        }
    }
}

/// What a search found.
#[derive(Debug, Clone, Default)]
pub struct SearchAnswer {
    /// The best turn of each session, the best session first.
    pub hits: Vec<SearchHit>,
    /// By what was searched in the end.
    pub mode: Mode,
    /// What the user should know: an index that could not be used, say.
    pub warnings: Vec<String>,
    /// Whether the index has to be made anew, which [`Search::refresh_index`] does.
    pub index_is_lost: bool,
    /// Whether vectors have to be made anew, which [`Models::embed`](crate::Models::embed) does.
    pub vectors_are_lost: bool,
}

/// A turn that was found.
#[derive(Debug, Clone)]
pub struct SearchHit {
    /// Its session.
    pub session: SessionHead,
    /// The turn.
    pub turn: TurnNo,
    /// The event of it that fits best.
    pub event: Seq,
    /// Time of the event.
    pub at: Option<TimeMs>,
    /// What that event is.
    pub kind: Kind,
    /// How well the session fits; comparable within one answer only.
    pub score: f32,
    /// Whether the session is about what was asked, and not just about some of the words.
    pub confident: bool,
    /// The piece of the event that shows why.
    pub snippet: Snippet,
    /// Other turns of the session that fit, the best first.
    pub more: Vec<TurnNo>,
}

/// The index as it was opened for the last search.
pub(crate) struct OpenIndex {
    seal: Seal,
    index: TextIndex,
}

/// Search of the turns of a memory.
pub struct Search<'m> {
    pub(crate) memory: &'m Memory,
}

impl Search<'_> {
    /// Answers a request as it was typed, at `now` in a time zone. Calls `progress` with the number of sessions that a regular
    /// expression was compared with, and of how many.
    pub fn answer(
        &self,
        request: &SearchRequest,
        now: TimeMs,
        zone: &TimeZone,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<SearchRecord> {
        let (query, options) = request.resolve(self.memory, now, zone)?;
        let found = match request.regex {
            true => self.run_regex(&request.query, &options, progress)?,
            false => self.run(&query, &options)?,
        };
        let mut record = SearchRecord::new(self.memory, &found);
        if request.for_search {
            record.told_of_models = self.memory.upkeep().was_told("models").ok();
        }
        Ok(record)
    }

    /// Finds the turns that a query asks for.
    pub fn run(&self, query: &Query, options: &SearchOptions) -> Result<SearchAnswer> {
        if query.is_empty() {
            return Err(Error::EmptyQuery);
        }
        self.search_for(Wanted::Query(query), options)
    }

    /// Finds the turns nearest to a vector of the model in use.
    pub fn run_vector(&self, vector: &[f32], options: &SearchOptions) -> Result<SearchAnswer> {
        self.search_for(Wanted::Vector(vector), options)
    }

    fn search_for(&self, wanted: Wanted<'_>, options: &SearchOptions) -> Result<SearchAnswer> {
        let mut index = self.memory.open_index.borrow_mut();
        let mut model = self.memory.open_model.borrow_mut();
        let mut answer = self.search_with(wanted, options, &mut index, &mut model)?;
        self.warn_of_damage(&mut answer);
        Ok(answer)
    }

    /// Names what could not be searched or shown because it is damaged.
    fn warn_of_damage(&self, answer: &mut SearchAnswer) {
        let damage = self.memory.upkeep().take_damage();
        self.memory.upkeep().note_damage(&damage);
        let warnings = damage.iter().map(|damage| match damage.piece {
            DamagedPiece::Setting(_) => damage.to_string(),
            DamagedPiece::Capture { .. } => {
                format!("{damage}: it was neither searched nor shown")
            }
            _ => format!("{damage}: what is in them was neither searched nor shown"),
        });
        answer.warnings.extend(warnings);
    }

    fn search_with(
        &self,
        wanted: Wanted<'_>,
        options: &SearchOptions,
        opened: &mut Option<OpenIndex>,
        model: &mut Option<OpenModel>,
    ) -> Result<SearchAnswer> {
        // One view of the store: what is indexed and what is not yet fit together, whatever a sweep does meanwhile.
        let _view = self.memory.store.view()?;
        let mut answer = SearchAnswer::default();
        self.reopen_index(opened, &mut answer)?;
        let index = opened.as_ref().map(|open| &open.index);
        let mut scope = Scope::resolve(&options.filter, &self.memory.store)?;
        let mut found = match wanted {
            Wanted::Query(query) => {
                let found = self.by_words(query, options, &mut scope, index)?;
                match query.without_quotes() {
                    Some(query) if found.ranked.is_empty() => {
                        scope = Scope::resolve(&options.filter, &self.memory.store)?;
                        let told =
                            "no turn has the quoted words side by side; these have them apart";
                        answer.warnings.push(told.to_string());
                        let found = self.by_words(&query, options, &mut scope, index)?;
                        Found {
                            confident_from: f32::INFINITY,
                            ..found
                        }
                    }
                    _ => found,
                }
            }
            Wanted::Vector(_) => Found::default(),
        };
        answer.mode = Mode::Keyword;
        if options.mode == Mode::Keyword {
            answer.hits = self.hits(found, options)?;
            return Ok(answer);
        }
        match (self.near(wanted, options, &scope, index, model), wanted) {
            (Ok(Some(near)), _) => {
                if options.mode == Mode::Semantic {
                    found.ranked.clear();
                }
                let turn_of = |key: VectorKey| {
                    let turn = self.memory.store.turn_of(key.session, key.seq);
                    turn.ok().flatten()
                };
                found.ranked = meaning::join(found.ranked, &near, turn_of);
                answer.mode = options.mode;
            }
            (Ok(None), _) => {}
            (Err(error), Wanted::Vector(_)) => return Err(error),
            (Err(error), Wanted::Query(_)) => {
                // It may be another one by the next search.
                *model = None;
                answer.vectors_are_lost = matches!(error, Error::Vectors(_));
                answer
                    .warnings
                    .push(format!("{error}; searching by words only"));
            }
        }
        answer.hits = self.hits(found, options)?;
        Ok(answer)
    }

    /// What is near by meaning; `None` when there is no model.
    fn near(
        &self,
        wanted: Wanted<'_>,
        options: &SearchOptions,
        scope: &Scope,
        index: Option<&TextIndex>,
        model: &mut Option<OpenModel>,
    ) -> Result<Option<Vec<Near>>> {
        let Some(name) = &options.model else {
            return Ok(None);
        };
        let name = self.memory.models().ready_model(name)?;
        if model.as_ref().is_none_or(|open| !open.is(&name)) {
            *model = Some(self.open_model(&name)?);
        }
        let Some(open) = model else {
            return Ok(None);
        };
        let near = match wanted {
            Wanted::Query(query) => {
                let vector = open.vector(&query.text)?;
                self.by_meaning(&vector, scope, index, open)?
            }
            Wanted::Vector(vector) => self.by_meaning(vector, scope, index, open)?,
        };
        Ok(Some(near))
    }

    fn reopen_index(
        &self,
        opened: &mut Option<OpenIndex>,
        answer: &mut SearchAnswer,
    ) -> Result<()> {
        let seal = self.memory.store.seal()?;
        if opened.as_ref().map(|open| &open.seal) == seal.as_ref() && seal.is_some() {
            return Ok(());
        }
        *opened = None;
        let folder = index_folder(&self.memory.home);
        let open = || TextIndex::open(&folder, seal.as_ref());
        // Tried twice: a writer may have just removed a file that its commit replaced.
        match open().or_else(|_| open()) {
            Ok(index) => *opened = seal.map(|seal| OpenIndex { seal, index }),
            Err(error) => {
                answer
                    .warnings
                    .push(format!("{error}; searching without it"));
                answer.index_is_lost = true;
            }
        }
        Ok(())
    }

    /// Sessions by the words of a query, the best first.
    fn by_words(
        &self,
        query: &Query,
        options: &SearchOptions,
        scope: &mut Scope,
        index: Option<&TextIndex>,
    ) -> Result<Found> {
        let mut terms = Terms::new(query, index)?;
        let pending = match index {
            Some(_) => unindexed(&self.memory.store)?,
            None => indexable(&self.memory.store)?,
        };
        if index.is_some() {
            let fresh = |pending: &Lag| (pending.session, pending.from);
            scope.fresh = pending.iter().map(fresh).collect();
        }
        let mut found = self.count_and_scan(query, &mut terms, &pending, scope, index)?;
        if let Some(index) = index
            && terms.nothing_found()
            && found.1.rows.places.is_empty()
            && typo::correct(&mut terms, index)?
        {
            found = self.count_and_scan(query, &mut terms, &pending, scope, Some(index))?;
        }
        let (mut events, scanned) = found;
        events += scanned.events;
        apply_conditions(query, scope, scanned.turns, index)?;
        let mut rows = scanned.rows;
        if let Some(index) = index
            && !scope.is_empty()
        {
            let most = match options.limit {
                0 => usize::MAX,
                limit => limit.saturating_mul(EVENTS_PER_SESSION).max(LEAST_EVENTS),
            };
            rows.append(&matching::find(index, &terms, events, scope, most)?);
        }
        Ok(Found {
            ranked: rank::rank(&rows, &terms, events, |place| scope.allows(place)),
            information: rank::information(&terms.terms, events),
            confident_from: rank::confident_from(&rows, &terms),
            terms,
        })
    }

    /// Counts how many events say each term, in the index and beside it; returns how many events the index has and what was
    /// found beside it.
    fn count_and_scan(
        &self,
        query: &Query,
        terms: &mut Terms,
        pending: &[Lag],
        scope: &Scope,
        index: Option<&TextIndex>,
    ) -> Result<(u64, Scanned)> {
        let events = match index {
            Some(index) => matching::count(index, terms)?,
            None => 0,
        };
        terms.limit();
        let conditions: Vec<&[Atom]> = conditions(query).map(|clause| &clause.any[..]).collect();
        let scanned = scan::scan(
            &self.memory.home,
            &self.memory.store,
            pending,
            terms,
            &conditions,
            scope,
        )?;
        for (term, more) in terms.terms.iter_mut().zip(&scanned.frequencies) {
            term.frequency += more;
        }
        Ok((events, scanned))
    }
}

/// What to search for.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    Query(&'a Query),
    Vector(&'a [f32]),
}

/// What was found by words.
#[derive(Default)]
struct Found {
    ranked: Vec<Ranked>,
    terms: Terms,
    information: Vec<f32>,
    /// The coverage from which on a hit is confident.
    confident_from: f32,
}

impl Found {
    /// What a word of a text counts, if the query has it.
    fn worth(&self, word: &str) -> Option<f32> {
        self.terms.of_word(word).map(|term| self.information[term])
    }
}

/// The clauses that must or must not be met.
fn conditions(query: &Query) -> impl Iterator<Item = &Clause> {
    query
        .clauses
        .iter()
        .filter(|clause| clause.need != Need::Wanted)
}

/// Narrows the scope to turns that meet the conditions; `scanned` are those that meet each beside the index.
fn apply_conditions(
    query: &Query,
    scope: &mut Scope,
    scanned: Vec<HashSet<u64>>,
    index: Option<&TextIndex>,
) -> Result<()> {
    for (clause, mut turns) in conditions(query).zip(scanned) {
        if let Some(index) = index {
            for atom in &clause.any {
                matching::turns(index, atom, scope, &mut turns)?;
            }
        }
        match clause.need {
            Need::Excluded => scope.without.extend(turns),
            _ => scope.require(turns),
        }
    }
    Ok(())
}

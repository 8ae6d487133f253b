//! Regular expressions over all stored text: what no index can answer, read from the store on all cores.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use backstory_store::{EventRange, Place, SessionFilter, SessionHead, Store};
use regex::Regex;

use super::document::minute;
use super::scope::Scope;
use super::snippet::snippet_at;
use super::{MORE_TURNS, Mode, SearchAnswer, SearchHit, SearchOptions};
use crate::Search;
use crate::error::{Error, Result};
use crate::read::{on_all_cores, visit};

/// So many sessions are looked through before it is asked again whether enough was found.
const AT_ONCE: usize = 32;

/// A pattern may compile to so many bytes.
const MOST_COMPILED: usize = 4 << 20;

impl Search<'_> {
    /// Finds the turns whose text a regular expression matches, those of the sessions active last first. Calls `progress` with
    /// how many sessions were looked through, and of how many.
    pub fn run_regex(
        &self,
        pattern: &str,
        options: &SearchOptions,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<SearchAnswer> {
        if pattern.is_empty() {
            return Err(Error::EmptyQuery);
        }
        let regex = regex::RegexBuilder::new(pattern)
            .size_limit(MOST_COMPILED)
            .build()
            .map_err(|error| Error::InvalidRegex(error.to_string()))?;
        let scope = Scope::resolve(&options.filter, &self.memory.store)?;
        let mut sessions = self.memory.store.session_rows(&SessionFilter::default())?;
        sessions.retain(|session| scope.allows_session(*session));
        let heads = self.memory.store.session_heads(sessions.iter().copied())?;
        let ordered: Vec<&SessionHead> = sessions
            .iter()
            .filter_map(|session| heads.get(session))
            .collect();
        let limit = if options.limit == 0 {
            usize::MAX
        } else {
            options.limit
        };
        let mut answer = SearchAnswer {
            mode: Mode::Keyword,
            ..SearchAnswer::default()
        };
        for (batch, heads) in ordered.chunks(AT_ONCE).enumerate() {
            progress(batch * AT_ONCE, ordered.len());
            answer.hits.extend(look_through(
                &self.memory.home,
                &self.memory.store,
                heads,
                &regex,
                &scope,
            )?);
            if answer.hits.len() >= limit {
                break;
            }
        }
        answer.hits.truncate(limit);
        self.warn_of_damage(&mut answer);
        Ok(answer)
    }
}

/// The sessions that match, in their order.
fn look_through(
    home: &Path,
    store: &Store,
    heads: &[&SessionHead],
    regex: &Regex,
    scope: &Scope,
) -> Result<Vec<SearchHit>> {
    let next = AtomicUsize::new(0);
    let found: Mutex<Result<Vec<(usize, SearchHit)>>> = Mutex::new(Ok(Vec::new()));
    let work = |store: &Store| {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(head) = heads.get(at) else { return };
            let hit = session(store, head, regex, scope);
            let Ok(mut found) = found.lock() else { return };
            match (&mut *found, hit) {
                (Ok(hits), Ok(hit)) => hits.extend(hit.map(|hit| (at, hit))),
                (Ok(_), Err(error)) => *found = Err(error),
                (Err(_), _) => return,
            }
        }
    };
    on_all_cores(home, store, work);
    let mut hits = found
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner)?;
    hits.sort_by_key(|(at, _)| *at);
    Ok(hits.into_iter().map(|(_, hit)| hit).collect())
}

fn session(
    store: &Store,
    head: &SessionHead,
    regex: &Regex,
    scope: &Scope,
) -> Result<Option<SearchHit>> {
    let mut hit: Option<SearchHit> = None;
    let mut last = minute(head.started_at);
    visit(store, head.id, &head.agent, EventRange::All, |event| {
        let (at, kind) = (event.event.at, event.event.kind);
        if at.is_some() {
            last = minute(at);
        }
        let place = Place {
            session: head.id,
            seq: event.seq,
            turn: event.turn,
            kind,
            minute: last,
        };
        if !scope.allows(&place) || !scope.allows_tool(event.event.tool.as_deref()) {
            return Ok(());
        }
        let Some(matched) = regex.find(event.text()) else {
            return Ok(());
        };
        match &mut hit {
            Some(hit) => {
                hit.score += 1.0;
                if hit.turn != event.turn
                    && !hit.more.contains(&event.turn)
                    && hit.more.len() < MORE_TURNS
                {
                    hit.more.push(event.turn);
                }
            }
            None => {
                hit = Some(SearchHit {
                    session: head.clone(),
                    turn: event.turn,
                    event: event.seq,
                    at,
                    kind,
                    score: 1.0,
                    confident: true,
                    snippet: snippet_at(event.text(), matched.range()),
                    more: Vec::new(),
                });
            }
        }
        Ok(())
    })?;
    Ok(hit)
}

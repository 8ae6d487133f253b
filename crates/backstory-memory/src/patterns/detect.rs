//! Finding patterns: signals of all sessions, brought together.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};

use backstory_analysis::detectors::{DETECTORS, Detector, Signal};
use backstory_event::SessionId;
use backstory_store::SessionHead;

use super::{Evidence, Pattern, PatternFilter, PatternKind};
use crate::Memory;
use crate::Patterns;
use crate::conventions::AGENT_CONVENTIONS;
use crate::digest::Notes;
use crate::error::Result;
use crate::upkeep::WithDamage;

/// Sessions differ in size, so each core takes several shares.
const SHARES_PER_CORE: usize = 8;

/// Fewer items are not worth a thread.
const MIN_SHARE_ITEMS: usize = 4;

/// Stands for words in which texts differ.
const OMITTED: &str = "…";
const OMITTED_NAME: &str = "…`";

/// Texts that differ in more than one word of so many have nothing in common.
const MAX_OMITTED_SHARE: usize = 2;

/// Signals that are the same, with their sessions.
pub(super) type Cluster<'a> = Vec<(&'a SessionHead, Signal)>;

/// The notes of all sessions, to look for signals in.
pub(super) struct Signals {
    notes: Vec<(SessionId, Notes)>,
    heads: HashMap<SessionId, SessionHead>,
}

impl Signals {
    pub(super) fn load(memory: &Memory) -> Result<Self> {
        let mut rows = Vec::new();
        memory.store.digests(|row| rows.push(row))?;
        let parsed = on_each(&rows, |row| {
            let notes = serde_json::from_slice(&row.notes).ok()?;
            Some((row.session, notes))
        });
        let notes: Vec<(SessionId, Notes)> = parsed.into_iter().flatten().collect();
        let heads = memory
            .store
            .session_heads(notes.iter().map(|(session, _)| *session))?;
        Ok(Signals { notes, heads })
    }

    /// Returns what the detectors of a kind, or all, notice: signals that are the same together.
    pub(super) fn clusters(
        &self,
        kind: Option<PatternKind>,
    ) -> Vec<(&'static Detector, Cluster<'_>)> {
        let is_asked_for = |detector: &&Detector| kind.is_none_or(|kind| kind == detector.kind);
        let detectors: Vec<&'static Detector> = DETECTORS.iter().filter(is_asked_for).collect();
        let mut detected = on_each(&self.notes, |(session, notes)| {
            let detect = |detector: &&Detector| {
                let mut signals = Vec::new();
                (detector.detect)(notes, &AGENT_CONVENTIONS, &mut signals);
                signals
            };
            let signals: Vec<Vec<Signal>> = detectors.iter().map(detect).collect();
            (*session, signals)
        });
        let mut all = Vec::new();
        for (place, detector) in detectors.into_iter().enumerate() {
            let mut clusters: BTreeMap<String, Cluster<'_>> = BTreeMap::new();
            for (session, signals) in &mut detected {
                let Some(head) = self.heads.get(session) else {
                    continue;
                };
                for signal in std::mem::take(&mut signals[place]) {
                    clusters
                        .entry(signal.signature.clone())
                        .or_default()
                        .push((head, signal));
                }
            }
            let clusters = match detector.alike {
                Some(share) => join_alike(clusters, share),
                None => clusters.into_values().collect(),
            };
            all.extend(clusters.into_iter().map(|cluster| (detector, cluster)));
        }
        all
    }
}

impl Patterns<'_> {
    /// Problems and successes that recur across sessions: those that more than one agent has first, then by how much they tell.
    pub fn list(&self, filter: &PatternFilter) -> Result<WithDamage<Vec<Pattern>>> {
        let signals = Signals::load(self.memory)?;
        let mut patterns: Vec<(f64, Pattern)> = Vec::new();
        for (detector, cluster) in signals.clusters(filter.kind) {
            let pattern = pattern(detector, cluster, filter);
            if filter.passes(&pattern) {
                patterns.push((detector.weight, pattern));
            }
        }
        patterns.sort_by(|(a_weight, a), (b_weight, b)| {
            let rank = |weight: &f64, pattern: &Pattern| {
                weight * (1.0 + pattern.sessions.len() as f64).ln()
            };
            (b.is_cross_agent().cmp(&a.is_cross_agent()))
                .then(rank(b_weight, b).total_cmp(&rank(a_weight, a)))
                .then(b.frequency.cmp(&a.frequency))
                .then(a.id.cmp(&b.id))
        });
        let patterns = patterns.into_iter().map(|(_, pattern)| pattern).collect();
        self.memory.upkeep().with_damage(patterns, None)
    }
}

/// Returns what `work` makes of each item, in their order. All cores share the work.
fn on_each<T: Sync, U: Send>(items: &[T], work: impl Fn(&T) -> U + Sync) -> Vec<U> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let share = items
        .len()
        .div_ceil(cores * SHARES_PER_CORE)
        .max(MIN_SHARE_ITEMS);
    let shares: Vec<&[T]> = items.chunks(share).collect();
    let next = AtomicUsize::new(0);
    let take_shares = || {
        let mut made = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(share) = shares.get(place) else {
                return made;
            };
            made.push((place, share.iter().map(&work).collect::<Vec<U>>()));
        }
    };
    let mut made = std::thread::scope(|scope| {
        let others = (1..cores.min(shares.len())).map(|_| scope.spawn(take_shares));
        let others: Vec<_> = others.collect();
        let mut made = take_shares();
        for other in others {
            made.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        made
    });
    made.sort_by_key(|(place, _)| *place);
    made.into_iter().flat_map(|(_, made)| made).collect()
}

/// Joins clusters whose signatures are alike, the larger ones first.
fn join_alike<'a>(clusters: BTreeMap<String, Cluster<'a>>, share: f64) -> Vec<Cluster<'a>> {
    let mut sorted: Vec<_> = clusters.into_iter().collect();
    sorted.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then(a.0.cmp(&b.0)));
    let mut joined: Vec<(HashSet<String>, Cluster<'_>)> = Vec::new();
    // Only clusters that share a rare word can be alike.
    let mut by_word: HashMap<String, Vec<usize>> = HashMap::new();
    for (signature, signals) in sorted {
        let words: HashSet<String> = signature.split_whitespace().map(str::to_string).collect();
        let candidates: BTreeSet<usize> = words
            .iter()
            .filter_map(|word| by_word.get(word))
            .flatten()
            .copied()
            .collect();
        let alike = candidates
            .into_iter()
            .find(|at| similarity(&joined[*at].0, &words) >= share);
        match alike {
            Some(at) => joined[at].1.extend(signals),
            None => {
                for word in &words {
                    by_word.entry(word.clone()).or_default().push(joined.len());
                }
                joined.push((words, signals));
            }
        }
    }
    joined.into_iter().map(|(_, signals)| signals).collect()
}

/// The share of words that two signatures have in common.
fn similarity(a: &HashSet<String>, b: &HashSet<String>) -> f64 {
    let shared = a.intersection(b).count();
    shared as f64 / (a.len() + b.len() - shared).max(1) as f64
}

/// Returns what texts have in common, the words in which they differ left out; the last one where they differ in more.
fn common_words<'t>(texts: impl DoubleEndedIterator<Item = &'t str> + Clone) -> String {
    let Some(last) = texts.clone().next_back() else {
        return String::new();
    };
    let mut words: Vec<&str> = last.split(' ').collect();
    let all = words.len();
    for text in texts {
        let others: Vec<&str> = text.split(' ').collect();
        if others.len() != all {
            return last.to_string();
        }
        for (word, other) in words.iter_mut().zip(others) {
            if *word != other {
                *word = match word.ends_with('`') && other.ends_with('`') {
                    true => OMITTED_NAME,
                    false => OMITTED,
                };
            }
        }
    }
    let omitted = words
        .iter()
        .filter(|word| [OMITTED, OMITTED_NAME].contains(word))
        .count();
    if omitted * MAX_OMITTED_SHARE > all {
        return last.to_string();
    }
    words.dedup_by(|a, b| *a == OMITTED && *b == OMITTED);
    words.join(" ")
}

/// Returns whether a text has words left out, in which texts differed.
pub(super) fn has_common_words(text: &str) -> bool {
    text.split(' ').any(is_omitted)
}

fn is_omitted(word: &str) -> bool {
    [OMITTED, OMITTED_NAME].contains(&word)
}

/// Returns whether a text can be what another one has in common with others: what is left out stands for one word or more.
pub(super) fn is_common_of(common: &str, text: &str) -> bool {
    let words: Vec<&str> = text.split(' ').collect();
    // Whether the words so far can be those up to each place.
    let mut fits = vec![false; words.len() + 1];
    fits[0] = true;
    for part in common.split(' ') {
        let mut next = vec![false; words.len() + 1];
        for place in 0..words.len() {
            next[place + 1] = match is_omitted(part) {
                true => fits[place] || next[place],
                false => fits[place] && words[place] == part,
            };
        }
        fits = next;
    }
    fits[words.len()]
}

pub(super) fn pattern(
    detector: &Detector,
    mut cluster: Cluster<'_>,
    filter: &PatternFilter,
) -> Pattern {
    cluster.sort_by(|(a_head, a), (b_head, b)| {
        (a.at, &a_head.session, a.seq).cmp(&(b.at, &b_head.session, b.seq))
    });
    // The oldest gives the name and the newest the words: an id stays while evidence comes in.
    let signature = cluster
        .first()
        .map_or("", |(_, signal)| signal.signature.as_str());
    let hash = blake3::hash(format!("{}\n{signature}", detector.name).as_bytes());
    let title = common_words(cluster.iter().map(|(_, signal)| signal.title.as_str()));
    let advice = common_words(cluster.iter().map(|(_, signal)| signal.advice.as_str()));
    let is_minor = cluster.iter().all(|(_, signal)| signal.is_minor);
    let collect = |value: &dyn Fn(&SessionHead) -> Option<String>| {
        let set: BTreeSet<String> = cluster.iter().filter_map(|(head, _)| value(head)).collect();
        set.into_iter().collect::<Vec<String>>()
    };
    let sessions = collect(&|head| Some(head.session.clone()));
    let projects = collect(&|head| head.project.clone());
    let mut domains: Vec<String> = projects
        .iter()
        .filter_map(|project| filter.domain_of(project).map(str::to_string))
        .collect();
    domains.sort_unstable();
    domains.dedup();
    let evidence: Vec<Evidence> = cluster
        .iter()
        .map(|(head, signal)| Evidence {
            session: head.session.clone(),
            agent: head.agent.clone(),
            turn: signal.turn,
            event: signal.seq,
            at: signal.at.or(head.started_at),
            text: signal.text.clone(),
        })
        .collect();
    Pattern {
        id: format!("p-{}", &hash.to_hex()[..8]),
        kind: detector.kind,
        detector: detector.name,
        title,
        advice,
        is_minor,
        frequency: cluster.len() as u64,
        agents: collect(&|head| Some(head.agent.clone())),
        sessions,
        projects,
        domains,
        first_seen: evidence.iter().filter_map(|evidence| evidence.at).min(),
        last_seen: evidence.iter().filter_map(|evidence| evidence.at).max(),
        evidence,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_told_by_what_they_have_in_common() {
        let texts = ["`lint` fails: a is unused", "`lint` fails: b is unused"];
        let common = common_words(texts.into_iter());
        assert_eq!(common, "`lint` fails: … is unused");
        for text in texts.into_iter().chain(["`lint` fails: x y is unused"]) {
            assert!(is_common_of(&common, text), "{text}");
        }
        assert!(!is_common_of(&common, "`lint` fails: is unused"));
        assert!(!is_common_of(&common, "`test` fails: a is unused"));
        // What has little in common is told by the last.
        assert_eq!(common_words(["say a b", "do c d"].into_iter()), "do c d");
    }
}

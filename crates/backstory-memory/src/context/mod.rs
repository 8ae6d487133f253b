//! What a new session is told: the few facts of earlier ones that will help it, within a budget.
//!
//! It is made of what people asked, what agents called and how that ended; what tools or the web said is not in it. Everything is
//! quoted (`quote`), says where it is from, and stands in a fence that names itself and cannot be closed from within.

mod asked;
mod budget;
mod calls;
mod fence;
mod files;
mod here;
mod item;
mod layer;
mod lost;
mod measure;
mod past;
mod phrase;
mod quote;
#[cfg(test)]
mod tests;
mod turns;
mod work;

use std::borrow::Cow;

use backstory_analysis::count_tokens;
use backstory_event::{SessionId, SessionName, TimeMs};
use backstory_redact::Redactor;
use backstory_store::{AnswerRows, RecalledSession};
use serde::{Deserialize, Serialize};

use self::budget::{Offer, Room, choose, limit_items};
use self::files::{MAX_LOOKED_UP, RankedFile, ranked_files};
use self::item::Candidate;
use self::past::Past;
use self::work::relevant_work;
use crate::Memory;
use crate::error::Result;
use crate::event_log::{EventType, LogEvent};
use crate::hidden::harmless;

pub use self::here::Surroundings;
pub use self::item::{ContextItem, LeftOut, LeftOutReason, Reason};
pub use self::layer::{Layer, Shares};
pub use self::measure::{ContextScore, ContextTrial, FIRST_ITEMS};

/// Number of sessions whose notes are read, and of those that are looked through for them.
const MAX_SESSIONS: usize = 30;
const MAX_LOOKED_THROUGH: usize = 150;

/// Number of further ones on the same branch, which may lie further back.
const MAX_OF_BRANCH: usize = 6;

/// Maximum number of sessions that are told of.
const MAX_TOLD: usize = 5;

/// Why a session is told something now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Occasion {
    /// It begins.
    #[default]
    Start,
    /// It goes on where it ended: what it knew it still knows.
    Resume,
    /// Its history was replaced by a summary: what it knew it has lost.
    Compaction,
    /// It is asked something; all else it was told before.
    Prompt,
}

/// What is to be told.
pub struct ContextOptions<'a> {
    /// Where the session works.
    pub here: Surroundings,
    /// The session that is told: nobody is told of himself.
    pub session: Option<SessionName>,
    /// Why now.
    pub occasion: Occasion,
    /// What it is asked: what is known about that is told, too.
    pub prompt: Option<&'a str>,
    /// Whether calls are told.
    pub calls: bool,
    /// Takes out what it knows for a secret by now; what is stored was looked at by the rules of its day.
    pub redactor: Option<&'a Redactor>,
    /// At most so many tokens.
    pub tokens: usize,
    /// At most so many characters, as UTF-16 counts them.
    pub characters: usize,
    /// How they are shared.
    pub shares: Shares,
    /// Only what was over before this time, in unix milliseconds.
    pub before: TimeMs,
    /// The time that ages are counted from.
    pub now: TimeMs,
    /// What makes the fence one that nobody could have foreseen.
    pub nonce: [u8; 32],
}

/// What a session is told.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Context {
    /// The text, fenced; empty when there is nothing to tell.
    pub text: String,
    /// How many tokens it has.
    pub tokens: usize,
    /// How many it may have had.
    pub budget: usize,
    /// What it consists of.
    pub layers: Vec<LayerTokens>,
    /// Its items in their order, each with the reason why it is there.
    #[serde(default)]
    pub items: Vec<ContextItem>,
    /// Items that were left out, and why.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
}

impl Context {
    /// Names of the layers that it has something of.
    pub fn included_layers(&self) -> Vec<&'static str> {
        let layers = self.layers.iter().filter(|layer| layer.items > 0);
        layers.map(|layer| layer.layer.name()).collect()
    }
}

impl Context {
    /// Returns the event of a context that was built: what it took of its budget, never its text.
    pub fn budget_event(&self, at: TimeMs) -> LogEvent {
        let mut event = LogEvent::new(EventType::ContextTokenBudget, at)
            .with("total_tokens", self.tokens)
            .with("budget", self.budget)
            .with("layers_included", self.included_layers());
        event.tokens_out = Some(self.tokens as u64);
        event
    }
}

/// A part of what a session is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerTokens {
    /// Which.
    #[serde(rename = "name")]
    pub layer: Layer,
    /// How many tokens it has.
    pub tokens: usize,
    /// How many items.
    pub items: usize,
}

/// Builder of the context that is injected into new sessions.
pub struct ContextBuilder<'m> {
    pub(crate) memory: &'m Memory,
}

impl ContextBuilder<'_> {
    /// What a session is told.
    pub fn build(&self, options: &ContextOptions<'_>) -> Result<Context> {
        let offers = self.offers(options)?;
        Ok(told(&offers, options))
    }

    fn offers(&self, options: &ContextOptions<'_>) -> Result<Vec<Offer>> {
        let mut layers = match options.occasion {
            Occasion::Prompt => Vec::new(),
            _ => self.layers(options)?,
        };
        if let Some(prompt) = options.prompt {
            let about = self.about(prompt, options)?;
            let known = layers
                .iter()
                .position(|(layer, _)| *layer == Layer::Observations);
            let known = known.map_or(Vec::new(), |place| layers.remove(place).1);
            let is_new = |item: &Candidate| !about.iter().any(|known| known.text == item.text);
            let rest: Vec<Candidate> = known.into_iter().filter(is_new).collect();
            layers.push((Layer::Observations, [about, rest].concat()));
        }
        let mut offers: Vec<Offer> = (layers.into_iter())
            .map(|(layer, items)| {
                let items = redacted(items, options.redactor);
                Offer::new(layer, options.shares.of(layer), items)
            })
            .collect();
        limit_items(&mut offers);
        Ok(offers)
    }

    /// Returns what may be told, by layers in their order.
    fn layers(&self, options: &ContextOptions<'_>) -> Result<Vec<(Layer, Vec<Candidate>)>> {
        let store = &self.memory.store;
        // One view of the store: each question alone would lock and look at its journal anew.
        let _view = store.view()?;
        let own = match &options.session {
            Some(name) => Past::find(store, name, options.before)?,
            None => None,
        };
        let mut pasts = Vec::new();
        for row in self.recalled(own.as_ref(), options)? {
            // Work on a branch may lie far back.
            let of_branch = row.branch.is_some() && row.branch == options.here.branch;
            let most = MAX_SESSIONS + if of_branch { MAX_OF_BRANCH } else { 0 };
            if pasts.len() >= most {
                continue;
            }
            let past = Past::load(store, row, options.before)?;
            // Sessions in which nothing was asked or done must not crowd out the others.
            pasts.extend(past.filter(Past::says_something));
        }
        let sessions: Vec<SessionId> = pasts.iter().map(|past: &Past| past.row.id).collect();
        let rows = AnswerRows::SessionList(&sessions);
        self.memory.upkeep().verify_answer(&rows)?;
        let own = own.filter(|_| options.occasion == Occasion::Compaction);
        let mut files = ranked_files(&pasts, &options.here);
        for file in files.iter_mut().take(MAX_LOOKED_UP) {
            file.look_up(store, options.before)?;
        }
        Ok(layers_of(own.as_ref(), &pasts, &files, options))
    }

    /// Returns the sessions that may be told of, the newest first: those of people, or else headless ones.
    fn recalled(
        &self,
        own: Option<&Past>,
        options: &ContextOptions<'_>,
    ) -> Result<Vec<RecalledSession>> {
        let of_people = self.recalled_kind(false, own, options)?;
        if of_people.is_empty() {
            return self.recalled_kind(true, own, options);
        }
        Ok(of_people)
    }

    fn recalled_kind(
        &self,
        headless: bool,
        own: Option<&Past>,
        options: &ContextOptions<'_>,
    ) -> Result<Vec<RecalledSession>> {
        let store = &self.memory.store;
        let mut rows: Vec<RecalledSession> = Vec::new();
        for project in &options.here.projects {
            let Some((project, _)) = store.known_project(project)? else {
                continue;
            };
            let recall = |branch, limit| {
                store.recall_sessions(project, headless, branch, options.before, limit)
            };
            rows.extend(recall(None, MAX_LOOKED_THROUGH)?);
            if let Some(branch) = &options.here.branch {
                rows.extend(recall(Some(branch), MAX_OF_BRANCH)?);
            }
        }
        rows.sort_by_key(|row| (std::cmp::Reverse(row.last_at), row.id));
        rows.dedup_by_key(|row| row.id);
        if let Some(name) = &options.session {
            rows.retain(|row| !name.is(&row.agent, &row.session));
        }
        if let (Some(own), Occasion::Resume) = (own, options.occasion) {
            // What came before, it knows.
            let known = own.last_said();
            rows.retain(|row| row.last_at > known);
        }
        Ok(rows)
    }
}

/// Returns what may be told of sessions, by layers in their order.
fn layers_of(
    own: Option<&Past>,
    pasts: &[Past],
    files: &[RankedFile<'_>],
    options: &ContextOptions<'_>,
) -> Vec<(Layer, Vec<Candidate>)> {
    let (here, now) = (&options.here, options.now);
    let work = state_of_work(pasts, options);
    let of = |layer: Layer| match layer {
        Layer::Lost => own.map_or(Vec::new(), |own| lost::own_history(own, now)),
        Layer::Learnings => Vec::new(),
        Layer::Sessions => work.clone(),
        Layer::Files => (files.iter())
            .filter(|file| file.has_functions() || !file.is_named_by(&work))
            .filter_map(|file| file.candidate(now))
            .collect(),
        Layer::Observations => turns::about_uncommitted(pasts, here, now),
        Layer::Calls if options.calls => calls::calls(files, pasts, &here.base),
        Layer::Calls => Vec::new(),
    };
    let all = Layer::ALL.into_iter();
    all.map(|layer| (layer, of(layer))).collect()
}

fn state_of_work(pasts: &[Past], options: &ContextOptions<'_>) -> Vec<Candidate> {
    let mut items = Vec::new();
    let relevant = relevant_work(pasts, &options.here, MAX_TOLD);
    for work in relevant.iter().take(MAX_TOLD) {
        items.push(work.session(options.now));
        items.extend(work.failing_checks());
        items.extend(work.decisions());
    }
    items.sort_by(|a, b| b.relevance.total_cmp(&a.relevance));
    items
}

/// Returns items without what is known for a secret by now, fit to be shown.
fn redacted(items: Vec<Candidate>, redactor: Option<&Redactor>) -> Vec<Candidate> {
    let clean = |mut item: Candidate| {
        let redacted = redactor.map(|redactor| redactor.redact(item.text.as_bytes(), &[]).bytes);
        if let Some(Cow::Owned(bytes)) = redacted {
            let clean = String::from_utf8_lossy(&bytes).into_owned();
            // An item that lost its turn with the secret is none.
            let (_, cite) = item.text.rsplit_once(' ')?;
            if !clean.ends_with(cite) {
                return None;
            }
            item.text = clean;
        }
        item.text = harmless(&item.text).replace('\n', " ");
        Some(item)
    };
    items.into_iter().filter_map(clean).collect()
}

/// Returns the text of as many items as there is room for.
fn told(offers: &[Offer], options: &ContextOptions<'_>) -> Context {
    let mut context = Context {
        budget: options.tokens,
        ..Context::default()
    };
    let whole = Room {
        tokens: options.tokens,
        characters: options.characters,
    };
    let fence = fence::Fence::new(&options.nonce);
    let room = whole.without(&fence.around(""));
    let mut inner = String::new();
    let chosen = room.map_or_else(
        || vec![Vec::new(); offers.len()],
        |room| choose(offers, room),
    );
    for (offer, taken) in offers.iter().zip(chosen) {
        let mut part = String::new();
        if !taken.is_empty() {
            part.push_str(offer.layer.heading());
            part.push('\n');
        }
        for place in &taken {
            let item = &offer.items[*place];
            part.push_str(&item.text);
            part.push('\n');
            context.items.push(item.of_layer(offer.layer));
        }
        context.layers.push(LayerTokens {
            layer: offer.layer,
            tokens: count_tokens(&part),
            items: taken.len(),
        });
        context
            .left_out
            .extend(offer.left_out(taken.len(), options.calls));
        inner.push_str(&part);
    }
    if !inner.is_empty() {
        context.text = fence.around(&inner);
        context.tokens = count_tokens(&context.text);
    }
    context
}

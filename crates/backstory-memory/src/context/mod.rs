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
mod layer;
mod layers;
mod measure;
mod past;
mod quote;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use backstory_analysis::count_tokens;
use backstory_event::{SessionId, SessionName, TimeMs};
use backstory_redact::Redactor;
use backstory_store::{AnswerRows, RecalledSession};
use serde::{Deserialize, Serialize};

use self::budget::{Offer, Room, choose};
use self::files::{MAPPED, RankedFile, ranked_files};
use self::past::Past;
use crate::Memory;
use crate::error::Result;
use crate::event_log::{EventType, LogEvent};
use crate::hidden::harmless;

pub use self::here::Surroundings;
pub use self::layer::{Layer, Shares};
pub use self::measure::{ContextScore, ContextTrial};

/// How many sessions are told of, and how many are looked through for those.
const SESSIONS: usize = 30;
const LOOKED_THROUGH: usize = 150;
/// How many more on the same branch, which may lie further back.
const OF_BRANCH: usize = 6;

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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// The text, fenced; empty when there is nothing to tell.
    pub text: String,
    /// How many tokens it has.
    pub tokens: usize,
    /// How many it may have had.
    pub budget: usize,
    /// What it consists of.
    pub layers: Vec<LayerTokens>,
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
        let about = match options.prompt {
            Some(prompt) => self.about(prompt, options)?,
            None => Vec::new(),
        };
        let mut lines = match options.occasion {
            Occasion::Prompt => Vec::new(),
            _ => self.layers(options)?,
        };
        match lines
            .iter_mut()
            .find(|(layer, _)| *layer == Layer::Observations)
        {
            Some((_, lines)) => {
                lines.retain(|line| !about.contains(line));
                lines.splice(..0, about);
            }
            None => lines.push((Layer::Observations, about)),
        }
        let offers = lines.into_iter();
        Ok(offers
            .map(|(layer, lines)| offer(layer, lines, options))
            .collect())
    }

    /// What there is to tell, by layers in their order.
    fn layers(&self, options: &ContextOptions<'_>) -> Result<Vec<(Layer, Vec<String>)>> {
        // One view of the store: each question alone would lock and look at its journal anew.
        let _view = self.memory.store.view()?;
        let own = match &options.session {
            Some(name) => Past::of(&self.memory.store, name)?,
            None => None,
        };
        let mut pasts = Vec::new();
        for row in self.recalled(own.as_ref(), options)? {
            // Work on a branch may lie far back.
            let of_branch = row.branch.is_some() && row.branch == options.here.branch;
            let most = SESSIONS + if of_branch { OF_BRANCH } else { 0 };
            if pasts.len() >= most {
                continue;
            }
            let past = Past::load(&self.memory.store, row)?;
            // Sessions in which nothing was asked or done must not crowd out the others.
            pasts.extend(past.filter(Past::says_something));
        }
        let sessions: Vec<SessionId> = pasts.iter().map(|past: &Past| past.row.id).collect();
        self.memory
            .upkeep()
            .verify_answer(&AnswerRows::SessionList(&sessions))?;
        let own = own.filter(|_| options.occasion == Occasion::Compaction);
        let mut files = ranked_files(&pasts, &options.here);
        for file in files.iter_mut().take(MAPPED) {
            file.look_up(&self.memory.store)?;
        }
        Ok(layers_of(own.as_ref(), &pasts, &files, options))
    }

    /// The sessions that are told of, the newest first.
    fn recalled(
        &self,
        own: Option<&Past>,
        options: &ContextOptions<'_>,
    ) -> Result<Vec<RecalledSession>> {
        let store = &self.memory.store;
        let mut rows: Vec<RecalledSession> = Vec::new();
        for project in &options.here.projects {
            let Some((project, _)) = store.known_project(project)? else {
                continue;
            };
            rows.extend(store.recall_sessions(project, None, options.before, LOOKED_THROUGH)?);
            if let Some(branch) = &options.here.branch {
                rows.extend(store.recall_sessions(
                    project,
                    Some(branch),
                    options.before,
                    OF_BRANCH,
                )?);
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

/// What there is to tell of sessions, by layers in their order.
fn layers_of(
    own: Option<&Past>,
    pasts: &[Past],
    files: &[RankedFile<'_>],
    options: &ContextOptions<'_>,
) -> Vec<(Layer, Vec<String>)> {
    let (here, now) = (&options.here, options.now);
    let of = |layer: Layer| match layer {
        Layer::Lost => own.map_or(Vec::new(), |own| layers::lost(own, now)),
        Layer::Learnings => Vec::new(),
        Layer::Sessions => layers::sessions(pasts, now),
        Layer::Files => files.iter().filter_map(|file| file.line(now)).collect(),
        Layer::Observations => layers::observed(pasts, here, now),
        Layer::Calls if options.calls => calls::calls(files, pasts, &here.base),
        Layer::Calls => Vec::new(),
    };
    let all = Layer::ALL.into_iter();
    all.map(|layer| (layer, of(layer))).collect()
}

fn offer(layer: Layer, mut lines: Vec<String>, options: &ContextOptions<'_>) -> Offer {
    lines.truncate(layer.most());
    Offer {
        layer,
        heading: layer.heading(),
        share: options.shares.of(layer),
        lines: redacted(lines, options.redactor)
            .iter()
            .map(|line| harmless(line).replace('\n', " "))
            .collect(),
    }
}

/// Lines without what is known for a secret by now.
fn redacted(lines: Vec<String>, redactor: Option<&Redactor>) -> Vec<String> {
    let Some(redactor) = redactor else {
        return lines;
    };
    let clean = |line: String| {
        let clean = match redactor.redact(line.as_bytes(), &[]).bytes {
            Cow::Borrowed(_) => return Some(line),
            Cow::Owned(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        };
        // An item that lost its turn with the secret is none.
        let (_, cite) = line.rsplit_once(' ')?;
        clean.ends_with(cite).then_some(clean)
    };
    lines.into_iter().filter_map(clean).collect()
}

/// The text of as many lines as there is room for.
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
    let Some(room) = whole.without(&fence.around("")) else {
        return context;
    };
    let mut inner = String::new();
    for (offer, taken) in offers.iter().zip(choose(offers, room)) {
        let mut part = String::new();
        if !taken.is_empty() {
            part.push_str(offer.heading);
            part.push('\n');
        }
        for line in &taken {
            part.push_str(&offer.lines[*line]);
            part.push('\n');
        }
        context.layers.push(LayerTokens {
            layer: offer.layer,
            tokens: count_tokens(&part),
            items: taken.len(),
        });
        inner.push_str(&part);
    }
    if !inner.is_empty() {
        context.text = fence.around(&inner);
        context.tokens = count_tokens(&context.text);
    }
    context
}

//! What there is, what waits, and what asking for it would take.

use backstory_event::{Seq, TimeMs};
use backstory_redact::Redactor;
use backstory_store::Spending;
use serde::Serialize;

use super::offer::pending;
use super::summary::{told, unsummarized};
use super::{SINCE, SummarizeOptions, model_of, moment, price_of};
use crate::Summaries;
use crate::error::Result;
use crate::observe::is_telling;
use crate::summarize::anthropic::{Request, most};

/// How far models are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SummarizeState {
    /// Prompts and tool uses that no model wrote of.
    pub raw: u64,
    /// Those that one did.
    pub observed: u64,
    /// Sessions that one wrote of.
    pub summarized: u64,
    /// Prompts and tool uses that are to be offered.
    pub pending_observations: u64,
    /// Sessions that are.
    pub pending_summaries: u64,
    /// What was spent or reserved today.
    pub spent: Spending,
    /// Since when sessions are offered; nothing before the first time.
    pub since: Option<TimeMs>,
}

/// What a run would send, without sending it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct SummarizePlan {
    /// Prompts and tool uses.
    pub observations: u64,
    /// Sessions.
    pub summaries: u64,
    /// The most that they can take if each is answered at once.
    pub most: Spending,
    /// How many items fit into what is left of today for sure.
    #[serde(rename = "fitting_today")]
    pub fitting: u64,
}

impl SummarizePlan {
    fn add(&mut self, one: &Spending, spent: &Spending, options: &SummarizeOptions<'_>) {
        self.most.input_tokens += one.input_tokens;
        self.most.output_tokens += one.output_tokens;
        self.most.micro_usd += one.micro_usd;
        let tokens = spent.tokens().saturating_add(self.most.tokens());
        let money = spent.micro_usd.saturating_add(self.most.micro_usd);
        let fits =
            tokens <= options.caps.tokens && options.caps.micro_usd.is_none_or(|cap| money <= cap);
        self.fitting += u64::from(fits);
    }

    fn is_full(&self, limit: usize) -> bool {
        limit > 0 && self.observations + self.summaries >= limit as u64
    }
}

impl Summaries<'_> {
    /// What there is, and what waits.
    pub fn state(&self, now: TimeMs) -> Result<SummarizeState> {
        let (uses, observed, summarized) = self.memory.store.compressed_counts()?;
        let mut state = SummarizeState {
            raw: uses.saturating_sub(observed),
            observed,
            summarized,
            spent: self.memory.store.spent(now)?,
            since: self.memory.store.kept(SINCE)?.map(|kept| moment(&kept)),
            ..SummarizeState::default()
        };
        if let Some(since) = state.since {
            for session in self.memory.store.uncompressed(since, None)? {
                state.pending_observations += self
                    .memory
                    .store
                    .unobserved_after(session.session, session.compressed)?;
            }
            state.pending_summaries =
                unsummarized(&self.memory.store, since, None, now)?.len() as u64;
        }
        Ok(state)
    }

    /// What [`Summaries::run`] would send. Writes nothing.
    pub fn dry_run(&self, options: &SummarizeOptions<'_>) -> Result<SummarizePlan> {
        let now = (options.now)();
        let kept = self
            .memory
            .store
            .kept(SINCE)?
            .map_or(now, |kept| moment(&kept));
        let only = options.scope.session.as_ref().map(|row| row.id);
        let since = match only {
            Some(_) => TimeMs::MIN,
            None => options.scope.since.unwrap_or(kept),
        };
        // Markers are as long with any key.
        let redactor = Redactor::new([0; 32]);
        let spent = self.memory.store.spent(now)?;
        let mut dry = SummarizePlan::default();
        for session in unsummarized(&self.memory.store, since, only, now)? {
            let model = model_of(
                &options.summaries,
                &session.name,
                Seq::last_of(session.events),
            );
            let Some(model) = model.filter(|_| !dry.is_full(options.limit)) else {
                break;
            };
            let told = told(&self.memory.store, &session)?;
            if !told.is_empty() {
                let request = Request::summary(model, &told, &redactor);
                dry.summaries += 1;
                dry.add(&most(&request, &price_of(model, options)?), &spent, options);
            }
        }
        for session in self.memory.store.uncompressed(since, only)? {
            let mut after = session.compressed;
            loop {
                let items = pending(&self.memory.store, &session, after)?;
                let Some(last) = items.last() else { break };
                after = last.result;
                for item in items.iter().filter(|item| is_telling(&item.source)) {
                    let model = model_of(&options.observations, &session.name, item.call);
                    let Some(model) = model.filter(|_| !dry.is_full(options.limit)) else {
                        return Ok(dry);
                    };
                    let request = Request::observation(model, &item.source, &redactor);
                    dry.observations += 1;
                    dry.add(&most(&request, &price_of(model, options)?), &spent, options);
                }
            }
        }
        Ok(dry)
    }

    /// Whether a model is to be let alone for now, after it could not be asked.
    pub fn are_paused(&self, now: TimeMs) -> Result<bool> {
        let until = self
            .memory
            .store
            .kept(PAUSE)?
            .map_or(TimeMs::ZERO, |kept| moment(&kept));
        Ok(now < until)
    }

    /// Pauses requests to models until a time.
    pub fn pause(&self, until: TimeMs) -> Result<()> {
        Ok(self.memory.store.keep(PAUSE, &until.get().to_le_bytes())?)
    }
}

/// The setting that has until when the worker asks no model.
const PAUSE: &str = "compress-pause";

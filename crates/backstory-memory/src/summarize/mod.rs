//! Letting a model write of prompts, tool uses and sessions, within what may be spent.
//!
//! Only what is asked for here is ever sent, and only one process of a store sends at a time. `offer` goes through prompts and
//! tool uses, `summary` through sessions; each says of every item whether it was written, is unusable for good, or waits. What nobody wrote of
//! stays as it is, and the built-in observations tell of it.

mod anthropic;
mod eval;
mod log;
mod offer;
mod record;
mod score;
mod state;
mod summary;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use backstory_event::{Seq, TimeMs};
use backstory_redact::Redactor;
use backstory_store::{SessionRow, Store, lock_file, try_lock_file};

use self::anthropic::{Ask, Failure, known_price};
use crate::Memory;
use crate::error::{Error, Result};

pub use self::anthropic::{Endpoint, Price, Retry};
pub use self::eval::{Better, Evaluation, ModelScores, TierScores};
pub use self::record::{
    EvaluationRecord, LatencyRecord, ModelRecord, PendingItems, SummarizeRecord,
    SummarizeStateRecord, TierRecord,
};
pub(crate) use self::score::scores;
pub use self::state::{SummarizePlan, SummarizeState};
pub use backstory_store::{MetCap, Spending, SpendingCaps, Tier};

/// The setting that has when a model was first let write: what ended before is offered only when it is asked for.
const SINCE: &str = "compress-since";

/// Number of items in a row without an answer after which a run ends.
const MOST_LATE: u32 = 2;

/// Whom to let write, of what, and for how much.
pub struct SummarizeOptions<'a> {
    /// Models that write of prompts and tool uses: none, one, or two that take half of them each.
    pub observations: Vec<String>,
    /// Models that write of sessions, in the same way.
    pub summaries: Vec<String>,
    /// What may be spent in a day.
    pub caps: SpendingCaps,
    /// What models cost whose price is not known, or another.
    pub prices: BTreeMap<String, Price>,
    /// Sessions that are offered.
    pub scope: SummarizeScope,
    /// Maximum number of items; 0 is no limit.
    pub limit: usize,
    /// No item is begun after so long.
    pub within: Option<Duration>,
    /// Whether to wait for another process that is at it.
    pub waits: bool,
    /// How often and how long it is tried to get one answer.
    pub retry: Retry,
    /// The time, in unix milliseconds.
    pub now: &'a dyn Fn() -> TimeMs,
    /// Waits.
    pub sleep: &'a dyn Fn(Duration),
}

/// Scope of the sessions that are offered.
#[derive(Debug, Clone, Default)]
pub struct SummarizeScope {
    /// Only this one.
    pub session: Option<SessionRow>,
    /// Those active since; else since a model was first let write.
    pub since: Option<TimeMs>,
}

/// How far it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SummarizeProgress {
    /// Items that are dealt with.
    pub done: u64,
    /// All there are.
    pub total: u64,
    /// Whether another process is at it, and must end first.
    pub waiting: bool,
}

/// What was done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SummarizeReport {
    /// Prompts and tool uses of which a model wrote.
    pub observed: u64,
    /// Sessions of which one did.
    pub summarized: u64,
    /// Prompts and tool uses that tell nothing.
    pub untelling: u64,
    /// Items that will never have an answer, by reason.
    pub skipped: BTreeMap<&'static str, u64>,
    /// Items that wait for another time, by reason.
    pub late: BTreeMap<&'static str, u64>,
    /// The cap that was met.
    pub capped: Option<MetCap>,
    /// Reason why it ended before all items were offered, if the other side is to blame.
    pub problem: Option<&'static str>,
    /// Whether another process is at it.
    pub busy: bool,
    /// Requests that were sent.
    pub requests: u64,
    /// What they took.
    pub took: Spending,
}

/// Observations and summaries written by a language model.
pub struct Summaries<'m> {
    pub(crate) memory: &'m Memory,
}

impl Summaries<'_> {
    /// Offers what no model has written of, newest sessions first.
    pub fn run(
        &self,
        endpoint: &Endpoint,
        options: &SummarizeOptions<'_>,
        progress: &mut dyn FnMut(SummarizeProgress),
    ) -> Result<SummarizeReport> {
        let models = options.observations.iter().chain(&options.summaries);
        for model in models {
            price_of(model, options)?;
        }
        let path = self.memory.home.join("compress.lock");
        let lock = if options.waits {
            let waiting = SummarizeProgress {
                waiting: true,
                ..SummarizeProgress::default()
            };
            Some(lock_file(&path, || progress(waiting))?)
        } else {
            try_lock_file(&path)?
        };
        if lock.is_none() {
            return Ok(SummarizeReport {
                busy: true,
                ..SummarizeReport::default()
            });
        }
        // Nobody else sends: what is still reserved was left behind.
        self.memory.store.give_up_reserved("interrupted")?;
        let redactor = self.memory.store_redactor()?;
        let price = |model: &str| price_of(model, options).unwrap_or(FREE);
        let since = since(&self.memory.store, options)?;
        let mut run = Run {
            home: &self.memory.home,
            store: &self.memory.store,
            ask: Ask {
                store: &self.memory.store,
                endpoint,
                caps: options.caps,
                price: &price,
                retry: options.retry,
                now: options.now,
                sleep: options.sleep,
                spent: Cell::default(),
            },
            redactor: &redactor,
            options,
            since,
            began: Instant::now(),
            late_in_a_row: 0,
            report: SummarizeReport::default(),
            done: SummarizeProgress::default(),
            progress,
        };
        let ended = run.go();
        let (requests, took) = run.ask.spent.get();
        run.report.requests = requests;
        run.report.took = took;
        ended.map(|()| run.report)
    }
}

/// A run that offers items.
struct Run<'a> {
    home: &'a Path,
    store: &'a Store,
    ask: Ask<'a>,
    redactor: &'a Redactor,
    options: &'a SummarizeOptions<'a>,
    since: TimeMs,
    began: Instant,
    late_in_a_row: u32,
    report: SummarizeReport,
    done: SummarizeProgress,
    progress: &'a mut dyn FnMut(SummarizeProgress),
}

/// Whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Next,
    /// Not with this session now.
    NextSession,
    End,
}

impl Run<'_> {
    fn go(&mut self) -> Result<()> {
        // Few and dear to have, they must not go without because tool uses took all.
        if self.summarise()? == Then::End {
            return Ok(());
        }
        self.observe()
    }

    /// Whether another item may be begun.
    fn may_go_on(&self) -> bool {
        let report = &self.report;
        let late: u64 = report.late.values().chain(report.skipped.values()).sum();
        let begun = report.observed + report.summarized + late;
        let is_over = |limit: Duration| self.began.elapsed() >= limit;
        (self.options.limit == 0 || begun < self.options.limit as u64)
            && !self.options.within.is_some_and(is_over)
    }

    fn step(&mut self) {
        self.done.done += 1;
        (self.progress)(self.done);
    }

    /// Counts an item that got no answer.
    fn failed(&mut self, failure: Failure) -> Result<Then> {
        match failure {
            Failure::Unusable(reason) => {
                *self.report.skipped.entry(reason).or_default() += 1;
                self.late_in_a_row = 0;
                Ok(Then::Next)
            }
            Failure::Later(reason) => {
                *self.report.late.entry(reason).or_default() += 1;
                self.late_in_a_row += 1;
                if self.late_in_a_row < MOST_LATE {
                    return Ok(Then::NextSession);
                }
                self.report.problem = Some(reason);
                Ok(Then::End)
            }
            Failure::Capped(cap) => {
                self.report.capped = Some(cap);
                Ok(Then::End)
            }
            Failure::Stop(error) => Err(error),
        }
    }
}

const FREE: Price = Price {
    input: 0.0,
    output: 0.0,
};

/// What a model costs. Without a cap on money it does not matter what nobody knows.
fn price_of(model: &str, options: &SummarizeOptions<'_>) -> Result<Price> {
    let configured = options.prices.get(model).copied();
    match configured.or_else(|| known_price(model)) {
        Some(price) => Ok(price),
        None if options.caps.micro_usd.is_none() => Ok(FREE),
        None => Err(Error::Compress {
            reason: format!("nobody knows what {model:?} costs, so daily_usd cannot be kept"),
            hint: format!(
                "set compress.prices.\"{model}\" = {{ input = 1.0, output = 5.0 }}, in dollars a million tokens"
            ),
        }),
    }
}

/// From when on sessions are offered; the first run says so for all that come.
fn since(store: &Store, options: &SummarizeOptions<'_>) -> Result<TimeMs> {
    let first = store.setting(SINCE, || (options.now)().get().to_le_bytes().to_vec())?;
    Ok(match &options.scope {
        SummarizeScope {
            session: Some(_), ..
        } => TimeMs::MIN,
        SummarizeScope {
            since: Some(since), ..
        } => *since,
        _ => moment(&first),
    })
}

fn moment(kept: &[u8]) -> TimeMs {
    TimeMs::new(kept.try_into().map_or(0, i64::from_le_bytes))
}

/// Which of the models writes of an item: always the same, and half of all items each of two.
fn model_of<'a>(models: &'a [String], session: &str, seq: Seq) -> Option<&'a str> {
    let hash = blake3::hash(format!("{session}#{seq}").as_bytes());
    let at = usize::from(hash.as_bytes()[0]) % models.len().max(1);
    models.get(at).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_models_take_half_each_and_the_same_half_again() {
        let models = ["a".to_string(), "b".to_string()];
        let taken = |models| {
            let items = (0..1_000).map(|seq| model_of(models, "0000-4000", Seq::new(seq)));
            items.collect::<Vec<_>>()
        };
        let halves = taken(&models[..]);
        assert_eq!(halves, taken(&models[..]));
        let first = halves.iter().filter(|model| **model == Some("a")).count();
        assert!((440..560).contains(&first), "{first}");
        assert_eq!(model_of(&models[..1], "0000-4000", Seq::new(3)), Some("a"));
        assert_eq!(model_of(&[], "0000-4000", Seq::new(3)), None);
    }
}

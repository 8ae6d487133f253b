//! How good the built-in compressor is, measured on all that is stored.

use std::time::{Duration, Instant};

use backstory_analysis::count_tokens;
use backstory_event::Seq;
use backstory_store::{EventRange, SessionFilter};
use serde::Serialize;

use super::{Compressor, EXTRACT, Uses, faith, is_telling};
use crate::Summaries;
use crate::error::Result;
use crate::read::visit_stored;

/// So many texts that are not faithful are told.
const MOST_TOLD: usize = 20;

/// How the built-in compressor did.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(into = "ScoreRecord")]
pub struct ObservationScore {
    /// Prompts, and tool uses that were answered.
    pub uses: u64,
    /// Those that tell something.
    pub observations: u64,
    /// What was asked and answered, in tokens.
    pub raw_tokens: u64,
    /// The tokens of the titles, summaries and details.
    pub tokens: [u64; 3],
    /// Numbers, paths and names in them.
    pub named: u64,
    /// Those that their source does not have: the session, the event, and what it is.
    pub unfounded: Vec<(String, Seq, String)>,
    /// How long compressing took, reading apart.
    pub took: Duration,
}

/// [`ObservationScore`] with its ratios, as JSON has it.
#[derive(Serialize)]
struct ScoreRecord {
    uses: u64,
    observations: u64,
    raw_tokens: u64,
    title_tokens: u64,
    summary_tokens: u64,
    detail_tokens: u64,
    ratio: f64,
    named: u64,
    unfounded: Vec<Unfounded>,
    uses_per_second: f64,
}

/// Something that an observation names and its source does not have.
#[derive(Serialize)]
struct Unfounded {
    session: String,
    event: Seq,
    what: String,
}

impl From<ObservationScore> for ScoreRecord {
    fn from(score: ObservationScore) -> Self {
        let [title_tokens, summary_tokens, detail_tokens] = score.tokens;
        let (ratio, uses_per_second) = (score.ratio(summary_tokens), score.per_second());
        let unfounded = score.unfounded.into_iter();
        let unfounded = unfounded.map(|(session, event, what)| Unfounded {
            session,
            event,
            what,
        });
        ScoreRecord {
            uses: score.uses,
            observations: score.observations,
            raw_tokens: score.raw_tokens,
            title_tokens,
            summary_tokens,
            detail_tokens,
            ratio,
            named: score.named,
            unfounded: unfounded.collect(),
            uses_per_second,
        }
    }
}

impl ObservationScore {
    /// Returns how many times shorter than their sources texts of so many tokens are.
    pub fn ratio(&self, tokens: u64) -> f64 {
        self.raw_tokens as f64 / tokens.max(1) as f64
    }

    /// Returns the number of observations made in a second.
    pub fn per_second(&self) -> f64 {
        self.observations as f64 / self.took.as_secs_f64().max(1e-9)
    }
}

impl Summaries<'_> {
    /// Makes an observation of every prompt and tool use that is stored and measures it.
    pub fn score_observations(&self) -> Result<ObservationScore> {
        let mut score = ObservationScore::default();
        for session in self.memory.store.sessions(&SessionFilter::default())? {
            let mut uses = Uses::of(&self.memory.store, session.id)?;
            visit_stored(
                &self.memory.store,
                session.id,
                &session.agent,
                EventRange::All,
                |event| {
                    let Some(item) = uses.take(event) else {
                        return Ok(());
                    };
                    score.uses += 1;
                    let started = Instant::now();
                    if !is_telling(&item.source) {
                        return Ok(());
                    }
                    let Ok(sizes) = EXTRACT.compress(&item.source);
                    score.took += started.elapsed();
                    score.observations += 1;
                    let raw = item.source.texts().map(count_tokens);
                    score.raw_tokens += raw.iter().sum::<usize>() as u64;
                    let texts = [&sizes.title, &sizes.summary, &sizes.detail];
                    for (sum, text) in score.tokens.iter_mut().zip(texts) {
                        *sum += count_tokens(text) as u64;
                    }
                    let said = texts.map(String::as_str).join("\n");
                    let faith = faith(&item.source, &said);
                    score.named += faith.named;
                    for word in faith.unfounded {
                        if score.unfounded.len() < MOST_TOLD {
                            score
                                .unfounded
                                .push((session.session.clone(), item.call, word));
                        }
                    }
                    Ok(())
                },
            )?;
        }
        Ok(score)
    }
}

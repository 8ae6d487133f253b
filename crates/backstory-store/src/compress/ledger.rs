//! What requests to models took, and the caps of a day.
//!
//! Before a request goes out, the most that it can take is reserved, in one transaction with the sum of all that was spent or
//! reserved that day: so no number of processes can pass a cap. A reservation is given back only for what is known to have been
//! less. One whose process died stays.

use backstory_event::{Seq, SessionId, TimeMs, UnknownNumber, impl_sql_enum};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior};
use serde::{Deserialize, Serialize};

use crate::blocks::Packer;
use crate::checksums::{Scope, damage};
use crate::error::Result;
use crate::open::Store;

const DAY_MS: i64 = 24 * 3600 * 1000;

/// What a model is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Tier {
    /// What a tool use did.
    #[serde(rename = "observations")]
    Observation,
    /// What a session was about.
    #[serde(rename = "summaries")]
    Summary,
}

impl Tier {
    const ALL: [Tier; 2] = [Tier::Observation, Tier::Summary];

    /// The name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Observation => "observations",
            Tier::Summary => "summaries",
        }
    }
}

impl_sql_enum!(Tier, "tier of a model request");

/// How far a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompressionState {
    /// Sent, or about to be; or whoever sent it died.
    Reserved,
    /// Answered.
    Done,
    /// Without an answer that could be used.
    Failed,
}

impl CompressionState {
    const ALL: [CompressionState; 3] = [
        CompressionState::Reserved,
        CompressionState::Done,
        CompressionState::Failed,
    ];
}

impl_sql_enum!(CompressionState, "state of a model request");

/// Tokens and money, in millionths of a dollar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(into = "SpendingRecord")]
pub struct Spending {
    /// Tokens that went in.
    pub input_tokens: u64,
    /// Tokens that came out.
    pub output_tokens: u64,
    /// What they cost.
    pub micro_usd: u64,
}

impl Spending {
    /// All tokens.
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Cost in dollars.
    pub fn usd(&self) -> f64 {
        self.micro_usd as f64 / 1e6
    }
}

/// [`Spending`] with its sum and in dollars, as JSON has it.
#[derive(Serialize)]
struct SpendingRecord {
    input_tokens: u64,
    output_tokens: u64,
    tokens: u64,
    usd: f64,
}

impl From<Spending> for SpendingRecord {
    fn from(spent: Spending) -> Self {
        SpendingRecord {
            input_tokens: spent.input_tokens,
            output_tokens: spent.output_tokens,
            tokens: spent.tokens(),
            usd: spent.usd(),
        }
    }
}

/// What may be spent in a day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpendingCaps {
    /// Tokens.
    pub tokens: u64,
    /// Millionths of a dollar.
    pub micro_usd: Option<u64>,
}

/// A cap that a request would pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MetCap {
    /// That of tokens.
    #[serde(rename = "daily_tokens")]
    Tokens,
    /// That of money.
    #[serde(rename = "daily_usd")]
    Money,
}

impl MetCap {
    /// The key of the configuration.
    pub fn name(self) -> &'static str {
        match self {
            MetCap::Tokens => "daily_tokens",
            MetCap::Money => "daily_usd",
        }
    }
}

/// A request that is about to be sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NewCompression<'a> {
    /// When.
    pub at: TimeMs,
    /// What for.
    pub tier: Tier,
    /// The model.
    pub model: &'a str,
    /// The session's row.
    pub session: SessionId,
    /// The event that it is about.
    pub seq: Seq,
    /// The most that it can take.
    pub most: Spending,
}

/// Whether a request may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reserved {
    /// It may, under this number.
    Granted(i64),
    /// It would pass a cap.
    Met(MetCap),
}

/// How good an answer is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Scores {
    /// Which share of what it names stands in what it is about.
    pub faithfulness: Option<f64>,
    /// Number of times that it is shorter than its source.
    pub compression: Option<f64>,
    /// Which share of the files and functions it names.
    pub coverage: Option<f64>,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settled<'a> {
    /// What it took; without, what was reserved stays.
    pub took: Option<Spending>,
    /// How long it took.
    pub latency_ms: u64,
    /// How good the answer is.
    pub scores: Scores,
    /// What was written, or why it cannot be used.
    pub outcome: Result<Written<'a>, &'a str>,
}

/// What a model wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written<'a> {
    /// Of the tool use whose call is at `call` and whose result is at `result`.
    Observation {
        /// The event of the call.
        call: Seq,
        /// The event of the result.
        result: Seq,
        /// The observation.
        body: &'a [u8],
    },
    /// Of a session up to an event.
    Summary {
        /// The event.
        events: Seq,
        /// The summary.
        body: &'a [u8],
    },
}

/// A request as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Compression {
    /// What for.
    pub tier: Tier,
    /// The model.
    pub model: String,
    /// The session's row, unless it was forgotten.
    pub session: Option<SessionId>,
    /// The event that it was about.
    pub seq: Option<Seq>,
    /// How far it is.
    pub state: CompressionState,
    /// What it took, or may have taken.
    pub took: Spending,
    /// How long it took.
    pub latency_ms: Option<u64>,
    /// How good the answer is.
    pub scores: Scores,
    /// Why there is none.
    pub error: Option<String>,
}

impl Store {
    /// Reserves what a request can take at most, if that keeps within the caps of its day.
    pub fn reserve(&self, new: &NewCompression<'_>, caps: &SpendingCaps) -> Result<Reserved> {
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        let day = day_of(new.at);
        let spent = spent(&transaction, day)?;
        if spent.tokens().saturating_add(new.most.tokens()) > caps.tokens {
            return Ok(Reserved::Met(MetCap::Tokens));
        }
        let money = spent.micro_usd.saturating_add(new.most.micro_usd);
        if caps.micro_usd.is_some_and(|cap| money > cap) {
            return Ok(Reserved::Met(MetCap::Money));
        }
        transaction
            .prepare_cached(
                "INSERT INTO compressions (at, day, tier, model, about, seq, state, input_tokens, output_tokens, micro_usd) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            )?
            .execute((
                new.at,
                day,
                new.tier,
                new.model,
                new.session,
                new.seq,
                CompressionState::Reserved,
                new.most.input_tokens,
                new.most.output_tokens,
                new.most.micro_usd,
            ))?;
        let id = transaction.last_insert_rowid();
        transaction.commit()?;
        Ok(Reserved::Granted(id))
    }

    /// Keeps what a request took and what was written, together. A session that was forgotten meanwhile stays forgotten.
    pub fn settle(&self, id: i64, settled: &Settled<'_>) -> Result<()> {
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        let state = match settled.outcome {
            Ok(_) => CompressionState::Done,
            Err(_) => CompressionState::Failed,
        };
        let about = transaction
            .prepare_cached(
                "UPDATE compressions SET state = ?2, latency_ms = ?3, faithfulness = ?4, compression = ?5, coverage = ?6, error = ?7 \
                 WHERE id = ?1 RETURNING about, model, at",
            )?
            .query_row(
                (
                    id,
                    state,
                    settled.latency_ms,
                    settled.scores.faithfulness,
                    settled.scores.compression,
                    settled.scores.coverage,
                    settled.outcome.err(),
                ),
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
            )
            .optional()?;
        if let Some(took) = settled.took {
            transaction
                .prepare_cached(
                    "UPDATE compressions SET input_tokens = ?2, output_tokens = ?3, micro_usd = ?4 WHERE id = ?1",
                )?
                .execute((id, kept(took.input_tokens), kept(took.output_tokens), kept(took.micro_usd)))?;
        }
        let about: Option<(Option<SessionId>, String, TimeMs)> = about;
        if let (Ok(written), Some((Some(session), model, at))) = (settled.outcome, about) {
            save(&transaction, session, &model, at, written)?;
        }
        Ok(transaction.commit()?)
    }

    /// Takes note that whoever sent what is still reserved is gone. What was reserved stays so. Only for who holds the lock.
    pub fn give_up_reserved(&self, reason: &str) -> Result<usize> {
        let update = "UPDATE compressions SET state = ?2, error = ?3 WHERE state = ?1";
        let (from, to) = (CompressionState::Reserved, CompressionState::Failed);
        Ok(self.connection.execute(update, (from, to, reason))?)
    }

    /// How often requests about an event failed for one of these reasons.
    pub fn failures(
        &self,
        tier: Tier,
        session: SessionId,
        seq: Seq,
        reasons: &[&str],
    ) -> Result<usize> {
        let query = "SELECT error FROM compressions WHERE about = ?1 AND seq = ?2 AND tier = ?3 AND error IS NOT NULL";
        let mut statement = self.connection.prepare_cached(query)?;
        let rows = statement.query_map((session, seq, tier), |row| row.get::<_, String>(0))?;
        let mut failures = 0;
        for error in rows {
            failures += usize::from(reasons.contains(&error?.as_str()));
        }
        Ok(failures)
    }

    /// What was spent or reserved on the day of a time.
    pub fn spent(&self, at: TimeMs) -> Result<Spending> {
        spent(&self.connection, day_of(at))
    }

    /// Calls `each` with every request that was ever sent. Those of an unknown tier or state are left out and named by
    /// [`Store::take_damage`].
    pub fn compressions(&self, mut each: impl FnMut(Compression)) -> Result<()> {
        let query = "SELECT tier, model, about, seq, state, input_tokens, output_tokens, micro_usd, latency_ms, faithfulness, \
             compression, coverage, error, id FROM compressions ORDER BY id";
        let mut statement = self.connection.prepare_cached(query)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            match compression_from_row(row) {
                Err(error) if UnknownNumber::is_cause_of(&error) => {
                    let unit = Scope::Compressions.unit_of(row.get(13)?);
                    self.meet_damage([damage::rows(&self.connection, Scope::Compressions, unit)?]);
                }
                compression => each(compression?),
            }
        }
        Ok(())
    }
}

fn save(
    transaction: &Transaction<'_>,
    session: SessionId,
    model: &str,
    at: TimeMs,
    written: Written<'_>,
) -> Result<()> {
    let mut packer = Packer::for_notes()?;
    match written {
        Written::Observation { call, result, body } => {
            transaction
                .prepare_cached(
                    "INSERT INTO observations (session, seq, model, at, body) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (session, seq) \
                     DO UPDATE SET model = excluded.model, at = excluded.at, body = excluded.body",
                )?
                .execute((session, call, model, at, packer.compress(body)?))?;
            transaction
                .prepare_cached(
                    "UPDATE sessions SET compressed = MAX(compressed, ?2) WHERE id = ?1",
                )?
                .execute((session, result))?;
        }
        Written::Summary { events, body } => {
            transaction
                .prepare_cached(
                    "INSERT INTO summaries (session, events, model, at, body) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (session) \
                     DO UPDATE SET events = excluded.events, model = excluded.model, at = excluded.at, body = excluded.body",
                )?
                .execute((session, events, model, at, packer.compress(body)?))?;
        }
    }
    Ok(())
}

fn spent(connection: &Connection, day: i64) -> Result<Spending> {
    // TOTAL would lose digits, SUM fails rather than overflow; what servers claim is bounded when it is kept.
    let query = "SELECT COALESCE(SUM(input_tokens), 0), COALESCE(SUM(output_tokens), 0), COALESCE(SUM(micro_usd), 0) \
         FROM compressions WHERE day = ?1";
    let mut statement = connection.prepare_cached(query)?;
    Ok(statement.query_row([day], |row| spending_from_row(row, 0))?)
}

/// So large a number that sums of as many as anybody sends stay within 64 bits.
/// The day of a time, in days since 1970.
fn day_of(at: TimeMs) -> i64 {
    at.get().div_euclid(DAY_MS)
}

fn kept(number: u64) -> u64 {
    number.min(1 << 40)
}

fn spending_from_row(row: &Row<'_>, first: usize) -> rusqlite::Result<Spending> {
    Ok(Spending {
        input_tokens: row.get(first)?,
        output_tokens: row.get(first + 1)?,
        micro_usd: row.get(first + 2)?,
    })
}

fn compression_from_row(row: &Row<'_>) -> rusqlite::Result<Compression> {
    Ok(Compression {
        tier: row.get(0)?,
        model: row.get(1)?,
        session: row.get(2)?,
        seq: row.get(3)?,
        state: row.get(4)?,
        took: spending_from_row(row, 5)?,
        latency_ms: row.get(8)?,
        scores: Scores {
            faithfulness: row.get(9)?,
            compression: row.get(10)?,
            coverage: row.get(11)?,
        },
        error: row.get(12)?,
    })
}

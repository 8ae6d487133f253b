//! Asking until there is an answer, and keeping account: no request without a reservation, none left unsettled.

use std::cell::Cell;
use std::time::{Duration, Instant};

use backstory_event::{Seq, SessionId, TimeMs};
use backstory_store::{
    MetCap, NewCompression, Reserved, Scores, Settled, Spending, SpendingCaps, Store, Tier, Written,
};
use serde_json::{Map, Value};

use super::answer;
use super::endpoint::{Endpoint, Refusal};
use super::price::Price;
use super::request::{Request, most};
use crate::error::Error;
use crate::random::random_key;

/// An answer that cannot be used is asked for once more.
const MOST_UNUSABLE: u32 = 2;

/// What may be over the next time. An item that fails for these again and again is given up.
pub(crate) const PASSING: [&str; 5] = [
    "timeout",
    "connection lost",
    "server error",
    "not the API",
    "interrupted",
];

/// How often and how long it is tried to get an answer.
#[derive(Debug, Clone, Copy)]
pub struct Retry {
    /// Maximum number of requests for one answer.
    pub attempts: u32,
    /// The first pause; each that follows is twice as long.
    pub pause: Duration,
    /// No pause is longer; who asks for a longer one is asked another time.
    pub longest_pause: Duration,
    /// All attempts together take no longer.
    pub within: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Retry {
            attempts: 4,
            pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(30),
            within: Duration::from_secs(180),
        }
    }
}

/// What it takes to ask.
pub(crate) struct Ask<'a> {
    pub(crate) store: &'a Store,
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) caps: SpendingCaps,
    pub(crate) price: &'a dyn Fn(&str) -> Price,
    pub(crate) retry: Retry,
    pub(crate) now: &'a dyn Fn() -> TimeMs,
    pub(crate) sleep: &'a dyn Fn(Duration),
    /// Requests that were sent, and what they took.
    pub(crate) spent: Cell<(u64, Spending)>,
}

/// What is asked about.
pub(crate) struct Item<'a> {
    pub(crate) tier: Tier,
    pub(crate) model: &'a str,
    /// The session's row.
    pub(crate) session: SessionId,
    pub(crate) seq: Seq,
}

/// What is kept of an answer.
pub(crate) struct Kept<'a> {
    pub(crate) scores: Scores,
    pub(crate) written: Written<'a>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// This item will never have one.
    Unusable(&'static str),
    /// Another time there may be one.
    Later(&'static str),
    /// Nothing more may be spent today.
    Capped(MetCap),
    /// Nothing can be asked.
    Stop(Error),
}

impl From<backstory_store::Error> for Failure {
    fn from(error: backstory_store::Error) -> Self {
        Failure::Stop(error.into())
    }
}

impl Ask<'_> {
    /// Asks for one answer. `read` says what it is, and `keep` gives what is stored of it, together with what it took.
    pub(crate) fn ask<T>(
        &self,
        item: &Item<'_>,
        request: &Request,
        read: impl Fn(&Map<String, Value>) -> Result<T, &'static str>,
        keep: impl Fn(&T, &mut dyn FnMut(Kept<'_>) -> Result<(), Failure>) -> Result<(), Failure>,
    ) -> Result<T, Failure> {
        let began = Instant::now();
        let mut unusable = 0;
        for attempt in 1..=self.retry.attempts {
            let is_last = attempt == self.retry.attempts;
            let id = self.reserve(item, request)?;
            let sent = Instant::now();
            let bytes = match self.endpoint.send(&request.body) {
                Ok(bytes) => bytes,
                Err(refusal) => {
                    let (reason, wait) = self.refused(item, request, id, sent, refusal)?;
                    let wait = wait.unwrap_or_else(|| self.pause(attempt));
                    let is_late = began.elapsed() + wait > self.retry.within;
                    if is_last || is_late || wait > self.retry.longest_pause {
                        return Err(Failure::Later(reason));
                    }
                    (self.sleep)(wait);
                    continue;
                }
            };
            let answer = answer::read(&bytes, request.tool);
            let took = answer.usage.map(|(input_tokens, output_tokens)| Spending {
                input_tokens,
                output_tokens,
                micro_usd: (self.price)(item.model).micro_usd(input_tokens, output_tokens),
            });
            self.correct(item, request, took);
            match answer.fields.and_then(|fields| read(&fields)) {
                Ok(value) => {
                    keep(&value, &mut |kept| {
                        self.settle(id, took, sent, kept.scores, Ok(kept.written))
                    })?;
                    return Ok(value);
                }
                Err(reason) => {
                    self.settle(id, took, sent, Scores::default(), Err(reason))?;
                    unusable += 1;
                    if is_last || unusable == MOST_UNUSABLE {
                        return Err(Failure::Unusable(reason));
                    }
                }
            }
        }
        Err(Failure::Later("never tried"))
    }

    /// Settles a request that got no answer; tells why, and how long the server asks to wait, if another may get one.
    fn refused(
        &self,
        item: &Item<'_>,
        request: &Request,
        id: i64,
        sent: Instant,
        refusal: Refusal,
    ) -> Result<(&'static str, Option<Duration>), Failure> {
        let (reason, spent) = match &refusal {
            Refusal::Passing { reason, spent, .. } | Refusal::Final { reason, spent } => {
                (*reason, *spent)
            }
            Refusal::Foreign { reason } => (*reason, true),
            Refusal::Closed { .. } => ("refused by the API", false),
        };
        let took = (!spent).then(Spending::default);
        self.correct(item, request, took);
        self.settle(id, took, sent, Scores::default(), Err(reason))?;
        match refusal {
            Refusal::Passing { wait, .. } => Ok((reason, wait)),
            Refusal::Foreign { .. } => Err(Failure::Later(reason)),
            Refusal::Final { .. } => Err(Failure::Unusable(reason)),
            Refusal::Closed { status, said } => Err(closed(item.model, status, &said)),
        }
    }

    fn reserve(&self, item: &Item<'_>, request: &Request) -> Result<i64, Failure> {
        let most = most(request, &(self.price)(item.model));
        let new = NewCompression {
            at: (self.now)(),
            tier: item.tier,
            model: item.model,
            session: item.session,
            seq: item.seq,
            most,
        };
        match self.store.reserve(&new, &self.caps)? {
            Reserved::Granted(id) => {
                let (requests, spent) = self.spent.get();
                let spent = Spending {
                    input_tokens: spent.input_tokens.saturating_add(most.input_tokens),
                    output_tokens: spent.output_tokens.saturating_add(most.output_tokens),
                    micro_usd: spent.micro_usd.saturating_add(most.micro_usd),
                };
                self.spent.set((requests + 1, spent));
                Ok(id)
            }
            Reserved::Met(cap) => Err(Failure::Capped(cap)),
        }
    }

    /// Counts what a request took in the place of what was reserved for it.
    fn correct(&self, item: &Item<'_>, request: &Request, took: Option<Spending>) {
        let Some(took) = took else { return };
        let most = most(request, &(self.price)(item.model));
        let instead = |all: u64, most: u64, took: u64| (all - most).saturating_add(took);
        let (requests, all) = self.spent.get();
        let all = Spending {
            input_tokens: instead(all.input_tokens, most.input_tokens, took.input_tokens),
            output_tokens: instead(all.output_tokens, most.output_tokens, took.output_tokens),
            micro_usd: instead(all.micro_usd, most.micro_usd, took.micro_usd),
        };
        self.spent.set((requests, all));
    }

    fn settle(
        &self,
        id: i64,
        took: Option<Spending>,
        sent: Instant,
        scores: Scores,
        outcome: Result<Written<'_>, &'static str>,
    ) -> Result<(), Failure> {
        let settled = Settled {
            took,
            latency_ms: sent.elapsed().as_millis() as u64,
            scores,
            outcome: outcome.map_err(|reason| -> &str { reason }),
        };
        Ok(self.store.settle(id, &settled)?)
    }

    /// Longer each time, and not the same for all who wait.
    fn pause(&self, attempt: u32) -> Duration {
        let longest = self.retry.pause * 2u32.saturating_pow(attempt - 1).min(1 << 16);
        let share = f64::from(random_key()[0]) / 255.0;
        longest
            .mul_f64(0.5 + share / 2.0)
            .min(self.retry.longest_pause)
    }
}

fn closed(model: &str, status: u16, said: &str) -> Failure {
    let hint = match status {
        401 | 403 => {
            "is the key in compress.api_key or ANTHROPIC_API_KEY the right one?".to_string()
        }
        404 => format!(
            "is there a model {model:?}? see compress.observations, compress.summaries and compress.base_url"
        ),
        300..=399 => {
            "set compress.base_url to where the API is; the key is never sent on".to_string()
        }
        _ => format!("the model was {model:?}; nothing more was sent"),
    };
    Failure::Stop(Error::Compress {
        reason: format!("the API refused with {status}: {said}"),
        hint,
    })
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    /// Where somebody answers everything with this.
    fn server(answer: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut seen = Vec::new();
                while !seen.ends_with(b"}") {
                    let mut some = [0; 4096];
                    let length = stream.read(&mut some).unwrap();
                    seen.extend_from_slice(&some[..length]);
                }
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        url
    }

    /// The pauses between attempts, and how it ended.
    fn check(answer: &'static str, retry: Retry, pauses: &[(u64, u64)], expect: &str) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let endpoint = Endpoint::new(&server(answer), "key", Duration::from_secs(20)).unwrap();
        let slept = RefCell::new(Vec::new());
        let ask = Ask {
            store: &store,
            endpoint: &endpoint,
            caps: SpendingCaps {
                tokens: 1_000_000,
                micro_usd: None,
            },
            price: &|_| Price {
                input: 1.0,
                output: 5.0,
            },
            retry,
            now: &|| TimeMs::ZERO,
            sleep: &|pause| slept.borrow_mut().push(pause.as_millis() as u64),
            spent: Cell::default(),
        };
        let request = Request::summary("m", "prompt: a", &backstory_redact::Redactor::new([7; 32]));
        let item = Item {
            tier: Tier::Summary,
            model: "m",
            session: 1.into(),
            seq: Seq::FIRST,
        };
        let asked = ask.ask(&item, &request, |_| Ok(()), |_, _| Ok(()));
        let ended = asked.map_err(|failure| match failure {
            Failure::Later(reason) => reason,
            other => panic!("{other:?}"),
        });
        assert_eq!(ended, Err(expect));
        let slept = slept.into_inner();
        assert_eq!(slept.len(), pauses.len(), "{slept:?}");
        for (slept, (least, most)) in slept.iter().zip(pauses) {
            assert!(
                (*least..=*most).contains(slept),
                "{slept} is not within {least} to {most}"
            );
        }
    }

    const BUSY: &str = "HTTP/1.1 500 X\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    const LATER: &str =
        "HTTP/1.1 429 X\r\nConnection: close\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n";

    #[test]
    fn pauses_grow_differ_and_end() {
        let retry = Retry {
            attempts: 4,
            pause: Duration::from_millis(1_000),
            longest_pause: Duration::from_millis(3_000),
            within: Duration::from_secs(60),
        };
        let growing = [(500, 1_000), (1_000, 2_000), (2_000, 3_000)];
        check(BUSY, retry, &growing, "server error");
        let once = Retry {
            attempts: 1,
            ..retry
        };
        check(BUSY, once, &[], "server error");
        let short = Retry {
            within: Duration::from_millis(10),
            ..retry
        };
        check(BUSY, short, &[], "server error");
    }

    #[test]
    fn the_time_a_server_asks_for_is_kept_unless_it_is_too_long() {
        let retry = Retry::default();
        check(LATER, retry, &[(7_000, 7_000); 3], "rate limited");
        let short = Retry {
            longest_pause: Duration::from_secs(5),
            ..retry
        };
        check(LATER, short, &[], "rate limited");
    }
}

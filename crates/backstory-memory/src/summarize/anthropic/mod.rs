//! The Messages API of Anthropic as a compressor: the one thing besides `model pull` that uses a network.
//!
//! `endpoint` sends one request, `answer` and `written` understand what comes back, `request` says what is sent, `ask` tries until
//! there is an answer and keeps account of what it took. Nothing here trusts the other side: what does not look exactly as it
//! must is counted and left.

mod answer;
mod ask;
mod endpoint;
mod price;
mod request;
mod written;

use backstory_event::{Seq, SessionId};
use backstory_redact::Redactor;

use crate::observe::{Compressor, ObservationSource, Sizes};
use crate::summarize::scores;

pub use self::ask::Retry;
pub(crate) use self::ask::{Ask, Failure, Item, Kept, PASSING};
pub use self::endpoint::Endpoint;
pub use self::price::Price;
pub(crate) use self::price::known_price;
pub(crate) use self::request::{Request, most};
use self::written::observation_written;
pub(crate) use self::written::summary_written;
use backstory_store::{Tier, Written};

/// What a model is offered, and where what it writes is kept.
pub(crate) struct Observer<'a> {
    pub(crate) ask: &'a Ask<'a>,
    pub(crate) redactor: &'a Redactor,
    pub(crate) model: &'a str,
    /// The session's row.
    pub(crate) session: SessionId,
    /// The event of the prompt, or of the call.
    pub(crate) call: Seq,
    /// The event of the prompt, or of the result.
    pub(crate) result: Seq,
}

impl Compressor for Observer<'_> {
    type Failure = Failure;

    fn name(&self) -> &str {
        self.model
    }

    fn compress(&self, source: &ObservationSource) -> Result<Sizes, Failure> {
        let request = Request::observation(self.name(), source, self.redactor);
        let item = Item {
            tier: Tier::Observation,
            model: self.model,
            session: self.session,
            seq: self.call,
        };
        let read = |fields: &_| {
            let sizes = observation_written(fields, &request.fence)?;
            Ok(clean(&sizes, self.redactor))
        };
        self.ask.ask(&item, &request, read, |sizes, keep| {
            let body = serde_json::to_vec(sizes).unwrap_or_default();
            keep(Kept {
                scores: scores(source, sizes),
                written: Written::Observation {
                    call: self.call,
                    result: self.result,
                    body: &body,
                },
            })
        })
    }
}

/// Without secrets, should a model know one that it was not told.
fn clean(sizes: &Sizes, redactor: &Redactor) -> Sizes {
    Sizes {
        title: redacted(&sizes.title, redactor),
        summary: redacted(&sizes.summary, redactor),
        detail: redacted(&sizes.detail, redactor),
    }
}

/// A text without secrets.
pub(crate) fn redacted(text: &str, redactor: &Redactor) -> String {
    let redacted = redactor.redact(text.as_bytes(), &[]);
    String::from_utf8_lossy(&redacted.bytes).into_owned()
}

//! Offering prompts and tool uses.

use backstory_analysis::count_tokens;
use backstory_event::{Seq, SessionId, TimeMs};
use backstory_store::{EventRange, Tier, Uncompressed};

use super::log::Offered;
use super::{Run, Then, model_of};
use crate::error::Result;
use crate::observe::{Compressor, ObservedItem, is_telling, observed_items};
use crate::summarize::anthropic::{Observer, PASSING};

/// An item that failed so often for what may pass is given up.
pub(super) const MOST_FAILURES: usize = 6;

impl Run<'_> {
    /// Lets models write of prompts and tool uses, newest sessions first and in order within each.
    pub(super) fn observe(&mut self) -> Result<()> {
        if self.options.observations.is_empty() {
            return Ok(());
        }
        let only = self.options.scope.session.as_ref().map(|row| row.id);
        let sessions = self.store.uncompressed(self.since, only)?;
        for session in &sessions {
            self.done.total += self
                .store
                .unobserved_after(session.session, session.compressed)?;
        }
        for session in &sessions {
            if self.observe_session(session)? == Then::End {
                break;
            }
        }
        Ok(())
    }

    fn observe_session(&mut self, session: &Uncompressed) -> Result<Then> {
        let store = self.store;
        let mut then = Then::Next;
        // A view of the store must not stay open while the other side thinks, so what is pending is read first.
        while then == Then::Next {
            let Some(from) = offered(store, session.session)? else {
                return Ok(Then::NextSession);
            };
            let some = pending(store, session, from)?;
            if some.is_empty() {
                store.set_compressed(session.session, Seq::last_of(session.events))?;
                return Ok(Then::NextSession);
            }
            for pending in &some {
                then = self.observe_one(session, pending)?;
                if then != Then::Next {
                    break;
                }
            }
        }
        Ok(then)
    }

    fn observe_one(&mut self, session: &Uncompressed, pending: &ObservedItem) -> Result<Then> {
        let row = session.session;
        if !is_telling(&pending.source) {
            self.report.untelling += 1;
            self.step();
            self.store.set_compressed(row, pending.result)?;
            return Ok(Then::Next);
        }
        if !self.may_go_on() {
            return Ok(Then::End);
        }
        let Some(model) = model_of(&self.options.observations, &session.name, pending.call) else {
            return Ok(Then::End);
        };
        let failures = self
            .store
            .failures(Tier::Observation, row, pending.call, &PASSING)?;
        if failures >= MOST_FAILURES {
            *self.report.skipped.entry("tried too often").or_default() += 1;
            self.step();
            self.store.set_compressed(row, pending.result)?;
            return Ok(Then::Next);
        }
        let observer = Observer {
            ask: &self.ask,
            redactor: self.redactor,
            model,
            session: row,
            call: pending.call,
            result: pending.result,
        };
        let offered = Offered {
            kind: pending.source.kind().name(),
            model,
            session: &session.name,
            raw_bytes: pending.source.raw_bytes(),
            raw_tokens: pending.source.texts().map(count_tokens).iter().sum(),
        };
        let begun = self.log_begin(&offered);
        let written = observer.compress(&pending.source);
        let summary = written.as_ref().map(|sizes| sizes.summary.as_str());
        self.log_end(&offered, &begun, summary);
        match written {
            Ok(_) => {
                self.report.observed += 1;
                self.late_in_a_row = 0;
                self.step();
                Ok(Then::Next)
            }
            Err(failure) => {
                let then = self.failed(failure)?;
                if then == Then::Next {
                    self.step();
                    self.store.set_compressed(row, pending.result)?;
                }
                Ok(then)
            }
        }
    }
}

/// So many of them are in memory at once.
const TOGETHER: usize = 32;

/// Up to which event the prompts and tool uses of a session were offered by now; `None` when it is gone.
fn offered(store: &backstory_store::Store, session: SessionId) -> Result<Option<Seq>> {
    let found = store.uncompressed(TimeMs::MIN, Some(session))?;
    Ok(found.first().map(|session| session.compressed))
}

/// The next prompts and tool uses whose result is after an event, as far as the log tells them.
pub(super) fn pending(
    store: &backstory_store::Store,
    session: &Uncompressed,
    after: Seq,
) -> Result<Vec<ObservedItem>> {
    let Some(first) = store.first_unobserved(session.session, after)? else {
        return Ok(Vec::new());
    };
    let mut pending: Vec<ObservedItem> = Vec::new();
    observed_items(
        store,
        &session.agent,
        session.session,
        EventRange::From(first),
        |found| {
            let is_pending = found.result > after && found.result <= Seq::last_of(session.events);
            if is_pending && pending.len() < TOGETHER {
                pending.push(found);
            }
            Ok(())
        },
    )?;
    Ok(pending)
}

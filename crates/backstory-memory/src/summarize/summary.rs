//! Letting a model write of whole sessions: of what was said and done in them, never of what tools answered. So what it writes may be
//! shown to other sessions.

use backstory_analysis::count_tokens;
use backstory_event::{Seq, SessionId, TimeMs};
use backstory_store::{Scores, Store, Tier, Uncompressed, Written};

use super::log::Offered;
use super::offer::MOST_FAILURES;
use super::score::{compression, faithfulness};
use super::{Run, Then, model_of};
use crate::digest::{SessionSummary, What, session_notes};
use crate::error::Result;
use crate::observe::{ObservationSource, Prompt};
use crate::summarize::anthropic::{Item, Kept, PASSING, Request, redacted, summary_written};

/// A session without an event for so long is over.
const OVER_AFTER_MS: i64 = 10 * 60 * 1000;

/// With fewer new events it is not worth another summary.
const NEWS: u64 = 3;

/// Sessions that are over and of which a model has not written since.
pub(super) fn unsummarized(
    store: &Store,
    since: TimeMs,
    only: Option<SessionId>,
    now: TimeMs,
) -> Result<Vec<Uncompressed>> {
    Ok(store.unsummarized(since, only, now.minus_ms(OVER_AFTER_MS), NEWS)?)
}

impl Run<'_> {
    /// Lets models write of sessions that are over, the newest first.
    pub(super) fn summarise(&mut self) -> Result<Then> {
        if self.options.summaries.is_empty() {
            return Ok(Then::Next);
        }
        let only = self.options.scope.session.as_ref().map(|row| row.id);
        let sessions = unsummarized(self.store, self.since, only, (self.options.now)())?;
        self.done.total += sessions.len() as u64;
        for session in &sessions {
            if !self.may_go_on() || self.summarise_one(session)? == Then::End {
                return Ok(Then::End);
            }
        }
        Ok(Then::Next)
    }

    fn summarise_one(&mut self, session: &Uncompressed) -> Result<Then> {
        let (row, now) = (session.session, (self.options.now)());
        let last = Seq::last_of(session.events);
        let Some(model) = model_of(&self.options.summaries, &session.name, last) else {
            return Ok(Then::End);
        };
        let failures = self.store.failures(Tier::Summary, row, last, &PASSING)?;
        let told = told(self.store, session)?;
        let asked = if failures >= MOST_FAILURES {
            *self.report.skipped.entry("tried too often").or_default() += 1;
            Err(Then::Next)
        } else if told.is_empty() {
            self.report.untelling += 1;
            Err(Then::Next)
        } else {
            self.ask_for_summary(session, model, &told)?
        };
        if let Err(then) = asked {
            if then != Then::Next {
                return Ok(then);
            }
            self.store.set_unsummarisable(row, last, model, now)?;
        }
        self.step();
        Ok(Then::Next)
    }

    fn ask_for_summary(
        &mut self,
        session: &Uncompressed,
        model: &str,
        told: &str,
    ) -> Result<Result<(), Then>> {
        let request = Request::summary(model, told, self.redactor);
        let item = Item {
            tier: Tier::Summary,
            model,
            session: session.session,
            seq: Seq::last_of(session.events),
        };
        let offered = Offered {
            kind: "session",
            model,
            session: &session.name,
            raw_bytes: told.len() as u64,
            raw_tokens: count_tokens(told),
        };
        let begun = self.log_begin(&offered);
        let redactor = self.redactor;
        let read = |fields: &_| {
            let summary = summary_written(fields, &request.fence)?;
            let clean = |text: String| redacted(&text, redactor);
            Ok(SessionSummary {
                title: clean(summary.title),
                summary: clean(summary.summary),
                learned: summary.learned.map(clean),
                next: summary.next.map(clean),
            })
        };
        let asked = self.ask.ask(&item, &request, read, |summary, keep| {
            let body = serde_json::to_vec(summary).unwrap_or_default();
            keep(Kept {
                scores: scores(told, summary),
                written: Written::Summary {
                    events: Seq::last_of(session.events),
                    body: &body,
                },
            })
        });
        let summary = asked.as_ref().map(|written| written.summary.as_str());
        self.log_end(&offered, &begun, summary);
        match asked {
            Ok(_) => {
                self.report.summarized += 1;
                self.late_in_a_row = 0;
                Ok(Ok(()))
            }
            Err(failure) => Ok(Err(self.failed(failure)?)),
        }
    }
}

fn scores(told: &str, summary: &SessionSummary) -> Scores {
    let source = ObservationSource::Prompt(Prompt {
        text: told.to_string(),
        ..Prompt::default()
    });
    let more = [&summary.learned, &summary.next].map(|text| text.as_deref().unwrap_or_default());
    let all = [summary.title.as_str(), &summary.summary, more[0], more[1]].join("\n");
    Scores {
        faithfulness: faithfulness(&source, &all),
        compression: compression(count_tokens(told), &summary.summary),
        coverage: None,
    }
}

/// What was said and done in a session, a line for each; empty when nobody asked for anything.
pub(super) fn told(store: &Store, session: &Uncompressed) -> Result<String> {
    let notes = session_notes(store, session.session, &session.agent)?;
    let mut told = String::new();
    let mut add = |what: &str, text: &str| {
        told.push_str(&format!("{what}: {}\n", text.trim()));
    };
    let mut asked = false;
    for step in &notes.steps {
        match &step.what {
            What::Prompt(said) => {
                asked = true;
                add("prompt", said);
            }
            What::Reply(said) => add("reply", said),
            What::Run(run) if run.ok == Some(false) => add("ran, and it failed", &run.command),
            What::Run(run) => add("ran", &run.command),
            What::Edit { paths, failed, .. } => {
                let what = if *failed {
                    "could not change"
                } else {
                    "changed"
                };
                add(what, &paths.join(", "));
            }
            What::Failed { tool, target, .. } => add("failed", &format!("{tool} {target}")),
            What::Denied(target) => add("not allowed", target),
            What::Answer { said, .. } => add("the user answered", said),
            What::Plan(title) => add("presented a plan", title),
            What::Interrupted => add("interrupted", "by the user"),
            What::Compacted => {}
        }
    }
    Ok(if asked { told } else { String::new() })
}

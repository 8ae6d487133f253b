//! What records say about the session: where it runs, under which settings, and what it used.

use serde_json::value::RawValue;

use super::line::RolloutLine;
use super::origin::Origin;
use super::reading::CodexReading;
use super::settings::{approval_policy, branch_name};
use super::token_attribution::{AssignedCount, TokenCount};
use super::{telemetry, usage};
use crate::bounds::{MAX_META_BYTES, MAX_NAME_BYTES, bound_name, bound_session_id};
use crate::object::Object;
use crate::time;
use backstory_event::{
    Billing, EventKey, Output, Response, SessionFacts, TimeMs, Title, UNKNOWN_MODEL, Usage,
};

impl CodexReading {
    /// Reads the record that a log begins with, and that comes again when it is resumed or copied. `raw` is the same as JSON.
    pub(super) fn read_meta(&mut self, meta: &Object<'_>, raw: &str, out: &mut Output) {
        let id = session_id(meta);
        let git = meta.object("git");
        let own_facts = || SessionFacts {
            branch: branch_name(meta),
            remote: git.as_ref().and_then(|git| git.name("repository_url")),
            agent_version: bounded_name(meta, "cli_version"),
            meta: (raw.len() <= MAX_META_BYTES).then(|| raw.to_string()),
            ..SessionFacts::default()
        };
        if let Some(own) = &self.state.session {
            let other = id.filter(|id| id != own);
            match other {
                // The first records are a copy of another session's, which begins with its own first record.
                Some(other) if self.state.prompts == 0 => {
                    let parent = Some(self.state.parent_of_copy(&other));
                    self.state.replays.get_or_insert(other);
                    let facts = SessionFacts {
                        parent,
                        ..SessionFacts::default()
                    };
                    self.learn(facts, out);
                }
                Some(_) => {}
                None => self.learn(own_facts(), out),
            }
            return;
        }
        self.state.session = Some(id.unwrap_or_else(|| self.fallback.to_string()));
        self.state.began = meta
            .word("timestamp")
            .and_then(|time| time::milliseconds(&time));
        let origin = Origin::of(meta);
        self.state.subagent = origin.subagent;
        let parent = origin.parent.as_ref();
        self.state.replays = parent.map(|parent| bound_session_id(&parent.session).into_owned());
        let facts = SessionFacts {
            cwd: meta.name("cwd"),
            parent: origin.parent,
            machine: origin.machine,
            ..own_facts()
        };
        self.learn(facts, out);
    }

    /// Reads the settings of a turn or of the thread.
    pub(super) fn read_context(&mut self, context: &Object<'_>, out: &mut Output) {
        let model = bounded_name(context, "model");
        self.state.model = model.or_else(|| self.state.model.take());
        let policy = approval_policy(context);
        self.learn(
            SessionFacts {
                cwd: context.name("cwd"),
                permission_mode: policy
                    .map(|policy| bound_name(&policy, MAX_NAME_BYTES).into_owned()),
                ..SessionFacts::default()
            },
            out,
        );
    }

    /// Reads what an event says besides text.
    pub(super) fn read_event(
        &mut self,
        line: &RolloutLine<'_>,
        event: &Object<'_>,
        out: &mut Output,
    ) {
        match line.payload_kind.as_deref() {
            Some("token_count") => self.read_token_count(event, line.at, out),
            Some("task_started" | "turn_started") => self.learn_window(event, out),
            Some("thread_settings_applied") => {
                if let Some(settings) = event.object("thread_settings") {
                    self.state.service_tier = bounded_name(&settings, "service_tier");
                    self.read_context(&settings, out);
                }
            }
            Some("thread_name_updated") => {
                // A copied one names the parent.
                let own = event
                    .name("thread_id")
                    .is_none_or(|thread| *thread == *self.own_id());
                let title = event
                    .name("thread_name")
                    .filter(|_| own)
                    .map(Title::Generated);
                self.learn(
                    SessionFacts {
                        title,
                        ..SessionFacts::default()
                    },
                    out,
                );
            }
            _ => {}
        }
    }

    fn read_token_count(&mut self, event: &Object<'_>, at: Option<TimeMs>, out: &mut Output) {
        self.state
            .limits_told(event.get("rate_limits").map(RawValue::get));
        // Without it the event is only about rate limits.
        let Some(info) = event.object("info") else {
            return;
        };
        self.learn_window(&info, out);
        let Some(used) = usage::counted(&info, &mut self.state.totals) else {
            return;
        };
        let totals = self.state.totals.unwrap_or_default();
        let count = TokenCount { used, totals, at };
        let last_event = self.state.last_event;
        let assigned = self.state.answer.record_count(count, last_event);
        self.put_count(Some(assigned), out);
    }

    /// Puts out a count, maybe one that was put out before, with what a record behind it adds: its event, or a search.
    pub(super) fn put_count(&mut self, assigned: Option<AssignedCount>, out: &mut Output) {
        let Some(AssignedCount {
            count,
            web,
            event,
            is_certain,
        }) = assigned
        else {
            return;
        };
        let session = self.own_id();
        let identity = count.totals.bytes();
        let key = |scope: &str| EventKey::of(&[b"codex-usage", scope.as_bytes(), &identity]);
        let branch = self.state.branch().map(|branch| self.branch.share(branch));
        let tier = self.state.service_tier.as_deref();
        let model = self.state.model.as_deref().unwrap_or(UNKNOWN_MODEL);
        out.responses.push(Response {
            event,
            replaces_event: is_certain,
            branch,
            billing: Billing {
                service_tier: tier.map(|tier| self.tier.share(tier)),
                ..Billing::default()
            },
            key: key(&session),
            replay: self.state.replays.as_deref().map(key),
            session,
            at: count.at.or(self.state.began),
            model: self.model.share(model),
            usage: Usage {
                web_searches: web.searches,
                web_fetches: web.fetches,
                ..count.used.usage()
            },
        });
    }

    fn learn_window(&mut self, fields: &Object<'_>, out: &mut Output) {
        let context_window = telemetry::positive(fields, "model_context_window");
        if context_window.is_some() {
            let facts = SessionFacts {
                context_window,
                ..SessionFacts::default()
            };
            self.learn(facts, out);
        }
    }

    /// Puts out what is new about the session.
    pub(super) fn learn(&mut self, facts: SessionFacts, out: &mut Output) {
        if let Some(facts) = self.state.news(facts) {
            out.facts.push(SessionFacts {
                session: Some(self.own_id()),
                ..facts
            });
        }
    }
}

/// Returns the id that a session's own record names.
pub(super) fn session_id(meta: &Object<'_>) -> Option<String> {
    let id = meta.name("id").or_else(|| meta.name("session_id"))?;
    Some(bound_session_id(&id).into_owned())
}

/// A name as it may be remembered from record to record.
fn bounded_name(fields: &Object<'_>, name: &str) -> Option<String> {
    let name = fields.word(name).filter(|name| !name.is_empty())?;
    Some(bound_name(&name, MAX_NAME_BYTES).into_owned())
}

//! What API responses used. A response stands on several lines, each with its usage so far, and often in several files.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::content::Message;
use super::line::Line;
use super::object_field::ObjectField;
use super::transcript::{Names, Transcript};
use crate::record::Record;
use crate::repeated_keys::{blank_repeated_keys, is_repeated_key};
use crate::shared::{LastName, items, string};
use backstory_event::{Billing, EventKey, Output, Response, Usage};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Counts<'a> {
    #[serde(borrow)]
    input_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    output_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    cache_read_input_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    cache_creation_input_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    output_tokens_details: ObjectField<'a, Details<'a>>,
    #[serde(borrow)]
    cache_creation: ObjectField<'a, Details<'a>>,
    #[serde(borrow)]
    server_tool_use: ObjectField<'a, Details<'a>>,
    #[serde(borrow)]
    service_tier: Option<&'a RawValue>,
    #[serde(borrow)]
    speed: Option<&'a RawValue>,
    #[serde(borrow)]
    inference_geo: Option<&'a RawValue>,
    #[serde(borrow)]
    iterations: Option<&'a RawValue>,
    /// In an iteration: whose.
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    model: Option<&'a RawValue>,
}

/// Counts within a count.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Details<'a> {
    #[serde(borrow)]
    thinking_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    ephemeral_1h_input_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    web_search_requests: Option<&'a RawValue>,
    #[serde(borrow)]
    web_fetch_requests: Option<&'a RawValue>,
}

impl<'a> Counts<'a> {
    fn parse(json: &'a str) -> serde_json::Result<Self> {
        serde_json::from_str(json)
    }

    fn usage(&self) -> Usage {
        let number =
            |raw: Option<&RawValue>| raw.and_then(|raw| raw.get().parse().ok()).unwrap_or(0);
        let cache = self.cache_creation.object();
        let output = self.output_tokens_details.object();
        let requests = self.server_tool_use.object();
        let cache_write = number(self.cache_creation_input_tokens);
        Usage {
            input: number(self.input_tokens),
            output: number(self.output_tokens),
            cache_read: number(self.cache_read_input_tokens),
            cache_write,
            // The split is that of the first turn only where a response took several.
            cache_write_1h: number(cache.and_then(|cache| cache.ephemeral_1h_input_tokens))
                .min(cache_write),
            reasoning: number(output.and_then(|output| output.thinking_tokens)),
            web_searches: number(requests.and_then(|requests| requests.web_search_requests)),
            web_fetches: number(requests.and_then(|requests| requests.web_fetch_requests)),
        }
    }

    fn billing(&self, names: &mut Names) -> Billing {
        let share = |raw, known: &mut LastName| string(raw).map(|name| known.share(&name));
        Billing {
            service_tier: share(self.service_tier, &mut names.tiers),
            speed: share(self.speed, &mut names.speeds),
            inference_geo: share(self.inference_geo, &mut names.places),
        }
    }
}

impl Transcript {
    /// The response of an assistant line, or the one of a subagent that a progress line tells of.
    pub(super) fn responses(
        &mut self,
        line: &Line<'_>,
        session: &Arc<str>,
        first_event: Option<EventKey>,
        record: Record<'_>,
        out: &mut Output,
    ) {
        match &*line.kind() {
            "assistant" => self.response(line, session, first_event, record, out),
            "progress" => self.progress(line, record, out),
            _ => {}
        }
    }

    /// Versions 2.0.76 to 2.1.4x report each message of a subagent to the file that started it. Mostly the subagent has a file
    /// of its own, too; where that is gone, this is all that is left of what it used.
    fn progress(&mut self, line: &Line<'_>, record: Record<'_>, out: &mut Output) {
        let Some(progress) = line.data.object() else {
            return;
        };
        let (Some(agent), Some(raw)) = (string(progress.agent_id), progress.message) else {
            return;
        };
        let Ok(inner) = serde_json::from_str::<Line<'_>>(raw.get()) else {
            return;
        };
        if inner.kind() != "assistant" {
            return;
        }
        if let Some(child) = self.subagent(&agent, line, out) {
            self.response(&inner, &child, None, record, out);
        }
    }

    fn response(
        &mut self,
        line: &Line<'_>,
        session: &Arc<str>,
        first_event: Option<EventKey>,
        record: Record<'_>,
        out: &mut Output,
    ) {
        let Some(message) = line.message.object() else {
            return;
        };
        let blanked;
        let counts = match message.usage.map(|usage| Counts::parse(usage.get())) {
            Some(Err(error)) if is_repeated_key(&error) => {
                blanked = message
                    .usage
                    .and_then(|usage| blank_repeated_keys(usage.get()));
                blanked
                    .as_deref()
                    .and_then(|usage| Counts::parse(usage).ok())
            }
            counts => counts.and_then(Result::ok),
        };
        let (Some(counts), Some(model)) = (counts, string(message.model)) else {
            return;
        };
        if model == "<synthetic>" {
            return;
        }
        let key = response_key(line, message, session, record);
        let at = line.at();
        let (event, replaces_event) = self.state.place_of_response(key, first_event, session);
        let branch = line.branch();
        let branch = branch.map(|branch| self.names.branches.share(&branch));
        let billing = counts.billing(&mut self.names);
        let mut put = |key, model: &str, usage| {
            out.responses.push(Response {
                session: session.clone(),
                key,
                replay: None,
                event,
                replaces_event,
                branch: branch.clone(),
                billing: billing.clone(),
                at,
                model: self.names.models.share(model),
                usage,
            });
        };
        put(key, &model, counts.usage());
        // The counts are the sum over the model's own turns; an advisor that it asked on the way is counted nowhere else.
        let iterations = counts.iterations.map(items).unwrap_or_default();
        for (index, raw) in iterations.into_iter().enumerate() {
            let Ok(iteration) = serde_json::from_str::<Counts<'_>>(raw.get()) else {
                continue;
            };
            if let (Some("advisor_message"), Some(advisor)) =
                (string(iteration.kind).as_deref(), string(iteration.model))
            {
                let key = EventKey::of(&[
                    b"claude-advisor",
                    &key.0.to_le_bytes(),
                    &(index as u64).to_le_bytes(),
                ]);
                put(key, &advisor, iteration.usage());
            }
        }
    }
}

/// What makes a response the same one wherever its lines are copied to.
fn response_key(
    line: &Line<'_>,
    message: &Message<'_>,
    session: &str,
    record: Record<'_>,
) -> EventKey {
    let request = string(line.request_id).unwrap_or_default();
    match (
        string(message.id),
        string(line.uuid).filter(|uuid| !uuid.is_empty()),
    ) {
        (Some(id), _) => EventKey::of(&[b"claude-usage", id.as_bytes(), request.as_bytes()]),
        (None, Some(uuid)) => EventKey::of(&[b"claude-usage", uuid.as_bytes()]),
        (None, None) => EventKey::of(&[
            b"claude-usage",
            session.as_bytes(),
            b"line",
            record.json.as_bytes(),
        ]),
    }
}

//! The tokens of a turn.

use std::borrow::Cow;
use std::sync::Arc;

use super::Session;
use super::fields::Fields;
use super::note::Note;
use crate::record::Record;
use backstory_event::{Billing, EventKey, Output, Response, Usage};

impl Session {
    /// Puts out the tokens of a turn, by model.
    pub(super) fn usage(
        &mut self,
        note: &Note<'_>,
        session: &Arc<str>,
        record: Record<'_>,
        out: &mut Output,
    ) {
        let fields = note.fields();
        let Some(usage) = fields.get(&["usage"]) else {
            return;
        };
        let total = Fields::read(usage.get());
        let mut by_model: Vec<(Arc<str>, Usage)> = Fields::of(total.get(&["modelUsage"]))
            .iter()
            .map(|(model, usage)| (Arc::from(model), tokens(&Fields::read(usage.get()))))
            .collect();
        if by_model.is_empty() {
            by_model.push((
                self.model().unwrap_or_else(|| Arc::from("unknown")),
                tokens(&total),
            ));
        }
        let origin = note.origin().unwrap_or(Cow::Borrowed(session));
        let turn = match fields.text(&["prompt_id"]) {
            Some(prompt) => prompt.as_bytes().to_vec(),
            None => self
                .note_key(note, session, record)
                .0
                .to_le_bytes()
                .to_vec(),
        };
        for (model, usage) in by_model.into_iter().filter(|(_, usage)| usage.total() > 0) {
            let key = EventKey::of(&[b"grok-usage", origin.as_bytes(), &turn, model.as_bytes()]);
            out.responses.push(Response {
                session: session.clone(),
                key,
                replay: None,
                // The log counts a turn as a whole: what several models used is of one answer.
                event: self.state.answer.map(EventKey),
                replaces_event: false,
                branch: None,
                billing: Billing::default(),
                at: note.at,
                model,
                usage,
            });
        }
    }
}

fn tokens(usage: &Fields<'_>) -> Usage {
    let (cache_read, cache_write) = (
        usage.count("cachedReadTokens"),
        usage.count("cacheCreationTokens"),
    );
    Usage {
        // The log counts what came from caches in the input too.
        input: usage
            .count("inputTokens")
            .saturating_sub(cache_read)
            .saturating_sub(cache_write),
        output: usage.count("outputTokens"),
        cache_read,
        cache_write,
        reasoning: usage.count("reasoningTokens"),
        ..Usage::default()
    }
}

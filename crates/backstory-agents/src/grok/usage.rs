//! The tokens of a turn.

use std::borrow::Cow;
use std::sync::Arc;

use super::Session;
use super::fields::Fields;
use super::note::Note;
use crate::record::Record;
use backstory_event::{Billing, EventKey, Output, Response, UNKNOWN_MODEL, Usage};

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
        add_reasoning(&mut by_model, &tokens(&total));
        if by_model.is_empty() {
            by_model.push((
                self.model().unwrap_or_else(|| Arc::from(UNKNOWN_MODEL)),
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
                // The log counts a turn as a whole: what several models used is of one answer. A turn without one has its prompt.
                event: self.state.answer.or(self.state.last).map(EventKey),
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

/// Adds the reasoning of a turn to the model that answered, when only the turn's own counts have it. Those of some releases are
/// sums over turns: they are believed if their output is that of the models.
fn add_reasoning(by_model: &mut [(Arc<str>, Usage)], turn: &Usage) {
    let output = (by_model.iter()).fold(0, |sum: u64, (_, usage)| sum.saturating_add(usage.output));
    let is_known = by_model.iter().any(|(_, usage)| usage.reasoning > 0);
    if is_known || output != turn.output {
        return;
    }
    if let Some((_, usage)) = by_model.iter_mut().max_by_key(|(_, usage)| usage.output) {
        usage.reasoning = turn.reasoning.min(usage.output);
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

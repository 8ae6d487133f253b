//! Limits on names: ids, models, tools, branches and paths that logs and hooks give.
//!
//! They go into rows, listings and injected context, where a megabyte of "session id" would drown everything else. Longer ones keep
//! their beginning and get a hash of the whole, so that two that differ still differ. Content (what was said, asked and answered)
//! is not limited here.
//!
//! Output of readers passes `bound_output` in `record.rs`, input of hooks [`HookInput::bound_names`] after redaction: half a secret
//! is a secret that no rule knows.

use std::borrow::Cow;
use std::sync::Arc;

use crate::hook::{Happening, HookInput};
use crate::shared::cut;
use backstory_event::{
    Event, EventBody, Identity, Image, Output, Response, SessionFacts, TelemetryRecord, Title,
    Touch, TurnContext,
};

/// Maximum length of a session's id. Agents use UUIDs; a subagent's is that of its parent and its own.
pub const MAX_SESSION_ID_BYTES: usize = 200;
/// Maximum length of the id of a call, prompt or turn.
pub const MAX_CALL_ID_BYTES: usize = 200;
/// Maximum length of the name of a model, tool or hook event, and of words such as the reason that a session ended.
pub const MAX_NAME_BYTES: usize = 200;
/// Maximum length of a branch: file systems allow 255 bytes for each part of its name.
pub const MAX_BRANCH_BYTES: usize = 1024;
/// Maximum length of a path; Linux opens none that is longer.
pub const MAX_PATH_BYTES: usize = 4096;
/// Maximum length of the address of a remote repository.
pub const MAX_REMOTE_BYTES: usize = 4096;
/// Maximum length of a title. The store keeps the beginning of its first line.
pub const MAX_TITLE_BYTES: usize = 4096;
/// Maximum length of an agent's own record of a session. No part of one is JSON, so a longer one is not kept.
pub const MAX_META_BYTES: usize = 1 << 20;
/// Maximum length of the reason why a record could not be read.
pub const MAX_REASON_BYTES: usize = 1024;

/// What separates a parent's id from a subagent's.
const SUBAGENT: &str = "/agent-";

/// Returns a name of at most this many bytes: a longer one keeps its beginning, and ends with a hash of the whole.
pub(crate) fn bound_name(name: &str, max_bytes: usize) -> Cow<'_, str> {
    if name.len() <= max_bytes {
        return Cow::Borrowed(name);
    }
    let hash = blake3::hash(name.as_bytes()).to_hex();
    let hash = &hash[..16];
    let beginning = cut(name, max_bytes.saturating_sub(hash.len() + 1));
    Cow::Owned(format!("{beginning}~{hash}"))
}

/// Returns the id of a session within its limit. The ids of a parent and of its subagents stay related.
pub(crate) fn bound_session_id(id: &str) -> Cow<'_, str> {
    if id.len() <= MAX_SESSION_ID_BYTES {
        return Cow::Borrowed(id);
    }
    let whole = match id.rsplit_once(SUBAGENT) {
        Some((parent, subagent)) => {
            let parent = bound_name(parent, MAX_SESSION_ID_BYTES);
            Cow::Owned(format!("{parent}{SUBAGENT}{subagent}"))
        }
        None => Cow::Borrowed(id),
    };
    Cow::Owned(bound_name(&whole, MAX_SESSION_ID_BYTES).into_owned())
}

/// Numbers of entries of an output that are bounded already.
pub(crate) struct Bounded {
    events: usize,
    extensions: usize,
    responses: usize,
    telemetry: usize,
    facts: usize,
    skipped: usize,
}

impl Bounded {
    pub(crate) fn up_to(output: &Output) -> Self {
        Bounded {
            events: output.events.len(),
            extensions: output.extensions.len(),
            responses: output.responses.len(),
            telemetry: output.telemetry.len(),
            facts: output.facts.len(),
            skipped: output.skipped.len(),
        }
    }
}

/// Bounds the names in all entries that came after `before`.
pub(crate) fn bound_output(output: &mut Output, before: &Bounded) {
    for event in output.events.iter_mut().skip(before.events) {
        bound_event(event);
    }
    for extension in output.extensions.iter_mut().skip(before.extensions) {
        bound_identity(&mut extension.identity);
        bound_option(&mut extension.stop_reason, MAX_NAME_BYTES);
    }
    for response in output.responses.iter_mut().skip(before.responses) {
        bound_response(response);
    }
    for TelemetryRecord { session, .. } in output.telemetry.iter_mut().skip(before.telemetry) {
        bound_session(session);
    }
    for facts in output.facts.iter_mut().skip(before.facts) {
        bound_facts(facts);
    }
    for skipped in output.skipped.iter_mut().skip(before.skipped) {
        bound(&mut skipped.reason, MAX_REASON_BYTES);
    }
}

fn bound_event(event: &mut Event) {
    bound_session(&mut event.session);
    if let Some(model) = &mut event.model {
        bound_shared(model, MAX_NAME_BYTES);
    }
    bound_option(&mut event.tool, MAX_NAME_BYTES);
    bound_touches(&mut event.touches);
    bound_body(&mut event.body);
}

/// Bounds the names in a body. Readers bound those that they read again in the same way, so that both are equal.
pub(crate) fn bound_body(body: &mut EventBody) {
    bound_identity(&mut body.identity);
    bound_option(&mut body.status, MAX_NAME_BYTES);
    bound_option(&mut body.stop_reason, MAX_NAME_BYTES);
    bound_option(&mut body.effort, MAX_NAME_BYTES);
    for Image {
        media_type, source, ..
    } in &mut body.images
    {
        bound_option(media_type, MAX_NAME_BYTES);
        bound_option(source, MAX_PATH_BYTES);
    }
    if let Some(context) = &mut body.context {
        bound_context(context);
    }
}

fn bound_identity(identity: &mut Identity) {
    bound_option(&mut identity.uuid, MAX_CALL_ID_BYTES);
    bound_option(&mut identity.parent_uuid, MAX_CALL_ID_BYTES);
    bound_option(&mut identity.tool_use_id, MAX_CALL_ID_BYTES);
}

/// Bounds the names in the settings of a turn.
pub(crate) fn bound_context(context: &mut TurnContext) {
    bound_option(&mut context.cwd, MAX_PATH_BYTES);
    bound_option(&mut context.branch, MAX_BRANCH_BYTES);
    let words = [
        &mut context.model,
        &mut context.effort,
        &mut context.approval_policy,
        &mut context.sandbox_mode,
        &mut context.permission_mode,
        &mut context.collaboration_mode,
        &mut context.agent_version,
    ];
    for word in words {
        bound_option(word, MAX_NAME_BYTES);
    }
}

fn bound_response(response: &mut Response) {
    bound_session(&mut response.session);
    bound_shared(&mut response.model, MAX_NAME_BYTES);
    if let Some(branch) = &mut response.branch {
        bound_shared(branch, MAX_BRANCH_BYTES);
    }
    let billing = &mut response.billing;
    let words = [
        &mut billing.service_tier,
        &mut billing.speed,
        &mut billing.inference_geo,
    ];
    for word in words.into_iter().flatten() {
        bound_shared(word, MAX_NAME_BYTES);
    }
}

fn bound_facts(facts: &mut SessionFacts) {
    if let Some(session) = &mut facts.session {
        bound_session(session);
    }
    bound_option(&mut facts.cwd, MAX_PATH_BYTES);
    bound_option(&mut facts.branch, MAX_BRANCH_BYTES);
    bound_option(&mut facts.repository, MAX_PATH_BYTES);
    bound_option(&mut facts.remote, MAX_REMOTE_BYTES);
    bound_option(&mut facts.agent_version, MAX_NAME_BYTES);
    bound_option(&mut facts.permission_mode, MAX_NAME_BYTES);
    facts.meta.take_if(|meta| meta.len() > MAX_META_BYTES);
    if let Some(Title::Prompt(title) | Title::Generated(title) | Title::Given(title)) =
        &mut facts.title
    {
        bound(title, MAX_TITLE_BYTES);
    }
    if let Some(parent) = &mut facts.parent
        && let Cow::Owned(bounded) = bound_session_id(&parent.session)
    {
        parent.session = bounded;
    }
}

impl HookInput {
    /// Bounds all names as those of logs are bounded. The path of a log that no system could open is dropped.
    pub fn bound_names(&mut self) {
        if let Some(session) = &mut self.session
            && let Cow::Owned(bounded) = bound_session_id(session)
        {
            *session = bounded;
        }
        if self.event.len() > MAX_NAME_BYTES {
            self.event = bound_name(&self.event, MAX_NAME_BYTES).into_owned().into();
        }
        self.transcript.take_if(|path| path.len() > MAX_PATH_BYTES);
        bound_option(&mut self.cwd, MAX_PATH_BYTES);
        match &mut self.happening {
            Happening::Prompted { id, .. } | Happening::Omitted { id, .. } => {
                bound_option(id, MAX_CALL_ID_BYTES);
            }
            Happening::ToolUsed(tool) => {
                bound(&mut tool.name, MAX_NAME_BYTES);
                bound_option(&mut tool.id, MAX_CALL_ID_BYTES);
                bound_touches(&mut tool.touches);
            }
            Happening::Started { source: word }
            | Happening::Compacting { trigger: word }
            | Happening::Ended { reason: word } => bound_option(word, MAX_NAME_BYTES),
            Happening::Replied { .. } | Happening::Stopped { .. } | Happening::Other => {}
        }
    }
}

fn bound(name: &mut String, max_bytes: usize) {
    if let Cow::Owned(bounded) = bound_name(name, max_bytes) {
        *name = bounded;
    }
}

fn bound_option(name: &mut Option<String>, max_bytes: usize) {
    if let Some(name) = name {
        bound(name, max_bytes);
    }
}

fn bound_shared(name: &mut Arc<str>, max_bytes: usize) {
    if let Cow::Owned(bounded) = bound_name(name, max_bytes) {
        *name = bounded.into();
    }
}

fn bound_session(session: &mut Arc<str>) {
    if let Cow::Owned(bounded) = bound_session_id(session) {
        *session = bounded.into();
    }
}

fn bound_touches(touches: &mut [Touch]) {
    for touch in touches {
        bound(&mut touch.path, MAX_PATH_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_within_their_limit_stay_and_longer_ones_still_differ() {
        let limit = "x".repeat(40);
        assert_eq!(bound_name(&limit, 40), limit);
        let (one, other) = ("é".repeat(30), format!("{}a", "é".repeat(30)));
        let (one, other) = (bound_name(&one, 40), bound_name(&other, 40));
        assert!(one.len() <= 40 && other.len() <= 40 && one != other);
        assert!(one.starts_with("ééé"));
        // Bounded again, it is the same.
        assert_eq!(bound_name(&one, 40), one);
    }

    #[test]
    fn subagents_are_named_alike_whoever_bounds_the_parent_first() {
        let parent = "p".repeat(1 << 20);
        let whole = format!("{parent}/agent-a1");
        let from_bounded = format!("{}/agent-a1", bound_session_id(&parent));
        let bounded = bound_session_id(&whole);
        assert_eq!(bounded, bound_session_id(&from_bounded));
        assert!(bounded.len() <= MAX_SESSION_ID_BYTES);
        assert_ne!(bounded, bound_session_id(&parent));
        let short = "0198-uuid/agent-a1";
        assert!(matches!(bound_session_id(short), Cow::Borrowed(id) if id == short));
    }
}

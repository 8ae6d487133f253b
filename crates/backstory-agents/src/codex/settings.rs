//! Settings of turns, as `turn_context` records and thread settings name them.

use serde_json::value::RawValue;

use crate::object::{Object, string};
use backstory_event::TurnContext;

/// Reads the settings of a turn or thread.
pub(super) fn read_settings(fields: &Object<'_>) -> TurnContext {
    let sandbox = fields.object("sandbox_policy");
    let mode = fields.object("collaboration_mode");
    let mode_effort = || {
        let settings = mode.as_ref()?.object("settings")?;
        settings.name("reasoning_effort")
    };
    let policy = approval_policy(fields);
    TurnContext {
        cwd: fields.name("cwd"),
        branch: None,
        model: fields.name("model"),
        effort: fields
            .name("effort")
            .or_else(|| fields.name("reasoning_effort"))
            .or_else(mode_effort),
        approval_policy: policy.clone(),
        sandbox_mode: fields
            .name("sandbox_policy")
            .or_else(|| sandbox.as_ref().and_then(variant_name)),
        network_access: network_access(fields, sandbox.as_ref()),
        // What is allowed is what Codex does not ask for.
        permission_mode: policy,
        collaboration_mode: fields
            .name("collaboration_mode")
            .or_else(|| mode.as_ref()?.name("mode")),
        agent_version: None,
    }
}

/// Reads what the session's own record says of the turns behind it.
pub(super) fn read_session_settings(meta: &Object<'_>) -> TurnContext {
    TurnContext {
        cwd: meta.name("cwd"),
        branch: branch_name(meta),
        agent_version: meta.name("cli_version"),
        ..TurnContext::default()
    }
}

/// Returns the git branch that a session's own record names.
pub(super) fn branch_name(meta: &Object<'_>) -> Option<String> {
    meta.object("git")?.name("branch")
}

/// Returns when Codex asks before it acts.
pub(super) fn approval_policy(fields: &Object<'_>) -> Option<String> {
    let policy = fields.object("approval_policy");
    fields
        .name("approval_policy")
        .or_else(|| policy.as_ref().and_then(variant_name))
}

/// Returns the name of a variant with fields: `{"type":"x",…}`, `{"mode":"x",…}`, `{"x":{…}}`.
fn variant_name(fields: &Object<'_>) -> Option<String> {
    let tag = fields.name("type").or_else(|| fields.name("mode"));
    tag.or_else(|| fields.fields().next().map(|(name, _)| name.to_string()))
}

/// The sandbox says it as a boolean or a word; profiles, which have taken its place since, as a word.
fn network_access(fields: &Object<'_>, sandbox: Option<&Object<'_>>) -> Option<bool> {
    let of_sandbox = sandbox.and_then(|sandbox| is_enabled(sandbox.get("network_access")?));
    of_sandbox.or_else(|| is_enabled(fields.object("permission_profile")?.get("network")?))
}

fn is_enabled(value: &RawValue) -> Option<bool> {
    match (value.get(), string(value).as_deref()) {
        ("true", _) | (_, Some("enabled")) => Some(true),
        ("false", _) | (_, Some("restricted")) => Some(false),
        _ => None,
    }
}

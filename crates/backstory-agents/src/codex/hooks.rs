//! Hooks of Codex. It has no events for calls that fail or are denied: PostToolUse comes for commands that fail, too, with what they printed and
//! without their exit code, so that only the log tells that they failed.
//!
//! Checked against the sources of openai/codex (`codex-rs/hooks`), August 2026, and with version 0.169.0.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::call;
use super::message::request;
use crate::hook::dialect::{Certainty, HookDialect, ToolEffects};
use crate::hook::fields::{has_log_below, name};
use crate::hook::registration::{
    HookLayout, HookRegistration, InstallPlace, PluginFacts, PluginLayout, TimeoutUnit,
};
use crate::object::Object;
use crate::reader::{SourceName, trailing_uuid};
use crate::shared::kept;

/// The hooks of Codex.
pub(crate) struct CodexHooks;

/// The file with hooks, below the plugin.
const PLUGIN_HOOKS: &str = "hooks/codex.json";

static REGISTRATION: HookRegistration = HookRegistration {
    variable: Some("CODEX_HOME"),
    folder: ".codex",
    file: "hooks.json",
    layout: HookLayout::Grouped,
    events: &[
        "SessionStart",
        "UserPromptSubmit",
        "PostToolUse",
        "PreCompact",
        "Stop",
        "SubagentStop",
        "SessionEnd",
    ],
    timeout_unit: TimeoutUnit::Seconds,
    note: Some("Codex runs new hooks only once they are trusted: allow them when it asks"),
    also_runs: None,
    plugin: Some(PluginLayout {
        manifest: ".codex-plugin/plugin.json",
        manifest_fields,
        // It reads what the manifest names, and nothing else.
        hooks: PLUGIN_HOOKS,
        marketplace: ".agents/plugins/marketplace.json",
        marketplace_fields,
        install_place: InstallPlace::Shell,
        install_commands: &[
            "codex plugin marketplace add DIR",
            "codex plugin add PLUGIN@PLUGIN",
        ],
    }),
};

fn manifest_fields(plugin: &PluginFacts<'_>) -> Map<String, Value> {
    let interface = json!({
        "displayName": plugin.title,
        "shortDescription": plugin.short_description,
        "longDescription": plugin.description,
        "developerName": plugin.title,
        "category": "Productivity",
    });
    Map::from_iter([
        ("skills".to_string(), json!("./skills/")),
        ("hooks".to_string(), json!(format!("./{PLUGIN_HOOKS}"))),
        ("interface".to_string(), interface),
    ])
}

fn marketplace_fields(plugin: &PluginFacts<'_>) -> Value {
    json!({
        "name": plugin.name,
        "interface": { "displayName": plugin.title },
        "plugins": [{
            "name": plugin.name,
            "source": { "source": "local", "path": format!("./{}", plugin.name) },
            "policy": { "installation": "AVAILABLE", "authentication": "ON_INSTALL" },
            "category": "Productivity",
        }],
    })
}

impl HookDialect for CodexHooks {
    fn registration(&self) -> &'static HookRegistration {
        &REGISTRATION
    }

    fn recognize(&self, _event: Option<&str>, input: &Object<'_>) -> Certainty {
        let transcript = name(input, self.fields().transcript).unwrap_or_default();
        let log = transcript.rsplit(['/', '\\']).next().unwrap_or_default();
        match input.has("turn_id") || has_log_below(input, ".codex") || log.starts_with("rollout-")
        {
            true => Certainty::Likely,
            false => Certainty::Unknown,
        }
    }

    /// A subagent is a thread of its own, with a log that is named after it; the session id is that of the first thread.
    fn session_id(&self, input: &Object<'_>, transcript: Option<&str>) -> Option<String> {
        let log = SourceName {
            path: Path::new(transcript.unwrap_or_default()),
        };
        let thread = name(input, &["agent_id"]).filter(|id| trailing_uuid(id).is_some());
        thread
            .or_else(|| trailing_uuid(log.stem()).map(|id| id.to_string()))
            .or_else(|| name(input, self.fields().session))
    }

    fn prompt_text(&self, raw: &str) -> Option<String> {
        request(raw).and_then(kept)
    }

    /// Hooks know its shells as `Bash` and get patches as a command.
    fn tool_effects(&self, tool: &str, input: &str) -> ToolEffects {
        let fields = Object::parse(input).ok();
        let command = fields.as_ref().and_then(|fields| fields.get("command"));
        let effects = match (tool, command) {
            ("Bash", Some(command)) => call::of_command(command),
            ("apply_patch", Some(patch)) => call::Effects {
                command: None,
                touches: call::of_command(patch).touches,
            },
            _ => match serde_json::from_str::<String>(input) {
                Ok(text) => call::of_input(tool, &text),
                Err(_) => call::of_arguments(tool, input),
            },
        };
        ToolEffects {
            name: None,
            command: effects.command,
            touches: effects.touches,
        }
    }
}

//! Hooks of Claude Code, whose names and fields others took over.
//!
//! Checked with version 2.1.197 and its documentation, November 2026.

use std::path::Path;

use serde_json::value::RawValue;
use serde_json::{Map, json};

use super::content::typed;
use super::session::FileIds;
use super::tools;
use crate::hook::dialect::{HookDialect, ToolEffects};
use crate::hook::fields::name;
use crate::hook::registration::{
    HookLayout, HookRegistration, InstallPlace, PluginFacts, PluginLayout, TimeoutUnit,
};
use crate::object::Object;
use crate::reader::SourceName;
use crate::shared::kept;

/// The hooks of Claude Code.
pub(crate) struct ClaudeHooks;

/// Where its hooks are registered.
pub(super) static REGISTRATION: HookRegistration = HookRegistration {
    variable: Some("CLAUDE_CONFIG_DIR"),
    folder: ".claude",
    file: "settings.json",
    layout: HookLayout::Grouped,
    events: &[
        "SessionStart",
        "UserPromptSubmit",
        "PostToolUse",
        // Neither a call that fails nor one that is denied comes with PostToolUse.
        "PostToolUseFailure",
        "PermissionDenied",
        "PreCompact",
        "Stop",
        "SubagentStop",
        "SessionEnd",
    ],
    timeout_unit: TimeoutUnit::Seconds,
    note: None,
    also_runs: None,
    plugin: Some(PluginLayout {
        manifest: ".claude-plugin/plugin.json",
        manifest_fields: |_| Map::new(),
        // It reads this file unasked.
        hooks: "hooks/hooks.json",
        marketplace: ".claude-plugin/marketplace.json",
        marketplace_fields,
        install_place: InstallPlace::Session,
        install_commands: &[
            "/plugin marketplace add DIR",
            "/plugin install PLUGIN@PLUGIN",
        ],
    }),
};

fn marketplace_fields(plugin: &PluginFacts<'_>) -> serde_json::Value {
    json!({
        "name": plugin.name,
        "description": plugin.description,
        "owner": { "name": plugin.title },
        "plugins": [{
            "name": plugin.name,
            "source": format!("./{}", plugin.name),
            "description": plugin.description,
        }],
    })
}

impl HookDialect for ClaudeHooks {
    fn registration(&self) -> &'static HookRegistration {
        &REGISTRATION
    }

    fn session_id(&self, input: &Object<'_>, transcript: Option<&str>) -> Option<String> {
        let file = FileIds::of(&SourceName {
            path: Path::new(transcript.unwrap_or_default()),
        });
        let id = || name(input, self.fields().session);
        let session = file.session.as_deref().map(str::to_string).or_else(id)?;
        let subagent = name(input, &["agent_id"]).or(file.agent);
        Some(match subagent {
            Some(subagent) => format!("{session}/agent-{subagent}"),
            None => session,
        })
    }

    fn prompt_text(&self, raw: &str) -> Option<String> {
        typed(raw).and_then(|text| kept(&text))
    }

    fn tool_effects(&self, tool: &str, input: &str) -> ToolEffects {
        let raw: Option<&RawValue> = serde_json::from_str(input).ok();
        let asked = tools::input(tool, raw);
        ToolEffects {
            name: None,
            command: asked.command,
            touches: asked.touches,
        }
    }
}

//! Our hooks and a skill as a plugin that agents install by themselves.
//!
//! Agents share the folder of the plugin, for they read the same skill, and each has a manifest of its own beside those of the
//! others. Hooks say which agent calls, so each has its own. Around the plugin is a marketplace for each, which is what they install
//! from.
//!
//! Checked on 2026-11-16: Claude Code's plugin and marketplace reference (code.claude.com/docs), the loader of plugins of openai/codex
//! (`codex-rs/core-plugins`), and the specification of skills (agentskills.io). Claude Code 2.1.197 validates and installs what is made
//! here; so does Codex 0.166.0, and it lists the hooks of its own file and no others.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use backstory_agents::HookAgent;
use backstory_agents::hook::{InstallPlace, PluginFacts, PluginLayout};
use serde_json::{Value, json};

use super::{SetupOptions, SetupStatus, file, hooks_of, is_set_up};
use crate::trusted::check_below;
use crate::whole::write_whole;

/// Name of the plugin and of its marketplace.
const PLUGIN: &str = "backstory";

/// What manifests say of the plugin.
const FACTS: PluginFacts<'static> = PluginFacts {
    name: PLUGIN,
    title: "Backstory",
    short_description: "The memory of your coding agents",
    description: "The memory of your coding agents: what was done, decided and learned in earlier sessions",
};

/// What every version of our skill has.
const SKILL_MARK: &str = "name: mem-search\n";

/// What became of a folder with a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginOutcome {
    /// What was done.
    pub status: SetupStatus,
    /// The files of the plugin and its marketplaces.
    pub files: Vec<PathBuf>,
    /// The agents that have our hooks in their own files as well.
    pub set_up: Vec<&'static str>,
    /// How each agent installs it.
    pub installs: Vec<PluginInstall>,
    /// What people must know of the hooks.
    pub notes: Vec<&'static str>,
}

/// How an agent installs the plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginInstall {
    /// Name of the agent for people.
    pub title: &'static str,
    /// Where the commands are typed.
    pub place: InstallPlace,
    /// The commands; `DIR` stands for the folder.
    pub commands: Vec<String>,
}

/// Why no plugin was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginRefused {
    /// The file in the way.
    pub file: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

/// Makes a plugin in a folder, or brings the one that is there up to date. Files of others are refused before anything is written.
pub fn make_plugin(
    folder: &Path,
    options: &SetupOptions<'_>,
) -> Result<PluginOutcome, PluginRefused> {
    let refuse = |file: &Path, reason: String| PluginRefused {
        file: file.to_path_buf(),
        reason,
    };
    if folder.exists() && !folder.is_dir() {
        return Err(refuse(folder, "it is no folder".to_string()));
    }
    let (mut files, mut changed) = (Vec::new(), Vec::new());
    let mut status = SetupStatus::Installed;
    for made in files_of_plugin(options) {
        let path = folder.join(&made.path);
        check_below(folder, &made.path).map_err(|(part, reason)| refuse(&part, reason))?;
        let before = file::read(&path).map_err(|reason| refuse(&path, reason))?;
        if before
            .as_ref()
            .is_some_and(|before| !made.is_another_version_of(before))
        {
            return Err(refuse(&path, "it is there, and not ours".to_string()));
        }
        if before.as_ref() != Some(&made.text) {
            if file::is_read_only(&path) {
                return Err(refuse(&path, "it is read-only".to_string()));
            }
            changed.push((path.clone(), made.text));
        }
        if before.is_some() {
            status = SetupStatus::Updated;
        }
        files.push(path);
    }
    if changed.is_empty() {
        status = SetupStatus::Unchanged;
    }
    if !options.dry_run {
        for (path, text) in &changed {
            write_whole(path, text.as_bytes()).map_err(|error| refuse(path, error.to_string()))?;
        }
    }
    let has_hooks = |agent: HookAgent| {
        let file = agent.registration.file_path(options.places, None);
        is_set_up(agent, &file, options)
    };
    let mut outcome = PluginOutcome {
        status,
        files,
        set_up: Vec::new(),
        installs: Vec::new(),
        notes: Vec::new(),
    };
    for (agent, layout) in plugin_agents() {
        if has_hooks(agent) {
            outcome.set_up.push(agent.agent.name);
        }
        outcome.notes.extend(agent.registration.note);
        let commands = layout.install_commands.iter();
        outcome.installs.push(PluginInstall {
            title: agent.agent.title,
            place: layout.install_place,
            commands: commands
                .map(|command| command.replace("PLUGIN", PLUGIN))
                .collect(),
        });
    }
    Ok(outcome)
}

/// A file of the plugin.
struct Made {
    /// Below the folder.
    path: PathBuf,
    text: String,
}

impl Made {
    /// Whether a text is this file as an older or newer version of us would make it. What tells is never changed.
    fn is_another_version_of(&self, text: &str) -> bool {
        let Ok(ours) = serde_json::from_str::<Value>(&self.text) else {
            return text.contains(SKILL_MARK);
        };
        let theirs: Value = serde_json::from_str(text).unwrap_or_default();
        // Files of hooks have no name.
        let key = ["name", "description"]
            .into_iter()
            .find(|key| ours.get(key).is_some());
        key.is_some_and(|key| theirs.get(key) == ours.get(key))
    }
}

/// The agents that install plugins, with the files that they want.
fn plugin_agents() -> impl Iterator<Item = (HookAgent, &'static PluginLayout)> {
    HookAgent::all().filter_map(|agent| Some((agent, agent.registration.plugin.as_ref()?)))
}

fn files_of_plugin(options: &SetupOptions<'_>) -> Vec<Made> {
    let mut files = Vec::new();
    for (_, layout) in plugin_agents() {
        files.push(made(
            layout.marketplace,
            &(layout.marketplace_fields)(&FACTS),
        ));
    }
    for (agent, layout) in plugin_agents() {
        let mut manifest = json!({
            "name": PLUGIN,
            "version": env!("CARGO_PKG_VERSION"),
            "description": FACTS.description,
            "author": { "name": FACTS.title },
            "license": "MIT OR Apache-2.0",
            "keywords": ["memory", "history", "search"],
        });
        if let Some(manifest) = manifest.as_object_mut() {
            manifest.extend((layout.manifest_fields)(&FACTS));
        }
        files.push(made(&format!("{PLUGIN}/{}", layout.manifest), &manifest));
        let name = agent.agent.name;
        let described = format!("Backstory is told what happens in sessions of {name}");
        let handlers = hooks_of(agent, options).handlers();
        let hooks_file = json!({ "description": described, "hooks": handlers });
        files.push(made(&format!("{PLUGIN}/{}", layout.hooks), &hooks_file));
    }
    files.push(Made {
        path: format!("{PLUGIN}/skills/mem-search/SKILL.md").into(),
        text: include_str!("SKILL.md").replace("{program}", options.program),
    });
    files
}

fn made(path: &str, value: &Value) -> Made {
    Made {
        path: path.into(),
        text: format!("{value:#}\n"),
    }
}

//! How an agent is told to call hooks: which file, which events, in which form.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::event::{EventMeaning, meaning_of};
use crate::reader::Places;

/// Where and how hooks of an agent are registered.
#[derive(Debug, Clone)]
pub struct HookRegistration {
    /// Variable that moves the agent's folder.
    pub variable: Option<&'static str>,
    /// The agent's folder, below home and below a project.
    pub folder: &'static str,
    /// File with hooks, below that folder.
    pub file: &'static str,
    /// How hooks are written down.
    pub layout: HookLayout,
    /// Events that are registered, as the agent spells them.
    pub events: &'static [&'static str],
    /// Unit of timeouts.
    pub timeout_unit: TimeoutUnit,
    /// What people must know once hooks are there.
    pub note: Option<&'static str>,
    /// Hooks of another agent that this one runs as well.
    pub also_runs: Option<ForeignHooks>,
    /// How the agent installs plugins; `None` when it has none that we make.
    pub plugin: Option<PluginLayout>,
}

/// How hooks are written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookLayout {
    /// An event has groups, a group has handlers: `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":…}]}]}}`.
    Grouped,
    /// An event has handlers, and the file a version: `{"version":1,"hooks":{"stop":[{"command":…}]}}`.
    Flat,
}

/// Unit of timeouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeoutUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
}

/// Hooks of another agent that an agent runs as well.
#[derive(Debug, Clone, Copy)]
pub struct ForeignHooks {
    /// Name of the other agent.
    pub agent: &'static str,
    /// The file that they are read from, below home, whatever the other agent has been told of its own folder.
    pub file: &'static str,
}

/// The files by which an agent installs a plugin.
#[derive(Debug, Clone, Copy)]
pub struct PluginLayout {
    /// Manifest of the plugin, below the plugin.
    pub manifest: &'static str,
    /// Fields that the manifest has besides those of all agents.
    pub manifest_fields: fn(&PluginFacts<'_>) -> Map<String, Value>,
    /// File with hooks, below the plugin.
    pub hooks: &'static str,
    /// Index of the marketplace, beside the plugin.
    pub marketplace: &'static str,
    /// Content of that index.
    pub marketplace_fields: fn(&PluginFacts<'_>) -> Value,
    /// Where the commands are typed that install it.
    pub install_place: InstallPlace,
    /// These commands: `DIR` stands for the folder, `PLUGIN` for the name of plugin and marketplace.
    pub install_commands: &'static [&'static str],
}

/// Where the commands are typed that install a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallPlace {
    /// In a session of the agent.
    Session,
    /// In a shell.
    Shell,
}

/// What manifests say of a plugin.
#[derive(Debug, Clone, Copy)]
pub struct PluginFacts<'a> {
    /// Name of the plugin and its marketplace.
    pub name: &'a str,
    /// Name for people.
    pub title: &'a str,
    /// What it is, in a few words.
    pub short_description: &'a str,
    /// What it is, in a sentence.
    pub description: &'a str,
}

/// Number of seconds that an agent waits for a hook at most.
const MAX_WAIT_SECONDS: u32 = 5;
/// The same for the end of a session: who leaves does not wait.
const MAX_WAIT_AT_END_SECONDS: u32 = 1;

impl HookRegistration {
    /// Returns the folder that tells whether the agent is used here.
    pub fn folder_path(&self, places: &Places<'_>) -> PathBuf {
        let moved = self
            .variable
            .map(|variable| places.from_variable_or_home(variable, self.folder));
        // Several are separated by commas; the agent writes to the first.
        let first = moved.and_then(|folders| folders.into_iter().next());
        first.unwrap_or_else(|| places.home.join(self.folder))
    }

    /// Returns the file with hooks: of a project if there is one given, else of the user.
    pub fn file_path(&self, places: &Places<'_>, project: Option<&Path>) -> PathBuf {
        match project {
            Some(project) => project.join(self.folder).join(self.file),
            None => self.folder_path(places).join(self.file),
        }
    }

    /// Returns how long an event may take, in the agent's unit.
    pub fn timeout(&self, event: &str) -> u32 {
        let seconds = match meaning_of(event) {
            EventMeaning::Ended => MAX_WAIT_AT_END_SECONDS,
            _ => MAX_WAIT_SECONDS,
        };
        match self.timeout_unit {
            TimeoutUnit::Seconds => seconds,
            TimeoutUnit::Milliseconds => seconds * 1000,
        }
    }
}

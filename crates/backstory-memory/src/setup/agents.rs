//! The agents that can call us, and where and how each wants to be told.

use std::path::{Path, PathBuf};

use backstory_agents::Places;

/// An agent that runs hooks.
#[derive(Debug, Clone)]
pub struct HookAgent {
    /// What it is called in commands.
    pub name: &'static str,
    /// The variable that moves its folder.
    variable: Option<&'static str>,
    /// Its folder, below home and below a project.
    folder: &'static str,
    /// The file with hooks, below its folder.
    file: &'static str,
    pub(super) shape: Shape,
    /// What we want to hear of, as the agent spells it.
    pub(super) events: &'static [&'static str],
    pub(super) unit: Unit,
    /// What people must know once hooks are there.
    pub(super) note: Option<&'static str>,
}

/// How hooks are written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// An event has groups, a group has handlers: `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":…}]}]}}`.
    Grouped,
    /// An event has handlers, and the file a version: `{"version":1,"hooks":{"stop":[{"command":…}]}}`.
    Flat,
}

/// What timeouts are counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    Milliseconds,
}

/// The events of Claude Code, which others took over.
const CLAUDE_EVENTS: &[&str] = &[
    "SessionStart",
    "UserPromptSubmit",
    "PostToolUse",
    "PreCompact",
    "Stop",
    "SubagentStop",
    "SessionEnd",
];

/// All agents that run hooks. Grok comes after Claude Code, whose hooks it runs too.
pub static HOOK_AGENTS: &[HookAgent] = &[
    HookAgent {
        name: "claude-code",
        variable: Some("CLAUDE_CONFIG_DIR"),
        folder: ".claude",
        file: "settings.json",
        shape: Shape::Grouped,
        events: CLAUDE_EVENTS,
        unit: Unit::Seconds,
        note: None,
    },
    HookAgent {
        name: "codex",
        variable: Some("CODEX_HOME"),
        folder: ".codex",
        file: "hooks.json",
        shape: Shape::Grouped,
        events: CLAUDE_EVENTS,
        unit: Unit::Seconds,
        note: Some("Codex runs new hooks only once they are trusted: allow them when it asks"),
    },
    HookAgent {
        name: "gemini",
        variable: None,
        folder: ".gemini",
        file: "settings.json",
        shape: Shape::Grouped,
        events: &[
            "SessionStart",
            "BeforeAgent",
            "AfterTool",
            "PreCompress",
            "AfterAgent",
            "SessionEnd",
        ],
        unit: Unit::Milliseconds,
        note: None,
    },
    HookAgent {
        name: GROK,
        variable: Some("GROK_HOME"),
        folder: ".grok",
        file: "hooks/backstory.json",
        shape: Shape::Grouped,
        events: CLAUDE_EVENTS,
        unit: Unit::Seconds,
        note: None,
    },
    HookAgent {
        name: "cursor",
        variable: None,
        folder: ".cursor",
        file: "hooks.json",
        shape: Shape::Flat,
        events: &[
            "sessionStart",
            "beforeSubmitPrompt",
            // Not afterFileEdit and afterShellExecution besides: they tell the same again, without an id.
            "postToolUse",
            "preCompact",
            "stop",
            "subagentStop",
            "sessionEnd",
        ],
        unit: Unit::Seconds,
        note: None,
    },
];

/// It runs the hooks of Claude Code as well.
pub(super) const GROK: &str = "grok";

/// Where Grok looks for the hooks of Claude Code, whatever that has been told of its own folder.
pub(super) fn claude_file_of_grok(home: &Path) -> PathBuf {
    home.join(".claude/settings.json")
}

impl HookAgent {
    /// The folder that tells whether the agent is used here.
    pub fn folder(&self, places: &Places<'_>) -> PathBuf {
        let moved = self
            .variable
            .map(|variable| places.from_variable_or_home(variable, self.folder));
        // Several are separated by commas; the agent writes to the first.
        let first = moved.and_then(|folders| folders.into_iter().next());
        first.unwrap_or_else(|| places.home.join(self.folder))
    }

    /// The file with hooks: of a project if there is one given, else of the user.
    pub fn file(&self, places: &Places<'_>, project: Option<&Path>) -> PathBuf {
        match project {
            Some(project) => project.join(self.folder).join(self.file),
            None => self.folder(places).join(self.file),
        }
    }

    /// How long an event may take, in the agent's unit.
    pub(super) fn timeout(&self, event: &str) -> u32 {
        // Who leaves does not wait.
        let seconds = if event.eq_ignore_ascii_case("SessionEnd") {
            1
        } else {
            5
        };
        match self.unit {
            Unit::Seconds => seconds,
            Unit::Milliseconds => seconds * 1000,
        }
    }
}

//! The table of agents. Help, completions, docs, set-up, samples, fuzzing and tests are derived from it.

use std::fmt;

use crate::hook::{HookDialect, HookRegistration};
use crate::reader::Reader;
use crate::resume::Resume;
use crate::retention::LogLifetime;
use crate::sample::SampleLogs;
#[cfg(feature = "test-agents")]
use crate::toy;
use crate::{claude_code, codex, cursor, gemini, grok};

/// A coding agent: everything that differs between it and others.
pub struct Agent {
    /// Name in the store, in JSON and on the command line.
    pub name: &'static str,
    /// Other names that people may type.
    pub aliases: &'static [&'static str],
    /// Name of the product, for sentences.
    pub title: &'static str,
    /// Reads its logs; `None` when they are not read.
    pub reader: Option<&'static dyn Reader>,
    /// Understands and registers its hooks; `None` when it has none.
    pub hooks: Option<&'static dyn HookDialect>,
    /// Writes sample logs; every agent with a reader has some.
    pub(crate) sample: Option<&'static dyn SampleLogs>,
    /// Command that continues a session.
    pub resume: Option<Resume>,
    /// How much injected context it accepts.
    pub limits: ContextLimits,
    /// When it deletes its own logs.
    pub lifetime: LogLifetime,
    /// Text in the first lines of its logs that no other agent writes, by which readers of similar logs know that one is not
    /// theirs.
    pub log_marks: &'static [&'static str],
    /// Tools that keep its own books or wait, in lower case and without a namespace: their use tells nothing of the work.
    pub bookkeeping_tools: &'static [&'static str],
    /// Folders of a repository below which it makes worktrees.
    pub worktrees: &'static [&'static str],
}

/// All agents. Who speaks to a hook is asked of the last one first, for newer agents imitate older ones; what nobody recognizes is
/// the first one's.
pub static AGENTS: &[Agent] = &[
    Agent {
        name: "claude-code",
        aliases: &["claude"],
        title: "Claude Code",
        reader: Some(&claude_code::ClaudeCode),
        hooks: Some(&claude_code::hooks::ClaudeHooks),
        sample: Some(&claude_code::sample::ClaudeSample),
        resume: Some(Resume("claude --resume ID")),
        // More than 10,000 characters are replaced by a stub.
        limits: ContextLimits {
            tokens: usize::MAX,
            characters: 9_500,
        },
        lifetime: claude_code::LIFETIME,
        log_marks: &[],
        bookkeeping_tools: claude_code::BOOKKEEPING_TOOLS,
        worktrees: &[".claude/worktrees"],
    },
    Agent {
        name: "codex",
        aliases: &[],
        title: "Codex",
        reader: Some(&codex::Codex),
        hooks: Some(&codex::hooks::CodexHooks),
        sample: Some(&codex::sample::CodexSample),
        resume: Some(Resume("codex resume ID")),
        // More tokens are put into a file.
        limits: ContextLimits {
            tokens: 2_500,
            characters: usize::MAX,
        },
        lifetime: LogLifetime::Unlimited,
        log_marks: &["\"payload\":"],
        bookkeeping_tools: codex::BOOKKEEPING_TOOLS,
        worktrees: &[],
    },
    Agent {
        name: "gemini",
        aliases: &[],
        title: "Gemini",
        reader: None,
        hooks: Some(&gemini::hooks::GeminiHooks),
        sample: None,
        resume: Some(Resume("gemini --resume ID")),
        limits: ContextLimits::DEFAULT,
        lifetime: LogLifetime::Unlimited,
        log_marks: &["\"projectHash\""],
        bookkeeping_tools: &[],
        worktrees: &[],
    },
    Agent {
        name: "cursor",
        aliases: &[],
        title: "Cursor",
        reader: None,
        hooks: Some(&cursor::hooks::CursorHooks),
        sample: None,
        resume: Some(Resume("cursor-agent --resume ID")),
        limits: ContextLimits::DEFAULT,
        lifetime: LogLifetime::Unlimited,
        log_marks: &[],
        bookkeeping_tools: &[],
        worktrees: &[],
    },
    Agent {
        name: "grok",
        aliases: &[],
        title: "Grok",
        reader: Some(&grok::Grok),
        hooks: Some(&grok::hooks::GrokHooks),
        sample: Some(&grok::sample::GrokSample),
        resume: Some(Resume("grok --resume ID")),
        limits: ContextLimits::DEFAULT,
        lifetime: LogLifetime::Unlimited,
        log_marks: &["\"sessionUpdate\""],
        bookkeeping_tools: grok::BOOKKEEPING_TOOLS,
        worktrees: &[],
    },
    #[cfg(feature = "test-agents")]
    Agent {
        name: "toy",
        aliases: &["toy-agent"],
        title: "Toy",
        reader: Some(&toy::Toy),
        hooks: Some(&toy::hooks::ToyHooks),
        sample: Some(&toy::sample::ToySample),
        resume: Some(Resume("toy resume ID")),
        limits: ContextLimits::DEFAULT,
        lifetime: toy::LIFETIME,
        log_marks: &["{\"toy\":"],
        bookkeeping_tools: &[],
        worktrees: &[],
    },
];

impl Agent {
    /// Returns the agent of this name or alias.
    pub fn find(name: &str) -> Option<&'static Agent> {
        AGENTS
            .iter()
            .find(|agent| agent.name == name || agent.aliases.contains(&name))
    }
}

impl PartialEq for Agent {
    fn eq(&self, other: &Agent) -> bool {
        self.name == other.name
    }
}

impl Eq for Agent {}

impl fmt::Debug for Agent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

/// Returns the reader of an agent's logs.
pub fn reader(agent: &str) -> Option<&'static dyn Reader> {
    Agent::find(agent)?.reader
}

/// An agent whose logs are read, with its reader.
#[derive(Clone, Copy)]
pub struct LogAgent {
    /// The agent.
    pub agent: &'static Agent,
    /// Its reader.
    pub reader: &'static dyn Reader,
}

impl LogAgent {
    /// Returns the agent of this name or alias; `None` when its logs are not read.
    pub fn find(name: &str) -> Option<Self> {
        let agent = Agent::find(name)?;
        Some(LogAgent {
            agent,
            reader: agent.reader?,
        })
    }

    /// Returns all agents whose logs are read, in the order of [`AGENTS`].
    pub fn all() -> impl DoubleEndedIterator<Item = Self> {
        AGENTS.iter().filter_map(|agent| {
            Some(LogAgent {
                agent,
                reader: agent.reader?,
            })
        })
    }
}

/// An agent that calls hooks, with how they are registered.
#[derive(Debug, Clone, Copy)]
pub struct HookAgent {
    /// The agent.
    pub agent: &'static Agent,
    /// Where and how its hooks are registered.
    pub registration: &'static HookRegistration,
}

impl HookAgent {
    /// Returns all agents that call hooks, in the order of [`AGENTS`].
    pub fn all() -> impl DoubleEndedIterator<Item = Self> {
        AGENTS.iter().filter_map(|agent| {
            Some(HookAgent {
                agent,
                registration: agent.hooks?.registration(),
            })
        })
    }
}

/// How much injected context an agent accepts in one answer of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextLimits {
    /// Maximum number of tokens.
    pub tokens: usize,
    /// Maximum number of characters.
    pub characters: usize,
}

impl ContextLimits {
    /// Limits of agents that do not document any, and of agents that are not known: small enough for all.
    pub const DEFAULT: ContextLimits = ContextLimits {
        tokens: usize::MAX,
        characters: 9_500,
    };
}

#[cfg(test)]
mod tests;

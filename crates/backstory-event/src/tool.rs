//! Classes of tools and requests to them, the same for all agents.

use serde::{Deserialize, Serialize};

/// What a tool does, whatever the agent calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolClass {
    /// Reads files.
    Read,
    /// Changes files.
    Write,
    /// Searches files.
    Search,
    /// Runs commands.
    Run,
    /// Uses the web.
    Web,
    /// Starts or talks to other agents.
    Agent,
    /// Keeps a plan or to-do list.
    Plan,
    /// Belongs to an MCP server.
    Mcp,
    /// Anything else.
    Other,
}

impl ToolClass {
    /// Every class.
    pub const ALL: [ToolClass; 9] = [
        ToolClass::Read,
        ToolClass::Write,
        ToolClass::Search,
        ToolClass::Run,
        ToolClass::Web,
        ToolClass::Agent,
        ToolClass::Plan,
        ToolClass::Mcp,
        ToolClass::Other,
    ];

    /// Returns the name used in JSON and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ToolClass::Read => "read",
            ToolClass::Write => "write",
            ToolClass::Search => "search",
            ToolClass::Run => "run",
            ToolClass::Web => "web",
            ToolClass::Agent => "agent",
            ToolClass::Plan => "plan",
            ToolClass::Mcp => "mcp",
            ToolClass::Other => "other",
        }
    }
}

/// What a tool did that neither changed files nor ran a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolDeed {
    /// Read a web page.
    Fetched,
    /// Searched files or the web.
    Searched,
    /// Gave a task to another agent.
    Delegated,
    /// Anything else.
    Called,
}

/// What a tool was asked to do, as far as its name and arguments tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRequest {
    /// First line of the argument that says most of what was asked; empty when there is none.
    pub asked_line: String,
    /// What the call does.
    pub deed: ToolDeed,
    /// Whether the call is a search.
    pub is_search: bool,
}

//! Conventions of agents that conclusions depend on.

use backstory_event::ToolRequest;

/// Functions that interpret what differs between agents. The crate of agents has them; it is not known here.
#[derive(Debug, Clone, Copy)]
pub struct AgentConventions {
    /// Returns whether a program wrote a prompt in the user's name.
    pub is_program_text: fn(&str) -> bool,
    /// Returns what a command printed, without the frame that an agent puts around it.
    pub unframed_output: fn(&str) -> &str,
    /// Returns a line without the tags that agents put around errors.
    pub without_error_tags: fn(&str) -> String,
    /// Returns whether an error is a slip in the use of an agent's own tools, which it mends at once.
    pub is_tool_slip: fn(&str) -> bool,
    /// Returns one name for tools that agents call differently and that do the same.
    pub tool_family: fn(&str) -> String,
    /// Returns whether a tool keeps an agent's own books, or waits.
    pub is_bookkeeping_tool: fn(&str) -> bool,
    /// Returns whether a tool that changes files writes them as a whole.
    pub is_whole_writer: fn(&str) -> bool,
    /// Returns what a tool was asked to do, by its name and arguments.
    pub tool_request: fn(&str, &str) -> ToolRequest,
    /// Returns all strings in the arguments of a call, one a line.
    pub argument_text: fn(&str) -> String,
    /// Returns the text that a call writes into files, by its arguments and the command that it runs: of a patch, the lines it adds.
    pub written_lines: fn(&str, Option<&str>) -> String,
}

/// The conventions of all known agents.
#[cfg(test)]
pub(crate) const KNOWN_AGENTS: AgentConventions = AgentConventions {
    is_program_text: backstory_agents::is_program_text,
    unframed_output: backstory_agents::unframed_output,
    without_error_tags: backstory_agents::without_error_tags,
    is_tool_slip: backstory_agents::is_tool_slip,
    tool_family: backstory_agents::tool_family,
    is_bookkeeping_tool: backstory_agents::is_bookkeeping_tool,
    is_whole_writer: backstory_agents::is_whole_writer,
    tool_request: backstory_agents::tool_request,
    argument_text: backstory_agents::argument_text,
    written_lines: backstory_agents::written_lines,
};

//! Conventions of agents for `backstory-analysis`, from the crate that knows agents.

use backstory_analysis::AgentConventions;

/// The conventions of all known agents.
pub(crate) const AGENT_CONVENTIONS: AgentConventions = AgentConventions {
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

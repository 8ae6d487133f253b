//! Classes of Grok's tools.

use backstory_event::ToolClass;

/// Tools that keep the agent's own books.
pub(crate) const BOOKKEEPING_TOOLS: &[&str] = &["todo_write"];

/// Its tools, those that it takes over from Codex and OpenCode, the kinds of the Agent Client Protocol that stand for a tool whose
/// name is not known, and the tools that run on the server.
const CLASSES: &[(&str, ToolClass)] = &[
    ("read_file", ToolClass::Read),
    ("read", ToolClass::Read),
    ("hashline_read", ToolClass::Read),
    ("list_dir", ToolClass::Read),
    ("list", ToolClass::Read),
    ("memory_get", ToolClass::Read),
    ("search_replace", ToolClass::Write),
    ("hashline_edit", ToolClass::Write),
    ("apply_patch", ToolClass::Write),
    ("edit", ToolClass::Write),
    ("write", ToolClass::Write),
    ("create", ToolClass::Write),
    ("delete", ToolClass::Write),
    ("move", ToolClass::Write),
    ("edit_file", ToolClass::Write),
    ("write_file", ToolClass::Write),
    ("create_file", ToolClass::Write),
    ("delete_file", ToolClass::Write),
    ("grep", ToolClass::Search),
    ("grep_files", ToolClass::Search),
    ("hashline_grep", ToolClass::Search),
    ("glob", ToolClass::Search),
    ("lsp", ToolClass::Search),
    ("search", ToolClass::Search),
    ("memory_search", ToolClass::Search),
    ("run_terminal_cmd", ToolClass::Run),
    ("run_terminal_command", ToolClass::Run),
    ("bash", ToolClass::Run),
    ("execute", ToolClass::Run),
    ("monitor", ToolClass::Run),
    ("get_task_output", ToolClass::Run),
    ("get_terminal_command_output", ToolClass::Run),
    ("wait_tasks", ToolClass::Run),
    ("kill_task", ToolClass::Run),
    ("kill_terminal_command", ToolClass::Run),
    ("code_interpreter", ToolClass::Run),
    ("web_search", ToolClass::Web),
    ("web_fetch", ToolClass::Web),
    ("x_search", ToolClass::Web),
    ("fetch", ToolClass::Web),
    ("task", ToolClass::Agent),
    ("workflow", ToolClass::Agent),
    ("todo_write", ToolClass::Plan),
    ("todowrite", ToolClass::Plan),
    ("update_goal", ToolClass::Plan),
    ("enter_plan_mode", ToolClass::Plan),
    ("exit_plan_mode", ToolClass::Plan),
    ("switch_mode", ToolClass::Plan),
    ("use_tool", ToolClass::Mcp),
];

/// Returns the class of a tool.
pub(super) fn tool_class(tool: &str) -> ToolClass {
    // A tool of an MCP server is called by both names: `linear__save`.
    if tool.contains("__") {
        return ToolClass::Mcp;
    }
    let known = CLASSES
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(tool));
    known.map_or(ToolClass::Other, |(_, class)| *class)
}

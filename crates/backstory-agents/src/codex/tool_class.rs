//! Classes of Codex's tools.

use backstory_event::ToolClass;

/// Tools that keep the agent's own books, or wait.
pub(crate) const BOOKKEEPING_TOOLS: &[&str] = &[
    "update_plan",
    "wait",
    "wait_agent",
    "list_agents",
    "interrupt_agent",
    "close_agent",
];

/// Names of tools, without their namespace where it says nothing.
const TOOLS: &[(ToolClass, &[&str])] = &[
    (
        ToolClass::Run,
        &[
            "shell",
            "shell_command",
            "exec_command",
            "write_stdin",
            "container.exec",
            "local_shell",
            "unified_exec",
            "exec",
            "wait",
            "js_repl",
            "python",
        ],
    ),
    (ToolClass::Write, &["apply_patch"]),
    (ToolClass::Read, &["view_image", "read_file"]),
    (ToolClass::Search, &["grep_files", "list_dir"]),
    (ToolClass::Web, &["web_search", "web__run"]),
    (
        ToolClass::Agent,
        &[
            "spawn_agent",
            "spawn_agents_on_csv",
            "wait_agent",
            "send_input",
            "send_message",
            "close_agent",
            "resume_agent",
            "list_agents",
            "assign_task",
            "followup_task",
            "interrupt_agent",
        ],
    ),
    (
        ToolClass::Plan,
        &["update_plan", "create_goal", "get_goal", "update_goal"],
    ),
    (
        ToolClass::Mcp,
        &[
            "list_mcp_resources",
            "list_mcp_resource_templates",
            "read_mcp_resource",
        ],
    ),
];

/// Returns the class of a tool.
pub(super) fn classify_tool(tool: &str) -> ToolClass {
    if tool.starts_with("mcp__") {
        return ToolClass::Mcp;
    }
    let tool = tool.trim_start_matches("functions.");
    let without_namespace = tool.rsplit("__").next().unwrap_or(tool);
    let is_named = |names: &[&str]| names.contains(&tool) || names.contains(&without_namespace);
    let known = TOOLS.iter().find(|(_, names)| is_named(names));
    known.map_or(ToolClass::Other, |(class, _)| *class)
}

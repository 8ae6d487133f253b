//! The tools of Toy.

use crate::hook::dialect::ToolEffects;
use crate::hook::tool::effects_by_table;
use backstory_event::{Action, ToolClass};

const ACTIONS: &[(&str, Action)] = &[("look", Action::Read), ("build", Action::Write)];

/// What a call does.
pub(super) fn effects(tool: &str, input: &str) -> ToolEffects {
    effects_by_table(tool, input, ACTIONS, &["run"])
}

/// The class of a tool.
pub(super) fn tool_class(tool: &str) -> ToolClass {
    match tool {
        "look" => ToolClass::Read,
        "build" => ToolClass::Write,
        "run" => ToolClass::Run,
        _ => ToolClass::Other,
    }
}

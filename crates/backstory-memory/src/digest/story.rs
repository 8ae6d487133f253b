//! Sessions made up for tests.

use backstory_event::{Action, Kind, Touch};

use super::notes::{Notes, Seen};

/// A session in the making: what is said and done, one event after the other.
#[derive(Default)]
pub(crate) struct Story {
    pub(crate) notes: Notes,
    pub(crate) turn: u64,
    pub(crate) seq: u64,
}

impl Story {
    fn event<'a>(&mut self, kind: Kind, text: &'a str, change: impl FnOnce(&mut Seen<'a>)) -> u64 {
        self.seq += 1;
        let mut seen = Seen {
            seq: self.seq,
            turn: self.turn,
            at: Some(self.seq as i64 * 1_000),
            kind,
            text,
            tool: None,
            call: None,
            command: None,
            error: false,
            exit_code: None,
            duration_ms: None,
            touches: &[],
        };
        change(&mut seen);
        self.notes.take(&seen);
        self.seq
    }

    pub(crate) fn prompt(&mut self, text: &str) -> &mut Self {
        self.turn += 1;
        self.event(Kind::Prompt, text, |_| {});
        self
    }

    pub(crate) fn reply(&mut self, text: &str) -> &mut Self {
        self.event(Kind::Reply, text, |_| {});
        self
    }

    pub(crate) fn system(&mut self, text: &str) -> &mut Self {
        self.event(Kind::System, text, |_| {});
        self
    }

    /// A command with its output and exit code.
    pub(crate) fn run(&mut self, command: &str, output: &str, code: i64) -> &mut Self {
        let call = self.event(Kind::ToolCall, command, |seen| seen.command = Some(command));
        self.event(Kind::ToolResult, output, |seen| {
            (seen.call, seen.exit_code, seen.error) = (Some(call), Some(code), code != 0);
        });
        self
    }

    /// A command without an end.
    pub(crate) fn start(&mut self, command: &str) -> &mut Self {
        self.event(Kind::ToolCall, command, |seen| seen.command = Some(command));
        self
    }

    /// A tool that touches a file.
    pub(crate) fn tool(
        &mut self,
        tool: &str,
        path: &str,
        action: Action,
        error: Option<&str>,
    ) -> &mut Self {
        let touches = [Touch {
            path: path.to_string(),
            action,
        }];
        let call = self.event(Kind::ToolCall, "", |seen| {
            (seen.tool, seen.touches) = (Some(tool), &touches);
        });
        self.event(Kind::ToolResult, error.unwrap_or("ok"), |seen| {
            (seen.tool, seen.call, seen.error) = (Some(tool), Some(call), error.is_some());
        });
        self
    }
}

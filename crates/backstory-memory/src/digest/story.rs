//! Sessions made up for tests.

use backstory_event::{Action, EventView, Kind, Seq, TimeMs, Touch, TurnNo};

use super::notes::Notes;

/// A session in the making: what is said and done, one event after the other.
#[derive(Default)]
pub(crate) struct Story {
    pub(crate) notes: Notes,
    pub(crate) turn: TurnNo,
    pub(crate) seq: Seq,
}

impl Story {
    fn event(
        &mut self,
        kind: Kind,
        text: &str,
        change: impl FnOnce(&mut EventView<'static>),
    ) -> Seq {
        self.seq = self.seq.next();
        let at = Some(TimeMs::new(i64::from(self.seq) * 1_000));
        let mut view = EventView::unstored(self.seq, self.turn, kind, at, text.to_string());
        change(&mut view);
        self.notes.take(&view);
        self.seq
    }

    pub(crate) fn prompt(&mut self, text: &str) -> &mut Self {
        self.turn = self.turn.next();
        self.event(Kind::Prompt, text, |_| {});
        self
    }

    pub(crate) fn reply(&mut self, text: &str) -> &mut Self {
        self.event(Kind::Reply, text, |_| {});
        self
    }

    /// The user stops the agent.
    pub(crate) fn interrupt(&mut self) -> &mut Self {
        self.event(Kind::System, "", |view| {
            view.event.to_mut().body.marks.interrupted = true;
        });
        self
    }

    /// A command that the user does not allow.
    pub(crate) fn deny_command(&mut self, command: &str) -> &mut Self {
        self.start(command);
        self.deny("Bash")
    }

    /// An edit that the user does not allow.
    pub(crate) fn deny_edit(&mut self, path: &str) -> &mut Self {
        let touch = Touch {
            path: path.to_string(),
            action: Action::Write,
        };
        self.event(Kind::ToolCall, "", |view| {
            view.event.to_mut().touches = vec![touch];
        });
        self.deny("Edit")
    }

    /// The last call was not allowed.
    fn deny(&mut self, tool: &str) -> &mut Self {
        let call = self.seq;
        self.event(Kind::ToolResult, "", |view| {
            view.call = Some(call);
            let event = view.event.to_mut();
            (event.tool, event.error) = (Some(tool.to_string()), true);
            event.body.marks.denied = true;
        });
        self
    }

    /// A command with its output and exit code.
    pub(crate) fn run(&mut self, command: &str, output: &str, code: i64) -> &mut Self {
        let call = self.event(Kind::ToolCall, command, |view| {
            view.event.to_mut().body.command = Some(command.to_string());
        });
        self.event(Kind::ToolResult, output, |view| {
            view.call = Some(call);
            let event = view.event.to_mut();
            (event.exit_code, event.error) = (Some(code), code != 0);
        });
        self
    }

    /// A command without an end.
    pub(crate) fn start(&mut self, command: &str) -> &mut Self {
        self.event(Kind::ToolCall, command, |view| {
            view.event.to_mut().body.command = Some(command.to_string());
        });
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
        let call = self.event(Kind::ToolCall, "", |view| {
            let event = view.event.to_mut();
            (event.tool, event.touches) = (Some(tool.to_string()), touches.to_vec());
        });
        self.event(Kind::ToolResult, error.unwrap_or("ok"), |view| {
            view.call = Some(call);
            let event = view.event.to_mut();
            (event.tool, event.error) = (Some(tool.to_string()), error.is_some());
        });
        self
    }
}

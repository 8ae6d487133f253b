//! Sessions made up for tests.

use backstory_event::{
    Action, EventView, Kind, Seq, TimeMs, ToolDeed, ToolRequest, Touch, TurnNo, UserAnswer,
};

use super::notes::Notes;
use crate::AgentConventions;

/// Conventions of no agent: every text is taken as it stands.
const NO_AGENT: AgentConventions = AgentConventions {
    is_program_text: |_| false,
    unframed_output: |output| output,
    without_error_tags: str::to_string,
    is_tool_slip: |_| false,
    tool_family: str::to_string,
    is_bookkeeping_tool: |_| false,
    is_whole_writer: |_| false,
    tool_request: |_, _| ToolRequest {
        asked_line: String::new(),
        deed: ToolDeed::Called,
        is_search: false,
    },
    argument_text: |_| String::new(),
    written_lines: |_, _| String::new(),
};

/// A session in the making: what is said and done, one event after the other.
#[derive(Default)]
pub struct Story {
    /// The notes of it.
    pub notes: Notes,
    /// The last turn.
    pub turn: TurnNo,
    /// The last event.
    pub seq: Seq,
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
        self.notes.take(&view, &NO_AGENT);
        self.seq
    }

    /// Somebody asks for something: a turn begins.
    pub fn prompt(&mut self, text: &str) -> &mut Self {
        self.turn = self.turn.next();
        self.event(Kind::Prompt, text, |_| {});
        self
    }

    /// The agent says something.
    pub fn reply(&mut self, text: &str) -> &mut Self {
        self.event(Kind::Reply, text, |_| {});
        self
    }

    /// The user stops the agent.
    pub fn interrupt(&mut self) -> &mut Self {
        self.event(Kind::System, "", |view| {
            view.event.to_mut().body.marks.interrupted = true;
        });
        self
    }

    /// A command that the user does not allow.
    pub fn deny_command(&mut self, command: &str) -> &mut Self {
        self.start(command);
        self.deny("Bash")
    }

    /// An edit that the user does not allow.
    pub fn deny_edit(&mut self, path: &str) -> &mut Self {
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

    /// The user answers within a turn: a question of a tool, or a call that is rejected.
    pub fn answer(&mut self, tool: &str, question: Option<&str>, said: &str) -> &mut Self {
        let call = self.event(Kind::ToolCall, "", |view| {
            view.event.to_mut().tool = Some(tool.to_string());
        });
        self.event(Kind::ToolResult, "", |view| {
            view.call = Some(call);
            let event = view.event.to_mut();
            event.tool = Some(tool.to_string());
            event.error = question.is_none();
            event.body.marks.denied = question.is_none();
            event.body.user_answers = vec![UserAnswer {
                question: question.map(str::to_string),
                text: said.to_string(),
            }];
        });
        self
    }

    /// A command with its output and exit code.
    pub fn run(&mut self, command: &str, output: &str, code: i64) -> &mut Self {
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
    pub fn start(&mut self, command: &str) -> &mut Self {
        self.event(Kind::ToolCall, command, |view| {
            view.event.to_mut().body.command = Some(command.to_string());
        });
        self
    }

    /// A tool that touches a file.
    pub fn tool(
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

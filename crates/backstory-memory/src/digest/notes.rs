//! What is noted of a session while its events go by: enough to tell what happened long after its text is gone.

use backstory_event::{Action, EventView, Kind, Seq, TimeMs, TurnNo};
use serde::{Deserialize, Serialize};

use super::command::{self, CommandKind};
use super::output;
use super::trouble;
use crate::text;

/// With so many steps, commands that just worked are noted no more.
const MOST_STEPS: usize = 4_000;

/// How much is kept of what was said: of its beginning and of its end, in characters.
const PROMPT: (usize, usize) = (500, 200);
const REPLY: (usize, usize) = (500, 900);
/// Of a reply that another prompt followed.
const EARLIER_REPLY: (usize, usize) = (240, 160);
const COMMAND: (usize, usize) = (160, 40);

/// So many calls may wait for their result.
const MOST_OPEN: usize = 64;

/// The notes of one session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Notes {
    /// Events up to this seq are in them.
    pub(crate) events: Seq,
    pub(crate) steps: Vec<Step>,
    /// What the last event of a conversation was.
    pub(crate) last: Option<Last>,
    /// Calls that were not worth a step unless they fail.
    open: Vec<OpenCall>,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Step {
    #[serde(rename = "n")]
    pub(crate) seq: Seq,
    #[serde(rename = "t")]
    pub(crate) turn: TurnNo,
    #[serde(rename = "a", default, skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<TimeMs>,
    #[serde(flatten)]
    pub(crate) what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum What {
    /// Somebody asked for something.
    Prompt(String),
    /// The agent said something.
    Reply(String),
    /// A command ran.
    Run(Run),
    /// Files were changed.
    Edit {
        paths: Vec<String>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        failed: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<String>,
    },
    /// A tool failed that is no command.
    Failed {
        tool: String,
        target: String,
        said: String,
    },
    /// The user did not allow it.
    Denied(String),
    /// The user stopped the agent.
    Interrupted,
    /// The agent's history was replaced by a summary of it.
    Compacted,
}

/// A command that ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Run {
    #[serde(rename = "c")]
    pub(crate) command: String,
    #[serde(rename = "k", default, skip_serializing_if = "CommandKind::is_other")]
    pub(crate) kind: CommandKind,
    /// Whether it worked, once that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ok: Option<bool>,
    /// Tests that passed and that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tests: Option<(u64, u64)>,
    /// What tells most of its output: the error, the commit, the address of a pull request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) said: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ms: Option<i64>,
}

/// What the conversation ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Last {
    Prompt,
    Reply,
    Call,
    Result,
    Interruption,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct OpenCall {
    seq: Seq,
    tool: String,
    target: String,
}

impl Notes {
    /// Notes the next event.
    pub(crate) fn take(&mut self, view: &EventView<'_>) {
        self.events = view.seq;
        match view.event.kind {
            Kind::Prompt => {
                self.close_turn();
                self.add(view, What::Prompt(shortened(view.text(), PROMPT)));
                self.last = Some(Last::Prompt);
            }
            Kind::Reply if !view.text().trim().is_empty() => {
                self.add(view, What::Reply(shortened(view.text(), REPLY)));
                self.keep_last_replies(view.turn, 2);
                self.last = Some(Last::Reply);
            }
            Kind::ToolCall => {
                self.call(view);
                self.last = Some(Last::Call);
            }
            Kind::ToolResult => {
                self.result(view);
                if self.last != Some(Last::Interruption) {
                    self.last = Some(Last::Result);
                }
            }
            Kind::Summary if view.event.body.marks.compacted => self.add(view, What::Compacted),
            Kind::System if view.event.body.marks.interrupted => {
                self.interrupt(view);
                self.last = Some(Last::Interruption);
            }
            _ => {}
        }
    }

    /// Forgets all from a turn on, whose first event that is there is `first`: it is noted anew.
    pub(crate) fn rewind(&mut self, turn: TurnNo, first: Seq) {
        self.steps
            .retain(|step| step.turn < turn || step.seq < first);
        self.open.retain(|call| call.seq < first);
        self.events = first.previous();
        // All that the turn says comes again, its last event too.
        self.last = None;
    }

    fn add(&mut self, view: &EventView<'_>, what: What) {
        self.steps.push(Step {
            seq: view.seq,
            turn: view.turn,
            at: view.event.at,
            what,
        });
    }

    /// Notes that the user stopped the agent; some logs tell it twice.
    fn interrupt(&mut self, view: &EventView<'_>) {
        let is_noted = |step: &Step| step.turn == view.turn && step.what == What::Interrupted;
        if !self.steps.last().is_some_and(is_noted) {
            self.add(view, What::Interrupted);
        }
    }

    /// A turn is over: of what the agent said in it only the end matters now, and of that only the gist.
    fn close_turn(&mut self) {
        let Some(turn) = self.steps.last().map(|step| step.turn) else {
            return;
        };
        self.keep_last_replies(turn, 1);
        let of_turn = self.steps.iter_mut().rev();
        for step in of_turn.take_while(|step| step.turn == turn) {
            if let What::Reply(text) = &mut step.what {
                *text = shortened(text, EARLIER_REPLY);
            }
        }
    }

    /// The last reply may still be taken back when its text grows, hence two while a turn goes on.
    fn keep_last_replies(&mut self, turn: TurnNo, most: usize) {
        let mut kept = 0;
        let mut at = self.steps.len();
        while at > 0 && self.steps[at - 1].turn == turn {
            at -= 1;
            if matches!(self.steps[at].what, What::Reply(_)) {
                kept += 1;
                if kept > most {
                    self.steps.remove(at);
                    return;
                }
            }
        }
    }

    fn call(&mut self, view: &EventView<'_>) {
        let mut paths: Vec<String> = view
            .event
            .touches
            .iter()
            .filter(|touch| touch.action != Action::Read)
            .map(|touch| touch.path.clone())
            .collect();
        paths.sort_unstable();
        paths.dedup();
        let full = self.steps.len() >= MOST_STEPS;
        match view.event.body.command.as_deref() {
            Some(line) => {
                let kind = command::kind(line);
                // A patch that is applied by a command is an edit.
                if !paths.is_empty() && kind.is_other() {
                    self.add(view, edit(paths));
                } else if !full || !kind.is_other() {
                    let run = Run {
                        command: shortened(line, COMMAND),
                        kind,
                        ..Run::default()
                    };
                    self.add(view, What::Run(run));
                } else {
                    self.open(view, line);
                }
            }
            None if !paths.is_empty() && !full => self.add(view, edit(paths)),
            None => {
                let target = view.event.touches.first().map(|touch| touch.path.as_str());
                self.open(view, target.unwrap_or_default());
            }
        }
    }

    fn open(&mut self, view: &EventView<'_>, target: &str) {
        if self.open.len() == MOST_OPEN {
            self.open.remove(0);
        }
        self.open.push(OpenCall {
            seq: view.seq,
            tool: view.event.tool.as_deref().unwrap_or_default().to_string(),
            target: shortened(target, COMMAND),
        });
    }

    fn result(&mut self, view: &EventView<'_>) {
        let failed = view.is_failure();
        let Some(call) = view.call else { return };
        let open = self.open.iter().position(|open| open.seq == call);
        let open = open.map(|at| self.open.remove(at));
        let step = self.steps.iter_mut().rev().find(|step| step.seq == call);
        if view.event.body.marks.denied {
            if let Some(What::Edit { failed, .. }) = step.map(|step| &mut step.what) {
                *failed = true;
            }
            let tool = view.event.tool.as_deref().unwrap_or_default().to_string();
            return self.add(view, What::Denied(tool));
        }
        if view.event.body.marks.interrupted {
            return self.interrupt(view);
        }
        match (step.map(|step| &mut step.what), open) {
            (Some(What::Run(run)), _) => run.end(view, failed),
            (
                Some(What::Edit {
                    failed: is, said, ..
                }),
                _,
            ) => {
                *is = failed;
                *said = failed.then(|| trouble::telling(view.text()));
            }
            (_, Some(open)) if failed => self.add(
                view,
                What::Failed {
                    tool: open.tool,
                    target: open.target,
                    said: trouble::telling(view.text()),
                },
            ),
            _ => {}
        }
    }
}

impl Run {
    /// How it ended. A command in a pipe may fail and exit with 0: tests tell by what they print.
    fn end(&mut self, view: &EventView<'_>, failed: bool) {
        let runs = self.kind == CommandKind::Test || self.kind == CommandKind::Build;
        if self.kind == CommandKind::Test {
            self.tests = output::tests(view.text());
        }
        let red = self.tests.is_some_and(|(_, failed)| failed > 0);
        let broken = runs && output::looks_broken(view.text());
        self.ok = if view.event.body.in_background {
            None
        } else {
            Some(!(failed || red || broken))
        };
        self.ms = view.event.duration_ms;
        self.said = match (self.ok, self.kind) {
            (Some(false), _) => Some(trouble::telling(view.text())),
            (_, CommandKind::Commit) => output::commit(view.text()),
            (_, CommandKind::PullRequest) => output::address(view.text()),
            _ => None,
        };
    }
}

fn edit(paths: Vec<String>) -> What {
    What::Edit {
        paths,
        failed: false,
        said: None,
    }
}

/// The beginning and the end of a text, without blank lines and indentation.
pub(crate) fn shortened(text: &str, (beginning, end): (usize, usize)) -> String {
    // Of a huge text most is passed over unread.
    let most = (beginning + end) * 8 + 64;
    let text = text.trim();
    let mut kept = String::new();
    if text.len() <= 2 * most {
        push_lines(text, &mut kept);
    } else {
        push_lines(text::beginning(text, most), &mut kept);
        kept.push_str("\n…\n");
        push_lines(text::ending(text, most), &mut kept);
    }
    let length = kept.chars().count();
    if length <= beginning + end + 3 {
        return kept;
    }
    let head: String = kept.chars().take(beginning).collect();
    let tail: String = kept.chars().skip(length - end).collect();
    format!("{head} … {tail}")
}

fn push_lines(text: &str, kept: &mut String) {
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if !kept.is_empty() && !kept.ends_with('\n') {
            kept.push('\n');
        }
        kept.push_str(line);
    }
}

#[cfg(test)]
mod tests {
    use super::super::story::Story;
    use super::*;

    #[test]
    fn notes_go_on_after_they_were_stored_and_taken_back() {
        let tell = |story: &mut Story, from: u64| {
            if from <= 1 {
                story
                    .prompt("fix the cart")
                    .run("cargo test", "1 failed", 101)
                    .reply("one")
                    .reply("two")
                    .reply("three");
            }
            story
                .prompt("and the docs")
                .tool("Edit", "a.md", Action::Write, None)
                .reply("done");
        };
        let mut whole = Story::default();
        tell(&mut whole, 1);
        let stored = serde_json::to_vec(&whole.notes).unwrap();
        let mut again: Notes = serde_json::from_slice(&stored).unwrap();
        assert_eq!(again, whole.notes);
        again.rewind(TurnNo::new(2), Seq::new(7));
        let mut rewound = Story {
            notes: again,
            turn: TurnNo::FIRST,
            seq: Seq::new(6),
        };
        tell(&mut rewound, 7);
        assert_eq!(rewound.notes, whole.notes);
        // Of a turn whose beginning is evicted, what was noted of that stays.
        let mut partly = whole.notes;
        partly.rewind(TurnNo::new(2), Seq::new(8));
        assert_eq!(partly.steps.last().map(|step| step.seq), Some(Seq::new(7)));
    }

    #[test]
    fn little_is_kept_of_much() {
        let mut story = Story::default();
        story
            .prompt(&"long words ".repeat(100_000))
            .reply(&"é\n".repeat(50_000));
        for at in 0..6_000 {
            story.run(&format!("echo {at}"), &"x".repeat(1_000), 0);
        }
        story.run("cargo test", "3 passed", 0);
        assert!(serde_json::to_vec(&story.notes).unwrap().len() < 400_000);
        let tested =
            |step: &Step| matches!(&step.what, What::Run(run) if run.tests == Some((3, 0)));
        assert!(story.notes.steps.iter().any(tested));
        assert!(story.notes.open.len() <= MOST_OPEN);
    }
}

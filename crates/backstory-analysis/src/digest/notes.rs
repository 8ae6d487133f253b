//! Notes of a session, taken while its events go by: enough to say what happened long after its text is gone.

use backstory_event::{EventView, Seq, TimeMs, TurnNo, UserAnswer};
use serde::{Deserialize, Serialize};

use super::command::CommandKind;
use super::options::chosen_options;
use super::prepared_note::{PreparedCall, PreparedNote, PreparedResult};
use super::run_parts::{self, RunPart};
use crate::{AgentConventions, text};

/// With so many steps, commands that just worked are noted no more.
const MOST_STEPS: usize = 4_000;

/// Characters that are kept of a reply that another prompt followed, of its beginning and of its end.
const EARLIER_REPLY: (usize, usize) = (900, 200);

/// Characters that are kept of an option or a question, of its beginning and of its end.
const OPTION: (usize, usize) = (240, 60);

/// The same of an answer.
const ANSWER: (usize, usize) = (400, 100);

/// Maximum number of calls that wait for their result.
const MOST_OPEN: usize = 64;

/// The notes of one session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Notes {
    /// Events up to this seq are in them.
    pub events: Seq,
    /// The steps, in their order.
    pub steps: Vec<Step>,
    /// The last event of the conversation.
    pub last: Option<Last>,
    /// Git branch of the last turn in which something was changed: what ends a session may stand on another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_branch: Option<String>,
    /// Git branch of the last turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn_branch: Option<String>,
    /// Calls that were not worth a step unless they fail.
    open: Vec<OpenCall>,
    /// Prompt that was taken back with the option that it chose: the reply which has the options is shortened by now.
    #[serde(skip)]
    chosen_before: Option<(String, String)>,
}

/// Something that happened, at an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The event.
    #[serde(rename = "n")]
    pub seq: Seq,
    /// Its turn.
    #[serde(rename = "t")]
    pub turn: TurnNo,
    /// Its time.
    #[serde(rename = "a", default, skip_serializing_if = "Option::is_none")]
    pub at: Option<TimeMs>,
    /// The event's content.
    #[serde(flatten)]
    pub what: What,
}

/// Content of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum What {
    /// Somebody asked for something.
    Prompt(String),
    /// The agent said something.
    Reply(String),
    /// A command ran.
    Run(Run),
    /// Files were changed.
    Edit {
        /// The files.
        paths: Vec<String>,
        /// True if it failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        failed: bool,
        /// The line that says most of why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<String>,
    },
    /// A tool failed that is no command.
    Failed {
        /// The tool.
        tool: String,
        /// The first file that it was called for.
        target: String,
        /// The line that says most of what went wrong.
        said: String,
        /// Its call, which waits for the result again if that is taken back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<Seq>,
    },
    /// The user, or a rule, did not allow it; the tool.
    Denied(String),
    /// The user answered within a turn, or chose an option of the agent's last reply.
    Answer {
        /// The agent's question or the option; `None` where the user rejected a call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<String>,
        /// The user's words.
        said: String,
    },
    /// The agent presented a plan; its title, which may be empty.
    Plan(String),
    /// The user stopped the agent.
    Interrupted,
    /// The agent's history was replaced by a summary of it.
    Compacted,
}

/// A command that ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The command, shortened.
    #[serde(rename = "c")]
    pub command: String,
    /// Purpose of the command.
    #[serde(rename = "k", default, skip_serializing_if = "CommandKind::is_other")]
    pub kind: CommandKind,
    /// True if it worked, false if not, once that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    /// Tests that passed and that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<(u64, u64)>,
    /// Most telling part of its output: the error, the commit, the address of a pull request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// Duration in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ms: Option<i64>,
    /// Checks and deliveries among its commands, once their results are known; `None` where they were not looked for.
    #[serde(rename = "q", default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<Vec<RunPart>>,
    /// The whole command line, until its result is known.
    #[serde(rename = "l", default, skip_serializing_if = "Option::is_none")]
    line: Option<String>,
    /// True if it did not run, because the user or a rule did not allow it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub denied: bool,
}

/// Last event of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Last {
    /// A prompt.
    Prompt,
    /// A reply.
    Reply,
    /// A tool call.
    Call,
    /// A tool's result.
    Result,
    /// The user stopped the agent.
    Interruption,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct OpenCall {
    seq: Seq,
    tool: String,
    target: String,
}

/// Place of an event in its session.
#[derive(Debug, Clone, Copy)]
pub struct EventPlace {
    /// Number of the event.
    pub seq: Seq,
    /// Its turn.
    pub turn: TurnNo,
    /// The call that a tool's result answers.
    pub call: Option<Seq>,
    /// Its time.
    pub at: Option<TimeMs>,
}

impl Notes {
    /// Notes the next event.
    pub fn take(&mut self, view: &EventView<'_>, agents: &AgentConventions) {
        let place = EventPlace {
            seq: view.seq,
            turn: view.turn,
            call: view.call,
            at: view.event.at,
        };
        self.add_event(place, PreparedNote::new(&view.event, None, agents));
    }

    /// Notes the next event, of which all that has to be parsed or matched is prepared.
    pub fn add_event(&mut self, place: EventPlace, note: PreparedNote) {
        self.events = place.seq;
        match note {
            PreparedNote::Prompt { text, branch } => {
                self.turn_branch = branch;
                let before = self
                    .chosen_before
                    .take()
                    .filter(|(prompt, _)| *prompt == text);
                let option = before.map(|(_, option)| option);
                let option = option.or_else(|| self.chosen_option(&text));
                self.close_turn();
                let answer = option.map(|option| What::Answer {
                    question: Some(option),
                    said: text.clone(),
                });
                self.add(place, What::Prompt(text));
                if let Some(answer) = answer {
                    self.add(place, answer);
                }
                self.last = Some(Last::Prompt);
            }
            PreparedNote::Reply(text) => {
                self.add(place, What::Reply(text));
                self.keep_last_replies(place.turn, 2);
                self.last = Some(Last::Reply);
            }
            PreparedNote::Call(call) => {
                self.call(place, call);
                self.last = Some(Last::Call);
            }
            PreparedNote::Result(result) => {
                self.result(place, result);
                if self.last != Some(Last::Interruption) {
                    self.last = Some(Last::Result);
                }
            }
            PreparedNote::Compacted => self.add(place, What::Compacted),
            PreparedNote::Interrupted => {
                self.interrupt(place);
                self.last = Some(Last::Interruption);
            }
            PreparedNote::Nothing => {}
        }
    }

    /// Forgets all from a turn on, whose first event that is there is `first`: it is noted anew.
    pub fn rewind(&mut self, turn: TurnNo, first: Seq) {
        let is_kept = |step: &Step| step.turn < turn || step.seq < first;
        self.open.retain(|call| call.seq < first);
        for step in self.steps.iter().filter(|step| !is_kept(step)) {
            if let What::Failed {
                tool,
                target,
                call: Some(seq),
                ..
            } = &step.what
                && *seq < first
            {
                self.open.push(OpenCall {
                    seq: *seq,
                    tool: tool.clone(),
                    target: target.clone(),
                });
            }
        }
        self.open.sort_by_key(|call| call.seq);
        let mut taken_back = self.steps.iter().filter(|step| !is_kept(step));
        self.chosen_before = taken_back.find_map(|step| match &step.what {
            What::Answer {
                question: Some(option),
                said,
            } if step.seq == first => Some((said.clone(), option.clone())),
            _ => None,
        });
        self.steps.retain(is_kept);
        self.events = first.previous();
        // What the conversation ends with stays: all that is left of the turn comes again, but that may say nothing.
    }

    fn add(&mut self, place: EventPlace, what: What) {
        if matches!(what, What::Edit { .. }) && self.turn_branch.is_some() {
            self.work_branch.clone_from(&self.turn_branch);
        }
        self.steps.push(Step {
            seq: place.seq,
            turn: place.turn,
            at: place.at,
            what,
        });
    }

    /// Notes that the user stopped the agent; some logs tell it twice.
    fn interrupt(&mut self, place: EventPlace) {
        // No result will judge what ran.
        for step in self.steps.iter_mut().rev().take(MOST_OPEN) {
            if let What::Run(run) = &mut step.what {
                run.line = None;
            }
        }
        let is_noted = |step: &Step| step.turn == place.turn && step.what == What::Interrupted;
        if !self.steps.last().is_some_and(is_noted) {
            self.add(place, What::Interrupted);
        }
    }

    /// Returns the options of the last reply that a prompt names by their numbers or letters.
    fn chosen_option(&self, prompt: &str) -> Option<String> {
        let reply = self.steps.last().and_then(|step| match &step.what {
            What::Reply(text) => Some(text),
            _ => None,
        })?;
        chosen_options(prompt, reply).map(|option| shortened(&option, OPTION))
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

    fn call(&mut self, place: EventPlace, call: PreparedCall) {
        let full = self.steps.len() >= MOST_STEPS;
        if let Some(title) = call.plan {
            return self.add(place, What::Plan(title));
        }
        match call.command {
            // A patch that is applied by a command is an edit.
            Some(kind) if !call.paths.is_empty() && kind.is_other() => {
                self.add(place, edit(call.paths));
            }
            Some(kind) if !full || !kind.is_other() => {
                let run = Run {
                    command: call.target,
                    kind,
                    line: call.line,
                    ..Run::default()
                };
                self.add(place, What::Run(run));
            }
            None if !call.paths.is_empty() && !full => self.add(place, edit(call.paths)),
            _ => self.open(place, call),
        }
    }

    fn open(&mut self, place: EventPlace, call: PreparedCall) {
        if self.open.len() == MOST_OPEN {
            self.open.remove(0);
        }
        self.open.push(OpenCall {
            seq: place.seq,
            tool: call.tool,
            target: call.target,
        });
    }

    fn step_mut(&mut self, seq: Seq) -> Option<&mut Step> {
        self.steps.iter_mut().rev().find(|step| step.seq == seq)
    }

    fn add_answers(&mut self, place: EventPlace, answers: Vec<UserAnswer>) {
        for answer in answers {
            let question = answer.question;
            let what = What::Answer {
                question: question.map(|question| shortened(&question, OPTION)),
                said: shortened(&answer.text, ANSWER),
            };
            self.add(place, what);
        }
    }

    fn result(&mut self, place: EventPlace, mut result: PreparedResult) {
        let Some(call) = place.call else { return };
        let open = self.open.iter().position(|open| open.seq == call);
        let open = open.map(|at| self.open.remove(at));
        let answers = std::mem::take(&mut result.answers);
        if result.denied {
            match self.step_mut(call).map(|step| &mut step.what) {
                Some(What::Edit { failed, .. }) => *failed = true,
                Some(What::Run(run)) => {
                    run.denied = true;
                    run.line = None;
                }
                _ => {}
            }
            self.add(place, What::Denied(result.tool));
            return self.add_answers(place, answers);
        }
        self.add_answers(place, answers);
        if result.interrupted {
            return self.interrupt(place);
        }
        let step = self.step_mut(call);
        match (step.map(|step| &mut step.what), open) {
            (Some(What::Run(run)), _) => run.end(result),
            (Some(What::Edit { failed, said, .. }), _) => {
                *failed = result.failed;
                *said = result.trouble.filter(|_| result.failed);
            }
            (_, Some(open)) if result.failed => self.add(
                place,
                What::Failed {
                    tool: open.tool,
                    target: open.target,
                    said: result.trouble.unwrap_or_default(),
                    call: Some(call),
                },
            ),
            _ => {}
        }
    }
}

impl Run {
    /// Notes how it ended: by its checks and deliveries if it has any, else by whether the tool failed.
    fn end(&mut self, result: PreparedResult) {
        self.ms = result.duration_ms;
        let line = self.line.take();
        if result.in_background {
            return;
        }
        let parts = match (result.parts, line) {
            (Some(parts), _) => parts,
            (None, Some(line)) => run_parts::judged_parts(&line, result.output.as_line_result()),
            // The turn is noted again, and this one's call was before it.
            (None, None) => self.parts.take().unwrap_or_default(),
        };
        let failed = parts.iter().find(|part| part.ok == Some(false));
        // Of several commands the one that failed counts; a pipe hides that it did.
        self.ok = Some(failed.is_none() && !result.failed);
        self.tests = parts.iter().filter_map(|part| part.tests).reduce(
            |(passed, failed), (more, others)| {
                (passed.saturating_add(more), failed.saturating_add(others))
            },
        );
        self.said = match (failed, self.ok) {
            (Some(part), _) => part.said.clone().or(result.trouble),
            (None, Some(false)) => result.trouble,
            _ => parts.iter().rev().find_map(|part| part.said.clone()),
        };
        // Without parts, a command of a kind would be told as a whole.
        self.parts = (!parts.is_empty() || !self.kind.is_other()).then_some(parts);
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
    use backstory_event::Action;

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
        story.run("cargo test", "test result: ok. 3 passed; 0 failed", 0);
        assert!(serde_json::to_vec(&story.notes).unwrap().len() < 400_000);
        let tested =
            |step: &Step| matches!(&step.what, What::Run(run) if run.tests == Some((3, 0)));
        assert!(story.notes.steps.iter().any(tested));
        assert!(story.notes.open.len() <= MOST_OPEN);
    }
}

//! Stories of hooks and logs: whatever comes first, every event is there once.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod marker;
mod spool;

use backstory_agents::hook;
use backstory_event::{Seq, TurnNo};
use backstory_store::{ItemFilter, MOST_ATTEMPTS};
use serde_json::{Value, json};

use super::*;
use crate::trial::{NOW, Trial, id, record};
use crate::{ImportOptions, Mode, Query, SearchOptions, Sources};

/// What a person asks, a tool does and the model says in the story; every line has its second.
#[derive(Clone, Copy)]
enum Line {
    /// At this second a hook tells of a prompt.
    HookPrompt(i64, &'static str),
    /// … of a tool use with this id.
    HookTool(i64, &'static str),
    /// … of a tool use without id.
    HookNamelessTool(i64),
    /// … that the model stopped after saying this.
    HookStop(i64, &'static str),
    /// The log gets a prompt.
    LogPrompt(i64, &'static str),
    /// … a call of a tool with its result.
    LogTool(i64, &'static str),
    /// … a call of a tool that takes an hour.
    LogLongCall(i64, &'static str),
    /// … its result.
    LogLongResult(i64, &'static str),
    /// … a reply.
    LogReply(i64, &'static str),
    /// All logs are swept.
    Sweep,
    /// What hooks left to do is worked off, so many times with an hour between.
    Work(u32),
}

use Line::*;

const SESSION: u32 = 7;

struct Story {
    trial: Trial,
    lines: u32,
}

impl Story {
    fn new() -> Self {
        Story {
            trial: Trial::new(),
            lines: 0,
        }
    }

    fn hook(&mut self, second: i64, event: &str, fields: &Value) -> Captured {
        let mut told = json!({
            "session_id": id(SESSION),
            "transcript_path": self.trial.log("log"),
            "cwd": "/home/ada/shop",
        });
        let told_fields = told.as_object_mut().unwrap();
        told_fields.extend(fields.as_object().unwrap().clone());
        let input = hook::read(
            Some("claude-code"),
            Some(event),
            told.to_string().as_bytes(),
        );
        let capture = Capture::new(input.unwrap(), NOW.plus_ms(second * 1000));
        let memory = &mut self.trial.memory;
        let redactor = memory.store_redactor().unwrap();
        memory
            .captures()
            .store(&capture.clean(Some(&redactor)), Some(&redactor))
            .unwrap()
    }

    fn log(&mut self, second: i64, kind: &str, content: &Value) {
        self.lines += 1;
        let role = if kind == "assistant" {
            "assistant"
        } else {
            "user"
        };
        let message = json!({"role": role, "id": format!("m{}", self.lines), "content": content});
        let line = record(
            SESSION,
            &format!("u{}", self.lines),
            Some(NOW.plus_ms(second * 1000)),
            kind,
            &message,
        );
        self.trial.append("log", &[line]);
    }

    fn tell(&mut self, line: Line) {
        let bash = json!({"command": "cargo test"});
        match line {
            HookPrompt(second, text) => {
                self.hook(second, "UserPromptSubmit", &json!({"prompt": text}));
            }
            HookTool(second, id) => {
                let fields = json!({"tool_name": "Bash", "tool_input": bash, "tool_response": {"stdout": "ok"}, "tool_use_id": id});
                self.hook(second, "PostToolUse", &fields);
            }
            HookNamelessTool(second) => {
                let fields = json!({"tool_name": "Bash", "tool_input": bash, "tool_response": {"stdout": "ok"}});
                self.hook(second, "PostToolUse", &fields);
            }
            HookStop(second, text) => {
                self.hook(second, "Stop", &json!({"last_assistant_message": text}));
            }
            LogPrompt(second, text) => self.log(second, "user", &text.into()),
            LogTool(second, id) => {
                self.tell(LogLongCall(second, id));
                let result = json!([{"type": "tool_result", "tool_use_id": id, "content": "ok"}]);
                self.log(second + 1, "user", &result);
            }
            LogLongCall(second, id) => {
                let call = json!([{"type": "tool_use", "id": id, "name": "Bash", "input": bash}]);
                self.log(second, "assistant", &call);
            }
            LogLongResult(second, id) => {
                let result = json!([{"type": "tool_result", "tool_use_id": id, "content": "ok"}]);
                self.log(second + 3600, "user", &result);
            }
            LogReply(second, text) => {
                self.log(
                    second,
                    "assistant",
                    &json!([{"type": "text", "text": text}]),
                );
            }
            Sweep => {
                self.trial.sweep();
            }
            Work(times) => {
                for hour in 1..=i64::from(times) {
                    let options = ImportOptions::new(Sources::default());
                    let now = NOW.plus_ms(hour * 3_600_000);
                    self.trial.memory.captures().work(&options, now).unwrap();
                }
            }
        }
    }

    /// A letter an event: p, c, r, s for prompt, call, result and what is said; small when the log told it.
    fn shown(&self) -> String {
        let session = self.trial.session(SESSION);
        let events = self
            .trial
            .memory
            .sessions()
            .open(session.clone())
            .event_views(crate::EventRange::All)
            .unwrap();
        assert_eq!(events.len() as u64, session.events + session.live_events);
        for (number, event) in (1..).zip(&events) {
            assert_eq!(event.seq, Seq::new(number));
        }
        let letter = |event: &crate::EventView<'_>| {
            let letter = match event.event.kind {
                crate::Kind::Prompt => 'p',
                crate::Kind::ToolCall => 'c',
                crate::Kind::ToolResult => 'r',
                _ => 's',
            };
            if event.origin == crate::Origin::Hook {
                letter.to_ascii_uppercase()
            } else {
                letter
            }
        };
        events.iter().map(letter).collect()
    }

    /// How many items are in each state, without summaries.
    fn states(&self) -> String {
        let mut items = self
            .trial
            .memory
            .captures()
            .items(&ItemFilter::default())
            .unwrap();
        items.retain(|item| item.kind != ItemKind::Summary);
        items.reverse();
        let states: Vec<&str> = items.iter().map(|item| item.state.name()).collect();
        states.join(" ")
    }
}

/// Tells a story; `events` and `states` are what is there in the end.
fn check(lines: &[Line], events: &str, states: &str) {
    let mut story = Story::new();
    for line in lines {
        story.tell(*line);
    }
    assert_eq!(
        (story.shown().as_str(), story.states().as_str()),
        (events, states)
    );
}

const TOLD: [Line; 3] = [
    HookPrompt(0, "fix it"),
    HookTool(5, "t1"),
    HookStop(9, "done"),
];
const LOGGED: [Line; 3] = [
    LogPrompt(0, "fix it"),
    LogTool(4, "t1"),
    LogReply(9, "done"),
];

#[test]
fn what_hooks_told_is_there_before_any_log() {
    check(&TOLD, "PCRS", "pending pending pending");
}

#[test]
fn the_log_tells_the_same_and_it_is_one_event() {
    let mut story = TOLD.to_vec();
    story.extend(LOGGED);
    story.push(Sweep);
    check(&story, "pcrs", "done done done");
    // Nor does it come back.
    story.extend([Sweep, Work(1)]);
    check(&story, "pcrs", "done done done");
}

#[test]
fn a_log_that_was_swept_before_the_hooks_told_is_recognised() {
    let mut story = LOGGED.to_vec();
    story.push(Sweep);
    story.extend(TOLD);
    story.push(Work(1));
    check(&story, "pcrs", "done done done");
}

#[test]
fn working_reads_the_log_that_hooks_named() {
    let mut story = TOLD.to_vec();
    story.extend(LOGGED);
    story.push(Work(1));
    check(&story, "pcrs", "done done done");
}

#[test]
fn half_a_log_leaves_the_other_half_as_captured() {
    let mut story = TOLD.to_vec();
    story.extend([LogPrompt(0, "fix it"), Sweep]);
    check(&story, "pCRS", "done pending pending");
    story.extend([LogTool(4, "t1"), Sweep]);
    check(&story, "pcrS", "done done pending");
}

#[test]
fn a_prompt_that_the_log_words_otherwise_is_known_by_its_time() {
    check(
        &[
            HookPrompt(0, "/review"),
            LogPrompt(1, "Review the change."),
            Sweep,
        ],
        "p",
        "done",
    );
    check(
        &[
            HookPrompt(0, "/review"),
            LogPrompt(60, "Something else."),
            Sweep,
        ],
        "pP",
        "pending",
    );
}

#[test]
fn the_same_words_twice_are_two_prompts() {
    let twice = [HookPrompt(0, "go on"), HookPrompt(60, "go on")];
    check(&twice, "PP", "pending pending");
    let [one, other] = twice;
    check(
        &[one, other, LogPrompt(0, "go on"), Sweep],
        "pP",
        "done pending",
    );
}

#[test]
fn a_tool_use_told_twice_is_one() {
    check(&[HookTool(5, "t1"), HookTool(6, "t1")], "CR", "pending");
}

#[test]
fn tool_uses_without_id_are_known_by_their_time_one_for_one() {
    let story = [
        HookNamelessTool(5),
        HookNamelessTool(6),
        LogTool(4, "a"),
        LogTool(5, "b"),
        Work(1),
    ];
    check(&story, "crcr", "done done");
    // A third one has no event left to be.
    let mut story = story.to_vec();
    story.insert(0, HookNamelessTool(5));
    check(&story, "crcrCR", "done done pending");
}

#[test]
fn a_call_that_was_swept_before_its_tool_answered_is_recognised_by_the_answer() {
    let story = [LogLongCall(0, "t1"), Sweep, HookTool(3600, "t1")];
    check(&story, "cR", "pending");
    let [call, sweep, hook] = story;
    check(
        &[call, sweep, hook, LogLongResult(0, "t1"), sweep],
        "cr",
        "done",
    );
}

#[test]
fn what_no_log_tells_stays_as_captured() {
    // No log at all: there is nothing to wait for.
    let mut story = TOLD.to_vec();
    story.push(Work(1));
    check(&story, "PCRS", "raw raw raw");
    // A log that does not tell it: tried again and again.
    let mut story = vec![HookTool(5, "t1"), LogPrompt(0, "fix it"), Work(1)];
    check(&story, "pCR", "pending");
    story.push(Work(MOST_ATTEMPTS));
    check(&story, "pCR", "raw");
    // And if it does at last, it is the same.
    story.extend([LogTool(4, "t1"), Sweep]);
    check(&story, "pcr", "done");
}

#[test]
fn it_is_found_and_its_session_listed() {
    let mut story = Story::new();
    for line in TOLD {
        story.tell(line);
    }
    let memory = &mut story.trial.memory;
    let sessions = memory
        .sessions()
        .list(&crate::SessionFilter::default())
        .unwrap();
    let [session] = &sessions[..] else {
        panic!("{sessions:?}")
    };
    assert_eq!(
        (session.title.as_deref(), session.live_turns),
        (Some("fix it"), 1)
    );
    assert_eq!(session.project.as_deref(), Some("/home/ada/shop"));
    let options = SearchOptions {
        mode: Mode::Keyword,
        ..SearchOptions::default()
    };
    let hits = memory
        .search()
        .run(&Query::parse("fix"), &options)
        .unwrap()
        .hits;
    assert_eq!((hits[0].turn, hits[0].event), (TurnNo::FIRST, Seq::FIRST));
    let hits = memory
        .search()
        .run(&Query::parse("cargo"), &options)
        .unwrap()
        .hits;
    assert_eq!((hits[0].turn, hits[0].event), (TurnNo::FIRST, Seq::new(2)));
}

#[test]
fn a_turn_and_the_last_events_are_found_among_what_was_captured() {
    let mut story = Story::new();
    for line in [
        LogPrompt(0, "first"),
        Sweep,
        HookTool(5, "t1"),
        HookPrompt(20, "second"),
    ] {
        story.tell(line);
    }
    let session = story.trial.session(SESSION);
    let memory = &story.trial.memory;
    let kinds = |range| {
        let events = memory
            .sessions()
            .open(session.clone())
            .event_views(range)
            .unwrap();
        let records = memory
            .sessions()
            .open(session.clone())
            .event_records(&events)
            .unwrap();
        let session = memory.sessions().open(session.clone());
        let in_pieces = session.events(range).unwrap();
        assert_eq!(in_pieces.map(Result::unwrap).collect::<Vec<_>>(), records);
        events
            .iter()
            .map(|event| event.event.kind.name())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(
        kinds(crate::EventRange::Turn(TurnNo::new(1))),
        "prompt tool_call tool_result"
    );
    assert_eq!(kinds(crate::EventRange::Turn(TurnNo::new(2))), "prompt");
    assert_eq!(kinds(crate::EventRange::Last(2)), "tool_result prompt");
    assert!(
        memory
            .sessions()
            .open(session.clone())
            .event_views(crate::EventRange::Turn(TurnNo::new(3)))
            .is_err()
    );
    let session = memory.sessions().open(session);
    let messages = session.messages(crate::EventRange::All).unwrap();
    let contents: Vec<(String, bool)> = messages
        .map(Result::unwrap)
        .map(|message| (message.kind + &message.content, message.log.is_some()))
        .collect();
    let expected = [
        ("user\"first\"", true),
        (
            r#"assistant[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"cargo test"}}]"#,
            false,
        ),
        (
            r#"user[{"type":"tool_result","tool_use_id":"t1","content":"ok","is_error":false}]"#,
            false,
        ),
        (r#"user[{"type":"text","text":"second"}]"#, false),
    ];
    let expected = expected.map(|(content, is_logged)| (content.to_string(), is_logged));
    assert_eq!(contents, expected);
}

#[test]
fn an_item_of_a_process_that_died_comes_back_until_it_was_tried_too_often() {
    let mut story = Story::new();
    story.tell(HookTool(5, "t1"));
    let store = &mut story.trial.memory.store;
    for deaths in 0..20 {
        let taken = store.queue().take_items(NOW, 10).unwrap();
        assert_eq!((taken.len(), taken[0].attempts), (1, deaths));
        // Whoever took it is gone; nobody else gets it before it is given back.
        assert_eq!(store.queue().take_items(NOW, 10).unwrap(), []);
        assert_eq!(store.queue().reclaim_items().unwrap(), 1);
    }
    assert_eq!(story.states(), "failed");
    assert_eq!(story.trial.memory.captures().retry(None).unwrap(), 1);
    assert_eq!(story.states(), "pending");
}

#[test]
fn a_summary_is_asked_for_again_while_it_is_made() {
    let mut story = Story::new();
    story.tell(HookStop(1, "done"));
    let store = &mut story.trial.memory.store;
    let taken = store.queue().take_items(NOW, 10).unwrap();
    let summary = taken
        .iter()
        .find(|item| item.kind == ItemKind::Summary)
        .unwrap()
        .id;
    story.tell(HookStop(2, "done again"));
    let store = &mut story.trial.memory.store;
    store
        .queue()
        .finish_items(&[(summary, backstory_store::ItemOutcome::Done(None))])
        .unwrap();
    assert!(
        store
            .queue()
            .take_items(NOW, 10)
            .unwrap()
            .iter()
            .any(|item| item.id == summary)
    );
}

#[test]
fn the_log_that_was_named_last_is_the_one_to_read() {
    let mut story = Story::new();
    story.tell(HookTool(5, "t1"));
    let log = format!("/home/ada/{}.jsonl", id(SESSION));
    story.hook(9, "Stop", &json!({"transcript_path": log}));
    story.hook(9, "SessionEnd", &json!({"transcript_path": null}));
    let row = story.trial.session(SESSION).id;
    let told = story
        .trial
        .memory
        .store
        .queue()
        .told_transcript(row)
        .unwrap()
        .unwrap();
    assert_eq!(told.1, Some(log));
}

#[test]
fn forgetting_takes_captures_along_and_none_comes_back() {
    let mut story = Story::new();
    for line in TOLD {
        story.tell(line);
    }
    let memory = &mut story.trial.memory;
    let sessions = memory
        .upkeep()
        .to_forget(crate::upkeep::Forget::Session(&id(SESSION)))
        .unwrap();
    assert_eq!(
        memory
            .upkeep()
            .forget(&sessions, &crate::upkeep::ForgetPlaces::default(), &[])
            .unwrap()
            .proof
            .remains,
        [""; 0]
    );
    assert_eq!(memory.captures().item_counts().unwrap(), [0; 5]);
    assert_eq!(
        story.hook(20, "UserPromptSubmit", &json!({"prompt": "more"})),
        Captured::Forgotten
    );
    assert_eq!(story.trial.memory.captures().item_counts().unwrap(), [0; 5]);
}

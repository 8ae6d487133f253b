//! What is findable of a session: which words of each event the index takes.

use backstory_agents::{ArgumentUse, each_argument};
use backstory_event::{Event, EventView, Kind, Seq, SessionId, TimeMs, TurnNo};
use backstory_store::{IndexedEvent, Part, Place, SessionHead};

use crate::digest::Noted;
use crate::text::beginning;

/// How much of one event is indexed. What people and models say is shorter, but for pasted logs.
const MOST_SAID: usize = 32 << 10;

/// How much of a text that a tool was given to write.
const MOST_WRITTEN: usize = 500;

/// How much of what a tool gave back is indexed.
const MOST_GIVEN: usize = 400;

/// Makes the documents of one session, in order.
pub(crate) struct Documents {
    session: SessionId,
    title: Option<String>,
    /// When the last event with a time was: one without is taken to have been then.
    minute: u32,
}

impl Documents {
    pub(crate) fn new(head: &SessionHead) -> Self {
        Documents {
            session: head.id,
            title: head.title.clone(),
            minute: minute(head.started_at),
        }
    }

    /// Of a session of which nothing is known yet but its row.
    pub(super) fn of(session: SessionId) -> Self {
        Documents {
            session,
            title: None,
            minute: 0,
        }
    }

    /// The session's title; stands before its events, as number 0.
    pub(crate) fn title(&self) -> Option<IndexedEvent> {
        let texts = [self.title.clone()?, String::new(), String::new()];
        Some(self.document(Seq::ZERO, TurnNo::FIRST, Kind::Summary, None, texts))
    }

    /// Goes on to an event: one without a time is taken to have been when the last one was.
    pub(crate) fn set_time(&mut self, at: Option<TimeMs>) {
        if at.is_some() {
            self.minute = minute(at);
        }
    }

    /// What was noted of an event whose text is gone.
    pub(crate) fn noted(&mut self, noted: &Noted) -> IndexedEvent {
        self.set_time(noted.at);
        let (seq, turn) = (noted.seq, noted.turn);
        self.document(seq, turn, noted.kind, None, noted.texts.clone())
    }

    /// Returns the document of an event; `None` when nothing of it is worth finding.
    pub(super) fn event(&mut self, view: &EventView<'_>) -> Option<IndexedEvent> {
        let event = &view.event;
        self.set_time(event.at);
        let texts = searchable(event);
        if texts.iter().all(String::is_empty) {
            return None;
        }
        let (seq, turn) = (view.seq, view.turn);
        Some(self.document(seq, turn, event.kind, event.tool.clone(), texts))
    }

    /// Returns the document of an event with these texts.
    pub(crate) fn document(
        &self,
        seq: Seq,
        turn: TurnNo,
        kind: Kind,
        tool: Option<String>,
        texts: [String; 3],
    ) -> IndexedEvent {
        IndexedEvent {
            place: Place {
                session: self.session,
                seq,
                turn,
                kind,
                minute: self.minute,
            },
            tool,
            texts,
        }
    }
}

/// Minutes since 1970; what lies before or far after is a clock gone wrong.
pub(super) fn minute(at: Option<TimeMs>) -> u32 {
    at.map_or(0, |at| {
        (at.get() / 60_000).clamp(0, i64::from(u32::MAX)) as u32
    })
}

/// Returns what of an event is found by words, by part.
pub(crate) fn searchable(event: &Event) -> [String; 3] {
    let mut texts = [String::new(), String::new(), String::new()];
    let [said, _, given] = &mut texts;
    let text = &event.body.text;
    match event.kind {
        Kind::Prompt | Kind::Reply | Kind::Reasoning | Kind::Summary => {
            said.push_str(beginning(text, MOST_SAID));
        }
        Kind::ToolCall => add_call(event, &mut texts),
        Kind::ToolResult => given.push_str(beginning(text.trim_start(), MOST_GIVEN)),
        Kind::System => {}
    }
    texts
}

/// A tool call: its name, command, files and naming arguments were called; sentences to other agents or people were said;
/// the beginning of what it writes was given.
fn add_call(event: &Event, texts: &mut [String; 3]) {
    texts[Part::Called as usize].push_str(event.tool.as_deref().unwrap_or_default());
    match &event.body.command {
        Some(command) => add(texts, Part::Called, command, MOST_SAID),
        None => {
            let text = &event.body.text;
            let is_object = each_argument(text, &mut |argument, text| match argument {
                ArgumentUse::Names => add(texts, Part::Called, text, MOST_SAID),
                ArgumentUse::Says => add(texts, Part::Said, text, MOST_SAID),
                ArgumentUse::Writes => add(texts, Part::Given, text, MOST_WRITTEN),
            });
            if !is_object {
                add(texts, Part::Given, text, MOST_WRITTEN);
            }
        }
    }
    let files = event.touches.iter().map(|touch| touch.path.as_str());
    let mut files: Vec<&str> = files.collect();
    files.sort_unstable();
    files.dedup();
    for file in files {
        if !texts[Part::Called as usize].contains(file) {
            add(texts, Part::Called, file, MOST_SAID);
        }
    }
}

fn add(texts: &mut [String; 3], part: Part, text: &str, most: usize) {
    let all = &mut texts[part as usize];
    if !all.is_empty() {
        all.push('\n');
    }
    all.push_str(beginning(text, most));
}

#[cfg(test)]
pub(crate) mod tests {
    use backstory_event::{Action, Touch};

    use super::*;

    /// An event as the store would give it.
    pub(crate) fn shown(kind: Kind, text: &str) -> EventView<'static> {
        EventView::unstored(Seq::new(3), TurnNo::new(2), kind, None, text.to_string())
    }

    fn reads(path: &str) -> Vec<Touch> {
        vec![Touch {
            path: path.to_string(),
            action: Action::Read,
        }]
    }

    /// A call of a tool with these arguments.
    pub(crate) fn called(tool: &str, arguments: &str) -> EventView<'static> {
        let mut event = shown(Kind::ToolCall, arguments);
        event.event.to_mut().tool = Some(tool.to_string());
        event
    }

    /// The parts of an event, each on one line.
    fn check(view: &EventView<'_>, expect: [&str; 3]) {
        let texts = searchable(&view.event).map(|text| text.replace('\n', " | "));
        assert_eq!(texts, expect);
    }

    #[test]
    fn what_people_and_models_say_is_found_whole() {
        for kind in [Kind::Prompt, Kind::Reply, Kind::Reasoning, Kind::Summary] {
            check(&shown(kind, "fix the build"), ["fix the build", "", ""]);
        }
        let long = "é".repeat(MOST_SAID);
        let [said, ..] = searchable(&shown(Kind::Prompt, &long).event);
        assert_eq!(said.len(), MOST_SAID);
    }

    #[test]
    fn what_tools_give_back_is_found_by_its_beginning() {
        check(&shown(Kind::ToolResult, "\n\n ok"), ["", "", "ok"]);
        let long = format!("{}end", "界".repeat(MOST_GIVEN));
        let [said, called, given] = searchable(&shown(Kind::ToolResult, &long).event);
        assert!(said.is_empty() && called.is_empty());
        assert!(given.len() <= MOST_GIVEN && given.len() > MOST_GIVEN - 3);
    }

    #[test]
    fn a_call_is_found_by_what_was_called() {
        let mut bash = called("Bash", r#"{"command": "cargo test", "description": "Run"}"#);
        bash.event.to_mut().body.command = Some("cargo test".to_string());
        bash.event.to_mut().touches = reads("/shop/a.rs");
        check(&bash, ["", "Bash | cargo test | /shop/a.rs", ""]);
        let mut edit = called(
            "Edit",
            r#"{"file_path": "/shop/a.rs", "old_string": "before", "new_string": "after", "replace_all": true}"#,
        );
        edit.event.to_mut().touches = reads("/shop/a.rs");
        check(&edit, ["", "Edit | /shop/a.rs", "after"]);
        let grep = called(
            "Grep",
            r#"{"pattern": "fn main", "output_mode": "content", "path": "src"}"#,
        );
        check(&grep, ["", "Grep | src | fn main", ""]);
        let patch = called("apply_patch", "*** Begin Patch");
        check(&patch, ["", "apply_patch", "*** Begin Patch"]);
        check(&called("Stop", "null"), ["", "Stop", "null"]);
    }

    #[test]
    fn sentences_in_a_call_were_said() {
        let task = called(
            "Task",
            r#"{"prompt": "look for leaks", "description": "Leaks", "subagent_type": "finder"}"#,
        );
        check(&task, ["look for leaks", "Task | Leaks", ""]);
        let todos = called(
            "TodoWrite",
            r#"{"todos": [{"content": "write tests", "status": "pending", "activeForm": "Writing"}, {"content": "ship"}]}"#,
        );
        check(&todos, ["", "TodoWrite | write tests | ship", ""]);
        let long = format!(r#"{{"new_string": "{}"}}"#, "x".repeat(2 * MOST_WRITTEN));
        let [_, _, given] = searchable(&called("Edit", &long).event);
        assert_eq!(given.len(), MOST_WRITTEN);
    }

    #[test]
    fn what_the_agent_injects_is_not_found() {
        let mut documents = Documents::of(7.into());
        assert!(
            documents
                .event(&shown(Kind::System, "be helpful"))
                .is_none()
        );
        assert!(documents.event(&shown(Kind::Reply, "")).is_none());
        assert!(documents.title().is_none());
    }

    #[test]
    fn documents_know_their_place() {
        let head = SessionHead {
            id: 7.into(),
            agent: "codex".to_string(),
            session: "s".to_string(),
            title: Some("The shop".to_string()),
            project: None,
            branch: None,
            started_at: Some(TimeMs::new(60_000)),
            ended_at: None,
            machine: false,
            evicted: Seq::ZERO,
        };
        let mut documents = Documents::new(&head);
        let title = documents.title().unwrap();
        assert_eq!(
            (title.place.session, title.place.seq, title.place.turn),
            (7.into(), Seq::ZERO, TurnNo::FIRST)
        );
        assert_eq!(
            (title.place.minute, title.texts[0].as_str()),
            (1, "The shop")
        );
        let untimed = documents.event(&shown(Kind::Prompt, "a")).unwrap();
        assert_eq!(
            (untimed.place.seq, untimed.place.turn, untimed.place.minute),
            (Seq::new(3), TurnNo::new(2), 1)
        );
        let mut timed = shown(Kind::ToolResult, "b");
        timed.event.to_mut().at = Some(TimeMs::new(5 * 60_000 + 59_999));
        timed.event.to_mut().tool = Some("Bash".to_string());
        let timed = documents.event(&timed).unwrap();
        assert_eq!(
            (timed.place.minute, timed.tool.as_deref()),
            (5, Some("Bash"))
        );
        // One that does not say when was when the last one was.
        assert_eq!(
            documents
                .event(&shown(Kind::Reply, "c"))
                .unwrap()
                .place
                .minute,
            5
        );
        assert_eq!(
            [
                minute(None),
                minute(Some(TimeMs::new(-1))),
                minute(Some(TimeMs::MAX))
            ],
            [0, 0, u32::MAX]
        );
    }
}

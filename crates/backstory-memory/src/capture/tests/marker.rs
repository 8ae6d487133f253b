//! Markers stand for what could not be kept until the log tells it, and never hold text.

use super::*;

/// Stores the marker of what a hook is told at this second.
fn mark(story: &mut Story, second: i64, event: &str, fields: &Value) {
    let mut told = json!({
        "session_id": id(SESSION),
        "transcript_path": story.trial.log("log"),
        "cwd": "/home/ada/shop",
    });
    let told_fields = told.as_object_mut().unwrap();
    told_fields.extend(fields.as_object().unwrap().clone());
    let told = told.to_string();
    let input = hook::read(Some("claude-code"), Some(event), told.as_bytes()).unwrap();
    let marker = Capture::new(input, NOW.plus_ms(second * 1000)).marker(told.len() as u64);
    story
        .trial
        .memory
        .captures()
        .store(&marker.clean(None), None)
        .unwrap();
}

fn mark_all(story: &mut Story) {
    mark(story, 0, "UserPromptSubmit", &json!({"prompt": "fix it"}));
    let tool = json!({"tool_name": "Bash", "tool_input": {}, "tool_response": {"stdout": "ok"}, "tool_use_id": "t1"});
    mark(story, 5, "PostToolUse", &tool);
    mark(story, 9, "Stop", &json!({"last_assistant_message": "done"}));
}

const TOLD_BY_LOG: [Line; 3] = [
    LogPrompt(1, "fix it"),
    LogTool(4, "t1"),
    LogReply(9, "done"),
];

#[test]
fn a_marker_is_shown_without_text_until_the_log_fills_it_in() {
    let mut story = Story::new();
    mark_all(&mut story);
    assert_eq!(story.shown(), "PCRS");
    let texts = story.trial.texts(SESSION).concat();
    assert_eq!(texts.matches("bytes not kept").count(), 4, "{texts}");
    assert!(!texts.contains("fix it"), "{texts}");
    for line in TOLD_BY_LOG {
        story.tell(line);
    }
    story.tell(Sweep);
    story.tell(Work(1));
    assert_eq!(story.shown(), "pcrs");
    assert_eq!(story.states(), "done done done");
}

#[test]
fn a_marker_after_the_log_was_read_is_filled_in_as_well() {
    let mut story = Story::new();
    for line in TOLD_BY_LOG {
        story.tell(line);
    }
    story.tell(Sweep);
    mark_all(&mut story);
    story.tell(Work(1));
    assert_eq!(story.shown(), "pcrs");
    assert_eq!(story.states(), "done done done");
}

#[test]
fn a_marker_that_no_log_tells_of_stays() {
    let mut story = Story::new();
    mark_all(&mut story);
    story.tell(Work(MOST_ATTEMPTS + 1));
    assert_eq!(story.shown(), "PCRS");
    assert_eq!(story.states(), "raw raw raw");
}

#[test]
fn a_marker_and_the_tool_use_that_it_stands_for_are_one_item() {
    let mut story = Story::new();
    story.tell(HookTool(5, "t1"));
    mark_all(&mut story);
    assert_eq!(story.states(), "pending pending pending");
}

#[test]
fn a_marker_leaves_long_fields_out() {
    let long = "x".repeat(2000);
    let input = json!({"session_id": long, "cwd": long, "prompt": long, "prompt_id": long});
    let input = input.to_string();
    let input = hook::read(None, Some("UserPromptSubmit"), input.as_bytes()).unwrap();
    let marker = Capture::new(input, NOW).marker(7);
    assert_eq!((&marker.input.session, &marker.input.cwd), (&None, &None));
    let json = serde_json::to_string(&marker).unwrap();
    assert!(!json.contains("xxx") && json.len() < 400, "{json}");
}

/// More than a spool gives back would be put aside as no capture of ours, and be lost.
#[test]
fn a_capture_that_is_too_large_for_the_spool_leaves_a_marker() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::new(&folder.path().join("store"), Vec::new());
    // Each of these takes six bytes there.
    let prompt = "\u{1}".repeat(6 << 20);
    let input = json!({"session_id": id(SESSION), "prompt": prompt}).to_string();
    let input = hook::read(None, Some("UserPromptSubmit"), input.as_bytes()).unwrap();
    spool.put(&Capture::new(input, NOW)).unwrap();
    let story = Story::new();
    let drained = story.trial.memory.captures().drain(&spool, false).unwrap();
    assert_eq!(drained.stored, 1);
    let items = story
        .trial
        .memory
        .captures()
        .items(&ItemFilter::default())
        .unwrap();
    assert!(omitted_bytes(&items[0]).unwrap() > 32 << 20);
}

mod hostile;
mod random;
mod returning;

use backstory_store::Project;
use serde_json::{Value, json};

use super::*;
use crate::trial::{DAY, NOW, Trial, id, record};

/// What a session in the project of all made-up logs is told.
fn options() -> ContextOptions<'static> {
    let project = Project {
        root: "/home/ada/shop".to_string(),
        remote: None,
    };
    ContextOptions {
        here: Surroundings::elsewhere(vec![project], None),
        session: None,
        occasion: Occasion::Start,
        prompt: None,
        calls: false,
        redactor: None,
        tokens: 2_000,
        characters: 9_500,
        shares: Shares::default(),
        before: NOW,
        now: NOW,
        nonce: [7; 32],
    }
}

/// A session's log in the making.
struct Log {
    session: u32,
    at: TimeMs,
    records: u32,
    lines: Vec<String>,
}

impl Log {
    fn new(session: u32, days_ago: i64) -> Self {
        Log {
            session,
            at: NOW.minus_ms(days_ago * DAY),
            records: 0,
            lines: Vec::new(),
        }
    }

    fn push(&mut self, kind: &str, message: &Value) -> &mut Self {
        self.records += 1;
        self.at = self.at.plus_ms(1_000);
        let uuid = format!("{}-{}", self.session, self.records);
        self.lines
            .push(record(self.session, &uuid, Some(self.at), kind, message));
        self
    }

    fn prompt(&mut self, text: &str) -> &mut Self {
        self.push("user", &json!({"role": "user", "content": text}))
    }

    fn reply(&mut self, text: &str) -> &mut Self {
        self.push(
            "assistant",
            &json!({"role": "assistant", "content": [{"type": "text", "text": text}]}),
        )
    }

    fn tool(&mut self, name: &str, input: &Value, output: &str, error: bool) -> &mut Self {
        let call = format!("call-{}-{}", self.session, self.records);
        self.push(
            "assistant",
            &json!({"role": "assistant", "content": [{"type": "tool_use", "id": call, "name": name, "input": input}]}),
        );
        self.push(
            "user",
            &json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": output, "is_error": error}]}),
        )
    }

    fn edit(&mut self, path: &str) -> &mut Self {
        let input = json!({"file_path": path, "old_string": "a", "new_string": "b"});
        self.tool("Edit", &input, "The file has been updated.", false)
    }

    fn run(&mut self, command: &str, output: &str) -> &mut Self {
        self.tool("Bash", &json!({"command": command}), output, false)
    }

    fn write(&self, trial: &Trial) {
        trial.append(&id(self.session), &self.lines);
    }
}

/// The lines between preface and end.
fn lines(context: &Context) -> Vec<&str> {
    let mut lines: Vec<&str> = context.text.lines().skip(2).collect();
    lines.pop();
    lines
}

fn check(context: &Context, expect: &[&str]) {
    assert_eq!(lines(context), expect);
}

fn two_sessions() -> Trial {
    let mut trial = Trial::new();
    let mut log = Log::new(1, 3);
    log.prompt("fix the flaky cart test")
        .edit("/home/ada/shop/src/cart.rs")
        .run("cargo test -p shop", "test result: ok. 3 passed; 0 failed")
        .run(
            "git commit -am 'Fix cart'",
            "[main 1a2b3c4] Fix cart\n 1 file changed",
        )
        .reply("Done.")
        .write(&trial);
    let mut log = Log::new(2, 1);
    log.prompt("add a discount to the checkout")
        .edit("/home/ada/shop/src/checkout.rs")
        .edit("/home/ada/shop/.claude/worktrees/fix-1/src/cart.rs")
        .edit("/home/ada/elsewhere/notes.md")
        .run(
            "cargo test -p shop",
            "test result: FAILED. 2 passed; 1 failed",
        )
        .prompt("don't round, use cents instead")
        .write(&trial);
    trial.sweep();
    trial
}

#[test]
fn a_new_session_is_told_what_was_done() {
    let trial = two_sessions();
    let context = trial.memory.context().build(&options()).unwrap();
    check(
        &context,
        &[
            "State of work:",
            "- 23 hours ago · claude-code · \"add a discount to the checkout\" · abandoned · src/checkout.rs, src/cart.rs [00000002#2]",
            "- failed last: 'cargo test -p shop' [00000002#1]",
            "- the user decided \"don't round, use cents instead\" [00000002#2]",
            "- 2 days ago · claude-code · \"fix the flaky cart test\" · success · commit 1a2b3c4 · src/cart.rs [00000001#1]",
        ],
    );
    assert_eq!(
        (context.tokens, context.budget),
        (count_tokens(&context.text), 2_000)
    );
    let items: Vec<usize> = context.layers.iter().map(|layer| layer.items).collect();
    assert_eq!(items, [0, 0, 4, 0, 0, 0]);
    let reasons: Vec<Reason> = context.items.iter().map(|item| item.reason).collect();
    let (latest, failing) = (Reason::LatestWork, Reason::FailingCheck);
    assert_eq!(reasons, [latest, failing, latest, latest]);
    let left_out = context.left_out.iter();
    let left_out: Vec<_> = left_out
        .map(|left| (left.layer, left.items, left.reason))
        .collect();
    assert_eq!(
        left_out,
        [
            (Layer::Lost, 0, LeftOutReason::NothingKnown),
            (Layer::Learnings, 0, LeftOutReason::NothingKnown),
            (Layer::Files, 0, LeftOutReason::NothingKnown),
            (Layer::Observations, 0, LeftOutReason::NothingKnown),
            (Layer::Calls, 0, LeftOutReason::NotAskedFor),
        ]
    );
}

#[test]
fn files_that_are_being_changed_come_first_and_bring_their_story() {
    let trial = two_sessions();
    let mut options = options();
    options.here.set_changed(&["src/checkout.rs"]);
    let context = trial.memory.context().build(&options).unwrap();
    let told = lines(&context);
    let line = "- edited src/checkout.rs, src/cart.rs for \"add a discount to the checkout\" · 23 hours ago [00000002#1]";
    assert!(told.contains(&line), "{told:#?}");
    assert!(!context.text.contains("- src/cart.rs"), "{told:#?}");
}

#[test]
fn nothing_is_told_where_nothing_is_known() {
    let trial = two_sessions();
    let mut elsewhere = options();
    elsewhere.here = Surroundings::elsewhere(
        vec![Project {
            root: "/home/ada/other".to_string(),
            remote: None,
        }],
        None,
    );
    assert_eq!(trial.memory.context().build(&elsewhere).unwrap().text, "");
    let before = ContextOptions {
        before: NOW.minus_ms(10 * DAY),
        ..options()
    };
    assert_eq!(trial.memory.context().build(&before).unwrap().text, "");
    let tiny = ContextOptions {
        tokens: 30,
        ..options()
    };
    assert_eq!(trial.memory.context().build(&tiny).unwrap().text, "");
}

#[test]
fn who_goes_on_is_told_only_what_is_new() {
    let trial = two_sessions();
    let mut options = options();
    options.occasion = Occasion::Resume;
    options.session = Some(SessionName::new("claude-code", id(1)));
    let context = trial.memory.context().build(&options).unwrap();
    assert!(
        context.text.contains("[00000002#") && !context.text.contains("[00000001#"),
        "{}",
        context.text
    );
    options.session = Some(SessionName::new("claude-code", id(2)));
    assert_eq!(trial.memory.context().build(&options).unwrap().text, "");
}

#[test]
fn after_compaction_a_session_is_told_what_it_did_itself() {
    let trial = two_sessions();
    let mut options = options();
    options.occasion = Occasion::Compaction;
    options.session = Some(SessionName::new("claude-code", id(2)));
    let context = trial.memory.context().build(&options).unwrap();
    let told = lines(&context);
    assert_eq!(
        told[..6],
        [
            "This session, before its history was cut:",
            "- 'cargo test -p shop' failed last [00000002#1]",
            "- the user said \"don't round, use cents instead\" [00000002#2]",
            "- the user said \"add a discount to the checkout\" [00000002#1]",
            "- src/cart.rs · 23 hours ago [00000002#1]",
            "- src/checkout.rs · 23 hours ago [00000002#1]",
        ]
    );
    // What others did is told, too; the session itself is none of them.
    assert!(
        told.iter()
            .any(|line| line.contains("\"fix the flaky cart test\""))
    );
    assert!(!told.iter().any(|line| line.contains("· \"add a discount")));
}

#[test]
fn what_is_known_about_a_prompt_is_told() {
    let trial = two_sessions();
    let mut options = options();
    options.occasion = Occasion::Prompt;
    options.prompt = Some("is the flaky cart test back?");
    let context = trial.memory.context().build(&options).unwrap();
    check(
        &context,
        &[
            "Related:",
            "- edited src/cart.rs for \"fix the flaky cart test\" · 2 days ago [00000001#1]",
        ],
    );
    options.prompt = Some("translate the imprint into Norwegian");
    assert_eq!(trial.memory.context().build(&options).unwrap().text, "");
}

#[test]
fn files_are_told_with_their_functions() {
    let mut trial = Trial::new();
    let path = "/home/ada/shop/src/till.rs";
    let source = "impl Till {\n    fn open(&self) {}\n    fn close(&self) {}\n}\n\nfn count() {}\n";
    let write = json!({"file_path": path, "content": source});
    Log::new(1, 3)
        .prompt("build a till")
        .tool("Write", &write, "File created successfully", false)
        .write(&trial);
    let edit = json!({"file_path": path, "old_string": "fn close(&self) {}", "new_string": "fn close(&self) {\n        count();\n    }"});
    Log::new(2, 1)
        .prompt("count before closing")
        .tool("Edit", &edit, "The file has been updated.", false)
        .write(&trial);
    trial.sweep();
    let context = trial.memory.context().build(&options()).unwrap();
    let told = lines(&context);
    let line = "- src/till.rs · 23 hours ago: MODIFIED Till: fn close(&self) [00000002#1]";
    assert!(told.contains(&line), "{told:#?}");
    // What came later had not been written yet.
    let before = ContextOptions {
        before: NOW.minus_ms(2 * DAY),
        now: NOW.minus_ms(2 * DAY),
        ..options()
    };
    let mut earlier = before;
    earlier.here.set_changed(&["src/till.rs"]);
    let context = trial.memory.context().build(&earlier).unwrap();
    let line = "- src/till.rs · 23 hours ago: NEW fn count(); NEW Till: fn open(&self); NEW Till: fn close(&self) [00000001#1]";
    assert!(lines(&context).contains(&line), "{}", context.text);
}

#[test]
fn files_that_many_sessions_change_are_told() {
    let path = "/home/ada/shop/src/till.rs";
    let source = "impl Till {\n    fn open(&self) {}\n    fn close(&self) {}\n}\n\nfn count() {}\n";
    let write = json!({"file_path": path, "content": source});
    let mut trial_two = Trial::new();
    trial_two.checks = false;
    let mut log = Log::new(1, 300);
    log.prompt("build a till")
        .tool("Write", &write, "File created successfully", false)
        .write(&trial_two);
    for session in 2..40 {
        // So many since that the first one is not told of any more.
        let edit = json!({"file_path": path, "old_string": "fn count() {}", "new_string": "fn count() { }"});
        let undo = json!({"file_path": path, "old_string": "fn count() { }", "new_string": "fn count() {}"});
        let mut log = Log::new(session, 200 - i64::from(session));
        log.prompt(&format!("count again, number {session}"))
            .tool(
                "Edit",
                if session % 2 == 0 { &edit } else { &undo },
                "The file has been updated.",
                false,
            )
            .write(&trial_two);
    }
    trial_two.sweep();
    let context = trial_two.memory.context().build(&options()).unwrap();
    let file = lines(&context)
        .into_iter()
        .find(|line| line.starts_with("- src/till.rs"))
        .map(str::to_string);
    let file = file.unwrap_or_default();
    assert!(
        file.contains("NEW fn count()") || file.contains("MODIFIED fn count()"),
        "{file}"
    );
}

#[test]
fn work_on_the_branch_is_told_however_long_ago() {
    let mut trial = Trial::new();
    trial.checks = false;
    let on = |mut log: Log, branch: &str| {
        for line in &mut log.lines {
            *line = line.replace(
                "\"type\":",
                &format!("\"gitBranch\":\"{branch}\",\"type\":"),
            );
        }
        log
    };
    let mut log = Log::new(1, 300);
    log.prompt("begin the new till")
        .edit("/home/ada/shop/src/till.rs");
    on(log, "ada/till").write(&trial);
    for session in 2..60 {
        let mut log = Log::new(session, 200 - i64::from(session));
        log.prompt(&format!("something else, number {session}"))
            .edit("/home/ada/shop/src/cart.rs");
        on(log, "main").write(&trial);
    }
    trial.sweep();
    let mut options = options();
    let told = |trial: &mut Trial, options: &ContextOptions<'_>| {
        trial.memory.context().build(options).unwrap().text
    };
    assert!(!told(&mut trial, &options).contains("src/till.rs"));
    options.here.branch = Some("ada/till".to_string());
    let text = told(&mut trial, &options);
    let part = "this branch · \"begin the new till\" · src/till.rs";
    assert!(text.contains(part), "{text}");
    let first = text.lines().nth(3).unwrap_or_default();
    assert!(first.contains("this branch"), "{text}");
}

#[test]
fn a_project_without_people_is_told_of_headless_sessions() {
    let mut trial = Trial::new();
    let mut log = Log::new(1, 1);
    log.prompt("check the links in the docs")
        .edit("/home/ada/shop/docs/a.md")
        .reply("I've fixed 3 broken links in the docs.");
    for line in &mut log.lines {
        *line = line.replace("\"type\":", "\"entrypoint\":\"sdk-cli\",\"type\":");
    }
    log.write(&trial);
    trial.sweep();
    assert!(trial.session(1).machine);
    let context = trial.memory.context().build(&options()).unwrap();
    check(
        &context,
        &[
            "State of work:",
            "- 23 hours ago · claude-code · \"check the links in the docs\" · success · docs/a.md · \"I've fixed 3 broken links in the docs\" [00000001#1]",
        ],
    );
}

#[test]
fn nothing_is_told_of_other_projects() {
    let mut trial = two_sessions();
    let folders = ["/home/ada", "/", "/home/ada/my_shop", "/home/ada/my-shop"];
    for (number, folder) in (20..).zip(folders) {
        let mut log = Log::new(number, 1);
        log.prompt(&format!("of {number} alone"))
            .edit("/home/ada/shop/notes.md");
        let lines = log.lines.iter();
        let lines: Vec<String> = lines
            .map(|line| {
                line.replace(
                    "\"cwd\":\"/home/ada/shop\"",
                    &format!("\"cwd\":\"{folder}\""),
                )
            })
            .collect();
        trial.append(&id(number), &lines);
    }
    trial.sweep();
    let mut options = options();
    options.prompt = Some("why does the flaky cart test in src/cart.rs fail?");
    for (number, folder) in (20..).zip(folders) {
        let here = trial.memory.context().surroundings_named(folder).unwrap();
        options.here = here.unwrap();
        let told = trial.memory.context().build(&options).unwrap().text;
        let cited: Vec<&str> = told
            .lines()
            .filter_map(|line| Some(line.rsplit_once(" [")?.1.split_once('#')?.0))
            .collect();
        assert!(
            !cited.is_empty() && cited.iter().all(|cite| *cite == &id(number)[..8]),
            "{folder}: {told}"
        );
    }
    let named = trial
        .memory
        .context()
        .surroundings_named("my_shop")
        .unwrap();
    assert_eq!(named.unwrap().projects.len(), 1);
}

//! Sessions that keep their rows, names and files, whatever logs are converted and in whatever order.

use std::path::Path;

use serde_json::{Value, json};

use super::{output, turn};
use backstory_agents::sample;

use crate::environment::{Environment, STORY_END, claude_id, claude_path, files_below};

/// Secrets of which redaction leaves the same.
const SECRETS: [&str; 2] = ["a1B2c3D4e5F6", "G7h8J9k1L2m3"];

fn secret(number: usize) -> String {
    format!("ghp_{}", SECRETS[number].repeat(3))
}

/// Number of rows of the table of events in a folder or a file.
fn event_rows(environment: &Environment, target: &str) -> Value {
    let shown = environment.json(&["inspect", target]);
    match Path::new(target).is_dir() {
        true => shown["tables"][1]["rows"].clone(),
        false => shown["rows"].clone(),
    }
}

#[test]
fn tables_keep_rows_that_the_logs_lack() {
    let environment = Environment::new();
    let write = |name: &str, turns: &[u32]| {
        let turns = turns.iter().map(|number| turn(*number));
        let log = environment.write(name, turns.collect::<String>());
        log.display().to_string()
    };
    let first = write("first/a.jsonl", &[1, 2]);
    let second = write("second/a.jsonl", &[3, 4, 5]);
    let shrunk = write("shrunk/a.jsonl", &[1]);
    let all = write("all/a.jsonl", &[1, 2, 3, 4, 5]);
    let folder = output(&environment, "tables");
    for table in ["events", "tool_calls", "usage", "sessions"] {
        let file = output(&environment, &format!("{table}.parquet"));
        let targets = [
            vec!["-o", &file, "--table", table],
            vec!["-o", &folder, "--format", "parquet"],
        ];
        for target in targets {
            let convert = |log: &str| {
                let arguments = [&["convert", log][..], &target, &["--json"]].concat();
                environment.run(&arguments)
            };
            let output = target[1];
            let _ = std::fs::remove_dir_all(&folder);
            assert_eq!(convert(&first).code, 0);
            let rows = event_rows(&environment, output);
            for log in [&second, &shrunk] {
                for _ in 0..2 {
                    let outcome = convert(log);
                    assert_eq!(outcome.code, 1, "{table}: {}", outcome.stderr);
                    let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
                    let reason = report["problems"][0]["reason"].as_str().unwrap();
                    assert!(reason.contains(&claude_id(1)), "{reason}");
                    assert!(outcome.stderr.contains(reason), "{}", outcome.stderr);
                    assert_eq!(event_rows(&environment, output), rows, "{table}");
                }
            }
            assert_eq!(convert(&all).code, 0, "{table}");
            let shown = environment.json(&["inspect", output]);
            if table != "sessions" || output == folder {
                let grown = event_rows(&environment, output).as_u64().unwrap();
                assert_eq!(grown * 2, rows.as_u64().unwrap() * 5, "{shown}");
            }
        }
    }
}

#[test]
fn a_session_that_lacks_rows_does_not_stop_others() {
    let environment = Environment::new();
    let other = |text: String| {
        text.replace(&claude_id(1), &claude_id(2))
            .replace("\"uuid\":\"", "\"uuid\":\"x")
    };
    let folder = output(&environment, "tables");
    environment.write("logs/1.jsonl", [turn(1), turn(2)].concat());
    environment.write("logs/2.jsonl", other(turn(3)));
    let logs = output(&environment, "logs");
    let convert = [
        "convert", &logs, "-o", &folder, "--format", "parquet", "--json",
    ];
    assert_eq!(environment.run(&convert).code, 0);
    environment.write("logs/1.jsonl", turn(2));
    environment.write("logs/2.jsonl", other([turn(3), turn(4)].concat()));
    assert_eq!(environment.run(&convert).code, 1);
    let shown = environment.json(&["inspect", &folder]);
    for (table, rows) in [(0, 2), (1, 16), (2, 4), (3, 4)] {
        assert_eq!(shown["tables"][table]["rows"], rows, "{shown}");
        assert_eq!(shown["tables"][table]["sessions"], 2, "{shown}");
    }
}

#[test]
fn a_fork_gives_its_history_back_to_its_parent() {
    let environment = Environment::new();
    let fork = [turn(1), turn(2)]
        .concat()
        .replace(&claude_id(1), &claude_id(2));
    let fork = environment.write("logs/fork.jsonl", fork);
    let folder = output(&environment, "tables");
    let convert =
        |log: &str| environment.run(&["convert", log, "-o", &folder, "--format", "parquet"]);
    assert_eq!(convert(fork.to_str().unwrap()).code, 0);
    assert_eq!(event_rows(&environment, &folder), 8);
    environment.write("logs/a.jsonl", turn(1));
    let outcome = convert(&output(&environment, "logs"));
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(event_rows(&environment, &folder), 8);
}

/// Logs of two sessions that start at the same time, and whose ids differ in the secret only.
fn alike_logs(environment: &Environment, turns: u32) -> Vec<String> {
    let log = |number: usize| {
        let id = format!("shop-{}-x", secret(number));
        let log: String = (1..=turns).map(turn).collect();
        let log = log
            .replace(&claude_id(1), &id)
            .replace("\"uuid\":\"", &format!("\"uuid\":\"{number}"))
            .replace(
                "question",
                &format!("question of {number} with {}", secret(number)),
            );
        let path = format!("logs/{number}.jsonl");
        environment.write(&path, log).display().to_string()
    };
    (0..2).map(log).collect()
}

#[test]
fn sessions_whose_ids_differ_in_the_secret_stay_apart() {
    for name in ["all.h5", "columns", "all.parquet", "tables/"] {
        let environment = Environment::new();
        let target = output(&environment, name);
        let is_table = name.contains('a') && !name.contains("all.h5") && name != "columns";
        let convert = |log: &str, redact: &str| {
            let mut arguments = vec!["convert", log, "-o", &target, "--redact", redact, "--json"];
            if name == "tables/" {
                arguments.extend(["--format", "parquet"]);
            }
            let outcome = environment.run(&arguments);
            assert_eq!(outcome.code, 0, "{name}: {}", outcome.stderr);
        };
        let counts = || {
            let shown = environment.json(&["inspect", &target]);
            match (is_table, name) {
                (true, "tables/") => (
                    shown["tables"][1]["sessions"].clone(),
                    shown["tables"][1]["rows"].clone(),
                ),
                (true, _) => (shown["sessions"].clone(), shown["rows"].clone()),
                (false, _) => (
                    shown["totals"]["sessions"].clone(),
                    shown["totals"]["messages"].clone(),
                ),
            }
        };
        let rows = |turns: u32| if is_table { 8 * turns } else { 6 * turns };
        let secrets = || {
            let paths = match Path::new(&target).is_dir() {
                true => crate::environment::files_below(Path::new(&target)),
                false => vec![target.clone().into()],
            };
            let has_secret = |path: &std::path::PathBuf| {
                let bytes = std::fs::read(path).unwrap();
                let secret = secret(0);
                let in_name = path.to_string_lossy().contains(&secret);
                in_name
                    || bytes
                        .windows(secret.len())
                        .any(|text| text == secret.as_bytes())
            };
            paths.iter().any(has_secret)
        };
        // One by one first: neither takes the place of the other.
        let logs = alike_logs(&environment, 1);
        for log in &logs {
            convert(log, "on");
        }
        assert_eq!(counts(), (json!(2), json!(rows(1))), "{name}: one by one");
        let folder = output(&environment, "logs");
        for (redact, turns) in [
            ("on", 1),
            ("off", 1),
            ("on", 2),
            ("on", 2),
            ("off", 3),
            ("off", 3),
            ("on", 3),
        ] {
            alike_logs(&environment, turns);
            convert(&folder, redact);
            assert_eq!(
                counts(),
                (json!(2), json!(rows(turns))),
                "{name}: {redact} {turns}"
            );
            assert_eq!(secrets(), redact == "off", "{name}: {redact} {turns}");
        }
    }
}

#[test]
fn unredacted_sessions_with_different_ids_are_two() {
    for name in ["all.h5", "all.parquet"] {
        let environment = Environment::new();
        let file = output(&environment, name);
        for log in alike_logs(&environment, 1) {
            environment.json(&["convert", &log, "-o", &file, "--redact", "off"]);
        }
        let shown = environment.json(&["inspect", &file]);
        let sessions = match name {
            "all.h5" => &shown["totals"]["sessions"],
            _ => &shown["sessions"],
        };
        assert_eq!(*sessions, 2, "{shown}");
    }
}

/// A session of Codex.
fn codex_log(environment: &Environment, folder: &str, id: &str, text: &str) {
    let time = "2026-02-03T04:05:06.000Z";
    let content = json!([{"type": "input_text", "text": text}]);
    let lines = [
        json!({"timestamp": time, "type": "session_meta", "payload": {"id": id, "timestamp": time, "cwd": "/work/shop"}}),
        json!({"timestamp": time, "type": "response_item", "payload": {"type": "message", "role": "user", "content": content}}),
    ];
    let path = format!(
        "{folder}/rollout-2026-02-03T04-05-06-{}.jsonl",
        claude_id(7)
    );
    environment.write(&path, format!("{}\n{}\n", lines[0], lines[1]));
}

#[test]
fn a_session_keeps_its_file_in_any_order() {
    let environment = Environment::new();
    codex_log(&environment, "one", "a_b", "first");
    codex_log(&environment, "two", "a/b", "second");
    codex_log(&environment, "three", &claude_id(1), "third");
    environment.write("four/a.jsonl", turn(1));
    let [one, two, three, four] =
        ["one", "two", "three", "four"].map(|name| output(&environment, name));
    for name in ["columns", "all.h5"] {
        let target = output(&environment, name);
        let convert = |logs: &[&str]| {
            let arguments = [&["convert"][..], logs, &["-o", &target]].concat();
            environment.json(&arguments)
        };
        for (logs, written, unchanged) in [
            (&[&*one][..], 1, 0),
            (&[&two], 1, 0),
            (&[&one, &two], 0, 2),
            (&[&three], 1, 0),
            (&[&four], 1, 0),
            (&[&three], 0, 1),
            (&[&one, &two, &three, &four], 0, 4),
        ] {
            let report = convert(logs);
            let counts = (&report["written"], &report["unchanged"]);
            assert_eq!(
                counts,
                (&json!(written), &json!(unchanged)),
                "{name} {logs:?}: {report}"
            );
        }
        let shown = environment.json(&["inspect", &target]);
        let sessions = shown["sessions"].as_object().unwrap();
        let names: Vec<&str> = sessions.keys().map(String::as_str).collect();
        let id = claude_id(1);
        let other = format!("{id}-claude-code-2");
        assert_eq!(names, [&*id, &*other, "a_b", "a_b-codex-2"]);
        assert_eq!(sessions[&id]["agent"], "codex");
        assert_eq!(sessions[&other]["messages"], 3);
    }
}

#[test]
fn sessions_whose_names_are_alike_are_written_once() {
    let environment = Environment::new();
    let claude = |folder: &str, number: usize, id: &str| {
        let log = turn(1).replace(&claude_id(1), &id.replace('\n', "\\n"));
        let log = log.replace("\"uuid\":\"", &format!("\"uuid\":\"{number}"));
        environment.write(&format!("{folder}/{number}.jsonl"), log);
    };
    for (number, id) in ["abc", "ABC", "Abc"].into_iter().enumerate() {
        claude("cases", number, id);
    }
    for (number, id) in ["A_B", "a/b", "a_b", "a\nb"].into_iter().enumerate() {
        claude("characters", number, id);
    }
    for (number, id) in ["abc", "ABC"].into_iter().enumerate() {
        claude("agents", number, id);
        codex_log(&environment, &format!("agents/{number}"), id, id);
    }
    for (logs, sessions) in [("cases", 3), ("characters", 4), ("agents", 4)] {
        for name in ["columns", "all.h5"] {
            let target = output(&environment, &format!("{logs}-{name}"));
            let convert = ["convert", &output(&environment, logs), "-o", &target];
            assert_eq!(environment.json(&convert)["written"], sessions, "{target}");
            let again = environment.json(&convert);
            assert_eq!(again["unchanged"], sessions, "{target}: {again}");
            // The numbers of names that are left have gaps.
            if name == "columns" && logs == "cases" {
                std::fs::remove_file(format!("{target}/Abc-claude-code-2.h5")).unwrap();
                assert_eq!(environment.json(&convert)["written"], 1, "{target}");
            }
            let shown = environment.json(&["inspect", &target]);
            assert_eq!(shown["totals"]["sessions"], sessions, "{target}: {shown}");
        }
    }
}

#[test]
fn a_log_that_is_cut_costs_no_tokens_and_doubles_no_rows() {
    let answer = |usage: u32, id: &str| {
        let answer = turn(1).lines().nth(1).unwrap().to_string();
        let answer = answer.replace("\"output_tokens\":5", &format!("\"output_tokens\":{usage}"));
        format!(
            "{}\n",
            answer
                .replace("\"a1\"", &format!("\"{id}\""))
                .replace("\"t1\"", &format!("\"t{id}\""))
        )
    };
    let prompt = turn(1).lines().next().unwrap().to_string() + "\n";
    let claude = [prompt, answer(2, "a"), answer(5, "b"), turn(2)];
    let line = |kind: &str, payload: Value| {
        let time = "2026-02-03T04:05:06.000Z";
        let record = json!({"timestamp": time, "type": kind, "payload": payload});
        format!("{record}\n")
    };
    let said = json!([{"type": "output_text", "text": "Half a message"}]);
    let asked = json!([{"type": "input_text", "text": "Say something"}]);
    // The id of a message is in the second line.
    let codex = [
        line(
            "session_meta",
            json!({"id": claude_id(2), "timestamp": "2026-02-03T04:05:06.000Z", "cwd": "/work/shop"}),
        ),
        line(
            "response_item",
            json!({"type": "message", "role": "user", "content": asked}),
        ),
        line(
            "event_msg",
            json!({"type": "agent_message", "message": "Half a message"}),
        ),
        line(
            "response_item",
            json!({"type": "message", "role": "assistant", "id": "msg_1", "content": said}),
        ),
    ];
    let environment = Environment::new();
    let codex_path = format!("rollout-2026-02-03T04-05-06-{}.jsonl", claude_id(2));
    for (path, lines, cut) in [(&*claude_path(1), &claude, 2), (&codex_path, &codex, 3)] {
        let file = output(&environment, &format!("{cut}.h5"));
        let mut shown = Vec::new();
        for lines in [&lines[..], &lines[..cut], &lines[..]] {
            let log = environment.write(path, lines.concat());
            environment.json(&["convert", log.to_str().unwrap(), "-o", &file]);
            shown.push(environment.json(&["inspect", &file])["totals"].clone());
        }
        assert_eq!(shown[1], shown[0], "{path}");
        assert_eq!(shown[2], shown[0], "{path}");
    }
}

#[test]
fn a_file_that_cannot_be_replaced_does_not_stop_other_sessions() {
    let environment = Environment::new();
    let log = environment.write(&claude_path(1), turn(1));
    environment.write(
        &claude_path(2),
        turn(2).replace(&claude_id(1), &claude_id(2)),
    );
    environment.write(&format!("columns/{}.h5", claude_id(1)), "no columns");
    let folder = output(&environment, "columns");
    let logs = log.parent().unwrap().to_str().unwrap();
    let outcome = environment.run(&["convert", logs, "-o", &folder, "--json"]);
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(report["written"], 1, "{report}");
    assert_eq!(report["failed"][0]["session"], claude_id(1), "{report}");
}

#[test]
#[cfg(unix)]
fn links_to_nowhere_and_pipes_in_a_folder_are_problems() {
    let environment = Environment::new();
    let log = environment.write(&claude_path(1), turn(1));
    let folder = output(&environment, "columns");
    let good = output(&environment, "columns/good.h5");
    std::fs::create_dir_all(output(&environment, "columns/folder.h5")).unwrap();
    environment.json(&["convert", log.to_str().unwrap(), "-o", &good]);
    let (link, pipe) = (
        output(&environment, "columns/link.h5"),
        output(&environment, "columns/pipe.h5"),
    );
    std::os::unix::fs::symlink("nowhere", &link).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .unwrap();
    assert!(made.success());
    let store = Environment::new();
    for command in ["inspect", "sweep"] {
        let outcome = store.run(&[command, &folder, "--json"]);
        assert_eq!(outcome.code, 1, "{command}: {}", outcome.stderr);
        let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
        let problems = report["problems"].as_array().unwrap();
        let paths: Vec<&Value> = problems.iter().map(|problem| &problem["path"]).collect();
        assert_eq!(paths, [&json!(link), &json!(pipe)], "{command}: {report}");
    }
    let report = store.run(&["show", &claude_id(1)]);
    assert!(report.stdout.contains("I look"), "{}", report.stderr);
}

#[test]
fn a_log_that_grows_line_by_line_is_written_as_one_that_is_whole() {
    let environment = Environment::new();
    let whole = Environment::new();
    whole.write_all(sample::story(STORY_END));
    let mut logs = files_below(&whole.home());
    let is_whole = |path: &Path| {
        let path = path.to_string_lossy();
        path.ends_with(".jsonl") && (path.contains("/.claude/") || path.contains("/.codex/"))
    };
    logs.retain(|path| is_whole(path));
    assert!(logs.len() > 3);
    for (number, path) in logs.iter().enumerate() {
        let text = std::fs::read_to_string(path).unwrap();
        let name = path.strip_prefix(whole.home()).unwrap();
        let log = environment.write(name.to_str().unwrap(), "");
        let targets = [
            format!("{number}.h5"),
            format!("{number}.parquet"),
            format!("{number}-usage.parquet"),
        ];
        let targets = targets.map(|name| output(&environment, &name));
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        // A cut at every line takes long, and few lines belong together.
        for end in (1..=lines.len()).step_by(3).chain([lines.len()]) {
            std::fs::write(&log, lines[..end].concat()).unwrap();
            for target in &targets {
                let usage = ["--table", "usage"];
                let table = if target.contains("usage") {
                    &usage[..]
                } else {
                    &[]
                };
                let arguments = [&["convert", log.to_str().unwrap(), "-o", target], table].concat();
                let outcome = environment.run(&arguments);
                let is_empty = ["no session", "no agent's log"]
                    .iter()
                    .any(|words| outcome.stderr.contains(words));
                assert!(
                    outcome.code == 0 || is_empty,
                    "{}: {}",
                    path.display(),
                    outcome.stderr
                );
            }
        }
        for target in &targets[..2] {
            let fresh = format!("{target}.fresh{}", &target[target.rfind('.').unwrap()..]);
            environment.run(&["convert", log.to_str().unwrap(), "-o", &fresh]);
            let rows = |target: &str| {
                let shown = environment.json(&["inspect", target]);
                (shown["rows"].clone(), shown["totals"]["messages"].clone())
            };
            assert_eq!(rows(target), rows(&fresh), "{}", path.display());
        }
    }
}

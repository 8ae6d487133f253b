//! How workers start and leave.

use std::fs::Permissions;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{Background, Worker, get, info, leftovers, lives, wait_for};
use crate::environment::{Environment, Outcome, files_below, prompt};

#[test]
fn starts_tells_and_leaves() {
    let environment = Environment::new();
    assert_eq!(environment.run(&["worker", "status"]).code, 1);
    assert!(!environment.store().exists(), "asking makes nothing");
    assert_eq!(environment.json(&["worker", "stop"])["stopped"], false);
    let _background = Background(&environment);
    let started = environment.json(&["worker", "start", "--daemon"]);
    assert_eq!(started["started"], true);
    let status = environment.json(&["worker", "status"]);
    assert_eq!(
        (&status["running"], &status["answering"], &status["pid"]),
        (&true.into(), &true.into(), &started["pid"])
    );
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert!(
        status["started_at"]
            .as_str()
            .unwrap()
            .parse::<jiff::Timestamp>()
            .is_ok()
    );
    let pid = std::fs::read_to_string(environment.store().join("worker.pid")).unwrap();
    assert_eq!(pid.trim(), status["pid"].to_string());
    assert_eq!(
        leftovers(&environment),
        ["worker.sock", "worker.pid", "worker.info"]
    );
    let again = environment.json(&["worker", "start", "--daemon"]);
    assert_eq!(
        (&again["started"], &again["pid"]),
        (&false.into(), &status["pid"])
    );
    let text = environment.run(&["worker", "status"]).stdout;
    assert!(
        text.contains(&format!("process {}", status["pid"])),
        "{text}"
    );
    assert_eq!(environment.json(&["worker", "stop"])["stopped"], true);
    let pid = status["pid"].as_i64().unwrap();
    wait_for("the process to end", || (!lives(pid)).then_some(()));
    assert!(leftovers(&environment).is_empty());
    let outcome = environment.run(&["worker", "status", "--json"]);
    assert_eq!(outcome.code, 1);
    assert!(outcome.stdout.contains("\"running\": false"));
}

#[test]
fn nobody_waits_for_one_in_the_background() {
    let environment = Environment::new();
    let _background = Background(&environment);
    let template = environment.command(&[]);
    let mut command = std::process::Command::new("/bin/sh");
    // A second way to write to what this test reads to its end.
    let script = "\"$0\" worker start --daemon 7>&1";
    command
        .args(["-c", script, env!("CARGO_BIN_EXE_backstory")])
        .env_clear();
    for (name, value) in template.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    let outcome = Outcome::of(&command.output().unwrap());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(environment.json(&["worker", "status"])["running"], true);
}

#[test]
fn of_many_started_at_once_one_serves() {
    let environment = Environment::new();
    let start = |_| {
        let mut command = environment.command(&["worker", "start", "--json"]);
        command.stdout(Stdio::piped()).spawn().unwrap()
    };
    let mut children: Vec<_> = (0..10).map(start).collect();
    wait_for("all but one to leave", || {
        let ended = |child: &mut std::process::Child| child.try_wait().unwrap().is_some();
        let ended: Vec<bool> = children.iter_mut().map(ended).collect();
        (ended.iter().filter(|ended| **ended).count() == 9).then_some(())
    });
    let serving = info(&environment).unwrap()["pid"].as_u64().unwrap();
    for child in children {
        if u64::from(child.id()) == serving {
            let mut child = child;
            assert_eq!(environment.run(&["worker", "stop"]).code, 0);
            assert!(child.wait().unwrap().success());
            continue;
        }
        let outcome = Outcome::of(&child.wait_with_output().unwrap());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let told: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        assert_eq!(
            (&told["started"], told["pid"].as_u64()),
            (&false.into(), Some(serving))
        );
    }
}

#[test]
fn one_that_was_killed_leaves_nothing_that_matters() {
    let environment = Environment::new();
    let mut worker = Worker::start(&environment);
    worker.signal(Signal::SIGKILL);
    worker.ended();
    assert_eq!(leftovers(&environment).len(), 3);
    assert_eq!(environment.run(&["worker", "status"]).code, 1);
    assert!(leftovers(&environment).is_empty());
    // And one that finds all that lying about takes over.
    let mut worker = Worker::start(&environment);
    worker.signal(Signal::SIGKILL);
    worker.ended();
    let worker = Worker::start(&environment);
    assert!(worker.serves());
    assert_eq!(worker.health()["ok"], true);
}

#[test]
fn leaves_when_a_signal_says_so() {
    let environment = Environment::new();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let mut worker = Worker::start(&environment);
        assert!(worker.serves());
        worker.signal(signal);
        assert!(worker.ended().success());
        assert!(leftovers(&environment).is_empty());
    }
}

#[test]
fn leaves_when_there_is_nothing_to_do() {
    let environment = Environment::new();
    let command = environment.command(&["worker", "start", "--json", "--idle-seconds", "1"]);
    let mut worker = Worker::of(command);
    assert!(worker.ended().success());
    assert!(leftovers(&environment).is_empty());
}

#[test]
fn leaves_when_its_store_is_gone() {
    let environment = Environment::new();
    let mut worker = Worker::start(&environment);
    std::fs::remove_dir_all(environment.store()).unwrap();
    assert!(worker.ended().success());
    assert!(!environment.store().exists(), "nothing came back");
    // Nor does it take away what belongs to the next one, in a folder of the same name.
    let mut worker = Worker::start(&environment);
    std::fs::rename(
        environment.store(),
        environment.store().with_extension("old"),
    )
    .unwrap();
    let next = Worker::start(&environment);
    assert!(next.serves());
    assert!(worker.ended().success());
    assert_eq!(next.health()["pid"], next.told["pid"]);
    assert_eq!(leftovers(&environment).len(), 3);
}

#[test]
fn a_store_with_a_long_path_has_its_socket_elsewhere() {
    let environment = Environment::new();
    let long = environment.home().join("long ".repeat(30)).join("store");
    let runtime = environment.home().join("run");
    std::fs::create_dir_all(&runtime).unwrap();
    environment.claude(1, &[prompt(1, 1, "why is the websocket closed")]);
    let command = |arguments: &[&str]| {
        let mut command = environment.command(arguments);
        command
            .env("BACKSTORY_HOME", &long)
            .env("XDG_RUNTIME_DIR", &runtime);
        command
    };
    assert!(command(&["sweep"]).output().unwrap().status.success());
    let worker = Worker::of(command(&["worker", "start", "--json"]));
    assert!(worker.socket().starts_with(runtime.join("backstory")));
    let search = command(&["search", "websocket"]).output().unwrap();
    assert!(search.status.success());
    assert_eq!(worker.health()["requests"], 2);
    assert_eq!(mode(&runtime.join("backstory")), 0o700);
    assert!(
        command(&["worker", "stop"])
            .output()
            .unwrap()
            .status
            .success()
    );
    assert!(files_below(&runtime).is_empty());
}

fn mode(path: &std::path::Path) -> u32 {
    path.symlink_metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn nobody_else_can_read_a_thing() {
    let environment = Environment::new();
    environment.claude(1, &[prompt(1, 1, "hello")]);
    let program = env!("CARGO_BIN_EXE_backstory");
    let mut command = std::process::Command::new("/bin/sh");
    command
        .args(["-c", "umask 000; exec \"$0\" worker start --json", program])
        .env_clear()
        .env("HOME", environment.home())
        .env("BACKSTORY_HOME", environment.store());
    let worker = Worker::of(command);
    assert_eq!(get(&worker.socket(), "/api/search?q=hello").0, 200);
    assert_eq!(mode(&environment.store()), 0o700);
    wait_for("the first sweep", || {
        let (_, answer) = get(&worker.socket(), "/api/search?q=hello");
        answer["hits"][0].is_object().then_some(())
    });
    for path in files_below(&environment.store()) {
        assert_eq!(mode(&path) & 0o077, 0, "{}", path.display());
    }
}

#[test]
fn no_socket_in_a_folder_that_others_can_enter() {
    let environment = Environment::new();
    // No socket fits there. One that others can enter is narrowed, so that it would fit.
    let store = environment.home().join("x".repeat(100));
    let runtime = environment.home().join("run");
    let temporary = environment.home().join("tmp");
    for folder in [&runtime, &temporary] {
        std::fs::create_dir_all(folder).unwrap();
    }
    let command = || {
        let mut command = environment.command(&["worker", "start", "--json"]);
        command
            .env("BACKSTORY_HOME", &store)
            .env("XDG_RUNTIME_DIR", &runtime)
            .env("TMPDIR", &temporary);
        command
    };
    // One that somebody else could lead elsewhere does not count either.
    let real = environment.home().join("real");
    std::fs::create_dir(&real).unwrap();
    std::fs::set_permissions(&real, Permissions::from_mode(0o700)).unwrap();
    symlink(&real, runtime.join("backstory")).unwrap();
    {
        let worker = Worker::of(command());
        let socket = worker.socket();
        assert!(socket.starts_with(&temporary), "{}", socket.display());
        assert!(socket.metadata().unwrap().file_type().is_socket());
        assert_eq!(worker.health()["ok"], true);
    }
    let own = std::fs::read_dir(&temporary).unwrap().next().unwrap();
    std::fs::set_permissions(own.unwrap().path(), Permissions::from_mode(0o750)).unwrap();
    let outcome = Outcome::of(&command().output().unwrap());
    assert_eq!(outcome.code, 70);
    assert!(outcome.stderr.contains("hint:"), "{}", outcome.stderr);
}

#[test]
fn one_that_was_just_killed_is_not_taken_for_the_worker() {
    let environment = Environment::new();
    let _background = Background(&environment);
    for _ in 0..20 {
        let started = environment.json(&["worker", "start", "--daemon"]);
        assert_eq!(started["started"], true);
        let pid = started["pid"].as_i64().unwrap();
        kill(Pid::from_raw(pid as i32), Signal::SIGKILL).unwrap();
    }
}

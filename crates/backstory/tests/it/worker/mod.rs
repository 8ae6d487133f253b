//! The worker: one process for a store, which answers whoever is well-behaved whatever others do.

mod answers;
mod hostile;
mod life;
mod queue;
mod versions;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::environment::Environment;

/// Nothing takes so long; a test that waits for longer has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until something is so.
fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(started.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A worker in the foreground, which does not outlive its test.
struct Worker {
    child: Child,
    /// What it printed when it began.
    told: Value,
}

impl Worker {
    fn start(environment: &Environment) -> Self {
        Worker::of(environment.command(&["worker", "start", "--json"]))
    }

    fn of(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut text = String::new();
        for line in BufReader::new(child.stdout.as_mut().unwrap()).lines() {
            text.push_str(&line.unwrap());
            if text.ends_with('}') {
                break;
            }
        }
        let told = serde_json::from_str(&text);
        Worker {
            child,
            told: told.unwrap_or(Value::Null),
        }
    }

    /// Whether it is this process that serves, and not one that was there before.
    fn serves(&self) -> bool {
        self.told["started"] == true
    }

    fn socket(&self) -> PathBuf {
        self.told["socket"].as_str().unwrap().into()
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).unwrap();
    }

    /// Waits until it has left.
    fn ended(&mut self) -> ExitStatus {
        wait_for("the worker's end", || self.child.try_wait().unwrap())
    }

    fn health(&self) -> Value {
        let (status, health) = get(&self.socket(), "/health");
        assert_eq!(status, 200);
        health
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Stops a worker that was put into the background, whatever becomes of the test.
struct Background<'a>(&'a Environment);

impl Drop for Background<'_> {
    fn drop(&mut self) {
        if let Some(pid) = info(self.0).and_then(|info| info["pid"].as_i64()) {
            let _ = kill(Pid::from_raw(pid as i32), Signal::SIGKILL);
        }
    }
}

fn info(environment: &Environment) -> Option<Value> {
    let text = std::fs::read(environment.store().join("worker.info")).ok()?;
    serde_json::from_slice(&text).ok()
}

/// The files that a worker has, of those that are there.
fn leftovers(environment: &Environment) -> Vec<&'static str> {
    ["worker.sock", "worker.pid", "worker.info"]
        .into_iter()
        .filter(|name| environment.store().join(name).symlink_metadata().is_ok())
        .collect()
}

/// Whether a process is there and not just waiting to be forgotten.
fn lives(pid: i64) -> bool {
    kill(Pid::from_raw(pid as i32), None).is_ok()
}

/// Asks a worker as any program could.
fn get(socket: &Path, target: &str) -> (u16, Value) {
    request(socket, &format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n"))
}

fn post(socket: &Path, target: &str, body: &str) -> (u16, Value) {
    let length = body.len();
    let request_text = format!("POST {target} HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{body}");
    request(socket, &request_text)
}

fn request(socket: &Path, text: &str) -> (u16, Value) {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    answer(&mut stream)
}

/// Reads an answer to its end.
fn answer(stream: &mut UnixStream) -> (u16, Value) {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap())
}

//! Clients that mean harm, or are merely broken, while others want their answers.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::Signal;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};

use super::{PATIENCE, Worker, answer, get, wait_for};
use crate::environment::{Environment, found, prompt};

fn environment_with_a_turn() -> Environment {
    let environment = Environment::new();
    environment.claude(1, &[prompt(1, 1, "a patient lighthouse")]);
    environment.sweep();
    environment
}

/// Lets this process have as many connections as a test needs.
fn allow_many_files() {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    let _ = setrlimit(Resource::RLIMIT_NOFILE, hard.min(4096).max(soft), hard);
}

fn connected(socket: &Path) -> UnixStream {
    let stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// What a well-behaved client is owed, whoever else is there.
fn is_served(socket: &Path) {
    assert_eq!(get(socket, "/health").0, 200);
    let (status, answer) = get(socket, "/api/search?q=lighthouse");
    assert_eq!((status, found(&answer)), (200, vec!["1#1".to_string()]));
}

/// Sends something and gives what comes back before the worker closes.
fn reply_to(socket: &Path, bytes: &[u8]) -> String {
    let mut stream = connected(socket);
    // The worker may close before it has read everything.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn what_is_no_request_is_refused_at_once() {
    let environment = environment_with_a_turn();
    let worker = Worker::start(&environment);
    let socket = worker.socket();
    let garbage: Vec<u8> = (0..100_000_u32).map(|number| (number * 7) as u8).collect();
    for (sent, status) in [
        (&b"\0\0\0\0"[..], "400"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "400"),
        (&garbage, "400"),
        (
            b"POST /api/summarize HTTP/1.1\r\nContent-Length: 4294967296\r\n\r\n",
            "413",
        ),
        (
            b"POST /api/summarize HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
            "413",
        ),
        (
            b"POST /api/summarize HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "501",
        ),
        (&b"x".repeat(1 << 20), "431"),
    ] {
        let reply = reply_to(&socket, sent);
        assert!(
            reply.starts_with(&format!("HTTP/1.1 {status} ")),
            "{reply:?}"
        );
        is_served(&socket);
    }
}

#[test]
fn half_closed_and_pipelined_clients_get_one_answer() {
    let environment = environment_with_a_turn();
    let worker = Worker::start(&environment);
    let socket = worker.socket();
    let search = b"GET /api/search?q=lighthouse HTTP/1.1\r\n\r\n";
    let mut half_closed = connected(&socket);
    half_closed.write_all(search).unwrap();
    half_closed.shutdown(Shutdown::Write).unwrap();
    assert_eq!(answer(&mut half_closed).0, 200);
    let mut pipelined = connected(&socket);
    pipelined.write_all(&search.repeat(3)).unwrap();
    assert_eq!(answer(&mut pipelined).0, 200);
    // Those who leave before their answer is there, or in the middle of their question.
    for _ in 0..100 {
        connected(&socket).write_all(search).unwrap();
        connected(&socket).write_all(&search[..10]).unwrap();
        drop(connected(&socket));
    }
    let mut cut = connected(&socket);
    cut.write_all(&search[..10]).unwrap();
    cut.shutdown(Shutdown::Write).unwrap();
    assert_eq!(cut.read_to_end(&mut Vec::new()).unwrap(), 0);
    is_served(&socket);
}

#[test]
fn five_hundred_slow_clients_keep_nobody_from_an_answer() {
    allow_many_files();
    let environment = environment_with_a_turn();
    let worker = Worker::start(&environment);
    let socket = worker.socket();
    is_served(&socket);
    let before = worker.health()["rss_bytes"].as_u64();
    let mut slow: Vec<UnixStream> = (0..500).map(|_| connected(&socket)).collect();
    let half = format!("GET /{} HTTP/1.1\r\n", "a".repeat(15_000));
    for byte in half.as_bytes().chunks(500) {
        for client in &mut slow {
            // The worker may have lost its patience.
            let _ = client.write_all(byte);
        }
        is_served(&socket);
    }
    if let (Some(before), Some(after)) = (before, worker.health()["rss_bytes"].as_u64()) {
        let grown = after.saturating_sub(before);
        assert!(grown <= 20 << 20, "{grown} bytes more");
    }
    // All of them are given up, sooner or later, without having to go.
    wait_for("the worker to lose patience", || {
        (worker.health()["connections"] == 1).then_some(())
    });
    for client in &mut slow {
        let mut rest = Vec::new();
        let _ = client.read_to_end(&mut rest);
        assert!(rest.is_empty());
    }
}

#[test]
fn who_does_not_take_an_answer_is_given_up() {
    let environment = environment_with_a_turn();
    let worker = Worker::start(&environment);
    let socket = worker.socket();
    let search = b"GET /api/search?q=lighthouse&limit=0 HTTP/1.1\r\n\r\n";
    let mut deaf: Vec<UnixStream> = (0..500).map(|_| connected(&socket)).collect();
    for client in &mut deaf {
        client.write_all(search).unwrap();
    }
    // They get an answer, or are told that there is too much to do; none is left without.
    for client in &mut deaf {
        let (status, _) = answer(client);
        assert!(status == 200 || status == 503, "{status}");
    }
    is_served(&socket);
    assert_eq!(worker.health()["connections"], 1);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_queue_keeps_nobody_waiting() {
    allow_many_files();
    let environment = environment_with_a_turn();
    let worker = Worker::start(&environment);
    let address = UnixAddr::new(&worker.socket()).unwrap();
    worker.signal(Signal::SIGSTOP);
    let mut queue = Vec::new();
    loop {
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let client = socket(AddressFamily::Unix, SockType::Stream, flags, None).unwrap();
        match connect(client.as_raw_fd(), &address) {
            Ok(()) => queue.push(client),
            Err(error) => {
                assert_eq!(error, Errno::EAGAIN);
                break;
            }
        }
    }
    assert_eq!(environment.found(&["lighthouse"]), ["1#1"]);
    assert_eq!(environment.json(&["worker", "status"])["answering"], false);
    drop(queue);
    worker.signal(Signal::SIGCONT);
    is_served(&worker.socket());
}

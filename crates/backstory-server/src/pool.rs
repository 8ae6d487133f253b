//! Threads that answer requests: a fixed number of them, with a fixed number of requests that wait.
//!
//! Those that wait are served process by process, in turn. So one process with hundreds of requests keeps another, which has
//! one, waiting for one of them and not for all.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use super::api::Answers;
use super::http::Request;
use super::shared::Shared;

/// Threads and what waits for them.
pub(super) struct Pool {
    threads: usize,
    busy: usize,
    waiting: Waiting,
    jobs: Sender<(u64, Request)>,
    finished: Receiver<(u64, Vec<u8>)>,
}

impl Pool {
    /// Starts so many threads; at most `room` requests wait for them. Each answer writes a byte to `wake`.
    pub(super) fn start(
        threads: usize,
        room: usize,
        shared: &Arc<Shared>,
        wake: &UnixStream,
    ) -> io::Result<Self> {
        let (jobs, to_do) = channel();
        let (done, finished) = channel();
        let to_do = Arc::new(Mutex::new(to_do));
        for _ in 0..threads {
            let (to_do, done, shared) = (Arc::clone(&to_do), done.clone(), Arc::clone(shared));
            let wake = wake.try_clone()?;
            std::thread::Builder::new()
                .name("answers".to_string())
                .spawn(move || answer_all(&to_do, &done, &shared, &wake))?;
        }
        Ok(Pool {
            threads,
            busy: 0,
            waiting: Waiting {
                room,
                processes: VecDeque::new(),
            },
            jobs,
            finished,
        })
    }

    /// Queues the request of a connection; returns a connection that there is no room for.
    pub(super) fn wait(&mut self, process: i32, connection: u64, request: Request) -> Option<u64> {
        self.waiting.push(process, connection, request)
    }

    /// Hands queued requests to idle threads; returns the connections whose client is gone.
    pub(super) fn hand_out(&mut self, is_gone: impl Fn(u64) -> bool) -> Vec<u64> {
        let mut gone = Vec::new();
        while self.busy < self.threads
            && let Some((connection, request)) = self.waiting.pop()
        {
            if is_gone(connection) {
                gone.push(connection);
            } else if self.jobs.send((connection, request)).is_ok() {
                self.busy += 1;
            }
        }
        gone
    }

    /// A connection and its answer, if one is ready.
    pub(super) fn finished(&mut self) -> Option<(u64, Vec<u8>)> {
        let answer = self.finished.try_recv().ok()?;
        self.busy -= 1;
        Some(answer)
    }
}

fn answer_all(
    to_do: &Mutex<Receiver<(u64, Request)>>,
    done: &Sender<(u64, Vec<u8>)>,
    shared: &Shared,
    mut wake: &UnixStream,
) {
    let mut answers = Answers::new(shared);
    loop {
        let next = to_do.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((connection, request)) = next else {
            return;
        };
        let answer = answers.answer(&request);
        if done.send((connection, answer)).is_err() {
            return;
        }
        // When no byte can be added there are enough of them to wake anybody.
        let _ = wake.write(&[0]);
    }
}

/// Requests that wait, by the process that they come from; the first process is the next one to be served.
struct Waiting {
    room: usize,
    processes: VecDeque<(i32, VecDeque<(u64, Request)>)>,
}

impl Waiting {
    /// Adds a request. When there is no room, the last one of the process with the most has to go.
    fn push(&mut self, process: i32, connection: u64, request: Request) -> Option<u64> {
        match self
            .processes
            .iter_mut()
            .find(|(known, _)| *known == process)
        {
            Some((_, requests)) => requests.push_back((connection, request)),
            None => {
                let requests = VecDeque::from([(connection, request)]);
                self.processes.push_back((process, requests));
            }
        }
        let all: usize = self
            .processes
            .iter()
            .map(|(_, requests)| requests.len())
            .sum();
        if all <= self.room {
            return None;
        }
        // The newest of those with as many, which is who came last.
        let most = self
            .processes
            .iter_mut()
            .max_by_key(|(_, requests)| requests.len());
        let dropped = most.and_then(|(_, requests)| requests.pop_back());
        self.processes.retain(|(_, requests)| !requests.is_empty());
        dropped.map(|(connection, _)| connection)
    }

    fn pop(&mut self) -> Option<(u64, Request)> {
        let (process, mut requests) = self.processes.pop_front()?;
        let next = requests.pop_front();
        if !requests.is_empty() {
            self.processes.push_back((process, requests));
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pushes requests, each named by the process it comes from, and tells which were dropped and in which order all others go.
    fn check(pushed: &str, dropped: &str, popped: &str) {
        let mut waiting = Waiting {
            room: 6,
            processes: VecDeque::new(),
        };
        let processes: Vec<char> = pushed.chars().collect();
        let named = |connection: u64| processes[connection as usize];
        let mut gone = String::new();
        for (connection, process) in (0..).zip(&processes) {
            let request = Request {
                method: String::new(),
                path: String::new(),
                parameters: Vec::new(),
                body: Vec::new(),
            };
            let refused = waiting.push(*process as i32, connection, request);
            gone.extend(refused.map(named));
        }
        let order = std::iter::from_fn(|| waiting.pop());
        let order: String = order.map(|(connection, _)| named(connection)).collect();
        assert_eq!((&gone[..], &order[..]), (dropped, popped), "{pushed}");
    }

    #[test]
    fn every_process_has_its_turn() {
        check("", "", "");
        check("aaa", "", "aaa");
        check("aaab", "", "abaa");
        check("aaabbc", "", "abcaba");
    }

    #[test]
    fn who_wants_most_has_to_wait() {
        check("aaaaaaaa", "aa", "aaaaaa");
        check("aaaaaabc", "aa", "abcaaa");
        check("abcdefg", "g", "abcdef");
    }
}
